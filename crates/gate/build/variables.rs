//! Environment variables (`data/variables.toml`) as constants.

use super::Failure;
use super::text::{Text, Words};
use std::fmt::Write as _;
use std::{env, fs, path::Path};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    kind: String,
    names: Words,
    /// The program whose options the value holds.
    of: Option<String>,
    /// The values that are harmless, as patterns.
    values: Option<Words>,
    #[serde(rename = "match")]
    matching: Vec<String>,
    not_match: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Table {
    variable: Vec<Row>,
}

/// Writes the rows and their examples.
pub(crate) fn write(text: &mut Text) -> Result<(), Failure> {
    let source = "data/variables.toml";
    println!("cargo:rerun-if-changed={source}");
    let table: Table = toml::from_str(&fs::read_to_string(source)?)?;
    let mut code = String::from("static ROWS: &[Variable] = &[\n");
    let names: Vec<(String, String)> = (table.variable.iter().enumerate())
        .flat_map(|(at, row)| row.names.list().into_iter().map(move |name| (name, at.to_string())))
        .collect();
    let mut examples = String::from("static EXAMPLES: &[(usize, &str, bool)] = &[\n");
    for (at, row) in table.variable.iter().enumerate() {
        let variable = match (row.kind.as_str(), &row.of, &row.values) {
            ("harmless", None, None) => "Harmless".to_string(),
            ("written", None, None) => "Written".to_string(),
            ("address", None, None) => "Address".to_string(),
            ("tool", None, None) => "Tool".to_string(),
            ("steering", None, None) => "Steering".to_string(),
            ("options", Some(program), None) => format!("Options({program:?})"),
            ("only", None, Some(values)) => format!("Only({})", text.words(&values.list(), "like")?),
            (kind, ..) => return Err(format!("{source}: `{kind}` with these keys is not a row").into()),
        };
        writeln!(code, "    Variable::{variable},")?;
        let both = row.matching.iter().map(|name| (name, true));
        for (name, expected) in both.chain(row.not_match.iter().map(|name| (name, false))) {
            writeln!(examples, "    ({at}, {name:?}, {expected}),")?;
        }
    }
    let names = text.patterns(names.iter().map(|(name, at)| (name.as_str(), at.clone())));
    writeln!(code, "];\nstatic NAMES: WordList = {names};")?;
    examples.push_str("];\n");
    let directory = env::var("OUT_DIR")?;
    fs::write(Path::new(&directory).join("variables.rs"), code)?;
    fs::write(Path::new(&directory).join("variable_examples.rs"), examples)?;
    Ok(())
}
