//! The nearest lines to a text that was not found, so that the next attempt can be right.

use marvin_base::diff::similarity;
use std::collections::BTreeSet;

/// Lines of the wanted text that are compared, and words of a line.
const LINES: usize = 40;
const PIECES: usize = 500;
/// Windows that are compared closely.
const CANDIDATES: usize = 5;
/// Characters of a window that are compared.
const COMPARED: usize = 1_000;
/// Below this likeness nothing is shown.
const LIKENESS: f32 = 0.4;

/// A sentence with the nearest lines of `file` to `wanted`, numbered.
pub(super) fn describe(file: &[&str], wanted: &[&str]) -> String {
    let Some((at, length)) = nearest(file, wanted) else {
        return "Nothing like it is in the file; read it with read_file first.".into();
    };
    let first = at.saturating_sub(1);
    let shown: Vec<String> = file
        .iter()
        .enumerate()
        .skip(first)
        .take(length + 2)
        .take(40)
        .map(|(number, line)| format!("{:>5} | {}", number + 1, line.chars().take(200).collect::<String>()))
        .collect();
    format!("Nearest in the file:\n{}", shown.join("\n"))
}

/// Start and length of the nearest window.
fn nearest(file: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let wanted = wanted.get(..LINES).unwrap_or(wanted);
    let length = wanted.len().clamp(1, file.len().max(1));
    let words: BTreeSet<&str> = wanted.iter().flat_map(|line| pieces(line)).collect();
    // First by shared words, which is cheap; then closely.
    let shared: Vec<usize> = file
        .iter()
        .map(|line| pieces(line).take(PIECES).filter(|word| words.contains(word)).count())
        .collect();
    let mut windows: Vec<(usize, usize)> = file
        .windows(length)
        .zip(shared.windows(length))
        .enumerate()
        .map(|(at, (window, shared))| {
            let equal =
                window.iter().zip(wanted).filter(|(line, wanted)| line.trim() == wanted.trim()).count();
            (shared.iter().sum::<usize>() + 5 * equal, at)
        })
        .filter(|(score, _)| *score > 0)
        .collect();
    windows.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    let target = cut(wanted);
    let likeness = |at: usize| {
        let window = cut(file.get(at..at + length).unwrap_or_default());
        similarity(&characters(&target), &characters(&window))
    };
    windows
        .into_iter()
        .take(CANDIDATES)
        .map(|(_, at)| (likeness(at), at))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))
        .map(|(_, at)| (at, length))
}

fn pieces(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

fn characters(text: &str) -> Vec<&str> {
    text.char_indices().filter_map(|(at, char)| text.get(at..at + char.len_utf8())).collect()
}

fn cut(lines: &[&str]) -> String {
    lines.join("\n").chars().take(COMPARED).collect()
}
