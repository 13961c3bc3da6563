//! Joins what is known where a line may take several paths.
//!
//! Variables keep a choice for each path. Functions and arguments have one meaning only, so a path that changes them is
//! doubted. A loop is walked until a round changes nothing; numbers that grow with every round become an unknown number.

use super::choices::{absent, add_choices, covers, unknown_content};
use super::run::InheritedIo;
use super::state::{Shell, ShellState, Variable};
use super::value::{Stream, Taint, UnknownReason, Word};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Rounds in which a loop must come to rest.
const MAX_LOOP_ROUNDS: usize = 8;
/// Rounds after which a value that still changes is taken for unknown.
const EXACT_LOOP_ROUNDS: usize = 4;

impl Shell<'_> {
    /// Runs something that may not happen: what it changes is added to what was.
    pub(super) fn maybe<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.state.clone();
        self.perhaps += 1;
        let result = run(self);
        self.perhaps = self.perhaps.saturating_sub(1);
        self.join(&before);
        result
    }

    /// Adds the state of a path that skips what was walked.
    pub(super) fn join(&mut self, before: &ShellState) {
        if !Rc::ptr_eq(&self.state.variables, &before.variables)
            && !add_variables(Rc::make_mut(&mut self.state.variables), &before.variables)
        {
            self.doubt("a variable with more values than can be followed");
        }
        let same = Rc::ptr_eq(&self.state.functions, &before.functions)
            || self.state.functions.len() == before.functions.len()
                && self
                    .state
                    .functions
                    .iter()
                    .zip(before.functions.iter())
                    .all(|(one, other)| one.0 == other.0 && Rc::ptr_eq(one.1, other.1));
        if !same {
            self.doubt("a function that may be defined or not");
        }
        if self.state.positional != before.positional {
            self.doubt("arguments that may be set or not");
        }
        if self.state.last_word != before.last_word {
            let taint = self.state.last_word.taint().and(before.last_word.taint()).and(Taint::CONTENT);
            self.state.last_word = Word::unknown(UnknownReason::Variable, taint);
        }
        self.state.strict &= before.strict;
    }

    /// Runs something whose changes to variables and directories are lost.
    pub(super) fn apart<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let state = self.state.clone();
        let locals = self.locals.clone();
        let (perhaps, loops) = (self.perhaps, std::mem::take(&mut self.loops));
        let traps = self.traps.len();
        let result = run(self);
        self.run_traps(traps);
        self.state = state;
        self.locals = locals;
        (self.perhaps, self.loops) = (perhaps, loops);
        result
    }

    /// Judges the actions of traps with the state in which the shell ends.
    pub(super) fn run_traps(&mut self, from: usize) {
        if self.traps.len() > from {
            for action in self.traps.split_off(from) {
                self.script(&action, &InheritedIo::default());
            }
        }
    }

    /// Walks the rounds of a loop until nothing changes any more.
    pub(super) fn repeated(&mut self, mut round: impl FnMut(&mut Self) -> Stream) -> Stream {
        self.loops += 1;
        let directories = self.state.directories.clone();
        let mut taint = Taint::NONE;
        let mut at_rest = false;
        for number in 0..MAX_LOOP_ROUNDS {
            let segments = self.segments.len();
            let before = self.state.variables.clone();
            let words = self.state.last_word.clone();
            let output = self.maybe(&mut round);
            taint = taint.and(output.taint);
            if number > 0 && self.segments.len() - segments > 64 {
                self.doubt("a loop that does very much");
            }
            if !grows(&before, &self.state.variables) && (number > 0 || words == self.state.last_word) {
                at_rest = true;
                break;
            }
            if number > 0 {
                let exact = number < EXACT_LOOP_ROUNDS;
                widen(Rc::make_mut(&mut self.state.variables), &before, exact);
            }
        }
        if !at_rest {
            self.doubt("a loop that does not come to rest");
        }
        for directory in directories {
            if !self.state.directories.contains(&directory) {
                self.state.directories.push(directory);
            }
        }
        self.loops = self.loops.saturating_sub(1);
        Stream::unknown(taint)
    }

    /// Hides a variable of the caller until the function ends.
    pub(super) fn hide(&mut self, name: &str) {
        let old = self.state.variables.get(name).cloned();
        if old.as_ref().is_some_and(|variable| variable.readonly) {
            return;
        }
        let perhaps = self.perhaps;
        if let Some(locals) = self.locals.last_mut()
            && !locals.contains_key(name)
        {
            locals.insert(name.to_string(), (old, perhaps));
            Rc::make_mut(&mut self.state.variables).remove(name);
        }
    }

    /// Shows the variables again that a function has hidden.
    pub(super) fn show_again(&mut self) {
        for (name, (old, perhaps)) in self.locals.pop().unwrap_or_default() {
            let inner = self.state.variables.get(&name).cloned();
            // Hidden in a branch: the variable of the caller may have been set instead.
            let certain = perhaps == self.perhaps;
            let mut shown = old;
            if !certain && let Some(inner) = inner {
                let known = shown.get_or_insert_with(|| Variable::one(absent(&name)));
                add_choices(&mut known.choices, &inner.choices);
            }
            let variables = Rc::make_mut(&mut self.state.variables);
            match shown {
                Some(shown) => variables.insert(name, shown),
                None => variables.remove(&name),
            };
        }
    }
}

/// Adds the choices of another path; false where they are too many.
fn add_variables(own: &mut BTreeMap<String, Variable>, others: &BTreeMap<String, Variable>) -> bool {
    let mut fits = true;
    for (name, variable) in own.iter_mut() {
        match others.get(name) {
            Some(other) => {
                fits &= variable.reference == other.reference || variable.choices.is_empty();
                variable.readonly |= other.readonly;
                variable.integer |= other.integer;
                fits &= add_choices(&mut variable.choices, &other.choices);
            }
            None => fits &= add_choices(&mut variable.choices, &[vec![absent(name)]]),
        }
    }
    for (name, other) in others {
        if !own.contains_key(name) {
            let mut variable = other.clone();
            fits &= add_choices(&mut variable.choices, &[vec![absent(name)]]);
            own.insert(name.clone(), variable);
        }
    }
    fits
}

/// Has a round given a variable a value that it did not have?
fn grows(before: &BTreeMap<String, Variable>, after: &BTreeMap<String, Variable>) -> bool {
    after.iter().any(|(name, variable)| match before.get(name) {
        Some(old) => variable.choices.iter().any(|choice| !covers(&old.choices, choice)),
        None => true,
    })
}

/// Takes numbers that change for unknown numbers, and what changes too often for the content of a file.
fn widen(after: &mut BTreeMap<String, Variable>, before: &BTreeMap<String, Variable>, exact: bool) {
    for (name, variable) in after {
        let same = before.get(name).is_some_and(|old| old.choices == variable.choices);
        let single = variable.choices.iter().all(|list| list.len() == 1);
        if same || variable.choices.len() < 2 || variable.reference {
            continue;
        }
        if single && variable.choices.iter().flatten().all(super::evaluated::is_numeric) {
            let number = Word::unknown(UnknownReason::Arithmetic, Taint::NUMBER);
            variable.choices = vec![vec![number]];
        } else if !exact {
            variable.choices = vec![vec![unknown_content(&variable.choices)]];
        }
    }
}
