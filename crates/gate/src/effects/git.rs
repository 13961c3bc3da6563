//! Git: losses, rewritten history, and programs that it starts.

mod checkout;
mod contents;
mod settings;

use super::argument_scan::candidates;
use super::arguments::tail;
use super::arrivals;
use super::look::Look;
use super::network::is_local;
use super::place::Place;
use super::severity::Act;
use super::words;
use crate::shell::{Taint, Word};

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
                setting_of(look, &tail(word, 2));
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
    judge_subcommand(look, &Subcommand::new(&verb, &rest));
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
    if words::GIT_COMMAND_SETTINGS.matches(&lower) {
        look.ask("git.setting", format!("the setting `{name}` makes git run something"));
        look.nested(value.trim_start_matches('!'));
    }
}

/// Why work that no commit holds must not be thrown away.
const LOST: &str = "it throws away work that is in no commit";

const UNVERIFIED: &str = "it bypasses the project's own checks";

/// A subcommand of git with its words.
struct Subcommand<'a> {
    verb: &'a str,
    rest: &'a [Word],
    operands: Vec<&'a Word>,
}

impl<'a> Subcommand<'a> {
    fn new(verb: &'a str, rest: &'a [Word]) -> Self {
        let operands = rest.iter().filter(|word| !word.beginning().starts_with('-')).collect();
        Subcommand { verb, rest, operands }
    }

    /// Is one of these flags there? Letters may stand together, long flags may be abbreviated and carry a value.
    fn has(&self, names: &[&str]) -> bool {
        self.rest.iter().take_while(|word| !word.is("--")).any(|word| {
            let text = word.beginning();
            names.iter().any(|name| {
                if let Some(letter) = name.strip_prefix('-').filter(|letter| letter.len() == 1) {
                    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
                } else {
                    let flag = text.split('=').next().unwrap_or(&text).to_string();
                    flag == *name || (flag.len() > 2 && flag.starts_with("--") && name.starts_with(&flag))
                }
            })
        })
    }

    /// Is this letter among the flags? Letters of `values` take the rest of their word, or the next one.
    fn has_letter(&self, letter: char, values: &str) -> bool {
        let mut words = self.rest.iter().take_while(|word| !word.is("--"));
        while let Some(word) = words.next() {
            let text = word.beginning();
            let Some(group) = text.strip_prefix('-').filter(|group| !group.starts_with('-')) else {
                continue;
            };
            for (at, own) in group.char_indices() {
                if own == letter {
                    return true;
                }
                if values.contains(own) {
                    // `-S` and `-u` have a value only where it is attached.
                    if at + own.len_utf8() == group.len() && !matches!(own, 'S' | 'u') {
                        words.next();
                    }
                    break;
                }
            }
        }
        false
    }

    /// A flag that takes back `--dry-run`, `--check` or the like, on which the verb is judged.
    fn broken_promise(&self) -> Option<String> {
        const PROMISES: [&str; 5] =
            ["--no-dry-run", "--no-check", "--no-numstat", "--no-cached", "--no-list"];
        const OF_APPLY: [&str; 2] = ["--no-stat", "--no-summary"];
        if words::GIT_LOOKS.matches(self.verb) {
            return None;
        }
        let of_apply = OF_APPLY.iter().filter(|_| self.verb == "apply");
        let names: Vec<&str> = PROMISES.iter().chain(of_apply).copied().collect();
        let is_negated = |text: &String| {
            text.len() > "--no-".len() && names.iter().any(|name| name.starts_with(text.as_str()))
        };
        let flags = self.rest.iter().take_while(|word| !word.is("--"));
        flags.map(|word| word.beginning().into_owned()).find(is_negated)
    }

    fn is_forced(&self) -> bool {
        self.has(&["-f", "--force"])
    }

    fn first(&self) -> Option<std::borrow::Cow<'a, str>> {
        self.operands.first().and_then(|word| word.text())
    }

    /// Is the first operand one of these?
    fn starts_with(&self, names: &[&str]) -> bool {
        self.operands.first().is_some_and(|word| names.iter().any(|name| word.is(name)))
    }

    /// The operands behind the first, as a line.
    fn command(&self) -> String {
        self.operands.iter().skip(1).map(|word| word.shown()).collect::<Vec<_>>().join(" ")
    }
}

fn judge_subcommand(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    if let Some(flag) = sub.broken_promise() {
        look.ask("git.negated", format!("`{flag}` takes back what an earlier flag of it promises"));
    }
    match sub.verb {
        verb if words::GIT_LOOKS.matches(verb) => looks(look, sub),
        "rm" if !sub.has(&["--cached"]) => remove(look, sub),
        "add" | "stage" | "commit" | "init" | "notes" | "rm" => record(look, sub),
        "mv" if !sub.has(&["-n", "--dry-run"]) => rename(look, sub),
        "mv" => {}
        "branch" | "tag" | "switch" => references(look, sub),
        "checkout" => checkout::judge(look, sub),
        "restore" => restore(look, sub),
        "reset" => {
            if sub.has(&["--hard", "--merge", "--keep"]) {
                look.deny("git.lost", LOST);
            }
        }
        "clean" => {
            // A pattern to exclude may look like the flag.
            let excludes = sub.rest.iter().any(|word| word.is("--exclude"));
            let dry = !excludes && (sub.has_letter('n', "e") || sub.has(&["--dry-run"]));
            if !dry && sub.is_forced() {
                look.deny("git.lost", "it deletes files that are in no commit");
            } else if !dry {
                look.ask("git.clean", "it may delete files that are in no commit");
            }
        }
        "stash" => match sub.first().as_deref() {
            Some("drop" | "clear") => look.deny("git.lost", LOST),
            Some("push" | "save") | None => stash(look, sub),
            Some("pop" | "apply" | "list" | "show" | "branch" | "create" | "store") => {}
            Some(_) => look.ask("git.stash", "it changes stashed work"),
        },
        "push" => push(look, sub),
        "fetch" | "pull" | "clone" | "remote" | "submodule" | "subtree" => exchange(look, sub),
        "rebase" | "bisect" | "worktree" | "checkout-index" | "read-tree" | "update-index" | "merge"
        | "cherry-pick" | "revert" | "am" | "apply" | "sparse-checkout" | "mergetool" | "difftool" => {
            integrate(look, sub);
        }
        "filter-branch" | "filter-repo" => {
            look.catastrophe("git.history", "it rewrites the whole history");
            for word in sub.rest.iter().map(Word::shown).filter(|word| word.contains(' ')) {
                look.nested(&word);
            }
        }
        "gc" | "prune" | "reflog" | "update-ref" | "symbolic-ref" | "replace" | "repack" | "pack-refs"
        | "prune-packed" | "fast-import" => plumbing(look, sub),
        "config" => settings::config(look, sub),
        "credential" | "credential-store" | "credential-cache" => {
            look.deny("git.credential", "it reads or changes stored credentials");
        }
        verb if words::GIT_BEYOND.matches(verb) => {
            look.ask("git.other", format!("`git {verb}` reaches beyond the repository"));
        }
        "maintenance" => look.ask("git.maintenance", "it may make something run later"),
        verb => look.ask("git.verb", format!("`git {verb}` is not known; it may be an alias")),
    }
}

/// Verbs that only look: what they read, and the files that their flags write.
fn looks(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let verb = sub.verb;
    for candidate in sub.rest.iter().flat_map(candidates) {
        if look.place(&candidate) == Place::Secret {
            look.act(Act::Read, &candidate);
        }
    }
    let mut words = sub.rest.iter();
    while let Some(word) = words.next() {
        let flag = word.is("--output") || word.is("-o") && matches!(verb, "archive" | "format-patch");
        if let Some(target) = words.as_slice().first().filter(|_| flag) {
            look.act(Act::Write, target);
        }
    }
    if sub.has(&["--output"]) || sub.has(&["-O"]) && verb == "grep" {
        for word in sub.rest.iter().filter(|word| word.beginning().starts_with("--output=")) {
            look.act(Act::Write, &tail(word, 9));
        }
        if verb == "grep" {
            look.ask("git.run", "it opens a program for what it finds");
        }
    }
    contents::secrets(look, sub);
    if matches!(verb, "ls-remote" | "archive" | "request-pull") {
        remotes(look, sub.rest);
        match verb {
            "ls-remote" => addresses(look, &sub.operands),
            "request-pull" => addresses(look, sub.operands.get(1..).unwrap_or_default()),
            _ => {}
        }
    }
    if verb == "bundle"
        && sub.starts_with(&["create"])
        && let Some(target) = sub.operands.get(1)
    {
        look.act(Act::Write, target);
    }
    for word in &sub.operands {
        if look.place(word) == Place::Secret {
            look.act(Act::Read, word);
        }
    }
}

fn record(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    match sub.verb {
        "notes" if sub.starts_with(&["remove", "prune"]) => look.ask("git.notes", "it deletes notes"),
        "init" if sub.has(&["--template"]) => {
            look.ask("git.template", "a template may bring programs that git runs");
        }
        "init" if sub.operands.iter().any(|word| look.place(word).steers()) => {
            look.ask("git.init", "it makes a repository where files that steer agents or tools lie");
        }
        "init" if sub.rest.iter().any(is_shared) => {
            look.ask("git.shared", "it lets every user of the machine write the repository");
        }
        "add" | "stage" => contents::staged(look, sub),
        "commit" => {
            if sub.has(&["--no-verify"]) || sub.has_letter('n', "mFCctuS") {
                look.ask("git.verify", UNVERIFIED);
            }
            if sub.has(&["--amend"]) {
                look.ask("git.amend", "it rewrites the last commit");
            }
        }
        _ => {}
    }
}

/// `--shared=0777`, `--shared=world`: more than the group.
fn is_shared(word: &Word) -> bool {
    let text = word.beginning();
    text.strip_prefix("--shared=").is_some_and(|mode| {
        let is_mode = mode.chars().all(|char| char.is_ascii_digit());
        matches!(mode, "world" | "all" | "everybody") || is_mode && mode.len() > 2 && !mode.ends_with('0')
    })
}

fn rename(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    if sub.is_forced() {
        look.ask("git.lost", "it writes over the file that has the new name");
    }
    let Some((target, sources)) = sub.operands.split_last() else { return };
    for word in sources {
        match look.place(word) {
            Place::ProjectSecret => look.act(Act::Read, word),
            place if place.steers() => look.act(Act::DeleteTree, word),
            _ => {}
        }
    }
    arrivals::into(look, sources, target);
    if look.place(target).steers() {
        look.act(Act::Write, target);
    }
}

fn remove(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let act = if sub.has(&["-r"]) { Act::DeleteTree } else { Act::Delete };
    for word in &sub.operands {
        match look.place(word) {
            Place::Workspace => look.deny("git.lost", LOST),
            _ if sub.is_forced() => look.act(act, word),
            // What steers agents and tools would steer them no longer.
            Place::Instructions | Place::StartUp | Place::Record | Place::State => look.act(act, word),
            _ if word.text().is_some_and(|text| contents::is_pattern(&text)) => {
                look.ask("git.rm", "a pattern may find files that steer agents or tools");
            }
            // Without force git keeps what is in no commit.
            _ => {}
        }
    }
}

fn references(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let moves = "it moves a branch by force";
    match sub.verb {
        "branch" if sub.has(&["-D"]) || sub.has(&["-d", "--delete"]) && sub.is_forced() => {
            look.ask("git.branch", "it deletes a branch, merged or not");
        }
        "branch" if sub.has(&["-f", "--force", "-M", "-C"]) => look.ask("git.branch", moves),
        "tag" if sub.has(&["-d", "--delete", "-f", "--force"]) => {
            look.ask("git.tag", "it deletes or moves a tag");
        }
        "switch" if sub.has(&["-f", "--force", "--discard-changes"]) => look.deny("git.lost", LOST),
        "switch" if sub.has(&["-C", "--force-create"]) => look.ask("git.branch", moves),
        _ => {}
    }
}

fn restore(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let staged = sub.has(&["-S", "--staged"]) && !sub.has(&["--no-staged"]);
    let tree = sub.has(&["-W", "--worktree"]);
    if staged && !tree {
        return;
    }
    let some = sub.rest.iter().any(|word| word.is("--no-staged"))
        && !tree
        && !sub.operands.is_empty()
        && sub.has(&["-S", "--staged"]);
    if some || sub.has(&["-p", "--patch"]) {
        look.ask("git.lost", LOST);
    } else {
        look.deny("git.lost", LOST);
    }
}

/// Verbs that bring something from other repositories, or change where they are.
fn exchange(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    remotes(look, sub.rest);
    match sub.verb {
        "fetch" => addresses(look, &sub.operands),
        "remote" if sub.starts_with(&["show", "update"]) => {
            addresses(look, sub.operands.get(1..).unwrap_or_default());
        }
        _ => {}
    }
    let moves = |word: &&Word| word.beginning().starts_with('+') || word.beginning().contains(':');
    match (sub.verb, sub.first().as_deref()) {
        ("clone", _) => look.ask("git.clone", "it brings code from another machine"),
        ("fetch", _) if sub.is_forced() || sub.operands.iter().skip(1).any(moves) => {
            look.ask("git.force", "it moves references of this repository by force");
        }
        ("pull", _) if sub.is_forced() => look.ask("git.force", "it takes changes by force"),
        ("pull", _) => look.ask("git.pull", "it brings code from another machine into the working tree"),
        ("remote", Some(verb)) if words::GIT_REMOTE_CHANGES.matches(verb) => {
            look.ask("git.remote", "it changes where the repository is sent to");
        }
        ("submodule", Some("deinit")) if sub.is_forced() => look.deny("git.lost", LOST),
        ("submodule", Some("add" | "update" | "foreach" | "deinit" | "set-url" | "sync")) => {
            look.ask("git.submodule", "it brings or runs code of other repositories");
            if sub.starts_with(&["foreach"]) {
                look.nested_command(&sub.command());
            }
        }
        ("subtree", Some("push" | "add" | "pull" | "merge")) => {
            look.ask("git.subtree", "it mixes repositories");
        }
        _ => {}
    }
    for word in sub.rest {
        let text = word.beginning();
        let runs = text.starts_with("--upload-pack")
            || text.starts_with("--receive-pack")
            || word.is("-u") && sub.verb == "clone";
        if runs {
            look.ask("git.run", format!("`{}` names a program to run", word.shown()));
            if let Some((_, command)) = word.shown().split_once('=') {
                look.nested_command(command);
            }
        }
    }
}

/// Verbs that bring commits or files into the working tree.
fn integrate(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    match sub.verb {
        "rebase" if sub.has(&["--exec", "-x"]) => {
            look.ask("git.run", "it runs a command for every commit");
            let mut words = sub.rest.iter();
            while let Some(word) = words.next() {
                if (word.is("--exec") || word.is("-x"))
                    && let Some(command) = words.next()
                {
                    look.nested_command(&command.shown());
                }
            }
        }
        "merge" if sub.has(&["--no-verify"]) => look.ask("git.verify", UNVERIFIED),
        "bisect" if sub.starts_with(&["run"]) => look.nested_command(&sub.command()),
        "rebase" => look.ask("git.rebase", "it rewrites commits"),
        "worktree" if sub.starts_with(&["remove"]) && sub.is_forced() => look.deny("git.lost", LOST),
        "worktree" if sub.starts_with(&["remove", "prune"]) => {
            look.ask("git.worktree", "it removes a working tree");
        }
        "worktree" if sub.starts_with(&["add"]) => checkout::add_worktree(look, sub),
        "checkout-index" if sub.is_forced() => look.deny("git.lost", LOST),
        "read-tree" if sub.has(&["--reset"]) || sub.has(&["-u"]) => look.deny("git.lost", LOST),
        "update-index" if sub.has(&["--add"]) => contents::staged(look, sub),
        "update-index" if sub.has(&["--force-remove", "--assume-unchanged", "--skip-worktree"]) => {
            look.ask("git.index", "it hides files from git");
        }
        // A patch may change what steers agents, and new files are in no commit.
        "apply" if sub.has(&["--check", "--stat", "--numstat", "--summary"]) && !sub.has(&["--apply"]) => {}
        "am" if sub.has(&["--show-current-patch"]) => {}
        "apply" | "am" => look.ask("git.apply", "what the patch writes is not seen from the line"),
        "sparse-checkout" if !sub.operands.is_empty() && !sub.starts_with(&["list"]) => {
            look.ask("git.sparse", "it takes files out of the working tree, hooks and rules among them");
        }
        "difftool" | "mergetool" if sub.has(&["-x", "--extcmd"]) => {
            look.ask("git.run", "it runs a program of its own choice");
        }
        _ => {}
    }
}

/// Verbs that change references and objects themselves.
fn plumbing(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let recovery = "it destroys what lost commits could be found by";
    let letter = |letter: char| {
        sub.rest.iter().any(|word| word.beginning().starts_with('-') && word.beginning().contains(letter))
    };
    match sub.verb {
        "reflog" if sub.starts_with(&["expire", "delete", "drop"]) => {
            look.catastrophe("git.recovery", recovery);
        }
        "reflog" if sub.operands.is_empty() || sub.starts_with(&["show", "list", "exists"]) => {}
        // `git reflog HEAD` shows that of a reference.
        "reflog" if sub.first().is_some_and(|name| is_reference(&name)) => {}
        "prune" if sub.has(&["-n", "--dry-run"]) => {}
        "prune" => look.catastrophe("git.recovery", recovery),
        "gc" if sub
            .rest
            .iter()
            .any(|word| word.beginning().starts_with("--p") && !word.is("--prune=never")) =>
        {
            look.catastrophe("git.recovery", recovery);
        }
        "update-ref" if sub.has(&["-d"]) => {
            look.catastrophe("git.recovery", "it deletes a reference without a trace");
        }
        "repack" if letter('a') && letter('d') => {
            look.ask("git.recovery", "it drops objects that nothing refers to");
        }
        "gc" | "repack" | "pack-refs" | "prune-packed" => {}
        "symbolic-ref" if sub.operands.len() < 2 && !sub.has(&["-d", "--delete"]) => {}
        _ => look.ask("git.plumbing", "it changes references or objects directly"),
    }
}

/// Is this certainly the name of a reference, not a subcommand?
fn is_reference(name: &str) -> bool {
    name.contains(['/', '@']) || matches!(name, "HEAD" | "main" | "master" | "stash")
}

/// Stashing takes files away. What steers agents is often in no commit, so it goes with all that is untracked.
fn stash(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let paths: Vec<Word> = sub.rest.iter().skip_while(|word| !word.is("--")).skip(1).cloned().collect();
    let untracked = sub.has(&["-u", "--include-untracked", "-a", "--all"]);
    let whole = paths.is_empty() || paths.iter().any(|word| look.place(word) == Place::Workspace);
    if untracked && whole {
        look.ask("git.stash", "it takes away files that are in no commit, hooks and rules among them");
    }
    for word in sub.rest {
        if look.place(word).steers() {
            look.act(Act::DeleteTree, word);
        }
    }
}

fn push(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let (rest, operands) = (sub.rest, &sub.operands);
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
    let to_url = operands.iter().any(|word| word.beginning().contains("://"))
        || operands.first().is_some_and(|word| word.beginning().contains('@'));
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
    if !sub.has(&["-n", "--dry-run"]) || with_lease {
        look.ask("git.push", "it publishes commits");
    }
    addresses(look, operands);
}

/// An address in the place of a remote's name: it chooses with whom git talks.
fn addresses(look: &mut Look<'_>, operands: &[&Word]) {
    let named = |word: &&&Word| {
        let text = word.beginning();
        text.contains("://")
            || text.contains("::")
            || text.split('/').next().is_some_and(|host| host.contains(':'))
    };
    if operands.iter().take(1).any(|word| named(&word) && !is_local(&word.beginning())) {
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
