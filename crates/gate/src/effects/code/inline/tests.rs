use super::*;

#[derive(serde::Deserialize)]
struct Table {
    language: Vec<Examples>,
}

#[derive(serde::Deserialize)]
struct Examples {
    names: String,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
}

#[test]
fn the_examples_of_every_language_hold() {
    let table: Table = toml::from_str(include_str!("../../../../data/inline_code.toml")).unwrap();
    for row in table.language {
        let language = row.names.split_whitespace().next().unwrap();
        assert!(!row.allow.is_empty() && !row.ask.is_empty(), "{language}");
        for code in &row.allow {
            assert!(read(language, code).is_some(), "{language}: {code}");
        }
        for code in &row.ask {
            assert!(read(language, code).is_none(), "{language}: {code}");
        }
    }
}
