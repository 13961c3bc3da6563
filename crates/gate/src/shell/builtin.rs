//! Commands of the shell itself, as far as they change what the following commands mean.

use super::run::InheritedIo;
use super::state::{Shell, Variable};
use super::text::normal;
use super::value::{Piece, Stream, Taint, UnknownReason, Word};
use std::rc::Rc;

/// Does a part of a format, behind its `%`, ask for a number?
fn is_numeric_conversion(part: &str) -> bool {
    let part = part.trim_start_matches(|char: char| char.is_ascii_digit() || "-+ #.'*".contains(char));
    part.starts_with(['d', 'i', 'u', 'o', 'x', 'X', 'e', 'f', 'g'])
}

/// What `set -k` allows.
pub(super) const ASSIGNMENTS_ANYWHERE: &str = "assignments among the arguments of a command";

/// Is this a group of short flags with a letter?
pub(super) fn is_flag_with(word: &Word, letter: char) -> bool {
    let text = word.beginning();
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

/// Does this command take `NAME=value` words as assignments?
pub(super) fn declares(word: &Word) -> bool {
    word.text().is_some_and(|name| matches!(&*name, "export" | "declare" | "typeset" | "local" | "readonly"))
}

/// Does this command make variables of the function in which it stands?
pub(super) fn declares_locally(word: &Word) -> bool {
    word.text().is_some_and(|name| matches!(&*name, "declare" | "typeset" | "local"))
}

impl Shell<'_> {
    /// Runs a builtin; `None` for a program, and for a builtin that is judged like one.
    pub(super) fn builtin(&mut self, name: &str, words: &[Word], around: &InheritedIo) -> Option<Stream> {
        let rest = words.get(1..).unwrap_or_default();
        match name {
            "cd" | "pushd" | "chdir" => {
                self.enter(rest);
                self.emit(words.to_vec(), Vec::new(), around);
            }
            "popd" => {
                self.state.directories = vec![Word::unknown(UnknownReason::Variable, Taint::NONE)];
            }
            "unset" => self.unset(words, around),
            "read" => self.read(rest, around),
            "mapfile" | "readarray" => self.map_file(rest, around),
            "trap" => self.trap(rest),
            "alias" => self.alias(rest),
            "hash" => self.hash(rest),
            "set" => self.set_options(words, around),
            "shift" => {
                self.check_numbers(rest);
                self.shift(rest.first());
            }
            "let" => rest.iter().for_each(|word| self.evaluate(word)),
            "jobs" if rest.iter().any(|word| word.is("-x")) => {
                let command = rest.iter().skip_while(|word| !word.is("-x")).skip(1).cloned().collect();
                return Some(self.call(command, Vec::new(), around));
            }
            "exit" | "return" | "break" | "continue" | ":" | "true" | "false" | "wait" | "times" | "jobs"
            | "getopts" | "shopt" | "umask" | "caller" | "suspend" | "logout" | "ulimit" => {
                self.plain_builtin(name, words, around);
                // Whether it was reached is not known: what follows in the function may not run.
                if name == "return" && !self.calls.is_empty() {
                    self.perhaps += 1;
                }
            }
            _ => return self.builtin_with_output(name, rest, around),
        }
        Some(Stream::empty())
    }

    /// Builtins that print, run a script, or are judged like a program as well.
    fn builtin_with_output(&mut self, name: &str, rest: &[Word], around: &InheritedIo) -> Option<Stream> {
        match name {
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                // Without a name it prints all variables, with `-p` those that are named.
                let is_option = |word: &Word| word.beginning().starts_with('-');
                let prints = |word: &Word| is_option(word) && word.beginning().contains('p');
                if rest.iter().all(is_option) || rest.iter().any(prints) {
                    let words = std::iter::once(Word::known(name)).chain(rest.iter().cloned()).collect();
                    let value = |word: &Word| {
                        let name = word.text()?.into_owned();
                        let value = self.state.variables.get(&name)?.first()?.clone();
                        Some((name, value))
                    };
                    let shown = rest.iter().filter_map(value).collect();
                    self.emit(words, shown, around);
                }
                self.declare(name, rest);
                self.exported(name, rest);
                Some(Stream::unknown(Taint::NONE))
            }
            "complete" | "compgen" | "bind" => {
                self.completion(name, rest);
                // `compgen -G '.e*'` prints names that nothing here looks at.
                let is_list = |word: &Word| ["-b", "-c", "-k", "-W"].iter().any(|flag| word.is(flag));
                let is_known = name != "compgen" || rest.iter().any(is_list);
                Some(Stream::unknown(if is_known { Taint::NONE } else { Taint::CONTENT }))
            }
            "printf" => self.printf(rest),
            "eval" => Some(self.eval(rest, around)),
            "source" | "." => {
                let (path, arguments) = rest.split_first()?;
                Some(self.source_file(path, arguments, around))
            }
            "test" | "[" => {
                for pair in rest.windows(2) {
                    if let [flag, name] = pair
                        && (flag.is("-v") || flag.is("-R"))
                    {
                        self.check_name(name);
                    }
                }
                self.check_numbers(rest);
                None
            }
            "enable" => {
                let has = |letter: char| {
                    rest.iter()
                        .any(|word| word.beginning().starts_with('-') && word.beginning().contains(letter))
                };
                if has('f') {
                    self.doubt("a builtin that is loaded from a file");
                }
                if has('n') || has('d') {
                    self.doubt("a program in the place of a builtin");
                }
                None
            }
            _ => None,
        }
    }

    /// Keeps the action of a trap for the end, and judges it as it stands now.
    fn trap(&mut self, rest: &[Word]) {
        if rest.iter().any(Word::splits) {
            self.doubt("a trap whose action is not known");
        }
        let skipped = rest.iter().take_while(|word| word.beginning().starts_with('-')).count();
        let Some((action, signals)) = rest.get(skipped..).and_then(<[Word]>::split_first) else { return };
        if signals.is_empty() {
            return;
        }
        let text = self.source(std::slice::from_ref(action));
        let at_end = signals.iter().all(|signal| signal.is("EXIT") || signal.is("0"));
        let before = self.state.clone();
        self.script(&text, &InheritedIo::default());
        let same = self.state.variables == before.variables
            && self.state.directories == before.directories
            && self.state.functions.len() == before.functions.len();
        if !at_end && !same {
            self.doubt("a trap that changes what other commands do");
        }
        self.state = before;
        if self.traps.len() >= 8 {
            self.doubt("more traps than can be followed");
        } else if !self.traps.contains(&text) {
            self.traps.push(text);
        }
    }

    /// `shift N`: nothing is shifted where there are fewer arguments.
    fn shift(&mut self, count: Option<&Word>) {
        let count = match count {
            None => Some(1),
            Some(word) => word.text().and_then(|text| text.parse::<usize>().ok()),
        };
        match count {
            Some(count) if count <= self.state.positional.len() => {
                self.state.positional = self.state.positional.split_off(count);
            }
            Some(_) => {}
            None => self.doubt("a number of arguments that is not known"),
        }
    }

    /// Forgets variables and functions.
    fn unset(&mut self, words: &[Word], around: &InheritedIo) {
        let rest = words.get(1..).unwrap_or_default();
        if rest.iter().any(|word| word.beginning().starts_with("HIST")) {
            self.emit(words.to_vec(), Vec::new(), around);
        }
        let skipped = rest.iter().take_while(|word| word.beginning().starts_with('-')).count();
        let flags: String = rest.iter().take(skipped).map(Word::beginning).collect();
        let names = rest.get(skipped..).unwrap_or_default();
        names.iter().for_each(|name| self.check_name(name));
        for name in names.iter().filter_map(Word::text) {
            if !flags.contains('f') {
                self.unset_variable(&name);
            }
            if !flags.contains('v') && self.state.functions.contains_key(&*name) {
                // Without a flag a function goes only where no variable has its name.
                if !flags.contains('f') || self.readonly_functions.contains(&*name) {
                    self.doubt("a function that may be unset or not");
                }
                Rc::make_mut(&mut self.state.functions).remove(&*name);
            }
        }
    }

    /// Forgets a variable; one that a running function hides shows again.
    fn unset_variable(&mut self, name: &str) {
        if name == "PATH" {
            self.doubt("a search path that is not set");
        }
        let Some(variable) = self.state.variables.get(name).cloned() else { return };
        if variable.reference {
            return self.doubt("a reference that is unset");
        }
        if variable.readonly {
            return;
        }
        let hidden: Vec<Vec<Word>> = self
            .locals
            .iter()
            .filter_map(|locals| locals.get(name)?.0.as_ref())
            .flat_map(|variable| variable.choices.clone())
            .take(super::choices::MAX_CHOICES)
            .collect();
        let variables = Rc::make_mut(&mut self.state.variables);
        if hidden.is_empty() {
            variables.remove(name);
        } else {
            variables.insert(name.to_string(), Variable { choices: hidden, ..Variable::default() });
        }
    }

    /// `printf -v` assigns; formats for numbers evaluate their arguments.
    fn printf(&mut self, rest: &[Word]) -> Option<Stream> {
        match rest {
            [flag, variable, arguments @ ..] if flag.is("-v") => {
                self.check_name(variable);
                let plain: Option<Vec<_>> = arguments.iter().map(Word::text).collect();
                let plain = plain.and_then(|words| {
                    super::const_eval::printf(&words.iter().map(|word| &**word).collect::<Vec<_>>())
                });
                let taint = arguments.iter().fold(Taint::NONE, |sum, word| sum.and(word.taint()));
                let value = plain.map_or_else(|| Word::unknown(UnknownReason::Variable, taint), Word::known);
                match variable.text() {
                    Some(name) => {
                        let name = name.into_owned();
                        self.assign(&name, vec![value], false);
                    }
                    None => self.doubt("a variable whose name is not known"),
                }
                Some(Stream::empty())
            }
            [flag, ..] if flag.beginning().starts_with("-v") => {
                self.doubt("a variable whose name is not known");
                None
            }
            [format, arguments @ ..] => {
                // Some shells evaluate the argument of `%d`.
                if format.shown().split('%').skip(1).any(is_numeric_conversion) {
                    self.check_numbers(arguments);
                }
                None
            }
            [] => None,
        }
    }

    /// Walks the script that the words of `eval` make.
    fn eval(&mut self, rest: &[Word], around: &InheritedIo) -> Stream {
        if let Some(word) = rest.iter().find(|word| word.is_unknown()) {
            self.hidden(word.taint(), "a script that is not known");
        }
        self.spliced(rest);
        let environment =
            |piece: &Piece| matches!(piece, Piece::Unknown { why: UnknownReason::Variable, .. });
        if rest.iter().flat_map(|word| &word.pieces).any(environment) {
            self.doubt("a script into which a value from outside is put");
        }
        let decoded = rest.iter().any(|word| word.taint().has(Taint::DECODED));
        let text = self.source(rest);
        if decoded || self.was_encoded(&text) {
            self.doubt(super::doubt::Doubt::EncodedScript);
        }
        self.script(&text, around)
    }

    /// Walks a script in this shell, if its text is known.
    fn source_file(&mut self, path: &Word, arguments: &[Word], around: &InheritedIo) -> Stream {
        if let Some(content) = self.script_file(path, around) {
            return self.run_text(&content, arguments.to_vec(), around, false);
        }
        // Judged as a shell that is given the file: where it lies decides. What a tool chain or the person's own start-up
        // put into the home is theirs.
        if !path.text().is_some_and(|path| self.is_own_script(&path)) {
            self.emit(vec![Word::known("bash"), path.clone()], Vec::new(), around);
        }
        Stream::unknown(Taint::NONE)
    }

    /// Remembers aliases for the rest of the line.
    fn alias(&mut self, rest: &[Word]) {
        for word in rest {
            match word
                .text()
                .and_then(|text| text.split_once('=').map(|(a, b)| (a.to_string(), b.to_string())))
            {
                Some((name, text)) => {
                    Rc::make_mut(&mut self.state.aliases).insert(name, text);
                }
                None if word.text().is_none() => self.doubt("an alias that is not known"),
                None => {}
            }
        }
    }

    /// `hash -p PATH NAME` is an alias for the path.
    fn hash(&mut self, rest: &[Word]) {
        if let [flag, path, name] = rest
            && flag.is("-p")
            && let (Some(path), Some(name)) = (path.text(), name.text())
        {
            let (path, name) = (path.into_owned(), name.into_owned());
            Rc::make_mut(&mut self.state.aliases).insert(name, path);
        } else if rest.iter().any(|word| is_flag_with(word, 'p')) {
            self.doubt("another program in the place of a command");
        }
    }

    /// Options and positional parameters of this shell.
    fn set_options(&mut self, words: &[Word], around: &InheritedIo) {
        let rest = words.get(1..).unwrap_or_default();
        if rest.is_empty() || rest.iter().any(|word| word.is("history")) {
            self.emit(words.to_vec(), Vec::new(), around);
        }
        let mut index = 0;
        while let Some(word) = rest.get(index) {
            let text = word.beginning().into_owned();
            index += 1;
            if word.is("--") {
                self.state.positional = rest.get(index..).unwrap_or_default().to_vec();
                return;
            }
            if !text.starts_with(['-', '+']) {
                if text.is_empty() && word.text().is_none() {
                    self.doubt("options or arguments that are not known");
                }
                self.state.positional = rest.get(index - 1..).unwrap_or_default().to_vec();
                return;
            }
            let on = text.starts_with('-');
            for letter in text.chars().skip(1) {
                match letter {
                    'e' => self.state.strict = on && self.perhaps == 0,
                    'x' | 'v' => self.state.is_traced |= on,
                    'a' => self.state.exports_all |= on,
                    'k' if on => self.doubt(ASSIGNMENTS_ANYWHERE),
                    'o' => {
                        let option = rest.get(index).cloned().unwrap_or_default();
                        index += 1;
                        self.shell_option(&option, true, on);
                    }
                    _ => {}
                }
            }
        }
    }

    /// An option of the shell by its name, as `set -o` or as `shopt` has it.
    pub(super) fn shell_option(&mut self, option: &Word, of_set: bool, on: bool) {
        const SHOPT: [&str; 11] = [
            "globstar",
            "nullglob",
            "failglob",
            "extglob",
            "inherit_errexit",
            "huponexit",
            "checkwinsize",
            "checkhash",
            "cmdhist",
            "histappend",
            "sourcepath",
        ];
        match option.text().as_deref() {
            // With them `*` finds hidden files too, and `.ENV*` finds `.env`; nothing else here knows of it.
            Some("dotglob" | "nocaseglob") if on => self.state.finds_more = true,
            Some("dotglob" | "nocaseglob") => {}
            Some("errexit") if of_set => self.state.strict = on && self.perhaps == 0,
            Some("xtrace" | "verbose") if of_set => self.state.is_traced |= on,
            Some("allexport") if of_set => self.state.exports_all |= on,
            Some("posix") if of_set && on => self.doubt("a shell that follows POSIX"),
            Some("keyword") if of_set && on => self.doubt(ASSIGNMENTS_ANYWHERE),
            Some(_) if of_set || !on => {}
            Some(name) if SHOPT.contains(&name) => {}
            _ => self.doubt("an option of the shell that is not followed"),
        }
    }

    /// Commands that completion and key bindings run.
    fn completion(&mut self, name: &str, rest: &[Word]) {
        let takes = if name == "bind" { "xfqurmP" } else { "oAGWFCXPS" };
        for (letter, value) in super::read::short_options(rest, takes).0 {
            match (letter, value) {
                // A list of words is expanded; the others are commands.
                ('W', Some(list)) if name != "bind" => self.prompt(&list),
                ('C' | 'F' | 'x', Some(value)) => {
                    let text = self.source(std::slice::from_ref(&value));
                    let text = text
                        .split_once(':')
                        .filter(|_| name == "bind")
                        .map_or(text.clone(), |(_, action)| action.to_string());
                    self.script(&text, &InheritedIo::default());
                }
                _ => {}
            }
        }
        if name == "bind" && rest.iter().any(|word| word.is("-f") || word.shown().contains(':')) {
            self.doubt("a key that is bound to a command");
        }
    }

    /// A builtin that is judged like a program and changes nothing that is followed.
    fn plain_builtin(&mut self, name: &str, words: &[Word], around: &InheritedIo) {
        let rest = words.get(1..).unwrap_or_default();
        self.check_numbers(rest);
        let named = match name {
            "getopts" => rest.get(1),
            "wait" => rest.iter().position(|word| word.is("-p")).and_then(|at| rest.get(at + 1)),
            _ => None,
        };
        if let Some(word) = named {
            self.check_name(word);
        }
        if name == "shopt" {
            let on = !rest.iter().any(|word| is_flag_with(word, 'u'));
            let set = rest.iter().any(|word| is_flag_with(word, 'o'));
            for option in rest.iter().filter(|word| !word.beginning().starts_with('-')) {
                self.shell_option(option, set, on);
            }
        }
        self.emit(words.to_vec(), Vec::new(), around);
    }

    /// `cd`: where the next commands run.
    pub(super) fn enter(&mut self, words: &[Word]) {
        let target = words.iter().find(|word| !word.beginning().starts_with('-') || word.is("-"));
        let entered = match target {
            None => Word::known(self.home),
            Some(word) if word.is("-") => Word::unknown(UnknownReason::Variable, Taint::NONE),
            // What is not known may be an absolute path.
            Some(word) if word.beginning().is_empty() && word.text().is_none() => word.clone(),
            Some(word) => {
                let path = if word.beginning().starts_with('/') {
                    word.clone()
                } else {
                    self.directory().joined(word)
                };
                match path.text() {
                    Some(text) => {
                        let mut entered = Word::default();
                        // A pattern stays one: it finds what the disk holds, and a way back behind it is not of the text.
                        entered.push(
                            &if path.globs() { text.to_string() } else { normal(&text) },
                            !path.globs(),
                        );
                        entered
                    }
                    None => path,
                }
            }
        };
        if self.charge(entered.size()) {
            self.state.directories = vec![entered];
        } else {
            self.state.directories = vec![Word::unknown(UnknownReason::Unreadable, Taint::NONE)];
        }
    }

    fn declare(&mut self, declaration: &str, words: &[Word]) {
        let mut flags: String =
            words.iter().map(Word::beginning).filter(|text| text.starts_with('-')).collect();
        if declaration == "readonly" {
            flags.push('r');
        }
        if flags.contains('f') {
            let names: Vec<String> =
                words.iter().filter_map(Word::text).map(std::borrow::Cow::into_owned).collect();
            if declaration == "export" || flags.contains('x') {
                self.exported_functions.extend(names.iter().cloned());
            }
            if flags.contains('r') {
                self.readonly_functions.extend(names);
            }
            return;
        }
        if flags.contains(['l', 'u', 'c']) {
            self.doubt("a variable that changes the case of what it is set to");
        }
        let hides = matches!(declaration, "local" | "declare" | "typeset") && !flags.contains(['g', 'p']);
        for word in words.iter().filter(|word| !word.beginning().starts_with(['-', '+'])) {
            let text = word.beginning();
            let Some((name, begun)) = text.split_once('=') else {
                self.check_name(word);
                if let Some(name) = word.text() {
                    if hides {
                        self.hide(&name);
                    }
                    self.attribute(&name, &flags);
                }
                continue;
            };
            if name.contains('[') {
                self.check_name(&Word::known(name.trim_end_matches('+')));
            }
            let (name, append) = match name.strip_suffix('+') {
                Some(name) => (name.to_string(), true),
                None => (name.to_string(), false),
            };
            let mut value = Word::known(begun);
            value
                .pieces
                .extend(word.pieces.iter().skip_while(|piece| matches!(piece, Piece::Known { .. })).cloned());
            if hides {
                self.hide(name.split('[').next().unwrap_or(&name));
            }
            if flags.contains('n') {
                self.check_name(&value);
                let variable =
                    Variable { choices: vec![vec![value]], reference: true, ..Variable::default() };
                Rc::make_mut(&mut self.state.variables).insert(name, variable);
            } else {
                let value = match (flags.contains('l'), flags.contains('u'), value.text()) {
                    (true, _, Some(text)) => Word::known(text.to_lowercase()),
                    (_, true, Some(text)) => Word::known(text.to_uppercase()),
                    _ => value,
                };
                self.attribute(&name, &flags.replace('r', ""));
                // `declare -a a='([x]=1)'` is read as a list again.
                if flags.contains(['a', 'A']) && value.beginning().starts_with('(') {
                    self.doubt("a list that is read from a text");
                }
                self.assign(&name, vec![value], append);
                if flags.contains('r') {
                    self.attribute(&name, "r");
                }
            }
        }
    }

    /// `export NAME`, `declare -x NAME=value`: later programs inherit the variable.
    fn exported(&mut self, name: &str, words: &[Word]) {
        let has = |letter: char| words.iter().any(|word| is_flag_with(word, letter));
        let exports = if name == "export" { !has('n') } else { has('x') };
        if !exports {
            return;
        }
        for word in words.iter().filter(|word| !word.beginning().starts_with(['-', '+'])) {
            let text = word.beginning();
            let variable = text.split_once('=').map_or(&*text, |(variable, _)| variable);
            self.export(variable.trim_end_matches('+'));
        }
    }

    /// `declare -i NAME`: attributes that change what later assignments mean.
    fn attribute(&mut self, name: &str, flags: &str) {
        if !flags.contains(['i', 'A', 'n', 'r']) {
            return;
        }
        let variables = Rc::make_mut(&mut self.state.variables);
        let known = variables.contains_key(name);
        let variable = variables.entry(name.to_string()).or_default();
        variable.integer |= flags.contains('i');
        variable.associative |= flags.contains('A');
        variable.reference |= flags.contains('n');
        variable.readonly |= flags.contains('r');
        if !known && flags == "r" {
            variable.choices = vec![vec![super::choices::absent(name)]];
        }
        if !known && flags.contains('i') {
            variable.choices = vec![vec![Word::known("0")]];
        }
        let values: Vec<Word> = variable.choices.iter().flatten().cloned().collect();
        if flags.contains('n') {
            values.iter().for_each(|value| self.check_name(value));
        }
    }

    /// Words as the text of a script: what is not known stands as a variable that is not set.
    pub(super) fn source(&self, words: &[Word]) -> String {
        let text = |word: &Word| -> String {
            word.pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Known { text, .. } => text.as_str(),
                    Piece::Unknown { .. } => "${__unknown}",
                })
                .collect()
        };
        words.iter().map(text).collect::<Vec<_>>().join(" ")
    }
}
