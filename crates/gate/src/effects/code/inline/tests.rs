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

#[test]
fn magic_commands_of_ipython_are_not_harmless() {
    for code in ["!id", "x = !id", "%system id", ",print x"] {
        assert!(read("ipython", code).is_none(), "{code}");
    }
    assert!(read("ipython", "print(1)").is_some());
}

#[test]
fn files_that_harmless_code_reads_are_named() {
    let reads = |language: &str, code: &str| read(language, code).unwrap().reads;
    assert_eq!(reads("python", "print(open('a.txt').read())"), ["a.txt"]);
    assert_eq!(reads("python", "p = 'a'\nprint(open(p).read())"), ["a"]);
    assert_eq!(reads("node", "console.log(require('./a.json'))"), ["./a.json"]);
    assert_eq!(reads("ruby", "puts File.read 'a'"), ["a"]);
    assert!(read("python", "import sys; print(open(sys.argv[1]).read())").unwrap().reads_arguments);
    let listed = "from pathlib import Path\nfor p in Path('src').glob('*.py'): print(p.read_text())";
    assert_eq!(reads("python", listed), ["src/*.py", "src", "*.py"]);
}

#[test]
fn long_code_is_not_read() {
    assert!(read("python", &"x = 1\n".repeat(MAX_CODE_BYTES)).is_none());
}
