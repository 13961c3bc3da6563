//! The parser of `pack.json`: field by field, so that an error names its field and has a hint.
//!
//! It accepts what `_pack.schema.json` accepts, and also checks that globs are valid.

use super::paths;
use super::problem::Problem;
use marvin_base::settings::nearest_of;
use serde_json::{Map, Value};
use std::path::Path;

const MAX_LIST_ENTRIES: usize = 100;
const MAX_NAME_CHARS: usize = 64;
const MAX_TEXT_CHARS: usize = 500;

/// The content of `pack.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) name: Box<str>,
    pub(super) version: Box<str>,
    pub(super) owner: Box<str>,
    pub(super) description: Box<str>,
    pub(super) categories: Box<[Box<str>]>,
    pub(super) extensions: Box<[Box<str>]>,
    pub(super) depends_on: Box<[Box<str>]>,
    pub(super) sensitive: Box<[Box<str>]>,
    pub(super) excludes: Box<[Box<str>]>,
    pub(super) code_paths: Box<[Box<str>]>,
    pub(super) doc_links: Box<[Box<str>]>,
}

/// The format of a text.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Name,
    Version,
    Extension,
    Glob,
    Link,
    Filled,
    Any,
}

impl Shape {
    fn fits(self, text: &str) -> bool {
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        match self {
            Shape::Name => {
                text.starts_with(|c: char| c.is_ascii_lowercase())
                    && text.chars().all(|c| lower(c) || c == '-')
            }
            Shape::Version => {
                let parts: Vec<&str> = text.split('.').collect();
                let number = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
                parts.len() == 3 && parts.iter().all(number)
            }
            Shape::Extension => {
                let rest = text.strip_prefix('.').unwrap_or_default();
                !rest.is_empty() && rest.chars().all(|c| lower(c) || c == '.')
            }
            Shape::Link => text.split_once(':').is_some_and(|(scheme, rest)| {
                scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
                    && !rest.is_empty()
                    && rest.chars().all(|c| c.is_ascii_graphic())
            }),
            Shape::Glob | Shape::Filled => !text.is_empty(),
            Shape::Any => true,
        }
    }

    fn max_chars(self) -> usize {
        match self {
            Shape::Name | Shape::Version | Shape::Extension => MAX_NAME_CHARS,
            Shape::Glob | Shape::Link | Shape::Filled | Shape::Any => MAX_TEXT_CHARS,
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Shape::Name => {
                "begin with a small letter, then small letters, digits and hyphens: \"git-workflow\""
            }
            Shape::Version => "write three numbers: \"1.0.0\"",
            Shape::Extension => {
                "begin with a dot, then small letters, digits and dots: \".ts\", \".test.ts\""
            }
            Shape::Glob => "write a path or a glob: \"src/api/\", \"**/auth/**\"",
            Shape::Link => "write an address: \"https://example.com/guide\"",
            Shape::Filled => "write a text that is not empty",
            Shape::Any => "write a text",
        }
    }
}

/// Parses a `pack.json`; any problem rejects the pack.
pub(super) fn parse(text: &str, file: &Path, directory: &str) -> Result<Facts, Vec<Problem>> {
    let mut reader = Reader { file, problems: Vec::new() };
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            reader.note(
                "",
                format!("it is not JSON: {error}"),
                "fix it there; `marvin packs new` shows how one looks",
            );
            return Err(reader.problems);
        }
    };
    let Value::Object(map) = value else {
        reader.note("", "it is not a JSON object", "the file is {\"name\": …, \"version\": …, \"owner\": …}");
        return Err(reader.problems);
    };
    let known = [
        "$schema",
        "name",
        "version",
        "owner",
        "description",
        "categories",
        "applies_to",
        "depends_on",
        "sensitive_paths",
        "excludes_paths",
        "references",
    ];
    reader.only(&map, "", &known);
    reader.text(&map, "$schema", Shape::Any, false);
    let mut facts = Facts {
        name: reader.text(&map, "name", Shape::Name, true),
        version: reader.text(&map, "version", Shape::Version, true),
        owner: reader.text(&map, "owner", Shape::Filled, true),
        description: reader.text(&map, "description", Shape::Any, false),
        categories: reader.list(&map, "", "categories", Shape::Name),
        depends_on: reader.list(&map, "", "depends_on", Shape::Name),
        sensitive: reader.list(&map, "", "sensitive_paths", Shape::Glob),
        excludes: reader.list(&map, "", "excludes_paths", Shape::Glob),
        ..Facts::default()
    };
    if let Some(inner) = reader.object(&map, "applies_to", &["extensions"]) {
        facts.extensions = reader.list(inner, "applies_to.", "extensions", Shape::Extension);
    }
    if let Some(inner) = reader.object(&map, "references", &["code_paths", "doc_links"]) {
        facts.code_paths = reader.list(inner, "references.", "code_paths", Shape::Glob);
        facts.doc_links = reader.list(inner, "references.", "doc_links", Shape::Link);
    }
    if !facts.name.is_empty() && &*facts.name != directory {
        let what = format!("it is `{}`, but the directory is called `{directory}`", facts.name);
        reader.note("name", what, "give both the same name");
    }
    if reader.problems.is_empty() { Ok(facts) } else { Err(reader.problems) }
}

struct Reader<'a> {
    file: &'a Path,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn note(&mut self, field: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) {
        if self.problems.len() < MAX_LIST_ENTRIES {
            self.problems.push(Problem::new(self.file, field, what, hint));
        }
    }

    /// Reports unknown keys.
    fn only(&mut self, map: &Map<String, Value>, above: &str, known: &[&str]) {
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let near = nearest_of(key, known.iter().copied());
            let hint = match near {
                Some(near) => format!("did you mean `{above}{near}`?"),
                None => format!("remove it; known are {}", known.join(", ")),
            };
            let key = marvin_base::truncate::line(key, MAX_NAME_CHARS);
            self.note(format!("{above}{key}"), "unknown field", hint);
        }
    }

    fn object<'v>(
        &mut self,
        map: &'v Map<String, Value>,
        key: &str,
        known: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        match map.get(key)? {
            Value::Object(inner) => {
                self.only(inner, &format!("{key}."), known);
                Some(inner)
            }
            _ => {
                self.note(key, "it is not an object", format!("write {{{}}}", known.join(", ")));
                None
            }
        }
    }

    fn text(&mut self, map: &Map<String, Value>, key: &str, shape: Shape, needed: bool) -> Box<str> {
        match map.get(key) {
            None if needed => self.note(key, "it is missing", shape.hint()),
            None => {}
            Some(value) => return self.one(value, key, shape).unwrap_or_default(),
        }
        Box::default()
    }

    fn one(&mut self, value: &Value, field: &str, shape: Shape) -> Option<Box<str>> {
        let Value::String(text) = value else {
            self.note(field, "it is not a text", shape.hint());
            return None;
        };
        if text.chars().count() > shape.max_chars() {
            let what = format!("it is longer than {} characters", shape.max_chars());
            self.note(field, what, "shorten it");
            return None;
        }
        if !shape.fits(text) {
            let shown = marvin_base::truncate::line(text, MAX_NAME_CHARS);
            self.note(field, format!("`{shown}` is not valid"), shape.hint());
            return None;
        }
        if let (Shape::Glob, Err(error)) = (shape, paths::globs(text)) {
            self.note(field, error.to_string(), shape.hint());
            return None;
        }
        Some(text.as_str().into())
    }

    fn list(&mut self, map: &Map<String, Value>, above: &str, key: &str, shape: Shape) -> Box<[Box<str>]> {
        let field = format!("{above}{key}");
        match map.get(key) {
            None => Box::default(),
            Some(Value::Array(values)) if values.len() <= MAX_LIST_ENTRIES => {
                let each = values.iter().enumerate();
                each.filter_map(|(at, value)| self.one(value, &format!("{field}[{at}]"), shape)).collect()
            }
            Some(Value::Array(values)) => {
                let what =
                    format!("it has {} entries, and at most {MAX_LIST_ENTRIES} are read", values.len());
                self.note(field, what, "keep the ones that matter");
                Box::default()
            }
            Some(_) => {
                self.note(field, "it is not a list", "write [\"…\", \"…\"]");
                Box::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<Facts, Vec<Problem>> {
        parse(&value.to_string(), Path::new("/p/demo/pack.json"), "demo")
    }

    #[test]
    fn problems_name_the_file_the_field_and_a_hint() {
        let problems =
            read(&json!({"name": "demo", "version": "1", "ownr": "me", "applies_to": {"extensions": ["ts"]},
            "sensitive_paths": ["a[", 7]}))
            .unwrap_err();
        let text = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        for part in [
            "/p/demo/pack.json: ownr: unknown field\n  hint: did you mean `owner`?",
            "/p/demo/pack.json: owner: it is missing",
            "/p/demo/pack.json: version: `1` is not valid\n  hint: write three numbers: \"1.0.0\"",
            "applies_to.extensions[0]: `ts` is not valid\n  hint: begin with a dot",
            "sensitive_paths[0]: ",
            "sensitive_paths[1]: it is not a text",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let other = read(&json!({"name": "else", "version": "1.0.0", "owner": "me"})).unwrap_err();
        assert!(other[0].to_string().contains("the directory is called `demo`"));
        assert!(parse("{", Path::new("x"), "x").unwrap_err()[0].what.contains("not JSON"));
        assert!(parse("[]", Path::new("x"), "x").is_err());
    }

    /// What the schema accepts is accepted, and nothing else, but for globs, of which a schema knows nothing.
    #[test]
    fn the_shipped_schema_says_the_same() {
        let schema: Value = serde_json::from_str(crate::packs::starter::SCHEMA).unwrap();
        let schema = jsonschema::validator_for(&schema).unwrap();
        let good = json!({"$schema": "../_pack.schema.json", "name": "demo", "version": "0.10.2", "owner": "me",
            "description": "", "categories": ["a", "b-2"], "applies_to": {"extensions": [".ts", ".test.ts"]},
            "depends_on": ["other"], "sensitive_paths": ["**/x/**"], "excludes_paths": ["dist/"],
            "references": {"code_paths": ["src/"], "doc_links": ["https://example.com/a?b=c", "mailto:x@y"]}});
        let bad: Vec<(&str, Value)> = [
            ("/name", json!("Demo")),
            ("/name", json!("")),
            ("/name", json!("1demo")),
            ("/name", json!(7)),
            ("/version", json!("1.0")),
            ("/version", json!("1.0.0-rc1")),
            ("/version", json!("v1.0.0")),
            ("/version", json!("1..0")),
            ("/owner", json!("")),
            ("/owner", json!(null)),
            ("/description", json!(["x"])),
            ("/description", json!("x".repeat(501))),
            ("/categories", json!("x")),
            ("/categories", json!(["A"])),
            ("/categories", json!(vec!["a"; 101])),
            ("/categories/0", json!("a_b")),
            ("/applies_to", json!([])),
            ("/applies_to", json!({"extension": [".ts"]})),
            ("/applies_to/extensions/0", json!("ts")),
            ("/applies_to/extensions/0", json!(".TS")),
            ("/applies_to/extensions/0", json!(".")),
            ("/depends_on/0", json!("../x")),
            ("/sensitive_paths/0", json!("")),
            ("/excludes_paths", json!({})),
            ("/excludes_paths/0", json!("x".repeat(501))),
            ("/references", json!({"code_path": []})),
            ("/references/doc_links/0", json!("example.com")),
            ("/references/doc_links/0", json!("https://a b")),
            ("/references/doc_links/0", json!("https:")),
            ("/$schema", json!(1)),
        ]
        .into();
        assert!(schema.is_valid(&good) && read(&good).is_ok(), "{:?}", read(&good));
        for (place, value) in bad {
            let mut changed = good.clone();
            *changed.pointer_mut(place).unwrap() = value.clone();
            assert!(!schema.is_valid(&changed), "the schema accepts {place} = {value}");
            assert!(read(&changed).is_err(), "the reader accepts {place} = {value}");
        }
        for missing in ["name", "version", "owner"] {
            let mut changed = good.clone();
            changed.as_object_mut().unwrap().shift_remove(missing);
            assert!(!schema.is_valid(&changed) && read(&changed).is_err(), "{missing}");
        }
        for place in ["/applies_to", "/references", ""] {
            let mut changed = good.clone();
            let inner = changed.pointer_mut(place).unwrap().as_object_mut().unwrap();
            inner.insert("more".into(), json!(1));
            assert!(!schema.is_valid(&changed) && read(&changed).is_err(), "{place}");
        }
    }
}
