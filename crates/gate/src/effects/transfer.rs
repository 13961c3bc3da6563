//! Files between machines, and commands on other machines.

use super::argument_scan::{candidates, generic};
use super::arguments::Arguments;
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::words;
use crate::shell::{Taint, Word};

/// Judges the program if it is one of these.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    match base {
        name if words::FILE_TRANSFERS.matches(name) => match base {
            "scp" | "sftp" | "rsync" | "rclone" | "pscp" => transfer(look, base),
            _ => {
                let sends = look.carries(Taint::SECRET)
                    || look
                        .rest()
                        .iter()
                        .any(|word| matches!(look.place(word), Place::Secret | Place::ProjectSecret));
                generic(look, true);
                if sends {
                    look.catastrophe("send.secret", "it sends secrets to another machine");
                }
                let directory = look.rest().iter().any(|word| {
                    matches!(look.place(word), Place::Home | Place::Root)
                        && word.beginning().starts_with(['/', '~'])
                });
                if directory {
                    look.deny("send.file", "it sends whole directories to another machine");
                }
                look.ask("transfer", "it copies between machines");
            }
        },
        name if words::REMOTE_SHELLS.matches(name) => remote(look, base),
        _ => return false,
    }
    true
}

/// Directories that hold keys by their names.
fn is_sensitive_directory(text: &str) -> bool {
    text.trim_end_matches('/')
        .rsplit('/')
        .next()
        .is_some_and(|name| words::KEY_DIRECTORIES.matches(&name.to_ascii_lowercase()))
}

fn rclone(look: &mut Look<'_>, arguments: &Arguments) {
    let words: Vec<String> = arguments.operands.iter().map(Word::shown).collect();
    match words.first().map_or("", String::as_str) {
        "ls" | "lsd" | "lsf" | "lsl" | "lsjson" | "tree" | "size" | "version" | "about" | "listremotes"
        | "check" | "help" | "ncdu" => {}
        "delete" | "purge" | "deletefile" | "cleanup" | "rmdirs" | "sync" | "move" | "dedupe"
            if !arguments.has(&["--dry-run", "-n"]) =>
        {
            look.deny("transfer.delete", "it deletes what is stored elsewhere");
        }
        "config" if words.get(1).is_some_and(|word| matches!(word.as_str(), "show" | "dump")) => {
            look.deny("secret", "it shows stored credentials");
        }
        _ => look.ask("transfer", "it copies between machines"),
    }
}

fn transfer(look: &mut Look<'_>, base: &str) {
    let arguments = Arguments::new(look.rest(), &words::TRANSFER_VALUES);
    for value in arguments.values(&["-e", "--rsh", "-S", "--rsync-path", "-o"]) {
        let text = value.shown();
        let first = text.split_whitespace().next().unwrap_or_default().to_string();
        if text.contains("ProxyCommand")
            || text.contains("LocalCommand")
            || text.contains("KnownHostsCommand")
            || !matches!(first.as_str(), "ssh" | "/usr/bin/ssh") && !text.contains('=')
        {
            look.ask("transfer.run", "it runs a command of its own choice");
            look.nested(text.split_once('=').map_or(text.as_str(), |(_, command)| command));
        }
    }
    let is_remote = |word: &Word| {
        let text = word.shown();
        text.split('/').next().is_some_and(|first| first.contains(':')) || text.contains("://")
    };
    let operands = arguments.operands.clone();
    let remote = operands.iter().any(is_remote);
    let (sources, target) = match operands.split_last() {
        Some((target, sources)) if !sources.is_empty() => (sources.to_vec(), Some(target.clone())),
        _ => (operands.clone(), None),
    };
    for source in sources.iter().filter(|word| !is_remote(word)) {
        look.act(Act::Read, source);
        let to_remote = target.as_ref().is_some_and(is_remote);
        if to_remote && is_sensitive_directory(&source.shown()) {
            look.catastrophe("send.secret", "it sends a directory of keys to another machine");
        }
        if to_remote
            && matches!(look.place(source), Place::Home | Place::ProjectSecret | Place::Root | Place::Secret)
        {
            look.catastrophe("send.secret", "it sends whole directories or secrets to another machine");
        }
    }
    if base == "rclone" {
        rclone(look, &arguments);
        return;
    }
    if base == "sftp" {
        let puts = look.segment.input.as_ref().and_then(|stream| stream.text.clone());
        for path in puts.iter().flat_map(|text| text.split_whitespace()) {
            let word = Word::known(path.replacen("~/", &format!("{}/", look.grounds.home), 1));
            if matches!(look.place(&word), Place::Secret | Place::ProjectSecret) {
                look.catastrophe("send.secret", "it sends secrets to another machine");
            }
        }
        if look.carries(Taint::SECRET) {
            look.catastrophe("send.secret", "it sends secrets to another machine");
        }
    }
    if remote
        && arguments
            .flags
            .iter()
            .any(|flag| flag.name.starts_with("--del") || flag.name == "--remove-source-files")
    {
        look.deny("transfer.delete", "it deletes what is not on the other side");
    }
    if let Some(target) = target.filter(|word| !is_remote(word)) {
        if arguments.flags.iter().any(|flag| flag.name.starts_with("--del")) {
            look.act(Act::DeleteTree, &target);
        }
        look.act(Act::Write, &target);
    }
    if remote || base != "rsync" {
        look.ask("transfer", "it copies between machines");
    } else {
        look.ask("transfer", "it makes one directory like another");
    }
}

fn remote(look: &mut Look<'_>, base: &str) {
    let words = look.rest().to_vec();
    let arguments = Arguments::new(&words, &words::SSH_VALUES);
    for value in arguments.values(&["-o"]) {
        let text = value.shown();
        if ["ProxyCommand", "LocalCommand", "KnownHostsCommand", "PermitLocalCommand"]
            .iter()
            .any(|option| text.contains(option))
        {
            look.ask("ssh.run", "it runs a command of its own choice");
            if let Some((_, command)) = text.split_once('=') {
                look.nested(command);
            }
        }
    }
    for value in arguments.values(&["-F", "-E", "-S"]) {
        look.act(if base == "ssh" { Act::Read } else { Act::List }, value);
    }
    generic_of_flags(look, &arguments);
    if base == "rlogin" || base == "rsh" {
        return look
            .deny("send", "it hands a session, and what is typed there, to another machine in the clear");
    }
    if base == "sshpass" && look.rest().iter().any(|word| word.text().is_none()) {
        look.deny("attack", "it tries passwords on another machine");
    }
    if arguments.has(&["-R"]) {
        return look.deny("tunnel", "it opens a way in from another machine");
    }
    if look.carries(Taint::SECRET) {
        return look.catastrophe("send.secret", "it sends secrets to another machine");
    }
    look.ask("ssh", "it works on another machine");
}

/// Files that flags name are read, keys aside: those are what they are for.
fn generic_of_flags(look: &mut Look<'_>, arguments: &Arguments) {
    let values: Vec<Word> = arguments.values(&["-o"]).cloned().collect();
    for value in &values {
        if value.shown().to_ascii_lowercase().contains("userknownhostsfile=/dev/null") {
            continue;
        }
        for candidate in candidates(value) {
            if look.place(&candidate) == Place::Secret
                && !value.shown().to_ascii_lowercase().contains("identityfile")
            {
                look.act(Act::Read, &candidate);
            }
        }
    }
}
