//! The card pool: facts of the cards that the engine knows, shipped in the binary or imported.
//!
//! A pool is a file of JSON lines, compressed with gzip; each line is one [`CardFacts`]. Abilities
//! are compiled when a card is asked for, so that loading costs only the reading.

use super::compile::compile;
use super::facts::{CardFacts, fold_name};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::LazyLock;
use thiserror::Error;

/// The largest facts file that is read, uncompressed.
const MAX_POOL_BYTES: u64 = 256 << 20;
/// How many names are proposed for one that no card has.
const MAX_SUGGESTIONS: usize = 3;
/// How alike two names must be for one to be proposed for the other.
const MIN_SIMILARITY: f64 = 0.75;
/// Bytes of a name that is compared with others: comparing takes the square of the length.
const MAX_NAME_BYTES: usize = 200;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, Error)]
pub enum PoolError {
    #[error("cannot read the card pool: {0}")]
    Read(#[source] io::Error),
    #[error("cannot read the card pool: it is larger than {MAX_POOL_BYTES} bytes")]
    TooLarge,
    #[error("cannot read line {line} of the card pool: {source}")]
    Line { line: usize, source: serde_json::Error },
    #[error("cannot write the card pool: {0}")]
    Write(#[source] io::Error),
    #[error("cannot write the card pool: {0}")]
    Encode(#[source] serde_json::Error),
}

/// Cards by name, in the order of their names.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    cards: BTreeMap<String, CardFacts>,
}

static SHIPPED: LazyLock<Result<Pool, PoolError>> =
    LazyLock::new(|| Pool::read(include_bytes!("../../data/pool.jsonl.gz")));

static EXCLUDED_SETS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let lines = include_str!("../../data/excluded_sets.txt").lines();
    lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
});

/// Whether a set for games on paper with tournament rules prints the card. Arena's rebalanced cards
/// have a name of their own.
fn is_for_tournaments(facts: &CardFacts) -> bool {
    !facts.name.starts_with("A-")
        && (facts.printings.is_empty() || facts.set_codes().any(|code| !EXCLUDED_SETS.contains(code)))
}

impl Pool {
    /// The pool that is part of the program.
    pub fn shipped() -> Result<&'static Self, &'static PoolError> {
        SHIPPED.as_ref()
    }

    /// Reads JSON lines, compressed or not.
    pub fn read(bytes: &[u8]) -> Result<Self, PoolError> {
        let mut text = String::new();
        let limit = MAX_POOL_BYTES + 1;
        let read = if bytes.starts_with(&GZIP_MAGIC) {
            GzDecoder::new(bytes).take(limit).read_to_string(&mut text)
        } else {
            bytes.take(limit).read_to_string(&mut text)
        };
        read.map_err(PoolError::Read)?;
        if u64::try_from(text.len()).is_ok_and(|length| length > MAX_POOL_BYTES) {
            return Err(PoolError::TooLarge);
        }
        let mut pool = Self::default();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let facts =
                serde_json::from_str(line).map_err(|source| PoolError::Line { line: index + 1, source })?;
            pool.insert(facts);
        }
        Ok(pool)
    }

    /// The file of the pool; the same cards give the same bytes.
    pub fn write(&self) -> Result<Vec<u8>, PoolError> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        for facts in self.cards.values() {
            let mut line = serde_json::to_vec(facts).map_err(PoolError::Encode)?;
            line.push(b'\n');
            encoder.write_all(&line).map_err(PoolError::Write)?;
        }
        encoder.finish().map_err(PoolError::Write)
    }

    /// The cards that a program ships: those with these names, and those that are supported and
    /// printed for games on paper with tournament rules, all without reminder text.
    #[must_use]
    pub fn select_supported(&self, names: &BTreeSet<&str>) -> Self {
        let mut selected = Self::default();
        for facts in self.iter() {
            if names.contains(facts.name.as_str()) || (is_for_tournaments(facts) && compile(facts).is_ok()) {
                selected.insert(facts.without_reminders());
            }
        }
        selected
    }

    /// Adds a card; one of the same name is replaced.
    pub fn insert(&mut self, facts: CardFacts) {
        self.cards.insert(fold_name(&facts.name), facts);
    }

    #[must_use]
    pub fn find(&self, name: &str) -> Option<&CardFacts> {
        self.cards.get(&fold_name(name))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.cards.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cards.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &CardFacts> {
        self.cards.values()
    }

    /// The names most like one that no card has.
    #[must_use]
    pub fn suggest(&self, name: &str) -> Vec<&str> {
        let folded = fold_name(name);
        if folded.len() > MAX_NAME_BYTES {
            return Vec::new();
        }
        let mut ranked: Vec<(f64, &str)> = self
            .cards
            .iter()
            .map(|(key, facts)| (strsim::jaro_winkler(key, &folded), facts.name.as_str()))
            .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
            .collect();
        ranked.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
        ranked.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
    }
}
