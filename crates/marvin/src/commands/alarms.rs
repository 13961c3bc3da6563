//! `marvin alarms`: alarms and timers on the command line, and their delivery.

use crate::failure::Failure;
use crate::runtime::runtime;
use crate::{output, project};
use clap::Subcommand;
use marvin_agent::ProjectContext;
use marvin_base::Exit;
use marvin_tools::alarms::{
    AlarmError, AlarmStore, Deliverer, Moment, Scheduler, alarm_lines, describe_timer, ensure_scheduler,
    run_scheduler, timer_lines,
};
use serde::Serialize;

/// Set, list and cancel alarms and timers
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin alarms set 07:30 'Time to get up' --label wake-up\n  marvin alarms list\n  marvin alarms cancel wake-up"
)]
pub(crate) enum AlarmsCommand {
    /// List alarms and timers
    #[command(
        after_help = "Examples:\n  marvin alarms list\n  marvin alarms list --json | jq -r '.alarms[].label'"
    )]
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Set an alarm
    #[command(
        after_help = "TIME is `07:30`, `2026-11-20 15:00`, or a duration: `30m`, `2h`, `1h30m`. An alarm rings on the desktop, in every open Marvin, and on the ntfy topic of the setting alarms.topic.\n\nExamples:\n  marvin alarms set 07:30 'Time to get up' --label wake-up\n  marvin alarms set 1h30m 'Take the bread out'"
    )]
    Set {
        #[arg(value_name = "TIME")]
        time: String,
        #[arg(value_name = "MESSAGE")]
        message: String,
        /// A name to cancel it by
        #[arg(long, value_name = "LABEL", default_value = "alarm")]
        label: String,
    },
    /// Cancel an alarm
    #[command(after_help = "Example:\n  marvin alarms cancel wake-up")]
    Cancel {
        /// Its label, as `list` shows it
        #[arg(value_name = "LABEL")]
        label: String,
    },
    /// Start a timer, or a stopwatch
    #[command(
        after_help = "Examples:\n  marvin alarms start-timer pasta 480\n  marvin alarms start-timer run"
    )]
    StartTimer {
        #[arg(value_name = "NAME")]
        name: String,
        /// Seconds (default: a stopwatch, which counts up)
        #[arg(value_name = "SECONDS", default_value_t = 0, hide_default_value = true)]
        seconds: i64,
    },
    /// Stop a timer or stopwatch
    #[command(after_help = "Example:\n  marvin alarms stop-timer pasta")]
    StopTimer {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Deliver everything that is due, once
    #[command(
        after_help = "A systemd user timer runs this command where systemd runs for you; elsewhere a small process of Marvin's own does the same (setting alarms.scheduler).\n\nExample:\n  marvin alarms deliver"
    )]
    Deliver,
    /// Deliver what is due until nothing waits
    #[command(hide = true)]
    Run,
}

impl From<AlarmError> for Failure {
    fn from(error: AlarmError) -> Self {
        let hint = error.hint();
        let failure = if error.is_usage() { Failure::usage(error) } else { Failure::failed(error) };
        hint.into_iter().fold(failure, Failure::hint)
    }
}

#[derive(Serialize)]
struct AlarmRow {
    label: String,
    message: String,
    due: String,
}

#[derive(Serialize)]
struct TimerRow {
    name: String,
    duration_seconds: i64,
    elapsed_seconds: i64,
}

#[derive(Serialize)]
struct AlarmList {
    alarms: Vec<AlarmRow>,
    timers: Vec<TimerRow>,
}

pub(crate) fn run(command: AlarmsCommand) -> Result<Exit, Failure> {
    let context = project::context(None, false, Vec::new())?;
    let store = AlarmStore::new(context.layout.alarms());
    let now = Moment::now();
    match command {
        AlarmsCommand::List { json } => list(&context, &store, &now, json),
        AlarmsCommand::Set { time, message, label } => {
            let alarm = store.set_alarm(&time, &message, &label, &now)?;
            arm(&context)?;
            output::line(&format!("Alarm `{}` set for {}.", alarm.label, alarm.due.describe(&now)))
        }
        AlarmsCommand::Cancel { label } => {
            let alarm = store.cancel_alarm(&label)?;
            arm(&context)?;
            output::line(&format!("Cancelled `{}`.", alarm.label))
        }
        AlarmsCommand::StartTimer { name, seconds } => {
            let timer = store.start_timer(&name, seconds, &now)?;
            arm(&context)?;
            output::line(&format!("Started `{}`: {}.", timer.name, describe_timer(&timer, &now)))
        }
        AlarmsCommand::StopTimer { name } => {
            let timer = store.stop_timer(&name)?;
            arm(&context)?;
            output::line(&format!("Stopped `{}`: {}.", timer.name, describe_timer(&timer, &now)))
        }
        AlarmsCommand::Deliver => {
            let deliverer = Deliverer::new(&context.layout, &context.settings, &context.environment);
            runtime()?.block_on(deliverer.pass(&now))?;
            arm(&context)?;
            Ok(Exit::Success)
        }
        AlarmsCommand::Run => {
            // A session of its own: it survives the terminal that it was started from.
            rustix::process::setsid().ok();
            // A file that cannot be read leaves the settings of the beginning.
            let settings = || {
                let now = project::context(None, false, Vec::new()).map(|now| now.settings);
                now.unwrap_or_else(|_| context.settings.clone())
            };
            runtime()?.block_on(run_scheduler(&context.layout, &settings, &context.environment))?;
            Ok(Exit::Success)
        }
    }
}

fn list(context: &ProjectContext, store: &AlarmStore, now: &Moment, json: bool) -> Result<Exit, Failure> {
    let state = store.read()?;
    // The scheduler may have been killed since they were set.
    if state.next_due(now).is_some() {
        arm(context)?;
    }
    if json {
        let alarms = state.alarms.iter().map(|alarm| AlarmRow {
            label: alarm.label.clone(),
            message: alarm.message.clone(),
            due: alarm.due.instant(now).to_string(),
        });
        let timers = state.timers.iter().map(|timer| TimerRow {
            name: timer.name.clone(),
            duration_seconds: timer.seconds,
            elapsed_seconds: timer.from.elapsed(now).as_secs(),
        });
        return output::json(&AlarmList { alarms: alarms.collect(), timers: timers.collect() });
    }
    let mut lines = alarm_lines(&state.alarms, now);
    lines.extend(timer_lines(&state.timers, now));
    output::line(&if lines.is_empty() { "No alarms or timers.".to_string() } else { lines.join("\n") })
}

/// Ensures that what waits rings although this command ends.
fn arm(context: &ProjectContext) -> Result<(), Failure> {
    let armed = ensure_scheduler(&context.layout, &context.settings, &context.environment);
    match runtime()?.block_on(armed) {
        Ok(Scheduler::Systemd | Scheduler::Process) => {}
        Ok(Scheduler::Off) => {
            output::talk("note: alarms ring only while Marvin is open (alarms.scheduler)");
        }
        Err(error) => output::talk(&format!("note: alarms ring only while Marvin is open: {error}")),
    }
    Ok(())
}
