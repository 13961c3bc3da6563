//! Simple commands: assignments before them, redirections, and wrappers around the program.

use super::files::Author;
use super::program::{Input, Outcome, Output};
use super::table::{Class, Row, table};
use super::word::Operand;
use super::{AssertionRefusal, Checker};
use crate::shell::text::base_name;
use brush_parser::ast::{
    AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem as Item, IoFileRedirectKind as Kind,
    IoFileRedirectTarget as Target, IoRedirect, ProcessSubstitutionKind, SimpleCommand,
};

/// A simple command without its assignments.
#[derive(Debug)]
pub(super) struct Call {
    /// As it stands in the line.
    pub(super) part: String,
    /// Words behind the program.
    pub(super) words: Vec<Operand>,
    /// Files that redirections write.
    pub(super) writes: Vec<String>,
    /// A file that takes the place of the input.
    pub(super) input: Option<String>,
    /// The output goes to a file or is thrown away.
    pub(super) is_redirected: bool,
}

impl Call {
    /// The words as text.
    pub(super) fn texts(&self) -> Result<Vec<String>, AssertionRefusal> {
        texts(&self.words)
    }
}

/// The text of words that hold no variable and no substitution.
pub(super) fn texts(words: &[Operand]) -> Result<Vec<String>, AssertionRefusal> {
    let text = |word: &Operand| {
        word.text().ok_or_else(|| {
            AssertionRefusal::beyond(
                word.source(),
                "holds a variable or a substitution, which may be anything",
            )
        })
    };
    words.iter().map(text).collect()
}

impl Checker {
    /// Checks a simple command.
    pub(super) fn simple(
        &mut self,
        simple: &SimpleCommand,
        input: &Input,
    ) -> Result<Outcome, AssertionRefusal> {
        let part = simple.to_string();
        let mut call = Call {
            part: part.clone(),
            words: Vec::new(),
            writes: Vec::new(),
            input: None,
            is_redirected: false,
        };
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::AssignmentWord(assignment, _) => {
                    let (AssignmentName::VariableName(name), AssignmentValue::Scalar(value), false) =
                        (&assignment.name, &assignment.value, assignment.append)
                    else {
                        return Err(AssertionRefusal::beyond(
                            &part,
                            "assigns something else than a plain variable",
                        ));
                    };
                    refuse_assignment(name, &value.value)?;
                }
                Item::IoRedirect(redirect) => self.redirect(redirect, &mut call)?,
                _ => return Err(AssertionRefusal::beyond(&part, "is not a plain command")),
            }
        }
        let Some(name) = &simple.word_or_name else {
            return Err(AssertionRefusal::beyond(&part, "only assigns or redirects, so that it cannot fail"));
        };
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) | Item::AssignmentWord(_, word) => {
                    call.words.push(Operand::parse(&word.value)?);
                }
                Item::IoRedirect(redirect) => self.redirect(redirect, &mut call)?,
                Item::ProcessSubstitution(ProcessSubstitutionKind::Read, list) => {
                    call.words.push(Operand::stream(&list.list));
                }
                Item::ProcessSubstitution(..) => {
                    return Err(AssertionRefusal::beyond(&part, "writes into a process substitution"));
                }
            }
        }
        self.start(&Operand::parse(&name.value)?, call, input)
    }

    /// Checks the program of a command, behind its wrappers.
    fn start(&mut self, name: &Operand, call: Call, input: &Input) -> Result<Outcome, AssertionRefusal> {
        let Some(program) = name.literal().filter(|program| !program.is_empty()) else {
            return Err(AssertionRefusal::beyond(name.source(), "is not the name of a program"));
        };
        let input = match &call.input {
            Some(path) => {
                let normal = self.work_path(path)?;
                self.refuse_own_file(&normal, &call.part)?;
                Input { output: Output::Work, sources: vec![normal] }
            }
            None => input.clone(),
        };
        self.refuse_overwriting(&program, &call, &input)?;
        let (writes, is_redirected) = (call.writes.clone(), call.is_redirected);
        let mut outcome = self.dispatch(&program, call, &input)?;
        outcome.is_redirected |= is_redirected;
        outcome.writes.extend(writes);
        Ok(outcome)
    }

    /// Refuses a redirection over a file that the same command reads or runs.
    fn refuse_overwriting(&self, program: &str, call: &Call, input: &Input) -> Result<(), AssertionRefusal> {
        let used = call.words.iter().filter_map(Operand::text).chain([program.to_string()]);
        let used: Vec<String> =
            used.filter_map(|word| self.project_path(&word).ok()).chain(input.sources.clone()).collect();
        let is_used = |path: &&String| self.project_path(path).is_ok_and(|path| used.contains(&path));
        match call.writes.iter().find(is_used) {
            Some(path) => {
                let reason = format!("overwrites `{path}`, which it uses itself");
                Err(AssertionRefusal::new(&call.part, reason, "write to another file"))
            }
            None => Ok(()),
        }
    }

    /// Checks a program by its name: wrappers are taken off, shells and interpreters are entered.
    pub(super) fn dispatch(
        &mut self,
        program: &str,
        mut call: Call,
        input: &Input,
    ) -> Result<Outcome, AssertionRefusal> {
        let table = table();
        if !table.is_loaded() {
            return Err(AssertionRefusal::beyond(
                &call.part,
                "cannot be checked: the table of programs is missing",
            ));
        }
        let base = base_name(program);
        let words = std::mem::take(&mut call.words);
        let numbered = || table.find(without_number(base), &words).filter(|(row, _)| row.class.is_tool());
        let row =
            table.find(base, &words).filter(|(row, _)| is_by_name(program, row.class)).or_else(numbered);
        let Some((row, rest)) = row else {
            call.words = words;
            return self.unlisted(program, &call);
        };
        let rest = rest.to_vec();
        call.words = if matches!(row.class, Class::Wrapper) { rest } else { words_for(row, words, rest) };
        match row.class {
            Class::Wrapper => {
                let part = call.part.clone();
                self.nested(&part, |checker| checker.unwrap(row, call, input))
            }
            Class::Shell => self.shell(&call),
            Class::Interpreter => self.interpreter(row, program, call, input),
            _ => self.listed(row, program, &call, input),
        }
    }

    /// Takes a wrapper off.
    fn unwrap(&mut self, row: &Row, mut call: Call, input: &Input) -> Result<Outcome, AssertionRefusal> {
        if !row.like.is_empty() {
            let own = row.own_options(&call.words);
            call.words.drain(..own);
            return self.dispatch(&row.like, call, input);
        }
        let arguments = row.arguments(&call.words, &call.part)?;
        if row.input && !matches!(input.output, Output::Work | Output::Findings) {
            return Err(AssertionRefusal::beyond(&call.part, "gets no files of the project as its input"));
        }
        let mut rest = arguments.operands.into_iter();
        for _ in 0..row.skip {
            let is_number = |word: Operand| {
                word.literal().is_some_and(|text| text.starts_with(|first: char| first.is_ascii_digit()))
            };
            if !rest.next().is_some_and(is_number) {
                return Err(AssertionRefusal::beyond(&call.part, "has no number before the program"));
            }
        }
        let mut rest: Vec<Operand> = rest.collect();
        while row.assignments
            && let Some(text) = rest.first().and_then(Operand::text)
            && let Some((name, value)) = text.split_once('=')
        {
            refuse_steering(name, value, &text)?;
            rest.remove(0);
        }
        if rest.is_empty() {
            return Err(AssertionRefusal::beyond(&call.part, "starts no program"));
        }
        let name = rest.remove(0);
        let Some(program) = name.literal() else {
            return Err(AssertionRefusal::beyond(name.source(), "is not the name of a program"));
        };
        call.words = rest;
        let is_builtin = |class: Class| {
            matches!(
                class,
                Class::Enter | Class::Export | Class::Directory | Class::Touch | Class::Copy | Class::Remove
            )
        };
        if table().find(base_name(&program), &call.words).is_some_and(|(row, _)| is_builtin(row.class)) {
            return Err(AssertionRefusal::beyond(&call.part, "prepares something behind a wrapper"));
        }
        self.dispatch(&program, call, input)
    }

    /// `bash FILE`, `bash -c LINE`, `bash -n FILE`.
    fn shell(&mut self, call: &Call) -> Result<Outcome, AssertionRefusal> {
        let texts = call.texts()?;
        let (mut pipefail, mut is_line, mut is_syntax) = (false, false, false);
        let mut words = texts.iter();
        let refusal = |word: &str| {
            AssertionRefusal::beyond(
                &call.part,
                format!("starts a shell with `{word}`, which is not part of assertions"),
            )
        };
        let mut operand = None;
        while let Some(word) = words.next() {
            let Some(letters) = word.strip_prefix('-') else {
                if word.starts_with('+') {
                    return Err(refusal(word));
                }
                operand = Some(word);
                break;
            };
            for letter in letters.chars() {
                match letter {
                    'c' => is_line = true,
                    'n' => is_syntax = true,
                    'e' | 'u' | 'x' | 'l' => {}
                    'o' => match words.next().map(String::as_str) {
                        Some("pipefail") => pipefail = true,
                        Some("errexit" | "nounset" | "xtrace") => {}
                        _ => return Err(refusal(word)),
                    },
                    _ => return Err(refusal(word)),
                }
            }
            if letters.is_empty() {
                return Err(refusal(word));
            }
        }
        let Some(operand) = operand else {
            return Err(AssertionRefusal::beyond(
                &call.part,
                "starts a shell whose script is not in the line",
            ));
        };
        if !is_line {
            return self.script_file(operand, &texts, call);
        }
        if is_syntax || words.next().is_some() {
            return Err(refusal("-n"));
        }
        self.inner_line(operand, pipefail, &call.part)
    }

    fn inner_line(&mut self, line: &str, pipefail: bool, part: &str) -> Result<Outcome, AssertionRefusal> {
        let (directory, outer) = (self.directory.clone(), std::mem::replace(&mut self.pipefail, pipefail));
        let result = self.nested(part, |checker| checker.script(line));
        (self.directory, self.pipefail) = (directory, outer);
        let summary = result?;
        let output = if summary.runs { Output::Work } else { Output::Literal };
        let idle = summary.idle.map(|refusal| refusal.reason).unwrap_or_default();
        let mut outcome =
            Outcome { checks: summary.checks, runs: summary.runs, output, idle, ..Outcome::default() };
        outcome.shows = summary.shown.is_some();
        outcome.takes_input = true;
        Ok(outcome)
    }

    /// A script file of the project.
    pub(super) fn script_file(
        &mut self,
        path: &str,
        words: &[String],
        call: &Call,
    ) -> Result<Outcome, AssertionRefusal> {
        self.work_path(path)?;
        if path.starts_with('/') {
            return Err(AssertionRefusal::beyond(path, "is not part of the project"));
        }
        if path.contains(['*', '?', '[']) {
            return Err(AssertionRefusal::beyond(&call.part, "runs a script whose name is a pattern"));
        }
        self.refuse_planted_files(path, words, false)?;
        Ok(Outcome::check())
    }

    fn redirect(&mut self, redirect: &IoRedirect, call: &mut Call) -> Result<(), AssertionRefusal> {
        let shown = redirect.to_string();
        let refusal = || AssertionRefusal::beyond(&shown, "is a redirection that is not part of assertions");
        let path =
            |word: &brush_parser::ast::Word| Operand::parse(&word.value)?.literal().ok_or_else(refusal);
        match redirect {
            IoRedirect::OutputAndError(word, _) => {
                call.is_redirected = true;
                push_target(path(word)?, call)?;
            }
            IoRedirect::File(fd, Kind::Write | Kind::Append | Kind::Clobber, Target::Filename(word)) => {
                call.is_redirected |= !matches!(fd, Some(2));
                push_target(path(word)?, call)?;
            }
            IoRedirect::File(None | Some(0), Kind::Read, Target::Filename(word)) => {
                call.input = Some(path(word)?);
            }
            IoRedirect::File(fd, Kind::DuplicateOutput, target) => {
                let target = match target {
                    Target::Fd(target) => target.to_string(),
                    Target::Duplicate(word) | Target::Filename(word) => word.value.clone(),
                    Target::ProcessSubstitution(..) => return Err(refusal()),
                };
                match (fd, target.as_str()) {
                    (Some(2), "1") => {}
                    (None | Some(1), "2") => call.is_redirected = true,
                    _ => return Err(refusal()),
                }
            }
            _ => return Err(refusal()),
        }
        Ok(())
    }

    /// Records the files that a member of a pipeline writes.
    pub(super) fn record_outputs(&mut self, outcome: &Outcome, total: &Outcome) {
        let author = if total.is_program { Author::Program } else { Author::Line };
        for path in &outcome.writes {
            self.record_written(path, author, &total.sources);
        }
    }
}

fn push_target(path: String, call: &mut Call) -> Result<(), AssertionRefusal> {
    if matches!(path.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr") {
        return Ok(());
    }
    if !table().is_output(&path) {
        let reason = "is a file that may decide what is checked, and not one for output";
        return Err(AssertionRefusal::new(&path, reason, "write the output to a file like `out.txt`"));
    }
    call.writes.push(path);
    Ok(())
}

/// Whether the row of the base name is meant, and not a file of the project with the same name.
fn is_by_name(program: &str, class: Class) -> bool {
    !program.contains('/') || program.starts_with('/') || class.is_tool()
}

/// The name without the number of a release: `python3.8` and `gcc-12` are the programs without it.
pub(super) fn without_number(name: &str) -> &str {
    name.trim_end_matches(|char: char| char.is_ascii_digit() || "._-".contains(char))
}

/// The words that the class looks at: behind the subcommand, or all.
fn words_for(row: &Row, all: Vec<Operand>, rest: Vec<Operand>) -> Vec<Operand> {
    if matches!(row.class, Class::Check | Class::Setup | Class::List | Class::Facts | Class::Print) {
        all
    } else {
        rest
    }
}

fn refuse_assignment(name: &str, source: &str) -> Result<(), AssertionRefusal> {
    let shown = format!("{name}={source}");
    let value = if source.is_empty() { Some(String::new()) } else { Operand::parse(source)?.text() };
    let Some(value) = value else {
        return Err(AssertionRefusal::beyond(&shown, "assigns a value that is not in the line"));
    };
    refuse_steering(name, &value, &shown)
}

/// Refuses variables that decide what programs do.
pub(super) fn refuse_steering(name: &str, value: &str, shown: &str) -> Result<(), AssertionRefusal> {
    let is_name = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    if !is_name || value.contains('~') || table().is_steering(name) {
        let reason = "sets a variable that decides what programs do";
        return Err(AssertionRefusal::beyond(shown, reason));
    }
    Ok(())
}
