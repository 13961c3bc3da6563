//! Roles of programs in a pipeline.

use super::command::{Call, refuse_steering, texts, without_number};
use super::files::Author;
use super::regexes::{compile, is_demanding_glob};
use super::table::{Class, Row, table};
use super::word::Operand;
use super::{AssertionRefusal, Checker, Purpose};
use crate::shell::{base_name, is_launcher, is_shell};

/// The origin of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Output {
    /// There is none.
    #[default]
    Nothing,
    /// The line itself or the machine: the same in every project.
    Literal,
    /// Facts of the repository or a directory that are always there.
    Facts,
    /// Findings: nothing where there is nothing to find.
    Findings,
    /// Files of the work, or its programs.
    Work,
}

/// The standard input of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Input {
    pub(super) output: Output,
    /// Files that it was read from.
    pub(super) sources: Vec<String>,
}

/// The role of a command or a pipeline.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// It fails when the work is not done.
    pub(super) checks: bool,
    /// It starts a program that could run tests.
    pub(super) runs: bool,
    /// Its output is not made up by the line.
    pub(super) is_program: bool,
    /// It prints a text that stands somewhere.
    pub(super) shows: bool,
    /// Its exit code tells whether something was found.
    pub(super) is_search: bool,
    /// It reads its input.
    pub(super) takes_input: bool,
    /// Its output goes elsewhere.
    pub(super) is_redirected: bool,
    pub(super) output: Output,
    pub(super) sources: Vec<String>,
    /// Files that it writes.
    pub(super) writes: Vec<String>,
    /// The reason why it is not a check.
    pub(super) idle: String,
    /// Commands of the pipeline.
    pub(super) members: usize,
}

impl Outcome {
    /// A program that checks something.
    pub(super) fn check() -> Self {
        Outcome {
            checks: true,
            runs: true,
            is_program: true,
            takes_input: true,
            output: Output::Work,
            ..Outcome::default()
        }
    }

    /// A program that checks nothing.
    pub(super) fn idle(output: Output, reason: impl Into<String>) -> Self {
        Outcome { output, idle: reason.into(), ..Outcome::default() }
    }

    /// Adds the next command of a pipeline.
    pub(super) fn follow(&mut self, next: &Outcome) {
        self.checks |= next.checks;
        self.runs |= next.runs;
        self.is_program |= next.is_program;
        self.shows = (self.shows || next.shows) && !self.runs;
        self.is_search = next.is_search;
        self.is_redirected = next.is_redirected;
        self.sources.clone_from(&next.sources);
        self.members += 1;
        if self.idle.is_empty() {
            self.idle.clone_from(&next.idle);
        }
    }

    /// The refusal of a line that holds nothing else.
    pub(super) fn idle_refusal(&self, part: &str) -> AssertionRefusal {
        let reason = if self.idle.is_empty() { "cannot fail, so it proves nothing" } else { &self.idle };
        AssertionRefusal::new(part, reason, "write the command that runs the check, for example `pytest -q`")
    }
}

impl Checker {
    /// Checks a program that has a row.
    pub(super) fn listed(
        &mut self,
        row: &Row,
        program: &str,
        call: &Call,
        input: &Input,
    ) -> Result<Outcome, AssertionRefusal> {
        match row.class {
            Class::Check => self.check(row, program, call),
            Class::Search => self.search(row, call, input),
            Class::Compare => self.compare(row, call, input),
            Class::Test => self.test(base_name(program), call),
            Class::Read => self.read(row, call, input),
            Class::View => self.view(row, call, input),
            Class::List | Class::Facts => self.list(row, call),
            Class::Print => {
                let words = call.texts()?;
                if words.first().is_some_and(|word| word == "-v") {
                    return Err(AssertionRefusal::beyond(&call.part, "assigns a variable"));
                }
                let shows = words.iter().any(|word| word.contains(|char: char| char.is_ascii_digit()));
                Ok(Outcome { shows, ..Outcome::idle(Output::Literal, "cannot fail, so it proves nothing") })
            }
            Class::Outside | Class::Wrapper | Class::Interpreter | Class::Shell => {
                Err(AssertionRefusal::beyond(&call.part, "is a command that is not part of assertions"))
            }
            Class::Setup => {
                let words = call.texts()?;
                let is_elsewhere =
                    |word: &&String| word.starts_with('/') || word.contains("://") || word.contains("..");
                if let Some(word) = words.iter().find(is_elsewhere) {
                    return Err(AssertionRefusal::beyond(
                        word,
                        "is something that an assertion may not install",
                    ));
                }
                let idle = "only prepares something, which says nothing about the work";
                Ok(Outcome { is_program: true, ..Outcome::idle(Output::Literal, idle) })
            }
            Class::Enter | Class::Directory | Class::Touch | Class::Copy | Class::Remove | Class::Export => {
                self.prepare(row, call)
            }
        }
    }

    fn check(&mut self, row: &Row, program: &str, call: &Call) -> Result<Outcome, AssertionRefusal> {
        let words = call.texts()?;
        if let Some(word) = row.idle_word(&words) {
            let reason = format!("checks nothing: with `{word}` it describes, lists, skips or prepares");
            return Ok(Outcome::idle(Output::Literal, reason));
        }
        if let Some(word) = row.excluding_word(&words) {
            let reason = format!("may leave out everything by `{word}`");
            let hint = "exclude single directories by their names, or put it into the tool's configuration";
            return Err(AssertionRefusal::new(&call.part, reason, hint));
        }
        if !row.has_needed(&words) {
            let reason = format!("checks nothing without one of `{}`", row.needs());
            return Ok(Outcome::idle(Output::Literal, reason));
        }
        let selected = row
            .selecting_word(&words)
            .or_else(|| row.operand_selects.then(|| row.selecting_operand(&call.words))?);
        self.refuse_selection(selected, &call.part)?;
        for word in words.iter().filter(|word| !word.starts_with('-')) {
            let is_free = |value: &str| !value.chars().all(|char| char.is_ascii_digit());
            if row.assignments && word.split_once('=').is_some_and(|(_, value)| is_free(value)) {
                return Err(AssertionRefusal::beyond(word, "sets a variable that decides what is run"));
            }
            if self.project_path(if word.is_empty() { "." } else { word })?.starts_with('/') {
                return Err(AssertionRefusal::beyond(word, "is not part of the project"));
            }
        }
        if let Some(word) = words.iter().find(|word| is_elsewhere(word)) {
            return Err(AssertionRefusal::beyond(word, "leads out of the project"));
        }
        if row.max_operands.is_some_and(|count| row.operands(&call.words).len() > count) {
            return Err(AssertionRefusal::beyond(&call.part, "compares two states that may be the same"));
        }
        self.refuse_planted_files(program, &words, true)?;
        Ok(Outcome::check())
    }

    /// Refuses a selection of tests, which may be empty, where the tests are not counted.
    pub(super) fn refuse_selection(
        &self,
        selected: Option<String>,
        part: &str,
    ) -> Result<(), AssertionRefusal> {
        let Some(word) = selected.filter(|_| self.purpose != Purpose::Tests) else { return Ok(()) };
        let reason = format!("selects tests by `{word}`, and passes when there are none");
        let hint = "run all tests, or use an assertion of kind `tests_pass`, which counts them";
        Err(AssertionRefusal::new(part, reason, hint))
    }

    /// Checks a program that has no row.
    pub(super) fn unlisted(&mut self, program: &str, call: &Call) -> Result<Outcome, AssertionRefusal> {
        let base = base_name(program);
        let is_path = program.contains('/') && !program.starts_with('/');
        let is_known = table().is_known(base) || table().is_tool(without_number(base)) || is_shell(base);
        if is_path && !table().find(base, &call.words).is_some_and(|(row, _)| row.class == Class::Check) {
            return self.script_file(program, &call.texts()?, call);
        }
        if is_launcher(base) {
            let reason = "is a command that is not part of assertions";
            return Err(AssertionRefusal::beyond(&call.part, reason));
        }
        let words = call.texts()?;
        if is_known && !program.contains('/') && words.iter().any(|word| table().is_describing(word)) {
            return Ok(Outcome::idle(Output::Literal, "checks nothing: it describes itself"));
        }
        let is_plain = base.chars().all(|char| char.is_ascii_alphanumeric() || "._+-".contains(char));
        if program.contains('/') || is_known || !is_plain || base.starts_with(['.', '-']) {
            let reason = "is not a check that is known";
            return Err(AssertionRefusal::beyond(&call.part, reason));
        }
        if let Some(word) = words.iter().find(|word| table().is_describing(word)) {
            let reason = format!("checks nothing: with `{word}` it describes itself");
            return Ok(Outcome::idle(Output::Work, reason));
        }
        if words.iter().any(|word| table().is_started(word)) {
            return Err(AssertionRefusal::beyond(&call.part, "may only start a program that cannot fail"));
        }
        self.refuse_planted_files(program, &words, false)?;
        Ok(Outcome::check())
    }

    /// The files among operands, from the project's root.
    fn files(&self, operands: &[Operand], part: &str) -> Result<Vec<String>, AssertionRefusal> {
        let mut files = Vec::new();
        for text in texts(operands)? {
            if text == "-" || text.contains('*') && !is_demanding_glob(&text) {
                return Err(AssertionRefusal::beyond(part, "names files that are always there, or none"));
            }
            let path = self.work_path(&text)?;
            self.refuse_own_file(&path, part)?;
            files.push(path);
        }
        Ok(files)
    }

    /// `cat FILE`, `ls FILE`: fails when the file is missing.
    fn read(&mut self, row: &Row, call: &Call, input: &Input) -> Result<Outcome, AssertionRefusal> {
        let arguments = row.arguments(&call.words, &call.part)?;
        if arguments.operands.is_empty() && !row.recursive {
            return self.view(row, call, input);
        }
        if arguments.operands.is_empty() {
            self.refuse_own_file(&self.directory, &call.part)?;
            return Ok(Outcome::idle(Output::Facts, "looks at a directory that is always there"));
        }
        let sources = self.files(&arguments.operands, &call.part)?;
        let output = if row.recursive { Output::Findings } else { Output::Work };
        Ok(Outcome { checks: true, shows: true, output, sources, ..Outcome::default() })
    }

    /// A filter: shows or changes files or its input.
    fn view(&mut self, row: &Row, call: &Call, input: &Input) -> Result<Outcome, AssertionRefusal> {
        let arguments = row.arguments(&call.words, &call.part)?;
        let is_empty = |value: &str| !value.is_empty() && value.chars().all(|char| char == '0');
        if let Some((option, _)) = arguments.values.iter().find(|(_, value)| is_empty(value)) {
            return Err(AssertionRefusal::beyond(&call.part, format!("shows nothing with `{option} 0`")));
        }
        let mut operands = arguments.operands.as_slice();
        if !row.scripts.is_empty() {
            let scripts = texts(operands.get(..row.skip.min(operands.len())).unwrap_or_default())?;
            refuse_script(row, &scripts, &call.part)?;
        }
        if row.class == Class::View && row.recursive {
            // `tee` writes its operands.
            if let Some(path) = texts(operands)?.iter().find(|path| !table().is_output(path)) {
                return Err(AssertionRefusal::beyond(path, "is a file that may decide what is checked"));
            }
            let mut outcome = Outcome {
                takes_input: true,
                output: input.output,
                sources: input.sources.clone(),
                ..Outcome::default()
            };
            outcome.writes = texts(operands)?;
            return Ok(outcome);
        }
        operands = operands.get(row.skip.min(operands.len())..).unwrap_or_default();
        let mut sources = self.files(operands, &call.part)?;
        if sources.is_empty() && input.output == Output::Nothing {
            return Err(AssertionRefusal::beyond(&call.part, "reads neither a file nor a pipe"));
        }
        let takes_input = sources.is_empty();
        let output = if takes_input { input.output } else { Output::Work };
        sources.extend(input.sources.iter().cloned());
        let idle = "only shows something, which says nothing about the work";
        let shows = !takes_input || call.input.is_some();
        Ok(Outcome { takes_input, sources, shows, ..Outcome::idle(output, idle) })
    }

    /// A program that prints findings or facts.
    fn list(&mut self, row: &Row, call: &Call) -> Result<Outcome, AssertionRefusal> {
        let words = call.texts()?;
        if let Some(word) = row.idle_word(&words) {
            return Err(AssertionRefusal::beyond(
                &call.part,
                format!("has the option `{word}`, which is not part of assertions"),
            ));
        }
        if !row.scripts.is_empty() {
            refuse_script(row, &words, &call.part)?;
        }
        let roots: Vec<&String> = words.iter().take_while(|word| !word.starts_with('-')).collect();
        if row.recursive {
            for root in &roots {
                self.refuse_own_file(&self.project_path(root)?, &call.part)?;
            }
        }
        if !row.recursive || roots.is_empty() {
            self.refuse_own_file("", &call.part)?;
        }
        let is_outside =
            |word: &&String| word.starts_with(['/', '~']) || word.split('/').any(|part| part == "..");
        let looked_at = if row.recursive { roots.as_slice() } else { &words.iter().collect::<Vec<_>>() };
        if let Some(word) = looked_at.iter().copied().find(is_outside) {
            return Err(AssertionRefusal::beyond(word, "is not part of the project"));
        }
        if let Some(most) = row.max_operands
            && row.class == Class::List
            && words
                .iter()
                .skip_while(|word| !row.is_subcommand(word))
                .skip(1)
                .filter(|word| !word.starts_with('-'))
                .count()
                > most
        {
            let reason = "names files, and finds nothing where there are none";
            return Err(AssertionRefusal::new(&call.part, reason, "leave the names out"));
        }
        let is_vague = |word: &String| word.contains('*') && !is_demanding_glob(word);
        let is_open =
            words.iter().any(|word| is_vague(word) || matches!(word.as_str(), "!" | "-not" | "-o" | "-or"));
        let is_list = row.class == Class::List && row.has_needed(&words) && !is_open;
        let output = if is_list { Output::Findings } else { Output::Facts };
        Ok(Outcome::idle(output, "only lists something, which says nothing about the work"))
    }

    fn prepare(&mut self, row: &Row, call: &Call) -> Result<Outcome, AssertionRefusal> {
        let arguments = row.arguments(&call.words, &call.part)?;
        let texts = texts(&arguments.operands)?;
        let refuse = |reason: &str| Err(AssertionRefusal::beyond(&call.part, reason));
        if texts.is_empty() || texts.iter().any(|text| text == "-") {
            return refuse("names nothing that it works on");
        }
        for text in texts.iter().filter(|_| row.class != Class::Export) {
            self.project_path(text)?;
        }
        match row.class {
            Class::Enter if texts.len() == 1 && !arguments.operands.iter().any(Operand::has_glob) => {
                self.directory = self.project_path(texts.first().map_or(".", String::as_str))?;
                if self.directory.starts_with('/') {
                    return refuse("leads out of the project");
                }
            }
            Class::Directory => {
                texts.iter().for_each(|path| self.record_written(path, Author::Directory, &[]));
            }
            Class::Touch => texts.iter().for_each(|path| self.record_written(path, Author::Line, &[])),
            Class::Copy => self.record_copies(&texts),
            Class::Remove => {
                let is_own = |path: &String| {
                    self.project_path(path).is_ok_and(|path| self.written.contains_key(&path))
                };
                if let Some(path) = texts.iter().find(|path| !table().is_removable(path) && !is_own(path)) {
                    let reason = format!("removes `{path}`, which may be part of what is checked");
                    return refuse(&reason);
                }
            }
            Class::Export => {
                for text in &texts {
                    let Some((name, value)) = text.split_once('=') else {
                        return refuse("exports a variable without a value");
                    };
                    refuse_steering(name, value, text)?;
                }
            }
            _ => return refuse("is not a command of assertions in this form"),
        }
        Ok(Outcome::idle(Output::Nothing, "only prepares something, which says nothing about the work"))
    }

    fn record_copies(&mut self, paths: &[String]) {
        let Some((target, sources)) = paths.split_last() else { return };
        let from: Vec<String> = sources.iter().filter_map(|path| self.project_path(path).ok()).collect();
        self.record_written(target, Author::Line, &from);
        for source in sources {
            let below =
                format!("{}/{}", target.trim_end_matches('/'), base_name(source.trim_end_matches('/')));
            self.record_written(&below, Author::Line, &from);
        }
    }
}

/// Refuses a script of a filter that could print anything.
fn refuse_script(row: &Row, scripts: &[String], part: &str) -> Result<(), AssertionRefusal> {
    if row.lists_script(&scripts.join(" ")) {
        return Ok(());
    }
    Err(AssertionRefusal::beyond(part, "is a filter that could print anything"))
}

/// An option whose value is a place outside of the project: `--prefix=/opt`, `-C/opt`.
fn is_elsewhere(word: &str) -> bool {
    let value = match word.strip_prefix("--") {
        Some(long) => long.split_once('=').map_or("", |(_, value)| value),
        None => word.strip_prefix("-C").or_else(|| word.strip_prefix("-f")).unwrap_or_default(),
    };
    value.starts_with("../") || value.starts_with('/') && !value.starts_with("/tmp/")
}

impl Row {
    /// Whether a script has one of the forms that the row accepts.
    pub(super) fn lists_script(&self, script: &str) -> bool {
        self.scripts.iter().any(|own| compile(own).is_some_and(|regex| regex.is_match(script)))
    }

    /// The operand that selects tests: every one that is not the value of an option.
    fn selecting_operand(&self, words: &[Operand]) -> Option<String> {
        let mut words =
            words.iter().filter_map(Operand::text).skip_while(|word| !self.is_subcommand(word)).skip(1);
        while let Some(word) = words.next() {
            if self.takes_value(&word) {
                words.next();
            } else if !word.starts_with('-') {
                return Some(word);
            }
        }
        None
    }

    /// The operands behind the subcommand and before `--`.
    fn operands(&self, words: &[Operand]) -> Vec<String> {
        let words =
            words.iter().filter_map(Operand::text).skip_while(|word| !self.is_subcommand(word)).skip(1);
        words.take_while(|word| word != "--").filter(|word| !word.starts_with('-')).collect()
    }
}
