//! Variables that change what programs do, and where the output of programs comes from.

mod project;

use super::argument_scan::{candidates, is_text};
use super::arguments::Arguments;
use super::facts::{self, Class};
use super::look::Look;
use super::place::{Grounds, Place};
use super::severity::Act;
use super::variables::{self, Variable};
use super::words::{self, WordList};
use super::{network, options};
use crate::shell::{self, Taint, Word};

/// Judges the variables that are set for a command, or for all that follow.
pub(super) fn judge(look: &mut Look<'_>) {
    for (name, value) in &look.segment.inherited {
        inherited(look, name, value);
    }
    for (name, value) in &look.segment.environment {
        expanded(look, name, value);
        match variables::classify(name) {
            Variable::Harmless => {}
            Variable::Written => {
                look.act(Act::Write, value);
                emptied(look, name, value);
            }
            Variable::Tool if !shell::is_notable(name) => tool(look, name, value),
            Variable::Options(program) => options::judge_text(look, program, value),
            Variable::Only(patterns) => only(look, name, value, patterns),
            Variable::Address if network::is_local(&value.beginning()) || value.is("") => {}
            Variable::Address => {
                look.ask("environment", format!("it sets `{name}`, which chooses to whom programs talk"));
            }
            Variable::Steering if shell::is_command_variable(name) => command(look, name, value),
            Variable::Steering => notable(look, name, value),
            Variable::Unknown | Variable::Tool if shell::is_notable(name) => notable(look, name, value),
            Variable::Unknown | Variable::Tool => unknown(look, name, value),
        }
    }
}

/// Judges a variable that an earlier command of the line exported. What changes any program was judged there.
fn inherited(look: &mut Look<'_>, name: &str, value: &Word) {
    expanded(look, name, value);
    match variables::classify(name) {
        Variable::Written => emptied(look, name, value),
        Variable::Steering if LIBRARY_PATHS.contains(&name) && loads_foreign_code(look, name, value) => {
            look.ask("environment", format!("`{name}` makes it load code of the workspace"));
        }
        Variable::Tool | Variable::Unknown
            if shell::is_notable(name) || !matches!(meaning(look), Some((_, Meaning::Project))) => {}
        Variable::Tool => project::tool(look, name, value),
        Variable::Unknown => project::value(look, name, value),
        _ => {}
    }
}

/// A variable that chooses a program or a library; it means nothing to what only prints its words.
fn tool(look: &mut Look<'_>, name: &str, value: &Word) {
    if meaning(look).is_some_and(|(_, meaning)| meaning != Meaning::Nothing) {
        project::tool(look, name, value);
    }
}

/// `FOO='$(shell …)' make`.
fn expanded(look: &mut Look<'_>, name: &str, value: &Word) {
    let program = look.segment.words.first().and_then(Word::text);
    if program.is_some_and(|program| matches!(shell::base_name(&program), "make" | "gmake" | "bmake")) {
        project::expanded_by_make(look, name, value);
    }
}

/// `CARGO_TARGET_DIR=src cargo clean`, `COVERAGE_FILE=src/a.py coverage erase`: what the variable names is deleted.
fn emptied(look: &mut Look<'_>, name: &str, value: &Word) {
    let Some(program) = look.segment.words.first().and_then(Word::text) else { return };
    let has = |verb: &str| look.rest().iter().any(|word| word.is(verb));
    let is_data = shell::base_name(&value.beginning()).starts_with(".coverage");
    let deletes = match (shell::base_name(&program), name) {
        ("cargo", "CARGO_TARGET_DIR" | "CARGO_BUILD_TARGET_DIR") => has("clean"),
        ("coverage", "COVERAGE_FILE") => has("erase") && !is_data,
        (_, "COVERAGE_FILE") => has("coverage") && has("erase") && !is_data,
        _ => false,
    };
    if deletes {
        look.act(Act::DeleteTree, value);
    }
}

/// A variable whose value is a list of options of which only some are harmless.
fn only(look: &mut Look<'_>, name: &str, value: &Word, patterns: WordList) {
    let known = value.text().is_some_and(|text| {
        let mut words = text.split_ascii_whitespace();
        (!text.trim().is_empty() || patterns.matches("")) && words.all(|word| patterns.matches(word))
    });
    if !known {
        look.ask(
            "environment",
            format!("`{name}={}` may make programs run or load something", value.shown()),
        );
        look.nested(&value.shown());
    }
}

/// What a variable that no table lists means to a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Nothing: it only prints its words, or starts another command.
    Nothing,
    /// A setting of the project's own code, or of what the program starts.
    Project,
    /// It is not known.
    Unknown,
}

/// The program of the command, and what a variable that no table lists means to it.
fn meaning(look: &Look<'_>) -> Option<(String, Meaning)> {
    let first = look.segment.words.first()?;
    let program = first.text()?;
    let base = shell::base_name(&program);
    let place = look.place(first);
    let own = program.contains('/') && matches!(place, Place::Inside | Place::Regenerable);
    let class = facts::find(base).map(|facts| facts.class);
    let inert = matches!(class, Some(Class::Ask | Class::Deny) | None);
    let builds = runs_project(base) || class == Some(Class::Build);
    // What a launcher starts, or a shell with a script in its words, inherits the variable and is judged itself.
    let starts = shell::is_launcher(base) || shell::is_shell(base) && look.starts;
    let meaning = if is_text(base) || starts && !builds {
        Meaning::Nothing
    } else if own || inert || builds || shell::is_shell(base) {
        Meaning::Project
    } else {
        Meaning::Unknown
    };
    Some((base.to_string(), meaning))
}

/// A variable of which nothing is known: the project's own code may be given settings, other programs may not.
fn unknown(look: &mut Look<'_>, variable: &str, value: &Word) {
    match meaning(look) {
        Some((base, Meaning::Unknown)) => look.ask(
            "environment.unknown",
            format!("what the variable `{variable}` means to `{base}` is not known"),
        ),
        Some((_, Meaning::Project)) => project::value(look, variable, value),
        _ => {}
    }
}

/// Programs that run the project's own code, beside those of the class `build`.
fn runs_project(base: &str) -> bool {
    let plain = base.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    words::PROJECT_RUNNERS.matches(plain)
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
            let place = Place::classify(&Word::known(first.clone()), &look.segment.directories, look.grounds);
            if !first.is_empty() && (matches!(place, Place::Temporary) || first == ".") {
                look.ask(rule, reason);
            }
        }
        name if words::EDITOR_VARIABLES.matches(name)
            && matches!(
                text.as_str(),
                "cat" | "" | "true" | ":" | "less" | "more" | "vim" | "vi" | "nano" | "code --wait"
            ) => {}
        "PS1" | "PS4" if !text.contains(['$', '`']) => {}
        name if LIBRARY_PATHS.contains(&name) => {
            if loads_foreign_code(look, name, value) {
                look.ask(rule, reason);
            }
        }
        // The repository's own, whose configuration agents cannot write.
        "GIT_DIR" if text == ".git" || text == "./.git" => {}
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

/// Variables that list directories of libraries.
const LIBRARY_PATHS: [&str; 5] = ["PYTHONPATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "LD_LIBRARY_PATH"];

/// Does a list of directories make the program load code that is not its own? The output of a build is harmless, and so is
/// the whole workspace for programs that run its code anyway.
fn loads_foreign_code(look: &Look<'_>, name: &str, value: &Word) -> bool {
    // Every program loads shared libraries; the other variables are for one language.
    let runs_workspace = match meaning(look) {
        Some((_, meaning)) if name == "LD_LIBRARY_PATH" => meaning == Meaning::Project,
        Some((base, meaning)) => meaning == Meaning::Project || !super::uses_credentials(&base),
        // The programs that get the variable are judged with it.
        None => true,
    };
    let is_foreign = |directory: &Word| match look.place(directory) {
        Place::Regenerable | Place::System | Place::Vital | Place::Unknown => false,
        // An empty entry is the current directory.
        Place::Workspace | Place::Inside => !runs_workspace,
        _ => true,
    };
    !value.is("") && value.entries(':').iter().any(is_foreign)
}

/// Where the output of a program comes from.
pub(super) fn taint(name: &str, words: &[Word], directories: &[Word], grounds: Grounds<'_>) -> Taint {
    let mut taint = Taint::NONE;
    if network::fetches(name) {
        taint = taint.and(Taint::NETWORK);
    }
    let shows = match (name, words.get(1).and_then(Word::text)) {
        ("printenv", Some(variable)) => crate::secrets::is_secret_variable(&variable),
        ("env" | "printenv" | "set" | "export" | "declare", _) => words.len() <= 2,
        _ => false,
    };
    if shows {
        taint = taint.and(Taint::SECRET);
    }
    let is_secret = |word: &Word| {
        matches!(Place::classify(word, directories, grounds), Place::Secret | Place::ProjectSecret)
    };
    let names_secret = |word: &Word| {
        candidates(word).iter().any(is_secret)
            || word.text().is_some_and(|text| crate::secrets::is_project_secret(&text))
    };
    let rest = words.get(1..).unwrap_or_default();
    if words::NAME_PRINTERS.matches(name) {
        // `cat $(realpath ~/.netrc)`: the name alone is not secret.
        let is_named = !words::TEXT_PROGRAMS.matches(name) && rest.iter().any(names_secret);
        return if is_named { taint.and(Taint::SECRET_PLACE) } else { taint };
    }
    for word in rest {
        if names_secret(word) {
            taint = taint.and(Taint::SECRET);
        }
        taint = taint.and(word.taint());
    }
    if prints_content(name, words) || composes(name, rest) {
        taint = taint.and(Taint::CONTENT);
    }
    taint
}

/// Does a program make up text by itself, of which a path may be joined: `awk 'BEGIN{print ".env"}'`, `seq -f /etc/x%.0s 1`?
fn composes(name: &str, rest: &[Word]) -> bool {
    match name {
        "awk" | "gawk" | "mawk" | "nawk" => is_composed_by_awk(rest),
        "jq" | "gojq" | "jaq" | "yq" => {
            let is_bare = |word: &Word| {
                let text = word.beginning();
                text == "--null-input"
                    || text.starts_with('-') && !text.starts_with("--") && text.contains('n')
            };
            rest.iter().any(is_bare)
        }
        "seq" => rest
            .iter()
            .any(|word| ["-f", "--f", "-s", "--s"].iter().any(|flag| word.beginning().starts_with(flag))),
        "paste" => rest.iter().any(|word| word.beginning().contains('d')),
        "date" | "gdate" => rest.iter().any(|word| {
            let format = word.beginning();
            format.strip_prefix('+').is_some_and(is_composed_by_date)
        }),
        _ => false,
    }
}

/// Texts that separate what is printed, and cannot be part of a path.
const SEPARATORS: [&str; 11] = ["", " ", ",", ":", ";", "|", "-", "_", "=", "\\t", "\\n"];

/// `awk 'BEGIN{print ".env"}'`, `awk -v a=.e -v b=nv 'BEGIN{print a b}'`.
fn is_composed_by_awk(rest: &[Word]) -> bool {
    let prints = |text: &str| text.contains("print");
    let has_text = |text: &str| {
        let parts: Vec<&str> = text.split('"').collect();
        // Every second part stands between quotes.
        let quoted = parts.chunks(2).filter_map(|pair| match pair {
            [before, part] => Some((*before, *part)),
            _ => None,
        });
        let separates = |before: &str, part: &str| {
            SEPARATORS.contains(&part) || part.chars().count() <= 2 && sets_input_separator(before)
        };
        quoted.into_iter().any(|(before, part)| !separates(before, part))
            || ["ARGV", "ENVIRON"].iter().any(|own| text.contains(own))
    };
    let mut is_value = false;
    let mut has_values = false;
    for word in rest {
        let text = word.shown();
        let value = if is_value {
            Some(text.as_str())
        } else {
            text.strip_prefix("-v").filter(|value| !value.is_empty())
        };
        has_values |= value
            .and_then(|value| value.split_once('='))
            .is_some_and(|(_, value)| !value.chars().all(|char| char.is_ascii_digit()));
        is_value = text == "-v" || text == "--assign";
    }
    rest.iter().map(Word::shown).any(|text| prints(&text) && (has_values || has_text(&text)))
}

/// `FS=`, which separates fields of the input; `OFS=` would be printed.
fn sets_input_separator(code: &str) -> bool {
    code.trim_end()
        .strip_suffix("FS=")
        .is_some_and(|before| !before.ends_with(|char: char| char.is_ascii_alphanumeric() || char == '_'))
}

/// A format of `date` with words of its own: one at the beginning of a word may be a path.
fn is_composed_by_date(format: &str) -> bool {
    ["%%", "%n", "%t"].iter().any(|part| format.contains(part))
        || format.split(char::is_whitespace).any(|part| {
            part.starts_with(['.', '/', '~']) || !part.is_empty() && !part.contains('%') && format != part
        })
}

/// Does a program print what files say? Names of files and of commits are not that.
fn prints_content(name: &str, words: &[Word]) -> bool {
    let rest = words.get(1..).unwrap_or_default();
    let has = |wanted: &str| rest.iter().any(|word| word.is(wanted));
    match name {
        "git" => {
            rest.first().is_some_and(|verb| verb.is("show") || verb.is("cat-file")) && !has("--name-only")
        }
        "python" | "python3" | "node" | "perl" | "ruby" | "php" | "lua" | "deno" | "bun" => {
            let reads = |word: &Word| {
                let text = word.shown();
                ["open", "read", "File", "<>", "file_get"].iter().any(|part| text.contains(part))
            };
            rest.iter().any(reads)
        }
        _ if words::CONTENT_PRINTERS.matches(name) => {
            let lists = |word: &Word| {
                let text = word.beginning();
                text.starts_with("--files") || text.starts_with("--count") || {
                    let is_group = text.starts_with('-') && !text.starts_with("--");
                    name.ends_with("grep") && is_group && text.contains(['l', 'L', 'c', 'q'])
                        || name == "rg" && is_group && text.contains(['l', 'c', 'q'])
                }
            };
            let is_file =
                |word: &&Word| !word.beginning().starts_with('-') && !word.beginning().starts_with("/dev/");
            let facts = facts::find(name);
            // `grep -e PATTERN FILE`: the pattern is not an operand.
            let given = facts
                .map(|facts| (facts, Arguments::new(rest, &facts.values)))
                .filter(|(facts, arguments)| arguments.has(&facts.patterns));
            if let Some((_, arguments)) = given {
                return arguments.operands.iter().any(|word| is_file(&word)) && !rest.iter().any(lists);
            }
            let skip = facts.map_or(0, |facts| facts.skip);
            let operands = rest.iter().filter(is_file).count();
            operands > skip.max(usize::from(matches!(name, "sed" | "awk" | "gawk" | "mawk" | "jq" | "yq")))
                && !rest.iter().any(lists)
        }
        _ => false,
    }
}
