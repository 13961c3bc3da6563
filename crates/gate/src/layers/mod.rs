//! The layers over the judge: lists of rules, what was learned, and a model that may be asked.
//!
//! [`crate::effects`] says what a line does. Over its finding lie, strictest first:
//! 1. *catastrophe*: nothing lifts it;
//! 2. *denylist*: any rule that finds any command, or the raw text;
//! 3. *judge*: what it denies stays denied;
//! 4. *allowlist*, then *learned*: lift a question where every command that is asked about is found and certain;
//! 5. *judge*: what it allows is allowed;
//! 6. *llm*: a model, where one is set up, for what is still a question ([`evaluator`]).
//!
//! A file that is broken never loosens anything: the last good one stays, and where there was none, what a broken
//! denylist might have refused is asked about. Limits: rules compare texts; what a script does is not in its name.

mod clearance;
pub mod decisions;
pub mod evaluator;
mod explained;
mod file;
mod form;
pub mod learn;
pub mod rule;
mod set;
pub mod starter;
pub mod trust;

pub use clearance::Clearance;
pub use decisions::{Log, Stats};
pub use evaluator::{Evaluator, Opinion, Question};
pub use file::RuleFileError;
pub use rule::{Kind, List, Problem, Rule};
pub use trust::Trust;

use crate::command::{self, CommandContext};
use crate::effects::{self, Grounds, Judgement, MoreFacts};
use crate::verdict::{Decision, Verdict};
use file::RuleFile;
use marvin_base::file_stamp::FileStamp;
use marvin_base::files::Links;
use marvin_base::layout::Layout;
use marvin_base::truncate;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Characters of a command line in the diagnostic log.
const MAX_LOGGED_CHARS: usize = 300;

/// The layer that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Destroys what cannot be brought back, or sends secrets out.
    Catastrophe,
    /// A rule that refuses.
    Denylist,
    /// The effects of the line.
    Judge,
    /// A rule that lifts a question.
    Allowlist,
    /// Something that a person approved before.
    Learned,
    /// A model.
    Llm,
    /// A layer that did not work.
    Error,
}

impl Layer {
    /// The word that records use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Layer::Catastrophe => "catastrophe",
            Layer::Denylist => "denylist",
            Layer::Judge => "judge",
            Layer::Allowlist => "allowlist",
            Layer::Learned => "learned",
            Layer::Llm => "llm",
            Layer::Error => "error",
        }
    }
}

/// The owner of a rule file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleFileOwner {
    /// The person's own.
    Person,
    /// The project's, which others may have written.
    Project,
}

/// A rule file that is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The list that it holds.
    pub list: List,
    /// Its owner.
    pub whose: RuleFileOwner,
    /// Its path.
    pub path: PathBuf,
}

/// A rule file as it is in effect.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The file.
    #[serde(flatten)]
    pub source: Source,
    /// Whether there is one.
    pub exists: bool,
    /// Whether its rules count. A project's rules that allow count only while the person trusts them.
    pub counts: bool,
    /// Its rules in effect.
    pub rules: Vec<Rule>,
    /// The programs that it makes known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Its faults.
    pub problems: Vec<Problem>,
}

/// A line with the decision of all layers but the last.
#[derive(Debug, Clone, Serialize)]
pub struct Ruling {
    /// The decision.
    pub verdict: Verdict,
    /// The layer that decided.
    pub layer: Layer,
    /// The finding of the judge.
    pub judgement: Judgement,
}

/// The directory and the workspace of a line.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The directory.
    pub directory: &'a str,
    /// Workspace and home.
    pub grounds: Grounds<'a>,
}

#[derive(Debug)]
struct Entry {
    source: Source,
    stamp: Option<FileStamp>,
    good: Option<Arc<RuleFile>>,
    problems: Vec<Problem>,
    /// Read with faults and never without: what it would refuse is not known.
    doubtful: bool,
    counts: bool,
}

#[derive(Debug, Default)]
struct LayerCache {
    entries: Vec<Entry>,
    trust: Option<FileStamp>,
    rules: Arc<Rules>,
    told: Vec<Problem>,
    read: bool,
}

/// The rules in effect.
#[derive(Debug, Default)]
struct Rules {
    deny: Vec<Arc<RuleFile>>,
    allow: Vec<Arc<RuleFile>>,
    learned: Vec<Arc<RuleFile>>,
    /// Programs that are known besides.
    programs: Option<MoreFacts>,
    /// A denylist that could not be read.
    doubtful: Option<Problem>,
}

/// The path of a project's list: learned rules lie in the state directory, the others in the repository.
fn project_file(layout: &Layout, list: List) -> PathBuf {
    let directory = if list == List::Learned { layout.security() } else { layout.rules() };
    directory.join(list.file())
}

/// The layers. Rule files are looked at before every decision and read again when they changed.
#[derive(Debug)]
pub struct Layers {
    trust: PathBuf,
    state: Mutex<LayerCache>,
    log: Option<Log>,
    evaluator: Option<Arc<dyn Evaluator>>,
}

impl Layers {
    /// The layers of a project, or of none. Nothing is read yet.
    #[must_use]
    pub fn new(layout: &Layout) -> Self {
        let mut sources = Vec::new();
        for list in List::ALL {
            let path = layout.user_security().join(list.file());
            sources.push(Source { list, whose: RuleFileOwner::Person, path });
        }
        if layout.record().is_some() {
            for list in List::ALL {
                let path = project_file(layout, list);
                sources.push(Source { list, whose: RuleFileOwner::Project, path });
            }
        }
        Layers::from_sources(sources, layout.trusted())
    }

    /// Only the judge: no rule files at all.
    #[must_use]
    pub fn none() -> Self {
        Layers::from_sources(Vec::new(), PathBuf::new())
    }

    fn from_sources(sources: Vec<Source>, trust: PathBuf) -> Self {
        let entry = |source| Entry {
            source,
            stamp: None,
            good: None,
            problems: Vec::new(),
            doubtful: false,
            counts: false,
        };
        let entries = sources.into_iter().map(entry).collect();
        let state = Mutex::new(LayerCache { entries, ..LayerCache::default() });
        Layers { trust, state, log: None, evaluator: None }
    }

    /// The same with a log of decisions.
    #[must_use]
    pub fn recording(mut self, log: Log) -> Self {
        self.log = Some(log);
        self
    }

    /// The same with a model that is asked about what is still a question.
    #[must_use]
    pub fn asking(mut self, evaluator: Arc<dyn Evaluator>) -> Self {
        self.evaluator = Some(evaluator);
        self
    }

    /// Judges a line by everything but the model.
    #[must_use]
    pub fn judge(&self, line: &str, place: Place<'_>) -> Ruling {
        let judgement = match &self.current().programs {
            Some(more) => effects::judge_with(line, place.directory, place.grounds, more),
            None => effects::judge(line, place.directory, place.grounds),
        };
        self.rule(line, place, judgement)
    }

    /// Judges a line in a directory on the disk as it is.
    #[must_use]
    pub fn look(&self, line: &str, place: Place<'_>) -> Judgement {
        effects::judge_on_disk(line, place.directory, place.grounds, self.current().programs.as_ref())
    }

    /// Judges a line on the disk as it is.
    pub(crate) fn finding(&self, line: &str, context: &CommandContext) -> Judgement {
        command::judge_command_with(line, context, self.current().programs.as_ref())
    }

    /// Puts the layers over a finding of the judge.
    #[must_use]
    pub fn rule(&self, line: &str, place: Place<'_>, judgement: Judgement) -> Ruling {
        let (verdict, layer) = self.layered(line, place, &judgement);
        tracing::debug!(
            decision = verdict.decision.word(),
            rule = verdict.rule,
            layer = layer.word(),
            line = truncate::head_whole(line, MAX_LOGGED_CHARS),
            "command judged"
        );
        Ruling { verdict, layer, judgement }
    }

    fn layered(&self, line: &str, place: Place<'_>, judgement: &Judgement) -> (Verdict, Layer) {
        let found = &judgement.verdict;
        if judgement.catastrophe {
            return (found.clone(), Layer::Catastrophe);
        }
        if let Some(verdict) = own(judgement) {
            return (verdict, Layer::Denylist);
        }
        let rules = self.current();
        let refused =
            rules.deny.iter().filter_map(|list| file::refuses(&list.set, line, &judgement.segments));
        if let Some(rule) = refused.min() {
            let hint = "Do it another way, or say in your answer why it is needed.";
            return (Verdict::deny(format!("denylist.{}", rule.id), &rule.reason, hint), Layer::Denylist);
        }
        let (verdict, layer) = match found.decision {
            Decision::Ask => match lifted(line, place, judgement, &rules) {
                Some((verdict, layer)) => (verdict, layer),
                None => (found.clone(), Layer::Judge),
            },
            Decision::Allow | Decision::Deny => (found.clone(), Layer::Judge),
        };
        match &rules.doubtful {
            Some(problem) if verdict.decision == Decision::Allow => {
                let reason =
                    format!("a denylist is broken, so that it is not known what it refuses ({problem})");
                (
                    Verdict::ask("denylist.broken", reason, "Say that the rule file must be fixed."),
                    Layer::Error,
                )
            }
            _ => (verdict, layer),
        }
    }

    /// Judges a line by every layer, the model included, and writes the decision down. `judgement` is the judge's finding.
    pub async fn decide(&self, line: &str, place: Place<'_>, judgement: Judgement) -> Ruling {
        let started = Instant::now();
        let mut ruling = self.rule(line, place, judgement);
        let mut opinion = None;
        if ruling.verdict.decision == Decision::Ask
            && ruling.layer == Layer::Judge
            && let Some(model) = &self.evaluator
        {
            let question = Question::new(line, place, &ruling);
            let answer = model.evaluate(&question).await;
            let (verdict, layer) = evaluator::settle(&ruling.verdict, &answer, model.threshold());
            (ruling.verdict, ruling.layer) = (verdict, layer);
            opinion = answer.ok();
        }
        self.write_down(line, &ruling, opinion.as_ref(), started.elapsed());
        ruling
    }

    /// Writes a decision down that was made elsewhere.
    pub fn record(&self, line: &str, ruling: &Ruling) {
        self.write_down(line, ruling, None, Duration::ZERO);
    }

    fn write_down(&self, line: &str, ruling: &Ruling, opinion: Option<&Opinion>, took: Duration) {
        let Some(log) = &self.log else { return };
        for problem in self.untold() {
            log.warn(&problem.to_string());
        }
        log.decision(line, ruling, opinion, took);
    }

    /// The log of decisions.
    #[must_use]
    pub fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    /// The rules that a person could have Marvin learn from a line that was a question.
    ///
    /// # Errors
    /// The reason why nothing may be learned from it.
    pub fn learnable(
        &self,
        line: &str,
        place: Place<'_>,
    ) -> Result<Vec<learn::Candidate>, learn::LearnError> {
        learn::candidates(line, place, &self.judge(line, place))
    }

    /// Every rule file, as it is in effect.
    #[must_use]
    pub fn status(&self) -> Vec<Status> {
        self.current();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let status = |entry: &Entry| Status {
            source: entry.source.clone(),
            exists: entry.stamp.is_some(),
            counts: entry.counts,
            rules: entry.good.as_ref().map(|good| good.set.rules().to_vec()).unwrap_or_default(),
            programs: entry.good.as_ref().map(|good| good.programs.names()).unwrap_or_default(),
            problems: entry.problems.clone(),
        };
        state.entries.iter().map(status).collect()
    }

    /// The faults of the rule files.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        self.status().into_iter().flat_map(|status| status.problems).collect()
    }

    /// Problems that were not given out yet.
    fn untold(&self) -> Vec<Problem> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<Problem> = state.entries.iter().flat_map(|entry| entry.problems.clone()).collect();
        let new = all.iter().filter(|problem| !state.told.contains(problem)).cloned().collect();
        state.told = all;
        new
    }

    /// The rules that a ruling was just made by.
    fn last_read(&self) -> Arc<Rules> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).rules.clone()
    }

    /// The rules in effect; files that changed are read first.
    fn current(&self) -> Arc<Rules> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.entries.is_empty() {
            return state.rules.clone();
        }
        let trust = FileStamp::from_path(&self.trust);
        let mut changed = !state.read || !FileStamp::still(state.trust, trust);
        for entry in &mut state.entries {
            let stamp = FileStamp::from_path(&entry.source.path);
            if !FileStamp::still(entry.stamp, stamp) {
                entry.refresh(stamp);
                changed = true;
            }
        }
        if changed {
            state.trust = trust;
            state.read = true;
            let trust = Trust::read(&self.trust);
            state.entries.iter_mut().for_each(|entry| entry.weigh(&trust));
            state.rules = Arc::new(Rules::from_entries(&state.entries));
        }
        state.rules.clone()
    }
}

impl Entry {
    /// Reads the file again. One with faults does not take the place of one without.
    fn refresh(&mut self, stamp: Option<FileStamp>) {
        let links = match self.source.whose {
            RuleFileOwner::Person => Links::Follow,
            RuleFileOwner::Project => Links::Refuse,
        };
        let loaded = file::load(&self.source.path, self.source.list, links);
        self.stamp = stamp;
        self.problems.clone_from(&loaded.problems);
        if loaded.problems.is_empty() {
            self.good = Some(Arc::new(loaded));
            self.doubtful = false;
        } else if self.good.is_none() || self.doubtful {
            // A broken list allows nothing; what a broken denylist still says is heard.
            let refuses = self.source.list == List::Denylist;
            self.good = refuses.then(|| Arc::new(loaded));
            self.doubtful = true;
        }
    }

    fn weigh(&mut self, trust: &Trust) {
        let hash = self.good.as_ref().map_or("", |good| good.hash.as_str());
        self.counts = self.good.is_some()
            && (self.source.whose == RuleFileOwner::Person
                || self.source.list == List::Denylist
                || trust.holds(&self.source.path, hash));
    }
}

impl Rules {
    fn from_entries(entries: &[Entry]) -> Rules {
        let mut rules = Rules::default();
        for entry in entries {
            if entry.doubtful && entry.source.list == List::Denylist && rules.doubtful.is_none() {
                rules.doubtful = entry.problems.first().cloned();
            }
            let Some(good) = entry.good.as_ref().filter(|good| entry.counts && !good.is_empty()) else {
                continue;
            };
            let lists = match entry.source.list {
                List::Denylist => &mut rules.deny,
                List::Allowlist => &mut rules.allow,
                List::Learned => &mut rules.learned,
                List::Programs => {
                    rules.programs.get_or_insert_default().join(&good.programs);
                    continue;
                }
            };
            lists.push(good.clone());
        }
        rules
    }
}

/// Words behind `marvin commitments` by which a person takes back what was to be proved.
const PROMISES: [&str; 2] = ["drop", "rehash"];

/// Words behind `marvin gate` that change what the gate knows.
const OWN: [[&str; 2]; 5] =
    [["learned", "add"], ["suggestions", "accept"], ["rules", "add"], ["trust", ""], ["learned", "remove"]];

/// Words behind `marvin memory` by which a person decides what is remembered.
const REMEMBERED: [&str; 5] = ["approve", "edit", "reject", "forget", "pending"];

/// Refuses commands that an agent may never run, whatever any list says: those by which a person tells the gate what to allow, and
/// takes back what was to be proved.
fn own(judgement: &Judgement) -> Option<Verdict> {
    let deny = |reason: &str, hint: &str| Some(Verdict::deny("gate.own", reason, hint));
    let changes = |words: &[String]| {
        let named: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
        match named.as_slice() {
            [program, rest @ ..] if crate::shell::base_name(program) == "marvin" => match rest {
                ["gate", first, rest @ ..]
                    if OWN
                        .iter()
                        .any(|[one, two]| one == first && (two.is_empty() || rest.first() == Some(two))) =>
                {
                    deny(
                        "what the gate allows is told by a person, not by an agent",
                        "Say in your answer which command should be allowed and why.",
                    )
                }
                ["servitors", "dismiss", ..] => deny(
                    "a servitor is dismissed, with what it promised, by a person or by the agent that summoned it",
                    "Use the tool dismiss_servitor for one that you summoned.",
                ),
                ["memory", word, ..] if REMEMBERED.contains(word) => deny(
                    "what is remembered is decided by a person, not by an agent",
                    "Say in your answer what should be remembered, and why.",
                ),
                ["memory", "audit", ..] if words.iter().any(|word| word == "--adopt") => deny(
                    "a memory is taken over by a person, not by an agent",
                    "Say in your answer what the audit found.",
                ),
                ["commitments", word, ..] if PROMISES.contains(word) => deny(
                    "what was to be proved is taken back by a person, not by an agent",
                    "Do the work, or say in your answer which commitment does not hold any longer and why.",
                ),
                _ => None,
            },
            _ => None,
        }
    };
    judgement.segments.iter().find_map(|segment| changes(&segment.words))
}

/// The allow that the lists give instead of a question, if they do.
fn lifted(line: &str, place: Place<'_>, judgement: &Judgement, rules: &Rules) -> Option<(Verdict, Layer)> {
    if rules.allow.is_empty() && rules.learned.is_empty() {
        return None;
    }
    let segments = &judgement.segments;
    let worst = segments.iter().map(|segment| segment.verdict.decision).max()?;
    // A question about the line itself is nothing that a rule about a command can answer.
    if worst != Decision::Ask
        || !judgement.doubts.is_empty()
        || judgement.verdict.rule == "command.unresolved"
    {
        return None;
    }
    let forms = form::read(line, place.directory, place.grounds);
    if !forms.certain || forms.commands.len() != segments.len() {
        return None;
    }
    let mut found: Vec<(Layer, &Rule)> = Vec::new();
    for (form, segment) in forms.commands.iter().zip(segments) {
        if segment.verdict.decision == Decision::Allow {
            continue;
        }
        // A rule about a program does not speak of the secrets that an argument names; one about the whole command does.
        let counts = |rule: &&Rule| !segment.reads_secrets() || rule.kind == rule::Kind::Exact;
        let allowed =
            rules.allow.iter().filter_map(|list| file::permits(&list.set, form).filter(counts)).min();
        let learned =
            || rules.learned.iter().filter_map(|list| file::permits(&list.set, form).filter(counts)).min();
        let rule = match allowed {
            Some(rule) => (Layer::Allowlist, rule),
            None => (Layer::Learned, learned()?),
        };
        found.push(rule);
    }
    let (layer, rule) = found.into_iter().max_by_key(|(layer, _)| *layer)?;
    let name = format!("{}.{}", layer.word(), rule.id);
    let reason = match layer {
        Layer::Learned => format!("approved before: {}", rule.reason),
        _ => rule.reason.clone(),
    };
    Some((Verdict::allow(name, reason), layer))
}

/// Reads one rule file and says what is wrong with it.
#[must_use]
pub fn test_file(path: &Path, list: List) -> (usize, Vec<Problem>) {
    if !path.exists() {
        let problem = Problem {
            file: path.display().to_string(),
            rule: String::new(),
            what: "the file does not exist".into(),
            hint: "check the name".into(),
        };
        return (0, vec![problem]);
    }
    let loaded = file::load(path, list, Links::Follow);
    (loaded.set.rules().len() + loaded.programs.len(), loaded.problems)
}

#[cfg(test)]
mod tests;
