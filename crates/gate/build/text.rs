//! The text that holds the words of all tables. Positions in it need no relocation when the program starts.

use std::fmt::Write as _;

/// The text while it is collected.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) text: String,
}

impl Text {
    /// Adds sorted `KEY\tVALUE` lines; returns where they are, as code.
    pub(crate) fn lines<'a>(&mut self, lines: impl Iterator<Item = (&'a str, String)>) -> String {
        self.lines_by(lines, "Word")
    }

    /// Adds sorted `PATTERN\tVALUE` lines; returns where they are, as code.
    pub(crate) fn patterns<'a>(&mut self, lines: impl Iterator<Item = (&'a str, String)>) -> String {
        self.lines_by(lines, "Pattern")
    }

    fn lines_by<'a>(&mut self, lines: impl Iterator<Item = (&'a str, String)>, by: &str) -> String {
        let start = self.text.len();
        let mut lines: Vec<(&str, String)> = lines.collect();
        lines.sort_unstable();
        for (key, value) in &lines {
            self.text.push_str(&format!("{key}\t{value}\n"));
        }
        word_list(start, self.text.len(), by, lines.iter().map(|(key, _)| *key))
    }

    /// Adds sorted words; returns where they are, as code. Lists that were added before are not repeated.
    pub(crate) fn words(&mut self, words: &[String], by: &str) -> Result<String, super::Failure> {
        let by = match by {
            "" => "Word",
            "starts" => "Start",
            "ends" => "End",
            "has" => "Part",
            "like" => "Pattern",
            "verb" => "Verb",
            other => return Err(format!("`{other}` is not a way to compare words").into()),
        };
        let mut words = words.to_vec();
        words.sort_unstable();
        if let Some([one, _]) = words.windows(2).find(|pair| matches!(pair, [one, other] if one == other)) {
            return Err(format!("`{one}` stands twice in a list").into());
        }
        let mut lines = String::new();
        for word in &words {
            writeln!(lines, "{word}")?;
        }
        let begins = |at: &usize| *at == 0 || self.text.as_bytes().get(at - 1) == Some(&b'\n');
        let known = self.text.match_indices(&lines).map(|(at, _)| at).find(begins);
        let start = known.unwrap_or(self.text.len());
        if known.is_none() {
            self.text.push_str(&lines);
        }
        Ok(word_list(start, start + lines.len(), by, words.iter().map(String::as_str)))
    }
}

/// The code of a list, with the bits by which most other words are told from it.
fn word_list<'a>(start: usize, end: usize, by: &str, words: impl Iterator<Item = &'a str>) -> String {
    let (mut firsts, mut lasts, mut lengths) = (0_u64, 0_u64, 0_u64);
    for word in words.map(str::as_bytes) {
        firsts |= word.first().map_or(0, |byte| 1 << (byte & 63));
        lasts |= word.last().map_or(0, |byte| 1 << (byte & 63));
        lengths |= 1 << word.len().min(63);
    }
    format!(
        "WordList {{ start: {start}, end: {end}, by: WordMatch::{by}, firsts: {firsts}, lasts: {lasts}, lengths: {lengths} }}"
    )
}

/// Words of a table: separated by blanks, or one by one where a word holds blanks. `''` is the empty word.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(untagged)]
pub(crate) enum Words {
    Blanks(String),
    Each(Vec<String>),
}

impl Words {
    pub(crate) fn list(&self) -> Vec<String> {
        match self {
            Words::Blanks(text) => text
                .split_whitespace()
                .map(|word| if word == "''" { String::new() } else { word.to_string() })
                .collect(),
            Words::Each(words) => words.clone(),
        }
    }
}
