//! Interpreters: script files, modules and inline code.
//!
//! Inline code is a check when one of its statements touches the project unconditionally (it imports a module of the
//! project, or reads a file by a relative path) and nothing in it could swallow the failure. Anything else belongs into a
//! script file.

use super::command::{Call, texts};
use super::program::{Input, Outcome, Output};
use super::regexes::compile;
use super::statements::{self, Comparing, statements};
use super::table::{Row, table};
use super::{AssertionRefusal, Checker};
use crate::shell::text::base_name;

/// Ways of Python to pass over a failure, to end early, or not to come to the point.
const PYTHON_SWALLOWS: &str = r"\b(try|except|suppress|finally|if|while|for|def|class|lambda|with|or|and|not|exec|eval|yield|_exit|atexit|system|subprocess|popen|getoutput|kill|signal|excepthook|write|quit|mock|fork|breakpoint)\b|exit\s*\(\s*(0|None|False)?\s*\)|#|\\";
/// Statements of Python that fail when a file of the project is missing.
const PYTHON_READS: &str =
    r#"\bopen\(['"][pr]['"](, *['"]m['"])?\)|\bPath\(['"][pr]['"]\)\.(read_text|read_bytes|stat)\("#;
/// The same for Node.
const NODE_SWALLOWS: &str = r"\b(try|catch|finally|if|for|while|function|class|async|await|eval|Function|kill|abort|exitCode|on|once|mock)\b|=>|process\.exit\(\s*0?\s*\)|\?|&&|//|/\*|\\";
const NODE_READS: &str = r#"^(?:(?:const|let|var)\s+[\w\s{},]+=\s*|assert[\w.]*\(\s*|JSON\.parse\(\s*)*(?:require\(['"]p['"]\)|require\(['"]fs['"]\)\.readFileSync\(['"][pr]['"])"#;

impl Checker {
    /// Checks what an interpreter runs.
    pub(super) fn interpreter(
        &mut self,
        row: &Row,
        program: &str,
        mut call: Call,
        input: &Input,
    ) -> Result<Outcome, AssertionRefusal> {
        let words = call.texts()?;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if row.is_inline(word) || !row.module.is_empty() && *word == row.module || !word.starts_with('-')
            {
                break;
            }
            at += if row.takes_value(word) { 2 } else { 1 };
        }
        let (own, rest) = call.words.split_at(at.min(call.words.len()));
        let (own, rest) = (own.to_vec(), rest.to_vec());
        let options = texts(&own)?;
        if let Some(word) = row.idle_word(&options) {
            let reason = format!("checks nothing: with `{word}` it describes itself");
            return Ok(Outcome::idle(Output::Literal, reason));
        }
        row.arguments(&own, &call.part)?;
        let rest_texts = texts(&rest)?;
        match rest_texts.as_slice() {
            [option, code, ..] if row.is_inline(option) => {
                inline(base_name(program), option, code, &call.part)
            }
            [option, module, ..] if !row.module.is_empty() && *option == row.module => {
                call.words = rest.get(2..).unwrap_or_default().to_vec();
                let part = call.part.clone();
                let module = module.clone();
                self.nested(&part, |checker| checker.module(&module, call, input))
            }
            [] if !row.needs().is_empty() && row.has_needed(&options) => {
                self.own_tests(row, &options, program, &call)
            }
            [script, ..] if row.has_needed(&options) && !row.needs().is_empty() => {
                self.work_path(script)?;
                self.own_tests(row, &options, program, &call)
            }
            [script, ..] if !row.is_inline(script) => self.script_file(script, &rest_texts, &call),
            _ => Err(AssertionRefusal::beyond(&call.part, "runs a script that is not in the line")),
        }
    }

    /// `node --test`
    fn own_tests(
        &mut self,
        row: &Row,
        options: &[String],
        program: &str,
        call: &Call,
    ) -> Result<Outcome, AssertionRefusal> {
        self.refuse_selection(row.selecting_word(options), &call.part)?;
        self.refuse_planted_files(program, &call.texts()?, true)?;
        Ok(Outcome::check())
    }

    /// `python3 -m MODULE`
    fn module(&mut self, module: &str, call: Call, input: &Input) -> Result<Outcome, AssertionRefusal> {
        let table = table();
        if table.is_known(module) {
            return self.dispatch(module, call, input);
        }
        let is_name = module.chars().all(|char| char.is_ascii_alphanumeric() || "._-".contains(char));
        if table.is_standard_module(module) || !is_name {
            let reason = format!("runs `{module}`, which belongs to Python and says nothing about the work");
            return Err(AssertionRefusal::beyond(&call.part, reason));
        }
        let words = call.texts()?;
        if let Some(word) = words.iter().find(|word| table.is_describing(word)) {
            return Ok(Outcome::idle(
                Output::Work,
                format!("checks nothing: with `{word}` it describes itself"),
            ));
        }
        self.refuse_planted_files(&module.replace('.', "/"), &words, true)?;
        Ok(Outcome::check())
    }
}

fn inline(program: &str, option: &str, code: &str, part: &str) -> Result<Outcome, AssertionRefusal> {
    let comparing = if program.starts_with("python") {
        python_check(code)
    } else if program.starts_with("node") {
        node_check(code, ["-p", "--print", "-pe"].contains(&option))
    } else {
        None
    };
    match comparing {
        Some(Comparing::Decides) => Ok(Outcome::check()),
        Some(Comparing::Shown) => Ok(Outcome {
            is_program: true,
            runs: true,
            ..Outcome::idle(Output::Work, "only prints whether it is so, which never fails")
        }),
        Some(Comparing::Lost) => Err(AssertionRefusal::new(
            part,
            "compares something, and does not fail when it is not so",
            "write `assert LEFT == RIGHT`, without brackets around it",
        )),
        None => Err(AssertionRefusal::beyond(
            part,
            "holds inline code that is not known to fail when the work is not done",
        )),
    }
}

/// What becomes of the comparisons: the worst of all.
fn worst(comparisons: impl Iterator<Item = Comparing>) -> Comparing {
    comparisons.fold(Comparing::Decides, |worst, next| match (worst, next) {
        (Comparing::Lost, _) | (_, Comparing::Lost) => Comparing::Lost,
        (Comparing::Shown, _) | (_, Comparing::Shown) => Comparing::Shown,
        _ => Comparing::Decides,
    })
}

fn matches(source: &str, text: &str) -> bool {
    compile(source).is_some_and(|regex| regex.is_match(text))
}

/// The code with one letter for each string: `p` for a path with a dot before, `r` for another relative path, `fs` for the
/// module of that name, `m` for a mode to read, and nothing for anything else. None when a string is not closed.
fn without_strings(code: &str) -> Option<String> {
    let mut blank = String::new();
    let mut chars = code.chars();
    while let Some(char) = chars.next() {
        blank.push(char);
        if !matches!(char, '"' | '\'' | '`') {
            continue;
        }
        let mut content = String::new();
        loop {
            match chars.next()? {
                end if end == char => break,
                inner => content.push(inner),
            }
        }
        blank.push_str(match content.as_str() {
            "fs" | "node:fs" => "fs",
            "r" | "rb" | "rt" => "m",
            path if path.starts_with("./") || path.starts_with("../") => "p",
            path if path.is_empty() || path.starts_with(['/', '~']) || path.contains("..") => "",
            _ => "r",
        });
        blank.push(char);
    }
    Some(blank)
}

fn python_check(code: &str) -> Option<Comparing> {
    let blank = without_strings(code)?;
    let imports = |statement: &str| {
        let mut words =
            statement.split(|char: char| char.is_whitespace() || char == ',').filter(|word| !word.is_empty());
        match words.next() {
            Some("import") => words.any(|module| !table().is_standard_module(module) && module != "as"),
            Some("from") => words.next().is_some_and(|module| !table().is_standard_module(module)),
            _ => false,
        }
    };
    let has_import = blank.split([';', '\n']).any(|statement| imports(statement.trim()));
    let is_check = !matches(PYTHON_SWALLOWS, &blank) && (has_import || matches(PYTHON_READS, &blank));
    is_check.then(|| worst(statements(&blank).iter().map(|statement| statements::python(statement))))
}

fn node_check(code: &str, prints: bool) -> Option<Comparing> {
    let blank = without_strings(code)?;
    let is_check = !matches(NODE_SWALLOWS, &blank)
        && blank.split([';', '\n']).any(|statement| matches(NODE_READS, statement.trim()));
    is_check.then(|| worst(statements(&blank).iter().map(|statement| statements::node(statement, prints))))
}
