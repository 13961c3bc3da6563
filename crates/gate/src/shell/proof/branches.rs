//! Branches and loops: how the exit codes of their parts become theirs.

use super::programs::TEST;
use super::words;
use super::{Code, Mask, Outs, Proof, graver, join, looks};
use brush_parser::ast::{CaseClauseCommand, CompoundList, ForClauseCommand, IfClauseCommand};

impl Proof {
    /// A list of words, one round for each.
    pub(super) fn gone_over(&mut self, text: &str, clause: &ForClauseCommand) -> Option<Code> {
        for script in clause.values.iter().flatten().flat_map(|word| Proof::substitutions(&word.value)) {
            self.overheard(&script);
        }
        self.values.insert(clause.variable_name.clone(), super::Value::unknown());
        let checks = self.checks;
        let code = self.some_rounds(text, &clause.body.list);
        let nothing = clause.values.as_ref().is_none_or(|words| {
            words.iter().all(|word| match words::bare_variable(&word.value) {
                Some(name) => self.values.get(&name).is_none_or(|value| value.text.as_deref() == Some("")),
                None => matches!(word.value.as_str(), "$@" | "\"$@\"" | "$*"),
            })
        });
        if self.checks > checks && nothing {
            let why = "is a loop over nothing, so what is in it is never run";
            self.refuse(Mask::new(text, why, "name what it goes over"));
        }
        Some(code)
    }

    /// A loop that ends after some rounds, whatever came of them.
    pub(super) fn some_rounds(&mut self, text: &str, body: &CompoundList) -> Code {
        let waits = self.waits.take();
        let body = self.rounds_of(body);
        let own = std::mem::replace(&mut self.waits, waits);
        let code = rounds(text, body);
        Code { mask: graver(code.mask, own), ..code }
    }

    /// The body of a loop.
    pub(super) fn rounds_of(&mut self, body: &CompoundList) -> Option<Code> {
        let voices: Vec<String> = self.voices.keys().cloned().collect();
        self.loops += 1;
        let code = self.skippable(|proof| proof.list(body));
        self.loops -= 1;
        self.after_rounds(&voices);
        code
    }

    fn condition(&mut self, list: &CompoundList) -> Option<Code> {
        self.conditions += 1;
        let code = self.list(list);
        self.conditions -= 1;
        code
    }

    /// It goes on until its condition changes or a check in it leaves it, or its time is over.
    pub(super) fn looped(
        &mut self,
        text: &str,
        condition: &CompoundList,
        body: &CompoundList,
        is_while: bool,
    ) -> Option<Code> {
        let checks = self.checks;
        // `while read -r file; do … || exit 1; done < list`: one round for each line.
        if is_while && self.fed && reads(condition) {
            self.condition(condition);
            return Some(self.some_rounds(text, body));
        }
        let inverted =
            condition.0.last().is_some_and(|item| item.0.additional.is_empty() && item.0.first.bang);
        let (condition, before) = self.with_outs(|proof| proof.condition(condition));
        let Some(condition) = condition else {
            self.leave(before);
            return None;
        };
        // It is never entered.
        if if is_while { !condition.pass } else { !condition.fail } {
            self.leave(before);
            self.refuse_dead(text, |twin| drop(twin.list(body)));
            return Some(Code { mask: condition.mask, ..Code::passes() });
        }
        self.last =
            if is_while { Code::passes() } else { Code { pass: false, mask: None, ..condition.clone() } };
        let (broke, guarded) = (std::mem::take(&mut self.broke), std::mem::take(&mut self.guarded));
        let waits = self.waits.take();
        let (body, outs) = self.with_outs(|proof| proof.rounds_of(body));
        self.waits = waits;
        let broke = std::mem::replace(&mut self.broke, broke);
        self.guarded = guarded;
        let outs = before.and(outs);
        let mut code = rounds(text, body);
        code.mask = graver(code.mask, condition.mask.clone());
        let endless = if is_while { !condition.fail } else { !condition.pass };
        if code.mask.is_none() && self.checks > checks && (broke || is_while && !endless && !inverted) {
            let why = "is a loop that ends with exit code 0 also when what it looks at does not hold";
            let mend = "write `until CHECK; do sleep 1; done`; its deadline ends it";
            code.mask = Some(Mask::new(text, why, mend));
        }
        if let Some(mask) = &code.mask {
            self.leave(outs.map(|code| code.unheard(mask)));
            return Some(code);
        }
        self.leave(outs);
        Some(if self.checks > checks && (endless || condition.strong) { Code::checks() } else { code })
    }

    pub(super) fn branch(&mut self, text: &str, clause: &IfClauseCommand) -> Option<Code> {
        let condition = self.condition(&clause.condition)?;
        let mut strong = condition.is_check();
        self.last = Code::passes();
        let guarded = self.guarded;
        self.guarded |= strong;
        let then = self.skippable(|proof| proof.with_outs(|proof| proof.list(&clause.then)));
        self.guarded = false;
        let mut ways = vec![then];
        let mut kinds = vec![self.kin_in(&clause.condition)];
        let mut mark = self.marks_in(&clause.then);
        let mut last = None;
        for other in clause.elses.iter().flatten() {
            mark = mark.or_else(|| self.marks_in(&other.body));
            self.last = Code { pass: false, mask: None, ..condition.clone() };
            if let Some(condition) = &other.condition {
                kinds.push(self.kin_in(condition));
                strong |= self.maybe(|proof| proof.condition(condition))?.is_check();
                self.last = Code::passes();
                ways.push(self.skippable(|proof| proof.with_outs(|proof| proof.list(&other.body))));
            } else {
                last = Some(self.skippable(|proof| proof.with_outs(|proof| proof.list(&other.body))));
            }
        }
        self.guarded = guarded;
        let end = last.clone().unwrap_or((Some(Code::passes()), Outs::default()));
        let whole = |(normal, outs): &(Option<Code>, Outs)| join(normal.clone(), outs.any());
        let wholes: Vec<Code> = ways.iter().filter_map(whole).collect();
        let otherwise = whole(&end).unwrap_or_else(Code::passes);
        let outs = ways.iter().chain([&end]).fold(Outs::default(), |all, (_, outs)| all.and(outs.clone()));
        let mut code = ways.into_iter().map(|(normal, _)| normal).fold(end.0, join);
        let skips = otherwise.pass && !otherwise.fail;
        let mend =
            if last.is_none() { "add `else exit 1` before `fi`" } else { "let the `else` end with `exit 1`" };
        // `if [ ! -d node_modules ]; then npm ci; fi`
        let bodies = clause.elses.iter().flatten().map(|other| &other.body).chain([&clause.then]);
        let harmless = kinds.iter().all(|kind| kind.as_deref() == Some(TEST))
            && bodies.into_iter().all(|body| self.prepares_in(body));
        let all = || wholes.iter().chain([&otherwise]);
        let passing = wholes.iter().zip(&kinds).filter(|(way, _)| way.pass && !way.is_check());
        let mut passing = passing.map(|(_, kind)| kind);
        let first = passing.next();
        let why =
            if all().any(|way| way.is_check() && way.pass) && all().any(|way| way.pass && !way.is_check()) {
                Some("checks nothing, and passes, in one of its branches")
            } else if strong && !harmless && skips && wholes.iter().all(|way| way.pass && !way.is_check()) {
                Some("ends with exit code 0 whether the condition holds or not")
            } else if strong && passing.any(|kind| kind.is_none() || Some(kind) != first) {
                Some("passes when one of its conditions holds, whatever comes of the others")
            } else {
                None
            };
        // `if ! check; then failed=1; fi`
        let kept = mark.filter(|_| why.is_some() && strong && !all().any(|way| way.fail));
        if let Some(name) = &kept {
            self.expect(name, text, true);
        }
        let why = why.filter(|_| kept.is_none());
        let decides = all().any(|way| !way.pass);
        let doubt = condition.mask.filter(|_| !condition.strong);
        let mask = why.map(|why| Mask { strong: !harmless, ..Mask::new(text, why, mend) });
        let Some(mask) = mask.or(doubt) else {
            // One way passes and another fails: the condition is the check.
            if let Some(code) = &mut code {
                code.strong |= strong && code.fail && decides;
            }
            self.leave(outs);
            return code;
        };
        self.leave(outs.map(|code| code.unheard(&mask)));
        code.map(|code| code.unheard(&mask))
    }

    pub(super) fn case(&mut self, text: &str, clause: &CaseClauseCommand) -> Option<Code> {
        let word = clause.value.value.as_str();
        let fixed = self.text(word).is_some();
        let statuses = self.codes_in(&[word]).filter(|_| self.is_of_status(word));
        self.hear(word);
        for script in Proof::substitutions(word) {
            self.overheard(&script);
        }
        // A substitution in the word has an exit code of its own.
        let plain = Proof::substitutions(word).is_empty();
        let last = if plain { self.last.clone() } else { Code::passes() };
        let mut code: Option<Code> = None;
        let mut all = Outs::default();
        let mut catches = false;
        let (mut checks, mut skips) = (false, false);
        let mut doubt: Option<Mask> = None;
        let mut ways: Vec<Code> = Vec::new();
        for case in &clause.cases {
            self.last = last.clone();
            catches |= case.patterns.iter().any(|pattern| pattern.value == "*");
            let (normal, outs) = match &case.cmd {
                Some(body) => self.skippable(|proof| proof.with_outs(|proof| proof.list(body))),
                None => (Some(Code::passes()), Outs::default()),
            };
            let way = join(normal.clone(), outs.any()).unwrap_or_else(Code::passes);
            all = all.and(outs);
            ways.push(way.clone());
            doubt = doubt.or(way.mask.filter(|_| !way.strong));
            checks |= way.pass && way.fail;
            skips |= !way.fail;
            code = join(code, normal);
        }
        if !catches {
            code = join(code, Some(Code::passes()));
        }
        self.checks += 1;
        if checks && (skips || !catches) {
            let why = "checks nothing, and passes, in one of its branches, or when no pattern fits";
            let mend = "let every branch check something, and add a last one: `*) exit 1;;`";
            doubt = Some(Mask::new(text, why, mend));
        }
        if statuses.as_ref().is_some_and(|code| code.fail) && chosen(clause, "0") == chosen(clause, "1") {
            let why = "does the same for the exit codes of success and of failure";
            doubt = Some(Mask::new(text, why, "let `0)` pass and `*)` fail"));
        }
        if statuses.is_some_and(|code| !code.fail) {
            doubt = Some(looks::constant(text));
        }
        let silent = self.sampled(word, words::Sample { status: None, silent: true });
        if let (None, Some(silent)) = (self.text(word), silent)
            && chosen(clause, &silent).is_none_or(|at| ways.get(at).is_some_and(|way| way.pass))
        {
            let why = "passes also when the program whose output it looks at fails without a word";
            doubt = Some(Mask::new(text, why, "listen to the exit code too: `out=$(…) && case …`"));
        }
        if let Some(mask) = doubt {
            self.leave(all.map(|code| code.unheard(&mask)));
            return code.map(|code| code.unheard(&mask));
        }
        self.leave(all);
        code.map(|code| Code { strong: !fixed && code.fail, ..code })
    }
}

/// A body that runs any number of times.
fn rounds(text: &str, body: Option<Code>) -> Code {
    match body {
        Some(body) if body.is_check() => Code::weak().unheard(&Mask::new(
            text,
            "is a loop, and only the last round's exit code is left of it",
            "write `|| exit 1` behind the command in the loop, or begin with `set -e`",
        )),
        Some(Code { mask: Some(mask), .. }) => Code::masked(mask),
        _ => Code::passes(),
    }
}

/// The branch for a text, if there is one.
fn chosen(clause: &CaseClauseCommand, text: &str) -> Option<usize> {
    for (at, case) in clause.cases.iter().enumerate() {
        for pattern in &case.patterns {
            // What is not understood may fit everything.
            if looks::fits(&pattern.value, text).unwrap_or(true) {
                return Some(at);
            }
        }
    }
    None
}

/// Is this only `read`?
fn reads(condition: &CompoundList) -> bool {
    let text = condition.to_string();
    let mut words = text.split_whitespace().skip_while(|word| word.starts_with("IFS="));
    words.next() == Some("read") && !text.contains([';', '|', '&', '<'])
}
