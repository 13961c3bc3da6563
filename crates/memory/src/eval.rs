//! How well the index finds what it should: recall on a labelled file.
//!
//! A file is JSONL: `{"doc": ID, "text": …, "thread": …, "tags": []}` for what can be found, and
//! `{"query": TEXT, "relevant": [ID, …]}` for what is looked for; both may name a `"set"`, and each set has an index of its own.
//! Documents of one `thread` that follow one another are neighbours. The recall of a question is the share of what is
//! relevant among the first k; the figure is its mean over all questions that have something relevant.

mod convert;

pub use convert::{FORMATS, read};

use crate::embed::{self, Embedder};
use crate::index::{Document, Index, Kind, Search, neighbours};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Something that can be found.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct EvalDocument {
    /// Its id.
    pub doc: String,
    /// What it says.
    pub text: String,
    /// The index that it is put into.
    #[serde(default)]
    pub set: String,
    /// What it follows in.
    #[serde(default)]
    pub thread: String,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// Something that is looked for.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Question {
    /// The words.
    pub query: String,
    /// What should be found.
    pub relevant: Vec<String>,
    /// The index that is asked.
    #[serde(default)]
    pub set: String,
}

/// A labelled file.
#[derive(Debug, Clone, Default)]
pub struct EvalDataset {
    /// What can be found.
    pub documents: Vec<EvalDocument>,
    /// What is looked for.
    pub questions: Vec<Question>,
}

/// The figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Documents that were indexed.
    pub documents: usize,
    /// Questions that were asked.
    pub questions: usize,
    /// Questions without anything relevant; they do not count.
    pub without_answer: usize,
    /// Mean recall, by how many are looked at.
    pub recall: BTreeMap<usize, f64>,
    /// The mean of one over the place of the first that is relevant, within the largest k.
    pub mean_reciprocal_rank: f64,
    /// Median time of a question, in microseconds.
    pub p50_us: f64,
}

/// Puts everything into indexes in a directory, asks everything, and counts.
///
/// # Errors
/// When no index can be made, or an embedder fails.
pub fn score(
    labelled: &EvalDataset,
    ks: &[usize],
    directory: &Path,
    embedder: Option<&dyn Embedder>,
) -> Result<Figures, String> {
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
        let mut index =
            Index::open(&directory.join(format!("{number}.sqlite"))).map_err(|error| error.to_string())?;
        let filled = fill(documents);
        index.put(Kind::Turn, &filled).map_err(|error| error.to_string())?;
        if let Some(embedder) = embedder {
            embed::refresh(&mut index, embedder).map_err(|error| error.to_string())?;
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
            let hits = hits.map_err(|error| error.to_string())?;
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

/// Documents as the index takes them: with their neighbours in the same thread.
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
