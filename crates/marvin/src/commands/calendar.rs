//! `marvin calendar`: the person's calendar on the command line.

use crate::failure::Failure;
use crate::runtime::runtime;
use crate::{argument_file, output, project};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use marvin_agent::ProjectContext;
use marvin_base::settings::table;
use marvin_base::{Exit, atomic, clock, profile};
use marvin_tools::alarms::ensure_scheduler;
use marvin_tools::calendar::{
    CalendarError, CalendarFile, Draft, EventRow, ImportCount, Rule, list_text, occurrence_line, occurrences,
    upcoming, view_month,
};
use std::path::{Path, PathBuf};

/// A calendar file larger than this is not imported.
const MAX_IMPORT_BYTES: u64 = 32 * 1024 * 1024;

/// Show and change your calendar (calendar.ics of the active profile)
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin calendar add Dentist 2026-11-20T15:00\n  marvin calendar list --days 30\n  marvin calendar import holidays.ics"
)]
pub(crate) enum CalendarCommand {
    /// List the events of the next days
    #[command(
        after_help = "Examples:\n  marvin calendar list\n  marvin calendar list --days 30\n  marvin calendar list --json | jq -r '.[] | .start + \" \" + .title'"
    )]
    List {
        /// Days to look ahead
        #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(i64).range(1..))]
        days: i64,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a month with its events
    #[command(after_help = "Examples:\n  marvin calendar view\n  marvin calendar view 12 2026")]
    View {
        /// 1 to 12 (default: this month)
        #[arg(value_name = "MONTH", default_value_t = 0, hide_default_value = true)]
        month: i64,
        /// The year (default: this year)
        #[arg(value_name = "YEAR", default_value_t = 0, hide_default_value = true)]
        year: i64,
    },
    /// Add an event
    #[command(
        after_help = "START and END are a day or a time in ISO 8601; without a zone it is local time. Without END an event takes an hour, or a day. The end of whole days is the last of them.\n\nExamples:\n  marvin calendar add Dentist 2026-11-20T15:00\n  marvin calendar add Fair 2026-11-20 2026-11-22 --location Hannover\n  marvin calendar add Call '2026-11-20T09:00[America/New_York]' --repeat 'FREQ=WEEKLY;COUNT=4'"
    )]
    Add(AddArguments),
    /// Remove an event, or all of a series
    #[command(
        after_help = "Where a part of a title fits several events, they are listed, nothing is removed, and the exit code is 4.\n\nExamples:\n  marvin calendar remove dentist\n  marvin calendar remove --uid 0a1b2c3d-0000-4000-8000-000000000000@marvin"
    )]
    Remove {
        /// A part of its title, or its whole uid
        #[arg(value_name = "TITLE", required_unless_present = "uid", conflicts_with = "uid")]
        title: Option<String>,
        /// Its uid, as `list` shows it
        #[arg(long, value_name = "UID")]
        uid: Option<String>,
    },
    /// Add the events of another calendar file; those that are here already are updated
    #[command(
        after_help = "FILE is an iCalendar file (.ics); `-` reads standard input. An event is known by its uid; one that is newer here (by SEQUENCE) stays.\n\nExamples:\n  marvin calendar import holidays.ics\n  curl -s https://example.org/calendar.ics | marvin calendar import -"
    )]
    Import {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Write the calendar to a file, or to standard output
    #[command(
        after_help = "Examples:\n  marvin calendar export backup.ics\n  marvin calendar export | grep SUMMARY"
    )]
    Export {
        /// The file; it must not exist
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    #[arg(value_name = "TITLE")]
    title: String,
    /// Day or time
    #[arg(value_name = "START")]
    start: String,
    /// Day or time
    #[arg(value_name = "END", default_value = "", hide_default_value = true)]
    end: String,
    /// Where it takes place
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    location: String,
    /// More about it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    /// How it recurs, as a rule of RFC 5545
    #[arg(long, value_name = "RULE")]
    repeat: Option<String>,
}

impl From<CalendarError> for Failure {
    fn from(error: CalendarError) -> Self {
        let hint = error.hint();
        let failure = match &error {
            CalendarError::Ambiguous { .. } => Failure::blocked(error),
            _ if error.is_usage() => Failure::usage(error),
            _ => Failure::failed(error),
        };
        hint.into_iter().fold(failure, Failure::hint)
    }
}

pub(crate) fn run(command: CalendarCommand) -> Result<Exit, Failure> {
    let context = project::context(None, false, Vec::new())?;
    let active = profile::active(&context.layout, context.settings.given(&table::PROFILE));
    let file = CalendarFile::new(context.layout.calendar(&active));
    let now = clock::now();
    match command {
        CalendarCommand::List { days, json } => {
            let found = upcoming(&file, days, now)?;
            if json {
                return output::json(&found.iter().map(EventRow::from).collect::<Vec<_>>());
            }
            output::line(&list_text(&found, days))
        }
        CalendarCommand::View { month, year } => output::line(&view_month(&file, month, year, now)?.0),
        CalendarCommand::Add(arguments) => add(&file, arguments, &context),
        CalendarCommand::Remove { title, uid } => {
            let local = TimeZone::system();
            let event = file.remove(uid.as_deref().unwrap_or(""), title.as_deref().unwrap_or(""), &local)?;
            arm_reminders(&context)?;
            output::line(&format!("Removed {}", event.line(&local).trim_start_matches("- ")))
        }
        CalendarCommand::Import { file: source } => {
            let bytes = read_source(&source)?;
            let name = source.display().to_string();
            let count = file.import(&bytes, &name).map_err(|error| import_failure(error, &name))?;
            arm_reminders(&context)?;
            let ImportCount { added, updated, unchanged, skipped } = count;
            if skipped > 0 {
                let components = marvin_base::printable::count(skipped, "component");
                output::talk(&format!(
                    "note: {components} not imported: events need a start (DTSTART) that can be understood, and only events, tasks and journals are kept"
                ));
            }
            output::line(&format!("{added} added, {updated} updated, {unchanged} unchanged."))
        }
        CalendarCommand::Export { file: target } => {
            let bytes = file.read()?.bytes();
            let Some(target) = target else {
                output::bytes(&bytes)?;
                return Ok(Exit::Success);
            };
            if target.symlink_metadata().is_ok() {
                return Err(Failure::usage(format!("cannot write {}: it exists", target.display()))
                    .hint("name a file that does not exist"));
            }
            // A mistyped directory must not be created.
            let directory = target.parent().unwrap_or(Path::new(""));
            if !directory.as_os_str().is_empty() && !directory.is_dir() {
                let (target, directory) = (target.display(), directory.display());
                return Err(Failure::usage(format!("cannot write {target}: {directory} is not a directory"))
                    .hint("name a file in a directory that exists"));
            }
            atomic::replace(&target, &bytes).map_err(Failure::failed)?;
            output::line(&format!("Wrote {}.", target.display()))
        }
    }
}

/// The failure of an import. The imported file is an argument, the person's own calendar is not.
fn import_failure(error: CalendarError, name: &str) -> Failure {
    let is_argument = matches!(&error, CalendarError::Damaged { path, .. } if path == name);
    let mut failure = Failure::from(error);
    if is_argument {
        failure.exit = Exit::Usage;
    }
    failure
}

fn add(file: &CalendarFile, arguments: AddArguments, context: &ProjectContext) -> Result<Exit, Failure> {
    let local = TimeZone::system();
    let mut draft = Draft::new(&arguments.title, &arguments.start, &arguments.end, &local)?;
    draft.location = arguments.location;
    draft.description = arguments.description;
    if let Some(rule) = arguments.repeat {
        rule.parse::<Rule>()?;
        draft.rule = Some(rule.trim().to_ascii_uppercase());
    }
    let uid = file.add(&draft, clock::now())?;
    arm_reminders(context)?;
    let start = draft.start.instant(&local);
    let events = file.events()?;
    let end = start.saturating_add(jiff::SignedDuration::from_secs(1)).unwrap_or(start);
    let added = occurrences(&events, start, end, &local).into_iter().find(|occurrence| occurrence.uid == uid);
    let line = added.as_ref().map(occurrence_line).unwrap_or_default();
    output::line(&format!("Added {line}  [uid {uid}]"))
}

/// Ensures that reminders ring although this command ends.
fn arm_reminders(context: &ProjectContext) -> Result<(), Failure> {
    let armed = ensure_scheduler(&context.layout, &context.settings, &context.environment);
    if let Err(error) = runtime()?.block_on(armed) {
        output::talk(&format!("note: reminders ring only while Marvin is open: {error}"));
    }
    Ok(())
}

/// The bytes of an imported calendar. What cannot be read was named on the command line, so it is wrong usage.
fn read_source(source: &Path) -> Result<Vec<u8>, Failure> {
    const HINT: &str = "name an iCalendar file of at most 32 MB, or `-` for standard input";
    if source == Path::new("-") {
        return argument_file::bytes_of(std::io::stdin().lock(), "standard input", MAX_IMPORT_BYTES, HINT);
    }
    argument_file::read_bytes(source, MAX_IMPORT_BYTES, HINT)
}
