//! The search on all cores.
//!
//! One thread walks and sends batches of files in the order of their paths; the others search them; the results are merged
//! in that same order. So the outcome does not depend on timing, and the search can end as soon as the first matches fill
//! the answer. The number of batches in flight is bounded, and with it the memory.

use super::hits::{Collector, Counts, Hits, MergedHits, Source};
use crate::walk::{self, Walk, WalkItem};
use globset::GlobMatcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder};
use marvin_base::redact::Redactor;
use marvin_gate::{DirectoryEntryKind, Workspace, secrets};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use tokio_util::sync::CancellationToken;

/// Files of a batch.
const BATCH: usize = 32;
/// Batches in flight or waiting for an earlier one.
const WINDOW: usize = 64;
/// Larger files are counted, not searched.
const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;
/// Bytes up to which a file is read at once instead of through the searcher's buffer.
const BUFFER_BYTES: usize = 256 * 1024;

/// The files to search.
pub(super) struct Files {
    /// Start of the walk, without links.
    pub(super) start: PathBuf,
    /// Whether the start is a file.
    pub(super) single: bool,
    pub(super) plan: walk::Plan,
    /// Only files that match; on the name, or on the whole path.
    pub(super) glob: Option<GlobMatcher>,
    pub(super) by_path: bool,
    /// Extensions that are left out.
    pub(super) without: &'static [&'static str],
}

/// The pattern and the bounds of a search.
pub(super) struct Finder<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) matcher: RegexMatcher,
    pub(super) searcher: SearcherBuilder,
    pub(super) most: usize,
    pub(super) limit: usize,
    pub(super) cancel: &'a CancellationToken,
    pub(super) redactor: &'a Redactor,
    /// Secret files that the person opened.
    pub(super) granted: &'a secrets::GrantedFiles,
    /// Device and inode of closed files, found when a file with a second name is met. None where they cannot all be found.
    pub(super) closed: OnceLock<Option<BTreeSet<(u64, u64)>>>,
}

impl Finder<'_> {
    /// Whether a file with a second name may be a closed one.
    fn may_be_closed(&self, facts: &Metadata) -> bool {
        let find = || secrets::closed_identities(self.workspace.root(), self.granted).ok();
        let closed = self.closed.get_or_init(find);
        closed.as_ref().is_none_or(|closed| closed.contains(&(facts.dev(), facts.ino())))
    }
}

impl<'a> Finder<'a> {
    fn collector(
        &'a self,
        into: &'a mut Hits,
        path: &'a str,
        source: Source<'a>,
        is_opened: bool,
    ) -> Collector<'a> {
        Collector {
            into,
            path,
            most: self.most,
            limit: self.limit,
            redactor: self.redactor,
            cancel: self.cancel,
            first: true,
            source: (!is_opened).then_some(source),
            secrets: OnceCell::new(),
        }
    }
}

/// Some files to search, and the counts of those left out before them.
#[derive(Default)]
struct Batch {
    number: usize,
    files: Vec<PathBuf>,
    counts: Counts,
}

/// How far the results are merged, so that the walk does not run far ahead of them.
#[derive(Default)]
struct Progress {
    merged: Mutex<usize>,
    moved: Condvar,
    stop: AtomicBool,
}

impl Progress {
    fn stopped(&self, cancel: &CancellationToken) -> bool {
        self.stop.load(Ordering::Relaxed) || cancel.is_cancelled()
    }

    fn merge(&self) {
        *self.merged.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.moved.notify_one();
    }

    fn end(&self) {
        // Under the lock, so that a waiting walk cannot miss it.
        let _merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.store(true, Ordering::Relaxed);
        self.moved.notify_one();
    }

    /// Waits until this batch may be sent.
    fn wait_for(&self, number: usize) {
        let mut merged = self.merged.lock().unwrap_or_else(PoisonError::into_inner);
        while number >= *merged + WINDOW && !self.stop.load(Ordering::Relaxed) {
            merged = self.moved.wait(merged).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub(super) fn run(finder: &Finder<'_>, files: &Files) -> MergedHits {
    let mut found = MergedHits::default();
    if files.single {
        let mut worker = Worker::new(finder);
        let batch = Batch { files: vec![files.start.clone()], ..Batch::default() };
        let hits = search_batch(finder, &mut worker, batch, &Progress::default());
        found.add(hits, finder.most, finder.limit);
        return found;
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let progress = &Progress::default();
    let (batch_sender, batches) = sync_channel::<Batch>(2 * threads);
    let batches = &Mutex::new(batches);
    let (sender, answers) = channel::<(usize, Hits)>();
    thread::scope(|scope| {
        // Each thread owns its end of a channel, so that the others see when it is gone.
        scope.spawn(move || walk(finder, files, progress, &batch_sender));
        for _ in 0..threads {
            let sender = sender.clone();
            scope.spawn(move || work(finder, batches, &sender, progress));
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        'answers: for (number, hits) in answers {
            waiting.insert(number, hits);
            while let Some(hits) = waiting.remove(&next) {
                next += 1;
                found.add(hits, finder.most, finder.limit);
                progress.merge();
                if found.truncated || finder.cancel.is_cancelled() {
                    break 'answers;
                }
            }
        }
        progress.end();
        // A walk that waits for room in the channel can then end.
        batches.lock().unwrap_or_else(PoisonError::into_inner).try_iter().for_each(drop);
    });
    found
}

/// Walks, and sends batches.
fn walk(finder: &Finder<'_>, files: &Files, progress: &Progress, sender: &SyncSender<Batch>) {
    let mut batch = Batch::default();
    for item in Walk::new(finder.workspace, &files.start, files.plan.clone()) {
        if progress.stopped(finder.cancel) {
            return;
        }
        match item {
            WalkItem::Unreadable => batch.counts.unreadable += 1,
            WalkItem::Entry(entry) if entry.kind == DirectoryEntryKind::File => {
                if !files.wants(&entry.path) {
                    continue;
                }
                if secrets::is_closed_entry(finder.workspace, &entry.path, finder.granted) {
                    batch.counts.secret += 1;
                    continue;
                }
                batch.files.push(entry.path);
                if batch.files.len() == BATCH {
                    let next = Batch { number: batch.number + 1, ..Batch::default() };
                    let full = std::mem::replace(&mut batch, next);
                    progress.wait_for(full.number);
                    if sender.send(full).is_err() {
                        return;
                    }
                }
            }
            WalkItem::Entry(_) => {}
        }
    }
    progress.wait_for(batch.number);
    // It fails when the search has ended.
    sender.send(batch).ok();
}

impl Files {
    fn wants(&self, path: &Path) -> bool {
        if path.extension().is_some_and(|extension| self.without.iter().any(|left| extension == *left)) {
            return false;
        }
        match &self.glob {
            None => true,
            Some(glob) if self.by_path => glob.is_match(path),
            Some(glob) => path.file_name().is_some_and(|name| glob.is_match(name)),
        }
    }
}

struct Worker {
    searcher: Searcher,
    buffer: Vec<u8>,
}

impl Worker {
    fn new(finder: &Finder<'_>) -> Self {
        Worker { searcher: finder.searcher.build(), buffer: vec![0; BUFFER_BYTES] }
    }
}

fn work(
    finder: &Finder<'_>,
    batches: &Mutex<Receiver<Batch>>,
    sender: &Sender<(usize, Hits)>,
    progress: &Progress,
) {
    let mut worker = Worker::new(finder);
    loop {
        let received = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = received else { return };
        let number = batch.number;
        let hits = search_batch(finder, &mut worker, batch, progress);
        if sender.send((number, hits)).is_err() {
            return;
        }
    }
}

fn search_batch(finder: &Finder<'_>, worker: &mut Worker, batch: Batch, progress: &Progress) -> Hits {
    let mut hits = Hits::new(batch.counts);
    for path in batch.files {
        // Matches after a full answer are never shown.
        if hits.full(finder.most, finder.limit) || progress.stopped(finder.cancel) {
            break;
        }
        match search_file(finder, worker, &path, &mut hits) {
            Ok(true) => {}
            Ok(false) => hits.counts.too_large += 1,
            Err(_) => hits.counts.unreadable += 1,
        }
    }
    hits
}

/// Searches one file; `false` when it is too large.
fn search_file(
    finder: &Finder<'_>,
    worker: &mut Worker,
    path: &Path,
    hits: &mut Hits,
) -> std::io::Result<bool> {
    let (mut file, size) = finder.workspace.open_plain(path)?;
    let facts = file.metadata()?;
    if facts.nlink() > 1 && finder.may_be_closed(&facts) {
        hits.counts.secret += 1;
        return Ok(true);
    }
    if size > MAX_FILE_BYTES {
        return Ok(false);
    }
    let shown = walk::shown(path.as_os_str());
    let is_opened = secrets::is_env_file(path) && finder.granted.has(path);
    let Worker { searcher, buffer } = worker;
    let room = usize::try_from(size).unwrap_or(usize::MAX).saturating_add(1);
    match buffer.get_mut(..room) {
        None => {
            let collector = finder.collector(hits, &shown, Source::File(&file), is_opened);
            searcher.search_file(&finder.matcher, &file, collector)?;
        }
        Some(buffer) => {
            let mut filled = file.read(buffer)?;
            // A regular file is read at once; one that grew since its size was taken fills the rest of the buffer.
            while filled + 1 != buffer.len() && filled < buffer.len() {
                match file.read(buffer.get_mut(filled..).unwrap_or_default())? {
                    0 => break,
                    more => filled += more,
                }
            }
            let text = buffer.get(..filled).unwrap_or_default();
            let collector = finder.collector(hits, &shown, Source::Bytes(text), is_opened);
            searcher.search_slice(&finder.matcher, text, collector)?;
        }
    }
    Ok(true)
}
