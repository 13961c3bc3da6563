//! Rule files: read, checked against their own examples, and read again when they change.

use super::form;
use super::rule::{Fault, List, Problem, Rule};
use super::set::{RuleQuery, Set};
use crate::effects::{self, Grounds, MoreFacts};
use marvin_base::atomic::WriteError;
use marvin_base::files::{self, Links};
use marvin_base::signature;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A rule file larger than this is not one.
const MAX_RULE_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Rules in one file.
const MAX_RULES_PER_FILE: usize = 20_000;
/// Problems that are kept of one file: the first are enough to fix it.
const MAX_PROBLEMS_PER_FILE: usize = 100;
/// The place in which examples are judged.
const EXAMPLE: Grounds<'static> = Grounds { workspace: "/home/user/project", home: "/home/user" };

/// The reason why a rule file cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum RuleFileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A rule of it is broken.
    #[error("{0}")]
    Broken(Problem),
    /// It is not as the person left it.
    #[error("{} was not written by you; look at it, then `marvin gate trust` or delete it", .0.display())]
    Foreign(PathBuf),
    /// It is not JSON, or a rule cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<Problem> for RuleFileError {
    fn from(problem: Problem) -> Self {
        RuleFileError::Broken(problem)
    }
}

/// A rule file that was read.
#[derive(Debug)]
pub(super) struct RuleFile {
    /// The rules that can be used.
    pub(super) set: Set,
    /// The programs that it makes known.
    pub(super) programs: MoreFacts,
    /// The faults of the others.
    pub(super) problems: Vec<Problem>,
    /// SHA-256 of its content.
    pub(super) hash: String,
}

impl RuleFile {
    /// One without rules.
    fn empty(list: List, problems: Vec<Problem>) -> RuleFile {
        let set = Set::new(Vec::new(), list).0;
        RuleFile { set, programs: MoreFacts::default(), problems, hash: String::new() }
    }

    /// Does it say anything?
    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.programs.is_empty()
    }
}

/// Reads a rule file. One that is not there holds nothing.
pub(super) fn load(path: &Path, list: List, links: Links) -> RuleFile {
    match files::read_text(path, MAX_RULE_FILE_BYTES, links) {
        Ok(text) => parse(&text, path, list),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => RuleFile::empty(list, Vec::new()),
        Err(error) => {
            let hint = match links {
                Links::Refuse => "make it a readable file of its own, not a link",
                Links::Follow => "make it a readable file",
            };
            let problem = Problem {
                file: path.display().to_string(),
                rule: String::new(),
                what: format!("it cannot be read: {error}"),
                hint: hint.into(),
            };
            RuleFile::empty(list, vec![problem])
        }
    }
}

/// Reads the text of a rule file.
pub(super) fn parse(text: &str, path: &Path, list: List) -> RuleFile {
    let file = path.display().to_string();
    let hash = signature::hash_bytes(text.as_bytes());
    if list == List::Programs {
        let hint =
            "each program is [[program]] with names = \"…\" and class = \"read\", \"write\", \"build\" …";
        let (programs, problems) = match MoreFacts::read(text) {
            Ok(programs) => (programs, Vec::new()),
            Err(error) => {
                let (what, hint) = (error.to_string(), hint.to_string());
                (MoreFacts::default(), vec![Problem { file, rule: String::new(), what, hint }])
            }
        };
        return RuleFile { programs, hash, ..RuleFile::empty(list, problems) };
    }
    let mut problems: Vec<Problem> = Vec::new();
    let mut note = |rule: String, Fault { what, hint }: Fault| {
        if problems.len() < MAX_PROBLEMS_PER_FILE {
            problems.push(Problem { file: file.clone(), rule, what, hint });
        }
    };
    let values = match values(text, list) {
        Ok(values) => values,
        Err((rule, fault)) => {
            note(rule, fault);
            Vec::new()
        }
    };
    if values.len() > MAX_RULES_PER_FILE {
        let what = format!("it holds {} rules, and {MAX_RULES_PER_FILE} are read", values.len());
        note(String::new(), Fault::new(what, "split it, or drop rules that others cover"));
    }
    let mut rules = Vec::new();
    for (number, value) in values.into_iter().take(MAX_RULES_PER_FILE) {
        let name = || match value.get("id").and_then(Value::as_str) {
            Some(id) => format!("`{}`", marvin_base::truncate::line(id, 60)),
            None => number.clone(),
        };
        match Rule::read(&value, list) {
            Ok(rule) => match examples(&rule, list) {
                Ok(()) => rules.push(rule),
                Err(fault) => note(name(), fault),
            },
            Err(fault) => note(name(), fault),
        }
    }
    let (set, broken) = Set::new(rules, list);
    for (rule, fault) in broken {
        note(format!("`{}`", rule.id), fault);
    }
    RuleFile { set, programs: MoreFacts::default(), problems, hash }
}

/// The rules of a file as (place, value).
fn values(text: &str, list: List) -> Result<Vec<(String, Value)>, (String, Fault)> {
    #[derive(Deserialize)]
    struct File {
        rules: Vec<Value>,
    }
    let broken = |error: &serde_json::Error, place: String| {
        let what = format!("it is not JSON of the right shape: {error}");
        let hint = match list {
            List::Learned => "one rule a line; remove the line",
            List::Denylist | List::Allowlist | List::Programs => {
                "the file is {\"rules\": [{\"id\": …, \"type\": …, \"pattern\": …, \"reason\": …}]}"
            }
        };
        (place, Fault::new(what, hint))
    };
    if list != List::Learned {
        let file: File = serde_json::from_str(text).map_err(|error| broken(&error, String::new()))?;
        return Ok(file
            .rules
            .into_iter()
            .enumerate()
            .map(|(at, value)| ((at + 1).to_string(), value))
            .collect());
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let place = format!("in line {}", at + 1);
            let value = serde_json::from_str(line).map_err(|error| broken(&error, place.clone()))?;
            Ok((place, value))
        })
        .collect()
}

/// A rule must find what it says it finds, and nothing that it says it does not.
fn examples(rule: &Rule, list: List) -> Result<(), Fault> {
    if rule.matches.is_empty() && rule.not_match.is_empty() {
        return Ok(());
    }
    let (set, _) = Set::new(vec![rule.clone()], list);
    for line in &rule.matches {
        if !finds(&set, line, list) {
            let what = format!("it does not find its own example `{line}`");
            return Err(Fault::new(what, "fix the pattern or the example (match)"));
        }
    }
    for line in &rule.not_match {
        if finds(&set, line, list) {
            let what = format!("it finds `{line}`, which it must not");
            return Err(Fault::new(what, "fix the pattern or the example (not_match)"));
        }
    }
    Ok(())
}

/// Does the set speak of a line, as it would when the line is judged?
fn finds(set: &Set, line: &str, list: List) -> bool {
    match list {
        List::Denylist => {
            let judgement = effects::judge(line, EXAMPLE.workspace, EXAMPLE);
            refuses(set, line, &judgement.segments).is_some()
        }
        List::Allowlist | List::Learned | List::Programs => {
            let judgement = effects::judge(line, EXAMPLE.workspace, EXAMPLE);
            let forms = form::read(line, EXAMPLE.workspace, EXAMPLE);
            let found = |form: &form::Form| permits(set, form).is_some();
            let whole = forms.certain && forms.commands.len() == judgement.segments.len();
            let each = forms.commands.iter().zip(&judgement.segments);
            let known = |segment: &effects::SegmentJudgement| segment.verdict.is_allowed();
            whole
                && forms.commands.iter().any(found)
                && each.into_iter().all(|(form, segment)| known(segment) || found(form))
        }
    }
}

/// The rule of a denylist that finds the raw line or any command of it.
pub(super) fn refuses<'a>(
    set: &'a Set,
    line: &str,
    segments: &[effects::SegmentJudgement],
) -> Option<&'a Rule> {
    if set.is_empty() {
        return None;
    }
    let raw = line.trim();
    let collapsed = raw.split_whitespace().collect::<Vec<_>>().join(" ");
    // Most lines are one command, whose texts are all the same.
    let mut texts: BTreeSet<String> = segments.iter().flat_map(form::refusable).collect();
    texts.extend([raw.to_string(), collapsed]);
    texts.iter().filter_map(|text| set.find(&RuleQuery { text, contained: true, directory: "" })).min()
}

/// The rule of an allowlist that finds a command.
pub(super) fn permits<'a>(set: &'a Set, form: &form::Form) -> Option<&'a Rule> {
    let text = form.text.as_deref()?;
    set.find(&RuleQuery { text, contained: form.contained, directory: form.directory })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_list(text: &str, list: List) -> RuleFile {
        parse(text, Path::new("/x/rules"), list)
    }

    #[test]
    fn examples_are_checked_when_a_file_is_read() {
        let file = |matches: &str, not: &str| {
            let rule = serde_json::json!({"rules": [{
                "id": "force", "type": "prefix", "pattern": "git push --force", "reason": "history is shared",
                "match": [matches], "not_match": [not]}]});
            parse_list(&rule.to_string(), List::Denylist)
        };
        let good = file("cd a && /usr/bin/git push  --force origin", "git push --force-with-lease");
        assert!(good.problems.is_empty() && good.set.rules().len() == 1, "{:?}", good.problems);
        let missed = file("git pull", "ls");
        assert!(missed.set.is_empty());
        let problem = missed.problems[0].to_string();
        assert!(
            problem.contains("/x/rules: rule `force`: it does not find its own example `git pull`"),
            "{problem}"
        );
        assert!(file("git push --force", "sudo git push --force").problems[0].what.contains("must not"));
    }

    #[test]
    fn an_example_of_an_allowlist_is_a_whole_line() {
        let file = |line: &str| {
            let rule = serde_json::json!({"rules": [{
                "id": "a", "type": "prefix", "pattern": "foo", "reason": "ours", "match": [line]}]});
            parse_list(&rule.to_string(), List::Allowlist).problems.len()
        };
        assert_eq!(file("foo x"), 0);
        for line in
            ["foo && bar", "foo > /etc/x", "sudo foo", "foo $X", "foo $(bar)", "/tmp/foo x", "P=1 foo"]
        {
            assert_eq!(file(line), 1, "{line}");
        }
    }

    #[test]
    fn good_rules_of_a_broken_file_are_kept_beside_its_problems() {
        let text = r#"{"rules": [{"id": "a", "type": "prefix", "pattern": "x", "reason": "r"},
            {"id": "b", "type": "regex", "pattern": "(", "reason": "r"}, 7]}"#;
        let loaded = parse_list(text, List::Denylist);
        assert_eq!((loaded.set.rules().len(), loaded.problems.len()), (1, 2));
        assert!(loaded.problems[0].rule.contains('3'), "{:?}", loaded.problems);
        assert_eq!(parse_list("{\"rules\": [", List::Denylist).problems.len(), 1);
        assert_eq!(parse_list("[]", List::Denylist).problems.len(), 1);
        assert!(parse_list("\n{]\n", List::Learned).problems[0].rule.contains("line 2"));
    }
}
