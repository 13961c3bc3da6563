//! The tools of alarms and timers.

use super::error::AlarmError;
use super::schedule::{Scheduler, ensure_scheduler};
use super::store::{Alarm, AlarmStore, Timer, describe_timer};
use super::time::Moment;
use crate::context::ToolContext;
use crate::function_tool::ToolFacts;
use crate::result::{Output, ToolError};
use crate::tool::{DynTool, NoInput};
use marvin_base::environment::Environment;
use marvin_base::printable::count;
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        SET_ALARM.with(set_alarm),
        LIST_ALARMS.with(list_alarms),
        CANCEL_ALARM.with(cancel_alarm),
        TIMER_START.with(timer_start),
        TIMER_CHECK.with(timer_check),
        TIMER_STOP.with(timer_stop),
    ]
}

impl From<AlarmError> for ToolError {
    fn from(error: AlarmError) -> Self {
        ToolError::from_reason(&error, error.hint(), error.is_usage())
    }
}

fn store(context: &ToolContext) -> AlarmStore {
    AlarmStore::new(context.layout.alarms())
}

/// Ensures that something rings when Marvin is closed; gives a note where nothing will.
async fn schedule(context: &ToolContext) -> &'static str {
    let environment = Environment::of_process();
    match ensure_scheduler(&context.layout, &context.settings, &environment).await {
        Ok(Scheduler::Systemd | Scheduler::Process) => "",
        Ok(Scheduler::Off) => " It rings only while Marvin is open.",
        Err(error) => {
            tracing::warn!(%error, "no scheduler");
            " No scheduler could be started, so it rings only while Marvin is open."
        }
    }
}

/// An alarm that waits.
#[derive(Debug, Serialize, JsonSchema)]
struct AlarmRow {
    label: String,
    message: String,
    /// The moment, in UTC.
    due: String,
}

impl AlarmRow {
    fn new(alarm: &Alarm, now: &Moment) -> Self {
        AlarmRow {
            label: alarm.label.clone(),
            message: alarm.message.clone(),
            due: alarm.due.instant(now).to_string(),
        }
    }
}

/// Lines of the alarms that wait, one for each, in the order of their time.
#[must_use]
pub fn alarm_lines(alarms: &[Alarm], now: &Moment) -> Vec<String> {
    let mut sorted: Vec<&Alarm> = alarms.iter().collect();
    sorted.sort_by_key(|alarm| alarm.due.instant(now));
    sorted
        .iter()
        .map(|alarm| {
            let message: Vec<&str> = alarm.message.lines().map(str::trim).collect();
            format!("{}  {}: {}", alarm.due.describe(now), alarm.label, message.join(" ").trim())
        })
        .collect()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetAlarmInput {
    /// `07:30`, `2026-11-20 15:00`, or a duration: `30m`, `2h`, `1h30m`.
    time: String,
    message: String,
    /// A name to cancel it by; where another alarm has it, it gets a number.
    #[serde(default = "default_label")]
    label: String,
}

fn default_label() -> String {
    "local-finder-alarm".to_string()
}

const SET_ALARM: ToolFacts = ToolFacts {
    name: "set_alarm",
    description: "Set an alarm: at a time or after a duration the person gets a notification with the message.",
    example: r#"{"time": "07:30", "message": "Time to get up", "label": "wake-up"}"#,
    touches: Touches::STORES,
};

async fn set_alarm(input: SetAlarmInput, context: ToolContext) -> Result<Output<AlarmRow>, ToolError> {
    let now = Moment::now();
    let alarm = store(&context).set_alarm(&input.time, &input.message, &input.label, &now)?;
    let note = schedule(&context).await;
    let text = format!("Alarm `{}` set for {}.{note}", alarm.label, alarm.due.describe(&now));
    Ok(Output::line(text, AlarmRow::new(&alarm, &now)))
}

#[derive(Debug, Serialize, JsonSchema)]
struct AlarmsData {
    alarms: Vec<AlarmRow>,
}

const LIST_ALARMS: ToolFacts = ToolFacts {
    name: "list_alarms",
    description: "List the alarms that are set.",
    example: "{}",
    touches: Touches::READS,
};

async fn list_alarms(_input: NoInput, context: ToolContext) -> Result<Output<AlarmsData>, ToolError> {
    let now = Moment::now();
    let alarms = store(&context).read()?.alarms;
    let lines = alarm_lines(&alarms, &now);
    let text = if lines.is_empty() { "No alarms are set.".to_string() } else { lines.join("\n") };
    let rows = alarms.iter().map(|alarm| AlarmRow::new(alarm, &now)).collect();
    Ok(Output::new(count(alarms.len(), "alarm"), text, AlarmsData { alarms: rows }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelAlarmInput {
    /// Its label, as `list_alarms` shows it.
    label: String,
}

const CANCEL_ALARM: ToolFacts = ToolFacts {
    name: "cancel_alarm",
    description: "Cancel an alarm by its label.",
    example: r#"{"label": "wake-up"}"#,
    touches: Touches::STORES,
};

async fn cancel_alarm(input: CancelAlarmInput, context: ToolContext) -> Result<Output<AlarmRow>, ToolError> {
    let now = Moment::now();
    let alarm = store(&context).cancel_alarm(&input.label)?;
    schedule(&context).await;
    let text = format!("Cancelled `{}` ({})", alarm.label, alarm.due.describe(&now));
    Ok(Output::line(text, AlarmRow::new(&alarm, &now)))
}

/// A timer or stopwatch.
#[derive(Debug, Serialize, JsonSchema)]
struct TimerRow {
    name: String,
    /// 0: a stopwatch.
    duration_seconds: i64,
    elapsed_seconds: i64,
    finished: bool,
}

impl TimerRow {
    fn new(timer: &Timer, now: &Moment) -> Self {
        TimerRow {
            name: timer.name.clone(),
            duration_seconds: timer.seconds,
            elapsed_seconds: timer.from.elapsed(now).as_secs(),
            finished: timer.seconds > 0 && timer.due().is_reached(now),
        }
    }
}

/// Lines of timers.
#[must_use]
pub fn timer_lines(timers: &[Timer], now: &Moment) -> Vec<String> {
    timers.iter().map(|timer| format!("{}: {}", timer.name, describe_timer(timer, now))).collect()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimerStartInput {
    name: String,
    /// 0: a stopwatch that counts up.
    #[serde(default)]
    duration_seconds: i64,
}

const TIMER_START: ToolFacts = ToolFacts {
    name: "timer_start",
    description: "Start a timer, or a stopwatch without a duration.",
    example: r#"{"name": "pasta", "duration_seconds": 480}"#,
    touches: Touches::STORES,
};

async fn timer_start(input: TimerStartInput, context: ToolContext) -> Result<Output<TimerRow>, ToolError> {
    let now = Moment::now();
    let timer = store(&context).start_timer(&input.name, input.duration_seconds, &now)?;
    let note = if timer.waits() { schedule(&context).await } else { "" };
    let text = match timer.seconds {
        0 => format!("Stopwatch `{}` started", timer.name),
        _ => format!("Timer `{}` started: {}.{note}", timer.name, timer.due().describe(&now)),
    };
    Ok(Output::line(text, TimerRow::new(&timer, &now)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimerCheckInput {
    /// Its name; empty: all.
    #[serde(default)]
    name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TimersData {
    timers: Vec<TimerRow>,
}

const TIMER_CHECK: ToolFacts = ToolFacts {
    name: "timer_check",
    description: "Show how far a timer or stopwatch is, or all of them.",
    example: r#"{"name": "pasta"}"#,
    touches: Touches::READS,
};

async fn timer_check(input: TimerCheckInput, context: ToolContext) -> Result<Output<TimersData>, ToolError> {
    let now = Moment::now();
    let timers = store(&context).timers(&input.name)?;
    let lines = timer_lines(&timers, &now);
    let text = if lines.is_empty() { "No timers run.".to_string() } else { lines.join("\n") };
    let rows = timers.iter().map(|timer| TimerRow::new(timer, &now)).collect();
    Ok(Output::new(count(timers.len(), "timer"), text, TimersData { timers: rows }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TimerStopInput {
    name: String,
}

const TIMER_STOP: ToolFacts = ToolFacts {
    name: "timer_stop",
    description: "Stop a timer or stopwatch and say how far it was.",
    example: r#"{"name": "pasta"}"#,
    touches: Touches::STORES,
};

async fn timer_stop(input: TimerStopInput, context: ToolContext) -> Result<Output<TimerRow>, ToolError> {
    let now = Moment::now();
    let timer = store(&context).stop_timer(&input.name)?;
    if timer.waits() {
        schedule(&context).await;
    }
    let text = format!("Stopped {}: {}", timer.name, describe_timer(&timer, &now));
    Ok(Output::line(text, TimerRow::new(&timer, &now)))
}
