//! The destination of diagnostic lines: `marvin.log` in the directory of each run, and standard error where asked.
//!
//! Events come from the `tracing` macros of every crate; the binary installs the subscriber that formats them and writes each
//! line through [`write`]. Nothing here exists until [`start`] is called: without it a run has no log.
//!
//! Every line is redacted, printable, on one line and bounded, and so is the file. Lines from before the first run wait
//! for it. A process with several runs at a time writes each line into the log of each of them: a line too many is easier
//! to read than one that is missing.

use crate::open_dir::OpenDir;
use crate::redact::Redactor;
use crate::{printable, truncate};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// The name of the log in a run's directory.
pub const FILE: &str = "marvin.log";
/// Bytes of a log, after which one last line says that it is full.
pub const MAX_LOG_BYTES: u64 = 8 * 1024 * 1024;
/// Characters of a line.
pub const MAX_LINE_CHARS: usize = 2_000;
/// Characters of a line that are searched for secrets before it is shortened.
const MAX_SEARCHED_CHARS: usize = 32_000;
/// Lines that wait for the first run.
const MAX_WAITING_LINES: usize = 500;

static LOG: OnceLock<Mutex<DiagnosticLog>> = OnceLock::new();

struct DiagnosticLog {
    redactor: Arc<Redactor>,
    /// Shows a line to the person.
    show: Option<fn(&str)>,
    /// Lines from before the first run.
    waiting: Vec<String>,
    runs: Vec<Weak<RunLog>>,
}

/// The log of one run; closed with the last handle of the run's directory.
#[derive(Debug)]
pub(crate) struct RunLog {
    directory: OpenDir,
    file: Mutex<LogFile>,
}

/// The file, which is there from its first line on: a run that is only read gets none.
#[derive(Debug)]
enum LogFile {
    Unopened,
    Open {
        file: File,
        bytes: u64,
    },
    /// Full, or not writable.
    Closed,
}

/// Starts the log of this process. `show` gets every line too.
pub fn start(redactor: Redactor, show: Option<fn(&str)>) {
    let log = DiagnosticLog { redactor: Arc::new(redactor), show, waiting: Vec::new(), runs: Vec::new() };
    // A second start changes nothing: the subscriber is installed once as well.
    LOG.get_or_init(|| Mutex::new(log));
}

/// Redacts with a redactor that knows more, such as the keys of a project's settings.
pub fn redact_with(redactor: &Arc<Redactor>) {
    if let Some(mut log) = lock() {
        log.redactor = redactor.clone();
    }
}

/// Shows no more lines on standard error: a front end owns the screen.
pub fn hide() {
    if let Some(mut log) = lock() {
        log.show = None;
    }
}

/// Writes one line.
pub fn write(line: &str) {
    let Some(mut log) = lock() else { return };
    let line = clean(line, &log.redactor);
    if let Some(show) = log.show {
        show(&line);
    }
    let runs: Vec<Arc<RunLog>> = log.runs.iter().filter_map(Weak::upgrade).collect();
    if runs.is_empty() {
        if log.waiting.len() < MAX_WAITING_LINES {
            log.waiting.push(line);
        }
        return;
    }
    // A redactor that came later knows more than the one that the waiting lines have passed.
    let waiting = std::mem::take(&mut log.waiting);
    let lines: Vec<String> = waiting.iter().map(|line| clean(line, &log.redactor)).chain([line]).collect();
    for run in runs {
        let written = lines.iter().try_for_each(|line| run.append(line));
        // A log that cannot be written does not stop a run.
        if let (Err(error), Some(show)) = (written, log.show) {
            show(&format!("cannot write {}: {error}", run.directory.path().join(FILE).display()));
        }
    }
}

/// The log of a run, where the log is on; the same for every handle of the run.
pub(crate) fn open_run(directory: &OpenDir) -> Option<Arc<RunLog>> {
    let mut log = lock()?;
    log.runs.retain(|run| run.strong_count() > 0);
    let is_same = |run: &Arc<RunLog>| run.directory.path() == directory.path();
    if let Some(run) = log.runs.iter().filter_map(Weak::upgrade).find(is_same) {
        return Some(run);
    }
    let run = Arc::new(RunLog { directory: directory.clone(), file: Mutex::new(LogFile::Unopened) });
    log.runs.push(Arc::downgrade(&run));
    Some(run)
}

fn lock() -> Option<MutexGuard<'static, DiagnosticLog>> {
    LOG.get().map(|log| log.lock().unwrap_or_else(PoisonError::into_inner))
}

impl RunLog {
    /// Appends a line, unless the log is full or could not be written before.
    fn append(&self, line: &str) -> std::io::Result<()> {
        let mut log = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*log, LogFile::Unopened) {
            *log = LogFile::Closed;
            *log = open(&self.directory)?;
        }
        let LogFile::Open { file, bytes } = &mut *log else { return Ok(()) };
        let text = format!("{line}\n");
        let is_full = *bytes + text.len() as u64 > MAX_LOG_BYTES;
        let written = match is_full {
            true => writeln!(file, "the log is full ({MAX_LOG_BYTES} bytes); later lines are left out"),
            false => file.write_all(text.as_bytes()),
        };
        *bytes += text.len() as u64;
        if is_full || written.is_err() {
            *log = LogFile::Closed;
        }
        written
    }
}

fn open(directory: &OpenDir) -> std::io::Result<LogFile> {
    let mut options = File::options();
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(directory.place().join(FILE))?;
    let facts = file.metadata()?;
    match facts.len() {
        _ if !facts.is_file() => Err(std::io::Error::other("it is not a regular file")),
        // A run that was resumed; the last line says that it is full.
        bytes if bytes >= MAX_LOG_BYTES => Ok(LogFile::Closed),
        bytes => Ok(LogFile::Open { file, bytes }),
    }
}

/// A line without secrets, line breaks and control characters, of bounded length.
fn clean(line: &str, redactor: &Redactor) -> String {
    let line = truncate::head_whole(line.trim_end(), MAX_SEARCHED_CHARS);
    let line = redactor.text(&line).replace('\n', "\\n");
    truncate::head(&printable::visible(&line), MAX_LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    #[test]
    fn a_line_is_redacted_printable_and_bounded() {
        let environment = Environment::from_iter([("DEPLOY_TOKEN", "correct-horse-battery-9")]);
        let redactor = Redactor::new(&environment, []);
        let text = "with correct-horse-battery-9\r\n\u{1b}[31mred\u{202e}\n";
        assert_eq!(clean(text, &redactor), r"with [REDACTED:DEPLOY_TOKEN]\u{d}\n\u{1b}[31mred\u{202e}");
        let long = format!("{} correct-horse-battery-9", "x ".repeat(40_000));
        let line = clean(&long, &redactor);
        assert!(line.chars().count() < MAX_LINE_CHARS + 60 && !line.contains("correct"), "{line}");
    }

    #[test]
    fn a_log_ends_when_it_is_full() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let log = || RunLog {
            directory: OpenDir::open(directory.path()).unwrap(),
            file: Mutex::new(LogFile::Unopened),
        };
        std::fs::write(&path, "x".repeat(usize::try_from(MAX_LOG_BYTES).unwrap() - 21) + "\n").unwrap();
        for run in [log(), log()] {
            for _ in 0..3 {
                run.append("twelve bytes").unwrap();
            }
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let (_, end) = text.split_once('\n').unwrap();
        assert_eq!(end, "twelve bytes\nthe log is full (8388608 bytes); later lines are left out\n");
    }

    #[test]
    fn a_link_in_place_of_the_log_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let outside = directory.path().join("outside");
        std::fs::write(&outside, "kept").unwrap();
        std::os::unix::fs::symlink(&outside, directory.path().join(FILE)).unwrap();
        let place = OpenDir::open(directory.path()).unwrap();
        let run = RunLog { directory: place, file: Mutex::new(LogFile::Unopened) };
        assert!(run.append("a line").is_err() && run.append("another").is_ok());
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "kept");
    }
}
