//! What an agent is told of a file: guardrails once in a session, lessons once in a session for each file.
//!
//! What stands in packs is somebody's text: it is told within a tag of ours that it cannot close, without control
//! characters, and within a number of tokens (a token is taken for 4 characters). Lessons come first, since they are
//! short and were learned here; guardrails that find no room are told the next time. A new correction makes a pack tell
//! its part again: once was not enough.

use super::score::{MAX_INJECTED_PACKS, Reach, ScoredPack};
use super::{Lesson, Pack, Packs, words};
use jiff::Timestamp;
use marvin_gate::quote;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Lessons of one pack, and in all.
const LESSONS_OF_PACK: usize = 3;
const LESSONS: usize = 10;
/// Characters that are never exceeded: Claude Code cuts at 10,000.
pub const MAX_INJECTION_CHARS: usize = 9_000;
/// Characters that a token is taken for.
const TOKEN: usize = 4;
/// Lessons that are looked through for ones that fit: the best.
const LOOKED_THROUGH: usize = 500;
/// Entries after which what was told is forgotten: a session of months.
const MAX_HISTORY_ENTRIES: usize = 50_000;
/// Words of paths that say nothing.
const EMPTY: [&str; 12] =
    ["src", "lib", "app", "apps", "index", "main", "mod", "packages", "crates", "file", "code", "init"];

/// What a session was told already. It can be written down and read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionHistory {
    packs: BTreeMap<String, PackHistory>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PackHistory {
    guardrails: bool,
    /// The newest correction that was answered by telling again.
    corrected: Option<Timestamp>,
    /// Lessons with files, as numbers.
    lessons: BTreeSet<u64>,
}

impl InjectionHistory {
    /// The agent forgot (its context was compacted), so everything may be told again.
    pub fn forget(&mut self) {
        self.packs.clear();
    }

    /// Notes what a record says was told: for a session that is taken up again.
    pub fn note<'a>(
        &mut self,
        file: &str,
        guardrails: impl IntoIterator<Item = &'a str>,
        lessons: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        for pack in guardrails {
            self.pack(pack).guardrails = true;
        }
        for (pack, title) in lessons {
            self.pack(pack).lessons.insert(key(file, title));
        }
    }

    /// Were the guardrails of a pack told?
    #[must_use]
    pub fn has_guardrails(&self, pack: &str) -> bool {
        self.packs.get(pack).is_some_and(|told| told.guardrails)
    }

    fn has_lesson(&self, pack: &str, file: &str, title: &str) -> bool {
        self.packs.get(pack).is_some_and(|told| told.lessons.contains(&key(file, title)))
    }

    fn pack(&mut self, name: &str) -> &mut PackHistory {
        if self.packs.values().map(|told| told.lessons.len()).sum::<usize>() > MAX_HISTORY_ENTRIES {
            self.packs.clear();
        }
        self.packs.entry(name.to_string()).or_default()
    }

    /// A correction that is newer than the last one answered opens the pack again.
    fn open(&mut self, scored: &ScoredPack) {
        let told = self.pack(scored.pack.name());
        if scored.corrected > told.corrected {
            *told = PackHistory { corrected: scored.corrected, ..PackHistory::default() };
        }
    }
}

/// A number for a lesson and a file.
fn key(file: &str, title: &str) -> u64 {
    super::number(file.bytes().chain([0]).chain(title.bytes()))
}

/// How much a pack had to do with a file, as records write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Score {
    /// The pack.
    pub pack: String,
    /// The sum.
    pub score: u32,
    /// What it is made of.
    pub signals: Vec<String>,
}

/// What an agent is told, and of what it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackInjection {
    /// The text.
    pub text: String,
    /// The packs that are told of.
    pub packs: Vec<String>,
    /// Those whose guardrails are told.
    pub guardrails: Vec<String>,
    /// Lessons, as (pack, title).
    pub lessons: Vec<(String, String)>,
    /// Why.
    pub scores: Vec<Score>,
}

/// The part of one pack.
struct Part<'a> {
    scored: &'a ScoredPack,
    guardrails: Option<String>,
    lessons: Vec<(&'a Lesson, String)>,
}

/// The text for a file, or nothing where there is nothing new. `cap` is in tokens.
pub fn tell(
    scored: &[ScoredPack],
    file: &str,
    told: &mut InjectionHistory,
    cap: usize,
) -> Option<PackInjection> {
    let head = format!("<marvin-context file=\"{}\">\n", attribute(file));
    let tail = "</marvin-context>";
    let mut room = TextBudget::new(cap);
    room.take(&head);
    room.take(tail);
    let file_words: Vec<String> =
        words(file).into_iter().filter(|word| word.len() > 3 && !EMPTY.contains(&word.as_str())).collect();
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut count = 0;
    for scored in scored.iter().filter(|scored| scored.reach > Reach::Silent).take(MAX_INJECTED_PACKS) {
        told.open(scored);
        let mut part = Part { scored, guardrails: None, lessons: Vec::new() };
        for lesson in choose(scored, &file_words) {
            if count == LESSONS || told.has_lesson(scored.pack.name(), file, &lesson.title) {
                continue;
            }
            let line = format!("- {}: {}\n", clean_line(&lesson.title), clean_line(&lesson.actionable));
            let needs = if part.lessons.is_empty() { heading(&scored.pack) + &line } else { line.clone() };
            if room.take(&needs) {
                part.lessons.push((lesson, line));
                count += 1;
            }
        }
        parts.push(part);
    }
    for part in &mut parts {
        let pack = &part.scored.pack;
        if !told.has_guardrails(pack.name()) {
            let spent = if part.lessons.is_empty() { heading(pack) } else { String::new() };
            part.guardrails = room.guardrails(pack, &spent);
        }
    }
    parts.retain(|part| part.guardrails.is_some() || !part.lessons.is_empty());
    if parts.is_empty() {
        return None;
    }
    let mut telling = PackInjection {
        text: head,
        packs: parts.iter().map(|part| part.scored.pack.name().to_string()).collect(),
        guardrails: Vec::new(),
        lessons: Vec::new(),
        scores: scored.iter().map(score).collect(),
    };
    for part in &parts {
        let name = part.scored.pack.name();
        telling.text.push_str(&heading(&part.scored.pack));
        for (lesson, line) in &part.lessons {
            telling.text.push_str(line);
            telling.lessons.push((name.to_string(), lesson.title.to_string()));
        }
        if let Some(text) = &part.guardrails {
            telling.text.push_str(text);
            telling.guardrails.push(name.to_string());
        }
        let lessons = part.lessons.iter().map(|(lesson, _)| (name, &*lesson.title));
        told.note(file, part.guardrails.iter().map(|_| name), lessons);
    }
    telling.text.push_str(tail);
    Some(telling)
}

fn score(scored: &ScoredPack) -> Score {
    Score {
        pack: scored.pack.name().to_string(),
        score: scored.score,
        signals: scored.signals.iter().map(ToString::to_string).collect(),
    }
}

/// The lessons of a pack for a file: of a relevant one the best, of equal ones those that fit first; of one that only
/// applies the best that fit.
fn choose<'a>(scored: &'a ScoredPack, file_words: &[String]) -> Vec<&'a Lesson> {
    let fits = |lesson: &Lesson| {
        scored.near.contains(&lesson.category) || file_words.iter().any(|word| lesson.has_word(word))
    };
    let best = scored.pack.lessons.iter().take(LOOKED_THROUGH);
    if scored.reach == Reach::Applies {
        return best.filter(|lesson| fits(lesson)).take(LESSONS_OF_PACK).collect();
    }
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    let mut utility = None;
    for lesson in best {
        // They are in the order of their utility: of equal ones, those that did not fit come after those that did.
        if utility.replace(lesson.utility).is_some_and(|before| before.total_cmp(&lesson.utility).is_ne()) {
            chosen.append(&mut others);
        }
        if chosen.len() >= LESSONS_OF_PACK {
            break;
        }
        if fits(lesson) { chosen.push(lesson) } else { others.push(lesson) }
    }
    chosen.append(&mut others);
    chosen.truncate(LESSONS_OF_PACK);
    chosen
}

fn heading(pack: &Pack) -> String {
    format!("[{}]\n", pack.name())
}

/// The room that is left.
struct TextBudget {
    left: usize,
    whole: usize,
}

impl TextBudget {
    fn new(tokens: usize) -> Self {
        let whole = tokens.saturating_mul(TOKEN).min(MAX_INJECTION_CHARS);
        TextBudget { left: whole, whole }
    }

    /// Takes room for a text, where there is enough.
    fn take(&mut self, text: &str) -> bool {
        let units = units(text);
        let fits = units <= self.left;
        if fits {
            self.left -= units;
        }
        fits
    }

    /// The guardrails of a pack, where they find room. Ones that would never find room are told in part.
    fn guardrails(&mut self, pack: &Pack, spent: &str) -> Option<String> {
        let text = quote::block(&pack.guardrails);
        if text.is_empty() {
            return None;
        }
        let mut text = text + "\n";
        if self.take(&format!("{spent}{text}")) {
            return Some(text);
        }
        if units(&text) * 4 <= self.whole * 3 {
            return None;
        }
        let note = format!(
            "(cut here; the whole stands in {})\n",
            clean_line(&pack.directory.join("guardrails.md").display().to_string())
        );
        let mut kept = String::new();
        let room = self.left.checked_sub(units(spent) + units(&note))?;
        let mut used = 0;
        for line in text.split_inclusive('\n') {
            used += units(line);
            if used > room {
                break;
            }
            kept.push_str(line);
        }
        // A part that says next to nothing waits for more room.
        if kept.lines().count() < 3 {
            return None;
        }
        kept.push_str(&note);
        text = kept;
        self.take(&format!("{spent}{text}")).then_some(text)
    }
}

/// The length as clients count it.
fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Characters of one line that is told.
const MAX_LINE_CHARS: usize = 1_000;

/// A text of somebody else on one line: nothing in it is unseen, and it cannot close our tag or open another program's.
#[must_use]
pub fn clean_line(text: &str) -> String {
    quote::line(text, MAX_LINE_CHARS)
}

fn attribute(text: &str) -> String {
    let text = marvin_base::truncate::line(&quote::seen(text), 300);
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Packs {
    /// What a session is told at its start: every pack with what it is for, and the guardrails of those that apply to
    /// files with these extensions (`.rs`). Packs without extensions apply to everything.
    pub fn digest(
        &self,
        extensions: &BTreeSet<String>,
        told: &mut InjectionHistory,
        cap: usize,
    ) -> Option<PackInjection> {
        let (head, tail) = ("<marvin-packs>\n", "</marvin-packs>");
        let mut room = TextBudget::new(cap);
        room.take(head);
        room.take(tail);
        let mut text = head.to_string();
        let mut telling = PackInjection {
            text: String::new(),
            packs: Vec::new(),
            guardrails: Vec::new(),
            lessons: Vec::new(),
            scores: Vec::new(),
        };
        for pack in &self.active {
            let description =
                if pack.description().is_empty() { "(no description)" } else { pack.description() };
            let line = format!("- {}: {}\n", pack.name(), clean_line(description));
            if room.take(&line) {
                text.push_str(&line);
                telling.packs.push(pack.name().to_string());
            }
        }
        for pack in self.active.iter().filter(|pack| applies(pack, extensions)) {
            if told.has_guardrails(pack.name()) {
                continue;
            }
            if let Some(guardrails) = room.guardrails(pack, &heading(pack)) {
                text.push_str(&heading(pack));
                text.push_str(&guardrails);
                told.note("", [pack.name()], []);
                telling.guardrails.push(pack.name().to_string());
            }
        }
        text.push_str(tail);
        telling.text = text;
        (!telling.packs.is_empty()).then_some(telling)
    }
}

/// Does a pack apply to a project with such files? `.test.ts` does where there is any `.ts`.
#[must_use]
pub fn applies(pack: &Arc<Pack>, extensions: &BTreeSet<String>) -> bool {
    let own = pack.extensions();
    own.is_empty() || own.iter().any(|own| extensions.iter().any(|there| own.ends_with(there.as_str())))
}
