//! Flags and words that many programs share: outputs, searches for secrets, builds.

mod builds;

use super::argument_scan::{candidates, generic};
use super::arguments::{Arguments, tail};
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::{options, words};
use crate::shell::{Word, base_name};

/// A file of secrets is read wherever among the words it stands.
pub(super) fn secrets_by_name(look: &mut Look<'_>) {
    for word in look.rest().to_vec() {
        let text = word.shown();
        if !text.starts_with('-')
            && !text.contains(' ')
            && (crate::secrets::is_project_secret(base_name(&text))
                || word.globs() && crate::secrets::may_be_project_secret(base_name(&text)))
        {
            look.act(Act::Read, &word);
        }
    }
}

/// Code outside the workspace is not the project's own, no matter which program runs it.
pub(super) fn tested(look: &mut Look<'_>, base: &str) {
    if words::TESTERS.matches(base) {
        for word in look.rest().to_vec() {
            for path in candidates(&word) {
                if path.beginning().starts_with(['/', '~', '.']) {
                    runs_at(look, &path);
                }
            }
        }
    }
}

/// The files and directories that a program's operands name are code that it runs, or settings with code.
pub(super) fn run_operands(look: &mut Look<'_>, base: &str) {
    if !words::OPERAND_RUNNERS.matches(base) {
        return;
    }
    let operands = options::all_operands(base, look.rest()).unwrap_or_else(|| {
        look.rest().iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect()
    });
    let paths = operands.iter().filter(|word| word.beginning().starts_with(['/', '~', '.']));
    paths.for_each(|word| runs_at(look, word));
}

/// `@FILE` gives many compilers and builders more options.
pub(super) fn response_files(look: &mut Look<'_>, base: &str) {
    if words::RESPONSE_FILE_READERS.matches(base)
        && let Some(file) = look.rest().iter().find(|word| word.beginning().starts_with('@'))
    {
        let shown = file.shown();
        look.ask("option.file", format!("`{shown}` gives `{base}` more options"));
    }
}

/// Its recipes, tests or sources lie there.
fn runs_at(look: &mut Look<'_>, word: &Word) {
    if matches!(
        look.place(word),
        Place::Temporary | Place::Outside | Place::InHome | Place::System | Place::Vital
    ) {
        look.ask("build.outside", format!("it runs code outside the workspace: `{}`", word.shown()));
    }
}

/// Flags that name the directory or the file of another project.
const OTHER_PROJECT: [&str; 6] = ["--manifest-path", "--prefix", "--cwd", "--dir", "--project", "-C"];

/// Looks at the projects that the flags of a package manager name, because it runs their code.
pub(super) fn other_projects(look: &mut Look<'_>, base: &str, operands: &[Word]) {
    let arguments = Arguments::new(look.rest(), &OTHER_PROJECT);
    for value in arguments.values(&OTHER_PROJECT) {
        runs_at(look, value);
    }
    let runs = ["test", "run", "generate"];
    if base == "go" && operands.first().is_some_and(|verb| runs.contains(&verb.shown().as_str())) {
        for word in operands.iter().filter(|word| word.beginning().starts_with(['/', '~', '.'])) {
            runs_at(look, word);
        }
    }
}

/// Flags that all programs use for a file that they write.
pub(super) fn written(look: &mut Look<'_>) {
    let words = look.rest().to_vec();
    for (at, word) in words.iter().enumerate() {
        let text = word.beginning();
        let name = text.split('=').next().unwrap_or_default();
        let writes =
            matches!(name, "-o" | "-O") || name.starts_with("--") && words::OUTPUT_FLAGS.matches(name);
        if !writes {
            continue;
        }
        let value = match text.find('=') {
            Some(at) => Some(tail(word, at + 1)),
            None => words.get(at + 1).cloned(),
        };
        let Some(value) = value.filter(|value| value.beginning().starts_with(['/', '~'])) else { continue };
        if matches!(
            look.place(&value),
            Place::StartUp | Place::Vital | Place::Secret | Place::Device | Place::Root | Place::Log
        ) {
            look.act(Act::Write, &value);
        }
    }
}

/// Flags with which formatters and their like change the files that they are given.
pub(super) fn rewritten(look: &mut Look<'_>) {
    let words = look.rest().to_vec();
    let changes = words.iter().any(|word| {
        let text = word.beginning();
        words::REWRITING_FLAGS.matches(text.split('=').next().unwrap_or_default())
    });
    new_directories(look);
    for part in words.iter().enumerate().flat_map(|(at, word)| parts_of(&words, at, word)) {
        if look.place(&part).steers() {
            look.act(Act::Change, &part);
        }
    }
    let named = words.iter().enumerate().filter(|(at, word)| {
        let flag = at.checked_sub(1).and_then(|before| words.get(before)).map(Word::beginning);
        let written = flag.is_some_and(|flag| {
            matches!(
                &*flag,
                "-o" | "--output"
                    | "--out"
                    | "--outfile"
                    | "--output-file"
                    | "--logfile"
                    | "--json"
                    | "--junit-path"
            )
        });
        (changes || written) && !word.beginning().starts_with('-')
    });
    for (_, word) in named {
        if look.place(word).steers() {
            look.act(Act::Change, word);
        }
    }
}

/// The names inside a word that may be written: `png:AGENTS.md`, `-flp:logfile=AGENTS.md`, `json:AGENTS.md,text`.
fn parts_of(words: &[Word], at: usize, word: &Word) -> Vec<Word> {
    let text = word.beginning();
    let flag = text.split('=').next().unwrap_or_default();
    let before =
        at.checked_sub(1).and_then(|before| words.get(before)).map(Word::beginning).unwrap_or_default();
    let is_input = |flag: &str| {
        flag.starts_with('-')
            && (words::INPUT_OPTIONS.matches(flag) || words::SHORT_INPUT_OPTIONS.matches(flag))
    };
    if is_input(flag) || is_input(&before) || text.contains(char::is_whitespace) {
        return Vec::new();
    }
    let parts = text.split(['=', ':', ',']).filter(|part| part.len() < text.len() && !part.is_empty());
    parts.map(Word::known).collect()
}

/// First words by which programs make a directory with files in it, or format what they are given.
const MAKING_VERBS: [&str; 8] = ["new", "init", "create", "format", "fmt", "split", "partition", "site"];

/// `cargo new .claude`, `mdbook init .claude`, `deno fmt AGENTS.md`
fn new_directories(look: &mut Look<'_>) {
    let operands: Vec<Word> =
        look.rest().iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect();
    if !operands.iter().take(2).any(|word| MAKING_VERBS.iter().any(|verb| word.is(verb))) {
        return;
    }
    for word in operands {
        if look.place(&word).steers() {
            look.act(Act::Change, &word);
        }
    }
}

/// Looks for passwords all over a disk.
pub(super) fn hunts(look: &mut Look<'_>, base: &str, arguments: &Arguments) {
    let tree = matches!(base, "rg" | "ag" | "ack" | "rgrep") || arguments.has(&["-r", "-R", "--recursive"]);
    if !tree || !base.contains('g') && base != "ack" {
        return;
    }
    let given = ["-e", "--regexp"];
    let is_given = arguments.has(&["-e", "-f", "--regexp", "--file"]);
    let operand = arguments.operands.first().filter(|_| !is_given);
    let is_hunt = |pattern: &Word| words::CREDENTIAL_TERMS.matches(&pattern.shown().to_ascii_lowercase());
    if !arguments.values(&given).chain(operand).any(is_hunt) {
        return;
    }
    let outside = arguments.operands.iter().skip(usize::from(!is_given)).any(|word| {
        !matches!(
            look.place(word),
            Place::Inside | Place::Workspace | Place::Regenerable | Place::Unknown | Place::Temporary
        )
    });
    if outside {
        look.ask("secret.search", "it looks for credentials outside the workspace");
    }
}

/// A build runs the project's code. What it names outside is more than that.
pub(super) fn built(look: &mut Look<'_>, base: &str, arguments: &Arguments) {
    tested(look, base);
    generic(look, true);
    let risky = |word: &&Word| {
        word.text().is_some_and(|text| words::REACHING_TARGETS.matches(&text))
            || word.text().is_some_and(|text| {
                text.starts_with("deploy")
                    || text.starts_with("publish")
                    || text.ends_with(":deploy")
                    || text.ends_with("-deploy")
            })
    };
    // `make -j install`: only a number would be the value of `-j`.
    let listed = words::RECIPE_RUNNERS.matches(base).then(|| options::operands(base, look.rest())).flatten();
    let listed: Vec<Word> = listed.into_iter().flatten().cloned().collect();
    if let Some(word) = arguments.operands.iter().chain(&listed).find(risky) {
        look.ask("build.target", format!("`{}` reaches beyond the project", word.shown()));
    }
    // A recipe that comes through the pipe.
    let from_input = matches!(base, "make" | "gmake" | "just" | "rake" | "ninja")
        && (arguments
            .values(&["-f", "--file", "--makefile", "--justfile"])
            .any(|value| value.is("-") || value.is("/dev/stdin")));
    if from_input {
        let text = look.segment.input.as_ref().and_then(|stream| stream.text.clone());
        look.ask("build.input", "its recipes come from the line itself");
        for line in text.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with(['\t', ' '])) {
            look.nested(line.trim().trim_start_matches(['@', '-', '+']));
        }
        if let Some((_, recipe)) = text.as_deref().and_then(|text| text.split_once(';')) {
            look.nested(recipe.trim());
        }
    }
    for word in look.rest().to_vec() {
        let text = word.shown();
        if let Some(inner) = text.strip_prefix("--eval=").or_else(|| text.strip_prefix("-E=")) {
            look.ask("build.input", "a recipe stands in its words");
            look.nested(inner.split_once(':').map_or(inner, |(_, recipe)| recipe).trim());
        }
        if let Some((_, inner)) = text.split_once("$(shell ") {
            look.ask("build.input", "a recipe stands in its words");
            look.nested(inner.trim_end_matches(')'));
        }
        if text.starts_with("SHELL=") {
            look.ask("build.input", "it changes the shell that runs the recipes");
        }
    }
    builds::goals(look, base);
    builds::response_files(look);
    if base == "cmake" {
        builds::cmake(look);
    } else if !matches!(base, "make" | "gmake") {
        builds::settings(look);
    }
    if matches!(base, "make" | "gmake") {
        for value in arguments.values(&["-f", "--file", "--makefile", "-C", "--directory"]) {
            runs_at(look, value);
        }
        for word in &arguments.operands {
            let text = word.beginning();
            if text.contains("--eval") {
                look.ask("build.input", "a recipe stands in its words");
            }
            // `CC=/tmp/x`, `ARGS='; x'`: values of variables become parts of the recipes' commands.
            if let Some((_, value)) = text.split_once('=') {
                look.nested(value);
                builds::compiler_variable(look, word);
                if value.contains([';', '|', '&', '`', '$', '<', '>', '\n']) {
                    look.ask("build.input", format!("`{}` puts shell code into the recipes", word.shown()));
                }
                if value.starts_with(['/', '~', '.']) {
                    runs_at(look, &Word::known(value));
                }
            }
        }
    }
}
