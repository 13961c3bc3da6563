//! A tree of 100,000 files to search and to list, always the same and similar to a project: several
//! directories deep, files of one to eight kilobytes, some of them binary, `.gitignore` rules and
//! ignored files, a git repository.

use crate::output::say;
use crate::tools;
use anyhow::Context;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files that are not ignored.
pub(super) const FILES: usize = 100_000;
const FILES_PER_DIRECTORY: usize = 50;
/// Raised when the content of the tree changes.
const VERSION: &str = "2";
/// A word that is in ten files.
pub(super) const RARE_WORD: &str = "quokka_needle";

const WORDS: [&str; 32] = [
    "let", "value", "return", "self", "match", "result", "index", "buffer", "writer", "error", "state",
    "parse", "token", "stream", "handle", "number", "string", "option", "config", "thread", "queue", "table",
    "column", "record", "filter", "render", "update", "create", "delete", "insert", "session", "module",
];

/// A generator of the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        // The constants are Knuth's, for a linear congruential generator of 64 bits.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % below.max(1)
    }
}

/// Creates the tree unless it is there, and returns its root.
pub(super) fn create() -> anyhow::Result<PathBuf> {
    let root = tools::target().join("bench/file-tree");
    let stamp = tools::target().join("bench/file-tree.version");
    if std::fs::read_to_string(&stamp).is_ok_and(|version| version == VERSION) {
        return Ok(root);
    }
    say(format_args!("creating a tree of {FILES} files in {} …", root.display()))?;
    write_files(&root).with_context(|| format!("cannot create {}", root.display()))?;
    for line in
        ["init -q", "add -A", "-c user.name=b -c user.email=b@b -c commit.gpgsign=false commit -qm files"]
    {
        let mut git = Command::new("git");
        git.args(["-c", "core.autocrlf=false"])
            .args(line.split(' '))
            .current_dir(&root)
            .stdout(Stdio::null());
        tools::run(&mut git)?;
    }
    std::fs::write(&stamp, VERSION)?;
    Ok(root)
}

fn write_files(root: &Path) -> std::io::Result<()> {
    if root.exists() {
        std::fs::remove_dir_all(root)?;
    }
    std::fs::create_dir_all(root)?;
    std::fs::write(root.join(".gitignore"), "*.log\n*.tmp\n/out/\n!keep.log\ntarget/\n**/cache/*.bin\n")?;
    let mut numbers = Numbers(7);
    for directory in 0..FILES / FILES_PER_DIRECTORY {
        let path = root.join(format!(
            "area{:02}/part{:02}/unit{:02}",
            directory / 200,
            directory / 10 % 20,
            directory % 10
        ));
        std::fs::create_dir_all(&path)?;
        if directory % 100 == 0 {
            std::fs::write(path.join(".gitignore"), "generated_*\n")?;
            std::fs::write(path.join("generated_code.rs"), RARE_WORD)?;
        }
        if directory % 20 == 0 {
            std::fs::write(path.join("trace.log"), text(&mut numbers, 4000))?;
        }
        for file in 0..FILES_PER_DIRECTORY {
            write_file(&path, directory * FILES_PER_DIRECTORY + file, &mut numbers)?;
        }
    }
    Ok(())
}

fn write_file(directory: &Path, number: usize, numbers: &mut Numbers) -> std::io::Result<()> {
    let extension = ["rs", "py", "ts", "md", "json", "toml"].get(numbers.next(6)).copied().unwrap_or("txt");
    // Most files are small: the smaller of two draws.
    let length = 1000 + numbers.next(7000).min(numbers.next(7000));
    if number % 50 == 49 {
        let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(numbers.next(256)).unwrap_or(0)).collect();
        return std::fs::write(directory.join(format!("image{number}.bin")), bytes);
    }
    let mut words = text(numbers, length);
    if number % (FILES / 10) == 5 {
        words.push_str(&format!("    let {RARE_WORD} = {number};\n"));
    }
    std::fs::write(directory.join(format!("file{number}.{extension}")), words)
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
