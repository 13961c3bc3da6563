//! Archives: what is packed, where it goes, what is run on the way.

use super::argument_scan::generic;
use super::arguments::Arguments;
use super::{Act, Look, Place};
use crate::shell::Word;

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
            let to = to.map_or_else(|| Word::known("."), |word| super::arguments::tail(&word, 2));
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
        super::files::lands(look, directory, member.beginning().trim_start_matches("./"));
    }
    if members.is_empty() && !keeps && super::disk::has_hooks(look, directory) {
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
        look.ask("archive.copy", "it writes whatever paths come in");
    }
}

fn tar(look: &mut Look<'_>) {
    let words = look.rest().to_vec();
    let mut runs = Vec::new();
    let mut archive: Option<Word> = None;
    let mut directory = None;
    let mut operands = Vec::new();
    let mut mode = String::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        let text = word.beginning();
        if let Some(long) = text.strip_prefix("--") {
            mode.push_str(match long.split('=').next().unwrap_or(long) {
                "create" => "c",
                "extract" | "get" => "x",
                "list" => "t",
                "append" => "r",
                "update" => "u",
                _ => "",
            });
            let name = long.split('=').next().unwrap_or(long);
            let value = if long.contains('=') {
                Some(super::arguments::tail(word, text.find('=').map_or(0, |at| at + 1)))
            } else {
                None
            };
            match name {
                "to-command"
                | "use-compress-program"
                | "checkpoint-action"
                | "rsh-command"
                | "info-script"
                | "new-volume-script" => {
                    let value = value.or_else(|| {
                        index += 1;
                        words.get(index - 1).cloned()
                    });
                    runs.extend(value);
                }
                "file" => {
                    archive = value.or_else(|| {
                        index += 1;
                        words.get(index - 1).cloned()
                    });
                }
                "directory" => {
                    directory = value.or_else(|| {
                        index += 1;
                        words.get(index - 1).cloned()
                    });
                }
                "remove-files" => look.ask("tar.remove", "it deletes the files that it packs"),
                "absolute-names" => mode.push('P'),
                _ => {}
            }
        } else if text.starts_with('-') && text.len() > 1
            || index == 1 && !text.contains(['/', '.']) && text.len() < 8
        {
            let letters = text.trim_start_matches('-');
            mode.push_str(letters);
            for letter in letters.chars() {
                match letter {
                    'f' => {
                        archive = words.get(index).cloned();
                        index += 1;
                    }
                    'C' => {
                        directory = words.get(index).cloned();
                        index += 1;
                    }
                    'I' | 'F' => {
                        runs.extend(words.get(index).cloned());
                        index += 1;
                    }
                    'X' | 'T' | 'b' | 'H' | 'V' | 'g' | 'K' | 'N' => index += 1,
                    _ => {}
                }
            }
        } else {
            operands.push(word.clone());
        }
    }
    for command in &runs {
        let text = command.shown();
        let inner = text.strip_prefix("exec=").unwrap_or(&text).to_string();
        let known = [
            "zstd", "gzip", "xz", "pigz", "bzip2", "lz4", "pbzip2", "zstdmt", "brotli", "lzip", "plzip",
            "pixz",
        ];
        let action = inner.split('=').next().unwrap_or_default();
        let plain = !text.starts_with("exec=")
            && matches!(action, "dot" | "." | "echo" | "bell" | "ttyout" | "sleep" | "totals" | "wait");
        if known.iter().any(|name| inner.split_whitespace().next() == Some(name)) || plain {
            continue;
        }
        look.ask("tar.run", "it runs a command for what it packs");
        look.nested(&inner);
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
    if creates {
        operands.iter().for_each(|word| look.act(Act::Read, word));
        if let Some(archive) = archive.filter(|word| !word.is("-")) {
            look.act(Act::Write, &archive);
        }
    } else if mode.contains('x') {
        if let Some(archive) = archive.filter(|word| !word.is("-")) {
            look.act(Act::Read, &archive);
        }
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
