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
        for (key, value) in lines {
            self.text.push_str(&format!("{key}\t{value}\n"));
        }
        format!("WordList {{ start: {start}, end: {}, by: WordMatch::{by} }}", self.text.len())
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
        Ok(format!("WordList {{ start: {start}, end: {}, by: WordMatch::{by} }}", start + lines.len()))
    }
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
