//! Searches: `grep`, `rg`, `jq -e` and their like.

use super::command::{Call, texts};
use super::program::{Input, Outcome, Output};
use super::regexes::{Demand, Syntax, demand, is_demanding_glob};
use super::table::{Arguments, Row};
use super::word::Operand;
use super::{AssertionRefusal, Checker};

impl Checker {
    /// Checks a search for a pattern in files or in the input.
    pub(super) fn search(
        &mut self,
        row: &Row,
        call: &Call,
        input: &Input,
    ) -> Result<Outcome, AssertionRefusal> {
        let arguments = row.arguments(&call.words, &call.part)?;
        if !row.scripts.is_empty() {
            return self.search_by_script(row, &arguments, call, input);
        }
        let mut patterns: Vec<String> = arguments
            .values
            .iter()
            .filter(|(name, _)| matches!(name.as_str(), "-e" | "--regexp"))
            .map(|(_, value)| value.clone())
            .collect();
        let mut files = arguments.operands.as_slice();
        if patterns.is_empty()
            && let [first, rest @ ..] = files
        {
            patterns.extend(texts(std::slice::from_ref(first))?);
            files = rest;
        }
        if patterns.is_empty() {
            return Err(AssertionRefusal::beyond(&call.part, "searches for nothing"));
        }
        self.refuse_vague_globs(&arguments, &call.part)?;
        refuse_wrong_options(&arguments, &call.part)?;
        let is_recursive =
            row.recursive || arguments.has("-r") || arguments.has("-R") || arguments.has("--recursive");
        let reads_input = files.is_empty() && (!is_recursive || input.output != Output::Nothing);
        let mut sources = self.searched_files(files, is_recursive && !reads_input, &call.part)?;
        if reads_input {
            sources.extend(input.sources.iter().cloned());
        }
        let is_inverted = ["-v", "--invert-match", "-L"].iter().any(|flag| arguments.has(flag));
        if !is_inverted {
            let found = if reads_input { input.output } else { Output::Work };
            refuse_patterns(row, &arguments, &patterns, found, &call.part)?;
        }
        searched(input, sources, reads_input, !is_inverted, &call.part)
    }

    /// The files that are searched; a directory may be the whole project.
    fn searched_files(
        &self,
        files: &[Operand],
        is_recursive: bool,
        part: &str,
    ) -> Result<Vec<String>, AssertionRefusal> {
        let mut paths = Vec::new();
        for text in texts(files)? {
            let path = if is_recursive { self.project_path(&text)? } else { self.work_path(&text)? };
            if text.starts_with(':') || text == "-" || text.contains('*') && !is_demanding_glob(&text) {
                return Err(AssertionRefusal::beyond(part, "searches by a pattern of paths"));
            }
            self.refuse_own_file(&path, part)?;
            paths.push(path);
        }
        if files.is_empty() && is_recursive {
            self.refuse_own_file(&self.directory, part)?;
        }
        Ok(paths)
    }

    /// Refuses file patterns that leave every file out.
    fn refuse_vague_globs(&self, arguments: &Arguments, part: &str) -> Result<(), AssertionRefusal> {
        let is_vague = |value: &str| value.starts_with('!') || !is_demanding_glob(value);
        let globs = ["--include", "--exclude", "--exclude-dir", "-g", "--glob"];
        match arguments.values.iter().find(|(name, value)| globs.contains(&name.as_str()) && is_vague(value))
        {
            Some((name, value)) => {
                Err(AssertionRefusal::beyond(part, format!("leaves out files by `{name} {value}`")))
            }
            None => Ok(()),
        }
    }

    /// `jq -e FILTER`, `awk '… exit 1 …'`: the script decides about the exit code.
    fn search_by_script(
        &mut self,
        row: &Row,
        arguments: &Arguments,
        call: &Call,
        input: &Input,
    ) -> Result<Outcome, AssertionRefusal> {
        let [script, files @ ..] = arguments.operands.as_slice() else {
            return Err(AssertionRefusal::beyond(&call.part, "has no script"));
        };
        let script = texts(std::slice::from_ref(script))?.concat();
        let is_open = |word: &str| matches!(word, "or" | "not" | "if" | "try");
        if !row.lists_script(&script)
            || script.split(|char: char| !char.is_alphanumeric()).any(is_open)
            || compares_with_itself(&script)
        {
            let reason = "decides by a script that is not of a form that is known to fail";
            return Err(AssertionRefusal::beyond(&call.part, reason));
        }
        let reads_input = files.is_empty();
        let mut sources = self.searched_files(files, false, &call.part)?;
        sources.extend(input.sources.iter().filter(|_| reads_input).cloned());
        let mut outcome = searched(input, sources, reads_input, true, &call.part)?;
        outcome.is_search = false;
        Ok(outcome)
    }
}

/// The outcome of a search in files or in the input.
fn searched(
    input: &Input,
    sources: Vec<String>,
    reads_input: bool,
    is_search: bool,
    part: &str,
) -> Result<Outcome, AssertionRefusal> {
    let output = match (reads_input, input.output) {
        (false, _) => Output::Findings,
        (true, Output::Nothing) => {
            return Err(AssertionRefusal::beyond(part, "searches neither a file nor a pipe"));
        }
        (true, Output::Literal) if is_search => {
            let reason = "searches a text that is the same in every project";
            return Err(AssertionRefusal::beyond(part, reason));
        }
        (true, output) => output,
    };
    let idle = "only shows something, which says nothing about the work";
    Ok(Outcome {
        checks: is_search,
        is_search,
        shows: !reads_input,
        takes_input: reads_input,
        sources,
        ..Outcome::idle(output, if is_search { "" } else { idle })
    })
}

/// Refuses options with which the program would only complain, which `!` would take for a search without result.
fn refuse_wrong_options(arguments: &Arguments, part: &str) -> Result<(), AssertionRefusal> {
    let is_number = |value: &str| value.chars().all(|char| char.is_ascii_digit());
    let counts = arguments.values.iter().filter(|(name, _)| matches!(name.as_str(), "-A" | "-B" | "-C"));
    let syntaxes = ["-E", "-F", "-P", "--extended-regexp", "--fixed-strings"];
    let syntaxes = syntaxes.iter().filter(|flag| arguments.has(flag)).count();
    if syntaxes > 1 || counts.into_iter().any(|(_, value)| !is_number(value)) {
        return Err(AssertionRefusal::beyond(part, "has options that do not go together"));
    }
    Ok(())
}

fn refuse_patterns(
    row: &Row,
    arguments: &Arguments,
    patterns: &[String],
    searched: Output,
    part: &str,
) -> Result<(), AssertionRefusal> {
    let syntax = if arguments.has("-F") || arguments.has("--fixed-strings") {
        Syntax::Fixed
    } else if row.extended || ["-E", "-P", "--extended-regexp"].iter().any(|flag| arguments.has(flag)) {
        Syntax::Extended
    } else {
        Syntax::Basic
    };
    let whole = ["-x", "--line-regexp"].iter().any(|flag| arguments.has(flag));
    for pattern in patterns {
        let reason = match demand(pattern, syntax, whole) {
            Demand::Text => continue,
            // A listing that is not empty is what was asked for.
            Demand::Anything if searched == Output::Findings && pattern == "." => continue,
            Demand::Anything | Demand::Nothing => "searches for a pattern that matches nearly every line",
            Demand::Unclear => "searches for a pattern that cannot be read",
        };
        return Err(AssertionRefusal::new(part, reason, "search for the text that the work has to hold"));
    }
    Ok(())
}

/// Whether both sides of a comparison are the same.
fn compares_with_itself(script: &str) -> bool {
    ["==", "<=", ">="]
        .iter()
        .filter_map(|sign| script.split_once(sign))
        .any(|(one, other)| one.trim() == other.trim())
}
