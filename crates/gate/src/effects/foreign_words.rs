//! Words that give something away, or bring something in: values of variables, text of files, other directories.

use super::facts::Class;
use super::look::Look;
use super::place::Place;
use super::words;
use crate::shell::{Piece, Taint, UnknownReason, Word};

/// Bytes of a word of short flags.
const MAX_FLAG_GROUP: usize = 5;

/// `echo $TOKEN`, `cat <<< "$TOKEN"`, `ls "$TOKEN"`: what is printed, also as an error, is told to the model.
pub(super) fn shows_variable(look: &mut Look<'_>, base: &str, class: Option<Class>) {
    let prints = match class {
        // Their answers may repeat it, and many send their words to a registry.
        Some(Class::Ask | Class::Deny) | None => {
            matches!(base, "git" | "dd") || takes_inline_code(look, base)
        }
        Some(_) => !matches!(base, ":" | "true" | "false" | "test" | "[" | "[["),
    };
    if prints && look.carries(Taint::SECRET) {
        look.ask(
            "environment.show",
            "it shows a variable that may hold a key, or what was read from a secret",
        );
    }
}

/// `python3 -c 'print(sys.argv)' $TOKEN`: code on the line has one reason to be given a key.
fn takes_inline_code(look: &Look<'_>, base: &str) -> bool {
    let is_code = |word: &Word| {
        let text = word.beginning();
        // `perl -le`, `python3 -Bc`
        let is_group = text.starts_with('-') && !text.starts_with("--") && text.len() <= MAX_FLAG_GROUP;
        is_group && text.contains(['c', 'e', 'E', 'p', 'r'])
            || ["--eval", "--print"].iter().any(|flag| text.starts_with(flag))
    };
    words::PROJECT_RUNNERS.matches(base.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.'))
        && look.rest().iter().any(is_code)
}

/// `find . $(cat list)`, `xargs -a list cat`: what a file says may be an option, or the path of anything.
pub(super) fn foreign_words(look: &mut Look<'_>, base: &str, class: Option<Class>) {
    let takes_any = look.is_text
        || matches!(base, ":" | "true" | "false" | "test" | "[" | "[[" | "basename" | "dirname")
        || matches!(class, Some(Class::Print | Class::Directory) | None);
    let foreign = |word: &Word| {
        let taint = word.taint();
        word.text().is_none()
            && word.beginning().is_empty()
            && taint.has(Taint::CONTENT)
            && !taint.has(Taint::NUMBER)
    };
    let takes_names = look.is_text || words::NAME_PRINTERS.matches(base);
    if !takes_names && look.rest().iter().any(|word| word.taint().has(Taint::SECRET_PLACE)) {
        return look.ask(
            "word.secret",
            format!("a command prints the name of a secret, and `{base}` would open it"),
        );
    }
    if !takes_any && look.rest().iter().any(foreign) {
        look.ask("word.content", format!("words that a file holds become options or paths of `{base}`"));
    }
}

/// `npm view x-$(whoami)`: the name that is looked up tells the registry what a command found out.
pub(super) fn told_to_registry(look: &mut Look<'_>, base: &str) {
    let verb = verb(look.rest());
    let is_verb = |wanted: &[&str]| verb.is_some_and(|verb| wanted.iter().any(|wanted| verb.is(wanted)));
    let looks_up = match base {
        "npm" | "pnpm" | "yarn" | "bun" => is_verb(&["view", "info", "show", "search", "v"]),
        "cargo" | "gem" | "composer" | "brew" | "apt" => is_verb(&["info", "search", "show"]),
        "pip" | "pip3" => is_verb(&["index"]),
        "go" => is_verb(&["list"]) && look.rest().iter().any(|word| word.is("-m")),
        _ => false,
    };
    let is_output = |piece: &Piece| matches!(piece, Piece::Unknown { why: UnknownReason::Output, .. });
    if looks_up && look.rest().iter().any(|word| word.pieces.iter().any(is_output)) {
        look.ask("send", "it tells a registry what a command printed");
    }
}

/// The subcommand: the first word that is neither an option nor, perhaps, the value of one.
fn verb(words: &[Word]) -> Option<&Word> {
    let is_option = |word: &Word| word.beginning().starts_with('-');
    let at = words.iter().position(|word| !is_option(word))?;
    let first = words.get(at)?;
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    // `npm --prefix . view x`
    let may_be_value = before.is_some_and(|word| is_option(word) && !word.beginning().contains('='));
    if may_be_value { words.get(at + 1).filter(|word| !is_option(word)).or(Some(first)) } else { Some(first) }
}

/// `cd ~/other && make`: as with `make -C ~/other`, code and settings of another project are taken.
pub(super) fn other_directory(look: &mut Look<'_>, base: &str, class: Option<Class>) {
    let takes_code = base == "git" || class == Some(Class::Build) || words::PROJECT_RUNNERS.matches(base);
    if !takes_code {
        return;
    }
    let is_other = |directory: &&Word| {
        let here = Word::known(".");
        let place = Place::classify(&here, std::slice::from_ref(*directory), look.grounds);
        directory.text().is_some()
            && matches!(
                place,
                Place::Outside
                    | Place::InHome
                    | Place::Above
                    | Place::System
                    | Place::Vital
                    | Place::Home
                    | Place::Root
            )
    };
    let other = look.segment.directories.iter().find(is_other).map(Word::shown);
    if let Some(directory) = other {
        look.ask(
            "directory.other",
            format!("`{base}` would take code or settings from another directory: `{directory}`"),
        );
    }
}
