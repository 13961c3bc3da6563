//! Scans of the words of any program for credentials, start-up files and hidden shells.

use super::arguments::tail;
use super::facts::{self, Class};
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::words;
use crate::shell::{self, Word};
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Programs whose words are text or names, never files that are opened.
pub(super) fn is_text(base: &str) -> bool {
    words::TEXT_PROGRAMS.matches(base)
}

/// Looks for credentials, disks and start-up files in any word. `strict` is for programs that may write what they name.
pub(super) fn generic(look: &mut Look<'_>, strict: bool) {
    let words: Vec<Word> = look.rest().to_vec();
    let network = look.fetched
        && strict
        && words.iter().any(|word| word.beginning().starts_with("/dev/fd/6"))
        && !look.segment.words.first().is_some_and(|word| word.is("diff") || word.is("cat"));
    if network {
        look.deny("code.network", "it takes what came from the network as its own");
    }
    // Paths that reach the program through a pipe.
    let piped = look.segment.input.as_ref().filter(|_| strict).and_then(|stream| stream.text.clone());
    let piped = piped.filter(|text| text.len() < 4_000 && text.contains('/')).map(Word::known);
    for word in words.iter().chain(piped.iter()) {
        for candidate in candidates(word) {
            match look.place(&candidate) {
                Place::Secret => look.act(Act::Read, &candidate),
                Place::ProjectSecret if strict => look.act(Act::Read, &candidate),
                Place::StartUp if strict => look.deny(
                    "word.start-up",
                    format!(
                        "it names what is run or trusted without being asked for: `{}`",
                        candidate.shown()
                    ),
                ),
                Place::History if strict => look.act(Act::Read, &candidate),
                Place::Vital
                    if !["/etc", "/boot", "/proc", "/sys"]
                        .iter()
                        .any(|root| candidate.beginning().starts_with(root)) => {}
                Place::Vital | Place::Device | Place::Root if strict => {
                    let place = look.place(&candidate).describe();
                    look.ask("word.path", format!("it names {place}: `{}`", candidate.shown()));
                }
                _ => {}
            }
        }
    }
}

/// Credentials in a text that a program takes in: compilers and formatters open what their sources name.
pub(super) fn piped_credentials(look: &mut Look<'_>, base: &str) {
    if look.is_text || words::READERS.matches(base) || shell::is_launcher(base) {
        return;
    }
    let text = look.segment.input.as_ref().and_then(|stream| stream.text.clone());
    let Some(text) = text.filter(|text| text.len() < 4_000 && text.contains('/')) else { return };
    let text = Word::known(text.replace("file://", ""));
    for candidate in candidates(&text) {
        if look.place(&candidate) == Place::Secret {
            look.act(Act::Read, &candidate);
        }
    }
}

/// The last look at a command that nothing speaks against: a word that names a place beyond the workspace, of which no table
/// says what the program does there, is doubt. Programs that only read have been judged by what they read.
pub(super) fn stray_paths(look: &mut Look<'_>) {
    if !look.findings.is_empty() {
        return;
    }
    let Some(name) = look.segment.words.first().and_then(Word::text).map(Cow::into_owned) else {
        return;
    };
    let base = shell::base_name(&name);
    let class = facts::find(base).map(|facts| facts.class);
    if look.is_text
        || words::READERS.matches(base)
        || matches!(class, Some(Class::Print | Class::List | Class::Read))
    {
        return;
    }
    // What `find` does with its directories has been judged by its actions; what a link leads to is judged where it is used.
    if shell::is_shell(base) || shell::is_launcher(base) || look.starts || matches!(base, "find" | "ln") {
        return;
    }
    let mut operands = look.rest().iter().filter(|word| !word.beginning().starts_with('-')).take(2);
    let looks = |word: &Word| ["info", "list", "show", "status", "usage"].iter().any(|verb| word.is(verb));
    if class == Some(Class::Verbs) && operands.any(looks) {
        return;
    }
    // Only what a word ends with: paths inside a longer text are expressions more often than files.
    let ends = |word: &Word| {
        let text = word.shown();
        candidates(word).into_iter().filter(move |candidate| text.ends_with(&candidate.shown()))
    };
    let stray = look.rest().iter().flat_map(ends).find(|candidate| {
        let shown = candidate.shown();
        let is_judged = look.effects.iter().any(|effect| effect.target == shown);
        !is_judged
            && match look.place(candidate) {
                // `//app` is a label of a build system, or a path in a document.
                Place::Outside => !shown.starts_with("//"),
                // Headers, libraries and programs of the system are named to be used.
                Place::System | Place::Vital => {
                    let path = shell::normal(&shown);
                    let directory = path.trim_start_matches('/').split('/').next().unwrap_or_default();
                    ["boot", "etc", "root", "srv", "var"].contains(&directory)
                }
                place => matches!(
                    place,
                    Place::InHome
                        | Place::Above
                        | Place::Home
                        | Place::StartUp
                        | Place::History
                        | Place::Secret
                        | Place::Log
                ),
            }
    });
    if let Some(word) = stray {
        let place = look.place(&word).describe();
        look.ask("word.path", format!("what `{base}` does with {place} is not known: `{}`", word.shown()));
    }
}

/// The paths that a word may hold: itself, behind `=`, `@`, `:`, a flag's letter, or among other text.
pub(super) fn candidates(word: &Word) -> Vec<Word> {
    let text = word.beginning();
    let mut found = Vec::new();
    let looks_like_path = |text: &str| text.starts_with(['/', '~', '.']) || text.contains('/');
    if !looks_like_path(&text) && !text.contains([':', '=', '@']) {
        return found;
    }
    if looks_like_path(&text) && !text.starts_with('-') {
        found.push(word.clone());
    }
    for (at, mark) in text.match_indices(['=', '@', ':', ',']) {
        let rest = tail(word, at + mark.len());
        if looks_like_path(&rest.beginning()) && !rest.beginning().starts_with("//") {
            found.push(rest);
        }
    }
    if let Some(path) = text.strip_prefix("file://") {
        found.push(Word::known(path));
    }
    let text = text.replace(['"', '\''], " ");
    if text.starts_with('-') && !text.starts_with("--") && text.len() > 2 {
        let rest = tail(word, 2);
        if looks_like_path(&rest.beginning()) {
            found.push(rest);
        }
    }
    // A program, a command or a list inside one word.
    if text.contains(|char: char| char.is_whitespace() || "'\"(){}[]<>|;`".contains(char)) {
        let parts = text.split(|char: char| char.is_whitespace() || "'\"(){}[]<>|;,=`".contains(char));
        for part in
            parts.filter(|part| part.len() > 4 && (part.starts_with('/') || part.starts_with("~/"))).take(32)
        {
            found.push(Word::known(part));
        }
    }
    found
}

/// The same for a word that may also be a bare name: `.tickets`.
pub(super) fn candidates_of_name(word: &Word, disk: bool) -> Vec<Word> {
    let text = word.beginning();
    if text.contains(".tickets") || disk && !text.starts_with('-') && text.len() < 256 {
        let mut found = candidates(word);
        if found.is_empty() && !text.starts_with('-') {
            found.push(word.clone());
        }
        found
    } else {
        Vec::new()
    }
}

/// Does a script reach beyond the project, by its name?
pub(super) fn is_reaching(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    words::REACHING_NAMES.matches(&lower) && !lower.contains("test") && !lower.contains("check")
}

/// A shell that hides in the words of another program.
pub(super) fn hidden_shell(look: &mut Look<'_>, base: &str, class: Option<Class>) {
    if look.is_text || shell::is_shell(base) || look.starts {
        return;
    }
    // Where a shell's name is a file to look at, or what a user gets.
    if matches!(class, Some(Class::List | Class::Write | Class::Directory))
        || words::SHELL_NAMES_ARE_FILES.matches(base)
    {
        return;
    }
    piped_names(look, base, class);
    let is_viewer = words::VIEWERS.matches(base);
    let reads = matches!(class, Some(Class::Read | Class::Change)) || base == "tar" || base == "dd";
    let shells = |word: &Word| {
        let text = word.shown();
        // A shell alone is a file to look at; with more around it, it is a command.
        let file = reads && is_viewer && text.starts_with('/') && !text.contains(' ');
        !text.contains("#!") && !file && (names_shell(&text) || escapes(&text))
    };
    if !look.rest().iter().any(shells) {
        return;
    }
    if look.privileged() {
        look.deny("root.shell", format!("`{base}` would open a shell with root's rights"));
    } else {
        look.ask("shell.hidden", format!("a word of `{base}` names a shell to run"));
    }
}

/// `sox '|cmd' x.wav`, `dvips -o '!cmd'`: programs that open a name with a bar in front start what follows it.
fn piped_names(look: &mut Look<'_>, base: &str, class: Option<Class>) {
    let is_search = facts::find(base).is_some_and(|facts| facts.skip > 0);
    let opens = matches!(class, Some(Class::Print | Class::Read | Class::Convert | Class::Change));
    if !opens || is_search || words::READERS.matches(base) || words::ADDRESS_TEXT_PROGRAMS.matches(base) {
        return;
    }
    // `!x` excludes files for programs that take patterns.
    let marks: &[char] = if class == Some(Class::Convert) { &['|', '!'] } else { &['|'] };
    let commands: Vec<String> = look.rest().iter().filter_map(|word| piped_command(word, marks)).collect();
    for command in commands {
        look.ask("run.operand", format!("`{base}` starts what stands behind the bar: `{command}`"));
        look.nested(&command);
    }
}

/// The command behind a mark at the beginning of a word, or of the value that is attached to a flag.
fn piped_command(word: &Word, marks: &[char]) -> Option<String> {
    let shown = word.shown();
    let value = match shown.strip_prefix("--") {
        Some(flag) => flag.split_once('=')?.1,
        None => shown.strip_prefix('-').and_then(|flag| flag.get(1..)).unwrap_or(&shown),
    };
    let command = value.strip_prefix(marks)?.trim();
    let is_command = command.starts_with(|char: char| char.is_ascii_alphanumeric() || "/.~$".contains(char));
    is_command.then(|| command.to_string())
}

/// `/bin/sh` anywhere in the text.
fn names_shell(text: &str) -> bool {
    if !text.contains("sh") {
        return false;
    }
    text.split(|char: char| !(char.is_ascii_alphanumeric() || "/_-.".contains(char)))
        .any(|part| part.contains("bin/") && shell::is_shell(shell::base_name(part)))
}

/// Does the text make a program with a prompt open a shell?
fn escapes(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(":!")
        || text.starts_with(":shell")
        || text.starts_with(":term")
        || text.starts_with('!') && shell::is_shell(shell::base_name(text.trim_start_matches('!').trim()))
        || words::SHELL_CALLS.matches(text) && text.contains("sh")
}

/// Programs with a prompt of their own, from which a shell is one key away.
pub(super) fn is_interactive(base: &str) -> bool {
    words::INTERACTIVE_PROGRAMS.matches(base)
}

/// Whether a regex matches a text; one that did not compile may match anything.
pub(super) fn may_match(regex: &LazyLock<Option<Regex>>, text: &str) -> bool {
    regex.as_ref().is_none_or(|regex| regex.is_match(text))
}
