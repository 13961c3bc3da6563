//! `skills`: 1,000 skills found and loaded against a small Rust program that finds and reads all of
//! their files. Whole processes, taking turns; of each the time without skills is subtracted.

use super::timing::{compile, median, round, timed};
use crate::tools;
use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const SKILLS: usize = 1_000;
const ROUNDS: usize = 40;
const TARGET_RATIO: f64 = 1.5;

/// Reads every file below a directory.
const REFERENCE: &str = "\
fn read(path: &std::path::Path) -> usize {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    entries.flatten().map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => read(&entry.path()),
        _ => std::fs::read(entry.path()).map_or(0, |bytes| bytes.len()),
    }).sum()
}
fn main() {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    println!(\"{}\", read(std::path::Path::new(&path)));
}
";

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    skills: usize,
    bytes: usize,
    runs: usize,
    reference_ms: f64,
    found_and_loaded_ms: f64,
    ratio: f64,
    target_ratio: f64,
    ok: bool,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let marvin = tools::release()?;
    let place = tempfile::tempdir()?;
    let reference = compile(place.path(), "reference", REFERENCE)?;
    let (full, empty) = (place.path().join("full"), place.path().join("empty"));
    let bytes = write(&full.join(".marvin/skills"))?;
    std::fs::create_dir_all(empty.join(".marvin/skills"))?;
    let list = |project: &Path| -> anyhow::Result<(f64, String)> {
        let mut command = Command::new(&marvin);
        command.arg("list-skills").current_dir(project).env("HOME", place.path());
        timed(&mut command, &[0]).map(|(run, output)| (run.wall, output))
    };
    let read = |project: &Path| -> anyhow::Result<(f64, String)> {
        let mut command = Command::new(&reference);
        command.arg(project.join(".marvin/skills"));
        timed(&mut command, &[0]).map(|(run, output)| (run.wall, output))
    };
    let found = list(&full)?.1.lines().filter(|line| line.contains(" project ")).count();
    if found != SKILLS {
        bail!("{found} of {SKILLS} skills were loaded");
    }
    if read(&full)?.1.trim().parse::<usize>().context("the reference printed no number")? != bytes {
        bail!("the reference did not read all files");
    }
    let mut walls = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for (times, figure) in
            walls.iter_mut().zip([list(&full)?, list(&empty)?, read(&full)?, read(&empty)?])
        {
            times.push(figure.0);
        }
    }
    let [with, without, files, nothing] = walls.map(|times| median(times.into_iter()));
    let (loading, reading) = (with - without, files - nothing);
    let ratio = loading / reading;
    Ok(serde_json::to_value(Report {
        bench: "skills",
        skills: SKILLS,
        bytes,
        runs: ROUNDS,
        reference_ms: round(reading),
        found_and_loaded_ms: round(loading),
        ratio: round(ratio),
        target_ratio: TARGET_RATIO,
        ok: ratio <= TARGET_RATIO,
    })?)
}

/// Writes skills with instructions, a script, a reference and a test; gives the bytes of all files.
fn write(directory: &Path) -> anyhow::Result<usize> {
    let mut bytes = 0;
    for number in 0..SKILLS {
        let name = format!("skill-{number:04}");
        let text = format!(
            "---\nname: {name}\ndescription: >-\n  Does the work number {number}. Use it when the task says so, with an example below.\nlicense: MIT\nmetadata:\n  version: \"1.{number}\"\n  author: bench\n---\n\n# Work {number}\n\n{}",
            "1. Do one thing, then the next, and check the result.\n".repeat(40)
        );
        let files = [
            ("SKILL.md", text),
            ("scripts/run.sh", "#!/bin/sh\necho done\n".repeat(10)),
            ("references/more.md", "More about it, for those who ask.\n".repeat(100)),
            ("tests/test_run.py", "def test_run():\n    assert True\n".repeat(5)),
        ];
        for (file, text) in files {
            let path = directory.join(&name).join(file);
            std::fs::create_dir_all(path.parent().context("a file has a directory")?)?;
            bytes += text.len();
            std::fs::write(path, text)?;
        }
    }
    Ok(bytes)
}
