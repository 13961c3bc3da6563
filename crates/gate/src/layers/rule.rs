//! One rule of a list, as its file writes it, and what can be wrong with it.

use regex::RegexBuilder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Characters of a pattern.
pub const MAX_PATTERN_CHARS: usize = 1_024;
/// Characters of a learned pattern.
pub const MAX_LEARNED_PATTERN_CHARS: usize = 512;
/// Characters of an id.
const MAX_ID_CHARS: usize = 128;
/// Bytes that one compiled regex may take.
pub(super) const EXPRESSION_BYTES: usize = 1024 * 1024;
/// Bytes that what a regex remembers of texts may take.
pub(super) const MEMORY_BYTES: usize = 128 * 1024;
/// Nesting of a regex.
pub(super) const EXPRESSION_DEPTH: u32 = 50;

/// The comparison of a pattern with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The command begins with it, and a word ends where it ends.
    Prefix,
    /// The command holds it.
    Contains,
    /// A regex finds it. In an allowlist the finding must begin where the command begins.
    Regex,
    /// The command is exactly this.
    Exact,
}

/// The purpose of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum List {
    /// Refuses.
    Denylist,
    /// Lifts a question.
    Allowlist,
    /// Lifts a question that a person answered before.
    Learned,
    /// Makes programs known that the judge's own table does not know.
    Programs,
}

impl List {
    /// Every list.
    pub const ALL: [List; 4] = [List::Denylist, List::Allowlist, List::Learned, List::Programs];

    /// The name that records use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            List::Denylist => "denylist",
            List::Allowlist => "allowlist",
            List::Learned => "learned",
            List::Programs => "programs",
        }
    }

    /// The name of its file.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            List::Denylist => "denylist.json",
            List::Allowlist => "allowlist.json",
            List::Learned => "learned.jsonl",
            List::Programs => "programs.toml",
        }
    }

    /// The list that a file of this name holds; what is not called otherwise refuses.
    #[must_use]
    pub fn of_name(name: &str) -> List {
        if name.contains("allow") {
            List::Allowlist
        } else if name.contains("learned") {
            List::Learned
        } else if name.contains("programs") {
            List::Programs
        } else {
            List::Denylist
        }
    }
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name.
    pub id: String,
    /// The comparison of the pattern.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The text that is looked for.
    pub pattern: String,
    /// Why, in a sentence that a person and a model can read.
    pub reason: String,
    /// Command lines that it must find; checked when it is loaded.
    #[serde(rename = "match", default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Command lines that it must not find.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
    /// When it was learned.
    #[serde(rename = "learnedAt", default, skip_serializing_if = "Option::is_none")]
    pub learned_at: Option<String>,
    /// The line that a person approved, without secrets.
    #[serde(rename = "approvedCommand", default, skip_serializing_if = "Option::is_none")]
    pub approved_command: Option<String>,
    /// The session in which that happened.
    #[serde(rename = "sessionId", default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// In which kind of directory an allow holds: `workspace`, `inside` it, `elsewhere`, `anywhere`. Unsaid: in the workspace and
    /// inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "folder")]
    pub directory: Option<String>,
}

/// A fault in a rule or a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The rule, by its id or its number.
    pub rule: String,
    /// The fault.
    pub what: String,
    /// The hint.
    #[serde(rename = "mend")]
    pub hint: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.rule.is_empty() {
            write!(f, "{}: {}; {}", self.file, self.what, self.hint)
        } else {
            write!(f, "{}: rule {}: {}; {}", self.file, self.rule, self.what, self.hint)
        }
    }
}

/// A fault in a rule, with its hint; the caller knows the file.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) what: String,
    pub(super) hint: String,
}

impl Fault {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault { what: what.into(), hint: hint.into() }
    }
}

impl Rule {
    /// Reads a rule and looks at everything that can be seen without comparing it with anything.
    pub(super) fn read(value: &Value, list: List) -> Result<Rule, Fault> {
        let rule: Rule = Rule::deserialize(value).map_err(|error| {
            Fault::new(
                error.to_string(),
                "a rule has id, type (prefix, contains, regex, exact), pattern and reason, and may have match and not_match",
            )
        })?;
        rule.check(list)?;
        Ok(rule)
    }

    fn check(&self, list: List) -> Result<(), Fault> {
        for (name, text, longest) in [
            ("id", &self.id, MAX_ID_CHARS),
            ("pattern", &self.pattern, MAX_PATTERN_CHARS),
            ("reason", &self.reason, MAX_PATTERN_CHARS),
        ] {
            if text.trim().is_empty() {
                return Err(Fault::new(format!("its {name} is empty"), format!("give it a {name}")));
            }
            if text.chars().count() > longest {
                return Err(Fault::new(
                    format!("its {name} is longer than {longest} characters"),
                    "shorten it, or make several rules",
                ));
            }
        }
        let directories = ["workspace", "inside", "elsewhere", "anywhere"];
        if self.directory.as_deref().is_some_and(|directory| !directories.contains(&directory)) {
            return Err(Fault::new(
                "its directory is none of the kinds",
                format!("use one of {}", directories.join(", ")),
            ));
        }
        if list == List::Learned { self.check_learned() } else { Ok(()) }
    }

    /// A learned rule is never a pattern: a text that a person approved must not turn into a regex.
    fn check_learned(&self) -> Result<(), Fault> {
        if self.kind != Kind::Exact {
            return Err(Fault::new(
                format!("learned rules have the type exact, not {:?}", self.kind).to_lowercase(),
                "write a rule for more than one command into allowlist.json yourself",
            ));
        }
        if self.pattern.chars().count() > MAX_LEARNED_PATTERN_CHARS {
            return Err(Fault::new(
                format!("its pattern is longer than {MAX_LEARNED_PATTERN_CHARS} characters"),
                "remove it: `marvin gate learned remove ID`",
            ));
        }
        Ok(())
    }

    /// The regex of a rule of that type. It takes time in proportion to the text, whatever the pattern.
    pub(super) fn expression(&self, list: List) -> Result<regex::Regex, Fault> {
        RegexBuilder::new(&self.pattern)
            .size_limit(EXPRESSION_BYTES)
            .dfa_size_limit(MEMORY_BYTES)
            .nest_limit(EXPRESSION_DEPTH)
            .dot_matches_new_line(list == List::Denylist)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => Fault::new(
                    format!("its regex needs more than {EXPRESSION_BYTES} bytes"),
                    "use smaller counts, or several rules",
                ),
                error => Fault::new(
                    format!("its regex cannot be parsed: {}", last_line(&error.to_string())),
                    "fix the regex; look-around and back-references do not exist here",
                ),
            })
    }

    /// Does a text begin with the pattern, and a word end where the pattern ends?
    pub(super) fn begins(&self, text: &str) -> bool {
        text.strip_prefix(self.pattern.as_str()).is_some_and(|rest| {
            let open = !self.pattern.ends_with(|char: char| char.is_alphanumeric());
            rest.is_empty() || rest.starts_with(char::is_whitespace) || (open && !self.pattern.ends_with('-'))
        })
    }
}

/// The sentence of an error that shows the whole pattern before it.
fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(kind: &str, pattern: &str) -> Value {
        json!({"id": "r", "type": kind, "pattern": pattern, "reason": "because"})
    }

    #[test]
    fn a_prefix_ends_where_a_word_ends() {
        let begins =
            |pattern, text| Rule::read(&rule("prefix", pattern), List::Denylist).unwrap().begins(text);
        assert!(begins("ls", "ls") && begins("ls", "ls -l") && !begins("ls", "lsof"));
        assert!(begins("git push --force", "git push --force origin"));
        assert!(!begins("git push --force", "git push --force-with-lease"));
        assert!(begins("cat src/", "cat src/a") && begins("echo ", "echo x") && !begins("echo ", "echo"));
        assert!(!begins("git-", "git-evil"));
    }

    #[test]
    fn a_fault_is_named_with_its_hint() {
        let fault = |value: &Value, list| Rule::read(value, list).unwrap_err();
        let Fault { what, hint } =
            fault(&json!({"id": "r", "type": "prefix", "pattern": "x"}), List::Denylist);
        assert!(what.contains("reason") && hint.contains("reason"), "{what} {hint}");
        assert!(fault(&rule("glob", "x"), List::Denylist).what.contains("glob"));
        assert!(fault(&rule("prefix", " "), List::Denylist).what.contains("pattern is empty"));
        assert!(fault(&rule("regex", "x"), List::Learned).what.contains("exact"));
        assert!(fault(&rule("prefix", &"x".repeat(2000)), List::Denylist).what.contains("1024"));
        let typo = json!({"id": "r", "type": "prefix", "pattern": "x", "reason": "y", "not_matches": ["z"]});
        assert!(fault(&typo, List::Denylist).what.contains("not_matches"));
        let mut lost = rule("prefix", "x");
        lost["folder"] = json!("/opt");
        assert!(fault(&lost, List::Allowlist).hint.contains("workspace"));
    }
}
