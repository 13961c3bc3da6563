//! Programs that start others in ways of their own: on items, on files that they find, behind a flag, elsewhere.

use crate::shell::run::InheritedIo;
use crate::shell::state::Shell;
use crate::shell::value::{Piece, Stream, Taint, Word};
use std::borrow::Cow;

impl Shell<'_> {
    /// `make -f -` and files that this line wrote: the recipes are scripts.
    pub(in crate::shell) fn make(&mut self, words: &[Word], around: &InheritedIo) {
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
            let assigned = text.split_once('=').filter(|_| !text.starts_with('-'));
            let own = assigned.is_some_and(|(name, _)| {
                let name = name.trim_end_matches([':', '+', '?', '!']);
                matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | "MAKEFILES" | "MAKE")
            });
            if text.starts_with("--eval") || text.starts_with("-E") || own {
                self.doubt("recipes that stand in the command");
                texts.extend(text.split_once(['=', ';']).map(|(_, run)| run.to_string()));
            }
            // A variable is put into recipes as it stands.
            if let Some((_, value)) = assigned
                && value.contains([';', '|', '&', '`', '\n', '<', '>'])
            {
                self.doubt("a variable that holds commands");
                texts.push(value.to_string());
            }
            texts.extend(text.split_once("$(shell ").map(|(_, run)| run.trim_end_matches(')').to_string()));
        }
        for text in texts {
            self.through.push("make".into());
            // In a recipe `$$` is the dollar of the shell.
            self.apart(|shell| shell.script(&text.replace("$$", "$"), &InheritedIo::default()));
            self.through.pop();
        }
    }

    /// Programs that take a script behind a flag, or as their last words.
    pub(in crate::shell) fn with_script_flag(
        &mut self,
        base: &str,
        words: &[Word],
        around: &InheritedIo,
    ) -> Option<Stream> {
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
            self.apart(|shell| shell.script(&text, &InheritedIo::default()));
        }
        self.emit(words.to_vec(), Vec::new(), around);
        self.through.push(base.to_string());
        let output = match (base, at) {
            (_, Some(at)) => {
                self.spliced(rest.get(at + 1..=at + 1).unwrap_or_default());
                let text = self.source(rest.get(at + 1..=at + 1).unwrap_or_default());
                self.apart(|shell| shell.script(&text, &InheritedIo::default()))
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
                self.deeper(|shell| shell.call(inner, Vec::new(), &InheritedIo::default()))
                    .unwrap_or_default()
            }
            ("tmux" | "screen", None) => {
                // The words that are commands for a shell cannot be told from others: each with a blank is read as one.
                for text in rest.iter().filter_map(Word::text).filter(|text| text.contains([' ', '('])) {
                    let text = text.into_owned();
                    if text.contains("#(") {
                        self.doubt("a format that runs a command");
                    }
                    self.apart(|shell| shell.script(&text, &InheritedIo::default()));
                }
                Stream::unknown(Taint::NONE)
            }
            _ => Stream::unknown(Taint::NONE),
        };
        self.through.pop();
        Some(Stream::unknown(output.taint))
    }

    /// `docker exec NAME COMMAND…`, `kubectl exec POD -- COMMAND…`: the command runs elsewhere.
    pub(in crate::shell) fn container(&mut self, words: &[Word], around: &InheritedIo) -> Option<Stream> {
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
    pub(in crate::shell) fn escapes(&mut self, base: &str, words: &[Word], around: &InheritedIo) {
        let rest = words.get(1..).unwrap_or_default();
        let mut commands: Vec<String> = Vec::new();
        for (index, word) in rest.iter().enumerate() {
            let text = word.shown();
            let next = || self.source(rest.get(index + 1..index + 2).unwrap_or_default());
            match text.as_str() {
                "-ex" | "-iex" | "--eval-command" => commands.push(next().replacen("shell ", "!", 1)),
                "-c" | "--cmd" | "-S" if base != "less" && base != "man" => commands.push(next()),
                "-P" | "--pager" | "-H" if base == "man" => commands.push(format!("!{}", next())),
                text if base == "man"
                    && (text.starts_with("-H") || text.starts_with("-P") || text.starts_with("--html")) =>
                {
                    self.doubt("a pager or a browser of the command's own");
                }
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
                self.apart(|shell| shell.script(&run, &InheritedIo::default()));
                self.through.pop();
            }
        }
    }

    /// `tar --to-command`, `--checkpoint-action=exec=`, `-I`: programs that an archiver starts.
    pub(in crate::shell) fn archive(&mut self, words: &[Word]) {
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
            let (name, attached) = match text.split_once('=').filter(|_| text.starts_with("--")) {
                Some((name, value)) => (name.to_string(), Some(value.to_string())),
                None => (text.clone(), None),
            };
            // Long options may be abbreviated, and `-I` may be joined to its value.
            let long =
                name.len() > 4 && FLAGS.iter().any(|flag| flag.starts_with("--") && flag.starts_with(&name));
            let value = if long || matches!(name.as_str(), "-I" | "-F") {
                Some(
                    attached
                        .unwrap_or_else(|| self.source(words.get(index + 1..index + 2).unwrap_or_default())),
                )
            } else {
                text.strip_prefix("-I").or_else(|| text.strip_prefix("-F")).map(str::to_string)
            };
            let Some(value) = value else { continue };
            let run = value.strip_prefix("exec=").map_or_else(
                || (!text.starts_with("--ch")).then(|| value.clone()),
                |run| Some(run.to_string()),
            );
            if let Some(run) = run {
                if !is_compressor(&run) {
                    self.doubt("a program that an archiver starts");
                }
                self.through.push("tar".into());
                self.apart(|shell| shell.script(&run, &InheritedIo::default()));
                self.through.pop();
            }
        }
    }

    /// `git -c alias.x='!…'`, `-c core.pager=…`, `rebase --exec …`, `bisect run …`: what git starts.
    pub(in crate::shell) fn git(&mut self, words: &[Word]) {
        let mut runs: Vec<String> = Vec::new();
        let mut kept: Vec<Vec<Word>> = Vec::new();
        for (index, word) in words.iter().enumerate().skip(1) {
            let text = word.beginning();
            if text.contains("ext::") {
                self.doubt("an address of git that runs a command");
            }
            let next = || self.source(words.get(index + 1..index + 2).unwrap_or_default());
            let (text, value) = match text.split_once('=').filter(|_| text.starts_with("--")) {
                Some((flag, value)) => (Cow::Owned(flag.to_string()), Some(value.to_string())),
                None => (text.clone(), None),
            };
            let next = || value.clone().unwrap_or_else(next);
            match &*text {
                // It notes the commit that is picked.
                "-x" if words.get(1).is_some_and(|verb| verb.is("cherry-pick")) => {}
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
                | "--to-cmd"
                | "--cc-cmd"
                | "--sendmail-cmd"
                | "--tree-filter"
                | "--index-filter"
                | "--msg-filter"
                | "--env-filter"
                | "--commit-filter" => {
                    runs.push(next());
                }
                "run" if words.get(index - 1).is_some_and(|word| word.is("bisect")) => {
                    // Versions of git join the words or keep them: both are walked.
                    let own = words.get(index + 1..).unwrap_or_default().to_vec();
                    runs.push(self.source(&own));
                    kept.push(own);
                }
                "foreach" if words.get(index - 1).is_some_and(|word| word.is("submodule")) => {
                    let own =
                        words.iter().skip(index + 1).skip_while(|word| word.beginning().starts_with('-'));
                    let own: Vec<Word> = own.cloned().collect();
                    runs.push(self.source(&own));
                    kept.push(own);
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
                _ => {}
            }
        }
        for own in kept.into_iter().filter(|own| !own.is_empty()) {
            self.spliced(&own);
            self.through.push("git".into());
            self.deeper(|shell| shell.apart(|shell| shell.call(own, Vec::new(), &InheritedIo::default())));
            self.through.pop();
        }
        for run in runs {
            self.through.push("git".into());
            self.apart(|shell| shell.script(&run, &InheritedIo::default()));
            self.through.pop();
        }
    }
}

/// Is this a program that compresses, with its own flags?
fn is_compressor(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let known = [
        "gzip", "pigz", "bzip2", "pbzip2", "lbzip2", "xz", "pixz", "zstd", "zstdmt", "lz4", "lzma", "lzip",
        "brotli",
    ];
    words.next().is_some_and(|name| known.contains(&name)) && words.all(|word| word.starts_with('-'))
}

/// The word with a mark replaced by another word.
pub(in crate::shell) fn replaced(word: &Word, mark: &str, item: &Word) -> Word {
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
