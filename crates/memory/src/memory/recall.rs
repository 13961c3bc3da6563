//! Questions to everything that is remembered: one interface over the long-term memory, the short-term memory, lessons, packs'
//! lessons and artifacts.
//!
//! What comes from the long-term memory is read from the sealed file, never from the index: whoever changes the index can
//! hide something, and add nothing that nobody agreed to.

use super::{Memory, decide};
use crate::embed;
use crate::error::MemoryError;
use crate::index::{Document, Hit, Index, Kind, Search, neighbours};
use crate::lines;
use crate::stm::{Stm, StmEntry};
use crate::vault::{self, Trust};
use jiff::Timestamp;
use marvin_base::clock;
use serde::Serialize;

/// The notes of the index about what it was made of.
const LTM: &str = "ltm";
const STM: &str = "stm";
const OFFERED: &str = "offered:";

/// A question.
#[derive(Debug, Clone, Default)]
pub struct Recall<'a> {
    /// Words; any text.
    pub text: &'a str,
    /// Only these kinds; empty: all.
    pub kinds: &'a [Kind],
    /// Only from these sources; empty: all.
    pub sources: &'a [&'a str],
    /// Only what is for this one or for everybody.
    pub scope: Option<&'a str>,
    /// Tags that make a find better.
    pub tags: &'a [String],
    /// The component that makes a find better.
    pub component: Option<&'a str>,
    /// The failure that makes a find better.
    pub failure: Option<&'a str>,
    /// At most so many.
    pub limit: usize,
}

/// What was found. It is a memory, not a truth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecalledMemory {
    /// What it is.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// Where it comes from.
    pub source: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// How old it is, in days; none where that is not known.
    pub age_days: Option<i64>,
    /// Nobody verified it.
    pub unverified: bool,
    /// Its rank: higher is nearer.
    pub score: f64,
}

impl Memory {
    /// What answers a question best, best first.
    ///
    /// # Errors
    /// When the record cannot be read or no index can be made. No text is a mistake.
    pub fn recall(&mut self, recall: &Recall<'_>) -> Result<Vec<RecalledMemory>, MemoryError> {
        let wants = |kind| recall.kinds.is_empty() || recall.kinds.contains(&kind);
        if wants(Kind::Lesson) {
            self.lessons.refresh()?;
        }
        for _ in 0..2 {
            let result = self.with_index(|memory, index| {
                if wants(Kind::Ltm) {
                    memory.sync_ltm(index)?;
                }
                if wants(Kind::Stm) {
                    memory.sync_stm(index)?;
                }
                memory.ask(index, recall)
            })?;
            if let Some(found) = result {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    fn with_index<T>(
        &mut self,
        work: impl Fn(&Memory, &mut Index) -> Result<T, MemoryError>,
    ) -> Result<T, MemoryError> {
        let path = self.vault.places.index.clone();
        let failed = |error: rusqlite::Error| MemoryError::index(&path, &error);
        let mut index = match self.index.take() {
            Some(index) if path.exists() => index,
            _ => Index::open(&path).map_err(failed)?,
        };
        let mut result = work(self, &mut index);
        if let Err(MemoryError::Index { .. }) = &result {
            drop(index);
            index = Index::renew(&path).map_err(failed)?;
            result = work(self, &mut index);
        }
        self.index = Some(index);
        result
    }

    /// What the index is made of, as a note: the sealed ledger and the facts of the file.
    fn ltm_note(head: &str, ltm: &str) -> String {
        format!("{head} {ltm}")
    }

    fn sync_ltm(&self, index: &mut Index) -> Result<(), MemoryError> {
        let failed = |error: rusqlite::Error| MemoryError::index(&self.vault.places.index, &error);
        let trust = self.vault.trust()?;
        let note = match &trust {
            Trust::Whole(seal) => Memory::ltm_note(&seal.head, seal.ltm.as_deref().unwrap_or_default()),
            Trust::Looked(scan) => Memory::ltm_note(&scan.head, &vault::stamp(&self.vault.places.ltm)?),
        };
        if index.note(LTM).map_err(failed)?.as_ref() == Some(&note) {
            return Ok(());
        }
        let scan = match trust {
            Trust::Looked(scan) => *scan,
            Trust::Whole(_) => self.vault.audit()?,
        };
        index.clear(Kind::Ltm, LTM).map_err(failed)?;
        let active = scan.entries.iter().filter(|(_, entry)| scan.standing.is_active(&entry.id));
        let documents: Vec<Document> =
            active.map(|(offset, entry)| decide::document(entry, *offset)).collect();
        index.change(Kind::Ltm, &documents, &[], &[(LTM.into(), Some(note))]).map_err(failed)
    }

    /// Keeps the index in step with a change of ours. Where it was not in step before, the next question mends it.
    pub(super) fn keep_index(&mut self, before: Option<&str>, put: &[Document], remove: &[String]) {
        let path = self.vault.places.index.clone();
        let mut keep = || -> Option<()> {
            let seal = self.vault.seal().ok()??;
            let index = match self.index.take() {
                Some(index) if path.exists() => index,
                _ => Index::open(&path).ok()?,
            };
            let index = self.index.insert(index);
            let known = index.note(LTM).ok()??;
            if known.split(' ').next() != Some(before.unwrap_or_default()) {
                return None;
            }
            let note = Memory::ltm_note(&seal.head, seal.ltm.as_deref()?);
            index.change(Kind::Ltm, put, remove, &[(LTM.into(), Some(note))]).ok()
        };
        if keep().is_none()
            && !remove.is_empty()
            && let Some(index) = &mut self.index
        {
            // What was erased is not to stay in the index until somebody asks.
            index.change(Kind::Ltm, &[], remove, &[]).ok();
        }
    }

    fn sync_stm(&self, index: &mut Index) -> Result<(), MemoryError> {
        let path = &self.vault.places.stm;
        let failed = |error: rusqlite::Error| MemoryError::index(&self.vault.places.index, &error);
        let note = vault::stamp(path)?;
        if index.note(STM).map_err(failed)?.as_ref() == Some(&note) {
            return Ok(());
        }
        let entries = Stm::entries_of(path)?;
        let texts: Vec<String> = entries.iter().map(StmEntry::said).collect();
        let plain: Vec<&str> = texts.iter().map(String::as_str).collect();
        let documents: Vec<Document> = entries
            .iter()
            .zip(&texts)
            .enumerate()
            .map(|(at, (entry, text))| {
                let (before, after) = neighbours(&plain, at);
                Document {
                    id: entry.id.clone(),
                    text: text.clone(),
                    before,
                    after,
                    source: "trace".into(),
                    created: entry.created().map_or(0, Timestamp::as_second),
                    ..Document::default()
                }
            })
            .collect();
        index.clear(Kind::Stm, STM).map_err(failed)?;
        index.change(Kind::Stm, &documents, &[], &[(STM.into(), Some(note))]).map_err(failed)
    }

    /// Puts what others know (packs' lessons, artifacts) into the index, unless it is there: `stamp` says what it is made of.
    ///
    /// # Errors
    /// When no index can be made.
    pub fn offer(
        &mut self,
        kind: Kind,
        stamp: &str,
        documents: impl Fn() -> Vec<Document>,
    ) -> Result<(), MemoryError> {
        self.with_index(|memory, index| {
            let failed = |error: rusqlite::Error| MemoryError::index(&memory.vault.places.index, &error);
            let key = format!("{OFFERED}{}", kind.word());
            if index.note(&key).map_err(failed)?.as_deref() == Some(stamp) {
                return Ok(());
            }
            index.clear(kind, &key).map_err(failed)?;
            index.change(kind, &documents(), &[], &[(key, Some(stamp.to_string()))]).map_err(failed)
        })
    }

    /// Asks the index; none when it is out of step with the memory.
    fn ask(
        &self,
        index: &mut Index,
        recall: &Recall<'_>,
    ) -> Result<Option<Vec<RecalledMemory>>, MemoryError> {
        let failed = |error: rusqlite::Error| MemoryError::index(&self.vault.places.index, &error);
        let now = clock::now();
        let search = Search {
            text: recall.text,
            kinds: recall.kinds,
            sources: recall.sources,
            scope: recall.scope,
            tags: recall.tags,
            component: recall.component,
            like: recall.failure,
            now: now.as_second(),
            // Some may be over.
            limit: recall.limit.saturating_mul(2).min(1_000),
            ..Search::default()
        };
        let hits = match &self.embedder {
            Some(embedder) => {
                embed::refresh(index, embedder.as_ref()).map_err(failed)?;
                embed::search(index, &search, embedder.as_ref())
            }
            None => index.search(&search),
        };
        let mut found = Vec::new();
        for mut hit in hits.map_err(failed)? {
            let text = match hit.kind {
                Kind::Ltm => {
                    let offset = hit.place.parse().unwrap_or(u64::MAX);
                    let line = lines::at(&self.vault.places.ltm, offset);
                    let Some(entry) =
                        line.and_then(|line| vault::parse(&line).ok()).filter(|entry| entry.id == hit.id)
                    else {
                        index.change(Kind::Ltm, &[], &[], &[(LTM.into(), None)]).map_err(failed)?;
                        return Ok(None);
                    };
                    hit.source = entry.candidate.source.word().to_string();
                    let wanted = recall.sources.is_empty() || recall.sources.contains(&hit.source.as_str());
                    if entry.is_over(now) || !wanted {
                        continue;
                    }
                    entry.candidate.text
                }
                _ => hit.text.clone(),
            };
            found.push(recalled(hit, text, now));
        }
        found.truncate(recall.limit);
        Ok(Some(found))
    }
}

fn recalled(hit: Hit, text: String, now: Timestamp) -> RecalledMemory {
    RecalledMemory {
        kind: hit.kind,
        id: hit.id,
        text,
        source: hit.source,
        tags: hit.tags,
        age_days: (hit.created > 0).then(|| (now.as_second() - hit.created).max(0) / 86_400),
        unverified: true,
        score: hit.score,
    }
}
