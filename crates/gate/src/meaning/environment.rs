//! Variables that change what programs do, and where the output of programs comes from.

use super::words::candidates;
use super::{Grounds, Look, Place, network};
use crate::shell::{self, Taint, Word};

/// Judges the variables that are set for a command, or for all that follow.
pub(super) fn judge(look: &mut Look<'_>) {
    for (name, value) in &look.segment.environment {
        if shell::is_command_variable(name) {
            command(look, name, value);
        } else if shell::is_notable(name) {
            notable(look, name, value);
        }
    }
}

/// A variable that holds a command or flags.
fn command(look: &mut Look<'_>, name: &str, value: &Word) {
    let text = value.shown();
    match name {
        "TAR_OPTIONS" if text.split_whitespace().any(|flag| flag.contains("=") && flag.contains(":/")) => {
            look.deny("send.file", "it makes `tar` write to another machine");
        }
        "TAR_OPTIONS"
            if text.contains("command")
                || text.contains("checkpoint")
                || text.contains("compress-program") =>
        {
            look.ask("environment", "it makes `tar` run a program");
            look.nested(
                text.rsplit_once("exec=")
                    .or_else(|| text.rsplit_once('='))
                    .map_or("", |(_, command)| command),
            );
        }
        "RUSTC_WRAPPER" | "RUSTC_WORKSPACE_WRAPPER" if matches!(text.as_str(), "sccache" | "ccache" | "") => {
        }
        "MAKEFLAGS" | "GNUMAKEFLAGS" | "GZIP" | "XZ_OPT" | "MAVEN_OPTS" | "JAVA_OPTS" | "GRADLE_OPTS"
        | "_JAVA_OPTIONS" | "JDK_JAVA_OPTIONS"
            if !text.contains("agent") && !text.contains("eval") && !text.contains("--file") => {}
        _ => {
            look.ask("environment", format!("it sets `{name}`, which changes what programs run or load"));
            look.nested(&text);
        }
    }
}

fn notable(look: &mut Look<'_>, name: &str, value: &Word) {
    let text = value.shown();
    let (rule, reason) =
        ("environment", format!("it sets `{name}`, which changes what programs run or load"));
    match name {
        "PATH" => {
            let first = text.split(':').next().unwrap_or_default().to_string();
            let place = Place::of(&Word::known(first.clone()), &look.segment.folders, look.grounds);
            if !first.is_empty() && (matches!(place, Place::Temporary) || first == ".") {
                look.ask(rule, reason);
            }
        }
        "EDITOR"
        | "VISUAL"
        | "PAGER"
        | "GIT_PAGER"
        | "GIT_EDITOR"
        | "MANPAGER"
        | "BROWSER"
        | "GIT_SEQUENCE_EDITOR"
            if matches!(
                text.as_str(),
                "cat" | "" | "true" | ":" | "less" | "more" | "vim" | "vi" | "nano" | "code --wait"
            ) => {}
        "PS1" | "PS4" if !text.contains(['$', '`']) => {}
        "PYTHONPATH" | "NODE_PATH" | "PERL5LIB" | "RUBYLIB" | "LD_LIBRARY_PATH" | "GIT_DIR" => {
            let place = Place::of(value, &look.segment.folders, look.grounds);
            if !matches!(
                place,
                Place::Inside
                    | Place::Workspace
                    | Place::Regenerable
                    | Place::Unknown
                    | Place::System
                    | Place::Vital
            ) {
                look.ask(rule, reason);
            }
        }
        "NODE_OPTIONS"
            if !text.contains("require") && !text.contains("import") && !text.contains("loader") => {}
        "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" | "HUSKY" if text != "0" => {}
        "HISTSIZE" | "HISTFILESIZE" if text.parse::<u64>().is_ok_and(|size| size > 0) => {}
        "HISTTIMEFORMAT" => {}
        "HISTCONTROL" if matches!(text.as_str(), "ignoredups" | "erasedups" | "") => {}
        "HISTFILE" | "HISTSIZE" | "HISTFILESIZE" | "HISTCONTROL" | "HISTIGNORE" => {
            look.deny("history", "it keeps commands out of the history");
        }
        "ENV" if text.chars().all(|char| char.is_ascii_alphanumeric()) => {}
        "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES" => look.deny(rule, reason),
        _ => {
            look.nested(&text);
            // A program of the project for a command that reaches no other machine is never started.
            let own = text.starts_with("./") && name.starts_with("GIT_SSH");
            let verb = look
                .rest()
                .iter()
                .find(|word| !word.beginning().starts_with('-'))
                .map(Word::shown)
                .unwrap_or_default();
            let local = look.segment.words.is_empty()
                || !matches!(
                    verb.as_str(),
                    "fetch" | "pull" | "push" | "clone" | "ls-remote" | "remote" | "submodule"
                );
            if !(own && local) {
                look.ask(rule, reason);
            }
        }
    }
}

/// Where the output of a program comes from.
pub(super) fn taint(name: &str, words: &[Word], folders: &[Word], grounds: Grounds<'_>) -> Taint {
    let mut taint = Taint::NONE;
    if network::fetches(name) {
        taint = taint.and(Taint::NETWORK);
    }
    if matches!(name, "env" | "printenv" | "set" | "export" | "declare") && words.len() <= 2 {
        taint = taint.and(Taint::SECRET);
    }
    if matches!(
        name,
        "ls" | "find"
            | "stat"
            | "echo"
            | "printf"
            | "du"
            | "test"
            | "["
            | "file"
            | "basename"
            | "dirname"
            | "cd"
            | "realpath"
            | "readlink"
            | "mkdir"
            | "wc"
    ) {
        return taint;
    }
    for word in words.iter().skip(1) {
        for candidate in candidates(word) {
            if matches!(Place::of(&candidate, folders, grounds), Place::Secret | Place::ProjectSecret) {
                taint = taint.and(Taint::SECRET);
            }
        }
        let bare = word.text().is_some_and(|text| crate::secrets::is_project_secret(&text));
        if bare {
            taint = taint.and(Taint::SECRET);
        }
        taint = taint.and(word.taint());
    }
    taint
}
