use super::*;

fn lines(line: &str) -> Vec<String> {
    let reading = read(line, "/w", "/home/me", &|_, _, _| Taint::NONE);
    let show = |segment: &Segment| segment.words.iter().map(Word::shown).collect::<Vec<_>>().join(" ");
    reading.segments.iter().map(show).collect()
}

#[track_caller]
fn sees(line: &str, command: &str) {
    let found = lines(line);
    assert!(found.iter().any(|seen| seen == command), "{line}\n  {found:#?}");
}

#[test]
fn hidden_commands_come_out() {
    for line in [
        "rm -rf /",
        "ls; rm -rf /",
        "true && (rm -rf /)",
        "if x; then rm -rf /; fi",
        "for x in /; do rm -rf $x; done",
        "x=rm; $x -rf /",
        "x=r; y=m; $x$y -rf /",
        "r''m -rf /",
        "\\rm -rf /",
        "$'\\x72m' -rf /",
        "echo $(rm -rf /)",
        "echo \"${x:-$(rm -rf /)}\"",
        "bash -c 'rm -rf /'",
        "sudo -u root env A=1 timeout 5 nice -n 3 rm -rf /",
        "echo cm0gLXJmIC8K | base64 -d | sh",
        "eval \"$(echo cm0gLXJmIC8K | base64 -d)\"",
        "echo 'rm -rf /' > a.sh; sh a.sh",
        "cat <<E | bash\nrm -rf /\nE",
        "bash <<< 'rm -rf /'",
        "f() { rm -rf /; }; f",
        "f() { \"$@\"; }; f rm -rf /",
        "alias x='rm -rf'; x /",
        "set -- rm -rf /; \"$@\"",
        "a=(rm -rf /); \"${a[@]}\"",
        "echo / | xargs rm -rf",
        "echo mr | rev | xargs -I{} sh -c '{} -rf /'",
        "x='Xrm -rf /'; eval ${x#X}",
        "x=RM; ${x,,} -rf /",
        "r${x}m -rf /",
        "trap 'rm -rf /' EXIT",
        "{rm,-rf,/}",
        "printf -v x '%s' 'rm -rf /'; eval $x",
        "read x <<< 'rm -rf /'; $x",
        "declare -n r=c; c='rm -rf /'; $r",
        "source <(echo 'rm -rf /')",
        "case a in a) rm -rf /;; esac",
        "while true; do rm -rf /; done",
        "coproc rm -rf /",
        "time rm -rf /",
        "env -S 'rm -rf /'",
        "echo rm -rf / | tee x | sh",
        "$(echo rm) -rf /",
        "`echo rm` -rf /",
        "$(which rm) -rf /",
        "IFS=,; x=rm,-rf,/; $x",
        "mapfile -C 'rm -rf / #' x < y",
        "tr a-z n-za-m <<< 'ez -es /' | bash",
    ] {
        let found = lines(line);
        let hit = |seen: &String| {
            seen == "rm -rf /" || seen == "/usr/bin/rm -rf /" || seen.starts_with("rm -rf / ")
        };
        assert!(found.iter().any(hit), "{line}\n  {found:#?}");
    }
}

#[test]
fn directories_are_followed() {
    let at = |line: &str| {
        let reading = read(line, "/w", "/home/me", &|_, _, _| Taint::NONE);
        reading
            .segments
            .last()
            .map(|segment| segment.directories.iter().map(Word::shown).collect::<Vec<_>>())
            .unwrap()
    };
    assert_eq!(at("cd / && ls"), ["/"]);
    assert_eq!(at("cd a/../b && ls"), ["/w/b"]);
    assert_eq!(at("cd && ls"), ["/home/me"]);
    assert_eq!(at("(cd /); ls"), ["/w"]);
}

#[test]
fn what_is_not_known_is_marked() {
    sees("rm -rf $x", "rm -rf …");
    sees("rm -rf \"$HOME/$x\"", "rm -rf /home/me/…");
    sees("find / -name a -exec rm {} +", "rm //…/a");
    sees("find / -type f -exec rm {} +", "rm //…");
    sees("ssh h 'rm -rf /'", "rm -rf /");
    assert!(!read("curl x | sh", "/w", "/h", &|_, _, _| Taint::NONE).doubts.is_empty());
    for line in ["( (rm -rf /) )", "r\\\nm -rf /", "ls\r", "a | b | c\nrm -rf ~ >x", "echo 'a"] {
        let reading = read(line, "/w", "/h", &|_, _, _| Taint::NONE);
        let seen = lines(line).iter().any(|seen| seen.starts_with("rm -rf"));
        assert!(seen || !reading.doubts.is_empty(), "{line} {reading:#?}");
    }
}

#[test]
fn harmless_lines_are_certain() {
    for line in [
        "ls -la",
        "git status && git diff | head -20",
        "cargo test 2>&1 | tail -40",
        "for f in *.rs; do echo \"$f\"; done",
        "x=$(date +%s); echo $x",
        "time cargo build",
        "[ -f a ] && cat a",
        "export A=1; make",
        "cat <<'E' > a.txt\nrm -rf /\nE",
    ] {
        let reading = read(line, "/w", "/h", &|_, _, _| Taint::NONE);
        assert!(reading.doubts.is_empty(), "{line} {:?}", reading.doubts);
        assert!(!lines(line).iter().any(|seen| seen.starts_with("rm")), "{line}");
    }
}

fn reading(line: &str) -> Reading {
    read(line, "/w", "/home/me", &|_, _, _| Taint::NONE)
}

/// What one of the two parsers takes for something else without saying so, or refuses though it is valid. Each time the
/// command is seen, or the line is in doubt; where it is only in doubt, nothing of it may be allowed.
#[test]
fn misreads_of_either_reader_are_seen_or_doubted() {
    for (line, hidden) in [
        // The first parser: brackets with a blank between become arithmetic.
        ("( (reboot -f) )", "reboot -f"),
        ("( ( reboot -f ) )", "reboot -f"),
        ("echo $( (reboot -f) )", "reboot -f"),
        ("echo $((reboot -f) )", "reboot -f"),
        ("echo $(( $((reboot -f) ) ))", "reboot -f"),
        // Refused though valid.
        ("X=<(reboot -f) ls", "reboot -f"),
        ("for ((i=0;;i++)); do reboot -f; done", "reboot -f"),
        ("select x in a; do reboot -f; done", "reboot -f"),
        ("for x in a; { reboot -f; }", "reboot -f"),
        ("echo $(case a in a) reboot -f;; esac)", "reboot -f"),
        // Substitutions in every form of expansion.
        ("echo ${a[$(reboot -f)]}", "reboot -f"),
        ("echo ${x/$(reboot -f)/y}", "reboot -f"),
        ("echo ${x/a/$(reboot -f)}", "reboot -f"),
        ("echo ${x:$(reboot -f)}", "reboot -f"),
        ("echo ${x:0:$(reboot -f)}", "reboot -f"),
        ("echo ${x#$(reboot -f)}", "reboot -f"),
        ("echo ${x%%$(reboot -f)}", "reboot -f"),
        ("echo ${x:=$(reboot -f)}", "reboot -f"),
        ("echo ${x:+$(reboot -f)}", "reboot -f"),
        ("echo ${x:?$(reboot -f)}", "reboot -f"),
        ("echo ${x^$(reboot -f)}", "reboot -f"),
        ("echo $(( $(reboot -f) ))", "reboot -f"),
        ("(( $(reboot -f) ))", "reboot -f"),
        ("[[ -v a[$(reboot -f)] ]]", "reboot -f"),
        ("[[ $(reboot -f) == a ]]", "reboot -f"),
        ("a[$(reboot -f)]=1", "reboot -f"),
        ("a=([$(reboot -f)]=1)", "reboot -f"),
        ("case $(reboot -f) in a) ;; esac", "reboot -f"),
        ("case a in $(reboot -f)) ;; esac", "reboot -f"),
        ("for x in $(reboot -f); do :; done", "reboot -f"),
        ("ls > $(reboot -f)", "reboot -f"),
        ("cat <<< $(reboot -f)", "reboot -f"),
        ("let x=$(reboot -f)", "reboot -f"),
        ("declare x=$(reboot -f)", "reboot -f"),
        ("export x=`reboot -f`", "reboot -f"),
        // The second parser.
        ("a | b | c\nreboot -f >x", "reboot -f"),
        ("reb\\\noot -f", "reboot -f"),
        ("coproc { reboot -f; }", "reboot -f"),
        ("coproc reboot -f", "reboot -f"),
        ("cat <<EOF\n`reboot -f`\nEOF", "reboot -f"),
        ("cat <<EOF\n$(reboot -f)\nEOF", "reboot -f"),
        ("echo ${x:-`reboot -f`}", "reboot -f"),
        ("echo `echo \\`reboot -f\\``", "reboot -f"),
        ("{reboot,-f}", "reboot -f"),
        ("reb$()oot -f", "reboot -f"),
        ("reboot -f <> a", "reboot -f"),
        ("cat <<'E'; reboot -f\nx\nE", "reboot -f"),
        ("cat <<A <<B\nx\nA\ny\nB\nreboot -f", "reboot -f"),
        ("ls !(a); reboot -f", "reboot -f"),
        ("time reboot -f", "reboot -f"),
        ("time -p reboot -f", "reboot -f"),
    ] {
        let reading = reading(line);
        let seen = lines(line).iter().any(|seen| seen == hidden);
        assert!(seen, "{line}\n  {:?} {:#?}", reading.doubts, lines(line));
    }
    // A carriage return belongs to the word for bash, and is a blank for one parser.
    assert!(!reading("ls\r\npwd").doubts.is_empty());
    assert!(!reading("ls\rpwd").doubts.is_empty());
}

#[test]
fn a_directory_that_may_not_have_been_entered_counts_twice() {
    let at = |line: &str| {
        let reading = reading(line);
        let last =
            reading.segments.iter().rfind(|segment| segment.words.first().is_some_and(|word| word.is("ls")));
        last.map(|segment| segment.directories.iter().map(Word::shown).collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(at("cd a && ls"), ["/w/a"]);
    assert_eq!(at("cd a; ls"), ["/w/a", "/w"]);
    assert_eq!(at("cd a\nls"), ["/w/a", "/w"]);
    assert_eq!(at("cd a || ls"), ["/w", "/w/a"]);
    assert_eq!(at("cd a || exit 1; ls"), ["/w/a"]);
    assert_eq!(at("set -e; cd a; ls"), ["/w/a"]);
    assert_eq!(at("(set -e); cd a; ls"), ["/w/a", "/w"]);
    assert_eq!(at("set -- -e; cd a; ls"), ["/w/a", "/w"]);
    assert_eq!(at("cd a; cd ..; ls"), ["/w", "/w/a"]);
    assert_eq!(at("cd \"$x\" && ls"), ["…"]);
    assert_eq!(at("cd \"a/$x\" && ls"), ["/w/a/…"]);
    assert_eq!(at("cd - && ls"), ["…"]);
}

#[test]
fn programs_behind_flags_of_other_programs_come_out() {
    for line in [
        "setsid -f reboot -f",
        "strace -fo out reboot -f",
        "strace -f -o out -e trace=file reboot -f",
        "unshare -r reboot -f",
        "gosu root reboot -f",
        "systemd-run -t reboot -f",
        "script -qc 'reboot -f' /dev/null",
        "su -lc 'reboot -f'",
        "su --command='reboot -f' me",
        "vim -es -c ':!reboot -f' -c q",
        "vim '+!reboot -f'",
        "man -P 'reboot -f' ls",
        "gdb -batch -ex 'shell reboot -f'",
        "tar cf a b --checkpoint-action=exec='reboot -f'",
        "tar xf a --to-command 'reboot -f'",
        "tar -I 'reboot -f' -xf a",
        "git -c alias.x='!reboot -f' x",
        "git -c core.pager='reboot -f' log",
        "git config alias.x '!reboot -f'",
        "git rebase --exec 'reboot -f' HEAD~1",
        "git bisect run reboot -f",
        "git submodule foreach 'reboot -f'",
        "printf 'a:\\n\\t@reboot -f\\n' | make -f -",
        "printf 'a:\\n\\treboot -f\\n' > Makefile && make",
        "printf '%s\\0' 'reboot -f' | xargs -0 sh -c",
        "printf 'reboot:-f' | xargs -d : env",
        "printf 'ls\\nreboot -f\\n' | xargs -I% sh -c %",
        "parallel ::: ls 'reboot -f'",
        "parallel {1} {2} ::: ls reboot ::: -f",
        "echo reboot -f | parallel",
        "watch sh -c 'reboot -f'",
        "exec -a x reboot -f",
        "ls | entr -s 'reboot -f'",
        "GIT_SSH_COMMAND='reboot -f' git fetch",
        "export PROMPT_COMMAND='reboot -f'",
        "PS4='$(reboot -f)' bash -x a.sh",
        "TAR_OPTIONS=-f; env -i -u X reboot -f",
    ] {
        sees(line, "reboot -f");
    }
    sees("TAR_OPTIONS='--create' tar x", "tar --create x");
    sees("export TAR_OPTIONS=--create; tar x", "tar --create x");
}

#[test]
fn redirections_of_builtins_are_not_lost() {
    for line in [
        "read x < /a",
        "mapfile x < /a",
        "export > /a",
        "set > /a",
        "alias > /a",
        "trap > /a",
        "exec > /a",
        "eval ls > /a",
        ": > /a",
    ] {
        let reading = reading(line);
        let seen = |segment: &Segment| segment.redirects.iter().any(|redirect| redirect.target.is("/a"));
        assert!(reading.segments.iter().any(seen), "{line}");
    }
}

#[test]
fn letters_that_only_look_like_ours_are_doubted() {
    for line in [
        "r\u{441}m x",
        "ls /e\u{442}c",
        "ls \u{202e}x",
        "ls\u{a0}-l",
        "curl http://g\u{43e}ogle.com",
        "\u{ff52}m x",
    ] {
        assert!(!reading(line).doubts.is_empty(), "{line}");
    }
    for line in ["echo привет", "git commit -m 'naïve café — Ω'", "echo “hi” ’"] {
        assert!(reading(line).doubts.is_empty(), "{line}");
    }
}

#[test]
fn the_command_behind_wrappers_and_runners_is_found() {
    for (line, expected) in [
        ("pytest -q", "pytest -q"),
        ("A=1 env B=2 nice -n 5 pytest", "pytest"),
        ("timeout -k 5 60 uv run --frozen pytest -q", "pytest -q"),
        ("npx --yes jest", "jest"),
        ("bundle exec rspec", "rspec"),
        ("npm run test", "npm run test"),
        ("ssh host pytest", "ssh host pytest"),
        ("env A=1", ""),
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(command_words(&words).join(" "), expected, "{line}");
    }
}
