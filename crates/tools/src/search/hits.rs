//! Matches: as one file gives them, and as they are put together.

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use marvin_base::redact::{Redactor, Scope};
use marvin_base::truncate;
use tokio_util::sync::CancellationToken;

/// Characters of one line that are shown.
const LINE: usize = 500;
/// Bytes of one line that are looked at for it, so that a secret at the cut is seen whole.
const LOOKED_AT: usize = 16 * 1024;

/// Files that were not searched.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// They could not be read.
    pub(super) unreadable: usize,
    /// They are too large.
    pub(super) too_large: usize,
    /// They hold secrets.
    pub(super) secret: usize,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.unreadable += other.unreadable;
        self.too_large += other.too_large;
        self.secret += other.secret;
    }
}

/// What a line of the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The first match of a file.
    First,
    /// Another match.
    Match,
    /// A line before a match.
    Before,
    /// A line after a match.
    After,
    /// Between two places.
    Break,
}

/// A line of the output, and the same for the record: redacted, then cut.
#[derive(Debug)]
struct Hit {
    kind: Kind,
    line: String,
    record: String,
}

/// What some files gave, in their order.
#[derive(Debug, Default)]
pub(super) struct Hits {
    hits: Vec<Hit>,
    matches: usize,
    bytes: usize,
    pub(super) counts: Counts,
}

/// Takes what the searcher finds in one file.
pub(super) struct Collector<'a> {
    pub(super) into: &'a mut Hits,
    pub(super) path: &'a str,
    pub(super) most: usize,
    pub(super) limit: usize,
    pub(super) redactor: &'a Redactor,
    pub(super) cancel: &'a CancellationToken,
    pub(super) first: bool,
}

impl Hits {
    /// Nothing yet, but for what was left out.
    pub(super) fn new(counts: Counts) -> Self {
        Hits { counts, ..Hits::default() }
    }

    /// Is there already more than could be shown?
    pub(super) fn full(&self, most: usize, limit: usize) -> bool {
        self.matches > most || (limit > 0 && self.bytes > limit)
    }
}

impl Collector<'_> {
    fn push(&mut self, kind: Kind, number: Option<u64>, bytes: &[u8]) -> bool {
        // A line can be a megabyte long; what is far beyond the cut does not matter.
        let bytes = bytes.get(..LOOKED_AT).unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let mark = if matches!(kind, Kind::First | Kind::Match) { ':' } else { '-' };
        let place = format!("{}{mark}{}{mark}", self.path, number.unwrap_or(0));
        let line = format!("{place} {}\n", truncate::head_whole(text, LINE));
        let record =
            format!("{place} {}\n", truncate::head(&self.redactor.text_for(text, Scope::Model), LINE));
        self.into.bytes += line.len();
        self.into.hits.push(Hit { kind, line, record });
        !self.into.full(self.most, self.limit)
    }
}

impl Sink for Collector<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.cancel.is_cancelled() {
            return Ok(false);
        }
        self.into.matches += 1;
        let kind = if std::mem::take(&mut self.first) { Kind::First } else { Kind::Match };
        Ok(self.push(kind, found.line_number(), found.bytes()))
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let before = *context.kind() == SinkContextKind::Before;
        let kind = if before { Kind::Before } else { Kind::After };
        Ok(self.push(kind, context.line_number(), context.bytes()))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, Self::Error> {
        self.into.hits.push(Hit { kind: Kind::Break, line: "--\n".into(), record: "--\n".into() });
        Ok(true)
    }
}

/// What was found so far, in the order of paths.
#[derive(Debug, Default)]
pub(super) struct MergedHits {
    pub(super) output: String,
    pub(super) record: String,
    pub(super) matches: usize,
    pub(super) files: usize,
    pub(super) counts: Counts,
    /// There is more, and no room for it.
    pub(super) truncated: bool,
}

impl MergedHits {
    /// Adds what the next files gave, as far as there is room.
    pub(super) fn add(&mut self, hits: Hits, most: usize, limit: usize) {
        self.counts.add(hits.counts);
        for hit in hits.hits {
            let fits = limit == 0 || self.output.len() + hit.line.len() <= limit;
            match hit.kind {
                Kind::First | Kind::Match if self.matches == most => self.truncated = true,
                // Lines around a match that will not be shown any more are not shown either.
                Kind::Before | Kind::Break if self.matches == most => continue,
                Kind::Break if !fits => continue,
                _ if !fits => self.truncated = true,
                _ => {}
            }
            if self.truncated {
                return;
            }
            self.output.push_str(&hit.line);
            self.record.push_str(&hit.record);
            self.matches += usize::from(matches!(hit.kind, Kind::First | Kind::Match));
            self.files += usize::from(hit.kind == Kind::First);
        }
    }
}
