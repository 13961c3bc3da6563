//! Words of the source: their text where it is certain, and the scripts inside them.

use super::{Code, Mask, Proof, Value, names};
use crate::shell::bounds::{self, guarded};
use crate::shell::{base_name, text};
use brush_parser::ParserOptions;
use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, Pipeline,
    SimpleCommand,
};
use brush_parser::word::{self, Parameter, ParameterExpr, SpecialParameter, WordPiece, WordPieceWithSource};

/// What is put in for what is not known, to see what would come of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    /// The number for every exit code.
    pub(super) status: Option<i64>,
    /// Programs that could fail said nothing.
    pub(super) silent: bool,
}

fn pieces(source: &str) -> Option<Vec<WordPieceWithSource>> {
    guarded(|| word::parse(source, &ParserOptions::default()).ok())
}

impl Proof {
    /// The text of a word, if it is one word and certain.
    pub(super) fn text(&self, source: &str) -> Option<String> {
        self.sampled(source, Sample::default())
    }

    /// The text of a word with something put in for what is not known.
    pub(super) fn sampled(&self, source: &str, sample: Sample) -> Option<String> {
        if source.contains('{') && source.contains([',', '.']) && !source.contains(['\'', '"', '$']) {
            return None;
        }
        let mut text = String::new();
        self.gather(&pieces(source)?, false, sample, &mut text)?;
        Some(text)
    }

    /// The same of a text that stands as if in double quotes.
    pub(super) fn quoted_text(&self, source: &str, sample: Sample) -> Option<String> {
        let mut text = String::new();
        self.gather(&pieces(source)?, true, sample, &mut text)?;
        Some(text)
    }

    fn gather(
        &self,
        pieces: &[WordPieceWithSource],
        quoted: bool,
        sample: Sample,
        found: &mut String,
    ) -> Option<()> {
        for piece in pieces {
            match &piece.piece {
                WordPiece::Text(text) if quoted || !text.contains(['*', '?']) => found.push_str(text),
                WordPiece::Text(_) => return None,
                WordPiece::SingleQuotedText(text) => found.push_str(text),
                WordPiece::AnsiCQuotedText(ansi) => found.push_str(&text::ansi_c(ansi)),
                WordPiece::EscapeSequence(escape) => {
                    let plain = escape.strip_prefix('\\').unwrap_or(escape);
                    let kept = quoted && !plain.starts_with(['$', '`', '"', '\\', '\n']);
                    found.push_str(if kept { escape } else { plain.trim_start_matches('\n') });
                }
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.gather(inner, true, sample, found)?;
                }
                WordPiece::ParameterExpansion(expression) if is_status(expression) => {
                    found.push_str(&sample.status?.to_string());
                }
                WordPiece::ParameterExpansion(expression) => {
                    let text = self.known(variable(expression)?, sample)?;
                    if !quoted && (text.is_empty() || text.contains([' ', '\t', '\n', '*', '?', '['])) {
                        return None;
                    }
                    found.push_str(&text);
                }
                WordPiece::ArithmeticExpression(sum) => {
                    found.push_str(&self.sum(&sum.value, sample)?.to_string());
                }
                WordPiece::CommandSubstitution(script) => {
                    found.push_str(&self.printed(script, sample)?);
                }
                WordPiece::BackquotedCommandSubstitution(script) => {
                    found.push_str(&self.printed(&text::without_backquote_escapes(script), sample)?);
                }
                WordPiece::TildeExpansion(_) => return None,
            }
        }
        Some(())
    }

    /// The value of a variable.
    pub(super) fn known(&self, name: &str, sample: Sample) -> Option<String> {
        let value = self.values.get(name)?;
        match (&value.text, sample) {
            (Some(text), _) => Some(text.clone()),
            (None, Sample { status: Some(number), .. }) if value.is_status => Some(number.to_string()),
            (None, Sample { silent: true, .. }) => value.silence.clone(),
            _ => None,
        }
    }

    /// What a script prints that only prints, or that is put in for it.
    fn printed(&self, script: &str, sample: Sample) -> Option<String> {
        if sample.silent
            && let Some(silence) = self.silence(script)
        {
            return Some(silence);
        }
        let program = bounds::parse(script)?;
        let items: Vec<_> = program.complete_commands.iter().flat_map(|list| &list.0).collect();
        if items.iter().flat_map(|item| pipelines(&item.0)).all(|pipeline| self.is_mute(pipeline)) {
            return Some(String::new());
        }
        let [item] = items.as_slice() else { return None };
        let (true, [Command::Simple(simple)]) = (item.0.additional.is_empty(), item.0.first.seq.as_slice())
        else {
            return None;
        };
        let words = self.plain_words(simple)?;
        match words.split_first()? {
            (name, rest) if name == "echo" && rest.iter().all(|word| !word.starts_with('-')) => {
                Some(rest.join(" "))
            }
            (name, [format]) if name == "printf" && !format.contains(['%', '\\']) => Some(format.clone()),
            _ => None,
        }
    }

    /// Does it print nothing, whatever comes of it?
    fn is_mute(&self, pipeline: &Pipeline) -> bool {
        pipeline.seq.iter().all(|command| match command {
            Command::Simple(simple) => match &simple.word_or_name {
                Some(name) => {
                    let mute =
                        ["true", ":", "false", "test", "[", "cd", "set", "exit", "export", "unset", "trap"];
                    self.text(&name.value).is_some_and(|name| mute.contains(&name.as_str()))
                }
                None => true,
            },
            Command::ExtendedTest(..) => true,
            Command::Compound(..) | Command::Function(_) => false,
        })
    }

    /// What stands there when the programs of a script fail without a word; none where it holds only programs that say
    /// nothing when there is nothing to be said.
    pub(super) fn silence(&self, script: &str) -> Option<String> {
        let program = bounds::parse(script)?;
        let mut called = Vec::new();
        let mut counts = false;
        for item in program.complete_commands.iter().flat_map(|list| &list.0) {
            for pipeline in pipelines(&item.0) {
                for command in &pipeline.seq {
                    let Command::Simple(simple) = command else { return Some(String::new()) };
                    let Some(name) = &simple.word_or_name else { continue };
                    let name = self.text(&name.value).unwrap_or_default();
                    counts = matches!(base_name(&name), "wc") || simple.to_string().starts_with("grep -c");
                    called.push(name);
                }
            }
        }
        let loud = called.iter().any(|name| !names::is_lister(base_name(name)));
        loud.then(|| if counts { "0".to_string() } else { String::new() })
    }

    /// The exit code that a word stands for, as in `exit $rc`.
    pub(super) fn code_of(&self, source: &str) -> Code {
        if let Some(text) = self.text(source) {
            return super::number(&text);
        }
        let plain = pieces(source).and_then(|pieces| only(&pieces).cloned());
        let expression = match plain {
            Some(WordPiece::ParameterExpansion(expression)) => expression,
            Some(WordPiece::ArithmeticExpression(_)) => return self.summed(source),
            _ => return Code::checks(),
        };
        match &expression {
            ParameterExpr::Parameter { parameter: Parameter::Special(special), indirect: false } => {
                match special {
                    SpecialParameter::LastExitStatus => self.last.clone(),
                    SpecialParameter::LastBackgroundProcessId => {
                        self.started.clone().unwrap_or_else(Code::checks)
                    }
                    _ => Code::checks(),
                }
            }
            expression => match variable(expression) {
                // One that nobody set is most likely empty, and then the last code stands.
                Some(name) => match self.values.get(name) {
                    // Empty, it is the last code.
                    Some(value) if value.silence.is_some() && !self.last.is_check() => {
                        let why = "is empty, and passes, when the program behind it fails without a word";
                        Code::masked(Mask::new(
                            &format!("exit {source}"),
                            why,
                            "exit with the exit code of the program",
                        ))
                    }
                    Some(value) => value.code.clone(),
                    None if self.in_trap => Code::passes(),
                    None => self.last.clone(),
                },
                None => Code::checks(),
            },
        }
    }

    /// `exit $((a + b))`
    fn summed(&self, source: &str) -> Code {
        let at = |status: i64| {
            let text = self.sampled(source, Sample { status: Some(status), silent: false })?;
            text.parse::<i64>().ok()
        };
        match (at(0), at(1)) {
            (Some(good), Some(bad)) => {
                let passes = |number: i64| number % 256 == 0;
                let fail = !passes(good) || !passes(bad);
                Code { pass: passes(good) || passes(bad), fail, strong: fail, mask: None }
            }
            _ => Code::checks(),
        }
    }

    /// The scripts that a word runs when it is expanded.
    pub(super) fn substitutions(source: &str) -> Vec<String> {
        if !source.contains("$(") && !source.contains('`') {
            return Vec::new();
        }
        let mut found = Vec::new();
        scripts(&pieces(source).unwrap_or_default(), &mut found);
        found
    }

    /// Assigns; the code is that of the last substitution in it.
    pub(super) fn assignment(&mut self, assignment: &Assignment) -> Option<Code> {
        let name = assigned(assignment);
        let (value, code) = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let mut code = None;
                let scripts = Proof::substitutions(&word.value);
                for script in &scripts {
                    code = Some(self.overheard(script));
                }
                let silence = scripts.last().and_then(|script| self.silence(script));
                let is_status = self.is_of_status(&word.value);
                let value = match self.text(&word.value) {
                    Some(text) if !assignment.append => Value::of(&text),
                    _ if assignment.append => Value::unknown(),
                    _ => Value { text: None, code: self.code_of(&word.value), is_status, silence },
                };
                (value, code)
            }
            AssignmentValue::Array(_) => (Value::unknown(), None),
        };
        let keeps = match &assignment.value {
            AssignmentValue::Scalar(word) => variables(&word.value).contains(&name),
            AssignmentValue::Array(_) => false,
        };
        if !keeps && !assignment.append {
            self.overwritten(&name, &value.code);
        }
        self.assign(&name, value);
        code
    }

    /// Does a word hold an exit code, and nothing else that is unknown?
    pub(super) fn is_of_status(&self, source: &str) -> bool {
        let with = |status| self.sampled(source, Sample { status: Some(status), silent: false });
        self.text(source).is_none() && with(0).is_some()
    }

    /// Every name in a text of arithmetic may get another value by it.
    pub(super) fn touched(&mut self, arithmetic: &str) {
        let names = arithmetic.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        let names =
            names.filter(|name| name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_'));
        for name in names.map(str::to_string).collect::<Vec<_>>() {
            self.values.insert(name, Value::unknown());
        }
    }

    /// The words of a command that has nothing but certain words.
    pub(super) fn plain_words(&self, simple: &SimpleCommand) -> Option<Vec<String>> {
        let name = simple.word_or_name.as_ref()?;
        let mut words = vec![self.text(&name.value)?];
        if simple.prefix.is_some() || self.functions.contains_key(&name.value) {
            return None;
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) => words.push(self.text(&word.value)?),
                Item::AssignmentWord(_, word) => words.push(self.text(&word.value)?),
                Item::IoRedirect(_) | Item::ProcessSubstitution(..) => return None,
            }
        }
        Some(words)
    }
}

/// The pipelines of a chain.
pub(super) fn pipelines(list: &brush_parser::ast::AndOrList) -> impl Iterator<Item = &Pipeline> {
    let more = list.additional.iter().map(|next| match next {
        AndOr::And(pipeline) | AndOr::Or(pipeline) => pipeline,
    });
    std::iter::once(&list.first).chain(more)
}

/// The name that an assignment is for.
pub(super) fn assigned(assignment: &Assignment) -> String {
    match &assignment.name {
        AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _) => name.clone(),
    }
}

/// Does a word hold something that is there whatever else is in it: `x$out`?
pub(super) fn is_never_empty(source: &str) -> bool {
    fn any(pieces: &[WordPieceWithSource]) -> bool {
        pieces.iter().any(|piece| match &piece.piece {
            WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => !text.is_empty(),
            WordPiece::DoubleQuotedSequence(inner) => any(inner),
            WordPiece::ArithmeticExpression(_) | WordPiece::TildeExpansion(_) => true,
            WordPiece::ParameterExpansion(expression) => is_status(expression),
            _ => false,
        })
    }
    pieces(source).is_some_and(|pieces| any(&pieces))
}

/// The names of the variables in a word.
pub(super) fn variables(source: &str) -> Vec<String> {
    fn all(pieces: &[WordPieceWithSource], found: &mut Vec<String>) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::DoubleQuotedSequence(inner) => all(inner, found),
                WordPiece::ParameterExpansion(expression) => found.extend(asked_of(expression)),
                WordPiece::ArithmeticExpression(sum) => found.extend(identifiers(&sum.value)),
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    all(&pieces(source).unwrap_or_default(), &mut found);
    found
}

/// The variable in `$x`, `${x[0]}`, `${#x[@]}` and `${x:-0}`; what is made of it otherwise may be anything.
fn asked_of(expression: &ParameterExpr) -> Option<String> {
    let (ParameterExpr::Parameter { parameter, indirect: false }
    | ParameterExpr::ParameterLength { parameter, indirect: false }
    | ParameterExpr::UseDefaultValues { parameter, indirect: false, .. }) = expression
    else {
        return None;
    };
    match parameter {
        Parameter::Named(name)
        | Parameter::NamedWithIndex { name, .. }
        | Parameter::NamedWithAllIndices { name, .. } => Some(name.clone()),
        Parameter::Positional(_) | Parameter::Special(_) => None,
    }
}

/// The names in a text of arithmetic.
pub(super) fn identifiers(text: &str) -> Vec<String> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    words.filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// Is a word a variable without quotes, and nothing else?
pub(super) fn bare_variable(source: &str) -> Option<String> {
    match pieces(source)?.as_slice() {
        [WordPieceWithSource { piece: WordPiece::ParameterExpansion(expression), .. }] => {
            variable(expression).map(str::to_string)
        }
        _ => None,
    }
}

/// The only piece of a word, within quotes or without.
fn only(pieces: &[WordPieceWithSource]) -> Option<&WordPiece> {
    match pieces {
        [piece] => match &piece.piece {
            WordPiece::DoubleQuotedSequence(inner) => only(inner),
            piece => Some(piece),
        },
        _ => None,
    }
}

/// The name in `$name` and `${name}`.
fn variable(expression: &ParameterExpr) -> Option<&str> {
    match expression {
        ParameterExpr::Parameter { parameter: Parameter::Named(name), indirect: false } => Some(name),
        _ => None,
    }
}

/// `$?`
fn is_status(expression: &ParameterExpr) -> bool {
    matches!(
        expression,
        ParameterExpr::Parameter {
            parameter: Parameter::Special(SpecialParameter::LastExitStatus),
            indirect: false
        }
    )
}

fn scripts(pieces: &[WordPieceWithSource], found: &mut Vec<String>) {
    for piece in pieces {
        match &piece.piece {
            WordPiece::CommandSubstitution(script) => found.push(script.clone()),
            WordPiece::BackquotedCommandSubstitution(script) => {
                found.push(text::without_backquote_escapes(script));
            }
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                scripts(inner, found);
            }
            WordPiece::ArithmeticExpression(sum) => {
                scripts(&self::pieces(&sum.value).unwrap_or_default(), found);
            }
            _ => {}
        }
    }
}
