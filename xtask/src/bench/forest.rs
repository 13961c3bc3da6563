//! A tree of 100,000 files to search and to list: always the same, as a project would have it. Several directories deep, files
//! of one to eight kilobytes, some of them binary, rules of `.gitignore` and files that they leave out, a git repository.

use crate::tools;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files that are not ignored.
pub(super) const FILES: usize = 100_000;
/// Files in a directory.
const IN_DIRECTORY: usize = 50;
/// Raised when the tree is made otherwise.
const EDITION: &str = "2";
/// Stands in ten files.
pub(super) const RARE: &str = "quokka_needle";

const WORDS: [&str; 32] = [
    "let", "value", "return", "self", "match", "result", "index", "buffer", "writer", "error", "state",
    "parse", "token", "stream", "handle", "number", "string", "option", "config", "thread", "queue", "table",
    "column", "record", "filter", "render", "update", "create", "delete", "insert", "session", "module",
];

/// A source of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        // The constants are Knuth's, for a linear congruential generator of 64 bits.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % below.max(1)
    }
}

/// The tree, made if it is not there yet.
pub(super) fn grow() -> Result<PathBuf, String> {
    let root = tools::target().join("bench/forest");
    let mark = tools::target().join("bench/forest.edition");
    if std::fs::read_to_string(&mark).is_ok_and(|edition| edition == EDITION) {
        return Ok(root);
    }
    crate::say(&format!("making a tree of {FILES} files in {} …", root.display()));
    let fail = |error: std::io::Error| format!("cannot make {}: {error}", root.display());
    if root.exists() {
        std::fs::remove_dir_all(&root).map_err(fail)?;
    }
    std::fs::create_dir_all(&root).map_err(fail)?;
    std::fs::write(root.join(".gitignore"), "*.log\n*.tmp\n/out/\n!keep.log\ntarget/\n**/cache/*.bin\n")
        .map_err(fail)?;
    let mut numbers = Numbers(7);
    for directory in 0..FILES / IN_DIRECTORY {
        let place = root.join(format!(
            "area{:02}/part{:02}/unit{:02}",
            directory / 200,
            directory / 10 % 20,
            directory % 10
        ));
        std::fs::create_dir_all(&place).map_err(fail)?;
        if directory % 100 == 0 {
            std::fs::write(place.join(".gitignore"), "generated_*\n").map_err(fail)?;
            std::fs::write(place.join("generated_code.rs"), RARE).map_err(fail)?;
        }
        if directory % 20 == 0 {
            std::fs::write(place.join("trace.log"), text(&mut numbers, 4000)).map_err(fail)?;
        }
        for file in 0..IN_DIRECTORY {
            leaf(&place, directory * IN_DIRECTORY + file, &mut numbers).map_err(fail)?;
        }
    }
    for line in
        ["init -q", "add -A", "-c user.name=b -c user.email=b@b -c commit.gpgsign=false commit -qm forest"]
    {
        let mut git = Command::new("git");
        git.args(["-c", "core.autocrlf=false"])
            .args(line.split(' '))
            .current_dir(&root)
            .stdout(Stdio::null());
        tools::run(&mut git)?;
    }
    std::fs::write(&mark, EDITION).map_err(|error| error.to_string())?;
    Ok(root)
}

fn leaf(place: &Path, number: usize, numbers: &mut Numbers) -> std::io::Result<()> {
    let extension = ["rs", "py", "ts", "md", "json", "toml"].get(numbers.next(6)).copied().unwrap_or("txt");
    // Most files are small: the smaller of two draws.
    let length = 1000 + numbers.next(7000).min(numbers.next(7000));
    if number % 50 == 49 {
        let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(numbers.next(256)).unwrap_or(0)).collect();
        return std::fs::write(place.join(format!("image{number}.bin")), bytes);
    }
    let mut words = text(numbers, length);
    if number % (FILES / 10) == 5 {
        words.push_str(&format!("    let {RARE} = {number};\n"));
    }
    std::fs::write(place.join(format!("file{number}.{extension}")), words)
}

fn text(numbers: &mut Numbers, length: usize) -> String {
    let mut text = String::with_capacity(length + 80);
    while text.len() < length {
        let count = 2 + numbers.next(9);
        text.push_str(["", "    ", "        "].get(numbers.next(3)).copied().unwrap_or_default());
        for _ in 0..count {
            let word = WORDS.get(numbers.next(WORDS.len())).copied().unwrap_or_default();
            write!(text, "{word}_{} ", numbers.next(1000)).ok();
        }
        text.push_str(";\n");
    }
    text
}
