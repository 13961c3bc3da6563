//! Names that compressors make: `gunzip AGENTS.md.gz` writes `AGENTS.md`, and `gzip -S .md AGENTS` does so too.
//!
//! The operands themselves are judged as files that are changed. Here the file counts that stands in their place afterwards.

use super::arrivals;
use super::disk::reached;
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::{options, trees, words};
use crate::shell::{Word, base_name};
use std::borrow::Cow;

/// Options and operands of a compressor.
#[derive(Default)]
struct CompressorArguments {
    unpacks: bool,
    recurses: bool,
    /// The name stands in the compressed file.
    restores_name: bool,
    /// It prints, lists or tests.
    writes_nothing: bool,
    suffix: Option<Word>,
    directory: Option<Word>,
}

impl CompressorArguments {
    fn new(base: &str, words: &[Word]) -> Self {
        let mut parsed =
            CompressorArguments { unpacks: words::UNCOMPRESSORS.matches(base), ..Self::default() };
        for (name, value) in options::listed(base, words).unwrap_or_default() {
            match name.as_str() {
                "-d" | "--decompress" | "--uncompress" => parsed.unpacks = true,
                "-r" | "--recursive" => parsed.recurses = true,
                "-N" | "--name" => parsed.restores_name |= words::NAME_RESTORERS.matches(base),
                "-P" if base == "lzop" => parsed.restores_name = true,
                "-c" | "--stdout" | "--to-stdout" | "-l" | "--list" | "-t" | "--test" => {
                    parsed.writes_nothing = true;
                }
                "-S" | "--suffix" => parsed.suffix = value,
                "--output-dir-flat" => parsed.directory = value,
                _ => {}
            }
        }
        parsed
    }

    /// The name that a file gets.
    fn made(&self, name: &str) -> Option<String> {
        let suffix = self.suffix.as_ref().and_then(Word::text);
        if !self.unpacks {
            return suffix.map(|suffix| format!("{name}{suffix}"));
        }
        let plain = suffix.as_deref().and_then(|suffix| name.strip_suffix(suffix));
        let ended = || words::COMPRESSED_ENDINGS.words().find_map(|end| name.strip_suffix(end));
        plain.or_else(ended).filter(|plain| !plain.is_empty()).map(str::to_string)
    }
}

/// Judges the files that a compressor makes of its operands.
pub(super) fn judge(look: &mut Look<'_>, base: &str) {
    if !words::COMPRESSORS.matches(base) && !words::UNCOMPRESSORS.matches(base) {
        return;
    }
    let words = look.rest().to_vec();
    let arguments = CompressorArguments::new(base, &words);
    let operands = options::all_operands(base, &words).unwrap_or_default();
    if arguments.recurses {
        trees::take(look, &operands, &[]);
    }
    if arguments.writes_nothing {
        return;
    }
    if arguments.unpacks && arguments.restores_name {
        look.ask("compress.name", "the name of the file that it writes stands in the compressed file");
    }
    for operand in &operands {
        if arguments.recurses
            && (look.place(operand) == Place::Workspace
                || look.context.disk && arrivals::holds_steering(look, operand))
        {
            look.ask(
                "compress.tree",
                "it replaces every file of a directory, those that steer agents or git among them",
            );
        }
        let mut names: Vec<String> = operand.text().map(Cow::into_owned).into_iter().collect();
        if operand.globs() && look.context.disk {
            let paths = reached(operand, &look.segment.directories).unwrap_or_default();
            names = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        }
        for made in names.iter().filter_map(|name| arguments.made(name)) {
            let made = match &arguments.directory {
                Some(directory) => directory.joined(&Word::known(base_name(&made))),
                None => Word::known(made),
            };
            look.act(Act::Write, &made);
        }
    }
}
