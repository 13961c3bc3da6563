//! Git: what is lost, what is rewritten, what runs behind it.

use super::{Act, Look, Place};
use crate::shell::{Taint, Word};

/// Settings of git whose value is a command.
const COMMANDS: [&str; 24] = [
    "core.sshcommand",
    "core.pager",
    "core.editor",
    "core.fsmonitor",
    "core.hookspath",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "diff.external",
    "sequence.editor",
    "credential.helper",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "init.templatedir",
    "pager.",
    "alias.",
    "filter.",
    "merge.",
    "mergetool.",
    "difftool.",
    "protocol.ext.allow",
    "uploadpack.",
    "http.proxy",
];

/// Judges git.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    if !matches!(base, "git" | "hub" | "yadm") {
        return match base {
            "git-filter-repo" | "bfg" => {
                look.catastrophe("git.history", "it rewrites the whole history");
                true
            }
            _ => false,
        };
    }
    let words = look.rest().to_vec();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let text = word.beginning();
        match &*text {
            "-c" | "--config-env" => {
                if let Some(setting) = words.get(index + 1) {
                    setting_of(look, setting);
                }
                index += 2;
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--super-prefix" => {
                if text == "--exec-path" {
                    look.ask("git.path", "it looks for git's own programs elsewhere");
                }
                index += 2;
            }
            _ if text.starts_with("-c") && text.len() > 2 && !text.starts_with("--") => {
                setting_of(look, &super::arguments::tail(word, 2));
                index += 1;
            }
            _ if text.starts_with("--exec-path=") => {
                look.ask("git.path", "it looks for git's own programs elsewhere");
                index += 1;
            }
            _ if text.starts_with('-') => index += 1,
            _ => break,
        }
    }
    let Some(verb) = words.get(index) else { return true };
    let Some(verb) = verb.text().map(std::borrow::Cow::into_owned) else {
        look.ask("git.verb", "what git is to do cannot be known from the line");
        return true;
    };
    let rest = words.get(index + 1..).unwrap_or_default().to_vec();
    if rest.iter().any(|word| word.is("--help")) && !rest.iter().any(|word| word.is("--")) && rest.len() == 1
    {
        return true;
    }
    subcommand(look, &verb, &rest);
    true
}

/// `-c NAME=VALUE`: some settings are commands.
fn setting_of(look: &mut Look<'_>, word: &Word) {
    let text = word.shown();
    let (name, value) = text.split_once('=').unwrap_or((&text, ""));
    let lower = name.to_ascii_lowercase();
    if matches!(lower.as_str(), "core.pager" | "pager.log" | "pager.diff")
        && matches!(value, "cat" | "" | "less" | "false")
    {
        return;
    }
    if COMMANDS
        .iter()
        .any(|command| lower == *command || (command.ends_with('.') && lower.starts_with(command)))
    {
        look.ask("git.setting", format!("the setting `{name}` makes git run something"));
        look.nested(value.trim_start_matches('!'));
    }
}

fn subcommand(look: &mut Look<'_>, verb: &str, rest: &[Word]) {
    let has = |names: &[&str]| {
        rest.iter().take_while(|word| !word.is("--")).any(|word| {
            let text = word.beginning();
            names.iter().any(|name| {
                if let Some(letter) = name.strip_prefix('-').filter(|letter| letter.len() == 1) {
                    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
                } else {
                    // Long flags may be abbreviated, and may carry a value.
                    let flag = text.split('=').next().unwrap_or(&text).to_string();
                    flag == *name || (flag.len() > 2 && flag.starts_with("--") && name.starts_with(&flag))
                }
            })
        })
    };
    let operands: Vec<&Word> = rest.iter().filter(|word| !word.beginning().starts_with('-')).collect();
    let lost = "it throws away work that is in no commit";
    match verb {
        "status" | "log" | "diff" | "show" | "blame" | "annotate" | "grep" | "ls-files" | "ls-tree"
        | "rev-parse" | "rev-list" | "describe" | "shortlog" | "cat-file" | "count-objects" | "name-rev"
        | "merge-base" | "cherry" | "whatchanged" | "range-diff" | "diff-tree" | "diff-index"
        | "diff-files" | "for-each-ref" | "show-ref" | "show-branch" | "var" | "version" | "help"
        | "check-mailmap" | "credential_" | "last-modified" | "for-each-repo_" | "diff-pairs" | "refs"
        | "backfill_" | "check-ignore" | "check-attr" | "check-ref-format" | "fsck" | "verify-commit"
        | "verify-tag" | "get-tar-commit-id" | "instaweb_" | "bugreport" | "diagnose" | "merge-tree"
        | "patch-id" | "stripspace" | "column" | "interpret-trailers" | "fmt-merge-msg" | "request-pull"
        | "ls-remote" | "archive" | "bundle" | "format-patch" | "hash-object" | "write-tree" | "mktree"
        | "mktag" | "commit-tree" | "unpack-file" | "verify-pack" | "show-index" | "difftool_"
        | "citool_" | "gui_" | "gitk" | "maintenance_" | "rerere" => {
            for word in rest {
                for candidate in super::argument_scan::candidates(word) {
                    if look.place(&candidate) == Place::Secret {
                        look.act(Act::Read, &candidate);
                    }
                }
            }
            let mut words = rest.iter();
            while let Some(word) = words.next() {
                let flag = word.is("--output") || word.is("-o") && matches!(verb, "archive" | "format-patch");
                if let Some(target) = words.as_slice().first().filter(|_| flag) {
                    look.act(Act::Write, target);
                }
            }
            if has(&["--output"]) || has(&["-O"]) && matches!(verb, "grep") {
                for word in rest.iter().filter(|word| word.beginning().starts_with("--output=")) {
                    look.act(Act::Write, &super::arguments::tail(word, 9));
                }
                if verb == "grep" {
                    look.ask("git.run", "it opens a program for what it finds");
                }
            }
            if matches!(verb, "ls-remote" | "archive") {
                remotes(look, rest);
                if verb == "ls-remote" {
                    addresses(look, &operands);
                }
            }
            if verb == "bundle"
                && operands.first().is_some_and(|word| word.is("create"))
                && let Some(target) = operands.get(1)
            {
                look.act(Act::Write, target);
            }
            for word in &operands {
                if look.place(word) == Place::Secret {
                    look.act(Act::Read, word);
                }
            }
        }
        "add" | "stage" | "commit" | "init" | "notes" | "rm" if verb != "rm" || has(&["--cached"]) => {
            if verb == "notes" && operands.first().is_some_and(|word| word.is("remove") || word.is("prune")) {
                look.ask("git.notes", "it deletes notes");
            }
            if verb == "commit" && has(&["--no-verify"]) {
                look.ask("git.verify", "it goes past the project's own checks");
            }
            if verb == "commit" && has(&["--amend"]) {
                look.ask("git.amend", "it rewrites the last commit");
            }
            if verb == "init" && has(&["--template"]) {
                look.ask("git.template", "a template may bring programs that git runs");
            }
        }
        "mv" if !has(&["-n", "--dry-run"]) => {
            let Some((target, sources)) = operands.split_last() else { return };
            for word in sources {
                if look.place(word).steers() {
                    look.act(Act::DeleteTree, word);
                }
            }
            super::files::into(look, sources, target);
            if look.place(target).steers() {
                look.act(Act::Write, target);
            }
        }
        "mv" => {}
        "rm" => {
            let act = if has(&["-r"]) { Act::DeleteTree } else { Act::Delete };
            for word in &operands {
                match look.place(word) {
                    Place::Workspace => look.deny("git.lost", lost),
                    _ if has(&["-f", "--force"]) => look.act(act, word),
                    // What steers agents and tools would steer them no longer.
                    Place::Instructions | Place::StartUp | Place::Record | Place::State => {
                        look.act(act, word);
                    }
                    // Without force git keeps what is in no commit.
                    _ => {}
                }
            }
        }
        "branch" => {
            if has(&["-D"]) || has(&["-d", "--delete"]) && has(&["-f", "--force"]) {
                look.ask("git.branch", "it deletes a branch, merged or not");
            } else if has(&["-f", "--force", "-M", "-C"]) {
                look.ask("git.branch", "it moves a branch by force");
            }
        }
        "tag" => {
            if has(&["-d", "--delete", "-f", "--force"]) {
                look.ask("git.tag", "it deletes or moves a tag");
            }
        }
        "checkout" => checkout(look, rest, &operands, &has, lost),
        "switch" => {
            if has(&["-f", "--force", "--discard-changes"]) {
                look.deny("git.lost", lost);
            } else if has(&["-C", "--force-create"]) {
                look.ask("git.branch", "it moves a branch by force");
            }
        }
        "restore" => {
            let staged = has(&["-S", "--staged"]) && !has(&["--no-staged"]);
            let tree = has(&["-W", "--worktree"]);
            if tree || !staged {
                let some = rest.iter().any(|word| word.is("--no-staged"))
                    && !tree
                    && !operands.is_empty()
                    && has(&["-S", "--staged"]);
                if some || has(&["-p", "--patch"]) {
                    look.ask("git.lost", lost);
                } else {
                    look.deny("git.lost", lost);
                }
            }
        }
        "reset" => {
            if has(&["--hard", "--merge", "--keep"]) {
                look.deny("git.lost", lost);
            }
        }
        "clean" => {
            let dry = has(&["-n", "--dry-run"]);
            if !dry && has(&["-f", "--force"]) {
                look.deny("git.lost", "it deletes files that are in no commit");
            } else if !dry {
                look.ask("git.clean", "it may delete files that are in no commit");
            }
        }
        "stash" => match operands.first().and_then(|word| word.text()).as_deref() {
            Some("drop" | "clear") => look.deny("git.lost", lost),
            Some("push" | "save") | None => stash(look, rest, &has),
            Some("pop" | "apply" | "list" | "show" | "branch" | "create" | "store") => {}
            Some(_) => look.ask("git.stash", "it changes stashed work"),
        },
        "push" => push(look, rest, &operands, &has),
        "fetch" | "pull" | "clone" | "remote" | "submodule" | "subtree" => {
            remotes(look, rest);
            let word = operands.first().and_then(|word| word.text()).map(std::borrow::Cow::into_owned);
            if verb == "fetch" {
                addresses(look, &operands);
            }
            match (verb, word.as_deref()) {
                ("clone", _) => look.ask("git.clone", "it brings code from another machine"),
                ("fetch", _)
                    if has(&["-f", "--force"])
                        || operands.iter().skip(1).any(|word| {
                            word.beginning().starts_with('+') || word.beginning().contains(':')
                        }) =>
                {
                    look.ask("git.force", "it moves references of this repository by force");
                }
                ("pull", _) if has(&["-f", "--force"]) => look.ask("git.force", "it takes changes by force"),
                ("pull", _) => {
                    look.ask("git.pull", "it brings code from another machine into the working tree");
                }
                (
                    "remote",
                    Some(
                        "add" | "set-url" | "remove" | "rm" | "rename" | "prune" | "set-head"
                        | "set-branches",
                    ),
                ) => look.ask("git.remote", "it changes where the repository is sent to"),
                ("submodule", Some("deinit")) if has(&["-f", "--force"]) => look.deny("git.lost", lost),
                ("submodule", Some("add" | "update" | "foreach" | "deinit" | "set-url" | "sync")) => {
                    look.ask("git.submodule", "it brings or runs code of other repositories");
                    if word.as_deref() == Some("foreach") {
                        let line =
                            operands.iter().skip(1).map(|word| word.shown()).collect::<Vec<_>>().join(" ");
                        look.nested(&line);
                    }
                }
                ("subtree", Some("push" | "add" | "pull" | "merge")) => {
                    look.ask("git.subtree", "it mixes repositories");
                }
                _ => {}
            }
            for word in rest.iter().filter(|word| {
                word.beginning().starts_with("--upload-pack")
                    || word.beginning().starts_with("--receive-pack")
                    || word.is("-u") && verb == "clone"
            }) {
                look.ask("git.run", format!("`{}` names a program to run", word.shown()));
                if let Some((_, command)) = word.shown().split_once('=') {
                    look.nested(command);
                }
            }
        }
        "merge" | "rebase" | "cherry-pick" | "revert" | "am" | "apply" | "bisect" | "worktree"
        | "sparse-checkout" | "update-index" | "read-tree" | "checkout-index" | "mergetool" | "difftool" => {
            match verb {
                "rebase" if has(&["--exec", "-x"]) => {
                    look.ask("git.run", "it runs a command for every commit");
                    let mut words = rest.iter();
                    while let Some(word) = words.next() {
                        if (word.is("--exec") || word.is("-x"))
                            && let Some(command) = words.next()
                        {
                            look.nested(&command.shown());
                        }
                    }
                }
                "bisect" if operands.first().is_some_and(|word| word.is("run")) => {
                    let line = operands.iter().skip(1).map(|word| word.shown()).collect::<Vec<_>>().join(" ");
                    look.nested(&line);
                }
                "rebase" => look.ask("git.rebase", "it rewrites commits"),
                "worktree"
                    if operands.first().is_some_and(|word| word.is("remove")) && has(&["-f", "--force"]) =>
                {
                    look.deny("git.lost", lost);
                }
                "worktree" if operands.first().is_some_and(|word| word.is("remove") || word.is("prune")) => {
                    look.ask("git.worktree", "it removes a working tree");
                }
                "checkout-index" if has(&["-f", "--force"]) => look.deny("git.lost", lost),
                "read-tree" if has(&["--reset"]) || has(&["-u"]) => look.deny("git.lost", lost),
                "update-index" if has(&["--force-remove", "--assume-unchanged", "--skip-worktree"]) => {
                    look.ask("git.index", "it hides files from git");
                }
                // A patch may change what steers agents, and new files are in no commit.
                "apply" if has(&["--check", "--stat", "--numstat", "--summary"]) && !has(&["--apply"]) => {}
                "am" if has(&["--show-current-patch"]) => {}
                "apply" | "am" => look.ask("git.apply", "what the patch writes is not seen from the line"),
                "sparse-checkout" if !operands.first().is_none_or(|word| word.is("list")) => {
                    look.ask(
                        "git.sparse",
                        "it takes files out of the working tree, hooks and rules among them",
                    );
                }
                "difftool" | "mergetool" if has(&["-x", "--extcmd"]) => {
                    look.ask("git.run", "it runs a program of its own choice");
                }
                _ => {}
            }
        }
        "gc" | "prune" | "reflog" | "filter-branch" | "filter-repo" | "update-ref" | "symbolic-ref"
        | "replace" | "repack" | "pack-refs" | "prune-packed" | "fast-import" => match verb {
            "filter-branch" | "filter-repo" => {
                look.catastrophe("git.history", "it rewrites the whole history");
                for word in rest {
                    if word.shown().contains(' ') {
                        look.nested(&word.shown());
                    }
                }
            }
            "reflog"
                if operands.first().is_none_or(|word| {
                    word.is("show") || word.is("exists") || !word.is("expire") && !word.is("delete")
                }) => {}
            "reflog" => look.catastrophe("git.recovery", "it destroys what lost commits could be found by"),
            "prune" if has(&["-n", "--dry-run"]) => {}
            "prune" => look.catastrophe("git.recovery", "it destroys what lost commits could be found by"),
            "gc" if rest
                .iter()
                .any(|word| word.beginning().starts_with("--p") && !word.is("--prune=never")) =>
            {
                look.catastrophe("git.recovery", "it destroys what lost commits could be found by");
            }
            "update-ref" if has(&["-d"]) => {
                look.catastrophe("git.recovery", "it deletes a reference without a trace");
            }
            "repack"
                if rest
                    .iter()
                    .any(|word| word.beginning().starts_with('-') && word.beginning().contains('a'))
                    && rest
                        .iter()
                        .any(|word| word.beginning().starts_with('-') && word.beginning().contains('d')) =>
            {
                look.ask("git.recovery", "it drops objects that nothing refers to");
            }
            "gc" | "repack" | "pack-refs" | "prune-packed" => {}
            "symbolic-ref" if operands.len() < 2 && !has(&["-d", "--delete"]) => {}
            _ => look.ask("git.plumbing", "it changes references or objects directly"),
        },
        "config" => config(look, rest, &operands, &has),
        "lfs" | "flow" | "svn" | "p4" | "send-email" | "imap-send" | "daemon" | "http-push"
        | "credential" | "credential-store" | "credential-cache" | "shell" | "instaweb" | "gui"
        | "citool" => match verb {
            "credential" | "credential-store" | "credential-cache" => {
                look.deny("git.credential", "it reads or changes stored credentials");
            }
            _ => look.ask("git.other", format!("`git {verb}` reaches beyond the repository")),
        },
        "maintenance" => look.ask("git.maintenance", "it may make something run later"),
        _ => look.ask("git.verb", format!("`git {verb}` is not known; it may be an alias")),
    }
}

/// Stashing takes files away. What steers agents is often in no commit, so it goes with all that is untracked.
fn stash(look: &mut Look<'_>, rest: &[Word], has: &dyn Fn(&[&str]) -> bool) {
    let paths: Vec<Word> = rest.iter().skip_while(|word| !word.is("--")).skip(1).cloned().collect();
    let untracked = has(&["-u", "--include-untracked", "-a", "--all"]);
    let whole = paths.is_empty() || paths.iter().any(|word| look.place(word) == Place::Workspace);
    if untracked && whole {
        look.ask("git.stash", "it takes away files that are in no commit, hooks and rules among them");
    }
    for word in rest {
        if look.place(word).steers() {
            look.act(Act::DeleteTree, word);
        }
    }
}

fn checkout(
    look: &mut Look<'_>,
    rest: &[Word],
    operands: &[&Word],
    has: &dyn Fn(&[&str]) -> bool,
    lost: &'static str,
) {
    if has(&["-f", "--force"]) {
        return look.deny("git.lost", lost);
    }
    let paths_follow = rest.iter().position(|word| word.is("--"));
    if let Some(at) = paths_follow {
        let paths = rest.get(at + 1..).unwrap_or_default();
        if !paths.is_empty() {
            return look.deny("git.lost", lost);
        }
    }
    let creates = has(&["-b", "-B", "--orphan", "--track", "-t", "--detach", "-d"]);
    if has(&["-B"]) {
        look.ask("git.branch", "it moves a branch by force");
    }
    if creates {
        return;
    }
    if has(&["--ours", "--theirs", "--merge", "-m", "-p", "--patch", "--pathspec-from-file"]) {
        return look.ask("git.lost", lost);
    }
    // `git checkout .`, `git checkout HEAD file`, `git checkout src/a.rs`: files, not branches.
    let is_path = |word: &&Word| {
        word.text().is_some_and(|text| {
            text == "."
                || text.starts_with("./")
                || text.starts_with("../")
                || text.starts_with(':')
                || text.ends_with('/')
                || text.contains('*')
                || has_extension(&text)
        })
    };
    match operands {
        [only] if is_path(only) => look.deny("git.lost", lost),
        [_, _, ..] => look.deny("git.lost", lost),
        _ => {}
    }
}

/// Ends like a file's name. Branches may hold dots too, but versions have digits behind them.
fn has_extension(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(name, end)| {
        !name.is_empty() && (1..=5).contains(&end.len()) && end.chars().all(|char| char.is_ascii_alphabetic())
    })
}

fn push(look: &mut Look<'_>, rest: &[Word], operands: &[&Word], has: &dyn Fn(&[&str]) -> bool) {
    let exact = |name: &str| rest.iter().any(|word| word.is(name));
    let forced = exact("--force")
        || rest.iter().any(|word| {
            let text = word.beginning();
            text.starts_with('-') && !text.starts_with("--") && text.contains('f')
                || text.starts_with("--forc") && !text.starts_with("--force-")
        });
    let deletes = exact("--delete") || exact("-d") || exact("--mirror") || exact("--prune");
    let refspec = operands.iter().skip(1).any(|word| word.beginning().starts_with([':', '+']));
    if forced || deletes || refspec {
        look.deny("git.remote-lost", "it overwrites or deletes what others have");
        return;
    }
    let to_url = operands
        .first()
        .is_some_and(|word| word.beginning().contains("://") || word.beginning().contains('@'));
    if to_url {
        look.deny("send.repository", "it sends the repository to an address of its own choice");
        return;
    }
    if look.carries(Taint::SECRET) {
        look.deny("send.secret", "it sends secrets");
        return;
    }
    remotes(look, rest);
    let with_lease = rest.iter().any(|word| word.beginning().starts_with("--force-with-lease"));
    if !has(&["-n", "--dry-run"]) || with_lease {
        look.ask("git.push", "it publishes commits");
    }
}

/// An address in the place of a remote's name: it chooses to whom something is said.
fn addresses(look: &mut Look<'_>, operands: &[&Word]) {
    let named = |word: &&&Word| {
        let text = word.beginning();
        text.contains("://")
            || text.contains("::")
            || text.split('/').next().is_some_and(|host| host.contains(':'))
    };
    if operands.iter().take(1).any(|word| named(&word) && !super::network::is_local(&word.beginning())) {
        look.ask(
            "git.address",
            "it talks to an address that stands in the line, not to a remote of the project",
        );
    }
}

/// Addresses that make git run a program.
fn remotes(look: &mut Look<'_>, rest: &[Word]) {
    for word in rest {
        let text = word.shown();
        if let Some(command) = text.strip_prefix("ext::") {
            look.ask("git.run", "the address makes git run a program");
            let plain = command.replace("% ", " ").replace("%S", "");
            look.nested(&plain);
            // `ext::sh -c …` has its blanks written as `% `.
            if plain.contains("sh -c ") {
                look.nested(plain.rsplit("sh -c ").next().unwrap_or_default());
            }
        }
        if text.starts_with("fd::") || text.starts_with("--upload-pack") && text.contains('=') {
            look.ask("git.run", "the address makes git run a program");
        }
    }
}

fn config(look: &mut Look<'_>, rest: &[Word], operands: &[&Word], has: &dyn Fn(&[&str]) -> bool) {
    let reads =
        has(&["--get", "--get-all", "--list", "-l", "--get-regexp", "--get-urlmatch", "--show-origin"])
            || operands.first().is_some_and(|word| word.is("list") || word.is("get"));
    if reads {
        return;
    }
    let words: Vec<String> = operands.iter().map(|word| word.shown()).collect();
    let (name, value) = match words.as_slice() {
        [set, name, value, ..] if set == "set" => (name.to_ascii_lowercase(), value.clone()),
        [name, value, ..] => (name.to_ascii_lowercase(), value.clone()),
        [_] if rest.len() == 1 => return,
        _ => (String::new(), String::new()),
    };
    if name == "core.hookspath" && !value.starts_with('.') {
        look.deny("git.hooks", "it switches off the project's own checks, or puts others in their place");
    }
    if name.starts_with("url.")
        || name == "http.sslverify"
        || name.starts_with("remote.")
        || name == "user.signingkey"
    {
        look.ask("git.remote", "it changes where the repository is sent to, or whom it trusts");
    }
    if COMMANDS
        .iter()
        .any(|command| name == *command || (command.ends_with('.') && name.starts_with(command)))
    {
        look.nested(value.trim_start_matches('!'));
        look.ask("git.setting", format!("the setting `{name}` makes git run something"));
    }
    look.ask("git.config", "it changes git's settings");
}
