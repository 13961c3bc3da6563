//! Simple commands: builtins that steer, wrappers, shells in shells, and what is known by name.

use super::looks::{Given, constant};
use super::programs::set_before;
use super::{Code, Mask, Outs, Proof, join, names, words};
use crate::shell::{base_name, is_shell};
use brush_parser::ast::{
    CommandPrefixOrSuffixItem as Item, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, SimpleCommand,
};

impl Proof {
    /// The text of a here-document or here-string, where it is certain.
    fn script_of(&self, redirect: &IoRedirect) -> Option<String> {
        match redirect {
            IoRedirect::HereDocument(_, document)
                if !document.requires_expansion || !document.doc.value.contains(['$', '`']) =>
            {
                Some(document.doc.value.clone())
            }
            IoRedirect::HereString(_, word) => self.text(&word.value),
            _ => None,
        }
    }

    pub(super) fn simple(&mut self, simple: &SimpleCommand) -> Option<Code> {
        let text = simple.to_string();
        self.evidence(simple, &text);
        let Some(name) = &simple.word_or_name else { return Some(self.assignments(simple, &text)) };
        let values: Vec<_> =
            set_before(simple).iter().map(|name| (name.clone(), self.values.get(name).cloned())).collect();
        let mut given: Vec<Given<'_>> = Vec::new();
        let mut document = None;
        let (mut fed, mut piped) = (self.fed, self.piped);
        let mut looked_at: Vec<String> = Vec::new();
        let mut inner = Vec::new();
        let declares = names::declares(&name.value);
        let mut redirected = |redirect: &IoRedirect, inner: &mut Vec<String>, proof: &Proof| {
            document = document.take().or(proof.script_of(redirect));
            inner.extend(process_of(redirect));
            match redirect {
                IoRedirect::File(_, IoFileRedirectKind::Read, _) => fed = feeds(redirect).unwrap_or(fed),
                IoRedirect::HereString(_, word) => {
                    inner.extend(Proof::substitutions(&word.value));
                    looked_at.push(word.value.clone());
                    fed = true;
                }
                IoRedirect::HereDocument(..) => fed = true,
                // Elsewhere it is not in the way.
                IoRedirect::File(..) | IoRedirect::OutputAndError(..) => piped = true,
            }
        };
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::AssignmentWord(assignment, word) => {
                    inner.extend(Proof::substitutions(&word.value));
                    self.assignment(assignment);
                }
                Item::IoRedirect(redirect) => redirected(redirect, &mut inner, self),
                Item::Word(_) | Item::ProcessSubstitution(..) => {}
            }
        }
        given.push((self.text(&name.value), &name.value));
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) => {
                    inner.extend(Proof::substitutions(&word.value));
                    given.push((self.text(&word.value), &word.value));
                }
                Item::AssignmentWord(assignment, word) => {
                    inner.extend(Proof::substitutions(&word.value));
                    if declares {
                        self.assignment(assignment);
                        self.keep(&word.value, &words::assigned(assignment));
                    }
                    given.push((self.text(&word.value), &word.value));
                }
                Item::IoRedirect(redirect) => redirected(redirect, &mut inner, self),
                Item::ProcessSubstitution(_, process) => {
                    inner.push(process.list.to_string());
                    given.push((None, "<(…)"));
                }
            }
        }
        if self.searches(simple) {
            looked_at.iter().for_each(|word| self.hear(word));
        }
        let before = (self.fed, self.piped);
        (self.fed, self.piped) = (fed, piped);
        let code = self.call(&given, document.as_deref(), &text);
        (self.fed, self.piped) = before;
        // Before a command they are for that command only.
        for (name, value) in values {
            match value {
                Some(value) => drop(self.values.insert(name, value)),
                None => drop(self.values.remove(&name)),
            }
        }
        let code = code?;
        let same = matches!(base_name(&name.value), "diff" | "cmp")
            && matches!(inner.as_slice(), [one, two] if one == two);
        let code = if same { Code::masked(constant(&text)) } else { code };
        Some(self.heard(code, &inner, &text))
    }

    /// Variables are set, and nothing else is done: the code is that of the last program in it.
    fn assignments(&mut self, simple: &SimpleCommand, text: &str) -> Code {
        let mut last: Option<(String, Code)> = None;
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            let Item::AssignmentWord(assignment, word) = item else { continue };
            let checks = self.checks;
            let name = words::assigned(assignment);
            let code = self.assignment(assignment);
            self.keep(&word.value, &name);
            let Some(code) = code else { continue };
            if let Some((name, _)) = last.take().filter(|(_, code)| code.is_check()) {
                self.expect(&name, text, false);
            }
            if self.checks > checks && !code.is_check() {
                // Something in it was checked, and only what it printed is left of that.
                self.expect(&name, text, false);
            }
            last = Some((name, code));
        }
        last.map_or_else(Code::passes, |(_, code)| code)
    }

    /// `rc=$?` keeps an exit code that must be looked at.
    fn keep(&mut self, source: &str, name: &str) {
        let array = source.contains("PIPESTATUS") && self.last.is_check();
        if array || self.is_of_status(source) && self.codes_in(&[source]).is_some_and(|code| code.is_check())
        {
            let part = self.before.clone();
            self.expect(name, &part, false);
        }
    }

    /// What runs inside the words of a command that says nothing itself is not heard.
    pub(super) fn heard(&mut self, code: Code, inner: &[String], text: &str) -> Code {
        let mut code = code;
        for script in inner {
            let checks = self.checks;
            self.overheard(script);
            if self.checks > checks && !code.strong && code.mask.is_none() {
                let why = format!("drops the exit code of `{}`", script.trim());
                let mask = Mask::new(text, why, "run it as a command of its own, or compare what it prints");
                code.mask = Some(mask);
            }
        }
        code
    }

    /// The code of `exit WORD`.
    fn left_with(&self, source: &str, text: &str) -> Code {
        let silent = self.sampled(source, words::Sample { status: None, silent: true });
        let passes = silent.is_some_and(|text| !text.is_empty() && !super::number(&text).fail);
        if passes && self.text(source).is_none() {
            let why = "passes also when the program in it fails without a word";
            return Code::masked(Mask::new(text, why, "run the program itself"));
        }
        self.code_of(source)
    }

    fn call(&mut self, given: &[Given<'_>], document: Option<&str>, text: &str) -> Option<Code> {
        let Some(((name, source), rest)) = given.split_first() else { return Some(Code::passes()) };
        let Some(name) = name else {
            if self.fallback {
                let why = "stands where only something that fails may stand, and which command it is cannot be seen";
                self.refuse(Mask::new(source, why, "write the command itself"));
            }
            // `$ok`
            self.hear(source);
            self.called.push((*source).to_string());
            return Some(self.check());
        };
        if let Some(body) = self.functions.get(name).cloned() {
            let steered = self.steered.take();
            let loops = std::mem::take(&mut self.loops);
            let (normal, outs) = self.with_outs(|proof| proof.deeper(text, |proof| proof.compound(&body.0)));
            self.loops = loops;
            // A `return` steers only within it.
            let own = self.steered.take().filter(|_| outs.exits.as_ref().is_some_and(|code| code.pass));
            self.steered = steered.or(own);
            self.leave(Outs { returns: None, ..outs.clone() });
            return join(normal, outs.returns);
        }
        let base = base_name(name);
        let literal = |index: usize| rest.get(index).and_then(|(text, _)| text.as_deref());
        if !is_shell(base) && !names::is_wrapper(base) {
            self.called.push(base.to_string());
        }
        if names::speaks(base) && !self.piped && !self.guarded {
            self.prints += 1;
        }
        if let Some(why) = changes(base, rest) {
            self.refuse(Mask::new(text, why, "leave it out"));
        }
        if let Some(code) = self.idle(base, rest, text) {
            return Some(code);
        }
        match base {
            "exit" | "return" => {
                let code = match rest.first() {
                    Some((_, source)) => {
                        self.hear(source);
                        for script in Proof::substitutions(source) {
                            self.overheard(&script);
                        }
                        self.left_with(source, text)
                    }
                    None => self.last.clone(),
                };
                if base == "exit"
                    && !code.fail
                    && let Some(mask) = self.silent_voice()
                {
                    self.refuse(mask);
                }
                let code = Code { strong: code.fail && code.strong, ..code };
                if code.pass && code.is_check() {
                    self.checks += 1;
                }
                self.broke |= code.pass && !code.fail && !self.guarded;
                if code.pass && !code.fail && !self.guarded && self.branches > 0 {
                    let why = "may end it with exit code 0 before it has checked anything";
                    let mask = Mask::new(text, why, "put it behind a check that holds, or leave it out");
                    self.early.get_or_insert((self.checks, mask));
                }
                let code = Some(code);
                self.leave(if base == "exit" {
                    Outs { exits: code, returns: None }
                } else {
                    Outs { exits: None, returns: code }
                });
                None
            }
            "break" => {
                self.broke |= !self.guarded;
                Some(Code::passes())
            }
            "exec" if rest.is_empty() => Some(Code::passes()),
            "exec" => {
                let code = self.call(rest, document, text)?;
                self.leave(Outs::exit(code));
                None
            }
            "false" => Some(Code::fails()),
            "eval" => match rest.iter().map(|(text, _)| text.clone()).collect::<Option<Vec<_>>>() {
                Some(words) => self.script(&words.join(" ")),
                None => {
                    self.refuse(unseen(text));
                    Some(self.check())
                }
            },
            "set" => {
                self.options(rest, text);
                Some(Code::passes())
            }
            "trap" => {
                self.trap(rest, text);
                Some(Code::passes())
            }
            "wait" if rest.is_empty() => Some(Code::masked(Mask::new(
                text,
                "without a number ends with exit code 0 whatever it waited for",
                "wait for the process by its number: `wait $!`",
            ))),
            "wait" => {
                let named =
                    rest.iter().rfind(|(text, _)| text.as_deref().is_none_or(|text| !text.starts_with('-')));
                let code = match named {
                    Some((None, source)) => self.code_of(source),
                    _ => self.waiting.clone().unwrap_or_else(Code::checks),
                };
                Some(code)
            }
            "let" => {
                let sums: Vec<&str> = rest.iter().map(|(_, source)| *source).collect();
                Some(self.counted(&sums, text))
            }
            "expr" if rest.iter().all(|(text, _)| text.is_some()) => Some(Code::masked(constant(text))),
            "expr" => Some(self.check()),
            "read" | "mapfile" | "readarray" | "printf" | "getopts" => {
                let words: Vec<String> = rest.iter().map(|(_, source)| (*source).to_string()).collect();
                let stores = base != "printf" || literal(0) == Some("-v");
                words.iter().filter(|_| stores).for_each(|word| self.touched(word));
                let always = base != "read" && base != "getopts" || document.is_some();
                Some(if always { Code::passes() } else { Code::weak() })
            }
            "." | "source" if literal(0) == Some("/dev/null") => Some(Code::passes()),
            "." | "source" => {
                if document.is_some()
                    || rest.first().is_some_and(|(text, source)| {
                        source.starts_with("<(")
                            || text.as_deref().is_some_and(|text| text.starts_with("/dev/"))
                    })
                {
                    self.refuse(unseen(text));
                }
                Some(Code::weak())
            }
            "test" | "[" => Some(self.tested(rest, text)),
            _ if is_shell(base) => Some(self.shell(rest, document, text)),
            "env" if rest.is_empty() => Some(Code::passes()),
            "command" | "builtin" | "which" | "type" | "hash"
                if matches!(base, "which" | "type" | "hash") || matches!(literal(0), Some("-v" | "-V")) =>
            {
                let mut names = rest.iter().filter_map(|(text, _)| text.as_deref());
                let always = |name: &str| {
                    name.starts_with('-')
                        || names::is_sure(name)
                        || names::is_weak(name)
                        || is_shell(name)
                        || matches!(name, "test" | "[")
                };
                if names.all(always) && rest.iter().all(|(text, _)| text.is_some()) {
                    return Some(Code::masked(constant(text)));
                }
                Some(self.check())
            }
            "env"
                if rest.iter().any(|(text, _)| {
                    text.as_deref()
                        .is_some_and(|text| text.starts_with("-S") || text.starts_with("--split-string"))
                }) =>
            {
                self.refuse(unseen(text));
                Some(self.check())
            }
            "setsid"
                if let Some(code) = self.particular(base, rest, text).filter(|code| code.mask.is_some()) =>
            {
                Some(code)
            }
            _ if names::is_wrapper(base) => self.call(peeled(base, rest), document, text),
            _ if names::runner(base).is_some_and(|word| literal(0) == Some(word)) => {
                self.call(peeled(base, rest.get(1..).unwrap_or_default()), document, text)
            }
            _ if names::is_sure(base) => Some(Code::passes()),
            _ if self.looks_at_itself(base, rest, document) => Some(Code::masked(constant(text))),
            // In a pipe, without files of its own.
            "cat" | "wc" | "sort" | "uniq" | "head" | "tail" | "nl" | "tr" | "cut" | "column" | "tee"
                if rest.iter().all(|(text, _)| text.as_deref().is_some_and(|text| text.starts_with('-'))) =>
            {
                Some(Code::passes())
            }
            _ if self.captured && names::is_asked(base) => Some(Code::weak()),
            _ => match self.particular(base, rest, text) {
                Some(code) => {
                    self.checks += usize::from(code.is_check());
                    Some(code)
                }
                None if names::is_weak(base) => Some(self.weakly(base, rest)),
                None => Some(self.check()),
            },
        }
    }

    pub(super) fn check(&mut self) -> Code {
        self.checks += 1;
        Code::checks()
    }

    /// `set -euo pipefail`
    fn options(&mut self, rest: &[Given<'_>], text: &str) {
        // What may not be reached protects nothing.
        let certain = self.branches == 0 || self.errexit;
        let mut words = rest.iter().map(|(text, _)| text.as_deref().unwrap_or_default());
        while let Some(word) = words.next() {
            let (on, letters) = match (word.strip_prefix('-'), word.strip_prefix('+')) {
                (Some("-"), _) | (None, None) => break,
                (Some(letters), _) => (true, letters),
                (None, Some(letters)) => (false, letters),
            };
            for letter in letters.chars() {
                match letter {
                    'e' => self.errexit = on && certain,
                    'o' => match words.next() {
                        Some("errexit") => self.errexit = on && certain,
                        Some("pipefail") => self.pipefail = on && certain,
                        Some("noexec") if on => self.refuse_noexec(text),
                        _ => {}
                    },
                    'n' if on => self.refuse_noexec(text),
                    _ => {}
                }
            }
        }
    }

    fn refuse_noexec(&mut self, text: &str) {
        self.refuse(Mask::new(
            text,
            "makes bash read everything behind it and run none of it",
            "leave it out",
        ));
    }

    /// `trap 'exit 0' EXIT` has the last word.
    fn trap(&mut self, rest: &[Given<'_>], text: &str) {
        let Some(((action, source), signals)) = rest.split_first() else { return };
        let of = |names: &[&str]| {
            signals.iter().any(|(signal, _)| signal.as_deref().is_none_or(|signal| names.contains(&signal)))
        };
        if of(&["DEBUG", "debug"]) {
            let why = "runs before every command, and may keep it from running";
            return self.refuse(Mask::new(text, why, "leave it out"));
        }
        if action.is_none() && self.only_tidies(source) {
            return;
        }
        let Some(action) = action else {
            let why = "has the last word on the exit code, and what it does cannot be seen";
            return self.refuse(Mask::new(text, why, "write what it does in single quotes"));
        };
        if signals.is_empty() || action.is_empty() || action == "-" {
            return;
        }
        let action = action.clone();
        let last = std::mem::replace(&mut self.last, Code::checks());
        let (values, early) = (std::mem::take(&mut self.values), self.early.clone());
        let options = (self.errexit, self.pipefail);
        self.in_trap = true;
        let (_, own) = self.with_outs(|proof| proof.script(&action));
        self.in_trap = false;
        (self.errexit, self.pipefail) = options;
        (self.values, self.early) = (values, early);
        self.last = last;
        match own.exits {
            Some(code) if code.pass && !code.is_check() => {
                let why = "ends the line with exit code 0 whatever happened";
                self.refuse(Mask::new(text, why, "let the trap only tidy up, without `exit`"));
            }
            Some(code) if !code.pass && of(&["ERR"]) => self.errexit = true,
            _ => {}
        }
    }

    /// `trap "kill $pid" EXIT`
    fn only_tidies(&self, source: &str) -> bool {
        let plain = source.trim_matches('"');
        let first = plain.split_whitespace().next().unwrap_or_default();
        let known = |name: &String| self.values.contains_key(name);
        names::prepares(first)
            && !plain.contains([';', '&', '|', '\n', '`', '(', '"'])
            && words::variables(source).iter().all(known)
    }

    /// A shell within the shell: it has its own options, and no pipefail.
    fn shell(&mut self, rest: &[Given<'_>], document: Option<&str>, text: &str) -> Code {
        let mut script = None;
        let mut takes = false;
        let mut options = Vec::new();
        let mut operands = rest.iter().peekable();
        while let Some((word, source)) = operands.next() {
            let Some(word) = word else {
                // A file, or a script that is not written here.
                if takes {
                    self.refuse(unseen(text));
                }
                self.called.push("a script".to_string());
                return self.check();
            };
            let is_option = word.starts_with(['-', '+']) && word.len() > 1;
            if !is_option {
                script = Some(word.clone());
                break;
            }
            takes |= word.starts_with('-') && !word.starts_with("--") && word.contains('c');
            options.push((Some(word.clone()), *source));
            if word.ends_with('o')
                && let Some((name, source)) = operands.peek()
            {
                options.push((name.clone(), *source));
                operands.next();
            }
        }
        let script = match (takes, script, document) {
            (true, Some(script), _) => script,
            (false, None, Some(document)) => document.to_string(),
            (false, Some(_), _) => {
                self.called.push("a script".to_string());
                return self.check();
            }
            _ if matches!(rest, [(Some(word), _)] if word == "--version") => return Code::passes(),
            // It reads what it runs from its standard input.
            _ => {
                self.refuse(unseen(text));
                return self.check();
            }
        };
        let outer = (std::mem::take(&mut self.functions), std::mem::take(&mut self.values));
        let (errexit, pipefail, conditions) = (self.errexit, self.pipefail, self.conditions);
        (self.errexit, self.pipefail, self.conditions) = (false, false, 0);
        let last = std::mem::replace(&mut self.last, Code::passes());
        let (branches, guarded) = (std::mem::take(&mut self.branches), std::mem::take(&mut self.guarded));
        self.options(&options.iter().map(|(text, source)| (text.clone(), *source)).collect::<Vec<_>>(), text);
        let code = self.apart(|proof| proof.script(&script)).unwrap_or_else(Code::passes);
        self.last = last;
        (self.branches, self.guarded) = (branches, guarded);
        (self.functions, self.values) = outer;
        (self.errexit, self.pipefail, self.conditions) = (errexit, pipefail, conditions);
        match code.mask {
            None if !code.fail => Code::masked(Mask::new(
                text,
                "cannot fail, so it proves nothing",
                "write a command whose exit code says whether it holds",
            )),
            _ => code,
        }
    }
}

/// Does a redirect give something to read? None when it is about something else.
pub(super) fn feeds(redirect: &IoRedirect) -> Option<bool> {
    match redirect {
        IoRedirect::File(_, IoFileRedirectKind::Read, IoFileRedirectTarget::Filename(word)) => {
            Some(word.value != "/dev/null")
        }
        IoRedirect::File(_, IoFileRedirectKind::Read, _)
        | IoRedirect::HereDocument(..)
        | IoRedirect::HereString(..) => Some(true),
        IoRedirect::File(..) | IoRedirect::OutputAndError(..) => None,
    }
}

/// The script in `< <(…)`.
pub(super) fn process_of(redirect: &IoRedirect) -> Option<String> {
    match redirect {
        IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(_, process)) => {
            Some(process.list.to_string())
        }
        IoRedirect::File(..)
        | IoRedirect::HereDocument(..)
        | IoRedirect::HereString(..)
        | IoRedirect::OutputAndError(..) => None,
    }
}

fn unseen(text: &str) -> Mask {
    Mask::new(
        text,
        "runs commands that cannot be seen here",
        "write the commands themselves, or name a script file",
    )
}

/// What changes the meaning of commands behind it.
fn changes(base: &str, rest: &[Given<'_>]) -> Option<&'static str> {
    let has = |wanted: &str| rest.iter().any(|(text, _)| text.as_deref() == Some(wanted));
    match base {
        "alias" if rest.iter().any(|(_, source)| source.contains('=')) => {
            Some("gives a command another meaning")
        }
        "shopt" if has("-s") && (has("extdebug") || has("expand_aliases")) => {
            Some("lets commands have another meaning, or be skipped")
        }
        "enable" if !rest.is_empty() => Some("gives a command another meaning"),
        "hash" if has("-p") => Some("gives a command another meaning"),
        _ => None,
    }
}

/// The words behind a wrapper and its own.
fn peeled<'w, 's>(name: &str, rest: &'w [Given<'s>]) -> &'w [Given<'s>] {
    let valued: &[&str] = match name {
        "nice" | "ionice" | "chrt" => &["-n", "-c", "-p"],
        "timeout" | "gtimeout" => &["-s", "-k", "--signal", "--kill-after"],
        "env" => &["-u", "-C", "-S"],
        "stdbuf" => &["-i", "-o", "-e"],
        "npx" => &["-p", "--package"],
        "sudo" => &["-u", "-g", "-C", "-D", "-h", "-p", "-r", "-t", "-T", "-U"],
        _ => &[],
    };
    let mut duration = matches!(name, "timeout" | "gtimeout");
    let mut at = 0;
    while let Some((word, source)) = rest.get(at) {
        let word = word.as_deref().unwrap_or(source);
        let assigns = name == "env" && word.contains('=') && !word.starts_with('=');
        if valued.contains(&word) {
            at += 2;
        } else if word.starts_with('-') || assigns {
            at += 1;
        } else if duration {
            duration = false;
            at += 1;
        } else {
            break;
        }
    }
    rest.get(at..).unwrap_or_default()
}
