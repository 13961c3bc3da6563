//! The plan of a self-improve run: everything that is decided before the first session, and what follows from it.

use super::input::Input;
use marvin_base::hint::HintLine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Attempts of one session.
pub(super) const MAX_ATTEMPTS: u32 = 3;
/// Model calls and tool calls that one attempt is planned with.
const PLANNED_ENERGY_PER_ATTEMPT: u64 = 2;
/// Sessions per Claude session of a mixed batch.
const MIXED_PERIOD: u32 = 5;
/// The provider word that mixes two agent programs.
pub const MIXED: &str = "mixed";

/// The entry of `include` for the whole project, apart from hidden files and instructions for agents.
pub(super) const WHOLE_PROJECT: &str = ".";

/// Hints by session index; neighbours differ.
const STRATEGIES: [&str; 4] = [
    "minimal diff: the smallest change that reaches the goal",
    "tests first: write a test that fails without the change, then make it pass",
    "retry and loop safety, and observability: bounded loops, clear errors, evidence in the output",
    "workflow planning and step contracts: split the work into steps with verifiable results",
];

/// Goals that say nothing about what to change.
const AMBIGUOUS_GOALS: [&str; 7] =
    ["fix it", "improve it", "work on it", "do it", "help", "make it better", "something"];
const QUESTIONS: [&str; 2] = [
    "Which behaviour or file is to be changed, and what is wrong with it now?",
    "Which check shows that the change is right?",
];
/// Words of a goal that ask for a change of files.
const CHANGE_VERBS: [&str; 8] =
    ["fix", "improve", "implement", "add", "update", "modify", "refactor", "harden"];
const CHANGE_PHRASE: &str = "work on";

/// The word of `--evaluate` for the benchmark suite; `suite:TASK,TASK` names some of its tasks.
const SUITE: &str = "suite";

/// The means by which a checkout is evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Option<String>", into = "Option<String>")]
pub enum EvaluationMethod {
    /// The tests of the project.
    #[default]
    Tests,
    /// A command that prints the results of tests.
    Command(String),
    /// Tasks of the benchmark suite; none named: all of them.
    Suite(Vec<String>),
}

impl EvaluationMethod {
    /// Parses `--evaluate`.
    ///
    /// # Errors
    /// When it is empty, or names an empty task of the suite.
    pub fn parse(text: Option<&str>) -> Result<Self, PlanError> {
        let tasks = text.and_then(|text| text.trim().strip_prefix(SUITE)?.strip_prefix(':'));
        match (text.map(str::trim), tasks) {
            (Some(""), _) => Err(PlanError::EmptyEvaluation),
            (_, Some(tasks)) if tasks.split(',').any(|name| name.trim().is_empty()) => {
                Err(PlanError::EmptyTask)
            }
            _ => Ok(EvaluationMethod::from(text.map(str::to_string))),
        }
    }
}

impl From<Option<String>> for EvaluationMethod {
    fn from(text: Option<String>) -> Self {
        let Some(text) = text else { return EvaluationMethod::Tests };
        match text.trim().strip_prefix(SUITE) {
            Some("") => EvaluationMethod::Suite(Vec::new()),
            Some(rest) if rest.starts_with(':') => {
                let names = rest.split([':', ',']).map(str::trim).filter(|name| !name.is_empty());
                EvaluationMethod::Suite(names.map(str::to_string).collect())
            }
            _ => EvaluationMethod::Command(text.trim().to_string()),
        }
    }
}

impl From<EvaluationMethod> for Option<String> {
    fn from(method: EvaluationMethod) -> Self {
        match method {
            EvaluationMethod::Tests => None,
            EvaluationMethod::Command(line) => Some(line),
            EvaluationMethod::Suite(tasks) if tasks.is_empty() => Some(SUITE.to_string()),
            EvaluationMethod::Suite(tasks) => Some(format!("{SUITE}:{}", tasks.join(","))),
        }
    }
}

/// The settings of a run, as its journal begins with them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub goal: String,
    pub input: Input,
    pub sessions: u32,
    pub batches: u32,
    pub workers: u32,
    pub merge: bool,
    /// A provider, or [`MIXED`].
    pub llm: String,
    #[serde(default)]
    pub evaluate: EvaluationMethod,
    /// Files and directories that a session may change; [`WHOLE_PROJECT`] stands for what agents may change without being asked.
    pub include: Vec<String>,
    /// Whether the person named them for this run: then they may be instructions for agents, too.
    #[serde(default)]
    pub is_include_given: bool,
    /// Oracles and steering files that it may change too.
    pub may_change: Vec<String>,
    /// Seconds of one session; 0: no limit.
    pub deadline_s: u64,
    /// The branch that was checked out at the start, which winners are merged into.
    #[serde(default)]
    pub branch: Option<String>,
}

/// A plan that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("--goal is empty{hints}", hints = self.hint_line())]
    EmptyGoal,
    #[error(
        "--llm mixed needs a number of sessions that is a multiple of {MIXED_PERIOD}, not {0}{hints}",
        hints = self.hint_line()
    )]
    Mix(u32),
    #[error("cannot include `{0}`: not a path below the project{hints}", hints = self.hint_line())]
    Include(String),
    #[error("cannot include `{0}`: it does not exist{hints}", hints = self.hint_line())]
    MissingInclude(String),
    #[error("--evaluate is empty{hints}", hints = self.hint_line())]
    EmptyEvaluation,
    #[error("--evaluate names an empty task of the suite{hints}", hints = self.hint_line())]
    EmptyTask,
    #[error("cannot read the script {0}: it is not a file")]
    Script(String),
}

impl PlanError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            PlanError::EmptyGoal => "describe what is to be improved".into(),
            PlanError::Mix(sessions) => {
                let next = sessions.div_ceil(MIXED_PERIOD).max(1).saturating_mul(MIXED_PERIOD);
                format!("--sessions {next}").into()
            }
            PlanError::Include(_) => "name files and directories relative to it".into(),
            PlanError::MissingInclude(_) => {
                "check its spelling; for a new file name the directory that it goes to".into()
            }
            PlanError::EmptyEvaluation => {
                "leave it out for the tests of the project, or name a command such as 'pytest -q'".into()
            }
            PlanError::EmptyTask => {
                "suite:TASK,TASK names some tasks and suite all of them; `marvin list-tasks` shows them"
                    .into()
            }
            PlanError::Script(_) => return None,
        })
    }

    fn hint_line(&self) -> HintLine<Cow<'static, str>> {
        HintLine(self.hint())
    }
}

impl Plan {
    /// Checks what the command line alone cannot.
    ///
    /// # Errors
    /// When the goal is empty, sessions do not fit the mix, or a path leads out of the project.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.goal.trim().is_empty() {
            return Err(PlanError::EmptyGoal);
        }
        if self.llm == MIXED && (self.sessions == 0 || !self.sessions.is_multiple_of(MIXED_PERIOD)) {
            return Err(PlanError::Mix(self.sessions));
        }
        let is_below = |path: &&String| {
            !path.is_empty()
                && std::path::Path::new(path).components().all(|part| {
                    matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
                })
        };
        match self.include.iter().chain(&self.may_change).find(|path| !is_below(path)) {
            Some(path) => Err(PlanError::Include(path.clone())),
            None => Ok(()),
        }
    }

    /// The provider of a session. In a mixed batch, Claude Code has the indices 1, 6, 11 and so on.
    #[must_use]
    pub fn provider(&self, index: u32) -> &str {
        match self.llm.as_str() {
            MIXED if (index.saturating_sub(1)).is_multiple_of(MIXED_PERIOD) => "claude",
            MIXED => "codex",
            provider => provider,
        }
    }

    /// Questions that the goal leaves open; empty when it can be worked on.
    #[must_use]
    pub fn questions(&self) -> Vec<String> {
        let goal = words(&self.goal);
        match goal.is_empty() || AMBIGUOUS_GOALS.contains(&goal.as_str()) {
            true => QUESTIONS.map(String::from).to_vec(),
            false => Vec::new(),
        }
    }

    /// Whether the goal asks for changed files.
    #[must_use]
    pub fn asks_for_change(&self) -> bool {
        let goal = format!(" {} ", words(&self.goal));
        CHANGE_VERBS.into_iter().chain([CHANGE_PHRASE]).any(|verb| goal.contains(&format!(" {verb} ")))
    }

    /// The provider of agents that solve tasks of the suite: the same for all sessions.
    #[must_use]
    pub(super) fn suite_provider(&self) -> &str {
        self.provider(2)
    }

    /// Whether a path may be changed.
    #[must_use]
    pub fn includes(&self, path: &str) -> bool {
        let is_ordinary = || {
            let parts: Vec<&str> = path.split('/').collect();
            !parts.iter().any(|part| part.starts_with('.')) && !marvin_gate::path::is_instruction(&parts)
        };
        is_below(path, &self.include)
            || self.include.iter().any(|place| is_whole_project(place)) && is_ordinary()
            || self.may_change(path)
    }

    /// The included paths, in words for prompts and reasons.
    #[must_use]
    pub(super) fn describe_include(&self) -> String {
        let places = self.include.iter().map(|place| match is_whole_project(place) {
            true => "the whole project apart from hidden files and instructions for agents",
            false => place.as_str(),
        });
        places.collect::<Vec<_>>().join(", ")
    }

    /// Whether an oracle or steering file may be changed.
    #[must_use]
    pub(super) fn may_change(&self, path: &str) -> bool {
        is_below(path, &self.may_change)
    }

    #[must_use]
    pub fn planned_energy(&self) -> u64 {
        u64::from(self.batches) * u64::from(self.sessions) * planned_session_energy()
    }
}

fn is_whole_project(place: &str) -> bool {
    place.trim_end_matches('/') == WHOLE_PROJECT
}

fn is_below(path: &str, places: &[String]) -> bool {
    let path = std::path::Path::new(path);
    places
        .iter()
        .filter(|place| !is_whole_project(place))
        .any(|place| path.starts_with(place.trim_start_matches("./")))
}

#[must_use]
pub(super) fn planned_session_energy() -> u64 {
    u64::from(MAX_ATTEMPTS) * PLANNED_ENERGY_PER_ATTEMPT
}

/// The strategy hint of a session; indices begin with 1.
#[must_use]
pub(super) fn strategy(index: u32) -> &'static str {
    let at = index.saturating_sub(1) as usize % STRATEGIES.len();
    STRATEGIES.get(at).copied().unwrap_or_default()
}

/// The id of a session: batch and index, both from 1.
#[must_use]
pub(super) fn session_id(batch: u32, index: u32) -> String {
    format!("{batch}-{index}")
}

/// The words of a text in lower case, without punctuation around them.
fn words(text: &str) -> String {
    let plain = |word: &str| word.trim_matches(|char: char| !char.is_alphanumeric()).to_lowercase();
    text.split_whitespace().map(plain).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn plan(goal: &str) -> Plan {
        Plan {
            goal: goal.into(),
            input: Input::default(),
            sessions: 5,
            batches: 2,
            workers: 4,
            merge: true,
            llm: "mock".into(),
            evaluate: EvaluationMethod::Tests,
            include: vec!["src".into(), "./docs".into()],
            is_include_given: false,
            may_change: Vec::new(),
            deadline_s: 0,
            branch: None,
        }
    }

    #[test]
    fn a_mixed_batch_is_one_claude_to_four_codex() {
        let mixed = Plan { llm: MIXED.into(), sessions: 10, ..plan("x") };
        mixed.check().unwrap();
        let providers: Vec<&str> = (1..=10).map(|index| mixed.provider(index)).collect();
        let claudes: Vec<usize> = providers
            .iter()
            .enumerate()
            .filter(|(_, name)| **name == "claude")
            .map(|(at, _)| at + 1)
            .collect();
        assert_eq!(claudes, [1, 6]);
        assert_eq!(providers.iter().filter(|name| **name == "codex").count(), 8);
        for wrong in [0, 1, 4, 6] {
            let error = Plan { sessions: wrong, ..mixed.clone() }.check().unwrap_err();
            assert_eq!(error, PlanError::Mix(wrong));
        }
        assert!(PlanError::Mix(6).to_string().ends_with("--sessions 10"));
        assert_eq!(plan("x").provider(1), "mock");
    }

    #[test]
    fn evaluations_are_read_as_they_are_written() {
        let method = |text: &str| EvaluationMethod::from(Some(text.to_string()));
        let suite =
            |names: &[&str]| EvaluationMethod::Suite(names.iter().map(|name| (*name).to_string()).collect());
        assert_eq!(EvaluationMethod::from(None), EvaluationMethod::Tests);
        assert_eq!(method(" suite "), suite(&[]));
        assert_eq!(method("suite: lru-cache,dedupe-sorted"), suite(&["lru-cache", "dedupe-sorted"]));
        for line in ["pytest -q", "suite.sh", "./suite", "suites"] {
            assert_eq!(method(line), EvaluationMethod::Command(line.into()));
        }
        for text in ["suite", "suite:a,b", "pytest -q"] {
            assert_eq!(Option::<String>::from(method(text)).as_deref(), Some(text));
        }
        assert_eq!(Option::<String>::from(EvaluationMethod::Tests), None);
        assert_eq!(EvaluationMethod::parse(None), Ok(EvaluationMethod::Tests));
        assert_eq!(EvaluationMethod::parse(Some("suite:a, b")), Ok(suite(&["a", "b"])));
        assert_eq!(EvaluationMethod::parse(Some(" ")), Err(PlanError::EmptyEvaluation));
        for empty in ["suite:", "suite: ,a", "suite:a,"] {
            assert_eq!(EvaluationMethod::parse(Some(empty)), Err(PlanError::EmptyTask), "{empty}");
        }
    }

    #[test]
    fn ambiguous_goals_get_the_two_questions() {
        for goal in ["", "  ", "Fix it", "improve it!", " Make  it better. ", "help", "something"] {
            assert_eq!(plan(goal).questions(), QUESTIONS.map(String::from), "{goal}");
        }
        for goal in ["Fix the parser", "help me understand the parser", "improve it by adding tests"] {
            assert!(plan(goal).questions().is_empty(), "{goal}");
        }
    }

    #[test]
    fn change_verbs_are_whole_words() {
        for goal in ["Fix the sum", "please, refactor: src", "Work on dates", "harden"] {
            assert!(plan(goal).asks_for_change(), "{goal}");
        }
        for goal in ["explain the suffix", "address the reader", "a prefix", "review the fixes"] {
            assert!(!plan(goal).asks_for_change(), "{goal}");
        }
    }

    #[test]
    fn energy_strategies_and_paths_follow_the_plan() {
        assert_eq!(plan("x").planned_energy(), 5 * 2 * 3 * 2);
        assert_eq!((strategy(1), strategy(5)), (STRATEGIES[0], STRATEGIES[0]));
        assert_eq!(strategy(4), STRATEGIES[3]);
        assert!(plan("x").includes("src/a.py") && plan("x").includes("docs/x.md"));
        assert!(!plan("x").includes("srcs/a.py") && !plan("x").includes("Makefile"));
        let whole = Plan { include: vec![WHOLE_PROJECT.into()], ..plan("x") };
        whole.check().unwrap();
        for path in ["crates/a/src/lib.rs", "Makefile", "README.md", "docs/x.md"] {
            assert!(whole.includes(path), "{path}");
        }
        for path in [".github/workflows/ci.yml", ".gitignore", "AGENTS.md", "web/CLAUDE.md", "a/.env"] {
            assert!(!whole.includes(path), "{path}");
        }
        let named = Plan { include: vec!["./".into(), ".github".into()], ..plan("x") };
        assert!(named.includes(".github/workflows/ci.yml") && !named.includes(".gitignore"));
        for wrong in ["", "/etc", "../x", "src/../.."] {
            let plan = Plan { include: vec![wrong.into()], ..plan("x") };
            assert_eq!(plan.check(), Err(PlanError::Include(wrong.into())));
        }
    }
}
