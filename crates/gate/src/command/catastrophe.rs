//! The first layer: what nothing lifts.
//!
//! Judged on the words of each simple command, with wrappers (`sudo`, `env`, `xargs`, `bash -c` …) unfolded, and again
//! on the raw text wherever the words are not the whole truth: doubts of the splitter, interpreters, wrappers. A line
//! whose words are certain is not judged by its raw text, so that a commit message may speak of `rm -rf /`.

use super::CommandContext;
use super::target::{Target, classify, path_candidates};
use super::words::{self, Simple, Word};
use crate::verdict::Verdict;
use regex::Regex;
use std::path::PathBuf;
use std::sync::LazyLock;

/// How deep `bash -c 'bash -c …'` is unfolded; deeper is judged by the raw text only.
pub(crate) const DEPTH: usize = 4;

/// Programs that run another program named by their arguments.
const WRAPPERS: [&str; 36] = [
    "sudo", "doas", "su", "env", "command", "exec", "builtin", "nohup", "timeout", "nice", "ionice",
    "setsid", "stdbuf", "time", "xargs", "parallel", "watch", "script", "busybox", "toybox", "chroot",
    "unshare", "nsenter", "strace", "ltrace", "chrt", "taskset", "flock", "ssh", "docker", "podman",
    "kubectl", "find", "fd", "eval", "trap",
];

/// Programs that run text as a shell does.
const SHELLS: [&str; 10] = ["sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "mksh", "csh", "tcsh"];
/// Programs that run other code.
const INTERPRETERS: [&str; 10] =
    ["python", "python3", "python2", "perl", "ruby", "node", "php", "lua", "awk", "deno"];
/// Programs that fetch from the network, or send to it.
const CARRIERS: [&str; 13] = [
    "curl", "wget", "fetch", "http", "https", "nc", "ncat", "netcat", "socat", "telnet", "ftp", "scp",
    "rsync",
];

/// A command as it is looked at: peeled of its wrappers.
struct Look<'a> {
    program: &'a str,
    words: &'a [Word],
    folders: &'a [PathBuf],
    context: &'a CommandContext,
}

/// The last part of a program's path.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The words that the command might really run: itself, and for wrappers every later word as a beginning.
pub(crate) fn beginnings(words: &[Word]) -> Vec<&[Word]> {
    let mut start = words;
    while let [first, rest @ ..] = start
        && (words::is_assignment(&first.text) || words::is_keyword(&first.text))
    {
        start = rest;
    }
    let mut found = vec![start];
    if let Some(first) = start.first()
        && WRAPPERS.contains(&base_name(&first.text))
    {
        found.extend((1..start.len()).filter_map(|at| start.get(at..)));
    }
    found
}

/// Does the command run text that the words do not show?
pub(crate) fn is_opaque(words: &[Word]) -> bool {
    beginnings(words).iter().any(|words| {
        words.first().is_some_and(|first| {
            let program = base_name(&first.text);
            [&SHELLS[..], &WRAPPERS[..], &CARRIERS[..]].iter().any(|list| list.contains(&program))
                || is_interpreter(program)
        })
    })
}

fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.contains(&program) || program.starts_with("python3.")
}

/// Is this command a catastrophe? `before` are the commands that feed it through pipes.
pub(crate) fn judge(
    command: &Simple,
    before: &[Simple],
    folders: &[PathBuf],
    context: &CommandContext,
    depth: usize,
) -> Option<Verdict> {
    for redirect in command.redirects.iter().filter(|redirect| redirect.writes) {
        let target = classify(&redirect.target, folders, context);
        if target.is_vital() && target != Target::Workspace {
            return Some(deny("redirect", format!("it would overwrite `{}`", redirect.target.text)));
        }
    }
    for word in command.words.iter().chain(command.redirects.iter().map(|redirect| &redirect.target)) {
        if let Some(verdict) = secret(word, folders, context) {
            return Some(verdict);
        }
    }
    for words in beginnings(&command.words) {
        let [first, rest @ ..] = words else { continue };
        let look = Look { program: base_name(&first.text), words: rest, folders, context };
        if let Some(verdict) = look.judge(before) {
            return Some(verdict);
        }
        if let Some(verdict) = look.inner(depth) {
            return Some(verdict);
        }
    }
    None
}

fn deny(rule: &str, reason: String) -> Verdict {
    Verdict::deny(
        format!("catastrophe.{rule}"),
        reason,
        "No setting lifts this. Do the work without it, or tell the person what is needed and why.",
    )
}

fn secret(word: &Word, folders: &[PathBuf], context: &CommandContext) -> Option<Verdict> {
    path_candidates(word)
        .iter()
        .any(|candidate| classify(candidate, folders, context) == Target::Secret)
        .then(|| deny("secret", format!("`{}` holds credentials", word.text)))
}

impl Look<'_> {
    fn flag(&self, short: char, long: &str) -> bool {
        self.words.iter().any(|word| {
            let text = word.text.as_str();
            (text.starts_with('-') && !text.starts_with("--") && text.contains(short))
                || (!long.is_empty() && text.starts_with("--") && text.len() > 3 && long.starts_with(text))
        })
    }

    fn has(&self, text: &str) -> bool {
        self.words.iter().any(|word| word.text == text)
    }

    fn targets(&self) -> impl Iterator<Item = (&Word, Target)> {
        let plain = self.words.iter().filter(|word| !word.text.starts_with('-'));
        plain.map(|word| (word, classify(word, self.folders, self.context)))
    }

    fn vital_target(&self) -> Option<String> {
        self.targets().find(|(_, target)| target.is_vital()).map(|(word, _)| word.text.clone())
    }

    fn judge(&self, before: &[Simple]) -> Option<Verdict> {
        let say = |rule: &str, reason: &str| Some(deny(rule, reason.to_string()));
        match self.program {
            "rm" | "rmdir" | "unlink" | "shred" | "srm" => {
                if self.flag('\0', "--no-preserve-root") {
                    return say("delete", "it would delete the root of the file system");
                }
                let target = self.vital_target()?;
                Some(deny("delete", format!("it would delete `{target}`")))
            }
            "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" if self.flag('R', "--recursive") => {
                let target =
                    self.vital_target().filter(|_| !self.targets().all(|(_, target)| target.is_open()))?;
                Some(deny(
                    "permissions",
                    format!("it would change the owner or mode of everything in `{target}`"),
                ))
            }
            "cp" | "mv" | "install" | "ln" | "tee" | "truncate" | "touch" | "mkdir" | "rsync" | "chmod"
            | "chown" => {
                let (word, _) = self.targets().find(|(_, target)| {
                    target.is_vital() && !matches!(target, Target::Workspace | Target::Home | Target::Root)
                })?;
                let reads = matches!(self.program, "cp" | "install" | "ln" | "rsync")
                    && self.words.last() != Some(word);
                (!reads).then(|| deny("overwrite", format!("it would change `{}`", word.text)))
            }
            "dd" => {
                let outputs =
                    self.words.iter().filter_map(|word| Some((word, word.text.strip_prefix("of=")?)));
                let vital = |text: &str| {
                    let word = Word { text: text.to_string(), ..Word::default() };
                    classify(&word, self.folders, self.context).is_vital()
                };
                let (word, _) = outputs.into_iter().find(|(_, text)| vital(text))?;
                Some(deny("device", format!("it would overwrite with `{}`", word.text)))
            }
            "mke2fs" | "wipefs" | "fdisk" | "sfdisk" | "parted" | "sgdisk" | "mkswap" | "blkdiscard"
            | "cryptsetup" | "hdparm" => say("device", "it would rewrite a disk"),
            program if program.starts_with("mkfs") => say("device", "it would format a disk"),
            "shutdown" | "reboot" | "halt" | "poweroff" | "telinit" => {
                say("machine", "it would stop the machine")
            }
            "init" if self.has("0") || self.has("6") => say("machine", "it would stop the machine"),
            "systemctl" if ["poweroff", "reboot", "halt", "kexec"].iter().any(|verb| self.has(verb)) => {
                say("machine", "it would stop the machine")
            }
            "insmod" | "modprobe" | "rmmod" => say("machine", "it would change the kernel"),
            "kill" if self.has("-1") && self.words.len() > 1 => say("machine", "it would end every process"),
            "killall5" => say("machine", "it would end every process"),
            "find" if self.has("-delete") || self.has("rm") || self.has("shred") => {
                let target = self.vital_target().filter(|target| target != "." && target != "./")?;
                Some(deny("delete", format!("it would delete what it finds in `{target}`")))
            }
            "git" => self.git(),
            "history" if self.flag('c', "") => say("traces", "it would erase the shell's history"),
            program if SHELLS.contains(&program) || is_interpreter(program) => piped_code(before),
            program if CARRIERS.contains(&program) && !before.is_empty() => {
                let environment = |command: &Simple| {
                    let program = command.words.first().map(|word| base_name(&word.text)).unwrap_or_default();
                    matches!(program, "printenv" | "set" | "export")
                        || (program == "env" && command.words.len() == 1)
                };
                before
                    .iter()
                    .any(environment)
                    .then(|| deny("secret", "it would send the environment out".into()))
            }
            _ => None,
        }
    }

    fn git(&self) -> Option<Verdict> {
        // Options of git itself come before the subcommand; two of them take a value.
        let mut words = self.words;
        while let [first, rest @ ..] = words
            && first.text.starts_with('-')
        {
            let takes_value =
                matches!(first.text.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace");
            words = if takes_value { rest.get(1..).unwrap_or_default() } else { rest };
        }
        let [subcommand, rest @ ..] = words else { return None };
        let look = Look { program: "git", words: rest, folders: self.folders, context: self.context };
        let loss = |reason: &str| Some(deny("git", reason.to_string()));
        let everything = || rest.iter().any(|word| matches!(word.text.as_str(), "." | "./" | "*" | ":/"));
        match subcommand.text.as_str() {
            "push" => {
                let forced = look.has("--force")
                    || look.has("--mirror")
                    || look.flag('f', "")
                    || look.flag('d', "--delete");
                let refspec =
                    rest.iter().any(|word| word.text.starts_with('+') || word.text.starts_with(':'));
                if forced || refspec {
                    loss("it would rewrite or delete history that others have")
                } else {
                    None
                }
            }
            "reset" if look.flag('\0', "--hard") => loss("it would discard work that is not committed"),
            "clean" if look.flag('f', "--force") => loss("it would delete files that git does not know"),
            "checkout" | "restore" if everything() && !look.has("--staged") => {
                loss("it would discard all work that is not committed")
            }
            "checkout" | "switch" if look.flag('f', "--force") || look.flag('\0', "--discard-changes") => {
                loss("it would discard work that is not committed")
            }
            "stash" if look.has("clear") || look.has("drop") => loss("it would delete stashed work"),
            "filter-branch" | "filter-repo" | "replace" => loss("it would rewrite history"),
            "reflog" if look.has("expire") || look.has("delete") => loss("it would destroy the way back"),
            "gc" if rest.iter().any(|word| word.text.starts_with("--prune")) => {
                loss("it would destroy the way back")
            }
            "update-ref" if look.flag('d', "--delete") => loss("it would delete a branch's history"),
            "rm" => {
                let target = look.vital_target()?;
                Some(deny("delete", format!("it would delete `{target}`")))
            }
            _ => None,
        }
    }

    /// Judges the text that a shell is told to run.
    fn inner(&self, depth: usize) -> Option<Verdict> {
        let text = inner_text(self.program, self.words)?;
        if depth >= DEPTH {
            return raw(&text);
        }
        let line = words::split(&text);
        let found = line.commands.iter().enumerate().find_map(|(at, command)| {
            judge(command, feeders(&line.commands, at), self.folders, self.context, depth + 1)
        });
        found.or_else(|| raw(&text))
    }
}

/// The line that a program runs as a shell does: `bash -c LINE`, `eval LINE`.
pub(crate) fn inner_text(program: &str, words: &[Word]) -> Option<String> {
    if SHELLS.contains(&program) {
        let at = words.iter().position(|word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('c')
        })?;
        let rest = words.get(at + 1..)?;
        return rest.iter().find(|word| word.text != "--").map(|word| word.text.clone());
    }
    matches!(program, "eval" | "trap" | "ssh" | "watch" | "su" | "script")
        .then(|| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "))
}

/// The commands whose output reaches the command at `at` through pipes.
pub(crate) fn feeders(commands: &[Simple], at: usize) -> &[Simple] {
    let mut start = at;
    while start > 0 && commands.get(start).is_some_and(|command| command.piped) {
        start -= 1;
    }
    commands.get(start..at).unwrap_or_default()
}

fn piped_code(before: &[Simple]) -> Option<Verdict> {
    let names = |list: &[&str]| {
        before
            .iter()
            .flat_map(|command| beginnings(&command.words))
            .any(|words| words.first().is_some_and(|first| list.contains(&base_name(&first.text))))
    };
    if names(&CARRIERS) {
        return Some(deny("remote-code", "it would run code straight from the network".into()));
    }
    if names(&["base64", "base32", "xxd", "openssl", "rev", "tr", "gunzip", "zcat", "uudecode"]) {
        return Some(deny("hidden-code", "it would run code that was hidden".into()));
    }
    None
}

/// Shapes of catastrophes in raw text, as (rule, expression).
const SHAPES: [(&str, &str); 17] = [
    (
        "delete",
        r#"\b(rm|shred)\s+(-\S+\s+)*["']?(/|~|\$\{?HOME\}?|/\*|(~|\$\{?HOME\}?)/\*?|/(bin|boot|dev|etc|home|lib|lib64|opt|proc|root|run|sbin|srv|sys|usr|var)(/\S*)?)["']?(\s|$|[;&|)`"'])"#,
    ),
    ("delete", r"--no-preserve-root"),
    ("delete", r#"\b(rm|shred)\s[^;&|]*(^|[\s/"'])\.(git|marvin|tickets)(/|\s|$|["';&|)])"#),
    ("delete", r#"rmtree\(\s*["'](/|~)|(rmSync|rm_rf|rmdirSync)\(\s*["'](/|~)|Path\.home\(\)[^;]*rmtree"#),
    ("device", r"\bmkfs(\.\w+)?\s|\bwipefs\b|\bblkdiscard\b"),
    ("device", r"\bdd\b[^;&|]*\bof=/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper|mem|kmem)"),
    ("device", r">\s*/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper|mem|kmem)"),
    ("machine", r"\(\)\s*\{[^}]*\|[^}]*&[^}]*\}"),
    ("machine", r"(^|[;&|(`]\s*|\bsudo\s+)(shutdown|reboot|poweroff|halt)(\s|$|[;&|)])"),
    (
        "permissions",
        r"\bch(mod|own|grp)\s+(-\S+\s+)*-\w*R\S*\s+\S+\s+(/|~|\$HOME|/(bin|boot|etc|home|lib|opt|root|sbin|usr|var)\S*)(\s|$|[;&|)])",
    ),
    (
        "remote-code",
        r"\b(curl|wget)\b[^;]*\|\s*(\S*/)?(sudo\s+)?(\S*/)?((ba|z|da|k|fi)?sh|python[0-9.]*|perl|ruby|node|php)\b",
    ),
    (
        "remote-code",
        r#"\b((ba|z|da|k)?sh|eval|source|python[0-9.]*|perl|ruby|node|exec)\b[^;]*(\$\(|<\(|`)\s*(\S*/)?(curl|wget)\b|(^|\s)\.\s+<\(\s*(curl|wget)"#,
    ),
    (
        "hidden-code",
        r"\b(base64|base32|xxd|uudecode)\b[^;]*\|\s*(\S*/)?(sudo\s+)?(\S*/)?((ba|z|da|k)?sh|python[0-9.]*|perl)\b|\b((ba|z|da|k)?sh|eval)\b[^;]*(\$\(|<\(|`)[^)]*\bbase64\b",
    ),
    (
        "reverse-shell",
        r"/dev/(tcp|udp)/|\b(nc|ncat|netcat)\b[^;|]*\s-\w*[ec]\s|socket\.socket\(.*(dup2|subprocess|pty)|\bsocat\b[^;|]*exec:",
    ),
    (
        "secret",
        r#"(^|[\s/"'=@~])\.(ssh/(id_|authorized_keys|config|\*|["'\s]|$)|aws/(credentials|config)|gnupg|netrc|git-credentials|kube/config|pgpass|docker/config\.json)|/etc/(shadow|gshadow|sudoers)|/proc/[^/\s]+/environ|\bid_(rsa|ed25519|ecdsa|dsa)\b"#,
    ),
    (
        "git",
        r"\bgit\b[^;&|]*\bpush\b[^;&|]*(\s--force(\s|$)|\s-f\b|\s--mirror\b)|\bgit\b[^;&|]*\breset\b[^;&|]*\s--hard\b",
    ),
    (
        "git",
        r"\bgit\b[^;&|]*\bclean\b[^;&|]*\s-\w*f|\bgit\b[^;&|]*\bfilter-(branch|repo)\b|\bgit\b[^;&|]*\breflog\s+expire\b",
    ),
];

static EXPRESSIONS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    // Every expression compiles: a test counts them.
    SHAPES.iter().filter_map(|(rule, shape)| Some((*rule, Regex::new(shape).ok()?))).collect()
});

/// Looks for catastrophes in raw text, as it stands and with quotes and escapes taken out.
pub(crate) fn raw(text: &str) -> Option<Verdict> {
    let bare: String =
        text.replace("\\\n", "").chars().filter(|letter| !matches!(letter, '\'' | '"' | '\\')).collect();
    let spaced = bare.replace("${IFS}", " ").replace("$IFS", " ");
    EXPRESSIONS
        .iter()
        .find(|(_, expression)| [text, &bare, &spaced].iter().any(|text| expression.is_match(text)))
        .map(|(rule, _)| {
            deny(rule, "its text shows something that cannot be undone or must not leave".into())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles() {
        assert_eq!(EXPRESSIONS.len(), SHAPES.len());
    }
}
