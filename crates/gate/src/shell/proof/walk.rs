//! Lists, pipes, branches and loops: how the exit codes of their parts become theirs.

use super::call::{feeds, process_of};
use super::looks::constant;
use super::programs::{EXIT_CODE, TEST};
use super::voices::set_by;
use super::{Code, Mask, Outs, Proof, graver, join, names};
use brush_parser::ast::{
    AndOr, AndOrList, Command, CompoundCommand, CompoundList, CompoundListItem, FunctionDefinition, Pipeline,
    SeparatorOperator,
};

const BOTH: &str = "join the commands with `&&`, or begin with `set -e`";

impl Proof {
    pub(super) fn list(&mut self, list: &CompoundList) -> Option<Code> {
        let items: Vec<&CompoundListItem> = list.0.iter().collect();
        self.items(&items)
    }

    /// Commands one after the other: the last one's code is theirs, and each before it is lost unless somebody asks.
    pub(super) fn items(&mut self, items: &[&CompoundListItem]) -> Option<Code> {
        let mut code = Code::passes();
        let mut lost: Option<Mask> = None;
        for (index, item) in items.iter().enumerate() {
            let text = item.0.to_string();
            if matches!(item.1, SeparatorOperator::Async) {
                code = self.background(&text, |proof| proof.and_or(&item.0));
            } else {
                let Some(found) = self.and_or(&item.0) else {
                    for dead in items.iter().skip(index + 1) {
                        self.refuse_dead(&dead.0.to_string(), |twin| drop(twin.and_or(&dead.0)));
                    }
                    return None;
                };
                code = found;
                let chained = item.0.additional.iter().any(|next| matches!(next, AndOr::And(_)));
                if self.errexit && self.conditions == 0 && !item.0.first.bang && !chained && code.fail {
                    self.leave(Outs::exit(Code { pass: false, ..code.clone() }));
                    code = Code { fail: false, strong: false, ..code };
                    self.trust(&item.0.first);
                }
            }
            self.last = code.clone();
            self.before.clone_from(&text);
            let Some(next) = items.get(index + 1) else { break };
            if code.is_check() && !asks(&next.0) {
                self.lose(&item.0, &text);
                code = Code { fail: false, strong: false, ..code };
            }
            if !self.captured
                && let Some(mask) = code.mask.clone().filter(Mask::is_grave)
            {
                self.refuse(mask);
            }
            lost = lost.or(code.mask.clone().filter(|mask| mask.strong));
        }
        if code.pass
            && self.loops == 0
            && let Some(mask) = self.steered.take()
        {
            self.outs = std::mem::take(&mut self.outs).map(|code| code.unheard(&mask));
            code.mask = Some(mask);
        }
        let heard = self.outs.any().is_some_and(|code| code.is_check());
        if code.mask.is_none() && !code.strong && !heard {
            code.mask = lost;
        }
        Some(code)
    }

    /// The code of a command is replaced by that of the next one.
    fn lose(&mut self, list: &AndOrList, text: &str) {
        let names = if list.additional.is_empty() { set_by(&list.first) } else { Vec::new() };
        if !names.is_empty() {
            // What it printed is looked at, if not its exit code.
            names.iter().for_each(|name| self.expect(name, text, false));
            return;
        }
        if self.captured {
            return;
        }
        let why = if self.errexit && self.conditions == 0 {
            "is a chain, and `set -e` looks only at the last part of one: its exit code is lost"
        } else {
            "is followed by another command, which replaces its exit code"
        };
        self.refuse(Mask::new(text, why, BOTH));
    }

    /// The exit code of what a variable was set from was listened to.
    fn trust(&mut self, pipeline: &Pipeline) {
        for name in set_by(pipeline) {
            if let Some(value) = self.values.get_mut(&name) {
                value.silence = None;
            }
        }
    }

    fn background(&mut self, text: &str, walk: impl FnOnce(&mut Self) -> Option<Code>) -> Code {
        let code = self.apart(walk).unwrap_or_else(Code::passes);
        self.started = Some(code.clone());
        self.waiting = join(self.waiting.take(), Some(code.clone()));
        if !code.is_check() {
            return Code::passes();
        }
        let mut mask = Mask::new(
            text,
            "runs in the background, so nobody hears its exit code",
            "leave the `&` out, or wait for it by its number: `… & wait $!`",
        );
        mask.forgiven = true;
        Code::masked(mask)
    }

    pub(super) fn and_or(&mut self, list: &AndOrList) -> Option<Code> {
        // Only the last part of a chain is subject to `set -e`.
        let chain = usize::from(!list.additional.is_empty());
        self.conditions += chain;
        let first = self.pipeline(&list.first);
        self.conditions -= chain;
        let mut code = first?;
        let mut text = list.first.to_string();
        let mut kinds = vec![self.kin(&list.first).filter(|_| code.is_check())];
        // `check && exit 1 || exit 0`
        let mut negated = false;
        for (index, next) in list.additional.iter().enumerate() {
            let inner = usize::from(index + 1 < list.additional.len());
            self.conditions += inner;
            let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
            let kind = self.kin(pipeline);
            let result = match next {
                AndOr::And(pipeline) => {
                    negated = code.is_check() && code.mask.is_none() && always_fails(pipeline);
                    self.and(code, &list.first, pipeline)
                }
                AndOr::Or(pipeline) if negated && always_passes(pipeline) => {
                    negated = false;
                    self.checks += 1;
                    Some(Code::checks())
                }
                AndOr::Or(pipeline) => {
                    // `pytest || [ $? -eq 5 ]`
                    let asks = kind.as_deref() == Some(EXIT_CODE) && pipeline.to_string().contains("$?");
                    let alike = asks || kind.is_some() && kinds.iter().all(|other| *other == kind);
                    self.or(code, &list.first, &text, pipeline, alike)
                }
            };
            self.conditions -= inner;
            code = result?;
            kinds.push(kind);
            text = format!("{text} {}", next.to_string().trim());
        }
        Some(code)
    }

    fn and(&mut self, left: Code, first: &Pipeline, pipeline: &Pipeline) -> Option<Code> {
        self.trust(first);
        if !self.captured
            && let Some(mask) = left.mask.clone().filter(Mask::is_grave)
        {
            self.refuse(mask);
        }
        if !left.pass {
            return Some(left);
        }
        self.last = Code::passes();
        let guarded = self.guarded;
        self.guarded |= left.is_check();
        let right = if left.fail {
            let voices = self.voices.clone();
            let (right, outs) = self.maybe(|proof| proof.with_outs(|proof| proof.pipeline(pipeline)));
            if right.is_none() {
                // What it looked at before it left is not looked at otherwise.
                self.voices = voices;
            }
            if left.strong && outs.any().is_some_and(|code| code.pass) {
                let why = "ends well when its first part holds, and otherwise goes on to something that always passes";
                let mask = Mask::new(&pipeline.to_string(), why, "end with `exit 1` behind it");
                self.steered.get_or_insert(mask);
            }
            // What is reached by something that proves little proves no more.
            self.leave(match left.mask.as_ref().filter(|_| !left.strong) {
                Some(lost) => outs.map(|code| code.unheard(lost)),
                None => outs,
            });
            right
        } else {
            self.pipeline(pipeline)
        };
        self.guarded = guarded;
        let steers = jumps(pipeline) || right.is_none();
        if jumps(pipeline) && left.is_check() && !self.waits_for(first) {
            let why = "goes on also when it never holds";
            let mend = "leave with `exit 0` in place of `break`, and end with `exit 1`";
            self.waits.get_or_insert(Mask::new(&format!("{first} && {pipeline}"), why, mend));
        }
        match right {
            // Somebody acted on it.
            _ if steers && left.fail => Some(Code { pass: jumps(pipeline), strong: false, ..left }),
            None => None,
            Some(right) => Some(Code {
                pass: right.pass,
                fail: left.fail || right.fail,
                strong: left.is_check() || right.is_check(),
                mask: graver(left.mask, right.mask),
            }),
        }
    }

    /// `alike`: both look at the same kind of thing, as `test -x a || test -x b`.
    fn or(
        &mut self,
        left: Code,
        first: &Pipeline,
        text: &str,
        pipeline: &Pipeline,
        alike: bool,
    ) -> Option<Code> {
        if !left.fail {
            self.refuse_dead(&pipeline.to_string(), |twin| drop(twin.pipeline(pipeline)));
            return Some(left);
        }
        self.last = Code { pass: false, mask: None, ..left.clone() };
        let fallback = std::mem::replace(&mut self.fallback, true);
        let guarded = std::mem::take(&mut self.guarded);
        let doubtful = self.doubtful.clone();
        if !left.strong {
            self.doubtful = self.doubtful.take().or(left.mask.clone());
        }
        let mark = self.marks(pipeline).filter(|_| left.is_check());
        let (right, outs) = if alike {
            self.maybe(|proof| proof.with_outs(|proof| proof.pipeline(pipeline)))
        } else {
            self.skippable(|proof| proof.with_outs(|proof| proof.pipeline(pipeline)))
        };
        self.fallback = fallback;
        self.guarded = guarded;
        self.doubtful = doubtful;
        let whole = format!("{text} || {pipeline}");
        if outs.any().is_some_and(|code| code.pass && !code.fail) {
            self.refuse(Mask::new(
                &whole,
                format!("ends with exit code 0 when `{text}` fails"),
                format!("write `{text} || exit 1`, or only `{text}`"),
            ));
        }
        let mut mask = Mask::new(
            &whole,
            format!("is fine also when `{text}` fails: `{pipeline}` masks its exit code"),
            format!("leave `|| {pipeline}` out"),
        );
        let looks = self.kin(first).as_deref() == Some(TEST) && self.is_preparation(pipeline);
        mask.strong = left.strong && !looks && !self.is_preparation(first);
        if let Some(right) = &right
            && let Some(name) = mark
            && right.pass
        {
            self.expect(&name, &whole, true);
            self.leave(outs);
            return Some(Code { mask: left.mask, ..Code::passes() });
        }
        let heard = right.as_ref().is_none_or(|right| {
            right.is_check() && (alike || !right.pass || !left.strong) || right.fail && !left.strong
        });
        if right.as_ref().is_none_or(|right| !right.pass) {
            self.trust(first);
        }
        // Who leaves because of something that proves little proves no more.
        self.leave(outs.map(|code| match &left.mask {
            _ if !heard => code.unheard(&mask),
            Some(lost) if !left.strong => code.unheard(lost),
            _ => Code { strong: code.strong && left.strong, ..code },
        }));
        match right {
            None => left.pass.then(|| Code { mask: left.mask, ..Code::passes() }),
            // In a loop: the rest of the round, or the next one, decides.
            Some(_) if jumps(pipeline) => Some(Code { fail: false, strong: false, ..left }),
            Some(right) if heard => Some(Code {
                pass: left.pass || right.pass,
                fail: true,
                strong: if left.pass { left.strong } else { right.strong },
                mask: graver(left.mask, right.mask),
            }),
            Some(right) => {
                let mask = graver(Some(mask), right.mask).filter(|_| !self.captured || !left.strong);
                Some(Code { fail: right.fail, mask, ..Code::passes() })
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Option<Code> {
        let mut code = match pipeline.seq.as_slice() {
            [command] => self.command(command)?,
            _ if self.is_closed(pipeline) => {
                self.prints += usize::from(!self.guarded);
                Code::masked(constant(&pipeline.to_string()))
            }
            commands => {
                let mut codes = Vec::new();
                let (captured, fed) = (self.captured, self.fed);
                // What is printed into a check is looked at by it.
                let looked_at = commands.last().is_some_and(|last| self.is_look(last));
                let (checks, prints, piped) = (self.checks, self.prints, self.piped);
                for (index, command) in commands.iter().enumerate() {
                    let feeds = index + 1 < commands.len();
                    self.captured = captured || looked_at && feeds;
                    self.piped = feeds && matches!(command, Command::Simple(_));
                    self.fed = index > 0 && !self.says_nothing(commands.first());
                    codes.push(self.apart(|proof| proof.command(command)).unwrap_or_else(Code::passes));
                }
                (self.captured, self.fed, self.piped) = (captured, fed, piped);
                // `echo "$out" | grep -q ok`
                if let [Command::Simple(first), Command::Simple(last)] = commands
                    && self.searches(last)
                    && first.word_or_name.as_ref().is_some_and(|name| name.value == "echo")
                {
                    first.suffix.iter().for_each(|words| self.hear(&words.to_string()));
                }
                if looked_at {
                    self.own_words(&pipeline.to_string(), checks, prints);
                }
                self.join_pipe(pipeline, codes)
            }
        };
        self.show(pipeline);
        if pipeline.bang {
            let text = pipeline.to_string();
            let constant = (!code.pass).then(|| {
                Mask::new(
                    &text,
                    "turns round something that always fails, so it always passes",
                    "leave it out",
                )
            });
            let mask = constant.or(code.mask.filter(|_| code.fail));
            code = Code { pass: code.fail, fail: code.pass, strong: code.strong, mask };
        }
        Some(code)
    }

    fn join_pipe(&mut self, pipeline: &Pipeline, codes: Vec<Code>) -> Code {
        if self.pipefail {
            let mut all = Code { pass: true, ..Code::default() };
            for code in codes {
                all.pass &= code.pass;
                all.strong |= code.is_check();
                all.fail |= code.fail;
                all.mask = graver(all.mask, code.mask);
            }
            return all;
        }
        let (last, before) = match codes.split_last() {
            Some((last, before)) => (last.clone(), before),
            None => return Code::passes(),
        };
        if before.iter().any(Code::is_check) && !self.captured {
            self.refuse(Mask::new(
                &pipeline.to_string(),
                "is a pipe in a shell without pipefail: only its last program is heard",
                "write `set -o pipefail;` before it, or run it without another shell around it",
            ));
        }
        last
    }

    pub(super) fn command(&mut self, command: &Command) -> Option<Code> {
        let text = match command {
            Command::Simple(simple) => simple.to_string(),
            _ => String::new(),
        };
        self.deeper(&text, |proof| match command {
            Command::Simple(simple) => proof.simple(simple),
            Command::Function(function) => {
                proof.define(function);
                Some(Code::passes())
            }
            Command::Compound(compound, redirects) => {
                let all = || redirects.iter().flat_map(|list| &list.0);
                let inner: Vec<String> = all().filter_map(process_of).collect();
                let fed = proof.fed;
                proof.fed = all().filter_map(feeds).next_back().unwrap_or(fed);
                let code = proof.compound(compound);
                proof.fed = fed;
                Some(proof.heard(code?, &inner, &compound.to_string()))
            }
            Command::ExtendedTest(test, _) => Some(proof.tested_further(&test.expr, &command.to_string())),
        })
    }

    fn define(&mut self, function: &FunctionDefinition) {
        let name = function.fname.value.clone();
        let why = if name == "command_not_found_handle" {
            Some("answers for programs that are not there")
        } else if self.branches > 0 || self.functions.contains_key(&name) {
            Some("gives a function another meaning, or only sometimes a meaning")
        } else {
            None
        };
        if let Some(why) = why {
            let mend = "define every function once, at the beginning";
            self.refuse(Mask::new(&format!("{name}()"), why, mend));
        }
        self.functions.insert(name, std::rc::Rc::new(function.body.clone()));
    }

    pub(super) fn compound(&mut self, compound: &CompoundCommand) -> Option<Code> {
        let text = compound.to_string();
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            CompoundCommand::Subshell(group) => {
                Some(self.apart(|proof| proof.list(&group.list)).unwrap_or_else(Code::passes))
            }
            CompoundCommand::Arithmetic(arithmetic) => {
                Some(self.counted(&[arithmetic.expr.value.as_str()], &text))
            }
            CompoundCommand::ForClause(clause) => self.gone_over(&text, clause),
            CompoundCommand::ArithmeticForClause(clause) => {
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.touched(&part.value);
                }
                Some(self.some_rounds(&text, &clause.body.list))
            }
            CompoundCommand::WhileClause(clause) => self.looped(&text, &clause.0, &clause.1.list, true),
            CompoundCommand::UntilClause(clause) => self.looped(&text, &clause.0, &clause.1.list, false),
            CompoundCommand::IfClause(clause) => self.branch(&text, clause),
            CompoundCommand::CaseClause(clause) => self.case(&text, clause),
            CompoundCommand::Coprocess(process) => {
                Some(self.background(&text, |proof| proof.command(&process.body)))
            }
        }
    }

    /// Does a pipe only look at what it says itself: `echo ok | grep ok`?
    fn is_closed(&self, pipeline: &Pipeline) -> bool {
        let Some((Command::Simple(first), rest)) = pipeline.seq.split_first() else { return false };
        let first = self.plain_words(first);
        let says = first.is_some_and(|words| words.first().is_some_and(|name| names::is_sure(name)));
        says && rest.iter().all(|command| {
            let Command::Simple(simple) = command else { return false };
            let Some(words) = self.plain_words(simple) else { return false };
            let Some((name, words)) = words.split_first() else { return false };
            let operands = words.iter().filter(|word| !word.starts_with('-')).count();
            names::filter(name).is_some_and(|most| operands <= most)
        })
    }
}

/// Does the next command ask for the exit code? Whether somebody acts on the answer is found out there.
fn asks(next: &AndOrList) -> bool {
    let text = next.to_string();
    if text == "exit" || text == "return" {
        return true;
    }
    let before = text.split_once("$?").or_else(|| text.split_once("PIPESTATUS")).map(|(before, _)| before);
    let Some(before) = before.filter(|before| !before.contains([';', '\n', '`', '|', '&'])) else {
        return false;
    };
    let decides = ["exit ", "return ", "[", "test ", "((", "if ", "case "];
    if decides.iter().any(|start| text.starts_with(start)) {
        return !before.replace("$((", "").contains("$(");
    }
    // `rc=$((rc + $?))`
    let sum = before.split_once("=$((").map(|(name, _)| name);
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    if sum.is_some_and(is_name) {
        return next.additional.is_empty();
    }
    // `rc=$?`
    let before = ["local ", "declare ", "typeset "]
        .iter()
        .find_map(|word| before.strip_prefix(word))
        .unwrap_or(before);
    let name = before.trim_end_matches(['"', '{', '$']).strip_suffix('=').unwrap_or_default();
    let ends = text.trim_end_matches(['"', '}']).ends_with(['?', ']']);
    is_name(name) && ends && next.additional.is_empty()
}

/// Is this `break` or `continue`?
fn jumps(pipeline: &Pipeline) -> bool {
    match pipeline.seq.as_slice() {
        [Command::Simple(simple)] => simple
            .word_or_name
            .as_ref()
            .is_some_and(|name| matches!(name.value.as_str(), "break" | "continue")),
        _ => false,
    }
}

/// `false`, `exit 1`, `{ echo no; exit 1; }`
fn always_fails(pipeline: &Pipeline) -> bool {
    let text = last_words(pipeline);
    let number = text.strip_prefix("exit ").or_else(|| text.strip_prefix("return "));
    text == "false" || number.and_then(|number| number.parse::<u8>().ok()).is_some_and(|number| number != 0)
}

/// `true`, `:`, `exit 0`
fn always_passes(pipeline: &Pipeline) -> bool {
    matches!(last_words(pipeline).as_str(), "true" | ":" | "exit 0" | "return 0")
}

/// The last command of a group, or the only one.
fn last_words(pipeline: &Pipeline) -> String {
    match pipeline.seq.as_slice() {
        [Command::Simple(simple)] if !pipeline.bang => simple.to_string().trim().to_string(),
        [Command::Compound(CompoundCommand::BraceGroup(group), None)] if !pipeline.bang => {
            let says = |item: &CompoundListItem| {
                let text = item.0.to_string();
                item.0.additional.is_empty() && (text.starts_with("echo ") || text.starts_with("printf "))
            };
            match group.list.0.split_last() {
                Some((last, before)) if last.0.additional.is_empty() && before.iter().all(says) => {
                    last_words(&last.0.first)
                }
                _ => String::new(),
            }
        }
        _ => String::new(),
    }
}
