//! `.marvin/e2e.json`: how to start the application and what it must answer. It is written before the code.

use super::http::Request;
use marvin_base::files::{self, Links};
use marvin_base::truncate;
use serde::{Deserialize, Serialize};
use std::path::Path;

const MAX_PLAN_BYTES: u64 = 1024 * 1024;
/// Requests, pages and commands, each.
const MAX_PLAN_ITEMS: usize = 200;

/// The checks of the application.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The command line that starts a service; `{port}` stands for the port, which is in `PORT` too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// A path that answers with any status once the service is up.
    #[serde(default = "root")]
    pub ready: String,
    /// In this order.
    #[serde(default)]
    pub requests: Vec<Request>,
    /// Pages for a browser.
    #[serde(default)]
    pub pages: Vec<String>,
    /// Commands that are run in this order before the service starts.
    #[serde(default)]
    pub commands: Vec<Command>,
}

/// A command with its expected result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The name in reports.
    #[serde(default)]
    pub name: String,
    /// A line for bash.
    pub command: String,
    /// The expected exit code.
    #[serde(default)]
    pub exit: i32,
    /// Texts that the output must contain.
    #[serde(default)]
    pub contains: Vec<String>,
}

impl Command {
    /// The name in reports.
    #[must_use]
    pub fn title(&self) -> String {
        truncate::line(if self.name.is_empty() { &self.command } else { &self.name }, 100)
    }
}

fn root() -> String {
    "/".into()
}

impl Plan {
    /// Reads the plan of a project.
    ///
    /// # Errors
    /// All problems of the plan.
    pub fn read(path: &Path) -> Result<Plan, Vec<String>> {
        let text = files::read_text(path, MAX_PLAN_BYTES, Links::Refuse)
            .map_err(|error| vec![format!(".marvin/e2e.json cannot be read: {error}")])?;
        let plan: Plan =
            serde_json::from_str(&text).map_err(|error| vec![format!(".marvin/e2e.json: {error}")])?;
        let problems = plan.problems();
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.commands.is_empty() && self.requests.is_empty() {
            problems.push(
                ".marvin/e2e.json checks nothing: it needs `requests` (with `start`), or `commands`"
                    .to_string(),
            );
        }
        if self.start.as_deref().is_some_and(|line| line.trim().is_empty()) {
            problems.push(".marvin/e2e.json: `start` is empty".into());
        }
        if self.start.is_none() && !(self.requests.is_empty() && self.pages.is_empty()) {
            problems.push(
                ".marvin/e2e.json has requests or pages, but no `start`, the command line that starts the service"
                    .into(),
            );
        }
        let paths = self.requests.iter().map(|request| &request.path).chain(&self.pages).chain([&self.ready]);
        for path in paths.filter(|path| {
            !path.starts_with('/') || path.chars().any(|letter| letter.is_control() || letter == ' ')
        }) {
            problems.push(format!(
                ".marvin/e2e.json: `{}` is not a path; a path begins with `/` and has no blanks",
                truncate::line(path, 60)
            ));
        }
        problems.extend(self.requests.iter().filter_map(Request::invalid));
        if self.commands.iter().any(|command| command.command.trim().is_empty()) {
            problems.push(".marvin/e2e.json: a command is empty".into());
        }
        if [self.requests.len(), self.pages.len(), self.commands.len()]
            .into_iter()
            .any(|count| count > MAX_PLAN_ITEMS)
        {
            problems.push(format!(".marvin/e2e.json has more than {MAX_PLAN_ITEMS} checks of one kind"));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Plan, Vec<String>> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("e2e.json"), text).unwrap();
        Plan::read(&directory.path().join("e2e.json"))
    }

    #[test]
    fn a_valid_plan_is_read() {
        let plan =
            read(r#"{"start": "python3 app.py {port}", "requests": [{"path": "/health", "status": 200}]}"#)
                .unwrap();
        assert_eq!((plan.ready.as_str(), plan.requests[0].method.as_str()), ("/", "GET"));
        assert!(read(r#"{"commands": [{"command": "true"}]}"#).is_ok());
    }

    #[test]
    fn every_problem_of_a_plan_is_reported() {
        for (text, why) in [
            ("{}", "checks nothing"),
            (r#"{"requests": [{"path": "/"}]}"#, "no `start`"),
            (r#"{"start": "x", "requests": [{"path": "a b"}]}"#, "is not a path"),
            (r#"{"start": "x", "requests": [{"path": "/", "method": "G T"}]}"#, "not an HTTP method"),
            (r#"{"begin": "x"}"#, "unknown field"),
            ("[", "EOF"),
            (r#"{"commands": [{"command": " "}]}"#, "is empty"),
        ] {
            let problems = read(text).unwrap_err().join("\n");
            assert!(problems.contains(why), "{text}: {problems}");
        }
    }
}
