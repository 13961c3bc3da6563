//! Words of a command as options and operands, by the program's own grammar.

use super::table::{Effect, Grammar, Signature};
use crate::effects::arguments::tail;
use crate::shell::Word;
use std::borrow::Cow;

/// An option that was found.
pub(super) struct ParsedOption<'a> {
    /// As it is listed.
    pub(super) name: String,
    pub(super) effect: Effect,
    pub(super) value: Option<Cow<'a, Word>>,
}

/// The words of a command.
#[derive(Default)]
pub(super) struct ParsedArguments<'a> {
    pub(super) found: Vec<ParsedOption<'a>>,
    pub(super) operands: Vec<&'a Word>,
    /// Options that are not listed, as they were written.
    pub(super) unknown: Vec<String>,
    /// The script or program that it starts, and the words that belong to it.
    pub(super) passed: Option<(&'a Word, &'a [Word])>,
    /// The program whose options stand behind `--`, and the words there.
    pub(super) behind: Option<(&'static str, &'a [Word])>,
}

/// Most options that one command is looked at for.
const MAX_WORDS: usize = 4_096;

/// Options of a subcommand, and of its program.
struct Scope {
    own: &'static Signature,
    program: &'static Signature,
    /// Operands up to the end of the subcommand's phrase.
    phrase: usize,
}

impl Scope {
    fn lists(&self) -> impl Iterator<Item = &'static Signature> {
        [self.own, self.program].into_iter()
    }

    /// Do all further words belong to what the program starts?
    fn passes(&self, parsed: &ParsedArguments<'_>) -> bool {
        self.own.passes.is_some_and(|count| parsed.operands.len() == self.phrase + usize::from(count))
    }

    fn exact(&self, name: &str) -> Option<Effect> {
        self.lists().find_map(|list| list.exact(name))
    }

    /// The longest beginning that is listed.
    fn prefix(&self, text: &str) -> Option<(&'static str, Effect)> {
        let starts = |list: &'static Signature| {
            let fits = list.prefixes.iter().filter(|(start, _)| text.starts_with(start));
            let (start, effect) = fits.max_by_key(|(start, _)| start.len())?;
            Some((start, Effect::parse(effect)?))
        };
        self.lists().find_map(starts)
    }

    /// The effect of a long option, also by a unique beginning of its name, as `getopt_long` and its relatives take it.
    fn long(&self, name: &str) -> Option<(String, Effect)> {
        if let Some(effect) = self.exact(name) {
            return Some((name.to_string(), effect));
        }
        if let Some((_, effect)) = self.prefix(name) {
            return Some((name.to_string(), effect));
        }
        if self.own.negates
            && let Some(rest) = name.strip_prefix("--no-")
            && let Some(Effect::Flag | Effect::Value | Effect::Optional) = self.exact(&format!("--{rest}"))
        {
            return Some((name.to_string(), Effect::Flag));
        }
        if self.own.unabbreviated {
            return None;
        }
        let mut fits = self
            .lists()
            .flat_map(|list| list.options.iter())
            .filter(|(own, _)| name.len() > 3 && own.starts_with(name))
            .collect::<Vec<_>>();
        fits.sort_unstable();
        fits.dedup_by(|one, other| one.0 == other.0);
        match fits.as_slice() {
            [(own, effect)] => Some(((*own).to_string(), Effect::parse(effect)?)),
            _ => None,
        }
    }
}

/// Sorts the words behind a program's name.
pub(super) fn parse<'a>(program: &'static Signature, words: &'a [Word]) -> ParsedArguments<'a> {
    let mut parsed = ParsedArguments::default();
    let mut scope = Scope { own: program, program, phrase: 0 };
    let mut phrase = String::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        if index > MAX_WORDS {
            parsed.unknown.push("…".to_string());
            break;
        }
        let text = word.beginning();
        if word.is("--") {
            let program = scope.own.behind;
            parsed.behind = words.get(index..).filter(|_| !program.is_empty()).map(|words| (program, words));
            break;
        }
        let bundle = index == 1 && program.bundled && !text.starts_with('-') && !text.is_empty();
        let dashed = text.len() > 1 && text.starts_with('-');
        if !dashed && !bundle {
            operand(&mut parsed, &mut scope, &mut phrase, word);
            let behind = words.get(index..).unwrap_or_default();
            if scope.own.leading || scope.passes(&parsed) {
                parsed.passed = Some((word, behind));
                parsed.operands.extend(behind);
                break;
            }
            continue;
        }
        let before = index;
        if bundle {
            bundled(&mut parsed, &scope, word, words, &mut index);
            continue;
        }
        match scope.own.grammar {
            Grammar::Text => parsed.operands.push(word),
            Grammar::Single => single(&mut parsed, &scope, word, words, &mut index),
            Grammar::Gnu if text.starts_with("--") => long(&mut parsed, &scope, word, words, &mut index),
            Grammar::Gnu => cluster(&mut parsed, &scope, word, words, &mut index),
        }
        // `-exec … ;` of find: what it starts is judged on its own.
        if before == index && matches!(&*text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            let end = |word: &Word| word.is(";") || word.is("+");
            let skip = words.get(index..).unwrap_or_default().iter().position(end);
            index = skip.map_or(words.len(), |skip| index + skip + 1);
        }
    }
    parsed
}

/// An operand: perhaps the next word of a subcommand.
fn operand<'a>(parsed: &mut ParsedArguments<'a>, scope: &mut Scope, phrase: &mut String, word: &'a Word) {
    parsed.operands.push(word);
    if scope.program.subs.text().is_empty() || parsed.operands.len() > 4 {
        return;
    }
    let Some(text) = word.text() else { return };
    // `cargo +nightly build`.
    if phrase.is_empty() && text.starts_with('+') {
        return;
    }
    if !phrase.is_empty() {
        phrase.push(' ');
    }
    phrase.push_str(&text);
    if let Some(sub) = scope.program.sub(phrase) {
        scope.own = sub;
        scope.phrase = parsed.operands.len();
    }
}

/// The name of an option, and the value that is attached to it by `=`.
fn split_attached(word: &Word) -> (String, Option<Cow<'static, Word>>) {
    let text = word.beginning();
    match text.split_once('=') {
        Some((name, _)) => (name.to_string(), Some(Cow::Owned(tail(word, name.len() + 1)))),
        None => (text.into_owned(), None),
    }
}

/// The attached value of an option, or the next word where the option takes one.
fn value<'a>(
    effect: Effect,
    attached: Option<Cow<'a, Word>>,
    scope: &Scope,
    words: &'a [Word],
    index: &mut usize,
) -> Option<Cow<'a, Word>> {
    match attached {
        None if effect.takes_next() => next(scope, words, index),
        attached => attached,
    }
}

/// Takes the next word as a value.
fn next<'a>(scope: &Scope, words: &'a [Word], index: &mut usize) -> Option<Cow<'a, Word>> {
    let value = words.get(*index)?;
    let text = value.beginning();
    let option = scope.own.loose
        && text.starts_with('-')
        && text.trim_start_matches('-').starts_with(char::is_alphabetic);
    if !option {
        *index += 1;
    }
    Some(Cow::Borrowed(value))
}

fn long<'a>(
    parsed: &mut ParsedArguments<'a>,
    scope: &Scope,
    word: &'a Word,
    words: &'a [Word],
    index: &mut usize,
) {
    let (name, attached) = split_attached(word);
    // `--out$X`: the name itself is not certain.
    let certain = attached.is_some() || word.text().is_some();
    match scope.long(&name).filter(|_| certain) {
        Some((name, effect)) => {
            let value = value(effect, attached, scope, words, index);
            parsed.found.push(ParsedOption { name, effect, value });
        }
        None => parsed.unknown.push(word.shown()),
    }
}

fn cluster<'a>(
    parsed: &mut ParsedArguments<'a>,
    scope: &Scope,
    word: &'a Word,
    words: &'a [Word],
    index: &mut usize,
) {
    let text = word.beginning();
    let numeric = scope.lists().any(|list| list.numeric);
    let digits = text.chars().skip(1).take_while(char::is_ascii_digit).count();
    if numeric && digits + 1 == text.len() && word.text().is_some() {
        return;
    }
    if let Some(effect) = scope.exact(&text).filter(|_| word.text().is_some()) {
        let value = value(effect, None, scope, words, index);
        parsed.found.push(ParsedOption { name: text.into_owned(), effect, value });
        return;
    }
    if let Some((start, effect)) = scope.prefix(&text) {
        let value = Some(Cow::Owned(tail(word, start.len()))).filter(|_| effect.takes_next());
        parsed.found.push(ParsedOption { name: text.into_owned(), effect, value });
        return;
    }
    let mut at = if numeric { digits + 1 } else { 1 };
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let name = format!("-{letter}");
        at += letter.len_utf8();
        let Some(effect) = scope.exact(&name) else {
            return parsed.unknown.push(word.shown());
        };
        if effect.takes_next() || effect == Effect::Optional {
            let rest = tail(word, at);
            let attached = rest.text().is_none_or(|text| !text.is_empty());
            let value = if attached {
                Some(Cow::Owned(rest))
            } else if effect.takes_next() {
                next(scope, words, index)
            } else {
                None
            };
            return parsed.found.push(ParsedOption { name, effect, value });
        }
        parsed.found.push(ParsedOption { name, effect, value: None });
    }
    if word.text().is_none() {
        parsed.unknown.push(word.shown());
    }
}

/// `tar xzf FILE`: letters without a dash, whose values follow in their order.
fn bundled<'a>(
    parsed: &mut ParsedArguments<'a>,
    scope: &Scope,
    word: &'a Word,
    words: &'a [Word],
    index: &mut usize,
) {
    let text = word.beginning().into_owned();
    for letter in text.chars() {
        let name = format!("-{letter}");
        match scope.exact(&name) {
            Some(effect) => {
                let value = value(effect, None, scope, words, index);
                parsed.found.push(ParsedOption { name, effect, value });
            }
            None => return parsed.unknown.push(word.shown()),
        }
    }
    if word.text().is_none() {
        parsed.unknown.push(word.shown());
    }
}

fn single<'a>(
    parsed: &mut ParsedArguments<'a>,
    scope: &Scope,
    word: &'a Word,
    words: &'a [Word],
    index: &mut usize,
) {
    let text = word.beginning();
    let (head, attached) = split_attached(word);
    let head = head.as_str();
    let certain = attached.is_some() || word.text().is_some();
    let plain = head.strip_prefix('-').filter(|rest| rest.starts_with('-')).unwrap_or(head);
    let known = [head, plain].into_iter().find_map(|name| Some((name.to_string(), scope.exact(name)?)));
    if let Some((name, effect)) = known.filter(|_| certain) {
        let value = value(effect, attached, scope, words, index);
        return parsed.found.push(ParsedOption { name, effect, value });
    }
    if text.get(1..).is_some_and(|rest| rest.chars().all(|char| char.is_ascii_digit()))
        && scope.lists().any(|list| list.numeric)
    {
        return;
    }
    match scope.prefix(&text) {
        Some((start, effect)) => {
            let value = Some(Cow::Owned(tail(word, start.len()))).filter(|_| effect.takes_next());
            parsed.found.push(ParsedOption { name: text.into_owned(), effect, value });
        }
        None => parsed.unknown.push(word.shown()),
    }
}
