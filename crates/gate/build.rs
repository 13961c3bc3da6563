//! Turns the tables of `data` into constants, so that judging one command parses none of them.

#[path = "src/effects/options/row.rs"]
mod option_row;
#[path = "build/plain_tables.rs"]
mod plain_tables;
#[path = "src/effects/facts_row.rs"]
mod row;
#[path = "build/text.rs"]
mod text;
#[path = "build/variables.rs"]
mod variables;
#[path = "build/verbs.rs"]
mod verbs;
#[path = "build/words.rs"]
mod words;

use option_row::OptionRow;
use row::Row;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs, path::Path};

type Failure = Box<dyn std::error::Error>;

#[derive(serde::Deserialize)]
struct Table {
    program: Vec<Row<String>>,
}

#[derive(serde::Deserialize)]
struct OptionTable {
    program: Vec<OptionRow>,
}

fn word_slice(lists: &[&str]) -> String {
    let words: Vec<String> =
        lists.iter().flat_map(|list| list.split_whitespace()).map(|word| format!("{word:?}")).collect();
    format!("Words::Fixed(&[{}])", words.join(", "))
}

fn phrase_slice(list: &str) -> String {
    let phrases: Vec<String> = list
        .split(',')
        .map(str::trim)
        .filter(|phrase| !phrase.is_empty())
        .map(|phrase| format!("{phrase:?}"))
        .collect();
    format!("Words::Fixed(&[{}])", phrases.join(", "))
}

fn main() -> Result<(), Failure> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build/plain_tables.rs");
    plain_tables::write()?;
    println!("cargo:rerun-if-changed=src/effects/facts_row.rs");
    println!("cargo:rerun-if-changed=src/effects/options/row.rs");
    println!("cargo:rerun-if-changed=build");
    write_facts()?;
    let mut text = text::Text::default();
    let lists = words::write(&mut text)?;
    verbs::write(&mut text, &lists)?;
    variables::write(&mut text)?;
    write_options(&mut text)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tables.txt"), text.text)?;
    Ok(())
}

/// The TOML files of a directory with their text, in the order of their names.
fn tables(directory: &str) -> Result<Vec<(String, String)>, Failure> {
    println!("cargo:rerun-if-changed={directory}");
    let mut files: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::path);
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path().extension().is_some_and(|end| end == "toml")) {
        let path = file.path().display().to_string();
        println!("cargo:rerun-if-changed={path}");
        found.push((path, fs::read_to_string(file.path())?));
    }
    Ok(found)
}

fn write_facts() -> Result<(), Failure> {
    let source = "data/facts.toml";
    println!("cargo:rerun-if-changed={source}");
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
            "    Facts {{ class: Class::{class}, why: std::borrow::Cow::Borrowed({:?}), flags: {}, values: {}, reads: {}, writes: {}, runs: {}, asks: {}, denies: {}, skip: {}, patterns: {}, device: {}, allow: {}, ask: {}, deny: {} }},",
            row.why,
            word_slice(&[&row.flags]),
            word_slice(&[&row.values, &row.reads, &row.writes, &row.runs]),
            word_slice(&[&row.reads]),
            word_slice(&[&row.writes]),
            word_slice(&[&row.runs]),
            word_slice(&[&row.asks]),
            word_slice(&[&row.denies]),
            row.skip,
            word_slice(&[&row.patterns]),
            row.device,
            phrase_slice(&row.allow),
            phrase_slice(&row.ask),
            phrase_slice(&row.deny),
        )?;
        names.extend(row.names.split_whitespace().map(|name| (name, at)));
    }
    text.push_str("];\n\n");
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| matches!(pair, [one, other] if one.0 == other.0)) {
        return Err(format!("{source}: a name stands twice: {twice:?}").into());
    }
    // In one text, so that the loader has no address per name to fill in at every start.
    let all: String = names.iter().map(|(name, _)| *name).collect();
    writeln!(text, "static NAME_TEXT: &str = {all:?};")?;
    writeln!(text, "/// Beginning and length of a name in the text, and its row.")?;
    writeln!(text, "static NAMES: &[(u32, u8, u16)] = &[")?;
    let mut start = 0;
    for (name, row) in &names {
        write!(text, "({start}, {}, {row}), ", name.len())?;
        start += name.len();
    }
    text.push_str("];\n");
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

/// The tables of options as Rust code, while they are collected.
struct Signatures<'a> {
    code: String,
    text: &'a mut text::Text,
    count: usize,
}

fn write_options(text: &mut text::Text) -> Result<(), Failure> {
    let mut rows: Vec<OptionRow> = Vec::new();
    for (path, source) in tables("data/programs")? {
        let table: OptionTable = toml::from_str(&source).map_err(|error| format!("{path}: {error}"))?;
        rows.extend(table.program);
    }
    rows.iter_mut().for_each(inherit);
    let mut by_name: BTreeMap<&str, &OptionRow> = BTreeMap::new();
    for row in &rows {
        for name in row.names.split_whitespace() {
            if by_name.insert(name, row).is_some() {
                return Err(format!("data/programs: `{name}` stands twice").into());
            }
        }
    }
    let mut signatures = Signatures { code: String::new(), text, count: 0 };
    let mut names: Vec<(&str, usize)> = Vec::new();
    let mut examples = String::from("static EXAMPLES: &[(&str, bool)] = &[\n");
    for row in &rows {
        let at = signatures.add(row, &by_name)?;
        names.extend(row.names.split_whitespace().map(|name| (name, at)));
        write_examples(row, &mut examples)?;
    }
    let names = signatures.text.lines(names.into_iter().map(|(name, at)| (name, at.to_string())));
    let directory = env::var("OUT_DIR")?;
    let code = format!(
        "static SIGNATURES: &[Signature] = &[\n{}];\n\npub(super) static NAMES: WordList = {names};\n",
        signatures.code
    );
    fs::write(Path::new(&directory).join("options.rs"), code)?;
    examples.push_str("];\n");
    fs::write(Path::new(&directory).join("option_examples.rs"), examples)?;
    Ok(())
}

/// A subcommand reads its words as its program does.
fn inherit(row: &mut OptionRow) {
    for sub in &mut row.sub {
        if sub.grammar.is_empty() {
            sub.grammar.clone_from(&row.grammar);
        }
        sub.negates |= row.negates;
        sub.unabbreviated |= row.unabbreviated;
        inherit(sub);
    }
}

/// The example lines of a row: `true` for those that are allowed.
fn write_examples(row: &OptionRow, text: &mut String) -> Result<(), Failure> {
    for line in &row.allow {
        writeln!(text, "    ({line:?}, true),")?;
    }
    for line in &row.ask {
        writeln!(text, "    ({line:?}, false),")?;
    }
    row.sub.iter().try_for_each(|sub| write_examples(sub, text))
}

impl Signatures<'_> {
    /// Adds a row and its subcommands; returns its number.
    fn add(&mut self, row: &OptionRow, by_name: &BTreeMap<&str, &OptionRow>) -> Result<usize, Failure> {
        let mut options: BTreeMap<String, String> = BTreeMap::new();
        let mut subs: Vec<(String, usize)> = Vec::new();
        let mut likes: Vec<&OptionRow> = vec![row];
        while let Some(name) = likes.last().map(|row| row.like.trim()).filter(|name| !name.is_empty()) {
            let other =
                by_name.get(name).ok_or_else(|| format!("data/programs: like = {name:?} is unknown"))?;
            if likes.len() > 8 {
                return Err(format!("data/programs: like = {name:?} is a circle").into());
            }
            likes.push(other);
        }
        // The row's own options come last, so that they stand before those of the row that it is like.
        for row in likes.iter().rev() {
            collect(row, &mut options)?;
        }
        for sub in likes.iter().flat_map(|row| &row.sub) {
            let at = self.add(sub, by_name)?;
            for phrase in sub.names.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()) {
                if !subs.iter().any(|(known, _)| known == phrase) {
                    subs.push((phrase.to_string(), at));
                }
            }
        }
        subs.sort_unstable();
        let any = |test: fn(&OptionRow) -> bool| likes.iter().any(|row| test(row));
        let pick = |field: fn(&OptionRow) -> &String| {
            likes
                .iter()
                .map(|row| field(row).as_str())
                .find(|text| !text.is_empty())
                .unwrap_or_default()
                .to_string()
        };
        let grammar = match pick(|row| &row.grammar).as_str() {
            "" | "gnu" => "Gnu",
            "single" => "Single",
            "text" => "Text",
            other => return Err(format!("data/programs: grammar = {other:?} is unknown").into()),
        };
        let rest = match pick(|row| &row.rest).as_str() {
            "" => "Class",
            "none" => "None",
            "plus" => "Plus",
            other => return Err(format!("data/programs: rest = {other:?} is unknown").into()),
        };
        let (prefixes, exact): (Vec<_>, Vec<_>) =
            options.iter().partition(|(name, _)| name.len() > 2 && name.ends_with('*'));
        let exact = self.text.lines(exact.into_iter().map(|(name, effect)| (name.as_str(), effect.clone())));
        let starts = prefixes.into_iter().map(|(name, effect)| (name.trim_end_matches('*'), effect.clone()));
        let starts = self.text.lines(starts);
        let subs = self.text.lines(subs.iter().map(|(phrase, at)| (phrase.as_str(), at.to_string())));
        writeln!(
            self.code,
            "    Signature {{ grammar: Grammar::{grammar}, rest: Rest::{rest}, numeric: {}, response: {}, bundled: {}, negates: {}, leading: {}, loose: {}, unabbreviated: {}, passes: {:?}, behind: {:?}, options: {exact}, prefixes: {starts}, subs: {subs} }},",
            any(|row| row.numeric),
            any(|row| row.response),
            any(|row| row.bundled),
            any(|row| row.negates),
            any(|row| row.leading),
            any(|row| row.loose),
            any(|row| row.unabbreviated),
            row.passes,
            pick(|row| &row.behind),
        )?;
        self.count += 1;
        Ok(self.count - 1)
    }
}

/// Collects the options of a row with their effects; `-abc` of the GNU grammar is three options.
fn collect(row: &OptionRow, options: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    let lists = [
        (&row.flags, "flag"),
        (&row.values, "value"),
        (&row.optional, "optional"),
        (&row.reads, "read"),
        (&row.writes, "write"),
        (&row.writes_each, "write-each"),
        (&row.deletes, "delete"),
        (&row.loads, "load"),
        (&row.runs, "run"),
        (&row.sends, "send"),
        (&row.asks, "ask"),
        (&row.asks_value, "ask-value"),
    ];
    let mut own: BTreeMap<String, String> = BTreeMap::new();
    let mut put = |name: String, effect: String| match own.insert(name.clone(), effect) {
        Some(_) => Err(format!("data/programs: option `{name}` of `{}` stands twice", row.names)),
        None => Ok(()),
    };
    for (list, effect) in lists {
        for word in list.split_whitespace() {
            let letters =
                word.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.chars().count() > 1);
            match letters.filter(|rest| row.grammar != "single" && !rest.ends_with('*')) {
                Some(letters) => {
                    for letter in letters.chars() {
                        put(format!("-{letter}"), effect.to_string())?;
                    }
                }
                None => put(word.to_string(), effect.to_string())?,
            }
        }
    }
    for (names, patterns) in &row.only {
        let patterns: Vec<&str> = patterns.split_whitespace().collect();
        for name in names.split_whitespace() {
            put(name.to_string(), format!("={}", patterns.join(" ")))?;
        }
    }
    for (names, patterns) in &row.empties {
        let patterns: Vec<&str> = patterns.split_whitespace().collect();
        for name in names.split_whitespace() {
            put(name.to_string(), format!("!{}", patterns.join(" ")))?;
        }
    }
    for (names, program) in &row.inner {
        for name in names.split_whitespace() {
            put(name.to_string(), format!("@{program}"))?;
        }
    }
    options.append(&mut own);
    Ok(())
}
