//! A skill: a directory in the open Agent Skills format, with `SKILL.md` and optional scripts, references and tests.
//!
//! The front matter is YAML. `name` and `description` are required, `metadata` holds what Marvin adds under keys of its own
//! (`marvin-…`), and every other key is left to the programs that know it. `allowed-tools` of other programs gives no rights here.

use marvin_tools::canonical_name;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";
pub(super) const MAX_SKILL_FILE_BYTES: u64 = 256 * 1024;
const MAX_NAME_BYTES: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1_024;
/// Characters of one value that Marvin adds.
const MAX_VALUE_CHARS: usize = 4_000;
const MAX_FRONT_MATTER_BYTES: usize = 32 * 1024;

/// The origin of a skill, in order of precedence among skills of equal trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// `.marvin/skills` of the project.
    Project,
    /// `skills` in the person's own directory.
    User,
    /// `.agents/skills` of the project, which Marvin only reads.
    Agents,
    /// `.claude/skills` of the project, which Marvin only reads.
    Claude,
    BuiltIn,
}

impl Origin {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Origin::Project => "project",
            Origin::User => "yours",
            Origin::Agents => ".agents",
            Origin::Claude => ".claude",
            Origin::BuiltIn => "built-in",
        }
    }

    /// Whether Marvin writes there.
    #[must_use]
    pub fn is_writable(self) -> bool {
        matches!(self, Origin::Project | Origin::User)
    }
}

/// Reasons to refuse a directory as a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    #[error("it has no {SKILL_FILE}")]
    NoFile,
    #[error("cannot read {0}: {1}")]
    Unreadable(String, String),
    #[error("{SKILL_FILE} does not begin with front matter between two lines `---`")]
    NoFrontMatter,
    #[error("its front matter cannot be parsed: {0}")]
    Yaml(String),
    #[error("its front matter has the key `{key}` twice, again at line {line}")]
    DuplicateKey { key: String, line: u64 },
    #[error("its front matter has no `{0}`")]
    Missing(&'static str),
    #[error("`{0}` is not a name for a skill")]
    Name(String),
    #[error("its name `{name}` is not that of its directory `{directory}`")]
    OtherName { name: String, directory: String },
    #[error("{what} is longer than {limit}")]
    TooLong { what: String, limit: String },
    #[error("it has no instructions below the front matter")]
    Empty,
    #[error("it needs tools that do not exist: {0}")]
    UnknownTools(String),
    #[error("it changed since it was registered")]
    Changed,
    #[error("`{0}` is a link or not a file, so its content is not fixed")]
    NotAFile(String),
    #[error("there are more than {0}")]
    TooMany(String),
}

impl SkillError {
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            SkillError::NoFrontMatter | SkillError::Missing(_) => {
                "begin the file with `---`, `name: …`, `description: …`, `---`"
            }
            SkillError::Yaml(_) => "put texts with `: `, `#`, `{` or `[` in quotes",
            SkillError::DuplicateKey { .. } => "remove one of both",
            SkillError::Name(_) => {
                "use 1 to 64 small letters, digits and single hyphens, with a letter or digit at both ends"
            }
            SkillError::OtherName { .. } => "rename the directory, or the skill",
            SkillError::UnknownTools(_) => "`marvin tools list` shows the tools there are",
            SkillError::Changed => "read it, then trust it as it is now with `marvin skills trust NAME`",
            SkillError::NotAFile(_) => "put a copy in its place",
            _ => return None,
        })
    }
}

/// A parsed skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub origin: Origin,
    /// None: it is built in.
    pub directory: Option<PathBuf>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(flatten)]
    pub facts: SkillFacts,
    /// Instructions below the front matter.
    #[serde(skip)]
    pub text: Arc<str>,
}

/// Marvin's additions to the open format, from `metadata`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SkillFacts {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub purpose: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub contract: String,
    /// Tools that it needs; an agent without them is not told of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Tags of lessons that are told with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retrieval: Vec<String>,
    /// Its script or command.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub entry: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub justification: String,
    /// The line that runs its tests; empty: the runner is detected.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub test: String,
}

#[derive(Deserialize)]
struct FrontMatter {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    metadata: Option<Value>,
}

/// Whether a name fits the open format.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(fits)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Parses the text of a `SKILL.md` in a directory of this name.
///
/// # Errors
/// When it does not fit the format, with the reason.
pub(super) fn parse(
    text: &str,
    name: &str,
    origin: Origin,
    directory: Option<PathBuf>,
) -> Result<Skill, SkillError> {
    let (front, body) = split(text).ok_or(SkillError::NoFrontMatter)?;
    let too_long = |what: &str, limit: String| SkillError::TooLong { what: what.into(), limit };
    if front.len() > MAX_FRONT_MATTER_BYTES {
        return Err(too_long("its front matter", format!("{MAX_FRONT_MATTER_BYTES} bytes")));
    }
    // A comment in place of the first `---`, so that an error names the line of the file.
    let front: FrontMatter = serde_saphyr::from_str_with_options(
        &format!("#\n{front}"),
        serde_saphyr::options! { strict_booleans: true, with_snippet: false },
    )
    .map_err(|error| describe_yaml(&error))?;
    let given = |value: Option<String>, key| {
        value
            .map(|text| text.trim().to_string())
            .filter(|text| !text.is_empty())
            .ok_or(SkillError::Missing(key))
    };
    let own = given(front.name, "name")?;
    if !is_name(&own) {
        return Err(SkillError::Name(marvin_base::truncate::line(&own, 80)));
    }
    if own != name {
        return Err(SkillError::OtherName { name: own, directory: name.to_string() });
    }
    let description = given(front.description, "description")?;
    if description.chars().nth(MAX_DESCRIPTION_CHARS).is_some() {
        return Err(too_long("its description", format!("{MAX_DESCRIPTION_CHARS} characters")));
    }
    if body.trim().is_empty() {
        return Err(SkillError::Empty);
    }
    let metadata = words_of(front.metadata)?;
    let value = |key: &str| metadata.get(key).cloned().unwrap_or_default();
    let list = |key: &str| -> Vec<String> {
        value(key).split([' ', ',', '\n']).filter(|word| !word.is_empty()).map(str::to_string).collect()
    };
    let tools = list("marvin-tools").iter().map(|tool| canonical_name(tool).to_string()).collect();
    Ok(Skill {
        name: own,
        description: one_line(&description),
        origin,
        directory,
        version: value("version"),
        facts: SkillFacts {
            purpose: value("marvin-purpose"),
            contract: value("marvin-contract"),
            tools,
            retrieval: list("marvin-retrieval"),
            entry: value("marvin-entry"),
            justification: value("marvin-justification"),
            test: value("marvin-test"),
        },
        text: body.trim().into(),
    })
}

/// The refusal of front matter. What the parser says of a key that is given twice is advice to a programmer.
fn describe_yaml(error: &serde_saphyr::Error) -> SkillError {
    match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { key, location } => {
            let key = marvin_base::truncate::line(key.as_deref().unwrap_or("…"), 80);
            SkillError::DuplicateKey { key, line: location.line() }
        }
        other => SkillError::Yaml(marvin_base::truncate::line(&other.to_string(), 200)),
    }
}

/// Front matter and body of a text; lines may end as on any system.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = 0;
    let mut begin = None;
    for line in text.split_inclusive('\n') {
        let is_mark = line.trim_end() == "---";
        match begin {
            None if is_mark => begin = Some(at + line.len()),
            None => return None,
            Some(begin) if is_mark => return Some((text.get(begin..at)?, text.get(at + line.len()..)?)),
            Some(_) => {}
        }
        at += line.len();
    }
    None
}

/// Values of `metadata` that Marvin reads, as text. Values of other programs may be anything.
fn words_of(metadata: Option<Value>) -> Result<BTreeMap<String, String>, SkillError> {
    let Some(Value::Object(map)) = metadata else { return Ok(BTreeMap::new()) };
    let mut words = BTreeMap::new();
    for (key, value) in map.into_iter().filter(|(key, _)| key.starts_with("marvin-") || key == "version") {
        let text = match value {
            Value::String(text) => text.trim().to_string(),
            Value::Array(list) => {
                list.iter().filter_map(Value::as_str).map(str::trim).collect::<Vec<_>>().join(" ")
            }
            Value::Null => String::new(),
            other => other.to_string(),
        };
        if text.chars().nth(MAX_VALUE_CHARS).is_some() {
            let limit = format!("{MAX_VALUE_CHARS} characters");
            return Err(SkillError::TooLong { what: format!("`{key}`"), limit });
        }
        words.insert(key, text);
    }
    Ok(words)
}

/// Text of others on one line, with nothing hidden in it.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    marvin_base::printable::visible(&words).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Skill, SkillError> {
        parse(text, "a-b", Origin::Project, None)
    }

    #[test]
    fn what_marvin_adds_is_read_and_the_rest_is_left_to_others() {
        let text = "\u{feff}---\r\nname: a-b\r\ndescription: >-\r\n  Two\r\n  lines\u{200b}.\r\nallowed-tools: Bash(git:*) Read\r\nhooks: {x: [1]}\r\nmetadata:\r\n  version: 1.5\r\n  \
             marvin-tools: [file.read, run_command]\r\n  marvin-entry: scripts/x.sh\r\n  author: {name: A}\r\n---\r\n\r\n# Do it\r\n---\r\nmore\r\n";
        let skill = read(text).unwrap();
        assert_eq!((skill.name.as_str(), skill.version.as_str()), ("a-b", "1.5"));
        assert_eq!(skill.description, "Two lines\\u{200b}.");
        assert_eq!(skill.facts.tools, ["read_file", "run_command"]);
        assert_eq!(&*skill.text, "# Do it\r\n---\r\nmore");
    }

    #[test]
    fn an_error_names_the_line_of_the_file() {
        let error = read("---\nname: a-b\ndescription: [x\n---\nbody").unwrap_err();
        assert!(error.to_string().contains("at line 3"), "{error}");
        let error = read("---\nname: a-b\ndescription: x\nmetadata:\n  k: 1\n  k: 2\n---\nbody").unwrap_err();
        assert_eq!(error.to_string(), "its front matter has the key `k` twice, again at line 6");
        let error = read("---\nname: a-b\nname: a-b\ndescription: x\n---\nbody").unwrap_err();
        assert!(!error.to_string().contains("DuplicateKeyPolicy"), "{error}");
    }

    #[test]
    fn names_are_those_of_the_open_format() {
        for good in ["a", "pdf-2", &"a".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a--b", "A", "a_b", "a b", "é", "../x", &"a".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_breaks_the_parser(text in "(?s).{0,300}", yaml in "(?s)[a-z:\\-&* \n\\[{]{0,120}") {
            let _ = read(&text);
            let _ = read(&format!("---\nname: a-b\ndescription: x\n{yaml}\n---\nbody"));
        }
    }
}
