//! Search by embeddings: an embedder maps texts to vectors, and similar texts have near vectors.
//!
//! It is off unless a person names a model. Its hits are merged with those of the word search.
//!
//! Limits: vectors are compared one by one, which is fast enough for tens of thousands of documents.

mod bert;
mod error;
mod matrix;
mod tensors;
mod wordpiece;

pub use bert::Bert;
pub use error::ModelError;

use crate::index::{Hit, Index, Search};
use rusqlite::params;
use std::collections::BTreeMap;

/// The weight of the embedding; the words have the rest.
const EMBEDDING_WEIGHT: f64 = 0.7;
/// Hits of either search that are merged.
const MERGED_HITS: usize = 100;
/// Documents that are embedded in one transaction.
const BATCH: usize = 64;

/// Maps texts to vectors of length 1.
pub trait Embedder: std::fmt::Debug {
    /// Vectors of embedders with different names are not comparable.
    fn name(&self) -> &str;

    /// The length of its vectors.
    fn dimensions(&self) -> usize;

    fn embed(&self, text: &str) -> Vec<f32>;
}

/// The key of the index's note with the name of the embedder.
const NOTE: &str = "embedder";

/// Embeds every document without a vector. Vectors of another model are deleted.
pub fn refresh(index: &mut Index, embedder: &dyn Embedder) -> rusqlite::Result<usize> {
    if index.note(NOTE)?.as_deref() != Some(embedder.name()) {
        index.forget_vectors(NOTE, embedder.name())?;
    }
    let mut made = 0;
    loop {
        let waiting = index.without_vector(BATCH)?;
        if waiting.is_empty() {
            return Ok(made);
        }
        let vectors: Vec<(i64, Vec<u8>)> =
            waiting.iter().map(|(row, text)| (*row, bytes(&embedder.embed(text)))).collect();
        made += vectors.len();
        index.put_vectors(&vectors)?;
    }
}

/// The documents that match a query best by words and by embedding.
pub fn search(index: &Index, search: &Search<'_>, embedder: &dyn Embedder) -> rusqlite::Result<Vec<Hit>> {
    let by_words = index.search(&Search { limit: MERGED_HITS.max(search.limit), ..search.clone() })?;
    let question = embedder.embed(search.text);
    let best = by_words.iter().map(|hit| hit.score).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut joined: BTreeMap<i64, f64> = by_words
        .iter()
        .map(|hit| (hit.row, (1.0 - EMBEDDING_WEIGHT) * (hit.score / best).max(0.0)))
        .collect();
    let mut near: Vec<(f64, i64)> = Vec::new();
    index.each_vector(|row, vector| {
        let similar = cosine(&question, vector);
        if let Some(score) = joined.get_mut(&row) {
            *score += EMBEDDING_WEIGHT * similar;
        } else {
            near.push((similar, row));
        }
    })?;
    near.sort_by(|one, two| two.0.total_cmp(&one.0));
    joined.extend(near.into_iter().take(MERGED_HITS).map(|(similar, row)| (row, EMBEDDING_WEIGHT * similar)));
    let mut order: Vec<(f64, i64)> = joined.into_iter().map(|(row, score)| (score, row)).collect();
    order.sort_by(|one, two| two.0.total_cmp(&one.0));
    let mut known: BTreeMap<i64, Hit> = by_words.into_iter().map(|hit| (hit.row, hit)).collect();
    let mut hits = Vec::new();
    for (score, row) in order {
        if hits.len() == search.limit {
            break;
        }
        let hit = match known.remove(&row) {
            Some(hit) => Some(hit),
            None => index.by_row(row)?.filter(|hit| search.admits(hit)),
        };
        hits.extend(hit.map(|hit| Hit { score, ..hit }));
    }
    Ok(hits)
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The cosine similarity of a vector and a stored one; 0 where their lengths differ.
fn cosine(one: &[f32], stored: &[u8]) -> f64 {
    if stored.len() != one.len() * 4 {
        return 0.0;
    }
    let numbers = stored.chunks_exact(4).map(|four| match four {
        [a, b, c, d] => f32::from_le_bytes([*a, *b, *c, *d]),
        _ => 0.0,
    });
    let sum: f32 = one.iter().zip(numbers).map(|(one, two)| one * two).sum();
    if sum.is_finite() { f64::from(sum) } else { 0.0 }
}

impl Index {
    fn forget_vectors(&mut self, note: &str, name: &str) -> rusqlite::Result<()> {
        self.connection().execute("DELETE FROM vectors", [])?;
        self.connection().execute("INSERT OR REPLACE INTO notes(key, value) VALUES(?1, ?2)", [note, name])?;
        Ok(())
    }

    fn without_vector(&self, most: usize) -> rusqlite::Result<Vec<(i64, String)>> {
        let mut query = self.connection().prepare_cached(
            "SELECT d.row, t.text FROM docs d JOIN terms t ON t.rowid = d.row
             WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.row = d.row) ORDER BY d.row LIMIT ?1",
        )?;
        query
            .query_map(params![i64::try_from(most).unwrap_or(i64::MAX)], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect()
    }

    fn put_vectors(&mut self, vectors: &[(i64, Vec<u8>)]) -> rusqlite::Result<()> {
        let change = self.connection().unchecked_transaction()?;
        {
            let mut put =
                change.prepare_cached("INSERT OR REPLACE INTO vectors(row, vector) VALUES(?1, ?2)")?;
            for (row, vector) in vectors {
                put.execute(params![row, vector])?;
            }
        }
        change.commit()
    }

    fn each_vector(&self, mut take: impl FnMut(i64, &[u8])) -> rusqlite::Result<()> {
        let mut query = self.connection().prepare_cached("SELECT row, vector FROM vectors")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            if let Ok(vector) = row.get_ref(1)?.as_blob() {
                take(row.get(0)?, vector);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
