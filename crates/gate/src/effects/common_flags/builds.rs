//! Words of builders: goals that reach beyond the project, and settings that name code outside of it.

use super::runs_at;
use crate::effects::look::Look;
use crate::effects::place::Place;
use crate::effects::variables::{self, Variable};
use crate::effects::{options, words};
use crate::shell::{Word, base_name};

/// Goals that publish, wipe or run code: `gradle :app:publish`, `sbt ';clean;+publish'`, `rake db:drop`.
pub(super) fn goals(look: &mut Look<'_>, base: &str) {
    if !words::GOAL_BUILDERS.matches(base) {
        return;
    }
    let listed = options::operands(base, look.rest()).map(|words| words.into_iter().cloned().collect());
    let operands: Vec<Word> = listed.unwrap_or_else(|| {
        look.rest().iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect()
    });
    for word in &operands {
        let text = word.shown();
        if base == "rake" && text.starts_with("db:") && words::DATA_LOSSES.matches(&text) {
            look.deny("database", "it deletes data");
        }
        for command in text.split(';').map(str::trim) {
            goal(look, base, command);
        }
    }
}

/// One goal: `+` and `~` in front repeat it, and names of projects and configurations stand before the last part.
fn goal(look: &mut Look<'_>, base: &str, command: &str) {
    let command = command.trim_start_matches(['+', '~', '-', ' ']);
    // `++2.13 test`: the version of Scala stands in front.
    let is_version = |word: &str| word.starts_with(|char: char| char.is_ascii_digit());
    let command = match command.split_once(' ') {
        Some((first, behind)) if is_version(first) => behind.trim_start_matches(['-', 'v', ' ']),
        _ => command,
    };
    if base == "sbt" && words::COMMANDS_OF_SBT.matches(command) {
        look.nested(command.trim_start_matches(['!', '<', ' ']));
        look.ask("build.input", format!("`{command}` runs more than a task of the project"));
    }
    let goal = command.split_whitespace().next().unwrap_or_default();
    let last = goal.rsplit([':', '/', '.']).next().unwrap_or_default();
    if words::REACHING_GOALS.matches(last) {
        look.ask("build.target", format!("`{goal}` reaches beyond the project"));
    }
}

/// `@FILE` outside the workspace gives a builder more options.
pub(super) fn response_files(look: &mut Look<'_>) {
    for word in look.rest().to_vec() {
        let path = word.without_start(1);
        // `@//app` is a label.
        let is_file = path.beginning().starts_with(['/', '~', '.']) && !path.beginning().starts_with("//");
        if word.beginning().starts_with('@') && is_file {
            runs_at(look, &path);
        }
    }
}

/// `CC=/tmp/x`, `-DTOOL=/tmp/x`: a build takes code from the paths that its settings name.
pub(super) fn settings(look: &mut Look<'_>) {
    for word in look.rest().to_vec() {
        let text = word.beginning();
        let is_setting = !text.starts_with('-') || text.starts_with("-D") || text.starts_with("-P");
        if let Some((name, _)) = text.split_once('=').filter(|_| is_setting) {
            let value = word.without_start(name.len() + 1);
            compiler_variable(look, &word);
            taken(look, name.trim_start_matches("-D").trim_start_matches("-P"), &value);
        }
    }
}

/// Programs and libraries of the system are named to be used; an installation is a step of its own.
fn taken(look: &mut Look<'_>, name: &str, value: &Word) {
    let is_path = value.beginning().starts_with(['/', '~', '.']);
    let is_foreign =
        matches!(look.place(value), Place::Temporary | Place::Outside | Place::InHome | Place::StartUp);
    if is_path && is_foreign && !words::INSTALL_SETTINGS.matches(name) {
        look.ask("build.outside", format!("`{name}` makes it take code from `{}`", value.shown()));
    }
}

/// `CFLAGS=-fplugin=./x.so`: options of a compiler, as the variable of the environment would hold them.
pub(super) fn compiler_variable(look: &mut Look<'_>, word: &Word) {
    let text = word.beginning();
    let Some((name, _)) = text.split_once('=') else { return };
    let variable = name.trim_end_matches(['+', ':', '?']);
    if let Variable::Options(program) = variables::classify(variable.trim_end()) {
        options::judge_text(look, program, &word.without_start(name.len() + 1));
    }
}

/// The target `install` writes outside, and values of `-D` become compilers, launchers and emulators that the build runs.
pub(super) fn cmake(look: &mut Look<'_>) {
    let words: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let target = |pair: &[String]| match pair {
        [flag, value] => matches!(flag.as_str(), "-t" | "--target") && value.starts_with("install"),
        _ => false,
    };
    let attached = |word: &String| word.starts_with("--target=install") || word.starts_with("-tinstall");
    if words.windows(2).any(target) || words.iter().any(attached) {
        look.ask("build.target", "`install` reaches beyond the project");
    }
    for word in words.iter().filter(|word| word.starts_with("-D") || !word.starts_with('-')) {
        match word.split_once('=') {
            Some((name, value)) => cmake_setting(look, name.trim_start_matches("-D"), value),
            // The directory of the sources, or words for the builder that it starts.
            None if word.starts_with(['/', '~']) => runs_at(look, &Word::known(word.as_str())),
            None => {}
        }
    }
}

fn cmake_setting(look: &mut Look<'_>, name: &str, value: &str) {
    let name = name.split(':').next().unwrap_or_default();
    let command = value.replace(';', " ");
    look.nested(&command);
    for part in value.split(';') {
        taken(look, name, &Word::known(part));
    }
    let program = base_name(command.split_whitespace().next().unwrap_or_default());
    if name.ends_with("_LAUNCHER") && !words::COMPILER_LAUNCHERS.matches(&command)
        || words::PROGRAM_SETTINGS.matches(name) && !words::BUILD_PROGRAMS.matches(program)
    {
        look.ask("build.input", format!("`{name}={value}` names a program that the build starts"));
    }
    let loads = |flag: &str| words::COMPILER_LOADS.matches(flag);
    if words::RULE_SETTINGS.matches(name) {
        look.ask("build.input", format!("`{name}` is a command that the build runs"));
    }
    if (name.contains("_FLAGS") || name.ends_with("_COMPILER_ARG1")) && value.split_whitespace().any(loads) {
        look.ask("build.input", format!("`{name}={value}` makes the compiler load code"));
    }
}
