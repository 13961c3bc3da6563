//! Decisions by the words of a command (`data/verbs`) as constants.

use super::Failure;
use super::text::{Text, Words};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs, path::Path};

/// Programs whose words decide, with their rules in the order in which they are tried.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    names: String,
    /// `program`: before the table of programs; `verbs`: for programs of the class `verbs`.
    stage: String,
    /// Whether a command that no rule decides is left to others.
    #[serde(default)]
    partial: bool,
    /// Whether it runs the project's code, so that flags which name another project count.
    #[serde(default)]
    project: bool,
    rule: Vec<Rule>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    decide: String,
    #[serde(default)]
    rule: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    when: Vec<BTreeMap<String, Words>>,
    #[serde(default)]
    unless: Vec<BTreeMap<String, Words>>,
    #[serde(rename = "match", default)]
    matching: Vec<String>,
    #[serde(default)]
    not_match: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Table {
    program: Vec<Row>,
}

type Lists = BTreeMap<String, Vec<String>>;

/// Writes the rules and their examples.
pub(crate) fn write(text: &mut Text, lists: &Lists) -> Result<(), Failure> {
    let mut code = String::from("static PROGRAMS: &[Program] = &[\n");
    let mut examples = String::from("static EXAMPLES: &[(&str, &str, &str, bool)] = &[\n");
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut count = 0;
    for (path, source) in super::tables("data/verbs")? {
        let table: Table = toml::from_str(&source).map_err(|error| format!("{path}: {error}"))?;
        for row in &table.program {
            let stage = match row.stage.as_str() {
                "program" => "Program",
                "verbs" => "Verbs",
                other => return Err(format!("{path}: `{other}` is not a stage").into()),
            };
            writeln!(
                code,
                "    Program {{ stage: Stage::{stage}, partial: {}, project: {}, rules: &[",
                row.partial, row.project
            )?;
            for rule in &row.rule {
                write_rule(rule, text, lists, &mut code)
                    .map_err(|error| format!("{path}: {}: {error}", row.names))?;
                write_examples(rule, &mut examples)
                    .map_err(|error| format!("{path}: {}: {error}", row.names))?;
            }
            code.push_str("    ] },\n");
            for name in row.names.split_whitespace() {
                if names.iter().any(|(own, _)| own == name) {
                    return Err(format!("{path}: `{name}` stands twice").into());
                }
                names.push((name.to_string(), count));
            }
            count += 1;
        }
    }
    examples.push_str("];\n");
    let names = text.lines(names.iter().map(|(name, at)| (name.as_str(), at.to_string())));
    writeln!(code, "];\n\nstatic NAMES: WordList = {names};")?;
    let directory = env::var("OUT_DIR")?;
    fs::write(Path::new(&directory).join("verbs.rs"), code)?;
    fs::write(Path::new(&directory).join("verb_examples.rs"), examples)?;
    Ok(())
}

fn write_rule(rule: &Rule, text: &mut Text, lists: &Lists, code: &mut String) -> Result<(), Failure> {
    let outcome = match rule.decide.as_str() {
        "allow" => "Allow",
        "ask" => "Ask",
        "deny" => "Deny",
        "catastrophe" => "Catastrophe",
        "scan" => "Scan",
        "scan-secrets" => "ScanSecrets",
        "nested" => "Nested",
        other => return Err(format!("`{other}` is not a decision").into()),
    };
    if matches!(outcome, "Ask" | "Deny" | "Catastrophe") && (rule.rule.is_empty() || rule.reason.is_empty()) {
        return Err("a rule needs a name and a reason".into());
    }
    let when = alternatives(&rule.when, text, lists)?;
    let unless = alternatives(&rule.unless, text, lists)?;
    writeln!(
        code,
        "        Rule {{ outcome: Outcome::{outcome}, rule: {:?}, reason: {:?}, when: {when}, unless: {unless} }},",
        rule.rule, rule.reason
    )?;
    Ok(())
}

/// Alternatives as code: each is a list of conditions that hold together.
fn alternatives(rows: &[BTreeMap<String, Words>], text: &mut Text, lists: &Lists) -> Result<String, Failure> {
    let mut code = String::from("&[");
    for row in rows {
        code.push_str("&[");
        for (key, words) in row {
            let (negated, key) = match key.strip_prefix("not-") {
                Some(key) => (true, key),
                None => (false, key.as_str()),
            };
            let (subject, by) = key.split_once('-').unwrap_or((key, ""));
            let subject = match subject {
                "program" => "Program",
                "leading" => "Leading",
                "first" => "First",
                "second" => "Second",
                "third" => "Third",
                "operand" => "Operands(usize::MAX)",
                "operand2" => "Operands(2)",
                "later" => "Later",
                "word" => "Words",
                "lower" => "LowerWords",
                "pair" => "Pairs",
                "line" => "Line",
                "output" => "Output",
                "operands" => "OperandCount",
                "words" => "WordCount",
                "privileged" => "Privileged",
                "fetched" => "Fetched",
                "starting" => "Starting",
                "unvouched" => "Unvouched",
                "defence" => "Defence",
                other => return Err(format!("`{other}` is not a subject").into()),
            };
            let mut list = Vec::new();
            for word in words.list() {
                match word.strip_prefix('@').filter(|name| !name.is_empty()) {
                    Some(name) => list.extend(
                        lists
                            .get(name)
                            .ok_or_else(|| format!("the list `{name}` is unknown"))?
                            .iter()
                            .cloned(),
                    ),
                    None => list.push(word),
                }
            }
            let list = text.words(&list, by)?;
            code.push_str(&format!(
                "Condition {{ subject: Subject::{subject}, negated: {negated}, words: {list} }}, "
            ));
        }
        code.push_str("], ");
    }
    code.push(']');
    Ok(code)
}

/// The example lines of a rule with the decision that they get, or must not get.
fn write_examples(rule: &Rule, examples: &mut String) -> Result<(), Failure> {
    let decides = matches!(rule.decide.as_str(), "allow" | "ask" | "deny" | "catastrophe");
    if decides && rule.matching.is_empty() {
        return Err(format!("a rule `{}` has no example", rule.rule).into());
    }
    let both = rule.matching.iter().map(|line| (line, true));
    for (line, expected) in both.chain(rule.not_match.iter().map(|line| (line, false))) {
        writeln!(examples, "    ({:?}, {:?}, {line:?}, {expected}),", rule.decide, rule.rule)?;
    }
    Ok(())
}
