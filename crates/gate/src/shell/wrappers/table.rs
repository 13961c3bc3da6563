//! The one table of wrappers: programs that start the command behind their own words.
//!
//! A row says which options a wrapper has and what they do to the command. Programs whose words need code of their own stand
//! in [`special`]; those with effects of their own in `runners`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A wrapper: where its own words end and its command begins.
#[derive(Debug, Clone, Copy)]
pub(in crate::shell) struct Wrapper {
    names: &'static str,
    /// Flags that take the next word.
    values: &'static str,
    /// Words that are not flags and come before the command.
    pub(in crate::shell) before: usize,
    /// Whether `NAME=value` words come before it too.
    pub(in crate::shell) assigns: bool,
    /// Whether the command runs on another machine or in a container.
    pub(in crate::shell) elsewhere: bool,
    /// Whether its words are joined and read by a shell.
    pub(in crate::shell) joins: bool,
    /// Whether every operand is a line of its own for a shell.
    pub(in crate::shell) each: bool,
    /// Flags without a value; [`ANY`] stands for all that the other lists do not name.
    flags: &'static str,
    /// Flags whose value is a command.
    runs: &'static str,
    /// Flags whose value is a file that it writes, or a command that reads what it writes.
    writes: &'static str,
    /// Flags whose value is the directory that the command runs in.
    enters: &'static str,
    /// Flags whose value is a variable for the command.
    sets: &'static str,
    /// Flags that change what is started, or how.
    doubts: &'static str,
    footprint: Footprint,
    /// Splits a word into words itself when it is told to (`env -S`).
    pub(in crate::shell) splits: bool,
}

/// For wrappers that are asked about whatever their flags are, or whose words are judged elsewhere.
const ANY: &str = "*";

/// The trace that a wrapper itself leaves in a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Footprint {
    /// It is noted as a command of its own.
    Noted,
    /// It changes nothing, so that only the command is noted.
    Plain,
    /// Nor could a rule want to know of it. `env` is not among these: it changes directories too.
    Transparent,
}

/// The effect of a wrapper's flag on its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum FlagEffect {
    /// Its value is run by a shell.
    Runs,
    /// Its value is written.
    Writes,
    /// Its value is entered.
    Enters,
    /// Its value is a variable.
    Sets,
    /// It is not certain what starts.
    Doubts,
}

const fn wrapper(names: &'static str, values: &'static str, before: usize) -> Wrapper {
    Wrapper {
        names,
        values,
        before,
        assigns: false,
        elsewhere: false,
        joins: false,
        each: false,
        flags: "",
        runs: "",
        writes: "",
        enters: "",
        sets: "",
        doubts: "",
        footprint: Footprint::Noted,
        splits: false,
    }
}

const PERSONALITY_FLAGS: &str = "-v -3 -B -F -I -L -R -S -T -X -Z --verbose --3gb --4gb --32bit --fdpic-funcptrs \
    --short-inode --addr-compat-layout --addr-no-randomize --whole-seconds --sticky-timeouts --read-implies-exec \
    --mmap-page-zero --uname-2.6";

const TIMEOUT: Wrapper = Wrapper {
    flags: "-v -p -f --foreground --preserve-status --verbose",
    footprint: Footprint::Transparent,
    ..wrapper("timeout", "-s -k --signal --kill-after", 1)
};

const TIME: Wrapper = Wrapper {
    flags: "-p -v -a -q -V -h -l --portability --verbose --append --quiet",
    writes: "-o --output",
    footprint: Footprint::Transparent,
    ..wrapper("time", "-f -o --format --output", 0)
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        assigns: true,
        flags: ANY,
        enters: "-D --chdir",
        doubts: "-R --chroot",
        ..wrapper(
            "sudo doas sudo-rs",
            "-u -g -h -p -C -T -U -r -t -D -R -a -c --user --group --host --prompt --chdir --chroot --close-from \
             --other-user --role --type --command-timeout",
            0,
        )
    },
    Wrapper {
        assigns: true,
        flags: "- -i -0 -v --ignore-environment --null --debug --list-signal-handling --block-signal --default-signal \
                --ignore-signal --help --version",
        enters: "-C --chdir",
        doubts: "-P -a --argv0",
        footprint: Footprint::Plain,
        splits: true,
        ..wrapper("env genv", "-u -C -a -P --unset --chdir --argv0", 0)
    },
    Wrapper { flags: "-p -v -V", footprint: Footprint::Transparent, ..wrapper("command builtin", "", 0) },
    Wrapper {
        flags: "-c -f -w --ctty --fork --wait",
        footprint: Footprint::Plain,
        ..wrapper("setsid", "", 0)
    },
    Wrapper { flags: "-p", doubts: "--install --list --list-full", ..wrapper("busybox toybox", "", 0) },
    Wrapper { footprint: Footprint::Transparent, ..wrapper("nohup", "", 0) },
    Wrapper { flags: "-p", ..wrapper("unbuffer", "", 0) },
    wrapper("eatmydata catchsegv noglob nocorrect", "", 0),
    Wrapper { flags: PERSONALITY_FLAGS, ..wrapper("linux32 linux64 i386 x86_64 uname26", "", 0) },
    wrapper("primusrun optirun prime-run gamemoderun mangohud", "", 0),
    Wrapper { flags: "-c -l", footprint: Footprint::Plain, ..wrapper("exec", "-a", 0) },
    Wrapper {
        flags: "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9",
        footprint: Footprint::Transparent,
        ..wrapper("nice", "-n --adjustment", 0)
    },
    Wrapper {
        flags: "-t --ignore -1 -2 -3",
        footprint: Footprint::Transparent,
        ..wrapper("ionice", "-c -n -p -P -u --class --classdata --pid --pgid --uid", 0)
    },
    Wrapper {
        flags: "-L -0",
        footprint: Footprint::Transparent,
        ..wrapper("stdbuf", "-i -o -e --input --output --error", 0)
    },
    TIMEOUT,
    Wrapper { names: "gtimeout", footprint: Footprint::Plain, ..TIMEOUT },
    Wrapper {
        flags: "-a -c --all-tasks --cpu-list",
        footprint: Footprint::Plain,
        ..wrapper("taskset", "-p --pid", 1)
    },
    Wrapper {
        flags: "-b -f -i -o -r -v -a -d --batch --fifo --idle --other --rr --verbose --max --reset-on-fork -R",
        footprint: Footprint::Plain,
        ..wrapper("chrt", "-T -P -D", 1)
    },
    Wrapper { flags: PERSONALITY_FLAGS, ..wrapper("setarch", "", 0) },
    TIME,
    Wrapper { names: "gtime", footprint: Footprint::Plain, ..TIME },
    Wrapper { flags: "-m --exclude-monotonic", ..wrapper("faketime", "-f", 1) },
    Wrapper { flags: ANY, ..wrapper("chroot", "--userspec --groups", 1) },
    Wrapper {
        flags: ANY,
        enters: "--wd",
        doubts: "-r --root",
        ..wrapper("nsenter", "-t -S -G --target --setuid --setgid", 0)
    },
    Wrapper {
        flags: ANY,
        enters: "-w --wd",
        doubts: "-R --root",
        ..wrapper(
            "unshare",
            "-S -G -R -w --setuid --setgid --root --wd --map-user --map-group --propagation",
            0,
        )
    },
    Wrapper {
        flags: ANY,
        enters: "--working-directory",
        sets: "-E --setenv",
        doubts: "-p --property -M --machine -H --host",
        ..wrapper(
            "systemd-run",
            "-u -p -M -H -E --unit --property --description --slice --uid --gid --nice --setenv --working-directory \
         --machine --host --on-active --on-boot --on-calendar --timer-property",
            0,
        )
    },
    Wrapper {
        flags: "--list --no-pager --no-legend",
        ..wrapper("systemd-inhibit", "--what --who --why --mode", 0)
    },
    Wrapper {
        flags: "-f -ff -c -C -d -D -h -i -k -n -N -q -qq -r -t -tt -ttt -T -v -V -w -x -xx -y -yy -z -Z -A \
                --follow-forks --summary-only --summary --quiet --stack-traces --timestamps --absolute-timestamps \
                --relative-timestamps --syscall-times --decode-fds --failed-only --successful-only --no-abbrev",
        writes: "-o --output",
        sets: "-E --env",
        ..wrapper(
            "strace",
            "-a -b -e -E -I -o -O -p -P -s -S -u -U -X --output --trace --attach --env --user --string-limit --columns",
            0,
        )
    },
    Wrapper {
        flags: "-b -c -C -f -h -i -L -r -S -t -tt -ttt -T -V",
        writes: "-o --output",
        ..wrapper("ltrace", "-a -A -D -e -F -l -n -o -p -s -u -w -x --output", 0)
    },
    Wrapper { flags: ANY, ..wrapper("gdb", "-ex -x -iex -p -c -d -s -e", 0) },
    Wrapper {
        flags: "-d -h -q -s -v --quiet --verbose --leak-check --leak-resolution --track-origins --show-leak-kinds \
                --show-reachable --show-possibly-lost --errors-for-leak-kinds --leak-check-heuristics --undef-value-errors \
                --partial-loads-ok --keep-stacktraces --freelist-vol --freelist-big-blocks --malloc-fill --free-fill \
                --expensive-definedness-checks --error-exitcode --exit-on-first-error --error-limit --tool --trace-children \
                --trace-children-skip --child-silent-after-fork --track-fds --time-stamp --num-callers --demangle \
                --gen-suppressions --read-var-info --read-inline-info --run-libc-freeres --run-cxx-freeres --main-stacksize \
                --max-stackframe --redzone-size --xtree-memory --smc-check --fair-sched --sanity-level --show-error-list \
                --show-below-main --stats --xml --suppressions --fullpath-after --max-threads --alignment --unw-stack-scan-thresh \
                --cache-sim --branch-sim --collect-jumps --collect-systime --collect-atstart --dump-instr --dump-line \
                --separate-threads --toggle-collect --instr-atstart --zero-before --dump-before --dump-after --I1 --D1 --LL \
                --heap --stacks --pages-as-heap --depth --time-unit --threshold --peak-inaccuracy --detailed-freq \
                --max-snapshots --history-level --conflict-cache-size --check-stack-refs \
                --free-is-write --ignore-thread-creation --first-race-only --exclusive-threshold --shared-threshold \
                --segment-merging --trace-alloc --mode",
        writes: "--log-file --xml-file --callgrind-out-file --massif-out-file --cachegrind-out-file --dhat-out-file \
                 --xtree-leak-file --xtree-memory-file --bb-out-file --pc-out-file",
        doubts: "--db-command --log-socket --xml-socket --debuginfo-server --extra-debuginfo-path --vgdb-prefix --vgdb \
                 --default-suppressions --log-fd --xml-fd --allow-mismatched-debuginfo",
        ..wrapper("valgrind", "", 0)
    },
    Wrapper {
        flags: "-a -A -d -g -h -n -N -q -R -S -T -v --all-cpus --no-buildid --no-buildid-cache --no-children --stdio \
                --stdio-color --header --header-only --null --no-inherit --no-aggr --per-core --per-socket --per-thread \
                --detailed --big-num --scale --verbose --quiet --group --data --phys-data --sample-cpu --timestamp \
                --period --raw-samples --show-total-period --show-nr-samples --no-demangle --demangle --hierarchy --percentage \
                --all-user --all-kernel --strict-freq --max-size --summary --with-summary --json-output --version --help",
        writes: "-o --output",
        doubts: "-s --script --objdump --addr2line --symfs --debuginfod --switch-output --control --pre --post --filter --exclude-perf --bpf-prog",
        ..wrapper(
            "perf",
            "-c -e -i -k -o -F -p -t -u -C -D -I -M -r -x --output --input --vmlinux --kallsyms --event --freq --count --pid --tid --cpu \
             --delay --repeat --interval-print --field-separator --metrics --sort --comms --dsos --symbols --symbol --percent-limit \
             --fields --max-stack --stack-size --call-graph",
            1,
        )
    },
    Wrapper {
        flags: "-q -r --quiet --raw",
        writes: "-o --output",
        ..wrapper("heaptrack", "-o -p --output --pid", 0)
    },
    Wrapper {
        flags: "-a -h -l --auto-servernum --listen-tcp --help",
        writes: "-e -f --error-file --auth-file",
        doubts: "-s --server-args -p --xauth-protocol",
        ..wrapper(
            "xvfb-run",
            "-e -f -n -s -p -w --error-file --auth-file --server-args --server-num --wait --xauth-protocol",
            0,
        )
    },
    Wrapper {
        flags: "-H -s -a -b -l --hardware --show --all --balancing --localalloc",
        ..wrapper(
            "numactl",
            "-m -N -C -p -P -i -w --membind --cpunodebind --physcpubind --interleave --preferred",
            0,
        )
    },
    Wrapper { flags: "--sticky", ..wrapper("cgexec", "-g", 0) },
    Wrapper {
        flags: "-b -f -i -k -m -r -s -v -z --background --foreground --include-children --lazy --verbose --monitor-forks",
        ..wrapper("cpulimit", "-c -l -p -e -P --cpu --limit --pid --exe --path", 0)
    },
    Wrapper {
        flags: "-c -d -e -f -i -l -m -n -q -r -s -t -u -v -x -y --core --data --nice --fsize --sigpending --memlock --rss --nofile \
                --msgqueue --rtprio --stack --cpu --nproc --as --locks --rttime --noheadings --raw --verbose",
        ..wrapper("prlimit", "-p -o --pid --output", 0)
    },
    wrapper("choom", "-n -p", 0),
    wrapper("schedtool", "-p -n -a", 0),
    Wrapper { flags: "-s -v", doubts: "-n -l", ..wrapper("trickle", "-d -u -w -t -l -n", 0) },
    Wrapper { flags: ANY, ..wrapper("flatpak-spawn", "", 0) },
    Wrapper { flags: ANY, ..wrapper("pkexec", "-u --user", 0) },
    Wrapper {
        flags: "-h -u -v --unknown-is-real",
        writes: "-s",
        doubts: "-l -i -b -c -e -d --lib --faked",
        ..wrapper("fakeroot fakechroot", "-l -s -i -b -c -e -d --lib --faked", 0)
    },
    Wrapper { flags: ANY, ..wrapper("firejail", "", 0) },
    Wrapper {
        flags: "-q -d -i --quiet --debug --isolate",
        doubts: "-f",
        ..wrapper("torsocks torify tsocks proxychains proxychains4", "-f -u -p -P -a", 0)
    },
    Wrapper { flags: "-d -i -m -s -u", ..wrapper("caffeinate", "-t -w", 0) },
    Wrapper {
        flags: ANY,
        ..wrapper("rlwrap", "-a -b -c -C -D -f -g -H -l -m -O -p -P -q -s -S -t -w -z", 0)
    },
    Wrapper { flags: "-c --compute", ..wrapper("runcon", "-t -u -r -l --type --user --role --range", 0) },
    Wrapper {
        flags: "-d --dump --no-new-privs --clear-groups --keep-groups --init-groups --reset-env",
        ..wrapper(
            "setpriv",
            "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig",
            0,
        )
    },
    Wrapper {
        flags: "-0 -1 -2 -P -v -V",
        ..wrapper("chpst", "-u -U -b -e -d -o -p -f -c -r -t -m -n -l -L", 0)
    },
    wrapper("softlimit", "-a -c -d -f -l -m -o -p -r -s -t", 0),
    wrapper("envdir gosu su-exec setuidgid s6-setuidgid", "", 1),
    Wrapper {
        flags: "-c -g -s -v -w --single-child --verbose",
        ..wrapper("tini dumb-init catatonit", "-p -e -r --rewrite", 0)
    },
    Wrapper {
        flags: "--sh-syntax --csh-syntax --exit-with-session --exit-with-x11",
        doubts: "--config-file --dbus-daemon",
        ..wrapper("dbus-run-session dbus-launch", "--config-file --dbus-daemon", 0)
    },
    Wrapper {
        flags: ANY,
        ..wrapper(
            "bwrap",
            "--chdir --tmpfs --proc --dev --unsetenv --hostname --uid --gid --remount-ro --dir --lock-file --seccomp --perms",
            0,
        )
    },
    Wrapper {
        joins: true,
        flags: "-b -c -C -d -e -g -p -t -w -x -r --beep --color --differences --errexit --chgexit --precise --no-title \
                --no-wrap --exec --no-rerun",
        ..wrapper("watch", "-n -q --interval --equexit", 0)
    },
    Wrapper {
        each: true,
        flags: "-N -i --show-output --ignore-failure --debug-mode -h -V",
        runs: "-p -s -c -C --prepare --setup --cleanup --conclude --reference",
        writes: "--export-json --export-csv --export-markdown --export-asciidoc --export-orgmode --output",
        doubts: "-S --shell --input",
        ..wrapper(
            "hyperfine",
            "-w -r -m -M -p -s -c -C -n -S -u -P -L -D --warmup --runs --min-runs --max-runs --prepare --setup --cleanup \
             --conclude --reference --reference-name --export-json --export-csv --export-markdown --export-asciidoc \
             --export-orgmode --output --input --shell --style --sort --time-unit --min-benchmarking-time --command-name \
             --parameter-scan --parameter-step-size --parameter-list",
            0,
        )
    },
    Wrapper {
        joins: true,
        flags: ANY,
        elsewhere: true,
        ..wrapper(
            "ssh autossh mosh tsh",
            "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B -M",
            1,
        )
    },
    Wrapper { flags: ANY, ..wrapper("sshpass", "-p -f -d -P", 0) },
];

static TABLE: LazyLock<BTreeMap<&'static str, &'static Wrapper>> = LazyLock::new(|| {
    let rows = WRAPPERS.iter().flat_map(|row| row.names.split_whitespace().map(move |name| (name, row)));
    rows.collect()
});

impl Wrapper {
    /// Does this flag take the next word? The last of several letters may.
    pub(in crate::shell) fn takes_next(&self, flag: &str) -> bool {
        let known = |text: &str| self.values.split_whitespace().any(|value| value == text);
        if flag.starts_with("--") || flag.len() <= 2 {
            return known(flag);
        }
        if known(flag) {
            return true;
        }
        // `-fo FILE`: the first letter that takes a value ends the letters.
        let letters = flag.get(1..).unwrap_or_default();
        let taking = letters.char_indices().find(|(_, letter)| known(&format!("-{letter}")));
        taking.is_some_and(|(at, letter)| at + letter.len_utf8() == letters.len())
    }

    /// Is this flag known? The values of long ones may be attached.
    pub(in crate::shell) fn knows(&self, flag: &str) -> bool {
        if self.flags == ANY || flag.is_empty() {
            return true;
        }
        let lists = [self.flags, self.values, self.runs, self.writes, self.enters, self.sets, self.doubts];
        let listed = |name: &str| lists.iter().any(|list| list.split_whitespace().any(|own| own == name));
        let name = flag.split('=').next().unwrap_or(flag);
        if listed(flag) || listed(name) {
            return true;
        }
        if flag.starts_with("--") {
            // A beginning of a name is enough for `getopt_long`, but not to tell what an acting option does here.
            let begins =
                |list: &str| list.split_whitespace().any(|own| own.starts_with(name) && name.len() > 3);
            let acts = [self.runs, self.writes, self.enters, self.sets, self.doubts];
            return (begins(self.flags) || begins(self.values)) && !acts.into_iter().any(begins);
        }
        // Letters that stand together, up to one that takes a value; `nice -12` is a number.
        let mut letters = flag.chars().skip(1);
        let taking = |letter: char| self.values.split_whitespace().any(|own| own == format!("-{letter}"));
        loop {
            match letters.next() {
                None => return true,
                Some(letter) if taking(letter) => return true,
                Some(letter) if listed(&format!("-{letter}")) => {}
                Some(_) => return false,
            }
        }
    }

    /// The effect of a flag on the command, and where its value begins in its word.
    pub(in crate::shell) fn effect(&self, flag: &str) -> Option<(FlagEffect, usize)> {
        let kinds = [
            (self.runs, FlagEffect::Runs),
            (self.writes, FlagEffect::Writes),
            (self.enters, FlagEffect::Enters),
            (self.sets, FlagEffect::Sets),
            (self.doubts, FlagEffect::Doubts),
        ];
        let find = |name: &str| {
            let listed = |list: &str| list.split_whitespace().any(|own| own == name);
            kinds.iter().find(|(list, _)| listed(list)).map(|(_, effect)| *effect)
        };
        if flag.starts_with("--") {
            let name = flag.split('=').next().unwrap_or(flag);
            return find(name).map(|effect| (effect, (name.len() + 1).min(flag.len())));
        }
        let taking = |letter: char| self.values.split_whitespace().any(|own| own == format!("-{letter}"));
        for (at, letter) in flag.char_indices().skip(1) {
            if let Some(effect) = find(&format!("-{letter}")) {
                return Some((effect, at + letter.len_utf8()));
            }
            if taking(letter) {
                return None;
            }
        }
        None
    }

    /// The number of its own words before the command, of those behind its name.
    pub(in crate::shell) fn own_words(&self, words: &[&str]) -> usize {
        let mut at = 0;
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
            at += if self.takes_next(word) { 2 } else { 1 };
            if *word == "--" {
                break;
            }
        }
        let rest = words.get(at..).unwrap_or_default();
        let assigned = rest.iter().take_while(|word| self.assigns && super::is_assignment(word)).count();
        (at + assigned + self.before).min(words.len())
    }

    /// Does it show what the command reads and writes?
    pub(in crate::shell) fn is_tracer(&self) -> bool {
        matches!(self.names, "strace" | "ltrace")
    }

    /// Is it `setarch`, which may be told a machine before its command?
    pub(in crate::shell) fn is_machine(&self) -> bool {
        self.names == "setarch"
    }
}

/// The wrapper of this name.
pub(in crate::shell) fn find(name: &str) -> Option<&'static Wrapper> {
    TABLE.get(name).copied()
}

/// Whether a program's only work is to start another.
pub(in crate::shell) fn is_launcher(name: &str) -> bool {
    starts_per_item(name) || matches!(name, "eval" | "trap") || find(name).is_some()
}

/// Whether a program starts another for what it reads: `xargs`, `parallel`.
pub(in crate::shell) fn starts_per_item(name: &str) -> bool {
    matches!(special(name), Some(Special::Xargs | Special::Parallel))
}

/// Programs that take another user's rights, with or without a command.
const USER_SWITCHERS: &[&str] = &["sudo", "doas", "sudo-rs", "su", "runuser", "pkexec", "run0", "dzdo"];
/// Those that take them only for a command.
const USER_WRAPPERS: &[&str] = &["gosu", "su-exec"];

/// Whether a program takes another user's rights even without a command behind it.
pub(in crate::shell) fn switches_user(name: &str) -> bool {
    USER_SWITCHERS.contains(&name)
}

/// Whether a program gives the command behind it another user's rights, usually root's.
pub(in crate::shell) fn grants_privileges(name: &str) -> bool {
    switches_user(name) || USER_WRAPPERS.contains(&name)
}

/// Whether a wrapper changes nothing by itself, so that only what it starts is noted.
pub(in crate::shell) fn is_plain(name: &str) -> bool {
    find(name).is_some_and(|wrapper| wrapper.footprint != Footprint::Noted)
}

/// Whether a wrapper changes nothing that a rule could want to know.
pub(in crate::shell) fn is_transparent(name: &str) -> bool {
    find(name).is_some_and(|wrapper| wrapper.footprint == Footprint::Transparent)
}

/// A program that starts others in a way of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum Special {
    Xargs,
    Parallel,
    Find,
    /// A script behind an option, or a command as the last words.
    ScriptFlag,
    /// A command on another machine or in a container.
    Container,
    /// A package that is fetched and run, which is judged as such.
    Fetched,
    /// Commands behind `!` in an editor or a pager.
    Editor,
    Debugger,
    Archive,
    Make,
    Git,
}

const SPECIAL: &[(Special, &str)] = &[
    (Special::Xargs, "xargs gxargs"),
    (Special::Parallel, "parallel"),
    (Special::Find, "find gfind fd fdfind"),
    (Special::ScriptFlag, "su runuser sg script flock expect nix-shell tmux screen entr at batch"),
    (Special::Container, "docker podman nerdctl kubectl oc lxc incus machinectl vagrant docker-compose"),
    (Special::Fetched, "npx bunx pnpx uvx pipx"),
    (Special::Editor, "vim vi nvim view ex gvim vimdiff less more most man ed"),
    (Special::Debugger, "gdb"),
    (Special::Archive, "tar gtar bsdtar"),
    (Special::Make, "make gmake"),
    (Special::Git, "git"),
];

static SPECIAL_BY_NAME: LazyLock<BTreeMap<&'static str, Special>> = LazyLock::new(|| {
    SPECIAL.iter().flat_map(|(kind, names)| names.split_whitespace().map(|name| (name, *kind))).collect()
});

/// The kind of a program that starts others in a way of its own.
pub(in crate::shell) fn special(name: &str) -> Option<Special> {
    SPECIAL_BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_in_one_row() {
        let names = WRAPPERS.iter().flat_map(|row| row.names.split_whitespace());
        assert_eq!(names.count(), TABLE.len());
        let special = SPECIAL.iter().flat_map(|(_, names)| names.split_whitespace());
        assert_eq!(special.count(), SPECIAL_BY_NAME.len());
    }

    #[test]
    fn programs_that_give_rights_are_known() {
        for name in ["sudo", "dzdo", "su"] {
            assert!(switches_user(name) && grants_privileges(name), "{name}");
        }
        assert!(grants_privileges("gosu") && !switches_user("gosu"));
        assert!(!grants_privileges("nice") && !grants_privileges("env"));
    }

    #[test]
    fn the_footprint_of_a_wrapper_decides_what_is_noted() {
        assert!(is_transparent("timeout") && is_transparent("nohup") && !is_transparent("gtimeout"));
        assert!(is_plain("env") && is_plain("gtime") && !is_transparent("env"));
        assert!(!is_plain("sudo") && !is_plain("eatmydata") && !is_plain("ls"));
    }
}
