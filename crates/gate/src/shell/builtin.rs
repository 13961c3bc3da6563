//! Commands of the shell itself, as far as they change what the following commands mean.

use super::run::InheritedIo;
use super::state::{Shell, Variable};
use super::value::{Piece, Stream, Taint, UnknownReason, Word};
use std::rc::Rc;

/// Does a part of a format, behind its `%`, ask for a number?
fn is_numeric_conversion(part: &str) -> bool {
    let part = part.trim_start_matches(|char: char| char.is_ascii_digit() || "-+ #.'*".contains(char));
    part.starts_with(['d', 'i', 'u', 'o', 'x', 'X', 'e', 'f', 'g'])
}

/// Is this a group of short flags with a letter?
pub(super) fn is_flag_with(word: &Word, letter: char) -> bool {
    let text = word.beginning();
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

/// Does this command take `NAME=value` words as assignments?
pub(super) fn declares(word: &Word) -> bool {
    word.text().is_some_and(|name| matches!(&*name, "export" | "declare" | "typeset" | "local" | "readonly"))
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
            "trap" => {
                let skipped = rest.iter().take_while(|word| word.beginning().starts_with('-')).count();
                if let Some(action) = rest.get(skipped) {
                    let text = self.source(std::slice::from_ref(action));
                    self.script(&text, &InheritedIo::default());
                }
            }
            "alias" => self.alias(rest),
            "hash" => self.hash(rest),
            "set" => self.set_options(words, around),
            "shift" => {
                self.check_numbers(rest);
                let count = rest.first().and_then(|word| word.text()?.parse().ok()).unwrap_or(1);
                let kept = self.state.positional.split_off(count.min(self.state.positional.len()));
                self.state.positional = kept;
            }
            "let" => rest.iter().for_each(|word| self.evaluate(word)),
            "jobs" if rest.iter().any(|word| word.is("-x")) => {
                let command = rest.iter().skip_while(|word| !word.is("-x")).skip(1).cloned().collect();
                return Some(self.call(command, Vec::new(), around));
            }
            "exit" | "return" | "break" | "continue" | ":" | "true" | "false" | "wait" | "times" | "jobs"
            | "getopts" | "shopt" | "umask" | "caller" | "suspend" | "logout" | "ulimit" => {
                self.plain_builtin(name, words, around);
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
                self.declare(rest);
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

    /// Forgets variables and functions.
    fn unset(&mut self, words: &[Word], around: &InheritedIo) {
        let rest = words.get(1..).unwrap_or_default();
        if rest.iter().any(|word| word.beginning().starts_with("HIST")) {
            self.emit(words.to_vec(), Vec::new(), around);
        }
        for name in rest.iter().filter(|word| !word.beginning().starts_with('-')) {
            self.check_name(name);
        }
        for name in rest.iter().filter_map(Word::text) {
            Rc::make_mut(&mut self.state.variables).remove(&*name);
            Rc::make_mut(&mut self.state.functions).remove(&*name);
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
                        self.notable(&name, std::slice::from_ref(&value));
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
        }
    }

    /// Options and positional parameters of this shell.
    fn set_options(&mut self, words: &[Word], around: &InheritedIo) {
        let rest = words.get(1..).unwrap_or_default();
        if rest.is_empty() || rest.iter().any(|word| word.is("history")) {
            self.emit(words.to_vec(), Vec::new(), around);
        }
        let ends = |word: &Word| {
            let text = word.beginning();
            text.starts_with('-') && !text.starts_with("--") && text.contains('e') || text == "errexit"
        };
        let mut options = rest.iter().take_while(|word| !word.is("--"));
        self.state.strict |= self.perhaps == 0 && options.any(ends);
        let traces = |word: &Word| word.is("xtrace") || is_flag_with(word, 'x');
        self.state.is_traced |= rest.iter().any(traces);
        self.state.exports_all |= rest.iter().any(|word| word.is("allexport") || is_flag_with(word, 'a'));
        if let Some(at) = rest.iter().position(|word| word.is("--")) {
            self.state.positional = rest.get(at + 1..).unwrap_or_default().to_vec();
        } else if rest.first().is_some_and(|word| !word.beginning().starts_with(['-', '+'])) {
            self.state.positional = rest.to_vec();
        }
    }

    /// Commands that completion and key bindings run.
    fn completion(&mut self, name: &str, rest: &[Word]) {
        // A list of words is expanded; the others are commands.
        if let Some(at) = rest.iter().position(|word| word.is("-W")) {
            let list = rest.get(at + 1).cloned().unwrap_or_default();
            self.prompt(&list);
        }
        let runs = |word: &&Word| matches!(word.text().as_deref(), Some("-C" | "-F" | "-x"));
        if let Some(at) = rest.iter().position(|word| runs(&word)) {
            let text = self.source(rest.get(at + 1..=at + 1).unwrap_or_default());
            let text = text
                .split_once(':')
                .filter(|_| name == "bind")
                .map_or(text.clone(), |(_, action)| action.to_string());
            self.script(&text, &InheritedIo::default());
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
        // With them `*` finds hidden files too, and `.ENV*` finds `.env`; nothing else here knows of it.
        if name == "shopt"
            && rest.iter().any(|word| word.is("dotglob") || word.is("nocaseglob"))
            && !rest.iter().any(|word| word.is("-u"))
        {
            self.state.finds_more = true;
        }
        self.emit(words.to_vec(), Vec::new(), around);
    }

    /// `cd`: where the next commands run.
    pub(super) fn enter(&mut self, words: &[Word]) {
        let target = words.iter().find(|word| !word.beginning().starts_with('-') || word.is("-"));
        let entered = match target {
            None => Word::known(self.home),
            Some(word) if word.is("-") => Word::unknown(UnknownReason::Variable, Taint::NONE),
            Some(word) => match (word.text(), self.directory().text()) {
                (Some(path), _) if path.starts_with('/') => Word::known(super::text::normal(&path)),
                (Some(path), Some(directory)) => {
                    Word::known(super::text::normal(&format!("{directory}/{path}")))
                }
                _ => {
                    let mut path = Word::default();
                    if !word.beginning().starts_with('/') {
                        path.pieces.extend(self.directory().pieces);
                        path.push("/", true);
                    }
                    path.pieces.extend(word.pieces.iter().cloned());
                    path
                }
            },
        };
        if self.charge(entered.size()) {
            self.state.directories = vec![entered];
        } else {
            self.state.directories = vec![Word::unknown(UnknownReason::Unreadable, Taint::NONE)];
        }
    }

    fn declare(&mut self, words: &[Word]) {
        let flags: String = words.iter().map(Word::beginning).filter(|text| text.starts_with('-')).collect();
        for word in words.iter().filter(|word| !word.beginning().starts_with(['-', '+'])) {
            let text = word.beginning();
            let Some((name, begun)) = text.split_once('=') else {
                self.check_name(word);
                if let Some(name) = word.text() {
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
            self.notable(&name, std::slice::from_ref(&value));
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
                self.attribute(&name, &flags);
                // `declare -a a='([x]=1)'` is read as a list again.
                if flags.contains(['a', 'A']) && value.beginning().starts_with('(') {
                    self.doubt("a list that is read from a text");
                }
                self.assign(&name, vec![value], append);
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
        if !flags.contains(['i', 'A', 'n']) {
            return;
        }
        let variables = Rc::make_mut(&mut self.state.variables);
        let known = variables.contains_key(name);
        let variable = variables.entry(name.to_string()).or_default();
        variable.integer |= flags.contains('i');
        variable.associative |= flags.contains('A');
        variable.reference |= flags.contains('n');
        if !known && flags.contains('i') {
            variable.choices = vec![vec![Word::known("0")]];
        }
        let values: Vec<Word> = variable.choices.iter().flatten().cloned().collect();
        if flags.contains('n') {
            values.iter().for_each(|value| self.check_name(value));
        }
    }

    /// `read`: the first line of what is certain, else anything.
    fn read(&mut self, words: &[Word], around: &InheritedIo) {
        let takes = |word: &Word| {
            matches!(word.text().as_deref(), Some("-a" | "-d" | "-i" | "-n" | "-N" | "-p" | "-t" | "-u"))
        };
        let mut names = Vec::new();
        let mut array = false;
        let mut index = 0;
        while let Some(word) = words.get(index) {
            if word.is("-a") {
                array = true;
            } else if takes(word) {
                index += 1;
            } else if !word.beginning().starts_with('-') {
                self.check_name(word);
                names.extend(word.text().map(std::borrow::Cow::into_owned));
            }
            index += 1;
        }
        if names.is_empty() {
            names.push("REPLY".to_string());
        }
        let taint = around.input.as_ref().map_or(Taint::NONE, |stream| stream.taint);
        let line = around
            .input
            .as_ref()
            .and_then(|stream| stream.text.as_deref()?.lines().next().map(str::to_string));
        match line {
            Some(line) => {
                let mut fields = line.split_whitespace();
                let last = names.len() - 1;
                if array {
                    let values: Vec<Word> = fields.map(Word::known).collect();
                    return names.first().cloned().map_or((), |name| self.assign(&name, values, false));
                }
                for (index, name) in names.iter().enumerate() {
                    let value = if index == last {
                        fields.by_ref().collect::<Vec<_>>().join(" ")
                    } else {
                        fields.next().unwrap_or_default().to_string()
                    };
                    self.assign(name, vec![Word::known(value)], false);
                }
            }
            None => {
                for name in names {
                    let splits = vec![Piece::Unknown { why: UnknownReason::Input, taint, splits: true }];
                    self.assign(&name, vec![Word { pieces: splits }], false);
                }
            }
        }
    }

    /// `mapfile`: lines become an array, and a callback runs as a command.
    fn map_file(&mut self, words: &[Word], around: &InheritedIo) {
        let mut index = 0;
        let mut name = "MAPFILE".to_string();
        while let Some(word) = words.get(index) {
            match word.text().as_deref() {
                Some("-C") => {
                    self.doubt("a command that runs for every line");
                    let text = self.source(words.get(index + 1..index + 2).unwrap_or_default());
                    self.script(&format!("{text} 0 \"$__line\""), &InheritedIo::default());
                    index += 1;
                }
                Some("-c" | "-d" | "-n" | "-O" | "-s" | "-u") => {
                    index += 1;
                    self.check_numbers(words.get(index..=index).unwrap_or_default());
                }
                Some(text) if text.starts_with("-C") => {
                    let callback = text.trim_start_matches("-C").to_string();
                    self.doubt("a command that runs for every line");
                    self.script(&format!("{callback} 0 \"$__line\""), &InheritedIo::default());
                }
                Some(text) if !text.starts_with('-') => {
                    self.check_name(word);
                    name = text.to_string();
                }
                None => self.check_name(word),
                _ => {}
            }
            index += 1;
        }
        let lines = around.input.as_ref().and_then(|stream| stream.text.clone());
        let values = match lines {
            Some(text) => text.lines().map(Word::known).collect(),
            None => {
                let taint = around.input.as_ref().map_or(Taint::NONE, |stream| stream.taint);
                vec![Word::unknown(UnknownReason::Input, taint)]
            }
        };
        self.assign(&name, values, false);
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
