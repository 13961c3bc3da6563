//! What may run without asking, as data: `commands.toml`, compiled into the program.
//!
//! A rule is a description of calls that only read, or change only what git or a rebuild brings back. Flags that turn
//! such a call into something else are named; a program that is not named is never allowed.

use super::CommandContext;
use super::reach::{self, Found};
use super::target::{Target, classify, holds_secrets, is_instruction, leads_out, path_candidates, reached};
use super::words::{Simple, Word, is_assignment};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::LazyLock;

const TEXT: &str = include_str!("commands.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rule: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Programs {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Paths {
    Read,
    Build,
    Write,
    Text,
}

/// Does a program read whole trees?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Trees {
    #[default]
    Never,
    /// With `-r`; links in the tree are not followed.
    Recursive,
    /// Always, from the workspace when nothing is named; links in the tree are not followed.
    Always,
    /// Folders that are named, and the links in them are followed.
    Following,
}

/// One rule; see the head of `commands.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    program: Programs,
    #[serde(default)]
    subcommands: Vec<String>,
    #[serde(default)]
    forbidden: Vec<String>,
    paths: Paths,
    #[serde(default)]
    pattern: bool,
    #[serde(default)]
    globs: bool,
    #[serde(default)]
    trees: Trees,
    words: Option<usize>,
    #[serde(default)]
    least: usize,
    start: Option<String>,
    without: Option<String>,
    #[serde(default)]
    never: Vec<String>,
    #[serde(rename = "match")]
    #[cfg_attr(not(test), expect(dead_code, reason = "examples, read by the test"))]
    matches: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "examples, read by the test"))]
    not_match: Vec<String>,
}

/// Flags after which the first plain word is a file, not a pattern.
const PATTERN_FLAGS: [&str; 6] = ["-e", "--regexp", "-f", "--file", "--files", "--type-list"];

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    // A table that does not parse allows nothing; a test sees to it that it parses.
    toml::from_str::<Table>(TEXT).map(|table| table.rule).unwrap_or_default()
});

/// Why the table does not allow a command: what is wrong, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotAllowed {
    pub(crate) rule: &'static str,
    pub(crate) reason: String,
    pub(crate) mend: &'static str,
}

fn no(rule: &'static str, reason: impl Into<String>, mend: &'static str) -> NotAllowed {
    NotAllowed { rule, reason: reason.into(), mend }
}

/// Does the table allow this command? On success the name of the rule.
pub(crate) fn allows(
    command: &Simple,
    folders: &[PathBuf],
    context: &CommandContext,
) -> Result<String, NotAllowed> {
    let Some((program, arguments)) = command.words.split_first() else {
        return Err(no("command.empty", "there is no command", "Say what to run."));
    };
    if is_assignment(&program.text) {
        return Err(no(
            "command.unresolved",
            format!("assignments before a command (`{}`) are asked about", program.text),
            "Run the command without setting variables before it.",
        ));
    }
    let mut why = None;
    for rule in RULES.iter().filter(|rule| rule.names(&program.text)) {
        match rule.check(arguments, folders, context) {
            Ok(()) => {
                rule.check_trees(arguments, command.piped, folders, context)?;
                return Ok(format!("allow.{}", program.text));
            }
            // The last rule that got past the subcommand knows best.
            Err(reason) if why.is_none() || reason.rule != "command.subcommand" => why = Some(reason),
            Err(_) => {}
        }
    }
    Err(why.unwrap_or_else(|| {
        no(
            "command.unknown",
            format!("`{}` is not on the list of commands that run without asking", program.text),
            "Use a tool or a command on the list (reading, git, builds and tests), or leave it to the person.",
        )
    }))
}

impl Rule {
    fn names(&self, program: &str) -> bool {
        match &self.program {
            Programs::One(name) => name == program,
            Programs::Many(names) => names.iter().any(|name| name == program),
        }
    }

    fn check(
        &self,
        arguments: &[Word],
        folders: &[PathBuf],
        context: &CommandContext,
    ) -> Result<(), NotAllowed> {
        let arguments = self.after_subcommand(arguments)?;
        let mut plain = 0;
        let mut only_plain = false;
        let mut names_file = false;
        // `grep -e PATTERN` and `rg --files` leave no word to be the pattern.
        let pattern_named = PATTERN_FLAGS.iter().any(|flag| {
            arguments.iter().any(|word| word.text.starts_with('-') && is_flag_of(&word.text, flag))
        });
        let mut after_pattern_flag = false;
        for word in arguments {
            let is_flag = word.text.starts_with('-') && word.text.len() > 1 && !only_plain;
            if word.text == "--" {
                only_plain = true;
                continue;
            }
            if is_flag && let Some(flag) = self.forbidden.iter().find(|flag| is_flag_of(&word.text, flag)) {
                return Err(no(
                    "command.flag",
                    format!("`{}` (`{flag}`) makes this command more than a read or a build", word.text),
                    "Run it without this flag.",
                ));
            }
            if self.never.contains(&word.text) {
                return Err(no(
                    "command.word",
                    format!("`{}` does more than build or test", word.text),
                    "Leave it out.",
                ));
            }
            if let Some(part) = &self.without
                && word.text.contains(part.as_str())
            {
                return Err(no(
                    "command.word",
                    format!("`{}` may hide a command", word.text),
                    "Leave it out.",
                ));
            }
            if word.glob {
                self.check_glob(word)?;
            }
            if !is_flag {
                plain += 1;
                if let Some(start) = &self.start
                    && !word.text.starts_with(start.as_str())
                {
                    return Err(no(
                        "command.word",
                        format!("`{}` is not understood here", word.text),
                        "Leave it out.",
                    ));
                }
            }
            // A pattern that the shell expands is several words, and all but the first are files.
            let first = plain == 1 && !names_file && !pattern_named;
            let is_pattern = self.pattern && !is_flag && !word.glob && (first || after_pattern_flag);
            after_pattern_flag = matches!(word.text.as_str(), "-e" | "--regexp");
            // `grep -f FILE` names a file where the pattern would stand.
            names_file = is_flag && (is_flag_of(&word.text, "-f") || is_flag_of(&word.text, "--file"));
            if !is_pattern {
                self.check_paths(word, folders, context)?;
            }
        }
        if plain < self.least {
            return Err(no("command.words", "this command needs an argument to be certain", "Name it."));
        }
        match self.words {
            Some(most) if plain > most => Err(no(
                "command.words",
                "with so many words this command does more than show something",
                "Run it with fewer words.",
            )),
            _ => Ok(()),
        }
    }

    /// What follows the subcommand; git's `--no-pager` may stand before it.
    fn after_subcommand<'a>(&self, arguments: &'a [Word]) -> Result<&'a [Word], NotAllowed> {
        if self.subcommands.is_empty() {
            return Ok(arguments);
        }
        let arguments = match arguments {
            [first, rest @ ..] if first.text == "--no-pager" => rest,
            all => all,
        };
        let begins = |subcommand: &String| {
            let wanted: Vec<&str> = subcommand.split(' ').collect();
            let given = arguments.get(..wanted.len())?;
            given.iter().map(|word| word.text.as_str()).eq(wanted.iter().copied()).then_some(wanted.len())
        };
        let length = self.subcommands.iter().find_map(begins).ok_or_else(|| {
            no(
                "command.subcommand",
                "this subcommand is not on the list of those that run without asking",
                "Use one that reads, builds or tests, or leave it to the person.",
            )
        })?;
        Ok(arguments.get(length..).unwrap_or_default())
    }

    fn check_glob(&self, word: &Word) -> Result<(), NotAllowed> {
        if !self.globs {
            return Err(no(
                "command.glob",
                format!("`{}` is expanded by the shell", word.text),
                "Quote it, or name the files.",
            ));
        }
        let hidden = word.text.split('/').any(|part| part.starts_with('.') && part.contains(['*', '?', '[']));
        let may_be_flag = !self.forbidden.is_empty() && word.text.starts_with(['*', '?', '[']);
        if hidden || may_be_flag {
            return Err(no(
                "command.glob",
                format!("`{}` may stand for hidden files or flags", word.text),
                "Name the files, or begin the pattern with `./`.",
            ));
        }
        Ok(())
    }

    /// Programs that read everything below a folder read what no word names.
    fn check_trees(
        &self,
        arguments: &[Word],
        piped: bool,
        folders: &[PathBuf],
        context: &CommandContext,
    ) -> Result<(), NotAllowed> {
        let flag = |flags: &[&str]| {
            let given = |flag: &&str| arguments.iter().any(|word| is_flag_of(&word.text, flag));
            flags.iter().any(given)
        };
        let walks = match self.trees {
            Trees::Never => false,
            Trees::Recursive => flag(&["-r", "--recursive", "-d", "--directories"]),
            Trees::Always | Trees::Following => true,
        };
        if !walks {
            return Ok(());
        }
        let mut starts: Vec<PathBuf> = Vec::new();
        let mut names_files = false;
        for (at, word) in arguments.iter().filter(|word| !word.text.starts_with('-')).enumerate() {
            for folder in folders {
                let paths = reached(&folder.join(&word.text), word.glob).unwrap_or_default();
                // The first may be the pattern, whatever file is called like it.
                names_files |= at > 0 && paths.iter().any(|path| path.is_file());
                starts.extend(paths.into_iter().filter(|path| path.is_dir()));
            }
        }
        // `rg` reads a pipe where there is one; `grep -r` does not.
        let reads_pipe = piped && self.trees == Trees::Always;
        if starts.is_empty() && !names_files && !reads_pipe && self.trees != Trees::Following {
            starts = folders.iter().map(|folder| reach::real(folder)).collect();
        }
        starts.sort();
        starts.dedup();
        let workspace = reach::real(&context.workspace);
        for start in starts.iter().filter(|start| start.starts_with(&workspace)) {
            let why = match reach::look_through(start, &workspace, self.trees == Trees::Following) {
                Found::Nothing => continue,
                Found::Secret => "holds files of secrets (such as .env or a key), which it would read",
                Found::LeadsOut => "holds a symbolic link that leads out of the working directory",
                Found::TooLarge => "is too large to know what it would read",
            };
            let shown = start.strip_prefix(&workspace).unwrap_or(start).display().to_string();
            let shown = if shown.is_empty() { ".".to_string() } else { shown };
            return Err(no(
                "command.tree",
                format!("`{shown}` {why}"),
                "Search with code_grep, which leaves such files out, or name the files or a smaller folder.",
            ));
        }
        Ok(())
    }

    fn check_paths(
        &self,
        word: &Word,
        folders: &[PathBuf],
        context: &CommandContext,
    ) -> Result<(), NotAllowed> {
        if word.tilde {
            return Err(outside(word));
        }
        if self.paths == Paths::Text {
            return Ok(());
        }
        for candidate in path_candidates(word) {
            if self.paths == Paths::Write && candidate.text.starts_with('/') {
                return Err(no(
                    "command.path",
                    format!("`{}` is an absolute path", word.text),
                    "Use a path relative to the working directory.",
                ));
            }
            if self.paths == Paths::Write && is_instruction(&candidate, folders, context) {
                return Err(no(
                    "command.instructions",
                    format!(
                        "`{}` tells agents what to do, and a person decides what agents are told",
                        word.text
                    ),
                    "Say in your answer what should stand there and why.",
                ));
            }
            if leads_out(&candidate, folders, context) {
                return Err(no(
                    "command.leads-out",
                    format!("`{}` leads out of the working directory by a symbolic link", word.text),
                    "Use files that really lie inside the working directory.",
                ));
            }
            match classify(&candidate, folders, context) {
                _ if holds_secrets(&candidate, folders, context) => return Err(secret(word)),
                Target::Inside | Target::Workspace => {}
                Target::Git | Target::Record if self.paths == Paths::Read => {}
                Target::Git | Target::Record => {
                    return Err(no(
                        "command.closed",
                        format!(
                            "`{}` is closed for writing: it belongs to git, the record or the tickets",
                            word.text
                        ),
                        "Write project files elsewhere; git changes its own files through git commands.",
                    ));
                }
                Target::ProjectSecret => return Err(secret(word)),
                Target::Outside if candidate.text == "/dev/null" => {}
                _ => return Err(outside(word)),
            }
        }
        Ok(())
    }
}

fn secret(word: &Word) -> NotAllowed {
    no(
        "command.secret",
        format!("`{}` may hold secrets", word.text),
        "Look at an example file (such as `.env.example`) instead, or ask the person for what is needed.",
    )
}

fn outside(word: &Word) -> NotAllowed {
    no(
        "command.outside",
        format!("`{}` lies outside the working directory", word.text),
        "Use paths inside the working directory.",
    )
}

/// Is `word` the flag `flag`: itself, with a value, abbreviated, or in a cluster of letters?
fn is_flag_of(word: &str, flag: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    if let Some(long) = flag.strip_prefix("--") {
        return name.strip_prefix("--").is_some_and(|given| !given.is_empty() && long.starts_with(given))
            || word.starts_with(&format!("{flag}="));
    }
    if flag.len() == 2 {
        let letter = flag.chars().nth(1).unwrap_or('-');
        return !word.starts_with("--") && name.contains(letter);
    }
    // Long flags with one dash, such as find's; a longer one of the same beginning (`-execdir`) is meant too.
    name.starts_with(flag) || name.trim_start_matches('-') == flag.trim_start_matches('-')
}

#[cfg(test)]
mod tests {
    use super::super::{CommandContext, judge_command};
    use super::*;
    use crate::verdict::Decision;

    #[test]
    fn rules_keep_to_their_own_examples() {
        let table: Table = toml::from_str(TEXT).unwrap();
        let context = CommandContext { workspace: "/home/a/work".into(), home: "/home/a".into() };
        assert!(table.rule.len() > 20);
        let mut wrong = Vec::new();
        for rule in &table.rule {
            for line in &rule.matches {
                let judged = judge_command(line, &context);
                if judged.verdict.decision != Decision::Allow {
                    wrong.push(format!("should be allowed: {line}: {:?}", judged.verdict));
                }
            }
            for line in &rule.not_match {
                if judge_command(line, &context).verdict.decision == Decision::Allow {
                    wrong.push(format!("should not be allowed: {line}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
