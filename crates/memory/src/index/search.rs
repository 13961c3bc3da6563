//! Queries to the index.

use super::{Index, Kind, filter};
use crate::words;
use rusqlite::params;

/// The factor of rows that are read beyond the limit, because tags and age change their order.
const SPARE: usize = 3;
/// Weights of a shared tag, the same component, the same failure and a recent date, as parts of the rank.
const TAG_WEIGHT: f64 = 0.10;
const COMPONENT_WEIGHT: f64 = 0.15;
const FAILURE_WEIGHT: f64 = 0.25;
const RECENT_WEIGHT: f64 = 0.05;
/// The weight of query words that are in the text itself, not only in its neighbours.
const COVERAGE_WEIGHT: f64 = 0.5;
/// The coverage of longer texts is not computed.
const MAX_COVERAGE_BYTES: usize = 4_096;
/// The time in which the weight of a recent date halves.
const HALF_LIFE_SECONDS: f64 = 30.0 * 86_400.0;

/// A query to the index.
#[derive(Debug, Clone, Default)]
pub struct Search<'a> {
    /// Any text.
    pub text: &'a str,
    /// Only these kinds; empty: all.
    pub kinds: &'a [Kind],
    /// Only these sources; empty: all.
    pub sources: &'a [&'a str],
    /// Only documents of this scope or of none; `None`: all.
    pub scope: Option<&'a str>,
    /// Only documents of this component.
    pub within: Option<&'a str>,
    /// Only documents of this failure.
    pub failure: Option<&'a str>,
    /// Tags, component and failure that raise the score of documents that share them.
    pub tags: &'a [String],
    pub component: Option<&'a str>,
    pub like: Option<&'a str>,
    /// Seconds since 1970; 0: age has no weight.
    pub now: i64,
    pub limit: usize,
}

/// A document that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub kind: Kind,
    pub id: String,
    pub text: String,
    pub scope: String,
    pub source: String,
    pub component: String,
    pub failure: String,
    pub tags: Vec<String>,
    pub created: i64,
    pub place: String,
    pub score: f64,
    pub(crate) row: i64,
}

const COLUMNS: &str =
    "d.kind, d.id, d.scope, d.source, d.component, d.failure, d.tags, d.created, d.place, d.row";

fn hit(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Hit>> {
    let Some(kind) = Kind::find(row.get_ref(0)?.as_str().unwrap_or_default()) else { return Ok(None) };
    let tags: String = row.get(6)?;
    Ok(Some(Hit {
        kind,
        id: row.get(1)?,
        scope: row.get(2)?,
        source: row.get(3)?,
        component: row.get(4)?,
        failure: row.get(5)?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
        created: row.get(7)?,
        place: row.get(8)?,
        row: row.get(9)?,
        text: row.get(10)?,
        score: -row.get::<_, f64>(11)?,
    }))
}

impl Index {
    /// The documents that match a query, best first; the newest, where the query has no words.
    ///
    /// # Errors
    /// When the index does not work; any text is a valid query.
    pub fn search(&self, search: &Search<'_>) -> rusqlite::Result<Vec<Hit>> {
        if search.limit == 0 {
            return Ok(Vec::new());
        }
        let expression = words::any_of(search.text);
        let wanted = search.limit.saturating_mul(SPARE).saturating_add(4).min(10_000);
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let mut hits = match &expression {
            Some(words) => {
                let expression = search.expression(words);
                let mut query = self.connection.prepare_cached(&format!(
                    "SELECT {COLUMNS}, f.text, f.rank FROM
                       (SELECT rowid, text, rank FROM terms WHERE terms MATCH ?1 ORDER BY rank LIMIT ?2) f
                     JOIN docs d ON d.row = f.rowid ORDER BY f.rank, d.row"
                ))?;
                let rows = query.query_map(params![expression, wanted], hit)?;
                rows.filter_map(Result::transpose).collect::<rusqlite::Result<Vec<Hit>>>()?
            }
            None => self.newest(search, wanted)?,
        };
        hits.retain(|hit| search.admits(hit));
        if expression.is_some() {
            let asked: Vec<String> = words::terms(search.text).iter().map(|term| words::root(term)).collect();
            for hit in &mut hits {
                // Long texts contain the words themselves, because their neighbours are not indexed.
                let is_long = hit.text.len() > MAX_COVERAGE_BYTES;
                let coverage = if is_long { 1.0 } else { words::covered(&asked, &hit.text) };
                hit.score *= search.weight(hit) * (1.0 + COVERAGE_WEIGHT * coverage);
            }
            hits.sort_by(|one, two| two.score.total_cmp(&one.score));
        }
        hits.truncate(search.limit);
        Ok(hits)
    }

    fn newest(&self, search: &Search<'_>, wanted: i64) -> rusqlite::Result<Vec<Hit>> {
        let filters = search.filters();
        if filters.is_empty() {
            let mut query = self.connection.prepare_cached(&format!(
                "SELECT {COLUMNS}, t.text, 0.0 FROM docs d JOIN terms t ON t.rowid = d.row
                 ORDER BY d.created DESC, d.row DESC LIMIT ?1"
            ))?;
            let rows = query.query_map(params![wanted], hit)?;
            return rows.filter_map(Result::transpose).collect();
        }
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS}, t.text, 0.0 FROM terms t JOIN docs d ON d.row = t.rowid WHERE t.terms MATCH ?1
             ORDER BY d.created DESC, d.row DESC LIMIT ?2"
        ))?;
        let rows = query.query_map(params![filters.join(" AND "), wanted], hit)?;
        rows.filter_map(Result::transpose).collect()
    }

    pub(crate) fn by_row(&self, row: i64) -> rusqlite::Result<Option<Hit>> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS}, t.text, 0.0 FROM docs d JOIN terms t ON t.rowid = d.row WHERE d.row = ?1"
        ))?;
        let mut rows = query.query_map(params![row], hit)?;
        Ok(rows.next().transpose()?.flatten())
    }

    /// The document of a kind and id.
    pub fn get(&self, kind: Kind, id: &str) -> rusqlite::Result<Option<Hit>> {
        let mut query = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS}, t.text, 0.0 FROM docs d JOIN terms t ON t.rowid = d.row WHERE d.kind = ?1 AND d.id = ?2"
        ))?;
        let mut rows = query.query_map(params![kind.word(), id], hit)?;
        Ok(rows.next().transpose()?.flatten())
    }
}

impl Search<'_> {
    fn expression(&self, words: &str) -> String {
        let mut parts = vec![format!("{{text parts before after tags}} : ({words})")];
        parts.extend(self.filters());
        parts.join(" AND ")
    }

    /// The terms of the filter column that every hit must have.
    fn filters(&self) -> Vec<String> {
        let one_of = |letter: char, values: Vec<&str>| {
            let terms: Vec<String> =
                values.iter().map(|value| words::quoted(&filter(letter, value))).collect();
            (!terms.is_empty()).then(|| format!("filters : ({})", terms.join(" OR ")))
        };
        [
            one_of('k', self.kinds.iter().map(|kind| kind.word()).collect()),
            one_of('o', self.scope.map(|scope| vec!["", scope]).unwrap_or_default()),
            one_of('s', self.sources.to_vec()),
            one_of('c', self.within.into_iter().collect()),
            one_of('f', self.failure.into_iter().collect()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether a hit really passes the filters.
    pub(crate) fn admits(&self, hit: &Hit) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&hit.kind))
            && (self.sources.is_empty() || self.sources.contains(&hit.source.as_str()))
            && self.scope.is_none_or(|scope| hit.scope.is_empty() || hit.scope == scope)
            && self.within.is_none_or(|component| hit.component == component)
            && self.failure.is_none_or(|failure| hit.failure == failure)
    }

    fn weight(&self, hit: &Hit) -> f64 {
        let shared =
            self.tags.iter().filter(|tag| hit.tags.iter().any(|own| own.eq_ignore_ascii_case(tag))).count();
        let same =
            |wanted: Option<&str>, own: &str| wanted.is_some_and(|wanted| wanted == own && !own.is_empty());
        let mut weight = 1.0 + TAG_WEIGHT * f64::from(u32::try_from(shared.min(5)).unwrap_or(0));
        if same(self.component, &hit.component) {
            weight += COMPONENT_WEIGHT;
        }
        if same(self.like, &hit.failure) {
            weight += FAILURE_WEIGHT;
        }
        if self.now > 0 && hit.created > 0 {
            // A clock that was set back must not raise the weight.
            #[expect(clippy::cast_precision_loss, reason = "seconds of a few centuries")]
            let age = (self.now - hit.created).max(0) as f64;
            weight += RECENT_WEIGHT / (1.0 + age / HALF_LIFE_SECONDS);
        }
        weight
    }
}
