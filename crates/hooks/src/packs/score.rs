//! Relevance of a pack to a file: the signals, their weights, and the reach that follows from the sum.
//!
//! A pack with a strong signal (its code, a sensitive file, a recent correction) is *relevant* from 10 points on, one
//! without from 20. Below that a pack with any signal still *applies*: its guardrails are injected once per session, and of
//! its lessons only those that match the file or the person's directions. So an edit of a plain `.ts` file injects the
//! rules for TypeScript, without the lessons of every pack at every edit. At most 4 packs with something new are injected at
//! once; the others follow at the next call.
//!
//! Limits: only names are used, never the content of a file.

use super::paths::{self, Patterns, words};
use super::{Pack, Packs};
use jiff::{SignedDuration, Timestamp};
use marvin_base::clock;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The threshold of a pack with a strong signal.
pub const STRONG_THRESHOLD: u32 = 10;
/// The threshold of a pack without one.
pub const WEAK_THRESHOLD: u32 = 20;
pub const MAX_INJECTED_PACKS: usize = 4;
/// The time that a correction counts.
const RECENT: SignedDuration = SignedDuration::from_mins(30);
const MAX_COUNTED_CORRECTIONS: usize = 3;

/// The kind of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Kind {
    /// The file matches the pack's code paths.
    FilePatternMatch,
    ExtensionMatch,
    SensitivePath,
    /// A recent correction was about one of the pack's categories.
    RecentCorrection,
    /// A direction of this session was about one of its categories.
    CategoryMatch,
    /// A word of the path is a keyword for one of its categories.
    PathKeyword,
    /// A relevant pack depends on it.
    DependencyBoost,
}

impl Kind {
    /// The points of the signal.
    #[must_use]
    pub fn weight(self) -> u32 {
        match self {
            Kind::FilePatternMatch => 15,
            Kind::ExtensionMatch => 5,
            Kind::SensitivePath | Kind::RecentCorrection => 20,
            Kind::CategoryMatch | Kind::PathKeyword => 8,
            Kind::DependencyBoost => 3,
        }
    }

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::FilePatternMatch => "FILE_PATTERN_MATCH",
            Kind::ExtensionMatch => "EXTENSION_MATCH",
            Kind::SensitivePath => "SENSITIVE_PATH",
            Kind::RecentCorrection => "RECENT_CORRECTION",
            Kind::CategoryMatch => "CATEGORY_MATCH",
            Kind::PathKeyword => "PATH_KEYWORD",
            Kind::DependencyBoost => "DEPENDENCY_BOOST",
        }
    }

    #[must_use]
    pub fn is_strong(self) -> bool {
        matches!(self, Kind::FilePatternMatch | Kind::SensitivePath | Kind::RecentCorrection)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signal {
    pub kind: Kind,
    pub points: u32,
    /// The pattern, extension, category, keyword or pack.
    pub detail: String,
}

impl Signal {
    fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Signal { kind, points: kind.weight(), detail: detail.into() }
    }
}

impl std::fmt::Display for Signal {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} +{} {}", self.kind.word(), self.points, self.detail)
    }
}

/// Guidance of the person in this session.
#[derive(Debug, Clone, Default)]
pub struct RecentGuidance {
    /// The category and time of each correction.
    pub corrections: Vec<(String, Timestamp)>,
    /// The categories of directions.
    pub categories: Vec<String>,
}

/// The part of a pack that is injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Nothing.
    Silent,
    /// Guardrails once per session, and lessons that match.
    Applies,
    /// Guardrails once per session, and the best lessons.
    Relevant,
}

/// A pack with its score for a file.
#[derive(Debug, Clone)]
pub struct ScoredPack {
    pub pack: Arc<Pack>,
    pub score: u32,
    pub signals: Vec<Signal>,
    pub reach: Reach,
    /// The exclude pattern that matches the file.
    pub excluded: Option<Box<str>>,
    /// The newest correction that counted.
    pub corrected: Option<Timestamp>,
    /// Categories of the path and of recent guidance; lessons of these match.
    pub near: Arc<BTreeSet<Box<str>>>,
}

impl ScoredPack {
    /// The points that make it relevant.
    #[must_use]
    pub fn threshold(&self) -> u32 {
        if self.signals.iter().any(|signal| signal.kind.is_strong()) {
            STRONG_THRESHOLD
        } else {
            WEAK_THRESHOLD
        }
    }

    fn add(&mut self, signal: Signal) {
        self.score += signal.points;
        self.signals.push(signal);
    }

    /// Decides what is injected. Without a file, a category is all that there is to go by.
    fn decide(&mut self, file: &str) {
        let is_about = |signal: &Signal| file.is_empty() && signal.kind == Kind::CategoryMatch;
        self.reach = if self.excluded.is_some() || self.score == 0 {
            Reach::Silent
        } else if self.score >= self.threshold() || self.signals.iter().any(is_about) {
            Reach::Relevant
        } else {
            Reach::Applies
        };
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternPurpose {
    Exclude,
    Code,
    Sensitive,
}

/// All path patterns of all packs.
#[derive(Debug)]
pub(super) struct Matcher {
    patterns: Patterns<(usize, PatternPurpose, Box<str>)>,
}

impl Matcher {
    pub(super) fn new(packs: &[Arc<Pack>]) -> Self {
        let mut all = Vec::new();
        for (at, pack) in packs.iter().enumerate() {
            let lists = [
                (PatternPurpose::Exclude, pack.excludes_paths()),
                (PatternPurpose::Code, pack.code_paths()),
                (PatternPurpose::Sensitive, pack.sensitive_paths()),
            ];
            for (what, pattern) in
                lists.into_iter().flat_map(|(what, list)| list.iter().map(move |one| (what, one)))
            {
                let mut globs = paths::globs(pattern).unwrap_or_default();
                if what == PatternPurpose::Exclude {
                    globs.extend(
                        paths::globs(&format!("{}/", pattern.trim_end_matches('/'))).unwrap_or_default(),
                    );
                }
                all.extend(globs.into_iter().map(|glob| (glob, (at, what, pattern.clone()))));
            }
        }
        Matcher { patterns: Patterns::new(all) }
    }
}

impl Packs {
    /// The packs that may be injected for a file (relative to the project), most relevant first.
    #[must_use]
    pub fn score(&self, file: &str, recent: &RecentGuidance) -> Vec<ScoredPack> {
        let mut scored = self.score_all(file, recent, clock::now());
        scored.retain(|scored| scored.reach > Reach::Silent);
        scored
    }

    /// Every pack with its score, most relevant first.
    #[must_use]
    pub fn score_all(&self, file: &str, recent: &RecentGuidance, now: Timestamp) -> Vec<ScoredPack> {
        let path_words = words(file);
        let keywords: Vec<(&str, &[Box<str>])> = self.keywords.find(&path_words).collect();
        let corrections: Vec<&(String, Timestamp)> =
            recent.corrections.iter().filter(|(_, at)| now.duration_since(*at) <= RECENT).collect();
        let near: Arc<BTreeSet<Box<str>>> = Arc::new(
            keywords
                .iter()
                .flat_map(|(_, categories)| categories.iter().cloned())
                .chain(corrections.iter().map(|(category, _)| category.to_lowercase().into()))
                .chain(recent.categories.iter().map(|category| category.to_lowercase().into()))
                .collect(),
        );
        let mut all: Vec<ScoredPack> = self.active.iter().map(|pack| start(pack, &near)).collect();
        for (at, what, pattern) in self.matcher.patterns.find(file) {
            let Some(scored) = all.get_mut(*at) else { continue };
            let kind = match what {
                PatternPurpose::Exclude => {
                    scored.excluded = Some(pattern.clone());
                    continue;
                }
                PatternPurpose::Code => Kind::FilePatternMatch,
                PatternPurpose::Sensitive => Kind::SensitivePath,
            };
            // Each list counts once, even if several of its patterns match.
            if !scored.signals.iter().any(|signal| signal.kind == kind) {
                scored.add(Signal::new(kind, &**pattern));
            }
        }
        let name = file.rsplit('/').next().unwrap_or(file).to_lowercase();
        for scored in &mut all {
            let pack = scored.pack.clone();
            let longest =
                pack.extensions().iter().filter(|end| name.ends_with(&***end)).max_by_key(|end| end.len());
            if let Some(extension) = longest {
                scored.add(Signal::new(Kind::ExtensionMatch, &**extension));
            }
            correct(scored, &corrections);
            if let Some(category) = recent.categories.iter().find(|category| pack.has_category(category)) {
                scored.add(Signal::new(Kind::CategoryMatch, category.as_str()));
            }
            let matches =
                |categories: &&[Box<str>]| categories.iter().any(|category| pack.has_category(category));
            if let Some((word, _)) = keywords.iter().find(|(_, categories)| matches(categories)) {
                scored.add(Signal::new(Kind::PathKeyword, *word));
            }
            if scored.excluded.is_some() {
                (scored.score, scored.signals, scored.corrected) = (0, Vec::new(), None);
            }
            scored.decide(file);
        }
        boost_dependencies(&mut all, file);
        all.sort_by(|one, two| {
            let key = |scored: &ScoredPack| (scored.reach, scored.score);
            key(two).cmp(&key(one)).then_with(|| one.pack.name().cmp(two.pack.name()))
        });
        all
    }
}

fn start(pack: &Arc<Pack>, near: &Arc<BTreeSet<Box<str>>>) -> ScoredPack {
    ScoredPack {
        pack: pack.clone(),
        score: 0,
        signals: Vec::new(),
        reach: Reach::Silent,
        excluded: None,
        corrected: None,
        near: near.clone(),
    }
}

fn correct(scored: &mut ScoredPack, corrections: &[&(String, Timestamp)]) {
    let pack = scored.pack.clone();
    let own: Vec<_> = corrections.iter().filter(|(category, _)| pack.has_category(category)).collect();
    let Some((category, _)) = own.first() else { return };
    let count = own.len().min(MAX_COUNTED_CORRECTIONS);
    let points = Kind::RecentCorrection.weight() * u32::try_from(count).unwrap_or(1);
    let detail = if count > 1 { format!("{category} ({count} times)") } else { category.clone() };
    scored.corrected = own.iter().map(|(_, at)| *at).max();
    scored.add(Signal { kind: Kind::RecentCorrection, points, detail });
}

/// Adds the dependency boost last, because only packs that are relevant by themselves raise others.
fn boost_dependencies(all: &mut [ScoredPack], file: &str) {
    let relevant: Vec<Arc<Pack>> = all
        .iter()
        .filter(|scored| scored.reach == Reach::Relevant)
        .map(|scored| scored.pack.clone())
        .collect();
    for scored in all.iter_mut().filter(|scored| scored.excluded.is_none()) {
        let wants = |pack: &&Arc<Pack>| {
            pack.name() != scored.pack.name()
                && pack.depends_on().iter().any(|other| **other == *scored.pack.name())
        };
        if let Some(pack) = relevant.iter().find(wants) {
            let by = pack.name().to_string();
            scored.add(Signal::new(Kind::DependencyBoost, by));
            scored.decide(file);
        }
    }
}
