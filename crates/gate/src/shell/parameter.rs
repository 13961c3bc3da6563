//! Parameters: what `$x` and its forms become.

use super::choice::meanings;
use super::expand::merged;
use super::limits::MAX_TEXT_BYTES;
use super::state::{Shell, Variable};
use super::value::{Piece, Taint, UnknownReason, Word};
use super::{pattern, text};
use crate::secrets::is_secret_variable;
use brush_parser::word::{
    Parameter, ParameterExpr, ParameterTestType, ParameterTransformOp, SpecialParameter, SubstringMatchKind,
};

/// Bytes of a value that is changed by a pattern: that takes time by the square of it.
const MAX_PATTERN_EDIT_BYTES: usize = 512;

impl Shell<'_> {
    /// The values of a parameter: one, or several for arrays and `"$@"`. `None` when it is not set.
    fn values(&mut self, parameter: &Parameter, indirect: bool) -> Option<Vec<Word>> {
        if indirect
            && let Parameter::Named(name) | Parameter::NamedWithIndex { name, .. } = parameter
            && self.named(name).is_none()
        {
            self.doubt("a variable whose name is not known");
        }
        let values = match parameter {
            Parameter::Positional(number) => match number {
                0 => Some(self.special(&SpecialParameter::ShellName)),
                number => {
                    let index = usize::try_from(*number).unwrap_or(usize::MAX) - 1;
                    match self.state.positional.get(index) {
                        Some(word) => Some(vec![word.clone()]),
                        None if self.state.open_arguments => {
                            Some(vec![Word::unknown(UnknownReason::Argument, Taint::NONE)])
                        }
                        None => None,
                    }
                }
            },
            Parameter::Special(special) => Some(self.special(special)),
            Parameter::Named(name) if name == "_" => Some(vec![self.state.last_word.clone()]),
            Parameter::Named(name)
            | Parameter::NamedWithIndex { name, .. }
            | Parameter::NamedWithAllIndices { name, .. }
                if is_set_by_shell(name) && self.named(name).is_none() =>
            {
                let taint = taint_of(&self.state.positional).and(self.state.matched).and(Taint::CONTENT);
                Some(vec![Word::unknown(UnknownReason::Variable, taint)])
            }
            Parameter::Named(name) => {
                let (list, ways) = self.list_of(name)?;
                let exact = list.first().cloned().unwrap_or_default();
                Some(if list.len() > 1 {
                    self.one_of(meanings(&list, exact, true), ways)
                } else {
                    vec![exact]
                })
            }
            Parameter::NamedWithIndex { name, index } => {
                let index = self.subscript(name, index);
                let (list, ways) = self.list_of(name)?;
                let at = index.text().and_then(|text| text.trim().parse::<i64>().ok());
                match at {
                    Some(at) => {
                        let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                        let at = if at < 0 { at + length } else { at };
                        let exact = usize::try_from(at).ok().and_then(|at| list.get(at).cloned());
                        Some(self.one_of(meanings(&list, exact.unwrap_or_default(), false), ways))
                    }
                    None => Some(vec![Word::unknown(UnknownReason::Variable, Taint::NONE)]),
                }
            }
            Parameter::NamedWithAllIndices { name, .. } => {
                let variable = self.named(name)?;
                Some(variable.choices.into_iter().next().unwrap_or_default())
            }
        };
        if !indirect {
            return values;
        }
        let target = values?.into_iter().next().unwrap_or_default();
        self.check_name(&target);
        let name = target.text().map(std::borrow::Cow::into_owned);
        match name {
            Some(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                let index = name.parse::<usize>().unwrap_or(0).checked_sub(1)?;
                self.state.positional.get(index).map(|word| vec![word.clone()])
            }
            Some(name) if name.contains('[') => {
                Some(vec![Word::unknown(UnknownReason::Variable, Taint::CONTENT)])
            }
            Some(name) => {
                self.named(&name).and_then(|variable| variable.first().cloned()).map(|word| vec![word])
            }
            None => Some(vec![Word::unknown(UnknownReason::Variable, Taint::NONE)]),
        }
    }

    fn special(&mut self, special: &SpecialParameter) -> Vec<Word> {
        match special {
            SpecialParameter::AllPositionalParameters { .. } => {
                let mut words = self.state.positional.clone();
                if self.state.open_arguments && words.is_empty() {
                    words.push(Word {
                        pieces: vec![Piece::Unknown {
                            why: UnknownReason::Argument,
                            taint: Taint::NONE,
                            splits: true,
                        }],
                    });
                }
                words
            }
            SpecialParameter::PositionalParameterCount => {
                vec![Word::known(self.state.positional.len().to_string())]
            }
            SpecialParameter::ShellName => {
                vec![self.state.script_name.clone().unwrap_or_else(|| Word::known("bash"))]
            }
            SpecialParameter::CurrentOptionFlags => {
                vec![Word::unknown(UnknownReason::Variable, Taint::NONE)]
            }
            SpecialParameter::LastExitStatus
            | SpecialParameter::ProcessId
            | SpecialParameter::LastBackgroundProcessId => {
                vec![Word::unknown(UnknownReason::Variable, Taint::NUMBER)]
            }
        }
    }

    /// The values of an expansion.
    pub(super) fn parameter(&mut self, expression: &ParameterExpr, quoted: bool) -> Vec<Word> {
        use ParameterExpr as Form;
        match expression {
            Form::Parameter { parameter, indirect } => self.plain_value(parameter, *indirect, quoted),
            Form::UseDefaultValues { .. }
            | Form::AssignDefaultValues { .. }
            | Form::IndicateErrorIfNullOrUnset { .. }
            | Form::UseAlternativeValue { .. } => self.conditional_value(expression, quoted),
            Form::RemoveSmallestSuffixPattern { .. }
            | Form::RemoveLargestSuffixPattern { .. }
            | Form::RemoveSmallestPrefixPattern { .. }
            | Form::RemoveLargestPrefixPattern { .. }
            | Form::UppercaseFirstChar { .. }
            | Form::LowercaseFirstChar { .. }
            | Form::UppercasePattern { .. }
            | Form::LowercasePattern { .. } => self.edited_value(expression),
            Form::ParameterLength { parameter, indirect } => {
                let values = self.values(parameter, *indirect);
                let length = match parameter {
                    Parameter::NamedWithAllIndices { .. } => values.map(|values| values.len()),
                    _ => values.and_then(|values| {
                        values.first().and_then(|word| word.text().map(|text| text.chars().count()))
                    }),
                };
                vec![length.map_or_else(
                    || Word::unknown(UnknownReason::Variable, Taint::NUMBER),
                    |length| Word::known(length.to_string()),
                )]
            }
            Form::Substring { parameter, indirect, offset, length } => {
                let offset = self.arithmetic(&offset.value);
                let length = length.as_ref().map(|length| self.arithmetic(&length.value));
                let number = |word: &Word| word.text().and_then(|text| text::number(&text));
                let bounds = (number(&offset), length.as_ref().map(number));
                let values = self.values_or_absent(parameter, *indirect, quoted);
                match bounds {
                    // A slice of a list: which words it has makes no difference to what may be done with them.
                    _ if is_list(parameter) => values,
                    (Some(offset), None) => each(values, |text| Some(text::substring(text, offset, None))),
                    (Some(offset), Some(Some(length))) => {
                        each(values, |text| Some(text::substring(text, offset, Some(length))))
                    }
                    _ => vec![Word::unknown(UnknownReason::Arithmetic, taint_of(&values))],
                }
            }
            Form::Transform { parameter, indirect, op } => {
                let values = self.values_or_absent(parameter, *indirect, quoted);
                self.transformed(values, op)
            }
            Form::ReplaceSubstring { parameter, indirect, pattern, replacement, match_kind } => {
                let pattern = self.single(pattern);
                let with = replacement.as_deref().map(|text| self.single(text)).unwrap_or_default();
                let values = self.values_or_absent(parameter, *indirect, quoted);
                match (pattern.text(), with.text()) {
                    _ if !self.charge_square(&values) => {
                        vec![Word::unknown(UnknownReason::Unreadable, taint_of(&values))]
                    }
                    // Bash 5.2 puts the match in the place of `&`.
                    (_, Some(text)) if text.contains('&') => {
                        let taint = taint_of(&values).and(Taint::CONTENT);
                        vec![Word::unknown(UnknownReason::Variable, taint)]
                    }
                    (Some(pattern), Some(text)) => {
                        each(values, |value| substituted(value, &pattern, &text, match_kind))
                    }
                    _ => vec![Word::unknown(UnknownReason::Variable, taint_of(&values).and(with.taint()))],
                }
            }
            Form::MemberKeys { variable_name, .. } => {
                let list = self.state.variables.get(variable_name);
                let taint = Taint::NONE.numeric(list.is_some_and(|list| !list.associative));
                vec![Word::unknown(UnknownReason::Variable, taint)]
            }
            Form::VariableNames { .. } => vec![Word::unknown(UnknownReason::Variable, Taint::NONE)],
        }
    }

    /// `$x`, `${x[1]}`, `"$*"`.
    fn plain_value(&mut self, parameter: &Parameter, indirect: bool, quoted: bool) -> Vec<Word> {
        let concatenates = matches!(
            parameter,
            Parameter::Special(SpecialParameter::AllPositionalParameters { concatenate: true })
                | Parameter::NamedWithAllIndices { concatenate: true, .. }
        );
        match self.values(parameter, indirect) {
            Some(values) if quoted && concatenates => vec![self.joined(&values)],
            Some(values) => values,
            None if matches!(parameter, Parameter::Positional(_)) => Vec::new(),
            None => self.absent_value(parameter, indirect, quoted),
        }
    }

    fn values_or_absent(&mut self, parameter: &Parameter, indirect: bool, quoted: bool) -> Vec<Word> {
        match self.values(parameter, indirect) {
            Some(values) => values,
            None => self.absent_value(parameter, indirect, quoted),
        }
    }

    /// The value of a variable that the line does not set: the environment may have it, and it may be a key.
    fn absent_value(&self, parameter: &Parameter, indirect: bool, quoted: bool) -> Vec<Word> {
        let name = match parameter {
            Parameter::Named(name)
            | Parameter::NamedWithIndex { name, .. }
            | Parameter::NamedWithAllIndices { name, .. } => Some(name.clone()),
            _ => None,
        };
        let named = |name: String| {
            if !indirect {
                return Some(name);
            }
            let value = self.state.variables.get(&name)?.first()?.text()?.into_owned();
            Some(value)
        };
        let secret = name.and_then(named).is_some_and(|name| is_secret_variable(&self.referred(name)));
        let taint = if secret { Taint::SECRET } else { Taint::NONE };
        vec![Word { pieces: vec![Piece::Unknown { why: UnknownReason::Variable, taint, splits: !quoted }] }]
    }

    /// The name behind `declare -n`.
    fn referred(&self, mut name: String) -> String {
        for _ in 0..8 {
            let variable = self.state.variables.get(&name).filter(|variable| variable.reference);
            match variable.and_then(|variable| variable.first()?.text()) {
                Some(next) => name = next.into_owned(),
                None => break,
            }
        }
        name
    }

    /// `${x:-a}`, `${x:=a}`, `${x:?a}`, `${x:+a}`.
    fn conditional_value(&mut self, expression: &ParameterExpr, quoted: bool) -> Vec<Word> {
        use ParameterExpr as Form;
        match expression {
            Form::UseDefaultValues { parameter, indirect, default_value, test_type } => {
                let default = default_value.as_deref().map(|text| self.single(text)).unwrap_or_default();
                match self.values(parameter, *indirect) {
                    Some(values) if !is_missing(&values, test_type) => values,
                    Some(_) => vec![default],
                    // The environment may have it, or not: the line shows only the default.
                    None => {
                        let value = self.absent_value(parameter, *indirect, quoted);
                        self.either(value, vec![default])
                    }
                }
            }
            Form::AssignDefaultValues { parameter, indirect, default_value, test_type } => {
                let default = default_value.as_deref().map(|text| self.single(text)).unwrap_or_default();
                if let Parameter::Named(name) = parameter
                    && self.named(name).is_some_and(|variable| variable.integer)
                {
                    self.evaluate(&default);
                }
                match self.values(parameter, *indirect) {
                    Some(values) if !is_missing(&values, test_type) => values,
                    Some(_) => {
                        if let Parameter::Named(name) = parameter {
                            self.assign(name, vec![default.clone()], false);
                        }
                        vec![default]
                    }
                    None => {
                        let value = self.absent_value(parameter, *indirect, quoted);
                        if let Parameter::Named(name) = parameter {
                            // The environment may have it already: it keeps both values for the rounds and commands that follow.
                            self.assign(name, vec![default.clone()], false);
                            self.perhaps += 1;
                            self.assign(name, value.clone(), false);
                            self.perhaps -= 1;
                            return self.values(parameter, false).unwrap_or(value);
                        }
                        self.either(value, vec![default])
                    }
                }
            }
            Form::IndicateErrorIfNullOrUnset { parameter, indirect, error_message, .. } => {
                let message = error_message.as_deref().map(|text| self.single(text)).unwrap_or_default();
                if message.taint().has(Taint::SECRET) {
                    self.doubt("a message that shows a variable");
                }
                self.values_or_absent(parameter, *indirect, quoted)
            }
            Form::UseAlternativeValue { parameter, indirect, alternative_value, test_type } => {
                let other = alternative_value.as_deref().map(|text| self.single(text)).unwrap_or_default();
                match self.values(parameter, *indirect) {
                    Some(values) if is_missing(&values, test_type) => Vec::new(),
                    _ => vec![other],
                }
            }
            _ => vec![Word::unknown(UnknownReason::Variable, Taint::NONE)],
        }
    }

    /// `${x%a}`, `${x##a}`, `${x^^}` and the like.
    fn edited_value(&mut self, expression: &ParameterExpr) -> Vec<Word> {
        use ParameterExpr as Form;
        type Edit = fn(&str, &str) -> String;
        let (parameter, indirect, pattern, edit): (_, _, _, Edit) = match expression {
            Form::RemoveSmallestSuffixPattern { parameter, indirect, pattern } => {
                (parameter, indirect, pattern, |text, pattern| pattern::without_end(text, pattern, false))
            }
            Form::RemoveLargestSuffixPattern { parameter, indirect, pattern } => {
                (parameter, indirect, pattern, |text, pattern| pattern::without_end(text, pattern, true))
            }
            Form::RemoveSmallestPrefixPattern { parameter, indirect, pattern } => {
                (parameter, indirect, pattern, |text, pattern| {
                    pattern::without_beginning(text, pattern, false)
                })
            }
            Form::RemoveLargestPrefixPattern { parameter, indirect, pattern } => {
                (parameter, indirect, pattern, |text, pattern| {
                    pattern::without_beginning(text, pattern, true)
                })
            }
            Form::UppercaseFirstChar { parameter, indirect, pattern } => {
                (parameter, indirect, pattern, |text, _| text::first(text, true))
            }
            Form::LowercaseFirstChar { parameter, indirect, pattern } => {
                (parameter, indirect, pattern, |text, _| text::first(text, false))
            }
            Form::UppercasePattern { parameter, indirect, pattern } => {
                (parameter, indirect, pattern, |text, _| text.to_uppercase())
            }
            Form::LowercasePattern { parameter, indirect, pattern } => {
                (parameter, indirect, pattern, |text, _| text.to_lowercase())
            }
            _ => return vec![Word::unknown(UnknownReason::Variable, Taint::NONE)],
        };
        self.changed(parameter, *indirect, pattern.as_deref(), edit)
    }

    /// `${x@U}` and the like.
    fn transformed(&mut self, values: Vec<Word>, op: &ParameterTransformOp) -> Vec<Word> {
        match op {
            ParameterTransformOp::ToLowerCase => each(values, |text| Some(text.to_lowercase())),
            ParameterTransformOp::ToUpperCase => each(values, |text| Some(text.to_uppercase())),
            ParameterTransformOp::CapitalizeInitial => each(values, |text| Some(text::first(text, true))),
            ParameterTransformOp::ExpandEscapeSequences => each(values, |text| Some(text::ansi_c(text))),
            // A prompt can hold a substitution, which this form runs.
            ParameterTransformOp::PromptExpand => {
                values.iter().for_each(|value| self.prompt(value));
                let is_octal = |part: &str| part.starts_with(|char: char| char.is_ascii_digit());
                let changes = |text: &str| text.contains('$') || text.split('\\').skip(1).any(is_octal);
                if values.iter().any(|value| changes(&value.shown())) {
                    self.doubt("a text that is expanded again");
                }
                vec![Word::unknown(UnknownReason::Variable, taint_of(&values))]
            }
            _ => vec![Word::unknown(UnknownReason::Variable, taint_of(&values))],
        }
    }

    /// Changes each value by a pattern.
    fn changed(
        &mut self,
        parameter: &Parameter,
        indirect: bool,
        pattern: Option<&str>,
        change: impl Fn(&str, &str) -> String,
    ) -> Vec<Word> {
        let pattern = pattern.map(|text| self.single(text)).unwrap_or_default();
        let values = self.values_or_absent(parameter, indirect, true);
        match pattern.text() {
            Some(pattern) if self.charge_square(&values) => {
                each(values, |text| (text.len() <= MAX_PATTERN_EDIT_BYTES).then(|| change(text, &pattern)))
            }
            _ => vec![Word::unknown(UnknownReason::Variable, taint_of(&values))],
        }
    }

    /// Counts work that grows by the square of a text.
    fn charge_square(&mut self, values: &[Word]) -> bool {
        let size = |word: &Word| word.size().min(MAX_PATTERN_EDIT_BYTES);
        self.charge(values.iter().map(|word| size(word) * size(word) / 16).sum())
    }

    /// All values as one word, with the first separator between them.
    fn joined(&self, values: &[Word]) -> Word {
        let blank = self.separators().chars().next().map(String::from).unwrap_or_default();
        let mut joined = Word::default();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                joined.push(&blank, true);
            }
            joined.pieces.extend(value.pieces.iter().cloned());
        }
        merged(joined)
    }

    /// The values of a variable in this round, and how many choices of them there are.
    fn list_of(&mut self, name: &str) -> Option<(Vec<Word>, usize)> {
        let outer = std::mem::replace(&mut self.widest, 1);
        let variable = self.named(name);
        let ways = self.widest;
        self.widest = outer.max(ways);
        Some((variable?.choices.into_iter().next().unwrap_or_default(), ways))
    }

    /// A variable, through references, as this round of choices has it.
    pub(super) fn named(&mut self, name: &str) -> Option<Variable> {
        let mut name = name.to_string();
        for _ in 0..8 {
            let variable = self.state.variables.get(&name).cloned().or_else(|| self.ambient(&name))?;
            if !variable.reference {
                let (at, ways) = self.digit(&name, variable.choices.len());
                self.widest = self.widest.max(ways);
                let values = variable.choices.get(at).cloned().unwrap_or_default();
                return Some(Variable { choices: vec![values], ..variable });
            }
            name = variable.first()?.text()?.into_owned();
        }
        self.doubt("names that refer to names");
        None
    }

    /// The first value or the second, by the round of choices.
    fn either(&mut self, first: Vec<Word>, second: Vec<Word>) -> Vec<Word> {
        self.widest = self.widest.max(2);
        if self.choice.is_multiple_of(2) { second } else { first }
    }

    /// Variables that are what they are on any machine, near enough.
    fn ambient(&self, name: &str) -> Option<Variable> {
        let text = match name {
            "HOME" => self.home.to_string(),
            "PWD" => self.directory().text()?.into_owned(),
            "PATH" => "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into(),
            "SHELL" | "BASH" => "/bin/bash".into(),
            "TMPDIR" => "/tmp".into(),
            "OSTYPE" => "linux-gnu".into(),
            "PS4" => "+ ".into(),
            "IFS" => " \t\n".into(),
            _ => return None,
        };
        Some(Variable::one(Word::known(text)))
    }
}

/// Names that stand for several words.
fn is_list(parameter: &Parameter) -> bool {
    matches!(
        parameter,
        Parameter::Special(SpecialParameter::AllPositionalParameters { .. })
            | Parameter::NamedWithAllIndices { .. }
    )
}

/// Variables that the shell itself fills with words of the line.
fn is_set_by_shell(name: &str) -> bool {
    matches!(
        name,
        "BASH_REMATCH"
            | "OPTARG"
            | "FUNCNAME"
            | "BASH_ARGV"
            | "BASH_ARGV0"
            | "BASH_COMMAND"
            | "BASH_EXECUTION_STRING"
            | "DIRSTACK"
            | "READLINE_LINE"
            | "COMP_LINE"
            | "COMP_WORDS"
    )
}

fn taint_of(values: &[Word]) -> Taint {
    values.iter().fold(Taint::NONE, |sum, value| sum.and(value.taint()))
}

/// `${x/a/b}` of a text; `None` when it takes too long to find out.
fn substituted(text: &str, pattern: &str, with: &str, kind: &SubstringMatchKind) -> Option<String> {
    match kind {
        SubstringMatchKind::Anywhere => pattern::replaced(text, pattern, with, true),
        SubstringMatchKind::FirstOccurrence => pattern::replaced(text, pattern, with, false),
        SubstringMatchKind::Prefix | SubstringMatchKind::Suffix if text.len() > MAX_PATTERN_EDIT_BYTES => {
            None
        }
        SubstringMatchKind::Prefix => {
            let rest = pattern::without_beginning(text, pattern, true);
            Some(if rest == text { rest } else { format!("{with}{rest}") })
        }
        SubstringMatchKind::Suffix => {
            let rest = pattern::without_end(text, pattern, true);
            Some(if rest == text { rest } else { format!("{rest}{with}") })
        }
    }
}

/// Changes each value that is certain.
fn each(values: Vec<Word>, change: impl Fn(&str) -> Option<String>) -> Vec<Word> {
    let changed = |word: Word| match word.text() {
        Some(text) => match change(&text).filter(|text| text.len() <= MAX_TEXT_BYTES) {
            Some(text) => Word::known(text),
            None => Word::unknown(UnknownReason::Unreadable, word.taint()),
        },
        None => Word::unknown(word.why().unwrap_or(UnknownReason::Variable), word.taint()),
    };
    values.into_iter().map(changed).collect()
}

/// Is a value that is set missing for this test?
fn is_missing(values: &[Word], test: &ParameterTestType) -> bool {
    let empty = values.iter().all(|word| word.text().is_some_and(|text| text.is_empty()));
    matches!(test, ParameterTestType::UnsetOrNull) && empty
}
