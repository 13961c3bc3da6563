//! Queries over long-term memory, short-term memory, lessons, lessons of packs and artifacts.
//!
//! Long-term memories are read from the sealed file, never from the index: a changed index can hide a memory, but cannot
//! add one without an approval.

use super::{Memory, decide};
use crate::embed;
use crate::error::MemoryError;
use crate::index::{self, Document, Hit, Index, Kind, Search, neighbours};
use crate::lines;
use crate::stm::{Stm, StmEntry};
use crate::vault::{self, Trust};
use jiff::Timestamp;
use marvin_base::clock;
use serde::Serialize;

/// Keys of the index's notes about the state of its sources.
const LTM: &str = "ltm";
const STM: &str = "stm";
const OFFERED: &str = "offered:";

/// A query.
#[derive(Debug, Clone, Default)]
pub struct Recall<'a> {
    /// Any text.
    pub text: &'a str,
    /// Only these kinds; empty: all.
    pub kinds: &'a [Kind],
    /// Only these sources; empty: all.
    pub sources: &'a [&'a str],
    /// Only documents of this scope or of none.
    pub scope: Option<&'a str>,
    /// Tags, component and failure raise the score of documents that share them.
    pub tags: &'a [String],
    pub component: Option<&'a str>,
    pub failure: Option<&'a str>,
    pub limit: usize,
}

/// An answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecalledMemory {
    pub kind: Kind,
    pub id: String,
    pub text: String,
    pub source: String,
    pub tags: Vec<String>,
    /// `None` where the age is not known.
    pub age_days: Option<i64>,
    /// Always true: a memory is a claim, not a fact.
    pub unverified: bool,
    pub score: f64,
}

impl Memory {
    /// The answers to a query, best first.
    ///
    /// # Errors
    /// When the record cannot be read or no index can be made; any text is a valid query.
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
        let mut slot = self.index.take();
        let result = index::with_index(&mut slot, &self.vault.places.index, |index| work(self, index));
        self.index = slot;
        result
    }

    /// The note about the state that the index was built from: the head of the ledger and the file's stamp.
    fn ltm_note(head: &str, ltm: &str) -> String {
        format!("{head} {ltm}")
    }

    fn sync_ltm(&self, index: &mut Index) -> Result<(), MemoryError> {
        let failed = |error: rusqlite::Error| MemoryError::index(&self.vault.places.index, &error);
        let trust = self.vault.trust()?;
        let note = match &trust {
            Trust::Whole(seal) => Memory::ltm_note(&seal.head, seal.ltm.as_deref().unwrap_or_default()),
            Trust::Scanned(scan) => Memory::ltm_note(&scan.head, &vault::stamp(&self.vault.places.ltm)?),
        };
        if index.note(LTM).map_err(failed)?.as_ref() == Some(&note) {
            return Ok(());
        }
        let scan = match trust {
            Trust::Scanned(scan) => *scan,
            Trust::Whole(_) => self.vault.audit()?,
        };
        index.clear(Kind::Ltm, LTM).map_err(failed)?;
        let active = scan.entries.iter().filter(|(_, entry)| scan.standing.is_active(&entry.id));
        let documents: Vec<Document> =
            active.map(|(offset, entry)| decide::document(entry, *offset)).collect();
        index.change(Kind::Ltm, &documents, &[], &[(LTM.into(), Some(note))]).map_err(failed)
    }

    /// Applies our own change to the index. An index that was stale before is rebuilt by the next query.
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
            // Erased content must not stay in the index until the next query.
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
        let texts: Vec<String> = entries.iter().map(StmEntry::searchable_text).collect();
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

    /// Indexes documents of other owners (lessons of packs, artifacts), unless those of this `stamp` are indexed.
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

    /// Queries the index; `None` when it does not match the memory.
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
            // Some may have expired.
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
