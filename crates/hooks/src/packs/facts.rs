//! The parser of `pack.json`: `_pack.schema.json` decides, and every error names its field and has a hint.
//!
//! Beyond the schema, globs must be valid and the name must be that of the directory.

use super::paths;
use super::problem::Problem;
use super::starter::SCHEMA;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use marvin_base::settings::nearest_of;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;

/// Problems of one file that are reported.
const MAX_PROBLEMS: usize = 100;
const MAX_LIST_ENTRIES: usize = 100;
const MAX_NAME_CHARS: usize = 64;

/// Lists of globs, by JSON Pointer.
const GLOBS: [&str; 3] = ["/sensitive_paths", "/excludes_paths", "/references/code_paths"];

/// The schema and its validator; a test checks that it compiles.
static PACK_SCHEMA: LazyLock<Option<(Value, Validator)>> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(SCHEMA).ok()?;
    let validator = jsonschema::validator_for(&schema).ok()?;
    Some((schema, validator))
});

/// The content of `pack.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Facts {
    pub(super) name: Box<str>,
    pub(super) version: Box<str>,
    pub(super) owner: Box<str>,
    pub(super) description: Box<str>,
    pub(super) categories: Box<[Box<str>]>,
    pub(super) applies_to: AppliesTo,
    pub(super) depends_on: Box<[Box<str>]>,
    pub(super) sensitive_paths: Box<[Box<str>]>,
    pub(super) excludes_paths: Box<[Box<str>]>,
    pub(super) references: References,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct AppliesTo {
    pub(super) extensions: Box<[Box<str>]>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct References {
    pub(super) code_paths: Box<[Box<str>]>,
    pub(super) doc_links: Box<[Box<str>]>,
}

/// Parses a `pack.json`; any problem rejects the pack.
pub(super) fn parse(text: &str, file: &Path, directory: &str) -> Result<Facts, Vec<Problem>> {
    let one = |field: &str, what: String, hint: &str| vec![Problem::new(file, field, what, hint)];
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let hint = "fix it there; `marvin packs new` shows how one looks";
        one("", format!("it is not JSON: {error}"), hint)
    })?;
    // The validator collects every error, so a long list must not reach it.
    if let Some((field, count)) = long_list(&value, "") {
        let what = format!("it has {count} entries, and at most {MAX_LIST_ENTRIES} are read");
        return Err(one(&field, what, "keep the ones that matter"));
    }
    let Some((schema, validator)) = &*PACK_SCHEMA else {
        return Err(one(
            "",
            "the schema of packs cannot be compiled".into(),
            "report this as a bug of Marvin",
        ));
    };
    let wrong = validator.iter_errors(&value).flat_map(|error| problems_of(&error, schema, file));
    let mut problems: Vec<Problem> = wrong.take(MAX_PROBLEMS).collect();
    for list in GLOBS {
        let globs = value.pointer(list).and_then(Value::as_array).into_iter().flatten().enumerate();
        for (at, glob) in globs.take(MAX_PROBLEMS) {
            if let Some(Err(error)) = glob.as_str().filter(|glob| !glob.is_empty()).map(paths::globs) {
                let field = field_of(&format!("{list}/{at}"));
                problems.push(Problem::new(file, &field, error.to_string(), hint(&field)));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let facts: Facts = serde_json::from_value(value)
        .map_err(|error| one("", error.to_string(), "compare it with `_pack.schema.json`"))?;
    if &*facts.name != directory {
        let what = format!("it is `{}`, but the directory is called `{directory}`", facts.name);
        return Err(one("name", what, "give both the same name"));
    }
    Ok(facts)
}

/// The first list that is too long, and its length.
fn long_list(value: &Value, pointer: &str) -> Option<(String, usize)> {
    match value {
        Value::Array(list) if list.len() > MAX_LIST_ENTRIES => {
            Some((marvin_base::truncate::line(&field_of(pointer), MAX_NAME_CHARS), list.len()))
        }
        Value::Object(map) => {
            map.iter().find_map(|(key, value)| long_list(value, &format!("{pointer}/{key}")))
        }
        _ => None,
    }
}

/// A JSON Pointer as people write it: `references.code_paths[0]`.
fn field_of(pointer: &str) -> String {
    let mut field = String::new();
    for part in pointer.split('/').filter(|part| !part.is_empty()) {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            field.push_str(&format!("[{part}]"));
        } else {
            field.push_str(if field.is_empty() { "" } else { "." });
            field.push_str(part);
        }
    }
    field
}

/// How to write the text of a field, or of an entry of a list.
fn hint(field: &str) -> &'static str {
    let name = field.split('[').next().unwrap_or(field).rsplit('.').next().unwrap_or(field);
    match name {
        "name" | "categories" | "depends_on" => {
            "begin with a small letter, then small letters, digits and hyphens: \"git-workflow\""
        }
        "version" => "write three numbers: \"1.0.0\"",
        "extensions" => "begin with a dot, then small letters, digits and dots: \".ts\", \".test.ts\"",
        "sensitive_paths" | "excludes_paths" | "code_paths" => {
            "write a path or a glob: \"src/api/\", \"**/auth/**\""
        }
        "doc_links" => "write an address: \"https://example.com/guide\"",
        "owner" => "write a text that is not empty",
        _ => "write a text",
    }
}

/// The problems that one error of the validator stands for.
fn problems_of(error: &ValidationError<'_>, schema: &Value, file: &Path) -> Vec<Problem> {
    let field = field_of(&error.instance_path().to_string());
    let of_field = |what: String, hint: &str| vec![Problem::new(file, &field, what, hint)];
    // The names that the object may have here.
    let known = || {
        let object = error.schema_path().to_string();
        let object = object.rsplit_once('/').map_or("", |(object, _)| object);
        let names = schema.pointer(&format!("{object}/properties")).and_then(Value::as_object);
        names.map(|names| names.keys().map(String::as_str).collect::<Vec<_>>()).unwrap_or_default()
    };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let above = if field.is_empty() { String::new() } else { format!("{field}.") };
            let unknown = |key: &String| {
                let hint = match nearest_of(key, known().into_iter()) {
                    Some(near) => format!("did you mean `{above}{near}`?"),
                    None => format!("remove it; known are {}", known().join(", ")),
                };
                let key = marvin_base::truncate::line(key, MAX_NAME_CHARS);
                Problem::new(file, format!("{above}{key}"), "unknown field", hint)
            };
            unexpected.iter().take(MAX_PROBLEMS).map(unknown).collect()
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![Problem::new(file, name, "it is missing", hint(name))]
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Object) } if field.is_empty() => {
            of_field(
                "it is not a JSON object".into(),
                "the file is {\"name\": …, \"version\": …, \"owner\": …}",
            )
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Object) } => {
            of_field("it is not an object".into(), &format!("write {{{}}}", known().join(", ")))
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Array) } => {
            of_field("it is not a list".into(), "write [\"…\", \"…\"]")
        }
        ValidationErrorKind::Type { .. } => of_field("it is not a text".into(), hint(&field)),
        ValidationErrorKind::MaxLength { limit } => {
            of_field(format!("it is longer than {limit} characters"), "shorten it")
        }
        _ => {
            let shown =
                marvin_base::truncate::line(error.instance().as_str().unwrap_or_default(), MAX_NAME_CHARS);
            of_field(format!("`{shown}` is not valid"), hint(&field))
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

    #[test]
    fn long_lists_and_many_fields_are_cut() {
        let long = json!({"name": "demo", "version": "1.0.0", "owner": "me", "references": {"code_paths": vec![1; 60_000]}});
        let problems = read(&long).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0].to_string().contains("references.code_paths: it has 60000 entries, and at most 100")
        );
        let many: Value =
            (0..20_000).map(|at| (format!("k{at}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
        assert_eq!(read(&many).unwrap_err().len(), MAX_PROBLEMS);
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
