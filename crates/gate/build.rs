//! Turns the table of program facts into sorted constants, so that no program that judges one command reads it first.

#[path = "src/meaning/row.rs"]
mod row;

use row::Row;
use std::fmt::Write as _;
use std::{env, fs, path::Path};

#[derive(serde::Deserialize)]
struct Table {
    program: Vec<Row<String>>,
}

fn words(lists: &[&str]) -> String {
    let words: Vec<String> =
        lists.iter().flat_map(|list| list.split_whitespace()).map(|word| format!("{word:?}")).collect();
    format!("Words::Fixed(&[{}])", words.join(", "))
}

fn phrases(list: &str) -> String {
    let phrases: Vec<String> = list
        .split(',')
        .map(str::trim)
        .filter(|phrase| !phrase.is_empty())
        .map(|phrase| format!("{phrase:?}"))
        .collect();
    format!("Words::Fixed(&[{}])", phrases.join(", "))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = "src/meaning/facts.toml";
    println!("cargo:rerun-if-changed={source}");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/meaning/row.rs");
    let table: Table = toml::from_str(&fs::read_to_string(source)?)?;
    let mut names: Vec<(&str, usize)> = Vec::new();
    let mut text = String::from("static ROWS: &[Facts] = &[\n");
    for (at, row) in table.program.iter().enumerate() {
        let mut class = row.class.clone();
        if let Some(first) = class.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        writeln!(
            text,
            "    Facts {{ class: Class::{class}, why: std::borrow::Cow::Borrowed({:?}), values: {}, reads: {}, writes: {}, runs: {}, asks: {}, denies: {}, skip: {}, allow: {}, ask: {}, deny: {} }},",
            row.why,
            words(&[&row.values, &row.reads, &row.writes, &row.runs]),
            words(&[&row.reads]),
            words(&[&row.writes]),
            words(&[&row.runs]),
            words(&[&row.asks]),
            words(&[&row.denies]),
            row.skip,
            phrases(&row.allow),
            phrases(&row.ask),
            phrases(&row.deny),
        )?;
        names.extend(row.names.split_whitespace().map(|name| (name, at)));
    }
    text.push_str("];\n\n");
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| matches!(pair, [one, other] if one.0 == other.0)) {
        return Err(format!("{source}: a name stands twice: {twice:?}").into());
    }
    writeln!(text, "static NAMES: &[(&str, u16)] = &{names:?};")?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("facts.rs"), text)?;
    steering()
}

/// A row of the table of steering files, as the file writes it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SteeringRow {
    pattern: String,
    steers: String,
    verdict: String,
    example: String,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    document: bool,
    #[serde(default)]
    except: String,
}

#[derive(serde::Deserialize)]
struct SteeringTable {
    file: Vec<SteeringRow>,
}

/// Writes the table of steering files as constants.
fn steering() -> Result<(), Box<dyn std::error::Error>> {
    let source = "data/steering.toml";
    println!("cargo:rerun-if-changed={source}");
    let table: SteeringTable = toml::from_str(&fs::read_to_string(source)?)?;
    let mut text = String::from("static ROWS: &[Row] = &[\n");
    for row in &table.file {
        let verdict = match row.verdict.as_str() {
            "ask" => "Ask",
            "deny" => "Deny",
            other => return Err(format!("{source}: `{other}` is not a verdict of a steering file").into()),
        };
        // Names are compared folded.
        let lower = row.pattern.to_ascii_lowercase();
        let pattern: Vec<&str> = lower.split('/').collect();
        let except: Vec<&str> = row.except.split_whitespace().collect();
        writeln!(
            text,
            "    Row {{ pattern: &{pattern:?}, steers: {:?}, verdict: Decision::{verdict}, example: {:?}, root: {}, document: {}, except: &{except:?} }},",
            row.steers, row.example, row.root, row.document,
        )?;
    }
    text.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("steering.rs"), text)?;
    Ok(())
}
