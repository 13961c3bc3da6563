//! Matches of one file, and their merge.

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use marvin_base::redact::{self, Redactor, Scope, SecretRange};
use marvin_base::truncate;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use tokio_util::sync::CancellationToken;

/// Characters of one line that are shown.
const LINE: usize = 500;
/// Bytes of one line that are redacted before the cut, so that a secret at the cut is seen whole.
const MAX_REDACTED_BYTES: usize = 16 * 1024;

/// Bytes that are read at once from a file for its secrets.
const READ_BYTES: usize = 256 * 1024;

/// Counts of files that were not searched.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) unreadable: usize,
    pub(super) too_large: usize,
    pub(super) secret: usize,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.unreadable += other.unreadable;
        self.too_large += other.too_large;
        self.secret += other.secret;
    }
}

/// Kind of a line of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The first match of a file.
    First,
    /// Another match.
    Match,
    Before,
    After,
    Break,
}

/// A line of the output, and the same for the record: redacted, then cut.
#[derive(Debug)]
struct Hit {
    kind: Kind,
    line: String,
    record: String,
}

/// Hits of some files, in their order.
#[derive(Debug, Default)]
pub(super) struct Hits {
    hits: Vec<Hit>,
    matches: usize,
    bytes: usize,
    pub(super) counts: Counts,
}

/// Receives the searcher's matches in one file.
pub(super) struct Collector<'a> {
    pub(super) into: &'a mut Hits,
    pub(super) path: &'a str,
    pub(super) most: usize,
    pub(super) limit: usize,
    pub(super) redactor: &'a Redactor,
    pub(super) cancel: &'a CancellationToken,
    pub(super) first: bool,
    /// The file, for what its lines alone do not show; none where a person opened the file.
    pub(super) source: Option<Source<'a>>,
    /// Secrets over several lines, found at the first hit.
    pub(super) secrets: OnceCell<Vec<SecretRange>>,
}

/// The bytes of a file that is searched.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Bytes(&'a [u8]),
    File(&'a File),
}

impl Source<'_> {
    /// The secrets over several lines. Most files hold no word that one begins with, and cost one search for it.
    fn multiline_secrets(self, redactor: &Redactor) -> Vec<SecretRange> {
        let mut read = Vec::new();
        let bytes = match self {
            Source::Bytes(bytes) => bytes,
            Source::File(file) => {
                // A file that cannot be read a second time shows nothing more than its lines.
                let mut room = vec![0; READ_BYTES];
                while let Ok(length) = file.read_at(&mut room, read.len() as u64)
                    && length > 0
                {
                    read.extend_from_slice(room.get(..length).unwrap_or_default());
                }
                read.as_slice()
            }
        };
        if redact::may_hold_multiline_secret(bytes) {
            redactor.multiline_secrets(&one_byte_each(bytes), Scope::Model)
        } else {
            Vec::new()
        }
    }
}

/// Text with a question mark for every byte that is not UTF-8, so that places in it are places in the bytes.
fn one_byte_each(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|_| text.push('?'));
    }
    text
}

/// A line without its parts of secrets; `start` is its place in the file.
fn without<'a>(line: &'a [u8], start: u64, secrets: &[SecretRange]) -> Cow<'a, [u8]> {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let end = start.saturating_add(line.len());
    let mut clean = Cow::Borrowed(line);
    for secret in secrets.iter().rev().filter(|secret| secret.range.start < end && start < secret.range.end) {
        let from = secret.range.start.saturating_sub(start);
        let to = secret.range.end.min(end) - start;
        let is_blank = line.get(from..to).is_some_and(|part| part.trim_ascii().is_empty());
        if !is_blank {
            clean.to_mut().splice(from..to, secret.marker.bytes());
        }
    }
    clean
}

impl Hits {
    pub(super) fn new(counts: Counts) -> Self {
        Hits { counts, ..Hits::default() }
    }

    /// Is there already more than could be shown?
    pub(super) fn full(&self, most: usize, limit: usize) -> bool {
        self.matches > most || (limit > 0 && self.bytes > limit)
    }
}

impl Collector<'_> {
    fn push(&mut self, kind: Kind, number: Option<u64>, start: u64, bytes: &[u8]) -> bool {
        let find = || self.source.map(|source| source.multiline_secrets(self.redactor)).unwrap_or_default();
        let bytes = without(bytes, start, self.secrets.get_or_init(find));
        let bytes = bytes.as_ref();
        // A line can be a megabyte long; text far beyond the cut does not matter.
        let bytes = bytes.get(..MAX_REDACTED_BYTES).unwrap_or(bytes);
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
        Ok(self.push(kind, found.line_number(), found.absolute_byte_offset(), found.bytes()))
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let before = *context.kind() == SinkContextKind::Before;
        let kind = if before { Kind::Before } else { Kind::After };
        Ok(self.push(kind, context.line_number(), context.absolute_byte_offset(), context.bytes()))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, Self::Error> {
        self.into.hits.push(Hit { kind: Kind::Break, line: "--\n".into(), record: "--\n".into() });
        Ok(true)
    }
}

/// Merged hits, in the order of paths.
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
    /// Adds the hits of the next files, as far as they fit.
    pub(super) fn add(&mut self, hits: Hits, most: usize, limit: usize) {
        self.counts.add(hits.counts);
        for hit in hits.hits {
            let fits = limit == 0 || self.output.len() + hit.line.len() <= limit;
            match hit.kind {
                Kind::First | Kind::Match if self.matches == most => self.truncated = true,
                // Lines around a match that is not shown are left out with it.
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
