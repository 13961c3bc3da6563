//! The tools of alarms and timers.

use super::error::AlarmError;
use super::schedule::{Scheduler, ensure_scheduler};
use super::store::{Alarm, AlarmStore, Timer, describe_timer};
use super::time::Moment;
use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::{NoInput, Tool};
use async_trait::async_trait;
use marvin_base::environment::Environment;
use marvin_base::printable::count;
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

impl From<AlarmError> for ToolError {
    fn from(error: AlarmError) -> Self {
        if error.is_usage() {
            ToolError::Usage(error.to_string())
        } else {
            ToolError::Failed(error.to_string())
        }
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
pub struct AlarmRow {
    pub label: String,
    pub message: String,
    /// The moment, in UTC.
    pub due: String,
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

/// Lines of the alarms that wait, in the order of their time.
#[must_use]
pub fn alarm_lines(alarms: &[Alarm], now: &Moment) -> Vec<String> {
    let mut sorted: Vec<&Alarm> = alarms.iter().collect();
    sorted.sort_by_key(|alarm| alarm.due.instant(now));
    sorted
        .iter()
        .map(|alarm| format!("{}  {}: {}", alarm.due.describe(now), alarm.label, alarm.message))
        .collect()
}

#[derive(Debug, Clone, Copy)]
pub struct SetAlarm;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAlarmInput {
    /// `07:30`, `2026-11-20 15:00`, or a duration: `30m`, `2h`, `1h30m`.
    time: String,
    message: String,
    /// A name to cancel it by.
    #[serde(default = "default_label")]
    label: String,
}

fn default_label() -> String {
    "local-finder-alarm".to_string()
}

#[async_trait]
impl Tool for SetAlarm {
    type Input = SetAlarmInput;
    type Data = AlarmRow;
    const NAME: &'static str = "set_alarm";
    const DESCRIPTION: &'static str =
        "Set an alarm: at a time or after a duration the person gets a notification with the message.";
    const EXAMPLE: &'static str = r#"{"time": "07:30", "message": "Time to get up", "label": "wake-up"}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(&self, input: SetAlarmInput, context: &ToolContext) -> Result<Output<AlarmRow>, ToolError> {
        let now = Moment::now();
        let alarm = store(context).set_alarm(&input.time, &input.message, &input.label, &now)?;
        let note = schedule(context).await;
        let text = format!("Alarm `{}` set for {}.{note}", alarm.label, alarm.due.describe(&now));
        Ok(Output::line(text, AlarmRow::new(&alarm, &now)))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct ListAlarms;

#[derive(Debug, Serialize, JsonSchema)]
pub struct AlarmsData {
    alarms: Vec<AlarmRow>,
}

#[async_trait]
impl Tool for ListAlarms {
    type Input = NoInput;
    type Data = AlarmsData;
    const NAME: &'static str = "list_alarms";
    const DESCRIPTION: &'static str = "List the alarms that are set.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, _input: NoInput, context: &ToolContext) -> Result<Output<AlarmsData>, ToolError> {
        let now = Moment::now();
        let alarms = store(context).read()?.alarms;
        let lines = alarm_lines(&alarms, &now);
        let text = if lines.is_empty() { "No alarms are set.".to_string() } else { lines.join("\n") };
        let rows = alarms.iter().map(|alarm| AlarmRow::new(alarm, &now)).collect();
        Ok(Output::new(count(alarms.len(), "alarm"), text, AlarmsData { alarms: rows }))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct CancelAlarm;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelAlarmInput {
    /// Its label, as `list_alarms` shows it.
    label: String,
}

#[async_trait]
impl Tool for CancelAlarm {
    type Input = CancelAlarmInput;
    type Data = AlarmRow;
    const NAME: &'static str = "cancel_alarm";
    const DESCRIPTION: &'static str = "Cancel an alarm by its label.";
    const EXAMPLE: &'static str = r#"{"label": "wake-up"}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: CancelAlarmInput,
        context: &ToolContext,
    ) -> Result<Output<AlarmRow>, ToolError> {
        let now = Moment::now();
        let alarm = store(context).cancel_alarm(&input.label)?;
        schedule(context).await;
        let text = format!("Cancelled `{}` ({})", alarm.label, alarm.due.describe(&now));
        Ok(Output::line(text, AlarmRow::new(&alarm, &now)))
    }
}

/// A timer or stopwatch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimerRow {
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

#[derive(Debug, Clone, Copy)]
pub struct TimerStart;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimerStartInput {
    name: String,
    /// 0: a stopwatch that counts up.
    #[serde(default)]
    duration_seconds: i64,
}

#[async_trait]
impl Tool for TimerStart {
    type Input = TimerStartInput;
    type Data = TimerRow;
    const NAME: &'static str = "timer_start";
    const DESCRIPTION: &'static str = "Start a timer, or a stopwatch without a duration.";
    const EXAMPLE: &'static str = r#"{"name": "pasta", "duration_seconds": 480}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: TimerStartInput,
        context: &ToolContext,
    ) -> Result<Output<TimerRow>, ToolError> {
        let now = Moment::now();
        let timer = store(context).start_timer(&input.name, input.duration_seconds, &now)?;
        let note = if timer.waits() { schedule(context).await } else { "" };
        let text = match timer.seconds {
            0 => format!("Stopwatch `{}` started", timer.name),
            _ => format!("Timer `{}` started: {}.{note}", timer.name, timer.due().describe(&now)),
        };
        Ok(Output::line(text, TimerRow::new(&timer, &now)))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct TimerCheck;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimerCheckInput {
    /// Its name; empty: all.
    #[serde(default)]
    name: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TimersData {
    timers: Vec<TimerRow>,
}

#[async_trait]
impl Tool for TimerCheck {
    type Input = TimerCheckInput;
    type Data = TimersData;
    const NAME: &'static str = "timer_check";
    const DESCRIPTION: &'static str = "Show how far a timer or stopwatch is, or all of them.";
    const EXAMPLE: &'static str = r#"{"name": "pasta"}"#;
    const TOUCHES: Touches = Touches::READS;

    async fn call(
        &self,
        input: TimerCheckInput,
        context: &ToolContext,
    ) -> Result<Output<TimersData>, ToolError> {
        let now = Moment::now();
        let timers = store(context).timers(&input.name)?;
        let lines = timer_lines(&timers, &now);
        let text = if lines.is_empty() { "No timers run.".to_string() } else { lines.join("\n") };
        let rows = timers.iter().map(|timer| TimerRow::new(timer, &now)).collect();
        Ok(Output::new(count(timers.len(), "timer"), text, TimersData { timers: rows }))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct TimerStop;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimerStopInput {
    name: String,
}

#[async_trait]
impl Tool for TimerStop {
    type Input = TimerStopInput;
    type Data = TimerRow;
    const NAME: &'static str = "timer_stop";
    const DESCRIPTION: &'static str = "Stop a timer or stopwatch and say how far it was.";
    const EXAMPLE: &'static str = r#"{"name": "pasta"}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: TimerStopInput,
        context: &ToolContext,
    ) -> Result<Output<TimerRow>, ToolError> {
        let now = Moment::now();
        let timer = store(context).stop_timer(&input.name)?;
        if timer.waits() {
            schedule(context).await;
        }
        let text = format!("Stopped {}: {}", timer.name, describe_timer(&timer, &now));
        Ok(Output::line(text, TimerRow::new(&timer, &now)))
    }
}
