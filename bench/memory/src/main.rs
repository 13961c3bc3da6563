//! Queries and inserts of the memory index against a bare FTS5 table with the same texts, the same
//! tokenizer and the same settings of SQLite, in one process. Prints JSON. With `store DIRECTORY N`
//! it writes a memory of N entries instead, ready to be adopted.

use anyhow::bail;
use marvin_memory::candidate::{Candidate, Source, Type};
use marvin_memory::decision::{Line, Word};
use marvin_memory::index::{Document, Index, Kind, Search};
use marvin_memory::vault::Entry;
use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

const ENTRIES: usize = 100_000;
const BATCH_ENTRIES: usize = 1_000;
const SINGLE_INSERTS: usize = 2_000;
const QUERIES: usize = 300;
const TARGET_QUERY_RATIO: f64 = 2.0;
const TARGET_INSERT_RATIO: f64 = 1.5;

#[derive(Serialize)]
struct Report {
    what: &'static str,
    entries: usize,
    question_p50: Comparison,
    question_with_filters_p50: Comparison,
    insert_bulk: Comparison,
    insert_single_p50: Comparison,
    ok: bool,
}

/// Microseconds of the bare table and of the memory index.
#[derive(Serialize)]
struct Comparison {
    bare_us: f64,
    own_us: f64,
    ratio: f64,
    target_ratio: f64,
    ok: bool,
}

impl Comparison {
    fn new(bare: f64, own: f64, target_ratio: f64) -> Self {
        let ratio = own / bare;
        Comparison {
            bare_us: round(bare),
            own_us: round(own),
            ratio: round(ratio),
            target_ratio,
            ok: ratio <= target_ratio,
        }
    }
}

/// SplitMix64: the same texts in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A word; small numbers are common, as in language.
    fn word(&mut self) -> String {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let number = (20_000.0_f64.powf(share)) as u64;
        let syllables = ["ka", "lo", "mi", "ran", "tes", "vu", "pol", "dri", "shan", "eth"];
        let mut word = String::new();
        let mut rest = number + 10;
        while rest > 0 {
            word.push_str(syllables.get((rest % 10) as usize).unwrap_or(&"x"));
            rest /= 10;
        }
        word
    }

    fn text(&mut self, words: u64) -> String {
        let count = words + self.next() % words;
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn round(figure: f64) -> f64 {
    (figure * 1000.0).round() / 1000.0
}

fn bare(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE VIRTUAL TABLE bare USING fts5(text, tokenize = 'porter unicode61 remove_diacritics 2');",
    )?;
    Ok(connection)
}

fn insert_bare(connection: &mut Connection, texts: &[String]) -> rusqlite::Result<()> {
    let change = connection.transaction()?;
    {
        let mut insert = change.prepare_cached("INSERT INTO bare(text) VALUES(?1)")?;
        for text in texts {
            insert.execute(params![text])?;
        }
    }
    change.commit()
}

fn documents(texts: &[String], from: usize) -> Vec<Document> {
    let made = texts.iter().enumerate().map(|(at, text)| Document {
        id: format!("{:016x}", from + at),
        text: text.clone(),
        source: "user_said".into(),
        created: 1_700_000_000 + (from + at) as i64,
        ..Document::default()
    });
    made.collect()
}

fn measure() -> anyhow::Result<Report> {
    let directory = tempfile::tempdir()?;
    let mut random = Random(7);
    let texts: Vec<String> = (0..ENTRIES).map(|_| random.text(12)).collect();
    let mut connection = bare(&directory.path().join("bare.sqlite"))?;
    let mut index = Index::open(&directory.path().join("index.sqlite"))?;
    let (mut bulk_bare, mut bulk_own) = (0.0, 0.0);
    // They take turns, so that other work of the machine disturbs both.
    for (number, batch) in texts.chunks(BATCH_ENTRIES).enumerate() {
        let started = Instant::now();
        insert_bare(&mut connection, batch)?;
        bulk_bare += started.elapsed().as_secs_f64();
        let made = documents(batch, number * BATCH_ENTRIES);
        let started = Instant::now();
        index.put(Kind::Ltm, &made)?;
        bulk_own += started.elapsed().as_secs_f64();
    }
    let (mut single_bare, mut single_own) = (Vec::new(), Vec::new());
    for number in 0..SINGLE_INSERTS {
        let text = [random.text(12)];
        let started = Instant::now();
        insert_bare(&mut connection, &text)?;
        single_bare.push(started.elapsed().as_secs_f64() * 1e6);
        let made = documents(&text, ENTRIES + number);
        let started = Instant::now();
        index.put(Kind::Ltm, &made)?;
        single_own.push(started.elapsed().as_secs_f64() * 1e6);
    }
    let (mut asked_bare, mut asked_own, mut filtered) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..QUERIES {
        let words: Vec<String> = (0..5).map(|_| random.word()).collect();
        let pattern = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
        let started = Instant::now();
        let mut query = connection.prepare_cached(
            "SELECT rowid, text, rank FROM bare WHERE bare MATCH ?1 ORDER BY rank LIMIT 10",
        )?;
        let found: Vec<(i64, String)> =
            query.query_map([&pattern], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        asked_bare.push(started.elapsed().as_secs_f64() * 1e6);
        let text = words.join(" ");
        let search = Search { text: &text, limit: 10, now: 1_800_000_000, ..Search::default() };
        let started = Instant::now();
        let own = index.search(&search)?;
        asked_own.push(started.elapsed().as_secs_f64() * 1e6);
        let search = Search { kinds: &[Kind::Ltm], sources: &["user_said"], ..search };
        let started = Instant::now();
        let narrow = index.search(&search)?;
        filtered.push(started.elapsed().as_secs_f64() * 1e6);
        if found.is_empty() != own.is_empty() || own.len() != narrow.len() {
            bail!("the index and the bare table do not find the same");
        }
    }
    let each = 1e6 / ENTRIES as f64;
    let query = Comparison::new(median(asked_bare.clone()), median(asked_own), TARGET_QUERY_RATIO);
    let filtered = Comparison::new(median(asked_bare), median(filtered), TARGET_QUERY_RATIO);
    let bulk = Comparison::new(bulk_bare * each, bulk_own * each, TARGET_INSERT_RATIO);
    let single = Comparison::new(median(single_bare), median(single_own), TARGET_INSERT_RATIO);
    Ok(Report {
        what: "the memory index against a bare FTS5 table",
        entries: ENTRIES,
        ok: query.ok && filtered.ok && bulk.ok && single.ok,
        question_p50: query,
        question_with_filters_p50: filtered,
        insert_bulk: bulk,
        insert_single_p50: single,
    })
}

/// Writes a memory with this number of entries.
fn store(directory: &Path, entries: usize) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut random = Random(7);
    let (mut ledger, mut memory) = (String::new(), String::new());
    for number in 0..entries {
        let text = format!("{} {number}", random.text(12));
        let candidate = Candidate::new(text, Type::Fact, Source::UserSaid, "measured");
        let id = candidate.fingerprint();
        writeln!(ledger, "{}", serde_json::to_string(&Line::new(Word::Approve, &id, "bench"))?)?;
        let stored_at_utc = "2026-01-01T00:00:00Z".to_string();
        let entry = Entry { id, stored_at_utc, candidate, extra: Value::Object(Map::new()) };
        writeln!(memory, "{}", serde_json::to_string(&entry)?)?;
    }
    std::fs::write(directory.join("memory_approvals.jsonl"), ledger)?;
    std::fs::write(directory.join("ltm.jsonl"), memory)?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the figures are its output")]
fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [] => println!("{}", serde_json::to_string_pretty(&measure()?)?),
        [command, directory, entries] if command == "store" => {
            store(Path::new(directory), entries.parse()?)?;
        }
        _ => bail!("usage: marvin-bench-memory [store DIRECTORY N]"),
    }
    Ok(())
}
