//! Programs that may stand in an assertion, as data (`data/assertions.toml`).

use super::word::Operand;
use super::{AssertionRefusal, SCRIPT_HINT};
use serde::Deserialize;
use std::sync::LazyLock;

/// The part that a program may play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Class {
    /// Fails when the work is not done.
    Check,
    /// Finds a pattern in files or in its input.
    Search,
    /// Compares two things.
    Compare,
    /// `test` and `[`.
    Test,
    /// Shows files, and fails when they are missing.
    Read,
    /// Shows or changes files or its input on the way to another command.
    View,
    /// Prints findings, and nothing where there is nothing to find.
    List,
    /// Prints facts of the repository or of a directory.
    Facts,
    /// Prints its words, or something of the machine.
    Print,
    /// Prepares something: installs, waits.
    Setup,
    /// `cd`
    Enter,
    /// `mkdir`
    Directory,
    /// `touch`
    Touch,
    /// `cp` and `ln`
    Copy,
    /// `rm`
    Remove,
    /// `export`
    Export,
    /// Starts the program that its words name.
    Wrapper,
    /// Runs a script file, a module or inline code.
    Interpreter,
    /// A shell.
    Shell,
    /// Not part of assertions.
    Outside,
}

impl Class {
    /// Whether programs of the class are the same wherever they lie, and under numbered names.
    pub(super) fn is_tool(self) -> bool {
        matches!(self, Class::Check | Class::Interpreter | Class::Shell | Class::Wrapper)
    }
}

/// Letters of a pattern, and of a name, that leaves out some files and not all of them.
const MIN_PATTERN_CHARS: usize = 3;
const MIN_NAME_CHARS: usize = 2;

/// A program, or a subcommand of one. Lists are words with spaces between.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) names: String,
    pub(super) class: Class,
    /// Subcommands that the row is about.
    #[serde(default)]
    pub(super) first: String,
    /// Options with a value that stand before the subcommand.
    #[serde(default)]
    leading: String,
    /// Words with which it checks nothing.
    #[serde(default)]
    idle: String,
    /// Short options with which it checks nothing, also in a cluster.
    #[serde(default)]
    letters: String,
    /// Short options that take a value, so that a cluster ends there.
    #[serde(default)]
    values: String,
    /// Long options may be abbreviated.
    #[serde(default)]
    abbreviates: bool,
    /// Options whose value names files that are left out.
    #[serde(default)]
    excludes: String,
    /// Words of which one must be there for a check.
    #[serde(default)]
    needs: String,
    /// Options that select tests, where no test at all is a success.
    #[serde(default)]
    pub(super) selects: String,
    /// Operands select tests, too.
    #[serde(default)]
    pub(super) operand_selects: bool,
    /// Options that are accepted, where others are refused.
    #[serde(default)]
    options: String,
    /// Those of them that take a value.
    #[serde(default)]
    option_values: String,
    /// `-5` is an option.
    #[serde(default)]
    numeric: bool,
    /// Operands before the files or the program.
    #[serde(default)]
    pub(super) skip: usize,
    /// Patterns of which the operands before the files must match one.
    #[serde(default)]
    pub(super) scripts: Vec<String>,
    /// Operands that are accepted before `--`.
    #[serde(default)]
    pub(super) max_operands: Option<usize>,
    /// Searches directories without being told to.
    #[serde(default)]
    pub(super) recursive: bool,
    /// Its patterns are extended regular expressions.
    #[serde(default)]
    pub(super) extended: bool,
    /// Takes `NAME=value` before the program.
    #[serde(default)]
    pub(super) assignments: bool,
    /// The option before inline code.
    #[serde(default)]
    pub(super) inline: String,
    /// The option before a module.
    #[serde(default)]
    pub(super) module: String,
    /// Another program that understands the words.
    #[serde(default)]
    pub(super) like: String,
    /// Reads the words of the program from its input.
    #[serde(default)]
    pub(super) input: bool,
    #[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
    #[serde(default)]
    pub(super) accepts: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "checked by a test"))]
    #[serde(default)]
    pub(super) refuses: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Variables that decide what programs do.
    steering_variables: String,
    /// Variables of those that only change what is printed.
    plain_variables: String,
    /// Names of files and directories that a build makes again.
    removable: String,
    /// Words with which any tool only describes itself.
    describing: String,
    /// Programs that an unknown program could start.
    started: String,
    /// Names of files that a redirection may write.
    outputs: String,
    /// Modules of Python's standard library.
    python_modules: String,
    pub(super) program: Vec<Row>,
}

// A table that cannot be read holds nothing, and no line is accepted without it; a test reads it.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("../../../data/assertions.toml")).unwrap_or_default());

/// The table.
pub(super) fn table() -> &'static Table {
    &TABLE
}

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|own| match own.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => own == word,
    })
}

impl Table {
    /// Whether the table could be read.
    pub(super) fn is_loaded(&self) -> bool {
        !self.program.is_empty()
    }

    /// Whether a variable may not be set in an assertion.
    pub(super) fn is_steering(&self, name: &str) -> bool {
        !has(&self.plain_variables, name)
            && (has(&self.steering_variables, name)
                || crate::shell::is_notable(name)
                || self.is_known(&name.to_ascii_lowercase()))
    }

    /// Whether a path is made again by a build.
    pub(super) fn is_removable(&self, path: &str) -> bool {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let names = self.removable.split_ascii_whitespace();
        names
            .into_iter()
            .any(|own| own == name || own.starts_with('*') && crate::shell::pattern::matches(own, name))
    }

    /// Whether a file is one that programs write, and not one that decides what they do.
    pub(super) fn is_output(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let mut known = self.outputs.split_ascii_whitespace();
        !name.contains('.') || known.any(|own| crate::shell::pattern::matches(own, name))
    }

    pub(super) fn is_started(&self, word: &str) -> bool {
        has(&self.started, word)
    }

    pub(super) fn is_describing(&self, word: &str) -> bool {
        has(&self.describing, word)
    }

    pub(super) fn is_standard_module(&self, module: &str) -> bool {
        has(&self.python_modules, module.split('.').next().unwrap_or_default())
    }

    /// Whether there are rows for a program, or it is a wrapper.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.program.iter().any(|row| has(&row.names, name)) || crate::shell::is_launcher(name)
    }

    /// Whether one of the rows for a program is of a tool.
    pub(super) fn is_tool(&self, name: &str) -> bool {
        self.program.iter().any(|row| row.class.is_tool() && has(&row.names, name))
    }

    /// The row for a program with these words, and the words behind the subcommand. A row whose needs are met comes first.
    pub(super) fn find<'t, 'w>(
        &'t self,
        name: &str,
        words: &'w [Operand],
    ) -> Option<(&'t Row, &'w [Operand])> {
        let texts: Vec<String> = words.iter().filter_map(Operand::text).collect();
        let mut fallback = None;
        for row in self.program.iter().filter(|row| has(&row.names, name)) {
            let Some(rest) = row.words_behind(words) else { continue };
            if row.has_needed(&texts) || row.class == Class::Interpreter {
                return Some((row, rest));
            }
            fallback = fallback.or(Some((row, rest)));
        }
        fallback
    }
}

/// The options and operands of a program whose options are all known.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) flags: Vec<String>,
    pub(super) values: Vec<(String, String)>,
    pub(super) operands: Vec<Operand>,
}

impl Arguments {
    pub(super) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag)
    }
}

impl Row {
    /// The words behind the subcommand, if the row is about it.
    fn words_behind<'w>(&self, words: &'w [Operand]) -> Option<&'w [Operand]> {
        if self.first.is_empty() {
            return Some(words);
        }
        let at = self.subcommand_at(words)?;
        let word = words.get(at)?.literal()?;
        has(&self.first, &word).then(|| words.get(at + 1..).unwrap_or_default())
    }

    fn subcommand_at(&self, words: &[Operand]) -> Option<usize> {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text()?;
            if !text.starts_with(['-', '+']) {
                return Some(at);
            }
            at += if has(&self.leading, &text) { 2 } else { 1 };
        }
        None
    }

    /// The word with which the program checks nothing.
    pub(super) fn idle_word(&self, words: &[String]) -> Option<String> {
        let is_idle = |word: &&String| {
            table().is_describing(word)
                || self.matches(&self.idle, word)
                || word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).is_some_and(|rest| {
                    rest.chars()
                        .take_while(|letter| !self.values.contains(*letter))
                        .any(|letter| self.letters.contains(letter))
                })
        };
        let with_value = |pair: &[String]| match pair {
            [option, value] if option.starts_with('-') => {
                let joined = format!("{option}={value}");
                self.idle.split_ascii_whitespace().any(|own| own == joined).then_some(joined)
            }
            _ => None,
        };
        words.iter().find(is_idle).cloned().or_else(|| words.windows(2).find_map(with_value))
    }

    /// An option that may leave out everything: what it names is short, a wildcard, or what is to be checked.
    pub(super) fn excluding_word(&self, words: &[String]) -> Option<String> {
        if self.excludes.is_empty() {
            return None;
        }
        let pairs = words.iter().zip(words.iter().skip(1).map(Some).chain([None]));
        pairs
            .filter_map(|(word, next)| match word.split_once('=') {
                Some((option, value)) => Some((word, option, value)),
                None => next.map(|next| (word, word.as_str(), next.as_str())),
            })
            .filter(|(_, option, _)| has(&self.excludes, option))
            .find(|(_, _, value)| {
                value.split([',', '|', ' ', ':']).any(|part| {
                    let name: String =
                        part.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '_').collect();
                    let is_operand = |word: &String| {
                        word.trim_start_matches("./").trim_end_matches('/')
                            == part.trim_matches(['/', '^', '$'])
                    };
                    let is_pattern = part.contains(['*', '?', '.', '[', '+', '\\']);
                    name.len() < if is_pattern { MIN_PATTERN_CHARS } else { MIN_NAME_CHARS }
                        || words.iter().any(|word| !std::ptr::eq(word.as_str(), *value) && is_operand(word))
                })
            })
            .map(|(word, _, _)| word.clone())
    }

    /// The option that selects tests.
    pub(super) fn selecting_word(&self, words: &[String]) -> Option<String> {
        words.iter().find(|word| self.matches(&self.selects, word)).cloned()
    }

    /// Whether a word is there that makes it a check, if one is needed.
    pub(super) fn has_needed(&self, words: &[String]) -> bool {
        self.needs.is_empty() || words.iter().any(|word| self.matches(&self.needs, word))
    }

    pub(super) fn needs(&self) -> &str {
        &self.needs
    }

    fn matches(&self, list: &str, word: &str) -> bool {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        let is_like = |own: &str| own.contains('*') && crate::shell::pattern::matches(own, word);
        list.split_ascii_whitespace().any(|own| {
            let is_long = own.len() > 2 && own.starts_with('-');
            own == word
                || own == name && own.starts_with('-')
                || is_long
                    && own.trim_start_matches('-') == name.trim_start_matches('-')
                    && name.starts_with('-')
                || self.abbreviates && name.len() > 4 && name.starts_with("--") && own.starts_with(name)
                || is_like(own)
        })
    }

    /// The arguments of a program of which every option is known.
    pub(super) fn arguments(&self, words: &[Operand], part: &str) -> Result<Arguments, AssertionRefusal> {
        let mut found = Arguments::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.text().unwrap_or_default();
            if text == "--" {
                found.operands.extend(words.by_ref().cloned());
            } else if text.len() < 2 || !text.starts_with('-') {
                found.operands.push(word.clone());
                if self.class == Class::Wrapper && found.operands.len() > self.skip {
                    // What follows belongs to the program that is started.
                    found.operands.extend(words.by_ref().cloned());
                }
            } else {
                self.option(&text, &mut words, &mut found, part)?;
            }
        }
        Ok(found)
    }

    fn option<'w>(
        &self,
        text: &str,
        words: &mut impl Iterator<Item = &'w Operand>,
        found: &mut Arguments,
        part: &str,
    ) -> Result<(), AssertionRefusal> {
        let refusal = |option: &str| {
            let reason = format!("has the option `{option}`, which is not part of assertions");
            AssertionRefusal::new(part, reason, format!("leave `{option}` out, or {SCRIPT_HINT}"))
        };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let mut next = |name: &str| words.next().and_then(Operand::text).ok_or_else(|| refusal(name));
        if has(&self.option_values, name) {
            let value = if let Some(value) = value { value.to_string() } else { next(name)? };
            found.values.push((name.to_string(), value));
            return Ok(());
        }
        if has(&self.options, name) {
            found.flags.push(name.to_string());
            return Ok(());
        }
        let number = text.trim_start_matches('-');
        if self.numeric && number.parse::<u32>().is_ok_and(|number| number > 0) {
            return Ok(());
        }
        let letters =
            text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).ok_or_else(|| refusal(text))?;
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let name = format!("-{letter}");
            if has(&self.option_values, &name) {
                let value = rest.as_str();
                let value = if value.is_empty() { next(&name)? } else { value.to_string() };
                found.values.push((name, value));
                return Ok(());
            }
            if !has(&self.options, &name) {
                return Err(refusal(text));
            }
            found.flags.push(name);
        }
        Ok(())
    }
}

impl Row {
    pub(super) fn is_subcommand(&self, word: &str) -> bool {
        has(&self.first, word)
    }

    pub(super) fn takes_value(&self, option: &str) -> bool {
        has(&self.option_values, option)
    }

    /// The number of words that are options of the program itself.
    pub(super) fn own_options(&self, words: &[Operand]) -> usize {
        let mut at = 0;
        while let Some(text) = words.get(at).and_then(Operand::text) {
            let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
            match (has(&self.options, name), has(&self.option_values, name)) {
                (_, true) if !text.contains('=') => at += 2,
                (true, _) | (_, true) => at += 1,
                _ => break,
            }
        }
        at.min(words.len())
    }

    pub(super) fn is_inline(&self, option: &str) -> bool {
        has(&self.inline, option)
    }
}
