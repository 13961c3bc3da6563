//! Lists, groups and pipelines of an assertion.

use super::program::{Input, Outcome, Output};
use super::{AssertionRefusal, Checker, SCRIPT_HINT, Summary};
use brush_parser::ast::{
    AndOr, AndOrList, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList,
    CompoundListItem, Pipeline, Program, RedirectList, SeparatorOperator, SimpleCommand,
};

/// The surroundings of a list.
#[derive(Debug, Clone, Copy)]
struct Context {
    /// `set -e` is on and not suspended by a `&&`, `||` or `!` around.
    errexit: bool,
    /// `set -e` would have an effect here.
    heard: bool,
    /// `exit` ends only this list: a line, a subshell.
    own_shell: bool,
}

impl Checker {
    /// Checks a whole script.
    pub(super) fn script(&mut self, text: &str) -> Result<Summary, AssertionRefusal> {
        let program: std::rc::Rc<Program> = Self::parse(text)?;
        let items: Vec<&CompoundListItem> =
            program.complete_commands.iter().flat_map(|list| &list.0).collect();
        if items.is_empty() {
            return Err(AssertionRefusal::new(
                text,
                "is empty: it checks nothing",
                "write a command that fails",
            ));
        }
        self.items(&items, Context { errexit: false, heard: true, own_shell: true })
    }

    fn items(&mut self, items: &[&CompoundListItem], context: Context) -> Result<Summary, AssertionRefusal> {
        if let Some(item) = items.iter().find(|item| matches!(item.1, SeparatorOperator::Async)) {
            let reason = "runs in the background, where its exit code is not heard";
            return Err(AssertionRefusal::beyond(&format!("{} &", item.0), reason));
        }
        let mut errexit = context.errexit;
        let mut rest = items;
        while let [first, more @ ..] = rest
            && !more.is_empty()
            && first.0.additional.is_empty()
            && self.set_options(&first.0.first, &mut errexit)?
        {
            rest = more;
        }
        if let [first, last] = rest
            && is_first_pipe_status(&last.0)
            && first.0.additional.is_empty()
        {
            return self.first_of_pipe(&first.0.first);
        }
        let sequential = errexit && context.heard;
        let mut summary = Summary::default();
        for (at, item) in rest.iter().enumerate() {
            let is_last = at + 1 == rest.len();
            if !is_last && !sequential {
                return Err(self.followed(&item.0, rest.get(at + 1).map(|next| &next.0)));
            }
            let is_heard = is_last || is_heard_by_errexit(&item.0);
            if !is_heard {
                let reason = "is not heard by `set -e`, because it is a list or a negation that is not the last command";
                return Err(AssertionRefusal::beyond(&item.0.to_string(), reason));
            }
            let inner = Context {
                errexit: sequential,
                heard: context.heard,
                own_shell: context.own_shell && is_last,
            };
            summary.add(self.and_or(&item.0, inner)?);
        }
        Ok(summary)
    }

    /// The refusal of a command that another follows.
    fn followed(&mut self, first: &AndOrList, next: Option<&AndOrList>) -> AssertionRefusal {
        let context = Context { errexit: false, heard: false, own_shell: false };
        if let Err(refusal) = self.and_or(first, context) {
            return refusal;
        }
        let next = next.map(ToString::to_string).unwrap_or_default();
        if next.contains("PIPESTATUS") {
            let hint = "leave `PIPESTATUS` out: every part of a pipe counts";
            return AssertionRefusal::new(&next, "picks one exit code of a pipe", hint);
        }
        let reason = format!("is followed by `{next}`, so that its exit code is lost");
        let hint = format!("join the commands with `&&`, begin with `set -e`, or {SCRIPT_HINT}");
        AssertionRefusal::new(&first.to_string(), reason, hint)
    }

    fn and_or(&mut self, list: &AndOrList, context: Context) -> Result<Summary, AssertionRefusal> {
        if let [AndOr::And(found), AndOr::Or(end)] = list.additional.as_slice()
            && is_failing(found)
            && is_passing(end)
        {
            return self.forbidden_search(list, context);
        }
        let mut summary = Summary::default();
        let alone = Context { errexit: context.errexit && list.additional.is_empty(), ..context };
        let inner = Context { heard: context.heard && list.additional.is_empty(), own_shell: false, ..alone };
        let mut errexit = false;
        if list.additional.is_empty() || !self.set_options(&list.first, &mut errexit)? {
            summary.add(self.step(&list.first, inner)?);
        }
        let last = list.additional.len().saturating_sub(1);
        for (at, next) in list.additional.iter().enumerate() {
            match next {
                AndOr::And(pipeline) => summary.add(self.step(pipeline, inner)?),
                AndOr::Or(pipeline) if at == last && is_failing(pipeline) => {}
                AndOr::Or(pipeline) if is_passing(pipeline) => {
                    let reason = "masks the exit code of what stands before";
                    let hint = format!("leave `|| {pipeline}` out, or {SCRIPT_HINT}");
                    return Err(AssertionRefusal::new(&format!("|| {pipeline}"), reason, hint));
                }
                AndOr::Or(pipeline) => {
                    let reason = "is enough instead of what stands before; only `|| exit 1` may stand there";
                    return Err(AssertionRefusal::beyond(&format!("|| {pipeline}"), reason));
                }
            }
        }
        Ok(summary)
    }

    /// `SEARCH && exit 1 || exit 0`
    fn forbidden_search(&mut self, list: &AndOrList, context: Context) -> Result<Summary, AssertionRefusal> {
        if !context.own_shell || list.first.bang {
            let reason = "is a search with two ends, which must be the last command of a line";
            return Err(AssertionRefusal::new(&list.to_string(), reason, "write `! grep …`"));
        }
        let outcome = self.pipeline(&list.first)?;
        if !outcome.is_search || outcome.runs {
            let reason = "ends with 0 also when the first command fails";
            return Err(AssertionRefusal::beyond(&list.to_string(), reason));
        }
        Ok(Summary { checks: true, ..Summary::default() })
    }

    fn step(&mut self, pipeline: &Pipeline, context: Context) -> Result<Summary, AssertionRefusal> {
        let part = pipeline.to_string();
        if let [Command::Compound(compound, redirects)] = pipeline.seq.as_slice() {
            if pipeline.bang {
                return Err(AssertionRefusal::beyond(&part, "turns the exit code of a group round"));
            }
            return self.group(compound, redirects.as_ref(), context);
        }
        let outcome = self.pipeline(pipeline)?;
        if pipeline.bang {
            if !outcome.is_search || outcome.runs {
                let reason = "turns round an exit code: it also passes when the command cannot run";
                return Err(AssertionRefusal::new(
                    &part,
                    reason,
                    "put `!` only before a search: `! grep -rn TODO src`",
                ));
            }
            return Ok(Summary { checks: true, ..Summary::default() });
        }
        let idle = (!outcome.checks).then(|| outcome.idle_refusal(&part));
        let shown = outcome.shows.then(|| part.clone());
        Ok(Summary { checks: outcome.checks, runs: outcome.runs, shown, idle })
    }

    fn group(
        &mut self,
        compound: &CompoundCommand,
        redirects: Option<&RedirectList>,
        context: Context,
    ) -> Result<Summary, AssertionRefusal> {
        let part = compound.to_string();
        let (list, own_shell): (&CompoundList, bool) = match compound {
            CompoundCommand::BraceGroup(group) => (&group.list, false),
            CompoundCommand::Subshell(group) => (&group.list, true),
            other => return Err(AssertionRefusal::beyond(&part, describe(other))),
        };
        if redirects.is_some() {
            return Err(AssertionRefusal::beyond(&part, "is a group with a redirection"));
        }
        let items: Vec<&CompoundListItem> = list.0.iter().collect();
        let (directory, pipefail) = (self.directory.clone(), self.pipefail);
        let summary =
            self.nested(&part, |checker| checker.items(&items, Context { own_shell, ..context }))?;
        if own_shell {
            (self.directory, self.pipefail) = (directory, pipefail);
        }
        Ok(summary)
    }

    /// Checks the commands of a pipeline, without its `!`.
    pub(super) fn pipeline(&mut self, pipeline: &Pipeline) -> Result<Outcome, AssertionRefusal> {
        let part = pipeline.to_string();
        if pipeline.seq.len() > 1 && !self.pipefail {
            let hint = format!(
                "use `bash -o pipefail -c`, begin the inner line with `set -o pipefail;`, or {SCRIPT_HINT}"
            );
            return Err(AssertionRefusal::new(&part, "is a pipe in a shell that has no pipefail", hint));
        }
        self.pipelines += 1;
        let mut total = Outcome::default();
        let mut input = Input::default();
        let directory = self.directory.clone();
        for (at, command) in pipeline.seq.iter().enumerate() {
            let is_last = at + 1 == pipeline.seq.len();
            let outcome = self.member(command, &input)?;
            if !is_last && outcome.is_redirected {
                let reason = "sends its output elsewhere than into the pipe";
                return Err(AssertionRefusal::beyond(&command.to_string(), reason));
            }
            if at > 0 && !outcome.takes_input {
                let reason = "does not read what is piped into it";
                return Err(AssertionRefusal::beyond(&command.to_string(), reason));
            }
            total.follow(&outcome);
            self.record_outputs(&outcome, &total);
            input = Input { output: outcome.output, sources: outcome.sources.clone() };
            total.output = outcome.output;
        }
        // Commands of a pipe run in shells of their own.
        if pipeline.seq.len() > 1 {
            self.directory = directory;
        }
        Ok(total)
    }

    fn member(&mut self, command: &Command, input: &Input) -> Result<Outcome, AssertionRefusal> {
        let part = command.to_string();
        self.count_step(&part)?;
        match command {
            Command::Simple(simple) => self.simple(simple, input),
            Command::ExtendedTest(test, None) if input.output == Output::Nothing => {
                self.extended_test(&test.expr, &part)
            }
            Command::ExtendedTest(..) => {
                Err(AssertionRefusal::beyond(&part, "is a test in a pipe or with a redirection"))
            }
            Command::Function(_) => Err(AssertionRefusal::beyond(&part, "defines a function")),
            Command::Compound(compound, redirects) => {
                if input.output != Output::Nothing {
                    return Err(AssertionRefusal::beyond(&part, "is a group behind a pipe"));
                }
                let context = Context { errexit: false, heard: false, own_shell: true };
                let (directory, pipefail) = (self.directory.clone(), self.pipefail);
                let summary = self.group(compound, redirects.as_ref(), context)?;
                (self.directory, self.pipefail) = (directory, pipefail);
                let output = if summary.runs { Output::Work } else { Output::Literal };
                Ok(Outcome { checks: summary.checks, runs: summary.runs, output, ..Outcome::default() })
            }
        }
    }

    /// `pipeline; exit ${PIPESTATUS[0]}`: only the first command counts.
    fn first_of_pipe(&mut self, pipeline: &Pipeline) -> Result<Summary, AssertionRefusal> {
        let part = pipeline.to_string();
        let [first, rest @ ..] = pipeline.seq.as_slice() else {
            return Err(AssertionRefusal::beyond(&part, "is not a pipe"));
        };
        if pipeline.bang || rest.is_empty() {
            return Err(AssertionRefusal::beyond(&part, "is not a pipe of which the first command counts"));
        }
        let outcome = self.pipeline(pipeline)?;
        let alone = Pipeline { seq: vec![first.clone()], ..pipeline.clone() };
        let first = self.pipeline(&alone)?;
        if outcome.is_search || !first.checks {
            let reason = "does not count: every part of a pipe must";
            return Err(AssertionRefusal::new(
                &part,
                reason,
                "leave `PIPESTATUS` out: every part of a pipe counts",
            ));
        }
        Ok(Summary { checks: true, runs: first.runs, shown: outcome.shows.then_some(part), idle: None })
    }

    /// Takes the options of a `set` command; false for any other command.
    fn set_options(&mut self, pipeline: &Pipeline, errexit: &mut bool) -> Result<bool, AssertionRefusal> {
        let Some(words) = plain_words(pipeline) else { return Ok(false) };
        let [name, options @ ..] = words.as_slice() else { return Ok(false) };
        if name != "set" {
            return Ok(false);
        }
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let refusal = || {
                AssertionRefusal::new(
                    &pipeline.to_string(),
                    "sets an option that is not part of assertions",
                    "write `set -euo pipefail`",
                )
            };
            let letters =
                option.strip_prefix('-').filter(|letters| !letters.is_empty()).ok_or_else(refusal)?;
            for letter in letters.chars() {
                match letter {
                    'e' => *errexit = true,
                    'u' | 'x' => {}
                    'o' => match options.next().map(String::as_str) {
                        Some("pipefail") => self.pipefail = true,
                        Some("errexit") => *errexit = true,
                        Some("nounset" | "xtrace") => {}
                        _ => return Err(refusal()),
                    },
                    _ => return Err(refusal()),
                }
            }
        }
        Ok(true)
    }
}

/// Name the construct that is not part of the grammar.
fn describe(compound: &CompoundCommand) -> &'static str {
    match compound {
        CompoundCommand::Arithmetic(_) => "is an arithmetic command",
        CompoundCommand::ForClause(_)
        | CompoundCommand::ArithmeticForClause(_)
        | CompoundCommand::WhileClause(_)
        | CompoundCommand::UntilClause(_) => "is a loop",
        CompoundCommand::CaseClause(_) | CompoundCommand::IfClause(_) => "is a branch",
        CompoundCommand::Coprocess(_) => "runs in the background, where its exit code is not heard",
        CompoundCommand::BraceGroup(_) | CompoundCommand::Subshell(_) => "is a group",
    }
}

/// The words of a pipeline that is one simple command of plain words.
fn plain_words(pipeline: &Pipeline) -> Option<Vec<String>> {
    match pipeline.seq.as_slice() {
        [Command::Simple(simple)] if !pipeline.bang && pipeline.timed.is_none() => words_of(simple),
        _ => None,
    }
}

fn words_of(simple: &SimpleCommand) -> Option<Vec<String>> {
    if simple.prefix.is_some() {
        return None;
    }
    let name = simple.word_or_name.as_ref()?.value.clone();
    let rest = simple.suffix.iter().flat_map(|suffix| &suffix.0).map(|item| match item {
        Item::Word(word) => Some(word.value.clone()),
        _ => None,
    });
    std::iter::once(Some(name)).chain(rest).collect()
}

/// `exit ${PIPESTATUS[0]}`
fn is_first_pipe_status(list: &AndOrList) -> bool {
    let words = plain_words(&list.first).unwrap_or_default();
    list.additional.is_empty()
        && matches!(
            words.iter().map(String::as_str).collect::<Vec<_>>().as_slice(),
            ["exit", "${PIPESTATUS[0]}" | "\"${PIPESTATUS[0]}\""]
        )
}

/// Whether bash ends the line when this item fails under `set -e`.
fn is_heard_by_errexit(list: &AndOrList) -> bool {
    match list.additional.last() {
        None => !list.first.bang,
        Some(AndOr::Or(last)) => is_failing(last),
        Some(AndOr::And(_)) => false,
    }
}

fn is_exit(words: &[String], is_code: impl Fn(u8) -> bool) -> bool {
    match words {
        [name, code] => name == "exit" && code.parse::<u8>().is_ok_and(is_code),
        _ => false,
    }
}

/// Whether this always ends the line, or itself, with another code than 0.
fn is_failing(pipeline: &Pipeline) -> bool {
    if let Some(words) = plain_words(pipeline) {
        return words == ["false"] || is_exit(&words, |code| code > 0);
    }
    let list = match pipeline.seq.as_slice() {
        [Command::Compound(CompoundCommand::BraceGroup(group), None)] if !pipeline.bang => &group.list,
        [Command::Compound(CompoundCommand::Subshell(group), None)] if !pipeline.bang => &group.list,
        _ => return false,
    };
    let [prints @ .., end] = list.0.as_slice() else { return false };
    let is_plain = |item: &CompoundListItem| {
        matches!(item.1, SeparatorOperator::Sequence) && item.0.additional.is_empty()
    };
    let ends =
        plain_words(&end.0.first).is_some_and(|words| words == ["false"] || is_exit(&words, |code| code > 0));
    ends && list.0.iter().all(is_plain) && prints.iter().all(|item| is_message(&item.0.first))
}

/// A command of a failing branch that prints a message.
fn is_message(pipeline: &Pipeline) -> bool {
    let [Command::Simple(simple)] = pipeline.seq.as_slice() else { return false };
    let name = simple.word_or_name.as_ref().map(|name| name.value.as_str());
    let is_plain = |item: &Item| match item {
        Item::Word(word) => !word.value.contains(['$', '`']),
        Item::IoRedirect(redirect) => redirect.to_string().replace(' ', "").ends_with(">&2"),
        _ => false,
    };
    !pipeline.bang
        && simple.prefix.is_none()
        && matches!(name, Some("echo" | "printf" | "cat" | "tail" | "head"))
        && simple.suffix.iter().flat_map(|suffix| &suffix.0).all(is_plain)
}

/// Whether this always passes.
fn is_passing(pipeline: &Pipeline) -> bool {
    plain_words(pipeline).is_some_and(|words| {
        matches!(words.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), ["true" | ":"])
            || is_exit(&words, |code| code == 0)
    })
}
