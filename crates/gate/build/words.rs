//! Named lists of words (`data/words`) as constants.

use super::Failure;
use super::text::{Text, Words};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs, path::Path};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    about: String,
    words: Words,
    /// How a text is compared with the words; a whole word where nothing is given.
    #[serde(default)]
    by: String,
    /// Whether only tables refer to the list.
    #[serde(default)]
    tables: bool,
    #[serde(rename = "match")]
    matching: Vec<String>,
    not_match: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Table {
    list: Vec<Row>,
}

/// Writes the lists and their examples; returns the words by the name of their list.
pub(crate) fn write(text: &mut Text) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut code = String::new();
    let mut examples = String::from("static EXAMPLES: &[(&str, WordList, &str, bool)] = &[\n");
    let mut lists = BTreeMap::new();
    for (path, source) in super::tables("data/words")? {
        let table: Table = toml::from_str(&source).map_err(|error| format!("{path}: {error}"))?;
        for row in table.list {
            let words = row.words.list();
            let list =
                text.words(&words, &row.by).map_err(|error| format!("{path}: {}: {error}", row.name))?;
            let name = row.name.to_ascii_uppercase().replace('-', "_");
            if row.tables {
                writeln!(code, "#[cfg(test)]")?;
            }
            writeln!(code, "/// {}.\npub(crate) const {name}: WordList = {list};", row.about)?;
            if row.matching.is_empty() || row.not_match.is_empty() {
                return Err(format!("{path}: {}: examples are missing", row.name).into());
            }
            let both = row.matching.iter().map(|line| (line, true));
            for (line, expected) in both.chain(row.not_match.iter().map(|line| (line, false))) {
                writeln!(examples, "    ({:?}, {name}, {line:?}, {expected}),", row.name)?;
            }
            if lists.insert(row.name.clone(), words).is_some() {
                return Err(format!("{path}: {} stands twice", row.name).into());
            }
        }
    }
    examples.push_str("];\n");
    let directory = env::var("OUT_DIR")?;
    fs::write(Path::new(&directory).join("words.rs"), code)?;
    fs::write(Path::new(&directory).join("word_examples.rs"), examples)?;
    Ok(lists)
}
