//! Evaluation of the index: recall on a labelled file.
//!
//! A file is JSONL: `{"doc": ID, "text": …, "thread": …, "tags": []}` for documents, and
//! `{"query": TEXT, "relevant": [ID, …]}` for queries; both may name a `"set"`, and each set has an index of its own.
//! Consecutive documents of one `thread` are neighbours. The recall of a query is the share of its relevant documents
//! among the first k; the figure is the mean over all queries with relevant documents.

mod convert;

pub use convert::{EvalError, FORMATS, read};

use crate::embed::{self, Embedder};
use crate::index::{Document, Index, Kind, Search, neighbours};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Default, Deserialize)]
pub struct EvalDocument {
    pub doc: String,
    pub text: String,
    #[serde(default)]
    pub set: String,
    #[serde(default)]
    pub thread: String,
    #[serde(default)]
    pub tags: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Question {
    pub query: String,
    pub relevant: Vec<String>,
    #[serde(default)]
    pub set: String,
}

/// A labelled file.
#[derive(Debug, Clone, Default)]
pub struct EvalDataset {
    pub documents: Vec<EvalDocument>,
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    pub documents: usize,
    pub questions: usize,
    /// Questions without relevant documents, which are left out.
    pub without_answer: usize,
    /// Mean recall, by k.
    pub recall: BTreeMap<usize, f64>,
    /// Within the largest k.
    pub mean_reciprocal_rank: f64,
    /// Median time of a query, in microseconds.
    pub p50_us: f64,
}

/// Indexes all documents below a directory, runs all queries, and computes the figures.
pub fn score(
    labelled: &EvalDataset,
    ks: &[usize],
    directory: &Path,
    embedder: Option<&dyn Embedder>,
) -> rusqlite::Result<Figures> {
    let most = ks.iter().copied().max().unwrap_or(10);
    let mut sets: BTreeMap<&str, (Vec<&EvalDocument>, Vec<&Question>)> = BTreeMap::new();
    for document in &labelled.documents {
        sets.entry(&document.set).or_default().0.push(document);
    }
    for question in &labelled.questions {
        sets.entry(&question.set).or_default().1.push(question);
    }
    let mut totals: BTreeMap<usize, f64> = ks.iter().map(|k| (*k, 0.0)).collect();
    let (mut asked, mut without, mut reciprocal) = (0_u32, 0, 0.0);
    let mut times: Vec<Duration> = Vec::new();
    for (number, (documents, questions)) in sets.values().enumerate() {
        let mut index = Index::open(&directory.join(format!("{number}.sqlite")))?;
        let filled = fill(documents);
        index.put(Kind::Turn, &filled)?;
        if let Some(embedder) = embedder {
            embed::refresh(&mut index, embedder)?;
        }
        for question in questions {
            if question.relevant.is_empty() {
                without += 1;
                continue;
            }
            let started = Instant::now();
            let search = Search { text: &question.query, limit: most, ..Search::default() };
            let hits = match embedder {
                Some(embedder) => embed::search(&index, &search, embedder),
                None => index.search(&search),
            };
            let hits = hits?;
            times.push(started.elapsed());
            asked += 1;
            let places: Vec<usize> = hits
                .iter()
                .enumerate()
                .filter(|(_, hit)| question.relevant.contains(&hit.id))
                .map(|(place, _)| place)
                .collect();
            reciprocal += places.first().map_or(0.0, |place| 1.0 / (ratio(*place, 1) + 1.0));
            for (k, total) in &mut totals {
                *total += ratio(places.iter().filter(|place| *place < k).count(), question.relevant.len());
            }
        }
    }
    times.sort();
    let mean = |sum: f64| if asked == 0 { 0.0 } else { sum / f64::from(asked) };
    Ok(Figures {
        documents: labelled.documents.len(),
        questions: labelled.questions.len(),
        without_answer: without,
        recall: totals.into_iter().map(|(k, total)| (k, mean(total))).collect(),
        mean_reciprocal_rank: mean(reciprocal),
        p50_us: times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6),
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of a file")]
fn ratio(one: usize, two: usize) -> f64 {
    one as f64 / two.max(1) as f64
}

/// Documents with their neighbours of the same thread.
fn fill(documents: &[&EvalDocument]) -> Vec<Document> {
    let mut threads: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, document) in documents.iter().enumerate().filter(|(_, document)| !document.thread.is_empty()) {
        threads.entry(&document.thread).or_default().push(at);
    }
    let mut near: BTreeMap<usize, (String, String)> = BTreeMap::new();
    for places in threads.values() {
        let texts: Vec<&str> = places
            .iter()
            .filter_map(|at| documents.get(*at))
            .map(|document| document.text.as_str())
            .collect();
        near.extend(places.iter().enumerate().map(|(place, at)| (*at, neighbours(&texts, place))));
    }
    let filled = documents.iter().enumerate().map(|(at, document)| {
        let (before, after) = near.remove(&at).unwrap_or_default();
        let (id, text, tags) = (document.doc.clone(), document.text.clone(), document.tags.clone());
        Document { id, text, before, after, tags, ..Document::default() }
    });
    filled.collect()
}

#[cfg(test)]
mod tests;
