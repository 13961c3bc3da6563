//! Programs that start others in ways of their own: on items, on files that they find, behind a flag, elsewhere.

use super::run::Around;
use super::state::Shell;
use super::value::{Piece, Stream, Taint, Why, Word};
use std::borrow::Cow;

/// How often a command is followed that runs for each of some lines.
const MOST_RUNS: usize = 16;

impl Shell<'_> {
    pub(super) fn xargs(&mut self, words: &[Word], around: &Around) -> Stream {
        const VALUES: [&str; 20] = [
            "-I",
            "-n",
            "-P",
            "-d",
            "-L",
            "-a",
            "-E",
            "-s",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
            "--max-lines",
            "--max-chars",
            "--replace",
            "-J",
            "-R",
            "-S",
            "--process-slot-var",
            "--eof",
        ];
        let rest = words.get(1..).unwrap_or_default();
        let mut index = 0;
        let mut replace = None;
        let mut separator = None;
        while let Some(word) = rest.get(index) {
            let flag = word.beginning();
            if !flag.starts_with('-') {
                break;
            }
            if word.is("--") {
                index += 1;
                break;
            }
            if word.is("-I") || word.is("-J") {
                replace = rest.get(index + 1).and_then(Word::text).map(Cow::into_owned);
            } else if let Some(text) = flag.strip_prefix("-I") {
                replace = Some(text.to_string());
            } else if word.is("-i") || word.is("--replace") {
                replace = Some("{}".to_string());
            }
            if word.is("-d") || word.is("--delimiter") {
                separator = rest.get(index + 1).and_then(|word| word.text()?.chars().next());
            } else if let Some(text) = flag.strip_prefix("-d").or_else(|| flag.strip_prefix("--delimiter=")) {
                separator = super::text::ansi_c(text).chars().next();
            } else if word.is("--null")
                || !flag.starts_with("--") && flag.contains('0') && !flag.contains(['n', 'P', 'L', 's', 'I'])
            {
                separator = Some('\0');
            }
            index += if VALUES.contains(&&*flag) { 2 } else { 1 };
        }
        let command = rest.get(index..).unwrap_or_default();
        let command = if command.is_empty() { vec![Word::known("echo")] } else { command.to_vec() };
        let known = around.input.as_ref().and_then(|stream| stream.text.clone());
        let taint = around.input.as_ref().map_or(Taint::NONE, |stream| stream.taint);
        let items: Vec<Word> = match &known {
            Some(text) => {
                let items = items(text, separator);
                if items.len() > super::MOST_WORDS {
                    self.doubt("more words from a pipe than can be followed");
                }
                items.into_iter().take(super::MOST_WORDS).map(Word::known).collect()
            }
            None => vec![Word { pieces: vec![Piece::Unknown { why: Why::Output, taint, splits: true }] }],
        };
        let quiet = Around { input: None, redirects: around.redirects.clone() };
        let Some(mark) = replace else {
            let inner = command.into_iter().chain(items).collect();
            return self.nested_list("xargs", inner, &quiet, words);
        };
        // The command runs once for each line.
        let lines: Vec<Word> = match &known {
            Some(text) => text.lines().map(|line| Word::known(line.trim_start())).collect(),
            None => items,
        };
        if lines.len() > MOST_RUNS {
            self.doubt("a command for more lines than can be followed");
        }
        let mut output = Stream::empty();
        for item in lines.iter().take(MOST_RUNS) {
            let inner = command.iter().map(|word| replaced(word, &mark, item)).collect();
            output = output.then(self.nested_list("xargs", inner, &quiet, words));
        }
        output
    }

    pub(super) fn parallel(&mut self, words: &[Word], around: &Around) -> Stream {
        let rest = words.get(1..).unwrap_or_default();
        let is_list = |word: &Word| word.text().is_some_and(|text| text.starts_with(":::"));
        let split = rest.iter().position(is_list).unwrap_or(rest.len());
        let command: Vec<Word> = rest
            .get(..split)
            .unwrap_or_default()
            .iter()
            .skip_while(|word| {
                word.beginning().starts_with('-')
                    || word.text().is_some_and(|text| text.parse::<u32>().is_ok())
            })
            .cloned()
            .collect();
        let lists: Vec<Vec<Word>> = match rest.get(split + 1..) {
            Some(items) => items.split(is_list).map(<[Word]>::to_vec).collect(),
            None => {
                let taint = around.input.as_ref().map_or(Taint::NONE, |stream| stream.taint);
                vec![match around.input.as_ref().and_then(|stream| stream.text.as_ref()) {
                    Some(text) => text.lines().map(Word::known).collect(),
                    None => {
                        let any = Piece::Unknown { why: Why::Output, taint, splits: true };
                        vec![Word { pieces: vec![any] }]
                    }
                }]
            }
        };
        let rounds = lists.iter().map(Vec::len).max().unwrap_or(0);
        if rounds > MOST_RUNS {
            self.doubt("a command for more lines than can be followed");
        }
        self.emit(words.to_vec(), Vec::new(), around);
        self.through.push("parallel".into());
        let mut taint = Taint::NONE;
        for round in 0..rounds.min(MOST_RUNS) {
            // Each item is taken with the last of the lists that are shorter.
            let items: Vec<Word> =
                lists.iter().filter_map(|list| list.get(round).or(list.last())).cloned().collect();
            let first = items.first().cloned().unwrap_or_default();
            let fill = |word: &Word| {
                let filled = replaced(word, "{}", &first);
                items
                    .iter()
                    .enumerate()
                    .fold(filled, |word, (at, item)| replaced(&word, &format!("{{{}}}", at + 1), item))
            };
            let mut line: Vec<Word> = command.iter().map(fill).collect();
            if line == command {
                line.extend(items);
            }
            // Its words are joined and read by a shell again, unless it is told to keep them.
            let text = self.source(&line);
            taint = taint.and(self.apart(|shell| shell.script(&text, &Around::default())).taint);
            self.deeper(|shell| shell.apart(|shell| shell.call(line, Vec::new(), &Around::default())));
        }
        self.through.pop();
        Stream::unknown(taint)
    }

    /// `make -f -` and files that this line wrote: the recipes are scripts.
    pub(super) fn make(&mut self, words: &[Word], around: &Around) {
        let rest = words.get(1..).unwrap_or_default();
        let named = rest.iter().enumerate().find_map(|(index, word)| match word.text()?.as_ref() {
            "-f" | "--file" | "--makefile" => rest.get(index + 1).cloned(),
            text => ["--file=", "--makefile=", "-f"]
                .iter()
                .find_map(|flag| text.strip_prefix(flag))
                .filter(|name| !name.is_empty())
                .map(Word::known),
        });
        let content = match &named {
            Some(name) => self.script_file(name, around),
            None => {
                ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|name| self.file(&Word::known(*name)))
            }
        };
        let mut texts: Vec<String> = Vec::new();
        match content {
            Some(Stream { text: Some(text), .. }) => {
                for line in text.lines().take(200) {
                    let recipe =
                        line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
                    texts.extend(
                        recipe.map(|recipe| recipe.trim_start_matches(['@', '-', '+', ' ']).to_string()),
                    );
                    texts.extend(
                        line.split_once("$(shell ").map(|(_, run)| run.trim_end_matches(')').to_string()),
                    );
                }
            }
            Some(Stream { text: None, taint }) => self.hidden(taint, "recipes that are not known"),
            None => {}
        }
        for word in rest {
            let text = word.beginning();
            if text.starts_with("--eval") || text.starts_with("SHELL=") {
                self.doubt("recipes that stand in the command");
                texts.extend(text.split_once(['=', ';']).map(|(_, run)| run.to_string()));
            }
            texts.extend(text.split_once("$(shell ").map(|(_, run)| run.trim_end_matches(')').to_string()));
        }
        for text in texts {
            self.through.push("make".into());
            // In a recipe `$$` is the dollar of the shell.
            self.apart(|shell| shell.script(&text.replace("$$", "$"), &Around::default()));
            self.through.pop();
        }
    }

    /// `find … -exec COMMAND {} ;`: the command runs on something below the start.
    pub(super) fn find(&mut self, base: &str, words: &[Word], around: &Around) -> Option<Stream> {
        let rest = words.get(1..).unwrap_or_default();
        let starts = |word: &Word| {
            matches!(
                word.text().as_deref(),
                Some("-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch")
            )
        };
        if !rest.iter().any(starts) {
            return None;
        }
        self.emit(words.to_vec(), Vec::new(), around);
        let start = match base {
            "find" | "gfind" => {
                rest.iter().find(|word| !word.beginning().starts_with(['-', '(', '!'])).cloned()
            }
            _ => None,
        };
        let mut item = start.filter(|word| !word.splits()).unwrap_or_else(|| Word::known("."));
        item.push("/", true);
        item.pieces.push(Piece::Unknown { why: Why::Output, taint: Taint::NONE, splits: false });
        let mut index = 0;
        while let Some(word) = rest.get(index) {
            index += 1;
            if !starts(word) {
                continue;
            }
            let tail = rest.get(index..).unwrap_or_default();
            let length = tail.iter().position(|word| word.is(";") || word.is("+")).unwrap_or(tail.len());
            let mut inner: Vec<Word> = tail
                .get(..length)
                .unwrap_or_default()
                .iter()
                .map(|word| replaced(word, "{}", &item))
                .collect();
            if base.starts_with("fd") && !tail.iter().any(|word| word.shown().contains("{}")) {
                inner.push(item.clone());
            }
            index += length;
            self.through.push(base.to_string());
            self.deeper(|shell| shell.apart(|shell| shell.call(inner, Vec::new(), &Around::default())));
            self.through.pop();
        }
        Some(Stream::unknown(Taint::NONE))
    }

    /// Programs that take a script behind a flag, or as their last words.
    pub(super) fn with_script_flag(&mut self, base: &str, words: &[Word], around: &Around) -> Option<Stream> {
        let rest = words.get(1..).unwrap_or_default();
        let flags: &[&str] = match base {
            "nix-shell" => &["--run", "--command"],
            "entr" => &["-s"],
            "tmux" | "screen" | "at" | "batch" => &[],
            _ => &["-c", "--command", "--session-command"],
        };
        // `-qc TEXT`: letters of several flags may stand together, and the text may be joined to its flag.
        let cluster = |text: &str| {
            let last = flags.first().filter(|flag| flag.len() == 2).and_then(|flag| flag.chars().last());
            text.len() > 2
                && !text.starts_with("--")
                && text.starts_with('-')
                && last.is_some_and(|last| text.ends_with(last))
        };
        let at = rest
            .iter()
            .position(|word| word.text().is_some_and(|text| flags.contains(&&*text) || cluster(&text)));
        let joined = rest.iter().find_map(|word| {
            let text = word.beginning();
            let value =
                flags.iter().find_map(|flag| text.strip_prefix(&format!("{flag}=")).map(str::to_string));
            value.filter(|_| text.starts_with("--"))
        });
        if let Some(text) = joined {
            self.apart(|shell| shell.script(&text, &Around::default()));
        }
        self.emit(words.to_vec(), Vec::new(), around);
        self.through.push(base.to_string());
        let output = match (base, at) {
            (_, Some(at)) => {
                let text = self.source(rest.get(at + 1..=at + 1).unwrap_or_default());
                self.apart(|shell| shell.script(&text, &Around::default()))
            }
            ("at" | "batch", None) => self.run_input(around),
            ("flock", None) => {
                let inner: Vec<Word> = rest
                    .iter()
                    .skip_while(|word| word.beginning().starts_with('-'))
                    .skip(1)
                    .cloned()
                    .collect();
                self.deeper(|shell| shell.call(inner, Vec::new(), around)).unwrap_or_default()
            }
            ("runuser" | "su", None) => {
                let after = rest.iter().position(|word| word.is("--"));
                let inner =
                    after.map(|at| rest.get(at + 1..).unwrap_or_default().to_vec()).unwrap_or_default();
                if inner.is_empty() {
                    Stream::unknown(Taint::NONE)
                } else {
                    self.deeper(|shell| shell.call(inner, Vec::new(), around)).unwrap_or_default()
                }
            }
            ("entr", None) => {
                let inner: Vec<Word> =
                    rest.iter().skip_while(|word| word.beginning().starts_with('-')).cloned().collect();
                self.deeper(|shell| shell.call(inner, Vec::new(), &Around::default())).unwrap_or_default()
            }
            ("tmux" | "screen", None) => {
                // The words that are commands for a shell cannot be told from others: each with a blank is read as one.
                for text in rest.iter().filter_map(Word::text).filter(|text| text.contains(' ')) {
                    let text = text.into_owned();
                    self.apart(|shell| shell.script(&text, &Around::default()));
                }
                Stream::unknown(Taint::NONE)
            }
            _ => Stream::unknown(Taint::NONE),
        };
        self.through.pop();
        Some(Stream::unknown(output.taint))
    }

    /// `docker exec NAME COMMAND…`, `kubectl exec POD -- COMMAND…`: the command runs elsewhere.
    pub(super) fn container(&mut self, words: &[Word], around: &Around) -> Option<Stream> {
        let texts: Vec<String> = words.iter().map(Word::shown).collect();
        let exec = texts.iter().position(|text| matches!(&**text, "exec" | "run" | "shell" | "ssh"))?;
        let rest = words.get(exec + 1..).unwrap_or_default();
        let after = rest.iter().position(|word| word.is("--"));
        let inner: Vec<Word> = match after {
            Some(at) => rest.get(at + 1..).unwrap_or_default().to_vec(),
            None => {
                const VALUES: [&str; 26] = [
                    "-e",
                    "--env",
                    "-u",
                    "--user",
                    "-w",
                    "--workdir",
                    "-v",
                    "--volume",
                    "-p",
                    "--publish",
                    "--name",
                    "--network",
                    "--mount",
                    "-n",
                    "--namespace",
                    "-c",
                    "--container",
                    "--entrypoint",
                    "-m",
                    "--memory",
                    "--cpus",
                    "-l",
                    "--label",
                    "--env-file",
                    "--platform",
                    "-h",
                ];
                let mut index = 0;
                while let Some(word) = rest.get(index) {
                    let text = word.beginning();
                    if !text.starts_with('-') {
                        break;
                    }
                    index += if VALUES.contains(&&*text) { 2 } else { 1 };
                }
                rest.get(index + 1..).unwrap_or_default().to_vec()
            }
        };
        self.emit(words.to_vec(), Vec::new(), around);
        if !inner.is_empty() {
            let elsewhere = std::mem::replace(&mut self.elsewhere, true);
            self.through.push(texts.first().cloned().unwrap_or_default());
            self.deeper(|shell| shell.apart(|shell| shell.call(inner, Vec::new(), around)));
            self.through.pop();
            self.elsewhere = elsewhere;
        }
        Some(Stream::unknown(Taint::NONE))
    }

    /// Editors and pagers: what stands behind `!` in their commands runs in a shell.
    pub(super) fn escapes(&mut self, base: &str, words: &[Word], around: &Around) {
        let rest = words.get(1..).unwrap_or_default();
        let mut commands: Vec<String> = Vec::new();
        for (index, word) in rest.iter().enumerate() {
            let text = word.shown();
            let next = || self.source(rest.get(index + 1..index + 2).unwrap_or_default());
            match text.as_str() {
                "-ex" | "-iex" | "--eval-command" => commands.push(next().replacen("shell ", "!", 1)),
                "-c" | "--cmd" | "-S" if base != "less" && base != "man" => commands.push(next()),
                "-P" | "--pager" | "-H" if base == "man" => commands.push(format!("!{}", next())),
                _ => {}
            }
            commands.extend(text.strip_prefix("--pager=").map(|pager| format!("!{pager}")));
            commands.extend(text.strip_prefix('+').map(str::to_string));
        }
        if let Some(text) =
            around.input.as_ref().and_then(|stream| stream.text.as_ref()).filter(|_| base != "less")
        {
            commands.extend(text.lines().take(64).map(str::to_string));
        }
        for command in commands {
            let run = command.split_once('!').map(|(_, run)| run.to_string()).or_else(|| {
                ["system(", "systemlist(", "termopen(", "jobstart("]
                    .iter()
                    .find_map(|call| command.split_once(call))
                    .map(|(_, text)| text.trim_matches(['\'', '"', ')', ' ', '[', ']']).to_string())
            });
            if let Some(run) = run.filter(|run| !run.trim().is_empty()) {
                self.through.push(base.to_string());
                self.apart(|shell| shell.script(&run, &Around::default()));
                self.through.pop();
            }
        }
    }

    /// `tar --to-command`, `--checkpoint-action=exec=`, `-I`: programs that an archiver starts.
    pub(super) fn archive(&mut self, words: &[Word]) {
        const FLAGS: [&str; 8] = [
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "-I",
            "-F",
        ];
        for (index, word) in words.iter().enumerate().skip(1) {
            let text = self.source(std::slice::from_ref(word));
            let value = FLAGS.iter().find_map(|flag| {
                if text == *flag {
                    return Some(self.source(words.get(index + 1..index + 2).unwrap_or_default()));
                }
                text.strip_prefix(flag)?.strip_prefix('=').map(str::to_string)
            });
            let Some(value) = value else { continue };
            let run = value.strip_prefix("exec=").map_or_else(
                || (!text.contains("checkpoint-action")).then(|| value.clone()),
                |run| Some(run.to_string()),
            );
            if let Some(run) = run {
                self.through.push("tar".into());
                self.apart(|shell| shell.script(&run, &Around::default()));
                self.through.pop();
            }
        }
    }

    /// `git -c alias.x='!…'`, `-c core.pager=…`, `rebase --exec …`, `bisect run …`: what git starts.
    pub(super) fn git(&mut self, words: &[Word]) {
        let mut runs: Vec<String> = Vec::new();
        for (index, word) in words.iter().enumerate().skip(1) {
            let text = word.beginning();
            let next = || self.source(words.get(index + 1..index + 2).unwrap_or_default());
            match &*text {
                "-c" | "--config" => {
                    let setting = next();
                    if let Some((key, value)) = setting.split_once('=') {
                        runs.extend(configured(&key.to_lowercase(), value));
                    }
                }
                "--exec"
                | "-x"
                | "--upload-pack"
                | "--receive-pack"
                | "--extcmd"
                | "--open-files-in-pager"
                | "--tree-filter"
                | "--index-filter"
                | "--msg-filter"
                | "--env-filter"
                | "--commit-filter" => {
                    runs.push(next());
                }
                "run" if words.get(index - 1).is_some_and(|word| word.is("bisect")) => {
                    runs.push(self.source(words.get(index + 1..).unwrap_or_default()));
                }
                "foreach" if words.get(index - 1).is_some_and(|word| word.is("submodule")) => {
                    runs.push(self.source(words.get(index + 1..).unwrap_or_default()));
                }
                "config" => {
                    let rest: Vec<&Word> = words
                        .iter()
                        .skip(index + 1)
                        .filter(|word| !word.beginning().starts_with('-'))
                        .collect();
                    if let [key, value] = rest.as_slice() {
                        runs.extend(configured(
                            &key.beginning().to_lowercase(),
                            &self.source(&[(*value).clone()]),
                        ));
                    }
                }
                _ => runs.extend(text.strip_prefix("--exec=").map(str::to_string)),
            }
        }
        for run in runs {
            self.through.push("git".into());
            self.apart(|shell| shell.script(&run, &Around::default()));
            self.through.pop();
        }
    }

    fn nested_list(&mut self, base: &str, inner: Vec<Word>, around: &Around, words: &[Word]) -> Stream {
        self.emit(words.to_vec(), Vec::new(), around);
        self.through.push(base.to_string());
        let output = self.deeper(|shell| shell.apart(|shell| shell.call(inner, Vec::new(), around)));
        self.through.pop();
        output.unwrap_or_else(|| Stream::unknown(Taint::NONE))
    }
}

/// The word with a mark replaced by another word.
fn replaced(word: &Word, mark: &str, item: &Word) -> Word {
    let mut result = Word::default();
    for piece in &word.pieces {
        match piece {
            Piece::Known { text, quoted } if text.contains(mark) => {
                for (index, part) in text.split(mark).enumerate() {
                    if index > 0 {
                        result.pieces.extend(item.pieces.iter().cloned());
                    }
                    if !part.is_empty() {
                        result.push(part, *quoted);
                    }
                }
            }
            other => result.pieces.push(other.clone()),
        }
    }
    result
}

/// The words that `xargs` makes of its input.
fn items(text: &str, separator: Option<char>) -> Vec<String> {
    let parts = |text: &str, is: &dyn Fn(char) -> bool| -> Vec<String> {
        text.split(is).filter(|part| !part.is_empty()).map(str::to_string).collect()
    };
    match separator {
        Some(separator) => parts(text.strip_suffix('\n').unwrap_or(text), &|char| char == separator),
        None => shlex::split(&text.replace('\0', " "))
            .unwrap_or_else(|| parts(text, &|char| char.is_whitespace() || char == '\0')),
    }
}

/// The command that a setting of git makes it run.
fn configured(key: &str, value: &str) -> Option<String> {
    let runs = key.starts_with("alias.") && value.starts_with('!')
        || matches!(
            key,
            "core.pager"
                | "core.editor"
                | "core.sshcommand"
                | "core.fsmonitor"
                | "core.askpass"
                | "core.gitproxy"
                | "diff.external"
                | "sequence.editor"
                | "credential.helper"
                | "gpg.program"
                | "web.browser"
        )
        || key.starts_with("pager.")
        || key.starts_with("filter.")
        || key.ends_with(".textconv")
        || key.ends_with(".cmd");
    runs.then(|| value.trim_start_matches('!').to_string())
}
