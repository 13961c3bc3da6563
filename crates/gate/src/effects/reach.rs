//! Reach beyond the project by words that mean the same for every program: addresses, and verbs that install or publish.
//!
//! Programs with a judge of their own for the network, and programs whose words are text, are not looked at.

use super::arguments::{Arguments, tail};
use super::facts::{Class, Facts};
use super::look::Look;
use super::network;
use super::words;
use crate::shell::Word;
use std::borrow::Cow;

/// Looks for addresses of other machines among the words: they are fetched from, and told what stands in them.
pub(super) fn addresses(look: &mut Look<'_>, base: &str, facts: Option<&Facts>) {
    let class = facts.map(|facts| facts.class);
    let is_search = facts.is_some_and(|facts| facts.skip > 0);
    let is_plain =
        matches!(class, Some(Class::Print | Class::List | Class::Write | Class::Directory | Class::Deny));
    if is_plain
        || is_search
        || look.is_text
        || words::READERS.matches(base)
        || words::ADDRESS_TEXT_PROGRAMS.matches(base)
    {
        return;
    }
    // Behind `--` stand words of the project's own code, which may do anything anyway.
    let starts_code = matches!(class, Some(Class::Build | Class::Verbs) | None);
    let words: Vec<Word> =
        look.rest().iter().take_while(|word| !(starts_code && word.is("--"))).cloned().collect();
    let is_text_value = |at: usize| {
        let flag = at.checked_sub(1).and_then(|before| words.get(before));
        flag.is_some_and(|flag| words::ADDRESS_TEXT_FLAGS.matches(&flag.beginning()))
    };
    let found = words.iter().enumerate().filter(|(at, _)| !is_text_value(*at));
    let mut found: Vec<Word> = found.filter_map(|(_, word)| address(word)).collect();
    found.retain(|word| !network::is_local(&word.beginning()));
    // What is asked about anyway needs a look only where an address carries the output of a command.
    if class == Some(Class::Ask) {
        found.retain(|word| word.text().is_none());
    }
    if !found.is_empty() {
        network::addressed(look, &found, false, false);
    }
}

/// The address that a word is, or that stands behind a flag's `=`.
pub(super) fn address(word: &Word) -> Option<Word> {
    let text = word.beginning();
    // `-DNAME=…` sets a variable of a build.
    if text.starts_with("-D") || text.starts_with("-P") {
        return None;
    }
    let from = match text.split_once('=').filter(|_| text.starts_with('-')) {
        Some((flag, _)) if words::ADDRESS_TEXT_FLAGS.matches(flag) => return None,
        Some((flag, _)) => flag.len() + 1,
        None => 0,
    };
    let value = tail(word, from);
    let text = value.beginning();
    if words::NETWORK_FILE_SYSTEMS.matches(&text.to_ascii_lowercase()) {
        return Some(value);
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        // `"$X://…"`: the beginning is not known, but what follows is not a path.
        let shown = value.shown();
        let is_address =
            word.text().is_none() && shown.contains("://") && !shown.contains(char::is_whitespace);
        return is_address.then_some(value);
    };
    let is_scheme = scheme.starts_with(|char: char| char.is_ascii_alphabetic())
        && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.:".contains(char))
        && !scheme.eq_ignore_ascii_case("file");
    // `sqlite:///x` names no machine.
    let is_remote = rest.starts_with(|char: char| !matches!(char, '/' | '?' | '#'))
        || rest.is_empty() && word.text().is_none();
    (is_scheme && is_remote).then_some(value)
}

/// Looks for a verb that installs, publishes or signs in, for programs that otherwise only read, convert or build.
pub(super) fn reaching_verb(look: &mut Look<'_>, base: &str, facts: &Facts, arguments: &Arguments) {
    let has_verbs = match facts.class {
        Class::Build => !words::RECIPE_RUNNERS.matches(base),
        Class::Read | Class::Convert | Class::Print => {
            facts.skip == 0
                && !look.is_text
                && !words::READERS.matches(base)
                && !words::VIEWERS.matches(base)
                && !words::ADDRESS_TEXT_PROGRAMS.matches(base)
        }
        _ => false,
    };
    if !has_verbs {
        return;
    }
    // Values of flags that are not listed must not hide the verb.
    let plain: Vec<&Word> = look.rest().iter().filter(|word| !word.beginning().starts_with('-')).collect();
    let listed: Vec<&Word> = arguments.operands.iter().collect();
    let text = |words: &[&Word], at: usize| {
        words.get(at).and_then(|word| word.text().map(Cow::into_owned)).unwrap_or_default()
    };
    let reaches = |words: &[&Word]| {
        let (first, second) = (text(words, 0), text(words, 1));
        if words::REACHING_VERBS.matches(&first) {
            Some(first)
        } else if words::VERB_GROUPS.matches(&first) && words::REACHING_VERBS.matches(&second) {
            Some(second)
        } else {
            None
        }
    };
    if let Some(verb) = reaches(&plain).or_else(|| reaches(&listed)) {
        look.ask("verb", format!("`{base} {verb}` reaches beyond the project"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_texts_and_local_files() {
        for text in [
            "https://x.example/a",
            "HTTPS://x.example",
            "git+ssh://x.example/a",
            "--url=ftp://x.example",
            "/vsicurl/x",
        ] {
            assert!(address(&Word::known(text)).is_some(), "{text}");
        }
        for text in [
            "sqlite:///a.db",
            "file:///etc",
            "a b https://x.example",
            "s#http://a#b#",
            "URL=https://x.example",
            "-DURL=https://x.example",
            "//x",
        ] {
            assert!(address(&Word::known(text)).is_none(), "{text}");
        }
    }
}
