//! Can a line fail? A line that is to prove something must end with another exit code when it does not hold.
//!
//! The line is walked as bash would run it under `-o pipefail`, and for every part it is kept whether its exit code can
//! be 0, whether it can be another, and whether something that could fail lost its voice on the way (`|| true`, `; echo
//! done`, a trailing `&`, a trap, a loop). [`proves`] refuses a line that cannot fail, and one in which a program that
//! checks something is not listened to.
//!
//! A test makes lines up at random and lets bash itself be the judge of what is accepted.
//!
//! Limits: what a script file, a Makefile or a program does inside cannot be seen here; and a check that is merely weak
//! (`ls README.md`) is a check, as is its opposite (`! ./check.sh`). Where bash has more than one way to lose an exit code
//! and the text does not say which, the line is refused with the mend.

mod branches;
mod call;
mod idle;
mod looks;
mod names;
mod programs;
mod sums;
mod voices;
mod walk;
mod words;

#[cfg(test)]
mod tests;

use super::{bounds, second};
use brush_parser::ast::{FunctionBody, Program};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Commands that are followed.
const MOST_STEPS: usize = 2_000;
/// How deep scripts, functions and brackets are followed.
const DEEPEST: usize = 60;
/// Characters of a part that are shown.
const SHOWN: usize = 100;

/// Why a line proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{part}` {reason}\n  hint: {mend}")]
pub struct Mask {
    /// The part of the line.
    pub part: String,
    /// What is wrong with it.
    pub reason: String,
    /// What to write instead.
    pub mend: String,
    /// Whether what is masked checks something.
    strong: bool,
    /// Whether it may be so when something else is checked: a server in the background.
    forgiven: bool,
}

impl Mask {
    fn new(part: &str, reason: impl Into<String>, mend: impl Into<String>) -> Self {
        let flat = part.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut shown: String = flat.chars().take(SHOWN).collect();
        if shown.len() < flat.len() {
            shown.push('…');
        }
        Mask { part: shown, reason: reason.into(), mend: mend.into(), strong: true, forgiven: false }
    }
}

impl Mask {
    /// Does it count whatever else is checked?
    fn is_grave(&self) -> bool {
        self.strong && !self.forgiven
    }
}

/// The graver of two.
fn graver(one: Option<Mask>, two: Option<Mask>) -> Option<Mask> {
    match (one, two) {
        (Some(one), Some(two)) => Some(if two.is_grave() && !one.is_grave() { two } else { one }),
        (one, two) => one.or(two),
    }
}

/// Can this line, run by `bash -o pipefail -c`, fail when what it checks does not hold?
///
/// # Errors
/// The part that masks the exit code, and the mend.
pub fn proves(line: &str) -> Result<(), Mask> {
    walked(line).map(drop)
}

/// The same for a line that runs tests and says how many: it must also start something, and not only show a text.
///
/// # Errors
/// The part that masks the exit code or shows a text, and the mend.
pub fn proves_tests(line: &str) -> Result<(), Mask> {
    let proof = walked(line)?;
    let mend = "write the command that runs the tests";
    match proof.shown {
        Some(part) => Err(Mask::new(&part, "only shows a text, which could say anything about tests", mend)),
        None if !proof.called.iter().any(|name| names::runs(name)) => {
            Err(Mask::new(line, "runs no tests: it only looks at what is there", mend))
        }
        None => Ok(()),
    }
}

fn walked(line: &str) -> Result<Proof, Mask> {
    super::begin();
    if line.trim().is_empty() {
        return Err(Mask::new(
            line,
            "is empty: it checks nothing",
            "write a command that fails, for example `pytest -q`",
        ));
    }
    if let Some(mask) = bent(line) {
        return Err(mask);
    }
    let mut proof = Proof { pipefail: true, last: Code::passes(), ..Proof::default() };
    let normal = proof.script(line);
    if let Some(refusal) = proof.refusal.take().or_else(|| proof.silent_voice()) {
        return Err(refusal);
    }
    if let Some((seen, mask)) = proof.early.take()
        && proof.checks > seen
    {
        return Err(mask);
    }
    let code = join(normal, proof.outs.any()).unwrap_or_else(Code::passes);
    match code.mask {
        mask if !code.fail => Err(mask.unwrap_or_else(|| {
            Mask::new(
                line,
                "cannot fail, so it proves nothing",
                "write a command whose exit code says whether it holds",
            )
        })),
        Some(mask) if !code.strong || mask.is_grave() => Err(mask),
        None if !code.strong && proof.checks > 0 => Err(Mask::new(
            line,
            "holds a check whose exit code has no say in the end",
            "let the check be the last command, or join the commands with `&&`",
        )),
        _ => Ok(proof),
    }
}

/// An exit code of a pipe that is picked by its number.
fn bent(line: &str) -> Option<Mask> {
    let flat: String = line.chars().filter(|char| !char.is_whitespace()).collect();
    let picks = |rest: &str| !rest.starts_with("[0]");
    if flat.split("PIPESTATUS").skip(1).any(picks) {
        let why = "picks one exit code of a pipe";
        return Some(Mask::new(line, why, "leave `PIPESTATUS` out: every part of a pipe counts"));
    }
    None
}

/// What the exit code of a part can be.
#[derive(Debug, Clone, Default)]
struct Code {
    /// It can be 0.
    pass: bool,
    /// It can be another.
    fail: bool,
    /// Another one means that a check did not hold, and not only that something could not be shown or tidied up.
    strong: bool,
    /// What lost its voice in it.
    mask: Option<Mask>,
}

impl Code {
    fn passes() -> Self {
        Code { pass: true, ..Code::default() }
    }

    fn fails() -> Self {
        Code { fail: true, strong: true, ..Code::default() }
    }

    fn checks() -> Self {
        Code { pass: true, fail: true, strong: true, mask: None }
    }

    fn weak() -> Self {
        Code { strong: false, ..Code::checks() }
    }

    fn masked(mask: Mask) -> Self {
        Code { mask: Some(mask), ..Code::passes() }
    }

    fn is_check(&self) -> bool {
        self.fail && self.strong
    }

    /// The same as part of something that may not be looked at.
    fn unheard(self, mask: &Mask) -> Self {
        Code { strong: false, mask: Some(mask.clone()), ..self }
    }
}

/// One or the other.
fn join(one: Option<Code>, two: Option<Code>) -> Option<Code> {
    match (one, two) {
        (Some(one), Some(two)) => Some(Code {
            pass: one.pass || two.pass,
            fail: one.fail || two.fail,
            strong: one.is_check() || two.is_check(),
            mask: graver(one.mask, two.mask),
        }),
        (one, two) => one.or(two),
    }
}

/// The codes of the ways out of something, by `exit` and by `return`.
#[derive(Debug, Clone, Default)]
struct Outs {
    exits: Option<Code>,
    returns: Option<Code>,
}

impl Outs {
    fn exit(code: Code) -> Self {
        Outs { exits: Some(code), returns: None }
    }

    fn and(self, other: Outs) -> Self {
        Outs { exits: join(self.exits, other.exits), returns: join(self.returns, other.returns) }
    }

    fn map(self, change: impl Fn(Code) -> Code) -> Self {
        Outs { exits: self.exits.map(&change), returns: self.returns.map(&change) }
    }

    fn any(&self) -> Option<Code> {
        join(self.exits.clone(), self.returns.clone())
    }
}

/// What is known of a variable.
#[derive(Debug, Clone)]
struct Value {
    text: Option<String>,
    /// What `exit $it` would be.
    code: Code,
    /// Whether it is an exit code.
    is_status: bool,
    /// What it would be if a program that could fail had said nothing, and nobody had listened to its exit code.
    silence: Option<String>,
}

impl Value {
    fn unknown() -> Self {
        Value { text: None, code: Code::checks(), is_status: false, silence: None }
    }

    fn of(text: &str) -> Self {
        Value { text: Some(text.to_string()), code: number(text), is_status: false, silence: None }
    }

    fn is_number(&self) -> bool {
        self.is_status || self.text.as_ref().is_some_and(|text| text.parse::<i64>().is_ok())
    }
}

/// The exit code that a text stands for.
fn number(text: &str) -> Code {
    match text.trim().parse::<i64>() {
        Ok(number) if number % 256 == 0 => Code::passes(),
        Ok(_) => Code::fails(),
        // Without a number it is the last code, which mostly passes.
        Err(_) if text.is_empty() => Code::passes(),
        Err(_) => Code::fails(),
    }
}

/// The state of the walk.
#[derive(Debug, Default, Clone)]
struct Proof {
    functions: BTreeMap<String, Rc<FunctionBody>>,
    values: BTreeMap<String, Value>,
    errexit: bool,
    pipefail: bool,
    /// Whether this is the action of a trap, which runs who knows when.
    in_trap: bool,
    /// How many branches are around: what is assigned here may not be.
    branches: usize,
    /// How many conditions are around, in which `set -e` does nothing.
    conditions: usize,
    /// Whether this runs only where something failed.
    fallback: bool,
    /// `$?`
    last: Code,
    /// What `wait $!` would be, and `wait` for any of those in the background.
    started: Option<Code>,
    waiting: Option<Code>,
    outs: Outs,
    /// Whether this runs only where a check held, and whether a `break` or an `exit` that passes was met that does not.
    guarded: bool,
    broke: bool,
    /// How many loops are around, and something that is only waited for in them.
    loops: usize,
    waits: Option<Mask>,
    /// A check behind which the line ends well, so that what follows must fail.
    steered: Option<Mask>,
    /// What is assigned here stands for something that proves little.
    doubtful: Option<Mask>,
    /// A way out that passes, and how many checks were seen before it.
    early: Option<(usize, Mask)>,
    /// Checks that were seen.
    checks: usize,
    /// What variables hold that must be looked at, and how many branches are around that may be skipped.
    voices: BTreeMap<String, voices::Voice>,
    skips: usize,
    /// Whether this is run for what it prints, so that its exit code need not be heard.
    captured: bool,
    /// Whether something stands before this in a pipe, and what it may be without a word.
    fed: bool,
    /// Whether what this prints goes to another program or to a file, and how often something was printed that does not.
    piped: bool,
    prints: usize,
    /// Files that commands of this line wrote which say nothing of the work.
    made: BTreeSet<String>,
    /// The command before this one.
    before: String,
    /// Programs that were called, and the first command that only shows a text.
    called: Vec<String>,
    shown: Option<String>,
    refusal: Option<Mask>,
    steps: usize,
    depth: usize,
}

impl Proof {
    fn refuse(&mut self, mask: Mask) {
        self.refusal.get_or_insert(mask);
    }

    /// The code of a script that is run for what it prints.
    fn overheard(&mut self, script: &str) -> Code {
        let captured = std::mem::replace(&mut self.captured, true);
        let (early, steered, last) = (self.early.clone(), self.steered.clone(), self.last.clone());
        let (checks, prints) = (self.checks, self.prints);
        let (piped, guarded) = (std::mem::take(&mut self.piped), std::mem::take(&mut self.guarded));
        let code = self.apart(|proof| proof.script(script)).unwrap_or_else(Code::passes);
        self.own_words(script, checks, prints);
        (self.piped, self.guarded) = (piped, guarded);
        (self.early, self.steered, self.last) = (early, steered, last);
        self.captured = captured;
        code
    }

    /// The code of a script; none when it never comes to its end.
    fn script(&mut self, source: &str) -> Option<Code> {
        const SIMPLER: &str = "write it simpler, or put it into a script file and run that";
        if let Some(obstacle) = bounds::obstacle(source) {
            self.refuse(Mask::new(source, format!("holds {obstacle}"), SIMPLER));
            return None;
        }
        self.deeper(source, |proof| match bounds::parse(source) {
            Some(program) if second::agrees(source, &program) => proof.program(&program),
            Some(_) => {
                proof.refuse(Mask::new(source, "can be read in two ways", SIMPLER));
                None
            }
            None => {
                proof.refuse(Mask::new(source, "cannot be read as bash", "check quotes and brackets"));
                None
            }
        })
    }

    /// Refuses a check that is never reached.
    fn refuse_dead(&mut self, part: &str, walk: impl FnOnce(&mut Self)) {
        let mut twin = self.clone();
        walk(&mut twin);
        self.steps = twin.steps;
        if twin.checks > self.checks {
            self.refuse(Mask::new(part, "is never run", "leave out what stands before it"));
        }
    }

    /// Refuses what prints a text of its own beside what is checked: it may be all that is looked at.
    fn own_words(&mut self, part: &str, checks: usize, prints: usize) {
        if self.checks > checks && self.prints > prints {
            let why = "prints a text that stands there already beside what its programs say";
            let mend = "leave the `echo` or `cat` out, or write `&&` before it";
            self.refuse(Mask::new(part, why, mend));
        }
    }

    fn program(&mut self, program: &Program) -> Option<Code> {
        // Lines follow one another as if `;` stood between them.
        let items: Vec<_> = program.complete_commands.iter().flat_map(|list| &list.0).collect();
        self.items(&items)
    }

    fn deeper<T: Default>(&mut self, part: &str, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.steps += 1;
        if self.depth >= DEEPEST || self.steps > MOST_STEPS {
            self.refuse(Mask::new(
                part,
                "is more than can be followed",
                "put it into a script file and run that",
            ));
            return T::default();
        }
        self.depth += 1;
        let result = walk(self);
        self.depth -= 1;
        result
    }

    /// What may run or not.
    fn maybe<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.branches += 1;
        let result = walk(self);
        self.branches -= 1;
        result
    }

    /// What runs in a process of its own: its `exit` ends only that.
    fn apart(&mut self, walk: impl FnOnce(&mut Self) -> Option<Code>) -> Option<Code> {
        let (values, functions) = (self.values.clone(), self.functions.clone());
        let (errexit, pipefail) = (self.errexit, self.pipefail);
        let (broke, steered) = (self.broke, self.steered.take());
        let loops = std::mem::take(&mut self.loops);
        let voices: Vec<String> = self.voices.keys().cloned().collect();
        let (normal, outs) = self.with_outs(walk);
        (self.broke, self.steered, self.loops) = (broke, steered, loops);
        // Its variables end with it.
        if let Some(mask) = self.unheard_of(&voices) {
            self.refuse(mask);
        }
        let code = join(normal, outs.any());
        (self.values, self.functions) = (values, functions);
        (self.errexit, self.pipefail) = (errexit, pipefail);
        code
    }

    /// The code of something, and the ways out of it, which are the caller's to [`Proof::leave`] by.
    fn with_outs(&mut self, walk: impl FnOnce(&mut Self) -> Option<Code>) -> (Option<Code>, Outs) {
        let before = std::mem::take(&mut self.outs);
        let normal = walk(self);
        let new = std::mem::replace(&mut self.outs, before);
        (normal, new)
    }

    fn leave(&mut self, outs: Outs) {
        self.outs = std::mem::take(&mut self.outs).and(outs);
    }

    fn assign(&mut self, name: &str, mut value: Value) {
        if let Some(mask) = &self.doubtful {
            value.code = value.code.unheard(mask);
        }
        if self.branches > 0 {
            // Never set, it is empty, and `exit` without a number mostly passes.
            let never = || Value { code: Code::passes(), ..Value::unknown() };
            let old = self.values.remove(name).unwrap_or_else(never);
            let is_status = old.is_number() && value.is_number();
            let text = if old.text == value.text { value.text } else { None };
            let code = join(Some(old.code), Some(value.code)).unwrap_or_default();
            value = Value { text, code, is_status, silence: old.silence.or(value.silence) };
        }
        self.values.insert(name.to_string(), value);
    }
}
