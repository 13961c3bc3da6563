//! Tables that become constants as they are: places of credentials, and words by which programs load code.

use super::Failure;
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
    Ok(())
}
