//! Walks the tree of a script: every command that could run is seen, in whatever branch, loop or substitution.

use super::state::{Redirect, RedirectKind, Shell};
use super::value::{Stream, Taint, UnknownReason, Word};
use brush_parser::ast::{
    self, AndOr, AssignmentName, AssignmentValue, BinaryPredicate, Command,
    CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, ExtendedTestExpr, Pipeline,
    SeparatorOperator, SimpleCommand, UnaryPredicate,
};
use std::rc::Rc;

/// Directories in which a command may run.
const MAX_DIRECTORIES: usize = 8;

/// The surroundings of a command: its input, and the redirections of its group.
#[derive(Debug, Clone, Default)]
pub(super) struct InheritedIo {
    pub(super) input: Option<Stream>,
    pub(super) redirects: Vec<Redirect>,
}

impl Shell<'_> {
    /// Walks a script, and says what it writes to standard output as far as that is known.
    pub(super) fn script(&mut self, source: &str, around: &InheritedIo) -> Stream {
        self.deeper(|shell| {
            if let Some(obstacle) = super::bounds::obstacle(source) {
                shell.doubt(obstacle);
                return Stream::unknown(Taint::NONE);
            }
            // Parsing, by two parsers, costs far more than copying.
            if !shell.charge(64 + source.len() * 16) {
                return Stream::unknown(Taint::NONE);
            }
            match super::bounds::parse(source) {
                Some(program) => {
                    shell.unread.keep(source, &program);
                    shell.program(&program, around)
                }
                None => {
                    shell.doubt("a script that cannot be read");
                    shell.salvage(source);
                    Stream::unknown(Taint::NONE)
                }
            }
        })
        .unwrap_or_else(|| Stream::unknown(Taint::NONE))
    }

    /// A command that stands inside a function.
    pub(super) fn entered(&mut self, command: &Command, around: &InheritedIo) -> Stream {
        self.command(command, around)
    }

    pub(super) fn program(&mut self, program: &ast::Program, around: &InheritedIo) -> Stream {
        let mut output = Stream::empty();
        for list in &program.complete_commands {
            output = output.then(self.list(list, around));
        }
        output
    }

    /// A substitution: its output as one word, without the newlines at its end.
    pub(super) fn substitution(&mut self, source: &str) -> Word {
        let piped = std::mem::replace(&mut self.piped, true);
        let output = self.apart(|shell| shell.script(source, &InheritedIo::default()));
        self.piped = piped;
        match output.text {
            Some(text) => {
                let text = text.trim_end_matches('\n');
                if output.taint.has(Taint::DECODED) && !text.trim().is_empty() && self.decoded.len() < 16 {
                    self.decoded.push(text.to_string());
                }
                Word::known(text)
            }
            None => Word::unknown(UnknownReason::Output, output.taint),
        }
    }

    fn list(&mut self, list: &CompoundList, around: &InheritedIo) -> Stream {
        let mut output = Stream::empty();
        for item in &list.0 {
            let background = matches!(item.1, SeparatorOperator::Async);
            let first = if background {
                self.apart(|shell| shell.and_or(&item.0, around))
            } else {
                self.and_or(&item.0, around)
            };
            output = output.then(first);
        }
        output
    }

    fn and_or(&mut self, list: &ast::AndOrList, around: &InheritedIo) -> Stream {
        let before = self.state.directories.clone();
        let mut output = self.pipeline(&list.first, around);
        let first = self.state.clone();
        // Whether a `cd` of this list can have failed when the next list begins.
        let only = list.additional.is_empty() && !list.first.bang && self.conditions == 0;
        let mut open = !self.state.strict || !only;
        for next in &list.additional {
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
            // It may run or not, but what it writes is certain only if it does.
            let certain = matches!(next, AndOr::And(_));
            let more = if certain {
                self.pipeline(pipeline, around)
            } else {
                // Something before it failed, perhaps the `cd`.
                let after = self.state.directories.clone();
                self.state.directories = self.both(before.clone(), after.clone());
                let more = self.maybe(|shell| shell.pipeline(pipeline, around));
                if self.leaves(pipeline) {
                    self.state.directories = after;
                    open = false;
                }
                more
            };
            output = if certain { output.then(more) } else { Stream::unknown(output.taint.and(more.taint)) };
        }
        if open && self.state.directories != before {
            let after = std::mem::take(&mut self.state.directories);
            self.state.directories = self.both(after, before);
        }
        // What stands behind the first pipeline may not have run.
        if !list.additional.is_empty() {
            self.join(&first);
        }
        output
    }

    /// Directories in which the next command may run: those after a `cd`, then those before it. The first is the likely one.
    fn both(&mut self, mut first: Vec<Word>, second: Vec<Word>) -> Vec<Word> {
        for directory in second {
            if !first.contains(&directory) {
                first.push(directory);
            }
        }
        if first.len() > MAX_DIRECTORIES {
            self.doubt("a change to one of many directories");
            first.truncate(MAX_DIRECTORIES);
        }
        first
    }

    /// Does this end the line, or the round of a loop: `|| exit 1`?
    fn leaves(&self, pipeline: &Pipeline) -> bool {
        let [Command::Simple(simple)] = pipeline.seq.as_slice() else { return false };
        let Some(name) = simple.word_or_name.as_ref().map(|name| name.value.as_str()) else { return false };
        match self.state.functions.get(name) {
            Some(body) => name == "die" && body.0.to_string().contains("exit"),
            None => name == "exit" || self.loops > 0 && matches!(name, "break" | "continue"),
        }
    }

    /// A list that may fail without an end of the shell.
    fn condition(&mut self, list: &CompoundList, around: &InheritedIo) {
        self.conditions += 1;
        self.list(list, around);
        self.conditions -= 1;
    }

    /// Defines a function; where its name is read-only, the old body may stay.
    fn define(&mut self, name: &str, body: ast::FunctionBody) {
        if matches!(name, "command_not_found_handle" | "command_not_found_handler") {
            self.doubt("a function that runs in the place of programs");
        }
        if self.readonly_functions.contains(name) {
            self.doubt("a function that cannot be replaced");
        }
        self.function_depths.insert(name.to_string(), self.through.len());
        Rc::make_mut(&mut self.state.functions).insert(name.to_string(), Rc::new(body));
    }

    fn pipeline(&mut self, pipeline: &Pipeline, around: &InheritedIo) -> Stream {
        let last = pipeline.seq.len().saturating_sub(1);
        if last == 0 {
            return pipeline.seq.first().map_or_else(Stream::empty, |command| self.command(command, around));
        }
        let outer = self.piped;
        let mut flowing = around.input.clone();
        for (index, command) in pipeline.seq.iter().enumerate() {
            let here = InheritedIo { input: flowing.take(), redirects: around.redirects.clone() };
            self.piped = index < last || outer;
            flowing = Some(self.apart(|shell| shell.command(command, &here)));
        }
        self.piped = outer;
        flowing.unwrap_or_else(Stream::empty)
    }

    fn command(&mut self, command: &Command, around: &InheritedIo) -> Stream {
        if !self.step() {
            return Stream::unknown(Taint::NONE);
        }
        match command {
            Command::Simple(simple) => self.simple(simple, around),
            Command::Function(function) => {
                let name = self.single(&function.fname.value);
                match name.text() {
                    Some(name) => self.define(&name, function.body.clone()),
                    None => self.doubt("a function whose name is not known"),
                }
                Stream::empty()
            }
            Command::Compound(compound, redirects) => {
                let (around, written) = self.redirected(redirects.as_ref(), around);
                let output = self
                    .deeper(|shell| shell.compound(compound, &around))
                    .unwrap_or_else(|| Stream::unknown(Taint::NONE));
                self.keep(&written, output)
            }
            Command::ExtendedTest(test, redirects) => {
                self.redirected(redirects.as_ref(), around);
                self.test(&test.expr, 0);
                Stream::empty()
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand, around: &InheritedIo) -> Stream {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, around),
            CompoundCommand::Subshell(group) => self.apart(|shell| shell.list(&group.list, around)),
            CompoundCommand::ForClause(clause) => {
                let values = match &clause.values {
                    Some(words) => self.listed(words),
                    None => self.state.positional.clone(),
                };
                self.apply_options(&values);
                self.assign_choices(&clause.variable_name, values);
                self.repeated(|shell| shell.list(&clause.body.list, around))
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&part.value);
                }
                self.repeated(|shell| shell.list(&clause.body.list, around))
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.repeated(|shell| {
                    shell.condition(&clause.0, around);
                    shell.list(&clause.1.list, around)
                })
            }
            CompoundCommand::IfClause(clause) => {
                self.condition(&clause.condition, around);
                let mut output = self.maybe(|shell| shell.list(&clause.then, around));
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.maybe(|shell| shell.condition(condition, around));
                    }
                    let more = self.maybe(|shell| shell.list(&other.body, around));
                    output = Stream::unknown(output.taint.and(more.taint));
                }
                output
            }
            CompoundCommand::CaseClause(clause) => {
                let value = self.single(&clause.value.value);
                self.apply_options(&[value]);
                let mut taint = Taint::NONE;
                let mut only = None;
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.single(&pattern.value);
                    }
                    if let Some(body) = &case.cmd {
                        let output = self.maybe(|shell| shell.list(body, around));
                        taint = taint.and(output.taint);
                        only = (clause.cases.len() == 1).then_some(output);
                    }
                }
                only.unwrap_or_else(|| Stream::unknown(taint))
            }
            CompoundCommand::Coprocess(process) => {
                if let Some(name) = &process.name {
                    self.single(&name.value);
                }
                self.apart(|shell| shell.command(&process.body, around));
                Stream::empty()
            }
            CompoundCommand::Arithmetic(arithmetic) => {
                let text = &arithmetic.expr.value;
                self.arithmetic(text);
                self.perhaps_script(text);
                self.ask_second();
                if self.doubts.contains(&super::doubt::Doubt::ParsersDisagree) {
                    self.apart(|shell| shell.script(text, around));
                }
                // One parser takes `( (command) )` for arithmetic: what is not clearly a sum is not believed.
                if !super::text::is_plain_arithmetic(text)
                    || text.trim() != text.as_str() && text.contains('(')
                {
                    self.doubt("something that is either arithmetic or a command");
                }
                Stream::empty()
            }
        }
    }

    fn test(&mut self, test: &ExtendedTestExpr, depth: usize) {
        if depth > super::limits::MAX_SCRIPT_DEPTH {
            return self.doubt("a test nested deeper than can be followed");
        }
        match test {
            ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
                self.test(left, depth + 1);
                self.test(right, depth + 1);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner, depth + 1);
            }
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                let word = self.tested(&word.value);
                let names = matches!(
                    predicate,
                    UnaryPredicate::ShellVariableIsSetAndAssigned
                        | UnaryPredicate::ShellVariableIsSetAndNameRef
                );
                if names {
                    self.check_name(&word);
                }
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                let words =
                    [(&left.value, self.tested(&left.value)), (&right.value, self.tested(&right.value))];
                self.state.matched = words[0].1.taint();
                if is_arithmetic(predicate) {
                    for (source, word) in words {
                        self.check_references(source);
                        self.evaluate(&word);
                    }
                }
            }
        }
    }

    /// A word of a test. `a[$(id)]` as a name runs what stands in its index, even in quotes.
    fn tested(&mut self, source: &str) -> Word {
        let word = self.single(source);
        self.apply_options(std::slice::from_ref(&word));
        let indexed = |text: &str| text.contains('[') && text.contains("$(") || text.contains('`');
        if word.text().is_some_and(|text| indexed(&text)) {
            self.doubt("a name with a command as its index");
        }
        word
    }

    /// The command with one choice of each variable that has several.
    pub(super) fn one_choice(&mut self, simple: &SimpleCommand, around: &InheritedIo) -> Stream {
        let mut words: Vec<Word> = Vec::new();
        let mut environment = Vec::new();
        let mut redirects = Vec::new();
        let name = simple.word_or_name.as_ref().map(|word| word.value.as_str());
        let before = self.state.variables.clone();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::AssignmentWord(assignment, _) => {
                    let (name, values) = self.assignment(assignment);
                    self.show_to_next(&name, values.clone(), assignment.append);
                    environment.push((name, values, assignment.append));
                }
                Item::IoRedirect(redirect) => redirects.push(redirect),
                Item::Word(word) => words.extend(self.fields(&word.value)),
                Item::ProcessSubstitution(kind, inner) => {
                    let word = self.process(kind, inner);
                    words.push(word);
                }
            }
        }
        for (name, ..) in &environment {
            self.restore(name, &before);
        }
        if let Some(name) = name {
            let alias = words.is_empty().then(|| self.state.aliases.get(name).cloned()).flatten();
            if let Some(text) = alias {
                let same = text.split_whitespace().next() == Some(name);
                if !same {
                    self.doubt("an alias that stands for another command");
                }
                self.maybe(|shell| shell.aliased(&text, simple, around));
            }
            // Bash expands no alias in a line that is not typed, so the command itself is judged too.
            self.disguised(name);
            words.extend(self.name_fields(name));
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) => {
                    self.equals(&word.value);
                    words.extend(self.fields(&word.value));
                }
                Item::AssignmentWord(assignment, word) => {
                    self.assignment_argument(assignment, &word.value, &mut words);
                }
                Item::IoRedirect(redirect) => redirects.push(redirect),
                Item::ProcessSubstitution(kind, inner) => {
                    let word = self.process(kind, inner);
                    words.push(word);
                }
            }
        }
        self.scripted(&words, simple);
        let mut around = around.clone();
        let mut written = Vec::new();
        for redirect in redirects {
            self.redirect(redirect, &mut around, &mut written);
        }
        if words.is_empty() {
            let content = self.without_command(environment, &around);
            return self.keep(&written, content);
        }
        for (name, values, _) in &environment {
            for value in values {
                self.check_value(value);
                if super::evaluated::is_integer_variable(name) {
                    self.evaluate(value);
                }
            }
        }
        let environment = environment
            .into_iter()
            .map(|(name, values, _)| (name, values.into_iter().next().unwrap_or_default()))
            .collect();
        let last = words.last().cloned().unwrap_or_default();
        let output = self.call(words, environment, &around);
        self.state.last_word = last;
        self.keep(&written, output)
    }

    /// `NAME=value` behind the command's name: only declarations take it as an assignment.
    fn assignment_argument(&mut self, assignment: &ast::Assignment, source: &str, words: &mut Vec<Word>) {
        let declares = words.first().is_some_and(super::builtin::declares);
        if let (true, AssignmentValue::Array(_)) = (declares, &assignment.value) {
            let (name, values) = self.assignment(assignment);
            let flag = |word: &Word, letter| super::builtin::is_flag_with(word, letter);
            if words.first().is_some_and(super::builtin::declares_locally)
                && !words.iter().any(|word| flag(word, 'g'))
            {
                self.hide(&name);
            }
            self.assign(&name, values, assignment.append);
            words.push(Word::known(name));
        } else if declares {
            words.push(self.single(source));
        } else {
            words.extend(self.fields(source));
        }
    }

    /// Assignments and redirections without a command; the output is that of `$(<file)`.
    fn without_command(
        &mut self,
        assignments: Vec<(String, Vec<Word>, bool)>,
        around: &InheritedIo,
    ) -> Stream {
        for (name, values, append) in assignments {
            self.assign(&name, values, append);
        }
        if !around.redirects.is_empty() {
            self.emit(Vec::new(), Vec::new(), around);
        }
        let read = around.redirects.last().filter(|redirect| redirect.kind == RedirectKind::Read);
        match (read, &around.input) {
            (Some(redirect), Some(stream)) => {
                let words = [Word::known("cat"), redirect.target.clone()];
                let taint = (self.taints)("cat", &words, &self.state.directories);
                Stream { text: stream.text.clone(), taint: stream.taint.and(taint) }
            }
            _ => Stream::empty(),
        }
    }

    /// The words of a command's name. A variable that is not set is most likely empty: `r${x}m` is `rm`.
    fn name_fields(&mut self, source: &str) -> Vec<Word> {
        let words = self.fields(source);
        let [word] = words.as_slice() else { return words };
        let unset = word.pieces.len() > 1
            && word.text().is_none()
            && word.pieces.iter().all(|piece| match piece {
                super::value::Piece::Known { .. } => true,
                super::value::Piece::Unknown { why, .. } => *why == UnknownReason::Variable,
            });
        let rest = word.shown().replace('…', "");
        if unset && !rest.is_empty() { vec![Word::known(rest)] } else { words }
    }

    /// A command whose name is an alias of this line: the text takes the name's place.
    fn aliased(&mut self, text: &str, simple: &SimpleCommand, around: &InheritedIo) -> Stream {
        let rest = simple.suffix.as_ref().map(ToString::to_string).unwrap_or_default();
        let line = format!("{text} {rest}");
        let aliases = std::mem::take(&mut self.state.aliases);
        let output = self.script(&line, around);
        self.state.aliases = aliases;
        output
    }

    fn assignment(&mut self, assignment: &ast::Assignment) -> (String, Vec<Word>) {
        let (name, element) = match &assignment.name {
            AssignmentName::VariableName(name) => (name.clone(), false),
            AssignmentName::ArrayElementName(name, index) => {
                self.subscript(name, index);
                (name.clone(), true)
            }
        };
        let mut values = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let literal = |char: char| char.is_ascii_alphanumeric() || "_./+-".contains(char);
                if word.value.trim_matches(['"', '\'']).chars().all(literal) {
                    self.plain.insert(name.clone());
                } else {
                    self.plain.remove(&name);
                }
                let outer = self.counter.replace(name.clone());
                let value = self.single(&word.value);
                self.counter = outer;
                vec![value]
            }
            AssignmentValue::Array(items) => {
                let mut values = Vec::new();
                for (index, word) in items {
                    if let Some(index) = index {
                        self.subscript(&name, &index.value);
                    }
                    values.extend(self.fields(&word.value));
                }
                values
            }
        };
        // One element is set: the others stay.
        if element && !assignment.append {
            let old = self.named(&name).and_then(|variable| variable.choices.into_iter().next());
            let old =
                old.unwrap_or_default().into_iter().filter(|word| !values.contains(word)).collect::<Vec<_>>();
            values.splice(0..0, old);
        }
        (name, values)
    }

    /// `<(…)` and `>(…)`: the script runs; its output is a file that the command reads.
    pub(super) fn process(
        &mut self,
        kind: &ast::ProcessSubstitutionKind,
        inner: &ast::SubshellCommand,
    ) -> Word {
        let reads = matches!(kind, ast::ProcessSubstitutionKind::Read);
        let piped = std::mem::replace(&mut self.piped, true);
        let output = self
            .deeper(|shell| shell.apart(|shell| shell.list(&inner.list, &InheritedIo::default())))
            .unwrap_or_else(|| Stream::unknown(Taint::NONE));
        self.piped = piped;
        let name = format!("/dev/fd/{}", 60 + self.files.len());
        if reads {
            self.files.insert(name.clone(), output);
        }
        Word::known(name)
    }

    /// The content that the line itself wrote to a file.
    pub(super) fn file(&self, path: &Word) -> Option<Stream> {
        self.files.get(&self.place(path)?).cloned()
    }

    /// A path in the directory that commands run in, without `.` and doubled slashes.
    pub(super) fn place(&self, path: &Word) -> Option<String> {
        let text = path.text()?;
        let whole = if text.starts_with('/') {
            text.into_owned()
        } else {
            format!("{}/{text}", self.directory().text()?)
        };
        Some(super::text::normal(&whole))
    }
}

pub(super) fn stream(word: &Word) -> Stream {
    Stream { text: word.text().map(std::borrow::Cow::into_owned), taint: word.taint() }
}

/// Does this test evaluate both sides as arithmetic?
fn is_arithmetic(predicate: &BinaryPredicate) -> bool {
    use BinaryPredicate as Test;
    matches!(
        predicate,
        Test::ArithmeticEqualTo
            | Test::ArithmeticNotEqualTo
            | Test::ArithmeticLessThan
            | Test::ArithmeticLessThanOrEqualTo
            | Test::ArithmeticGreaterThan
            | Test::ArithmeticGreaterThanOrEqualTo
    )
}
