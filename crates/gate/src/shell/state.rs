//! The state of the parser while it walks a line.

use super::choices::MAX_CHOICES;
use super::cross_check::CrossCheckQueue;
use super::doubt::Doubt;
use super::limits::{MAX_COMMANDS_PER_LINE, MAX_SCRIPT_DEPTH};
use super::value::{Stream, Taint, Word};
use brush_parser::ast::{ArithmeticExpr, ArithmeticTarget, BinaryOperator, FunctionBody, UnaryOperator};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Exported variables that are followed.
const MAX_EXPORTED_VARIABLES: usize = 128;

/// A variable: what it may hold. More than one choice where a branch may or may not have been taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Variable {
    /// Each choice is a list: one value, or an array's.
    pub(super) choices: Vec<Vec<Word>>,
    /// `declare -n`: its value is the name of another.
    pub(super) reference: bool,
    /// `declare -i`: what it is set to is evaluated.
    pub(super) integer: bool,
    /// `declare -A`: its subscripts are text.
    pub(super) associative: bool,
    /// `readonly`: a later assignment may fail.
    pub(super) readonly: bool,
}

/// The variables that a function hides: their values outside it, and the nesting of branches that hid them.
pub(super) type Locals = BTreeMap<String, (Option<Variable>, usize)>;

impl Variable {
    pub(super) fn one(word: Word) -> Self {
        Variable { choices: vec![vec![word]], ..Variable::default() }
    }

    /// The first value of the first choice.
    pub(super) fn first(&self) -> Option<&Word> {
        self.choices.first().and_then(|values| values.first())
    }
}

/// The state that a subshell gets a copy of.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellState {
    pub(super) variables: Rc<BTreeMap<String, Variable>>,
    pub(super) functions: Rc<BTreeMap<String, Rc<FunctionBody>>>,
    pub(super) aliases: Rc<BTreeMap<String, String>>,
    /// `$1`, `$2` …
    pub(super) positional: Vec<Word>,
    /// Whether there may be arguments that are not known.
    pub(super) open_arguments: bool,
    /// Working directories; several where a `cd` may have failed.
    pub(super) directories: Vec<Word>,
    /// Whether a failing command ends the line (`set -e`).
    pub(super) strict: bool,
    /// Whether commands are printed before they run (`set -x`).
    pub(super) is_traced: bool,
    /// Whether patterns find hidden files or other spellings (`shopt -s dotglob nocaseglob`).
    pub(super) finds_more: bool,
    /// `$0`, if it is not the shell's own name.
    pub(super) script_name: Option<Word>,
    /// `$_`: the last word of the command before.
    pub(super) last_word: Word,
    /// What `[[ … =~ … ]]` was given, which `BASH_REMATCH` has parts of.
    pub(super) matched: Taint,
    /// Variables that the programs of the line inherit (`export`).
    pub(super) exported: Rc<BTreeSet<String>>,
    /// Whether every variable that is set is exported (`set -a`).
    pub(super) exports_all: bool,
    /// Variables that stand before the command that is being walked.
    pub(super) prefixed: Rc<Vec<(String, Word)>>,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// Its kind.
    pub kind: RedirectKind,
    /// The file.
    pub target: Word,
}

/// The use of a file by a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// Reads it.
    Read,
    /// Empties and writes it.
    Write,
    /// Writes to its end.
    Append,
}

/// One simple command, with everything around it that changes its meaning.
#[derive(Debug, Clone)]
pub struct Segment {
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Variables set for it alone.
    pub environment: Vec<(String, Word)>,
    /// Variables that it inherits from the rest of the line.
    pub inherited: Vec<(String, Word)>,
    /// Its redirections.
    pub redirects: Vec<Redirect>,
    /// Its standard input, if that is from this line.
    pub input: Option<Stream>,
    /// Directories in which it may run.
    pub directories: Vec<Word>,
    /// Programs that start it, outermost first (`sudo`, `xargs`, `ssh` …).
    pub through: Vec<String>,
    /// Whether it runs on another machine or in a container.
    pub elsewhere: bool,
    /// Whether its output is read by something else on this line.
    pub piped: bool,
    /// Its nesting in scripts and substitutions.
    pub depth: usize,
}

/// A walk over a line, with everything that is known at this point of it.
pub(super) struct Shell<'a> {
    pub(super) home: &'a str,
    pub(super) taints: &'a super::value::Taints<'a>,
    pub(super) state: ShellState,
    /// Files that the line itself wrote.
    pub(super) files: BTreeMap<String, Stream>,
    pub(super) segments: Vec<Segment>,
    pub(super) doubts: Vec<Doubt>,
    /// Texts that the second parser has not read yet.
    pub(super) unread: CrossCheckQueue,
    /// The choice among several values in this round.
    pub(super) choice: usize,
    /// Variables with several values in this command, and how many each has.
    pub(super) digits: Vec<(String, usize)>,
    /// The most values that a variable had in this round.
    pub(super) widest: usize,
    pub(super) steps: usize,
    /// Bytes that were parsed, made and noted.
    pub(super) work: usize,
    pub(super) depth: usize,
    /// Functions that are running.
    pub(super) calls: Vec<String>,
    /// Whether a function called itself: a bomb, or a loop without end.
    pub(super) recursion: bool,
    pub(super) through: Vec<String>,
    pub(super) elsewhere: bool,
    pub(super) piped: bool,
    /// Inside a branch that may not be taken.
    pub(super) perhaps: usize,
    /// Inside a condition, where `set -e` does not end the line.
    pub(super) conditions: usize,
    /// Loops around the command, in this function.
    pub(super) loops: usize,
    /// The variables that each running function hides.
    pub(super) locals: Vec<Locals>,
    /// Actions of traps, which run when the shell ends.
    pub(super) traps: Vec<String>,
    /// Functions that cannot be replaced (`readonly -f`).
    pub(super) readonly_functions: std::collections::BTreeSet<String>,
    /// Functions that shells started by this one inherit (`export -f`).
    pub(super) exported_functions: std::collections::BTreeSet<String>,
    /// How many programs were around the shell that defined a function last.
    pub(super) function_depths: BTreeMap<String, usize>,
    /// Texts that substitutions decoded.
    pub(super) decoded: Vec<String>,
    /// The variable that is being set, which an expression may count up.
    pub(super) counter: Option<String>,
    /// Variables that the line set to a plain word.
    pub(super) plain: std::collections::BTreeSet<String>,
    /// Whether pieces of a text that cannot be read are being walked.
    pub(super) salvaging: bool,
    /// Whether anything on the line could read what a command prints.
    pub(super) keeps_output: bool,
}

impl<'a> Shell<'a> {
    pub(super) fn new(home: &'a str, directory: &str, taints: &'a super::value::Taints<'a>) -> Self {
        Shell {
            home,
            taints,
            state: ShellState { directories: vec![Word::known(directory)], ..ShellState::default() },
            files: BTreeMap::new(),
            segments: Vec::new(),
            doubts: Vec::new(),
            unread: CrossCheckQueue::default(),
            choice: 0,
            digits: Vec::new(),
            widest: 1,
            steps: 0,
            work: 0,
            depth: 0,
            calls: Vec::new(),
            recursion: false,
            through: Vec::new(),
            elsewhere: false,
            piped: false,
            perhaps: 0,
            conditions: 0,
            loops: 0,
            locals: Vec::new(),
            traps: Vec::new(),
            readonly_functions: std::collections::BTreeSet::new(),
            exported_functions: std::collections::BTreeSet::new(),
            function_depths: BTreeMap::new(),
            decoded: Vec::new(),
            counter: None,
            plain: std::collections::BTreeSet::new(),
            salvaging: false,
            keeps_output: true,
        }
    }

    /// Notes something that keeps the line from being certain.
    pub(super) fn doubt(&mut self, what: impl Into<Doubt>) {
        let what = what.into();
        if self.doubts.len() < 16 && !self.doubts.contains(&what) {
            self.doubts.push(what);
        }
    }

    /// Has the second parser read everything that waits for it.
    pub(super) fn ask_second(&mut self) {
        self.unread.read(&mut self.doubts);
    }

    /// Counts a step; false when the line is too long to be walked.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps > MAX_COMMANDS_PER_LINE {
            self.doubt("more commands than can be followed");
            return false;
        }
        true
    }

    /// Runs something one level deeper; `None` when that is too deep.
    pub(super) fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= MAX_SCRIPT_DEPTH {
            self.doubt("commands nested deeper than can be followed");
            return None;
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        Some(result)
    }

    /// The directory that commands most likely run in.
    pub(super) fn directory(&self) -> Word {
        let at = self.choice.checked_rem(self.state.directories.len()).unwrap_or(0);
        self.state.directories.get(at).cloned().unwrap_or_default()
    }

    /// Sets a variable, or adds a value where this may not happen.
    pub(super) fn assign(&mut self, name: &str, values: Vec<Word>, append: bool) {
        self.apply_options(&values);
        let old = self.state.variables.get(name).cloned();
        let readonly = old.as_ref().is_some_and(|variable| variable.readonly);
        let perhaps = self.perhaps > 0 || readonly;
        let reference = old.as_ref().is_some_and(|variable| variable.reference);
        if reference && let Some(target) = old.as_ref().and_then(|variable| variable.first()?.text()) {
            let target = target.into_owned();
            if target != name {
                return self.assign(&target, values, append);
            }
        }
        if reference {
            // A nameref without a target: the value is the name that it stands for.
            values.iter().for_each(|value| self.check_name(value));
        }
        self.notable(name, &values);
        let integer = old.as_ref().is_some_and(|variable| variable.integer);
        let associative = old.as_ref().is_some_and(|variable| variable.associative);
        if self.state.exports_all {
            self.export(name);
        }
        for value in &values {
            self.check_value(value);
            if integer || super::evaluated::is_integer_variable(name) {
                self.evaluate(value);
            }
        }
        let values = match (&old, append) {
            (Some(variable), true) => appended(variable, values),
            _ => values,
        };
        let size: usize = values.iter().map(Word::size).sum();
        let fits = size <= super::limits::MAX_TEXT_BYTES && self.charge(size);
        let values = if fits {
            values
        } else {
            vec![Word::unknown(super::value::UnknownReason::Unreadable, Taint::NONE)]
        };
        let mut choices = vec![values];
        if perhaps {
            match old {
                Some(variable) => choices.extend(variable.choices),
                None => choices.push(vec![super::choices::absent(name)]),
            }
            let mut known: Vec<Vec<Word>> = Vec::new();
            for choice in choices {
                if !super::choices::covers(&known, &choice) {
                    known.push(choice);
                }
            }
            choices = known;
            if choices.len() > MAX_CHOICES && self.loops > 0 {
                // A text that grows with every round of a loop.
                choices = vec![vec![super::choices::unknown_content(&choices)]];
            } else if choices.len() > MAX_CHOICES {
                self.doubt("a variable with more values than can be followed");
                choices.truncate(MAX_CHOICES);
            }
        }
        Rc::make_mut(&mut self.state.variables)
            .insert(name.to_string(), Variable { choices, reference, integer, associative, readonly });
    }

    /// Shows an assignment to those that follow it before the same command: `x=1 y=$x command`.
    pub(super) fn show_to_next(&mut self, name: &str, values: Vec<Word>, append: bool) {
        let mut variable = self.state.variables.get(name).cloned().unwrap_or_default();
        let values = if append { appended(&variable, values) } else { values };
        variable.choices = vec![values];
        Rc::make_mut(&mut self.state.variables).insert(name.to_string(), variable);
    }

    /// Gives a variable the value back that it had.
    pub(super) fn restore(&mut self, name: &str, before: &BTreeMap<String, Variable>) {
        let variables = Rc::make_mut(&mut self.state.variables);
        match before.get(name) {
            Some(variable) => variables.insert(name.to_string(), variable.clone()),
            None => variables.remove(name),
        };
    }

    /// Has later programs inherit a variable.
    pub(super) fn export(&mut self, name: &str) {
        if self.state.exported.len() >= MAX_EXPORTED_VARIABLES {
            self.doubt("more exported variables than can be followed");
        } else if !self.state.exported.contains(name) {
            Rc::make_mut(&mut self.state.exported).insert(name.to_string());
        }
    }

    /// The variables that a program of the line inherits, with every value that they may have.
    pub(super) fn inherited(&self) -> Vec<(String, Word)> {
        let values = |name: &String| {
            let choices =
                self.state.variables.get(name).map_or(&[][..], |variable| variable.choices.as_slice());
            let firsts = choices.iter().filter_map(|choice| choice.first().cloned());
            firsts.map(|value| (name.clone(), value)).collect::<Vec<_>>()
        };
        let exported = self.state.exported.iter().flat_map(values);
        exported.chain(self.state.prefixed.iter().cloned()).collect()
    }

    /// Sets a variable to each of some values in turn (`for`).
    pub(super) fn assign_choices(&mut self, name: &str, values: Vec<Word>) {
        let mut choices: Vec<Vec<Word>> = values.into_iter().map(|word| vec![word]).collect();
        if choices.len() > MAX_CHOICES {
            self.doubt("a loop over more values than can be followed");
            choices.truncate(MAX_CHOICES);
        }
        let old = self.state.variables.get(name).cloned().unwrap_or_default();
        // Without a word that is there for certain the loop may not run, and the variable stays what it is.
        if old.readonly
            || !choices.iter().flatten().any(|word| word.text().is_some_and(|text| !text.is_empty()))
        {
            choices.extend(old.choices.iter().cloned());
        }
        if choices.is_empty() {
            choices.push(vec![Word::default()]);
        }
        if old.reference {
            self.doubt("a loop over names of variables");
        }
        choices.iter().for_each(|values| self.notable(name, values));
        let integer = old.integer;
        for value in choices.iter().flatten() {
            self.check_value(value);
            if integer || super::evaluated::is_integer_variable(name) {
                self.evaluate(value);
            }
        }
        Rc::make_mut(&mut self.state.variables).insert(
            name.to_string(),
            Variable { choices, integer, readonly: old.readonly, ..Variable::default() },
        );
    }

    /// The value of arithmetic over known numbers.
    pub(super) fn compute(&mut self, tree: &ArithmeticExpr, depth: usize) -> Option<i64> {
        if depth > 32 {
            return None;
        }
        match tree {
            ArithmeticExpr::Literal(number) => Some(*number),
            ArithmeticExpr::Reference(ArithmeticTarget::Variable(name)) => {
                let variable = self.named(name)?;
                super::text::number(&variable.first()?.text()?)
            }
            ArithmeticExpr::UnaryOp(operator, operand) => {
                let number = self.compute(operand, depth + 1)?;
                Some(match operator {
                    UnaryOperator::UnaryPlus => number,
                    UnaryOperator::UnaryMinus => number.checked_neg()?,
                    UnaryOperator::BitwiseNot => !number,
                    UnaryOperator::LogicalNot => i64::from(number == 0),
                })
            }
            ArithmeticExpr::BinaryOp(operator, left, right) => {
                let (left, right) = (self.compute(left, depth + 1)?, self.compute(right, depth + 1)?);
                match operator {
                    BinaryOperator::Add => left.checked_add(right),
                    BinaryOperator::Subtract => left.checked_sub(right),
                    BinaryOperator::Multiply => left.checked_mul(right),
                    BinaryOperator::Divide => left.checked_div(right),
                    BinaryOperator::Modulo => left.checked_rem(right),
                    BinaryOperator::BitwiseXor => Some(left ^ right),
                    BinaryOperator::BitwiseAnd => Some(left & right),
                    BinaryOperator::BitwiseOr => Some(left | right),
                    BinaryOperator::ShiftLeft => left.checked_shl(u32::try_from(right).ok()?),
                    BinaryOperator::ShiftRight => left.checked_shr(u32::try_from(right).ok()?),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// `x+=…`: text is joined, lists grow.
fn appended(variable: &Variable, mut values: Vec<Word>) -> Vec<Word> {
    let mut old = variable.choices.first().cloned().unwrap_or_default();
    match (old.as_mut_slice(), values.as_mut_slice()) {
        ([only], [more]) => {
            only.pieces.append(&mut more.pieces);
            old
        }
        _ => {
            old.append(&mut values);
            old
        }
    }
}
