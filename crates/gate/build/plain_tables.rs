//! Tables that become constants as they are: places of credentials, words by which programs load code, and harmless inline code.

use super::Failure;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs, path::Path};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretPlaces {
    home: Vec<String>,
    system: Vec<String>,
    keys: Vec<String>,
    names: Vec<String>,
    stems: Vec<String>,
    settings_endings: Vec<String>,
    key_endings: Vec<String>,
    samples: Vec<String>,
    by_content: Vec<String>,
    r#override: Vec<Override>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Override {
    variable: String,
    below: Vec<String>,
}

#[derive(serde::Deserialize)]
struct CodeFlags {
    program: Vec<CodeFlagRow>,
}

#[derive(serde::Deserialize)]
struct CodeFlagRow {
    programs: String,
    words: Vec<String>,
    #[serde(default)]
    inside: Vec<String>,
    #[serde(default)]
    sql: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct InlineCode {
    acting_parts: String,
    reading_parts: String,
    language: Vec<InlineLanguage>,
}

#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct InlineLanguage {
    names: String,
    syntax: String,
    closed: bool,
    words: String,
    doubted: String,
    methods: String,
    callbacks: String,
    properties: String,
    imports: String,
    modules: String,
    readers: String,
    receivers: String,
    paths: String,
    environment: String,
    objects: BTreeMap<String, String>,
    /// Examples, which a test checks.
    #[serde(rename = "allow")]
    _allow: Vec<String>,
    #[serde(rename = "ask")]
    _ask: Vec<String>,
}

/// Writes what is harmless in inline code.
fn write_inline_code(directory: &str) -> Result<(), Failure> {
    let table: InlineCode = read("data/inline_code.toml")?;
    let mut code = format!(
        "const ACTING_PARTS: &str = {:?};\nconst READING_PARTS: &str = {:?};\nstatic LANGUAGES: &[Language] = &[\n",
        table.acting_parts, table.reading_parts
    );
    for row in table.language {
        let objects: Vec<(String, String)> = row.objects.into_iter().collect();
        writeln!(
            code,
            "    Language {{ names: {:?}, syntax: Syntax::{}, closed: {}, words: {:?}, doubted: {:?}, methods: {:?}, callbacks: {:?}, properties: {:?}, imports: {:?}, modules: {:?}, readers: {:?}, receivers: {:?}, paths: {:?}, environment: {:?}, objects: &{objects:?} }},",
            row.names,
            row.syntax,
            row.closed,
            row.words,
            row.doubted,
            row.methods,
            row.callbacks,
            row.properties,
            row.imports,
            row.modules,
            row.readers,
            row.receivers,
            row.paths,
            row.environment,
        )?;
    }
    code.push_str("];\n");
    fs::write(Path::new(directory).join("inline_code.rs"), code)?;
    Ok(())
}

fn read<T: serde::de::DeserializeOwned>(source: &str) -> Result<T, Failure> {
    println!("cargo:rerun-if-changed={source}");
    toml::from_str(&fs::read_to_string(source)?).map_err(|error| format!("{source}: {error}").into())
}

pub(crate) fn write() -> Result<(), Failure> {
    let directory = env::var("OUT_DIR")?;
    let places: SecretPlaces = read("data/secret_places.toml")?;
    let mut code = String::new();
    for (visibility, name, words) in [
        ("pub(crate)", "HOME", &places.home),
        ("pub(crate)", "SYSTEM", &places.system),
        ("pub(super)", "KEYS", &places.keys),
        ("pub(super)", "NAMES", &places.names),
        ("pub(super)", "STEMS", &places.stems),
        ("pub(super)", "SETTINGS_ENDINGS", &places.settings_endings),
        ("pub(super)", "KEY_ENDINGS", &places.key_endings),
        ("pub(super)", "SAMPLES", &places.samples),
        ("pub(super)", "BY_CONTENT", &places.by_content),
    ] {
        writeln!(code, "{visibility} const {name}: &[&str] = &{words:?};")?;
    }
    writeln!(code, "pub(super) const OVERRIDES: &[(&str, &[&str])] = &[")?;
    for row in places.r#override {
        writeln!(code, "    ({:?}, &{:?}),", row.variable, row.below)?;
    }
    code.push_str("];\n");
    fs::write(Path::new(&directory).join("secret_places.rs"), code)?;
    let flags: CodeFlags = read("data/code_flags.toml")?;
    let mut code = String::from("const ROWS: &[Row] = &[\n");
    for CodeFlagRow { programs, words, inside, sql } in flags.program {
        writeln!(
            code,
            "    Row {{ programs: {programs:?}, words: &{words:?}, inside: &{inside:?}, sql: {sql:?} }},"
        )?;
    }
    code.push_str("];\n");
    fs::write(Path::new(&directory).join("code_flags.rs"), code)?;
    write_inline_code(&directory)
}
