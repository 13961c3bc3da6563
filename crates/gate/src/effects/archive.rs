//! Archives: their members, their targets, and commands that packers run.

use super::argument_scan::generic;
use super::arguments::{Arguments, tail};
use super::arrivals;
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::words;
use crate::secrets;
use crate::shell::{Word, base_name};

/// Judges the program if it packs or unpacks.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    match base {
        "tar" | "bsdtar" | "gtar" | "star" => tar(look),
        "zip" | "7z" | "7za" | "7zr" | "7zz" | "rar" => pack(look, base),
        "unzip" | "unrar" | "unar" | "atool" | "aunpack" | "dtrx" | "patool" | "ouch" | "cabextract"
        | "jar" => unpack(look, base),
        "cpio" | "pax" => copy(look, base),
        "ar" => {
            let words: Vec<Word> =
                look.rest().iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect();
            if let [mode, archive, members @ ..] = words.as_slice() {
                let reads = mode.beginning().contains(['t', 'p', 'x']);
                look.act(if reads { Act::Read } else { Act::Write }, archive);
                members.iter().for_each(|word| look.act(Act::Read, word));
            }
        }
        _ => return false,
    }
    true
}

/// `HOST:PATH`: the archive lies on another machine.
fn is_remote(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, path)| {
        !host.is_empty() && !host.contains('/') && !path.is_empty() && host.len() > 1
    })
}

fn pack(look: &mut Look<'_>, base: &str) {
    let arguments = Arguments::new(
        look.rest(),
        &["-x", "-i", "-P", "-n", "-s", "-t", "-b", "-tt", "-TT", "--unzip-command", "--password"],
    );
    let runs = look.rest().iter().any(|word| {
        let text = word.beginning();
        matches!(&*text, "-TT" | "--unzip-command")
            || text.starts_with("-TT")
            || text.starts_with("--unzip-command=")
    });
    if runs {
        look.ask("run.flag", "it runs a command to test the archive");
        for word in look.rest().to_vec() {
            look.nested(word.shown().trim_start_matches("-TT").trim_start_matches("--unzip-command="));
        }
    }
    let mut operands = arguments.operands.clone();
    if matches!(base, "7z" | "7za" | "7zr" | "7zz" | "rar") && !operands.is_empty() {
        let verb = operands.remove(0);
        let extracts = verb.is("x") || verb.is("e");
        if verb.is("d") {
            look.ask("archive.delete", "it deletes from an archive");
        }
        if extracts {
            let to = look
                .rest()
                .iter()
                .find(|word| word.beginning().starts_with("-o") && word.beginning().len() > 2)
                .cloned();
            let to = to.map_or_else(|| Word::known("."), |word| tail(&word, 2));
            unpacked(look, &to, operands.get(1..).unwrap_or_default(), arguments.has(&["-aos", "-aou"]));
            operands.iter().take(1).for_each(|word| look.act(Act::Read, word));
            return;
        }
    }
    if arguments.has(&["-m", "--move"]) && base == "zip" || arguments.has(&["-sdel"]) {
        look.ask("archive.move", "it deletes the files that it packs");
    }
    let standard =
        look.rest().iter().any(|word| matches!(word.text().as_deref(), Some("-so" | "-an" | "-si")));
    if let Some((archive, members)) = operands.split_first() {
        if !standard && !archive.is("-") {
            look.act(Act::Write, archive);
        } else {
            look.act(Act::Read, archive);
        }
        members.iter().for_each(|word| look.act(Act::Read, word));
        // A home directory locked with a password is how data is held to ransom.
        let locked = look.rest().iter().any(|word| {
            word.beginning().starts_with("-P")
                || word.beginning().starts_with("-p") && base != "zip"
                || word.is("-e")
                || word.is("--password")
        });
        if locked
            && members.iter().any(|word| matches!(look.place(word), Place::Home | Place::Root | Place::Vital))
        {
            look.deny("ransom", "it locks whole directories with a password");
        }
    }
    generic(look, false);
}

fn unpack(look: &mut Look<'_>, base: &str) {
    // For `unzip` alone, `-o` means to overwrite.
    let values: &[&str] = match base {
        "unzip" => &["-d", "-P", "-x"],
        _ => &["-d", "-P", "-x", "-C", "--output", "-o", "--directory", "--dir"],
    };
    let arguments = Arguments::new(look.rest(), values);
    let directory = arguments.values(&["-d", "-C", "-o", "--directory", "--output", "--dir"]).last().cloned();
    let lists = arguments.has(&["-l", "-v", "-t", "-Z", "-p", "-c", "--list"])
        || base == "jar" && arguments.operands.first().is_some_and(|word| word.beginning().starts_with('t'));
    if look.rest().iter().any(|word| word.is("-:")) {
        look.ask("archive.absolute", "it may write anywhere that the archive names");
    }
    for word in arguments.operands.iter().take(if lists { 9 } else { 1 }) {
        look.act(Act::Read, word);
    }
    if !lists {
        let directory = directory.unwrap_or_else(|| Word::known("."));
        let members = arguments.operands.get(1..).unwrap_or_default();
        unpacked(look, &directory, members, base == "unzip" && arguments.has(&["-n"]));
    }
    generic(look, false);
}

/// An archive is unpacked into a directory: all of it, or some members. `keeps` where files that are there stay as they are.
fn unpacked(look: &mut Look<'_>, directory: &Word, members: &[Word], keeps: bool) {
    look.act(Act::Write, directory);
    for member in members {
        arrivals::lands(look, directory, member.beginning().trim_start_matches("./"));
    }
    if members.is_empty() && !keeps && arrivals::has_hooks(look, directory) {
        look.ask("archive.hooks", "the archive may hold files that replace the hooks of this project");
    }
}

fn copy(look: &mut Look<'_>, base: &str) {
    let arguments = Arguments::new(
        look.rest(),
        &["-F", "-O", "-I", "-D", "-E", "-H", "-f", "-R", "--rsh-command", "--file", "-s", "-x", "-p"],
    );
    for value in arguments.values(&["--rsh-command"]) {
        look.ask("run.flag", "it runs a command of its own choice");
        look.nested(&value.shown());
    }
    for value in arguments.values(&["-F", "-f", "--file", "-I", "-E"]) {
        look.act(Act::Read, value);
    }
    for value in arguments.values(&["-O", "-D"]) {
        look.act(Act::Write, value);
    }
    generic(look, true);
    if base == "cpio"
        && (arguments.has(&["-i", "--extract"]) && !arguments.has(&["-t", "--list"])
            || arguments.has(&["-p", "--pass-through"]))
    {
        for word in &arguments.operands {
            look.act(Act::Write, word);
        }
        look.ask("archive.copy", "it writes any path that comes in");
    }
}

/// The words of `tar`.
#[derive(Default)]
struct TarArguments {
    /// Commands that it runs for what it packs.
    runs: Vec<Word>,
    archive: Option<Word>,
    directory: Option<Word>,
    operands: Vec<Word>,
    /// Letters of its flags, those of long flags included.
    mode: String,
    removes: bool,
}

impl TarArguments {
    fn new(words: &[Word]) -> Self {
        let mut parsed = TarArguments::default();
        let mut index = 0;
        while let Some(word) = words.get(index) {
            index += 1;
            let text = word.beginning();
            if text.starts_with("--") {
                parsed.long(word, words, &mut index);
            } else if text.starts_with('-') && text.len() > 1
                || index == 1 && !text.contains(['/', '.']) && text.len() < 8
            {
                parsed.letters(text.trim_start_matches('-'), words, &mut index);
            } else {
                parsed.operands.push(word.clone());
            }
        }
        parsed
    }

    fn long(&mut self, word: &Word, words: &[Word], index: &mut usize) {
        let text = word.beginning();
        let name = text.split('=').next().unwrap_or_default();
        let mut value = || match text.find('=') {
            Some(at) => Some(tail(word, at + 1)),
            None => {
                *index += 1;
                words.get(*index - 1).cloned()
            }
        };
        match name {
            "--create" => self.mode.push('c'),
            "--extract" | "--get" => self.mode.push('x'),
            "--list" => self.mode.push('t'),
            "--append" => self.mode.push('r'),
            "--update" => self.mode.push('u'),
            "--absolute-names" => self.mode.push('P'),
            "--remove-files" => self.removes = true,
            "--file" => self.archive = value(),
            "--directory" => self.directory = value(),
            name if words::TAR_COMMAND_FLAGS.matches(name) => self.runs.extend(value()),
            _ => {}
        }
    }

    fn letters(&mut self, letters: &str, words: &[Word], index: &mut usize) {
        self.mode.push_str(letters);
        for letter in letters.chars() {
            let value = words.get(*index);
            match letter {
                'f' => self.archive = value.cloned(),
                'C' => self.directory = value.cloned(),
                'I' | 'F' => self.runs.extend(value.cloned()),
                'X' | 'T' | 'b' | 'H' | 'V' | 'g' | 'K' | 'N' => {}
                _ => continue,
            }
            *index += 1;
        }
    }
}

fn tar(look: &mut Look<'_>) {
    let words = look.rest().to_vec();
    let TarArguments { runs, archive, directory, operands, mode, removes } = TarArguments::new(&words);
    if removes {
        look.ask("tar.remove", "it deletes the files that it packs");
    }
    for command in &runs {
        tar_command(look, command);
    }
    let creates = mode.contains(['c', 'r', 'u']);
    if let Some(target) = archive.as_ref().filter(|word| is_remote(&word.shown())) {
        let secret =
            operands.iter().any(|word| matches!(look.place(word), Place::Secret | Place::ProjectSecret));
        if creates || secret {
            look.deny(
                "send.file",
                format!("it packs files straight to another machine: `{}`", target.shown()),
            );
        } else {
            look.ask("fetch", "it unpacks an archive of another machine");
        }
    }
    // A device that was opened as a connection.
    let connection =
        look.segment.redirects.iter().any(|redirect| look.place(&redirect.target) == Place::Network)
            || archive.as_ref().is_some_and(|word| look.place(word) == Place::Network);
    if creates && connection {
        look.deny("send.file", "it packs files into a connection to another machine");
    }
    let archive = archive.filter(|word| !word.is("-"));
    if creates {
        operands.iter().for_each(|word| look.act(Act::Read, word));
        archive.iter().for_each(|word| look.act(Act::Write, word));
    } else if mode.contains('x') {
        // The name of a member tells what is unpacked, wherever it was packed.
        let secret = |word: &&Word| secrets::is_project_secret(base_name(&word.shown()));
        operands
            .iter()
            .filter(secret)
            .for_each(|word| look.act_at(Act::Read, Place::ProjectSecret, &word.shown()));
        archive.iter().for_each(|word| look.act(Act::Read, word));
        if mode.contains('P') {
            look.ask("tar.absolute", "it may write anywhere that the archive names");
        }
        let directory = directory.unwrap_or_else(|| Word::known("."));
        let keeps = words
            .iter()
            .any(|word| matches!(word.text().as_deref(), Some("--keep-old-files" | "--skip-old-files")))
            || mode.contains('k');
        unpacked(look, &directory, &operands, keeps);
    }
}

/// A command that `tar` runs: compressors and harmless actions are known, others are asked about.
fn tar_command(look: &mut Look<'_>, command: &Word) {
    let text = command.shown();
    let inner = text.strip_prefix("exec=").unwrap_or(&text);
    let action = inner.split('=').next().unwrap_or_default();
    let harmless = !text.starts_with("exec=") && words::TAR_ACTIONS.matches(action);
    if harmless || inner.split_whitespace().next().is_some_and(|name| words::COMPRESSORS.matches(name)) {
        return;
    }
    look.ask("tar.run", "it runs a command for what it packs");
    look.nested(inner);
}
