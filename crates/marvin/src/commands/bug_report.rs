//! `marvin bug-report`: one readable file with what an issue needs. It sends nothing.
//!
//! Every part is made even where another fails, since broken settings and machines are what such a report is about. A record was
//! redacted when it was written; here it is redacted once more, with the secrets that are known today.

use super::doctor::Findings;
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use crate::project::{self, current_directory, find_project, run_directories};
use clap::Args;
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Origin, Settings, shown};
use marvin_base::{Exit, clock, diagnostic_log, printable, run_record, truncate};
use marvin_gate::sandbox;
use marvin_hook_client::wire;
use marvin_hooks::inspect;
use marvin_model::choose;
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a part of the report.
const MAX_PART_BYTES: usize = 64 * 1024;
/// Bytes at the end of a trace or a log that are read.
const TAIL_BYTES: u64 = 1024 * 1024;
/// Lines at the end of a trace or a log that are shown.
const TAIL_LINES: usize = 200;
/// Characters of such a line.
const MAX_LINE_CHARS: usize = 2_000;

/// Write what an issue needs to one file: version, doctor, settings, and the last run
#[derive(Debug, Args)]
#[command(
    after_help = "The file is Markdown that only you can read. Secrets that Marvin knows or recognises are replaced, but prompts, answers and file names of the run are in it: read it before you send it. Nothing is sent.\n\nExit code 2 when the run does not exist or the file does; nothing is written then.\n\nExamples:\n  marvin bug-report\n  marvin bug-report --run run_20260203_040506_1a2b --out report.md"
)]
pub(crate) struct BugReportArguments {
    /// The run: its id, the beginning of it, or its directory (default: the newest of this project)
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// The new file (default: marvin-bug-report-TIME.md in this directory)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectArguments,
}

#[derive(Serialize)]
struct WrittenReport<'a> {
    path: &'a Path,
    bytes: usize,
    run: Option<&'a Path>,
}

/// Writes the report and says what is in it.
pub(crate) fn run(arguments: &BugReportArguments) -> Result<Exit, Failure> {
    let path = current_directory()?.join(arguments.out.clone().unwrap_or_else(default_file));
    if path.symlink_metadata().is_ok() {
        return Err(exists(&path));
    }
    let working_dir = arguments.project.working_dir.as_deref();
    let places = run_directories(working_dir)?;
    let run = match &arguments.run {
        Some(name) => Some(inspect::find(Some(name), &places).map_err(Failure::usage)?),
        None => inspect::find(None, &places).ok(),
    };
    let text = Report::gather(working_dir, run.as_deref())?.text;
    write_new(&path, &text)?;
    if arguments.project.json {
        return output::json(&WrittenReport { path: &path, bytes: text.len(), run: run.as_deref() });
    }
    let record = match &run {
        Some(run) => format!("the record and the end of the trace of {}", run_name(run)),
        None => "no run, because none was found here".to_string(),
    };
    output::line(&format!(
        "{}\n\nIt holds: version and system, the results of `marvin doctor`, the settings that are not defaults (no keys), and\n{record}. Known secrets are replaced, but prompts, answers and file names are not:\nread it before you send it to anyone. Nothing was sent.",
        path.display()
    ))
}

fn default_file() -> PathBuf {
    let stamp: String = clock::now_stamp().chars().filter(char::is_ascii_digit).take(14).collect();
    PathBuf::from(format!("marvin-bug-report-{stamp}.md"))
}

fn exists(path: &Path) -> Failure {
    Failure::usage(format!("cannot write {}: it exists", path.display()))
        .hint("name another file with --out, or remove this one")
}

/// Writes a file that did not exist, for this user alone.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let opened = File::options().write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(path),
        _ => Failure::failed(format!("cannot write {}: {error}", path.display()))
            .hint("name a file in a directory of yours with --out"),
    })?;
    file.write_all(text.as_bytes()).map_err(|error| {
        // Half a report is worse than none.
        std::fs::remove_file(path).ok();
        Failure::failed(format!("cannot write {}: {error}", path.display()))
    })
}

fn run_name(run: &Path) -> String {
    run.file_name().map_or_else(|| run.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The text of a report, part by part.
struct Report {
    redactor: Arc<Redactor>,
    text: String,
}

impl Report {
    fn gather(working_dir: Option<&Path>, run: Option<&Path>) -> Result<Self, Failure> {
        let environment = Environment::of_process();
        let found = find_project(working_dir)?;
        let context = project::context(found.as_deref(), true, Vec::new());
        let redactor = match &context {
            Ok(context) => context.redactor.clone(),
            Err(_) => redactor_without_settings(&environment, found.as_deref()),
        };
        let mut report = Report { redactor, text: "# Marvin bug report\n".to_string() };
        report.paragraph("Written by `marvin bug-report`; nothing was sent. Read it before you send it: secrets that Marvin knows or recognises are replaced, prompts, answers and file names of the run are not.");
        report.part("Version and system", &system(context.as_ref().ok()));
        let findings = Findings::gather(&environment, context.as_ref());
        report.part("Doctor", &findings.map_or_else(|failure| failure.to_string(), |found| found.text()));
        let settings = context.as_ref().map(|context| settings(&context.settings));
        report.part("Settings that are not defaults", &settings.unwrap_or_else(ToString::to_string));
        match run {
            Some(run) => report.run(run),
            None => {
                report.text.push_str("\n## Last run\n");
                report.paragraph("No run was found.");
            }
        }
        Ok(report)
    }

    fn run(&mut self, run: &Path) {
        let name = run_name(run);
        let record = files::read_text(&run.join(run_record::FILE), TAIL_BYTES, Links::Refuse);
        let record = record.unwrap_or_else(|error| format!("cannot read {}: {error}", run_record::FILE));
        self.part(&format!("Record of {name}"), &self.clean_json(&record, true));
        self.tail(&run.join("trace.jsonl"), &format!("End of the trace of {name}"));
        let log = run.join(diagnostic_log::FILE);
        if log.symlink_metadata().is_ok() {
            self.tail(&log, &format!("End of the log of {name}"));
        }
    }

    /// The last lines of a file.
    fn tail(&mut self, path: &Path, heading: &str) {
        let text = read_tail(path).unwrap_or_else(|error| format!("cannot read the file: {error}"));
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default();
        let mut shown: Vec<String> = Vec::new();
        let mut bytes = 0;
        // From the end, since the last lines say the most; redacted before they are cut.
        for line in last.iter().rev() {
            let line = truncate::head(&self.clean_json(line, false), MAX_LINE_CHARS);
            bytes += line.len() + 1;
            if bytes > MAX_PART_BYTES {
                break;
            }
            shown.push(line);
        }
        shown.reverse();
        self.part(heading, &shown.join("\n"));
    }

    /// A text without secrets; where it is JSON, also those that only their keys give away.
    fn clean_json(&self, text: &str, indented: bool) -> String {
        let Ok(mut value) = serde_json::from_str::<serde_json::Value>(text) else {
            return self.redactor.text(text).into_owned();
        };
        self.redactor.value(&mut value);
        let text = if indented { format!("{value:#}") } else { value.to_string() };
        self.redactor.text(&text).into_owned()
    }

    fn paragraph(&mut self, text: &str) {
        self.text.push_str(&format!("\n{text}\n"));
    }

    /// Adds a part as a block of plain text, redacted, printable and bounded.
    fn part(&mut self, heading: &str, text: &str) {
        let text = self.redactor.text(text);
        let text = truncate::middle(&printable::visible(&text), MAX_PART_BYTES);
        // A block of the report ends only where it should, whatever the text contains.
        let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.text.push_str(&format!("\n## {heading}\n\n{fence}text\n{}\n{fence}\n", text.trim_end()));
    }
}

/// A redactor for the secrets of the environment and of key files, where the settings cannot be read.
fn redactor_without_settings(environment: &Environment, found: Option<&Path>) -> Arc<Redactor> {
    let keys = choose::key_files(&Layout::new(environment, found));
    Arc::new(Redactor::new(environment, keys.iter().map(|(name, key)| (name.as_str(), key.as_str()))))
}

/// Version, build and operating system.
fn system(context: Option<&ProjectContext>) -> String {
    let uname = rustix::system::uname();
    let release =
        files::read_text(Path::new("/etc/os-release"), TAIL_BYTES, Links::Follow).unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or("unknown");
    let support = sandbox::support();
    let level = support.level.map_or("none", |level| level.word());
    let used = context
        .map(|context| sandbox::chosen(context.settings.text(&marvin_base::settings::table::CONTAINMENT)));
    let libc = match (cfg!(target_env = "musl"), cfg!(target_env = "gnu")) {
        (true, _) => "-musl",
        (_, true) => "-gnu",
        _ => "",
    };
    let rows = [
        ("marvin", env!("CARGO_PKG_VERSION").to_string()),
        ("build", wire::own_build()),
        ("profile", if cfg!(debug_assertions) { "debug" } else { "optimised" }.to_string()),
        ("target", format!("{}-{}{libc}", std::env::consts::ARCH, std::env::consts::OS)),
        ("rust", concat!(env!("CARGO_PKG_RUST_VERSION"), " or newer").to_string()),
        ("system", name.trim_matches('"').to_string()),
        ("kernel", format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy())),
        (
            "sandbox",
            format!("{level} possible, {} used, Landlock {}", used.unwrap_or("unknown"), support.landlock),
        ),
    ];
    rows.iter().map(|(name, value)| format!("{name:8} {value}\n")).collect()
}

/// The settings that are not defaults, each with its source; secrets are only said to be there.
fn settings(settings: &Settings) -> String {
    let changed = settings.iter().filter(|(_, value)| value.origin != Origin::Default);
    let lines: Vec<String> = changed
        .map(|(setting, value)| format!("{} = {}  [{}]", setting.key, shown(setting, value), value.origin))
        .collect();
    if lines.is_empty() { "none".to_string() } else { lines.join("\n") }
}

/// The end of a file, from the beginning of a line on.
fn read_tail(path: &Path) -> std::io::Result<String> {
    let mut file = files::open(path, Links::Refuse)?;
    let start = file.metadata()?.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match text.split_once('\n') {
        Some((_, rest)) if start > 0 => rest.to_string(),
        _ => text,
    })
}
