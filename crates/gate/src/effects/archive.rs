//! Archives: their members, their targets, and commands that packers run.

use super::argument_scan::generic;
use super::arguments::{Arguments, tail};
use super::arrivals;
use super::disk::reached;
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::{options, trees, words};
use crate::secrets;
use crate::shell::{RedirectKind, Word, base_name};

/// Judges the program if it packs or unpacks.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    match base {
        "tar" | "bsdtar" | "gtar" | "star" => tar(look, base),
        "zip" | "7z" | "7za" | "7zr" | "7zz" | "rar" => pack(look, base),
        "unzip" | "unrar" | "unar" | "atool" | "aunpack" | "dtrx" | "patool" | "ouch" | "cabextract"
        | "unsquashfs" | "lha" | "lhasa" | "arj" | "unace" | "zoo" | "zpaq" => unpack(look, base),
        "jar" => jar(look),
        "cpio" | "pax" => copy(look, base),
        "ar" => {
            let arguments =
                Arguments::new(look.rest(), &["--output", "--plugin", "--target", "--record-libdeps"]);
            let output = arguments.values(&["--output"]).last().cloned();
            let modes = look.rest().iter().filter(|word| {
                let text = word.beginning();
                text.starts_with('-') && !text.starts_with("--")
            });
            let modes = modes.map(|word| tail(word, 1));
            let words: Vec<Word> = modes.chain(arguments.operands.iter().cloned()).collect();
            if let [mode, archive, members @ ..] = words.as_slice() {
                let does = |letters: &[char]| mode.beginning().contains(letters);
                let reads = does(&['t', 'p', 'x']);
                look.act(if reads { Act::Read } else { Act::Write }, archive);
                if does(&['x']) {
                    let to = output.unwrap_or_else(|| Word::known("."));
                    unpacked(look, &to, members);
                } else {
                    members.iter().for_each(|word| look.act(Act::Read, word));
                }
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

/// What is packed comes from a list: from a file that nothing is known of, or through the pipe from what finds secrets.
fn listed(look: &mut Look<'_>, by_pipe: bool) {
    let redirected = look.segment.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read);
    if look.listed || !by_pipe || redirected {
        look.ask("archive.list", "which files it packs is not known from the line");
    }
    let text = look.segment.input.as_ref().and_then(|stream| stream.text.clone()).filter(|_| by_pipe);
    for name in text.iter().flat_map(|text| text.lines()).filter(|name| !name.is_empty()) {
        look.act(Act::Read, &Word::known(name));
    }
}

/// `@FILE` and `-i@FILE` of `7z` and `rar`: names from a list; `-i!` and `-ir!` are patterns.
fn is_list(word: &Word) -> bool {
    let text = word.beginning();
    text.starts_with('@') || text.starts_with("-i") && text.contains(['@', '!'])
}

/// The names that `-x NAME …` of `zip` and `-x!NAME` of `7z` leave out.
fn excluded(words: &[Word]) -> Vec<Word> {
    let behind = words.iter().skip_while(|word| !word.is("-x")).skip(1);
    let behind = behind.take_while(|word| !word.beginning().starts_with('-')).cloned();
    let attached = words.iter().filter_map(|word| {
        let text = word.beginning();
        let at = text.starts_with("-x").then(|| text.find('!'))??;
        Some(tail(word, at + 1))
    });
    behind.chain(attached).collect()
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
    if base == "zip" && arguments.has(&["-@", "--names-stdin"]) {
        listed(look, true);
    }
    let mut extracts_nothing = false;
    if matches!(base, "7z" | "7za" | "7zr" | "7zz" | "rar") && !operands.is_empty() {
        let verb = operands.remove(0);
        let extracts = verb.is("x") || verb.is("e");
        let packs = ["a", "u", "rn"].iter().any(|own| verb.is(own));
        extracts_nothing = verb.text().is_some_and(|verb| words::ARCHIVE_LISTING_VERBS.matches(&verb));
        if packs && look.rest().iter().any(is_list) {
            look.ask("archive.list", "which files it packs is not known from the line");
        }
        // Without names it packs everything that lies there.
        if packs && !verb.is("rn") && operands.len() < 2 && !arguments.has(&["-si"]) {
            operands.push(Word::known("."));
        }
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
            unpacked(look, &to, operands.get(1..).unwrap_or_default());
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
        let is_tree = base != "zip" || arguments.has(&["-r", "--recurse-paths", "-R"]);
        if is_tree && !extracts_nothing {
            trees::take(look, members, &excluded(look.rest()));
        }
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

/// Unpackers whose first operand is a verb.
const VERB_FIRST: [&str; 9] = ["unrar", "ouch", "patool", "lha", "lhasa", "arj", "unace", "zoo", "zpaq"];

fn unpack(look: &mut Look<'_>, base: &str) {
    // For `unzip` alone, `-o` means to overwrite.
    let values: &[&str] = match base {
        "unzip" => &["-d", "-P", "-x"],
        // `-d` makes a directory of the archive's own name.
        "unar" => &["-o", "-output-directory", "-p", "-e", "-E"],
        "lsar" => &["-p", "-e", "-E"],
        _ => &["-d", "-P", "-x", "-C", "--output", "-o", "--directory", "--dir", "--outdir", "-to"],
    };
    let arguments = Arguments::new(look.rest(), values);
    let to = ["-d", "-C", "-o", "-output-directory", "--directory", "--output", "--dir", "--outdir", "-to"];
    let mut directory = arguments.values(&to).last().cloned();
    let mut operands = arguments.operands.clone();
    let mut lists = arguments.has(&["-l", "-v", "-t", "-Z", "-p", "-c", "--list"]);
    if VERB_FIRST.contains(&base) && !operands.is_empty() {
        let verb = operands.remove(0);
        lists |= verb.text().is_some_and(|verb| words::ARCHIVE_LISTING_VERBS.matches(&verb));
        // `unrar x a.rar out/`
        let last = operands.get(1..).unwrap_or_default().last().filter(|word| word.end().ends_with('/'));
        if let Some(last) = last.cloned() {
            operands.pop();
            directory = Some(last);
        }
    }
    if look.rest().iter().any(|word| word.is("-:")) {
        look.ask("archive.absolute", "it may write anywhere that the archive names");
    }
    for word in operands.iter().take(if lists { 9 } else { 1 }) {
        look.act(Act::Read, word);
    }
    if !lists {
        let made = if base == "unsquashfs" { "squashfs-root" } else { "." };
        let directory = directory.unwrap_or_else(|| Word::known(made));
        // These take several archives, the others an archive and its members.
        let several = matches!(base, "ouch" | "patool" | "cabextract" | "dtrx" | "atool" | "aunpack");
        let members = if several { &[] } else { operands.get(1..).unwrap_or_default() };
        unpacked(look, &directory, members);
    }
    generic(look, false);
}

/// `jar xf a.jar`, `jar --extract --file a.jar`, `jar cf a.jar -C out .`
fn jar(look: &mut Look<'_>) {
    let words = look.rest().to_vec();
    let long = Arguments::new(
        &words,
        &["-f", "--file", "--dir", "-m", "--manifest", "-e", "--main-class", "-C", "--generate-index"],
    );
    // `xf`, `-xf` and `-x -f` mean the same.
    let bundle = words.first().map(Word::shown).filter(|text| !text.starts_with("--")).unwrap_or_default();
    let dashed = words.iter().skip(1).map(Word::shown).filter(|text| text.starts_with('-'));
    let dashed =
        dashed.filter(|text| !text.starts_with("--") && !text.starts_with("-C") && !text.starts_with("-J"));
    let letters: String = std::iter::once(bundle.clone()).chain(dashed).collect();
    let letters = letters.replace('-', "");
    let mut operands =
        if bundle.is_empty() { long.operands.clone() } else { words.get(1..).unwrap_or_default().to_vec() };
    operands.retain(|word| !word.beginning().starts_with('-'));
    let mut archive: Option<Word> = long.values(&["-f", "--file"]).next().cloned();
    if !bundle.is_empty() {
        // The values of the letters follow in their order.
        archive = None;
        for letter in letters.chars().filter(|letter| "fme".contains(*letter)) {
            let value = (!operands.is_empty()).then(|| operands.remove(0));
            match (letter, value) {
                ('f', value) => archive = value,
                ('m', Some(value)) => look.act(Act::Read, &value),
                _ => {}
            }
        }
    }
    let does = |letter: char, name: &str| letters.contains(letter) || long.has(&[name]);
    if does('x', "--extract") {
        archive.iter().for_each(|word| look.act(Act::Read, word));
        let to = long.values(&["--dir"]).next().cloned().unwrap_or_else(|| Word::known("."));
        unpacked(look, &to, &operands);
    } else if does('c', "--create") || does('u', "--update") {
        archive.iter().for_each(|word| look.act(Act::Write, word));
        operands.iter().for_each(|word| look.act(Act::Read, word));
        trees::take(look, &operands, &[]);
    } else {
        archive.iter().for_each(|word| look.act(Act::Read, word));
        long.values(&["--generate-index"]).for_each(|word| look.act(Act::Write, word));
    }
    generic(look, false);
}

/// An archive is unpacked into a directory: all of it, or some members.
fn unpacked(look: &mut Look<'_>, directory: &Word, members: &[Word]) {
    look.act(Act::Write, directory);
    // A pattern of the program, or a directory with all that is in it, is more than one member.
    let is_pattern = |word: &Word| word.text().is_none() || word.shown().contains(['*', '?', '[', '@']);
    if members.is_empty() || members.iter().any(is_pattern) {
        return arrivals::unknown(look, directory);
    }
    for member in members {
        let name = member.beginning().trim_start_matches("./").to_string();
        arrivals::lands(look, directory, &name);
        arrivals::unknown(look, &below(directory, &Word::known(name)));
    }
}

/// A path as it is meant in a directory.
fn below(directory: &Word, path: &Word) -> Word {
    if path.beginning().starts_with('/') { path.clone() } else { directory.joined(path) }
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
    if base == "pax" && arguments.has(&["-r"]) {
        look.ask("archive.copy", "it writes any path that comes in");
    } else if base == "pax" && arguments.has(&["-w"]) {
        trees::take(look, &arguments.operands, &[]);
    }
    if base == "cpio" && arguments.has(&["-o", "--create"]) {
        listed(look, true);
    }
}

/// The words of `tar`.
#[derive(Default)]
struct TarArguments {
    /// Commands that it runs for what it packs.
    runs: Vec<Word>,
    archive: Option<Word>,
    /// The directory that it goes to, step by step.
    directory: Option<Word>,
    operands: Vec<Word>,
    excluded: Vec<Word>,
    /// Letters of its flags, those of long flags included.
    mode: String,
    removes: bool,
    /// A list that says which members it takes.
    list: Option<Word>,
    /// Members get other names.
    renames: bool,
    /// Added to the names of files that it puts aside.
    suffix: Option<Word>,
}

impl TarArguments {
    fn new(words: &[Word]) -> Self {
        let operands = options::all_operands("tar", words).unwrap_or_default();
        let mut parsed = TarArguments { operands, ..TarArguments::default() };
        for (name, value) in options::listed("tar", words).unwrap_or_default() {
            parsed.take(&name, value);
        }
        parsed
    }

    fn take(&mut self, name: &str, value: Option<Word>) {
        match name {
            "--create" => self.mode.push('c'),
            "--extract" | "--get" => self.mode.push('x'),
            "--list" => self.mode.push('t'),
            "--append" => self.mode.push('r'),
            "--update" => self.mode.push('u'),
            "--catenate" | "--concatenate" => self.mode.push('A'),
            "--absolute-names" => self.mode.push('P'),
            "--to-stdout" => self.mode.push('O'),
            "--dereference" => self.mode.push('h'),
            "--remove-files" => self.removes = true,
            "-f" | "--file" => self.archive = value,
            "-T" | "--files-from" => self.list = value,
            "--transform" | "--xform" => self.renames = true,
            "--exclude" => self.excluded.extend(value),
            "--suffix" => self.suffix = value,
            "-C" | "--directory" => {
                if let Some(value) = value {
                    self.directory = Some(match &self.directory {
                        Some(directory) => below(directory, &value),
                        None => value,
                    });
                }
            }
            "--one-top-level" => {
                if let Some(value) = value {
                    let directory = self.directory.take().unwrap_or_else(|| Word::known("."));
                    self.directory = Some(below(&directory, &value));
                }
            }
            "-I" | "-F" => self.runs.extend(value),
            name if words::TAR_COMMAND_FLAGS.matches(name) => self.runs.extend(value),
            name if name.starts_with("--") => {}
            name => self.mode.push_str(name.trim_start_matches('-')),
        }
    }
}

fn tar(look: &mut Look<'_>, base: &str) {
    let words = look.rest().to_vec();
    let arguments = TarArguments::new(&words);
    let TarArguments { runs, archive, directory, operands, excluded, mode, removes, list, renames, suffix } =
        arguments;
    if removes {
        look.ask("tar.remove", "it deletes the files that it packs");
    }
    for command in &runs {
        tar_command(look, command);
    }
    let creates = mode.contains(['c', 'r', 'u', 'A']);
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
        let directory = directory.unwrap_or_else(|| Word::known("."));
        let packed: Vec<Word> = operands.iter().map(|word| below(&directory, word)).collect();
        trees::take(look, &packed, &excluded);
        if let Some(list) = &list {
            let is_there = look.context.disk
                && reached(list, &look.segment.directories)
                    .is_some_and(|paths| paths.iter().any(|path| path.exists()));
            listed(look, list.is("-") || list.is("/dev/stdin") || !is_there);
        }
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
        // Of bsdtar, `-s` is what renames members.
        if renames || base == "bsdtar" && mode.contains('s') {
            look.ask("tar.names", "it gives the members other names, those of any file among them");
        }
        if suffix.is_some() {
            look.ask("tar.names", "it puts files aside under names of its own choice");
        }
        if mode.contains('O') {
            return;
        }
        // A member loses the beginning of its name, or comes from a list.
        let strips = words.iter().any(|word| word.beginning().starts_with("--strip"));
        unpacked(look, &directory, if list.is_some() || strips { &[] } else { &operands });
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
