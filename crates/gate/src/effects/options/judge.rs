//! Judgement of the options of a command.

use super::parse::{ParsedArguments, ParsedOption, parse};
use super::table::{Effect, Rest, Signature, find_signature};
use crate::effects::arguments::{FlagNames as _, tail};
use crate::effects::facts::{self, Class, Facts};
use crate::effects::look::Look;
use crate::effects::place::Place;
use crate::effects::severity::Act;
use crate::effects::{network, words};
use crate::shell::{self, Word, base_name, pattern};
use std::borrow::Cow;

/// Judges the options of a program: those that are not known are asked about.
pub(in crate::effects) fn judge(look: &mut Look<'_>, base: &str, facts: Option<&Facts>) {
    let segment = look.segment;
    judge_words(look, base, facts, segment.words.get(1..).unwrap_or_default(), 0);
}

fn judge_words(look: &mut Look<'_>, base: &str, facts: Option<&Facts>, words: &[Word], depth: usize) {
    if let Some((module, rest)) = module(base, words) {
        let facts = facts::find(&module);
        return judge_words(look, &module, facts, rest, depth + 1);
    }
    if let Some((at, module)) = covered_module(base, words) {
        judge_words(look, &module, facts::find(&module), words.get(at + 2..).unwrap_or_default(), depth + 1);
        return judge_words(look, base, facts, words.get(..at).unwrap_or_default(), depth + 1);
    }
    let Some(signature) = find_signature(base) else {
        if let Some(facts) = facts {
            unlisted(look, base, facts, words);
        }
        return;
    };
    let parsed = parse(signature, words);
    for name in &parsed.unknown {
        doubt(look, base, name);
    }
    for option in &parsed.found {
        effect(look, base, option);
        if matches!(option.effect, Effect::Flag | Effect::Value | Effect::Optional)
            && let Some(value) = option.value.as_deref()
            && facts.is_some_and(writes_somewhere)
        {
            names_steering(look, base, &option.name, value);
        }
    }
    rest(look, base, signature, &parsed);
    toolchain(look, base, words);
    if let Some((program, words)) = parsed.behind
        && depth < MAX_PASSES
    {
        judge_words(look, program, facts::find(program), words, depth + 1);
    }
    // `npx eslint …`, `pnpm exec jest …`, `yarn tsc …`: a program whose options are known.
    if let Some((program, words)) = parsed.passed
        && let Some(name) = program.text()
        && name != base
        && !parsed.operands.first().is_some_and(|verb| verb.is("run") || verb.is("run-script"))
        && find_signature(&name).is_some_and(|inner| !inner.options.text().is_empty())
        && depth < MAX_PASSES
    {
        judge_words(look, &name, facts::find(&name), words, depth + 1);
    }
}

/// The operands of a command, where the options of its program are listed.
pub(in crate::effects) fn operands<'a>(base: &str, words: &'a [Word]) -> Option<Vec<&'a Word>> {
    Some(parse(find_signature(base)?, words).operands)
}

/// The same, with the words behind `--`.
pub(in crate::effects) fn all_operands(base: &str, words: &[Word]) -> Option<Vec<Word>> {
    let listed = operands(base, words)?.into_iter().cloned();
    let behind = words.iter().skip_while(|word| !word.is("--")).skip(1).cloned();
    Some(listed.chain(behind).collect())
}

/// The options of a command as its program reads them: the name that is listed, and the value.
pub(in crate::effects) fn listed(base: &str, words: &[Word]) -> Option<Vec<(String, Option<Word>)>> {
    let found = parse(find_signature(base)?, words).found;
    Some(found.into_iter().map(|option| (option.name, option.value.map(Cow::into_owned))).collect())
}

/// How many programs that start programs are followed in one command.
const MAX_PASSES: usize = 4;

/// Judges options that stand in a variable's value.
pub(in crate::effects) fn judge_text(look: &mut Look<'_>, program: &str, value: &Word) {
    let Some(words) = value.text().and_then(|text| shlex::split(&text)) else {
        return look
            .ask("environment", format!("what options `{}` gives `{program}` is not known", value.shown()));
    };
    let words: Vec<Word> = words.into_iter().map(Word::known).collect();
    judge_words(look, program, None, &words, 1);
}

fn doubt(look: &mut Look<'_>, base: &str, name: &str) {
    look.ask("option.unknown", format!("option `{name}` of `{base}` is not known"));
}

/// `python -m MODULE …`, where the module is a program of its own.
fn module<'a>(base: &str, words: &'a [Word]) -> Option<(String, &'a [Word])> {
    let plain = base.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    if !matches!(plain, "python" | "pypy") {
        return None;
    }
    let at = words.iter().take(6).position(|word| word.is("-m"))?;
    let name = words.get(at + 1)?.text()?.into_owned();
    find_signature(&name).map(|_| (name, words.get(at + 2..).unwrap_or_default()))
}

/// `cargo +/home/person/x build`: a toolchain by its path is a program of its own choice.
fn toolchain(look: &mut Look<'_>, base: &str, words: &[Word]) {
    let takes_toolchain =
        matches!(base, "cargo" | "rustc" | "rustdoc" | "rustfmt" | "clippy-driver" | "rust-gdb");
    let Some(word) = words.first().filter(|word| takes_toolchain && word.beginning().starts_with('+')) else {
        return;
    };
    let is_name = |text: &str| text.chars().all(|char| char.is_ascii_alphanumeric() || "+.-_".contains(char));
    if !word.text().is_some_and(|text| is_name(&text)) {
        look.ask("option.load", format!("`{base} {}` runs a toolchain that its path names", word.shown()));
    }
}

/// `coverage run -m MODULE …`: the position of `-m`, and the module.
fn covered_module(base: &str, words: &[Word]) -> Option<(usize, String)> {
    if base != "coverage" || !words.first()?.is("run") {
        return None;
    }
    let at = words.iter().take(8).position(|word| word.is("-m"))?;
    let name = words.get(at + 1)?.text()?.into_owned();
    matches!(name.as_str(), "pytest" | "unittest").then_some((at, name))
}

/// Does the option act on what its value names?
fn effect(look: &mut Look<'_>, base: &str, option: &ParsedOption<'_>) {
    let name = &option.name;
    let value = option.value.as_deref();
    match option.effect {
        Effect::Flag | Effect::Value | Effect::Optional => {}
        Effect::Read => {
            if let Some(value) = value {
                look.act(Act::Read, value);
            }
        }
        Effect::Write => {
            if let Some(value) = value {
                look.act(Act::Write, value);
                // `html:out`, `.text=FILE`: the kind stands before the file.
                let text = value.beginning();
                for (at, mark) in text.match_indices(['=', ':']) {
                    look.act(Act::Write, &tail(value, at + mark.len()));
                }
            }
        }
        Effect::WriteEach => {
            for file in value.iter().flat_map(|value| value.entries(',')) {
                write_kind(look, &file);
            }
        }
        Effect::Delete => {
            if let Some(value) = value {
                delete(look, value);
            }
        }
        Effect::Empty(usual) => {
            let text = value.and_then(Word::text);
            let is_usual =
                text.is_some_and(|text| usual.split_whitespace().any(|own| pattern::matches(own, &text)));
            if let Some(value) = value.filter(|_| !is_usual) {
                delete(look, value);
            }
        }
        Effect::Load => {
            if let Some(value) = value {
                load(look, base, name, value);
                // `native=DIRECTORY`, `x=FILE`, `a.jar:b.jar`: a kind or another path stands before the path.
                let text = value.beginning();
                for (at, mark) in text.match_indices(['=', ':', ',', ';']) {
                    let part = tail(value, at + mark.len());
                    if part.beginning().starts_with(['/', '~', '.']) {
                        load(look, base, name, &part);
                    }
                }
            }
        }
        Effect::Run => {
            let text = value.map(Word::shown).unwrap_or_default();
            let program = text.split_whitespace().next().unwrap_or_default();
            if shell::is_shell(base_name(program)) {
                look.deny("run.flag", format!("option `{name}` of `{base}` makes a shell run what it reads"));
            } else {
                look.ask("run.flag", format!("option `{name}` of `{base}` names a program to run"));
            }
            look.nested(&text);
        }
        Effect::Send => {
            if !value.is_some_and(|value| network::is_local(&value.beginning())) {
                look.ask("send", format!("option `{name}` of `{base}` names an address to talk to"));
            }
        }
        Effect::Ask | Effect::AskValue => {
            look.ask("flag", format!("option `{name}` of `{base}` makes it do more than usual"));
        }
        Effect::Inner(program) => {
            if let Some(value) = value {
                judge_text(look, program, value);
            }
        }
        Effect::Only(patterns) => {
            let text = value.and_then(Word::text);
            let known =
                text.is_some_and(|text| patterns.split_whitespace().any(|own| pattern::matches(own, &text)));
            if !known {
                let shown = value.map(Word::shown).unwrap_or_default();
                look.ask("option.value", format!("`{name} {shown}` of `{base}` is not known to be harmless"));
            }
        }
    }
}

/// `link=FILE` writes the file; a kind alone is written beside the other output.
fn write_kind(look: &mut Look<'_>, entry: &Word) {
    match entry.beginning().find('=') {
        Some(at) => look.act(Act::Write, &tail(entry, at + 1)),
        None if entry.text().is_none() => look.act(Act::Write, entry),
        None => {}
    }
}

/// Does a program of this row make files, so that a value may be one?
fn writes_somewhere(facts: &Facts) -> bool {
    matches!(facts.class, Class::Build | Class::Convert | Class::Change | Class::Verbs)
}

/// The value of an option of which no table says that it is written, and which names a file that steers.
fn names_steering(look: &mut Look<'_>, base: &str, name: &str, value: &Word) {
    let is_input = words::INPUT_OPTIONS.matches(name) || words::SHORT_INPUT_OPTIONS.matches(name);
    if base != "git" && !is_input && look.place(value).steers() {
        look.ask(
            "option.value",
            format!("what `{base}` does with `{}` is not known: option `{name}`", value.shown()),
        );
    }
}

fn delete(look: &mut Look<'_>, directory: &Word) {
    let act = match look.place(directory) {
        Place::Temporary | Place::Regenerable | Place::Inside => Act::Delete,
        _ => Act::DeleteTree,
    };
    look.act(act, directory);
}

/// Code or configuration: the project's own is what a build takes too; anything else is asked about.
fn load(look: &mut Look<'_>, base: &str, name: &str, value: &Word) {
    if !matches!(look.place(value), Place::Inside | Place::Workspace | Place::Regenerable | Place::Sink) {
        look.ask(
            "option.load",
            format!("option `{name}` makes `{base}` take code or settings from `{}`", value.shown()),
        );
    }
}

/// What operands mean beyond what the class of the program says.
fn rest(look: &mut Look<'_>, base: &str, signature: &Signature, parsed: &ParsedArguments<'_>) {
    if signature.response
        && let Some(file) = parsed.operands.iter().find(|word| word.beginning().starts_with('@'))
    {
        look.ask("option.file", format!("`{}` gives `{base}` more options", file.shown()));
    }
    let wrong = match signature.rest {
        Rest::Class => None,
        Rest::None => parsed.operands.first(),
        Rest::Plus => parsed.operands.iter().find(|word| !word.beginning().starts_with('+')),
    };
    if let Some(word) = wrong {
        look.ask("operand", format!("`{base} {}` changes something", word.shown()));
    }
}

/// A program without a list of options: those of its row, and those that mean the same everywhere.
fn unlisted(look: &mut Look<'_>, base: &str, facts: &Facts, words: &[Word]) {
    if matches!(facts.class, Class::Ask | Class::Deny) || facts.flags.has_name("*") {
        return;
    }
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        let text = word.beginning();
        if word.is("--") {
            break;
        }
        if !text.starts_with('-') || text.len() == 1 {
            continue;
        }
        let name = text.split_once('=').map_or(&*text, |(name, _)| name);
        let acts = facts.reads.has_name(name)
            || facts.writes.has_name(name)
            || facts.runs.has_name(name)
            || facts.asks.has_name(name)
            || facts.denies.has_name(name);
        if acts || facts.flags.has_name(name) || words::COMMON_OPTIONS.matches(name) {
            if facts.values.has_name(name) && name.len() == text.len() {
                if let Some(value) = words.get(index).filter(|_| !acts && writes_somewhere(facts)) {
                    names_steering(look, base, name, value);
                }
                index += 1;
            }
            continue;
        }
        return doubt(look, base, name);
    }
}
