//! Package managers whose words need more than the rows of `data/verbs/packages.toml`.

use super::code;
use super::common_flags::other_projects;
use super::database;
use super::facts::{self, Class};
use super::look::Look;
use super::verbs::is_unvouched;
use super::words;
use crate::shell::Word;

/// Judges package managers whose words need code; true when the program is one of them.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, operands: &[Word]) -> bool {
    let words: Vec<String> = operands.iter().map(Word::shown).collect();
    let all: Vec<String> = look.rest().iter().map(Word::shown).collect();
    match base {
        "npm" | "pnpm" | "yarn" | "bun" | "cnpm" | "corepack" => {
            other_projects(look, base, operands);
            node(look, base, &words, &all);
        }
        "npx" | "bunx" | "pnpx" | "uvx" | "pipx" | "dlx" => {
            other_projects(look, base, operands);
            runner(look, base, &words, &all);
        }
        "cargo" => {
            other_projects(look, base, operands);
            cargo(look, &words, &all);
        }
        // `uv run -` runs what standard input holds.
        "uv" => {
            if words.first().is_some_and(|verb| verb == "run") && words.get(1).is_some_and(|word| word == "-")
            {
                code::from_input(look, "python");
            }
            return false;
        }
        _ => return false,
    }
    true
}

fn changes(look: &mut Look<'_>, all: &[String], reason: impl Into<String>) {
    if is_unvouched(all) {
        look.deny("code.network", "it installs code from an address without a name or without encryption");
    } else {
        look.ask("package", reason);
    }
}

fn node(look: &mut Look<'_>, base: &str, words: &[String], all: &[String]) {
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    if all.iter().any(|word| {
        word.starts_with("--script-shell") || word.starts_with("--node-options") || word.starts_with("--call")
    }) {
        look.ask("package.run", "a flag makes it run a program of its own choice");
        let inner: Vec<&String> = all.iter().filter(|word| word.contains(' ')).collect();
        for text in inner {
            look.nested(text);
        }
        return;
    }
    match first {
        verb if words::NODE_SCRIPTS.matches(verb) => tool_line(look, verb, all),
        verb if words::NODE_LOOKS.matches(verb) => {}
        "workspace" => own_line(look, base, all.iter().skip_while(|word| *word != second).skip(1)),
        "workspaces" if matches!(second, "" | "list" | "info") => {}
        "workspaces" if second == "run" => {
            own_line(look, base, all.iter().skip_while(|word| *word != "run"));
        }
        "workspaces" if second == "foreach" => own_line(look, base, behind_foreach(all)),
        "audit" if base == "npm" && second != "fix" && !has("fix") => {}
        "version" if second.is_empty() => {}
        // `_auth`, `_password`, `//registry/:_authToken`, `npmAuthToken`.
        "config" | "c" | "get"
            if words.iter().skip(1).any(|key| words::CREDENTIAL_KEYS.matches(&key.to_ascii_lowercase())) =>
        {
            look.ask("secret", "it shows a token of the registry");
        }
        "config" | "c" if matches!(second, "get" | "list" | "ls") => {}
        "pm" if matches!(second, "ls" | "bin") => {}
        "pack" if has("--dry-run") => {}
        // These never fetch what they start, which is judged as a command of its own.
        "exec" if matches!(base, "pnpm" | "yarn") && look.starts && second.is_empty() => {}
        "publish" if has("--dry-run") => {}
        "run" | "run-script" | "rum" | "urn" => {
            let written = look
                .segment
                .words
                .iter()
                .any(|word| word.is("-C") || word.is("--prefix") || word.is("--cwd"));
            if written && second.len() < 4 {
                look.ask("script", format!("what the script `{second}` does is not known"));
            }
            // Without a script of that name the program itself is run.
            if second == "env" {
                look.ask("environment.show", "it shows the environment, which may hold keys");
            }
            if words::REACHING_SCRIPTS.matches(second) {
                look.ask("script", format!("the script `{second}` reaches beyond the project"));
            }
        }
        "token" | "adduser" | "login" => look.deny("secret", "it works with tokens of the registry"),
        "unpublish" | "deprecate" | "owner" | "access" => {
            look.deny("package.lost", "it takes away what others use");
        }
        "" if has("--version") || has("-v") || has("-V") => {}
        "" => changes(look, all, "it installs packages"),
        verb if words::NODE_CHANGES.matches(verb) => {
            changes(look, all, "it installs, publishes or runs packages");
        }
        // Scripts of the project may be named without `run`.
        script if matches!(base, "yarn" | "pnpm" | "bun") && words.len() < 3 && !script.contains('/') => {
            if words::REACHING_SCRIPTS.matches(script) || !script.contains(['.', ':', '-']) {
                look.ask("script", format!("what `{base} {script}` does is not known"));
            }
        }
        _ => changes(look, all, "it installs, publishes or runs packages"),
    }
}

/// `yarn prettier .env`: without a script of that name the tool itself is run.
fn tool_line(look: &mut Look<'_>, verb: &str, all: &[String]) {
    let words = all.iter().skip_while(|word| *word != verb).map(String::as_str);
    if let Ok(line) = shlex::try_join(words)
        && is_project_tool(verb)
    {
        look.nested_command(&line);
    }
}

/// Does a table know the program as one that reads, changes or builds files of the project?
fn is_project_tool(name: &str) -> bool {
    facts::find(name).is_some_and(|facts| {
        matches!(facts.class, Class::Build | Class::Change | Class::Read | Class::Convert)
    })
}

/// Behind the name of a workspace stands a line of the manager itself.
fn own_line<'a>(look: &mut Look<'_>, base: &'a str, words: impl Iterator<Item = &'a String>) {
    match shlex::try_join(std::iter::once(base).chain(words.map(String::as_str))) {
        Ok(line) => look.nested_command(&line),
        Err(_) => look.ask("package.run", "what it runs in the workspaces is not known"),
    }
}

/// The words behind `workspaces foreach` and its flags.
fn behind_foreach(all: &[String]) -> impl Iterator<Item = &String> {
    let values = ["--include", "--exclude", "--from", "-j", "--jobs"];
    let mut words = all.iter().skip_while(|word| *word != "foreach").skip(1).peekable();
    while let Some(flag) = words.next_if(|word| word.starts_with('-')) {
        if values.contains(&flag.as_str()) {
            words.next();
        }
    }
    words
}

/// `npx X`: known tools of a project run; others are fetched and run.
fn runner(look: &mut Look<'_>, base: &str, words: &[String], all: &[String]) {
    let has = |word: &str| all.iter().any(|own| own == word);
    if base == "pipx" {
        if !words.first().is_some_and(|word| matches!(word.as_str(), "list" | "environment" | "--version")) {
            changes(look, all, "it installs or runs packages");
        }
        return;
    }
    let Some(tool) = words.first() else { return look.ask("package.run", "what it runs is not known") };
    let rest: Vec<String> = all.iter().skip_while(|word| *word != tool).skip(1).cloned().collect();
    if words::MIGRATION_TOOLS.matches(tool) {
        let first = rest.iter().find(|word| !word.starts_with('-')).cloned().unwrap_or_default();
        return database::framework(look, &rest, &first);
    }
    // Agents by the names of their packages: their own arguments decide.
    let package =
        tool.rsplit_once('@').map_or(tool.as_str(), |(name, _)| if name.is_empty() { tool } else { name });
    let agent = match package {
        "@anthropic-ai/claude-code" => "claude",
        "@openai/codex" => "codex",
        "@google/gemini-cli" => "gemini",
        _ => "",
    };
    if let Ok(line) = shlex::try_join(std::iter::once(agent).chain(rest.iter().map(String::as_str)))
        && !agent.is_empty()
    {
        look.nested_command(&line);
    }
    let known = is_project_tool(tool);
    let yes = has("-y")
        || has("--yes")
        || tool.contains('@') && !tool.starts_with('@')
        || has("-p")
        || has("--package");
    // `uvx` has no tools of the project.
    if known && !yes && base != "uvx" {
        if let Ok(line) =
            shlex::try_join(std::iter::once(tool.as_str()).chain(rest.iter().map(String::as_str)))
        {
            look.nested_command(&line);
        }
        return;
    }
    changes(look, all, "it fetches a package and runs it");
}

fn cargo(look: &mut Look<'_>, words: &[String], all: &[String]) {
    let first = words.first().map_or("", String::as_str);
    let verb = if first.starts_with('+') { words.get(1).map_or("", String::as_str) } else { first };
    if all.iter().any(|word| {
        word.contains("rustc-wrapper")
            || word.contains("build.rustc")
            || word.contains(".runner=")
            || word.contains("linker=")
    }) {
        return look.ask("package.run", "a setting makes cargo run a program of its own choice");
    }
    match verb {
        verb if words::CARGO_VERBS.matches(verb) => {
            if verb == "watch"
                && let Some(command) = all.iter().skip_while(|word| *word != "-s").nth(1)
            {
                let command = command.clone();
                look.nested_command(&command);
            }
        }
        "fix" if !all.iter().any(|word| word == "--allow-dirty" || word == "--allow-no-vcs") => {}
        "update" if all.iter().any(|word| word == "--dry-run") => {}
        "" => {}
        "yank" | "owner" => look.deny("package.lost", "it takes away what others use"),
        "login" | "logout" => look.ask("secret", "it works with tokens of the registry"),
        verb => {
            changes(look, all, format!("`cargo {verb}` changes dependencies, installs or publishes"));
        }
    }
}
