//! Programs that start other programs: what they start is judged as if it stood alone.

mod env_split;
mod file_list;
mod followed_files;
mod options;
mod per_item;
mod runners;
mod search;
mod shells;
mod special;
mod table;
mod traced;

#[cfg(test)]
pub(in crate::shell) use runners::runner_subcommands;
#[cfg(test)]
pub(in crate::shell) use table::{find, special};
pub(in crate::shell) use table::{
    grants_privileges, is_launcher, is_transparent, starts_per_item, switches_user,
};

use crate::shell::builtin::is_flag_with;
use crate::shell::const_eval;
use crate::shell::run::InheritedIo;
use crate::shell::state::{Locals, Segment, Shell, Variable};
use crate::shell::text::base_name;
use crate::shell::value::{Stream, Taint, Word};
use runners::InnerCommand;
pub(crate) use search::{finds_project_secrets, search_starts};
use std::borrow::Cow;
use std::rc::Rc;
pub(in crate::shell) use table::Special;

/// Shells: what they are given as text is a script.
pub(in crate::shell) const SHELLS: [&str; 13] =
    ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh", "pwsh", "yash"];

impl Shell<'_> {
    /// Walks a command without running it: functions, builtins and wrappers are entered, everything else is noted.
    pub(in crate::shell) fn call(
        &mut self,
        words: Vec<Word>,
        environment: Vec<(String, Word)>,
        around: &InheritedIo,
    ) -> Stream {
        if environment.is_empty() {
            return self.walk_call(words, environment, around);
        }
        // What the command starts (`xargs`, a function, a shell) inherits them too.
        let before = self.state.prefixed.clone();
        Rc::make_mut(&mut self.state.prefixed).extend(environment.iter().cloned());
        let output = self.walk_call(words, environment, around);
        self.state.prefixed = before;
        output
    }

    fn walk_call(
        &mut self,
        words: Vec<Word>,
        environment: Vec<(String, Word)>,
        around: &InheritedIo,
    ) -> Stream {
        if !self.step() {
            return Stream::unknown(Taint::NONE);
        }
        let Some(first) = words.first() else { return Stream::empty() };
        let Some(name) = first.text().map(Cow::into_owned) else {
            self.emit(words, environment, around);
            return Stream::unknown(Taint::NONE);
        };
        if words.iter().any(|word| word.beginning().starts_with("BASH_FUNC_")) {
            self.doubt("a function from the environment");
        }
        if let Some(body) = self.state.functions.get(&name).cloned() {
            for (name, value) in &environment {
                self.notable(name, std::slice::from_ref(value));
            }
            let call = |shell: &mut Self| {
                shell
                    .with_environment(&environment, |shell| shell.call_function(&name, &body, &words, around))
            };
            if self.is_function_here(&name) {
                return call(self);
            }
            // What starts programs, or a shell of its own, does not know the function; both are judged.
            self.maybe(call);
        }
        let base = base_name(&name).to_string();
        if !environment.is_empty() || !name.contains('/') {
            for (name, value) in &environment {
                self.notable(name, std::slice::from_ref(value));
            }
        }
        if !name.contains('/')
            && let before = self.segments.len()
            && let Some(output) =
                self.with_environment(&environment, |shell| shell.builtin(&base, &words, around))
        {
            // What it reads and writes counts, whatever it is.
            if self.segments.len() == before && !around.redirects.is_empty() {
                self.emit(Vec::new(), Vec::new(), around);
            }
            return output;
        }
        if base == "env" && self.is_unset_by_env(words.get(1..).unwrap_or_default()) {
            self.doubt("a variable of the line that is taken from the environment");
        }
        self.tool_script(&base, &words, around);
        self.file_list(&base, &words, around);
        if let Some(output) = self.launch(&base, &words, &environment, around) {
            return output;
        }
        let output = const_eval::output(self, &base, &words, around.input.as_ref());
        if let (true, Some(output)) = (base == "tee", &output) {
            for target in words.iter().skip(1).filter(|word| !word.beginning().starts_with('-')) {
                if let Some(path) = self.place(target) {
                    self.files.insert(path, output.clone());
                }
            }
        }
        let numbers =
            self.keeps_output && crate::shell::numbers::are_printed(&base, &words, around.input.as_ref());
        self.copied(&base, &words);
        let taint = if self.keeps_output {
            (self.taints)(&base, &words, &self.state.directories)
        } else {
            Taint::NONE
        };
        self.downloaded(&base, &words);
        if name.contains('/')
            && let Some(content) = self.written(words.first())
        {
            self.emit(words, environment, around);
            return self.run_text(&content, Vec::new(), around, true);
        }
        self.emit(words, environment, around);
        let flowing = around.input.as_ref().map_or(Taint::NONE, |stream| {
            stream.taint.and(self.named_places(stream.text.as_deref().unwrap_or_default()))
        });
        match output {
            Some(output) => Stream { taint: output.taint.and(taint), ..output },
            None => Stream::unknown(flowing.and(taint).numeric(numbers)),
        }
    }

    /// Does a name mean the function of the line for certain? Programs that start others know none, and a shell that is
    /// started knows those that are exported.
    fn is_function_here(&self, name: &str) -> bool {
        const KEEPERS: [&str; 6] = ["bash", "xargs", "parallel", "find", "timeout", "nice"];
        let depth = self.function_depths.get(name).copied().unwrap_or(0);
        let around = self.through.get(depth..);
        let is_inherited = |around: &[String]| {
            self.exported_functions.contains(name)
                && around.last().is_some_and(|last| last == "bash")
                && around.iter().all(|name| KEEPERS.contains(&name.as_str()))
        };
        around.is_some_and(|around| around.is_empty() || is_inherited(around))
    }

    /// Does `env` take a variable of the line away: `-u NAME`, `-i`?
    fn is_unset_by_env(&self, words: &[Word]) -> bool {
        let variables = &self.state.variables;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.beginning();
            if word.is("-u") || word.is("--unset") {
                let name = words.next().and_then(Word::text);
                if name.is_some_and(|name| variables.contains_key(&*name)) {
                    return true;
                }
            } else if let Some(name) = ["--unset=", "-u"].iter().find_map(|flag| text.strip_prefix(flag)) {
                if variables.contains_key(name) {
                    return true;
                }
            } else if text == "-" || text == "--ignore-environment" || is_flag_with(word, 'i') {
                return !variables.is_empty();
            } else if !text.starts_with('-') && !text.contains('=') {
                return false;
            }
        }
        false
    }

    /// Runs a builtin or a function with variables that are set for it alone.
    fn with_environment<T>(&mut self, environment: &[(String, Word)], run: impl FnOnce(&mut Self) -> T) -> T {
        if environment.is_empty() {
            return run(self);
        }
        let old = self.state.variables.clone();
        let variables = Rc::make_mut(&mut self.state.variables);
        for (name, value) in environment {
            variables.insert(name.clone(), Variable::one(value.clone()));
        }
        let result = run(self);
        let variables = Rc::make_mut(&mut self.state.variables);
        for (name, _) in environment {
            match old.get(name) {
                Some(old) => variables.insert(name.clone(), old.clone()),
                None => variables.remove(name),
            };
        }
        result
    }

    fn call_function(
        &mut self,
        name: &str,
        body: &brush_parser::ast::FunctionBody,
        words: &[Word],
        around: &InheritedIo,
    ) -> Stream {
        if self.calls.iter().any(|running| running == name) {
            self.recursion = true;
            return Stream::unknown(Taint::NONE);
        }
        let positional =
            std::mem::replace(&mut self.state.positional, words.get(1..).unwrap_or_default().to_vec());
        let perhaps = self.perhaps;
        let loops = std::mem::take(&mut self.loops);
        self.calls.push(name.to_string());
        self.locals.push(Locals::new());
        let command = brush_parser::ast::Command::Compound(body.0.clone(), body.1.clone());
        let output = self.deeper(|shell| shell.entered(&command, around));
        // Behind a `return` that may have happened everything was walked as a branch.
        self.perhaps = perhaps;
        self.show_again();
        self.calls.pop();
        self.loops = loops;
        self.state.positional = positional;
        output.unwrap_or_else(|| Stream::unknown(Taint::NONE))
    }

    /// What options of the shell make of words: `set -x` prints those that it runs, compares and assigns.
    pub(in crate::shell) fn apply_options(&mut self, words: &[Word]) {
        if self.state.finds_more && words.iter().any(Word::globs) {
            self.doubt("patterns that find more files than usual");
        }
        if self.state.is_traced && words.iter().any(|word| word.taint().has(Taint::SECRET)) {
            self.doubt("a trace that shows a variable with a key");
        }
    }

    /// Notes a command for the judge.
    pub(in crate::shell) fn emit(
        &mut self,
        words: Vec<Word>,
        environment: Vec<(String, Word)>,
        around: &InheritedIo,
    ) {
        let text = around.input.as_ref().and_then(|stream| stream.text.as_ref()).map_or(0, String::len);
        let mut inherited = self.inherited();
        inherited.retain(|own| !environment.contains(own));
        let values = inherited.iter().map(|(_, value)| value);
        let size = words.iter().chain(values).map(Word::size).sum::<usize>() + text;
        self.apply_options(&words);
        let fits = self.charge(64 + size);
        let input = if fits { around.input.clone() } else { None };
        let words = if fits { words } else { words.into_iter().take(1).collect() };
        let inherited = if fits { inherited } else { Vec::new() };
        self.segments.push(Segment {
            words,
            environment,
            inherited,
            redirects: around.redirects.clone(),
            input,
            directories: self.state.directories.clone(),
            through: self.through.clone(),
            elsewhere: self.elsewhere,
            piped: self.piped,
            depth: self.depth,
        });
    }

    /// A variable that changes what later programs do is noted on its own.
    pub(in crate::shell) fn notable(&mut self, name: &str, values: &[Word]) {
        if name == "POSIXLY_CORRECT" {
            self.doubt("a shell that follows POSIX");
        }
        if name == "PATH" {
            values.iter().for_each(|value| self.check_search_path(value));
        }
        let options = |value: &Word| value.shown().contains(['!', '+', '|', 'k', 'o', 'O', 'T', '…']);
        if matches!(name, "LESS" | "MORE" | "MANOPT") && values.iter().any(options) {
            self.doubt("options of a pager that run commands or write files");
        }
        if crate::shell::variables::is_notable(name) {
            let value = values.first().cloned().unwrap_or_default();
            self.emit(Vec::new(), vec![(name.to_string(), value.clone())], &InheritedIo::default());
            // Some hold a command, some a prompt in which commands run.
            let text = self.source(std::slice::from_ref(&value));
            if holds_command(name)
                && text.trim().contains(|char: char| char.is_whitespace() || ";|&$`(".contains(char))
            {
                self.through.push(name.to_string());
                self.apart(|shell| shell.script(&text, &InheritedIo::default()));
                self.through.pop();
            } else if matches!(name, "PS0" | "PS1" | "PS2" | "PS4") {
                self.prompt(&value);
            }
        }
    }

    /// Enters what a wrapper starts; `None` when the program starts nothing.
    fn launch(
        &mut self,
        base: &str,
        words: &[Word],
        environment: &[(String, Word)],
        around: &InheritedIo,
    ) -> Option<Stream> {
        let rest = words.get(1..).unwrap_or_default();
        if SHELLS.contains(&base) {
            return Some(self.apart(|shell| shell.shell_with(environment, base, words, around)));
        }
        match table::special(base) {
            Some(Special::Xargs) => return Some(self.xargs(words, around)),
            Some(Special::Parallel) => return Some(self.parallel(words, around)),
            Some(Special::Find) => return self.find(base, words, around),
            Some(Special::ScriptFlag) => return self.with_script_flag(base, words, around),
            Some(Special::Container) => return self.container(words, around),
            Some(Special::Fetched) => return self.fetched(base, words, around),
            Some(Special::Editor) => {
                self.escapes(base, words, around);
                return None;
            }
            Some(Special::Debugger) => self.escapes(base, words, around),
            Some(Special::Archive) => {
                self.archive(words);
                self.with_options(words, environment, around, "TAR_OPTIONS");
                return None;
            }
            Some(Special::Make) => {
                self.make(words, around);
                self.with_options(words, environment, around, "MAKEFLAGS");
                return None;
            }
            Some(Special::Git) => {
                self.git(words);
                return None;
            }
            None => {}
        }
        if base == "systemd-run" && rest.iter().any(|word| word.beginning().starts_with("--on-")) {
            self.doubt("a command that runs at another time");
        }
        if let Some(output) = self.runner(base, words, environment, around) {
            return Some(output);
        }
        let wrapper = table::find(base)?;
        if base == "command" && rest.first().is_some_and(|word| word.is("-v") || word.is("-V")) {
            self.emit(words.to_vec(), environment.to_vec(), around);
            return const_eval::output(self, base, words, None);
        }
        if base == "exec" && rest.is_empty() {
            // Only its redirections count, and they stay for the rest of the line: what they will hold is not known.
            self.emit(Vec::new(), environment.to_vec(), around);
            return Some(Stream::unknown(Taint::NONE));
        }
        let mut environment = environment.to_vec();
        let directories = self.state.directories.clone();
        let Some(inner) = self.peel(wrapper, rest, &mut environment) else {
            self.state.directories = directories;
            return None;
        };
        if wrapper.each {
            // Its flags may stand behind its first line too.
            self.peel_behind(wrapper, &inner);
            self.emit(words.to_vec(), environment, around);
            return Some(self.run_lines(base, &options::lines(wrapper, &inner)));
        }
        if wrapper.joins {
            let text = self.source(&inner);
            self.spliced(&inner);
            self.emit(words.to_vec(), environment, around);
            let elsewhere = self.elsewhere;
            self.elsewhere |= wrapper.elsewhere;
            self.through.push(base.to_string());
            // A machine of its own: nothing of this line's variables is known there.
            let output = self.apart(|shell| shell.script(&text, around));
            // The quotes of a script among the words are lost by joining; what was meant is looked at too.
            if inner.len() > 1 {
                self.deeper(|shell| shell.apart(|shell| shell.call(inner, Vec::new(), around)));
            }
            self.through.pop();
            self.elsewhere = elsewhere;
            self.state.directories = directories;
            return Some(Stream::unknown(output.taint));
        }
        let entered = self.state.directories != directories;
        let output = self.nested(base, inner, &environment, around, wrapper.elsewhere, words);
        if entered {
            self.state.directories = directories;
        }
        Some(output)
    }

    /// Enters the command that a runner starts.
    fn runner(
        &mut self,
        base: &str,
        words: &[Word],
        environment: &[(String, Word)],
        around: &InheritedIo,
    ) -> Option<Stream> {
        match runners::started(base, words.get(1..).unwrap_or_default())? {
            InnerCommand::Command(inner) => {
                Some(self.nested(base, inner.to_vec(), environment, around, false, words))
            }
            InnerCommand::Lines(lines) => {
                self.emit(words.to_vec(), environment.to_vec(), around);
                Some(self.run_lines(base, &lines))
            }
        }
    }

    /// Options that a variable adds to a program's own: the command is noted with them too.
    fn with_options(
        &mut self,
        words: &[Word],
        environment: &[(String, Word)],
        around: &InheritedIo,
        variable: &str,
    ) {
        let own = environment.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone());
        let value = own.or_else(|| self.named(variable).and_then(|variable| variable.first().cloned()));
        let (Some(value), Some((name, rest))) = (value, words.split_first()) else { return };
        let Some(text) = value.text() else {
            return self.doubt("options from a variable that is not known");
        };
        let options = text.split_whitespace().map(Word::known);
        let all = [name.clone()].into_iter().chain(options).chain(rest.iter().cloned()).collect();
        self.emit(all, Vec::new(), around);
    }

    /// Runs the command behind a wrapper, and notes the wrapper itself.
    fn nested(
        &mut self,
        base: &str,
        inner: Vec<Word>,
        environment: &[(String, Word)],
        around: &InheritedIo,
        elsewhere: bool,
        words: &[Word],
    ) -> Stream {
        let own = words.get(..words.len().saturating_sub(inner.len())).unwrap_or_default();
        if !table::is_plain(base) {
            self.emit(own.to_vec(), environment.to_vec(), &InheritedIo::default());
        }
        let was = self.elsewhere;
        self.elsewhere |= elsewhere;
        self.through.push(base.to_string());
        let output = self.deeper(|shell| shell.call(inner, environment.to_vec(), around));
        self.through.pop();
        self.elsewhere = was;
        output.unwrap_or_else(|| Stream::unknown(Taint::NONE))
    }

    /// `npx lerna exec -- X`: a tool that is fetched may be a runner itself.
    fn fetched(&mut self, base: &str, words: &[Word], around: &InheritedIo) -> Option<Stream> {
        let at = words.iter().skip(1).position(|word| !word.beginning().starts_with('-'))? + 1;
        let tool = words.get(at)?.text()?.into_owned();
        let Some(InnerCommand::Command(inner)) = runners::started(&tool, words.get(at + 1..)?) else {
            return None;
        };
        self.emit(words.to_vec(), Vec::new(), around);
        self.through.push(base.to_string());
        let output = self.deeper(|shell| shell.call(inner.to_vec(), Vec::new(), around));
        self.through.pop();
        output
    }

    /// Walks texts that a program hands to a shell.
    fn run_lines(&mut self, base: &str, lines: &[Word]) -> Stream {
        let mut taint = Taint::NONE;
        self.through.push(base.to_string());
        for line in lines {
            self.spliced(std::slice::from_ref(line));
            let text = self.source(std::slice::from_ref(line));
            taint = taint.and(self.apart(|shell| shell.script(&text, &InheritedIo::default())).taint);
        }
        self.through.pop();
        Stream::unknown(taint)
    }
}

/// The words of a command behind assignments, wrappers and runners, as they are typed in a line without quotes.
pub(in crate::shell) fn command_words<'w, 'l>(mut words: &'w [&'l str]) -> &'w [&'l str] {
    loop {
        let skipped = words.iter().take_while(|word| is_assignment(word)).count();
        words = words.get(skipped..).unwrap_or_default();
        let Some((name, rest)) = words.split_first() else { return words };
        let base = base_name(name);
        let subcommand = runners::runner_subcommands(base).find(|own| rest.starts_with(own));
        let own = match (table::find(base), table::special(base), subcommand) {
            (Some(wrapper), ..) if !wrapper.joins && !wrapper.each => wrapper.own_words(rest),
            (_, Some(Special::Fetched), _) => 0,
            (.., Some(subcommand)) => subcommand.len(),
            _ => return words,
        };
        let rest = rest.get(own..).unwrap_or_default();
        let flags = rest.iter().take_while(|word| word.starts_with('-')).count();
        words = rest.get(flags..).unwrap_or_default();
    }
}

/// Is this `NAME=…`?
pub(in crate::shell) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|char: char| char.is_ascii_digit())
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    })
}

/// Variables whose value is a command line.
fn holds_command(name: &str) -> bool {
    matches!(
        name,
        "PROMPT_COMMAND"
            | "EDITOR"
            | "VISUAL"
            | "PAGER"
            | "GIT_PAGER"
            | "GIT_EDITOR"
            | "GIT_SEQUENCE_EDITOR"
            | "GIT_SSH_COMMAND"
            | "GIT_EXTERNAL_DIFF"
            | "GIT_PROXY_COMMAND"
            | "LESSOPEN"
            | "LESSCLOSE"
            | "MANPAGER"
            | "BROWSER"
    )
}
