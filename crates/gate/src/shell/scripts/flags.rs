//! Options and words by which programs load code or start commands, as data.

use super::super::run::InheritedIo;
use super::super::state::Shell;
use super::super::value::Word;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Programs and the beginnings of words that make them load code, run commands, or read their options elsewhere.
struct Row {
    programs: &'static str,
    words: &'static [&'static str],
    /// Texts that do so wherever they stand in a word, in small or capital letters.
    inside: &'static [&'static str],
    /// Words of SQL that do so.
    sql: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/code_flags.rs"));

/// The rows by the names of their programs; those that end in a star are looked for one by one.
static BY_NAME: LazyLock<BTreeMap<&'static str, &'static Row>> = LazyLock::new(|| {
    let names = |row: &'static Row| row.programs.split_whitespace().map(move |name| (name, row));
    ROWS.iter().flat_map(names).collect()
});

fn find(base: &str) -> Option<&'static Row> {
    BY_NAME.get(base).copied().or_else(|| {
        let versioned = base.starts_with("gcc-") || base.starts_with("clang-");
        versioned.then(|| ROWS.iter().find(|row| named(row.programs, base))).flatten()
    })
}

fn named(programs: &str, base: &str) -> bool {
    programs.split_whitespace().any(|name| match name.strip_suffix('*') {
        Some(start) => base.starts_with(start),
        None => name == base,
    })
}

/// Do the words make the program load or run something?
fn is_found(row: &Row, words: &[Word]) -> bool {
    words.iter().any(|word| {
        let text = word.shown();
        let trimmed = text.trim_start();
        row.words.iter().any(|start| match start.strip_prefix('.') {
            // A command of `sqlite3` may be abbreviated, so its name is compared in both directions.
            Some(_) => {
                let name = trimmed.split_whitespace().next().unwrap_or_default();
                name.len() > 2
                    && (name == *start
                        || start.len() > 4 && start.starts_with(name)
                        || name.starts_with(start) && start.len() > 4)
            }
            None if start.len() == 2 && start.starts_with('-') && *start != "-B" => trimmed == *start,
            None => trimmed.starts_with(start),
        }) || {
            let lower = text.to_ascii_lowercase();
            row.inside.iter().any(|part| lower.contains(&part.to_ascii_lowercase()))
                || has_sql_word(row.sql, &lower)
        }
    })
}

/// Does a text have one of these words as a statement or a function, rather than as the name of a column?
fn has_sql_word(words: &str, lower: &str) -> bool {
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    words.split_whitespace().any(|word| {
        lower.match_indices(word).any(|(at, _)| {
            let before = lower.get(..at).is_some_and(|text| text.ends_with(is_name));
            let rest = lower.get(at + word.len()..).unwrap_or_default();
            let after = rest.trim_start();
            // Right before a quote it may be the end of a text: `'a copy'`; a statement takes a quoted path, though.
            let ends_text =
                rest.starts_with(['\'', '"']) && !matches!(word, "load" | "install" | "attach" | "into");
            let column =
                ["from", "as ", ")", ",", "=", "<", ">", "|", "%"].iter().any(|end| after.starts_with(end));
            !before && !rest.starts_with(is_name) && !after.is_empty() && !column && !ends_text
        })
    })
}

impl Shell<'_> {
    /// Doubts words by which a program of the table loads or runs something.
    pub(super) fn doubted_words(&mut self, base: &str, rest: &[Word], around: &InheritedIo) {
        let Some(row) = find(base) else { return };
        let input = around.input.as_ref().and_then(|stream| stream.text.as_deref()).unwrap_or_default();
        let lines: Vec<Word> = if row.inside.is_empty() {
            Vec::new()
        } else {
            input.lines().take(256).map(Word::known).collect()
        };
        if is_found(row, rest) || is_found(row, &lines) {
            self.doubt("an option or a word that makes a program load code or run a command");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Table {
        program: Vec<Examples>,
    }

    #[derive(serde::Deserialize)]
    struct Examples {
        r#match: Vec<String>,
        not_match: Vec<String>,
    }

    #[test]
    fn rows_find_their_examples() {
        let table: Table = toml::from_str(include_str!("../../../data/code_flags.toml")).unwrap();
        assert_eq!(table.program.len(), ROWS.len());
        for (row, examples) in ROWS.iter().zip(table.program) {
            assert!(!examples.r#match.is_empty() && !examples.not_match.is_empty(), "{}", row.programs);
            let both = examples.r#match.iter().map(|line| (line, true));
            for (line, expected) in both.chain(examples.not_match.iter().map(|line| (line, false))) {
                let words: Vec<Word> = shlex::split(line).unwrap().into_iter().map(Word::known).collect();
                let name = words[0].text().unwrap().into_owned();
                assert!(named(row.programs, &name), "{line}");
                assert_eq!(is_found(row, &words[1..]), expected, "{line}");
            }
        }
    }
}
