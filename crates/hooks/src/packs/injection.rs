//! The text that is injected for a file: guardrails once per session, lessons once per session and file.
//!
//! The content of packs is untrusted: it is injected within a tag that it cannot close, without control characters, and
//! within a number of tokens (estimated as 4 characters each). Lessons come first, since they are short and were learned in
//! this project; guardrails that do not fit are injected the next time. After a new correction a pack is injected again.

use super::score::{MAX_INJECTED_PACKS, Reach, ScoredPack};
use super::{Lesson, Pack, Packs, words};
use jiff::Timestamp;
use marvin_base::run_record::PackScore;
use marvin_gate::quote;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const MAX_LESSONS_PER_PACK: usize = 3;
const MAX_LESSONS: usize = 10;
/// Claude Code cuts at 10,000.
pub const MAX_INJECTION_CHARS: usize = 9_000;
/// The estimated length of a token.
const TOKEN_CHARS: usize = 4;
/// The best lessons of a pack, of which those that match are chosen.
const MAX_SEARCHED_LESSONS: usize = 500;
/// A longer history, of a session of months, is cleared.
const MAX_HISTORY_ENTRIES: usize = 50_000;
/// Words of paths that do not distinguish files.
const COMMON_WORDS: [&str; 12] =
    ["src", "lib", "app", "apps", "index", "main", "mod", "packages", "crates", "file", "code", "init"];

/// The earlier injections of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionHistory {
    packs: BTreeMap<String, PackHistory>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PackHistory {
    guardrails: bool,
    /// The newest correction after which the pack was injected again.
    corrected: Option<Timestamp>,
    /// Hashes of lessons with files.
    lessons: BTreeSet<u64>,
}

impl InjectionHistory {
    /// Adds an injection.
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

    #[must_use]
    pub fn has_guardrails(&self, pack: &str) -> bool {
        self.packs.get(pack).is_some_and(|history| history.guardrails)
    }

    fn has_lesson(&self, pack: &str, file: &str, title: &str) -> bool {
        self.packs.get(pack).is_some_and(|history| history.lessons.contains(&key(file, title)))
    }

    fn pack(&mut self, name: &str) -> &mut PackHistory {
        if self.packs.values().map(|history| history.lessons.len()).sum::<usize>() > MAX_HISTORY_ENTRIES {
            self.packs.clear();
        }
        self.packs.entry(name.to_string()).or_default()
    }

    /// Clears the history of a pack after a new correction.
    fn reopen(&mut self, scored: &ScoredPack) {
        let history = self.pack(scored.pack.name());
        if scored.corrected > history.corrected {
            *history = PackHistory { corrected: scored.corrected, ..PackHistory::default() };
        }
    }
}

/// The hash of a lesson and a file.
fn key(file: &str, title: &str) -> u64 {
    super::number(file.bytes().chain([0]).chain(title.bytes()))
}

/// An injected text and its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PackInjection {
    pub text: String,
    pub packs: Vec<String>,
    /// The packs whose guardrails are part of the text.
    pub guardrails: Vec<String>,
    /// Lessons, as (pack, title).
    pub lessons: Vec<(String, String)>,
    pub scores: Vec<PackScore>,
}

/// The part of one pack.
struct Part<'a> {
    scored: &'a ScoredPack,
    guardrails: Option<String>,
    lessons: Vec<(&'a Lesson, String)>,
}

/// The text for a file; `None` where nothing is new.
pub fn inject(
    scored: &[ScoredPack],
    file: &str,
    history: &mut InjectionHistory,
    max_tokens: usize,
) -> Option<PackInjection> {
    let head = format!("<marvin-context file=\"{}\">\n", attribute(file));
    let tail = "</marvin-context>";
    let mut room = TextBudget::new(max_tokens);
    room.take(&head);
    room.take(tail);
    let file_words: Vec<String> = words(file)
        .into_iter()
        .filter(|word| word.len() > 3 && !COMMON_WORDS.contains(&word.as_str()))
        .collect();
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut count = 0;
    for scored in scored.iter().filter(|scored| scored.reach > Reach::Silent) {
        if parts.len() == MAX_INJECTED_PACKS {
            break;
        }
        history.reopen(scored);
        let mut part = Part { scored, guardrails: None, lessons: Vec::new() };
        for lesson in choose(scored, &file_words) {
            if count == MAX_LESSONS || history.has_lesson(scored.pack.name(), file, &lesson.title) {
                continue;
            }
            let line = format!("- {}: {}\n", clean_line(&lesson.title), clean_line(&lesson.actionable));
            let needs = if part.lessons.is_empty() { heading(&scored.pack) + &line } else { line.clone() };
            if room.take(&needs) {
                part.lessons.push((lesson, line));
                count += 1;
            }
        }
        // A pack that has told everything leaves its place to the next.
        let is_told = history.has_guardrails(scored.pack.name()) || scored.pack.guardrails.trim().is_empty();
        if !is_told || !part.lessons.is_empty() {
            parts.push(part);
        }
    }
    for part in &mut parts {
        let pack = &part.scored.pack;
        if !history.has_guardrails(pack.name()) {
            let spent = if part.lessons.is_empty() { heading(pack) } else { String::new() };
            part.guardrails = room.guardrails(pack, &spent);
        }
    }
    parts.retain(|part| part.guardrails.is_some() || !part.lessons.is_empty());
    if parts.is_empty() {
        return None;
    }
    let mut injection = PackInjection {
        text: head,
        packs: parts.iter().map(|part| part.scored.pack.name().to_string()).collect(),
        scores: scored.iter().take(MAX_INJECTED_PACKS).map(score).collect(),
        ..PackInjection::default()
    };
    for part in &parts {
        let name = part.scored.pack.name();
        injection.text.push_str(&heading(&part.scored.pack));
        for (lesson, line) in &part.lessons {
            injection.text.push_str(line);
            injection.lessons.push((name.to_string(), lesson.title.to_string()));
        }
        if let Some(text) = &part.guardrails {
            injection.text.push_str(text);
            injection.guardrails.push(name.to_string());
        }
        let lessons = part.lessons.iter().map(|(lesson, _)| (name, &*lesson.title));
        history.note(file, part.guardrails.iter().map(|_| name), lessons);
    }
    injection.text.push_str(tail);
    Some(injection)
}

fn score(scored: &ScoredPack) -> PackScore {
    PackScore {
        pack: scored.pack.name().to_string(),
        score: scored.score,
        signals: scored.signals.iter().map(ToString::to_string).collect(),
    }
}

/// The lessons of a pack for a file: of a relevant pack the best, and among equal ones those that match first; of a pack
/// that only applies, the best that match.
fn choose<'a>(scored: &'a ScoredPack, file_words: &[String]) -> Vec<&'a Lesson> {
    let best = scored.pack.lessons.get(..MAX_SEARCHED_LESSONS).unwrap_or(&scored.pack.lessons);
    let wanted = scored.near.iter().map(|category| &**category);
    let found = scored.pack.lesson_words.find(wanted.chain(file_words.iter().map(String::as_str)));
    let fits = |lesson: &Lesson| {
        scored.near.contains(&lesson.category) || file_words.iter().any(|word| lesson.has_word(word))
    };
    let mut fitting = found
        .into_iter()
        .filter_map(|position| Some((position, best.get(position)?)))
        .filter(|(_, lesson)| fits(lesson));
    if scored.reach == Reach::Applies {
        return fitting.map(|(_, lesson)| lesson).take(MAX_LESSONS_PER_PACK).collect();
    }
    let mut next = fitting.next();
    let (mut chosen, mut others) = (Vec::new(), Vec::new());
    let mut utility = None;
    for (position, lesson) in best.iter().enumerate() {
        // Lessons are sorted by utility: among equal ones, those that match come first.
        if utility.replace(lesson.utility).is_some_and(|before| before.total_cmp(&lesson.utility).is_ne()) {
            chosen.append(&mut others);
        }
        if chosen.len() >= MAX_LESSONS_PER_PACK {
            break;
        }
        if next.is_some_and(|(fits, _)| fits == position) {
            chosen.push(lesson);
            next = fitting.next();
        } else {
            others.push(lesson);
        }
    }
    chosen.append(&mut others);
    chosen.truncate(MAX_LESSONS_PER_PACK);
    chosen
}

fn heading(pack: &Pack) -> String {
    format!("[{}]\n", pack.name())
}

/// The characters that are left.
struct TextBudget {
    left: usize,
    whole: usize,
}

impl TextBudget {
    fn new(tokens: usize) -> Self {
        let whole = tokens.saturating_mul(TOKEN_CHARS).min(MAX_INJECTION_CHARS);
        TextBudget { left: whole, whole }
    }

    /// Reserves the length of a text; false where it does not fit.
    fn take(&mut self, text: &str) -> bool {
        let units = units(text);
        let fits = units <= self.left;
        if fits {
            self.left -= units;
        }
        fits
    }

    /// The guardrails of a pack, where they fit. Guardrails that could never fit are cut.
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
        // One or two lines are not worth a cut.
        if kept.lines().count() < 3 {
            return None;
        }
        kept.push_str(&note);
        text = kept;
        self.take(&format!("{spent}{text}")).then_some(text)
    }
}

/// The length in UTF-16 code units, as clients count it.
fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

const MAX_LINE_CHARS: usize = 1_000;

/// An untrusted text on one line, without invisible characters and without tags.
#[must_use]
pub fn clean_line(text: &str) -> String {
    quote::line(text, MAX_LINE_CHARS)
}

fn attribute(text: &str) -> String {
    let text = marvin_base::truncate::line(&quote::seen(text), 300);
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Packs {
    /// The text for the start of a session: every pack with its description, and the guardrails of those that apply to
    /// files with these extensions (`.rs`). Packs without extensions apply to everything.
    pub fn digest(
        &self,
        extensions: &BTreeSet<String>,
        history: &mut InjectionHistory,
        max_tokens: usize,
    ) -> Option<PackInjection> {
        let (head, tail) = ("<marvin-packs>\n", "</marvin-packs>");
        let mut room = TextBudget::new(max_tokens);
        room.take(head);
        room.take(tail);
        let mut injection = PackInjection { text: head.to_string(), ..PackInjection::default() };
        for pack in &self.active {
            let description =
                if pack.description().is_empty() { "(no description)" } else { pack.description() };
            let line = format!("- {}: {}\n", pack.name(), clean_line(description));
            if room.take(&line) {
                injection.text.push_str(&line);
                injection.packs.push(pack.name().to_string());
            }
        }
        for pack in self.active.iter().filter(|pack| applies(pack, extensions)) {
            if history.has_guardrails(pack.name()) {
                continue;
            }
            if let Some(guardrails) = room.guardrails(pack, &heading(pack)) {
                injection.text.push_str(&heading(pack));
                injection.text.push_str(&guardrails);
                history.note("", [pack.name()], []);
                injection.guardrails.push(pack.name().to_string());
            }
        }
        injection.text.push_str(tail);
        (!injection.packs.is_empty()).then_some(injection)
    }
}

/// Whether a pack applies to a project with such files; `.test.ts` does where there is any `.ts`.
#[must_use]
pub fn applies(pack: &Arc<Pack>, extensions: &BTreeSet<String>) -> bool {
    let own = pack.extensions();
    own.is_empty() || own.iter().any(|own| extensions.iter().any(|there| own.ends_with(there.as_str())))
}
