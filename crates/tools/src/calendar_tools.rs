//! The tools of the calendar. They also ensure that its reminders will ring.

use crate::alarms::ensure_scheduler;
use crate::calendar::{
    CalendarError, CalendarFile, Draft, EventRow, MAX_LISTED_EVENTS, Occurrence, list_text, upcoming,
    view_month,
};
use crate::context::ToolContext;
use crate::function_tool::ToolFacts;
use crate::result::{Output, ToolError};
use crate::tool::DynTool;
use jiff::tz::TimeZone;
use marvin_base::environment::Environment;
use marvin_base::printable::count;
use marvin_base::settings::table;
use marvin_base::{clock, profile};
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        CALENDAR_ADD_EVENT.with(calendar_add_event),
        CALENDAR_DELETE_EVENT.with(calendar_delete_event),
        CALENDAR_VIEW.with(calendar_view),
        CALENDAR_LIST_UPCOMING.with(calendar_list_upcoming),
    ]
}

impl From<CalendarError> for ToolError {
    fn from(error: CalendarError) -> Self {
        ToolError::from_reason(&error, error.hint(), error.is_usage())
    }
}

/// The calendar of the active profile.
fn calendar(context: &ToolContext) -> CalendarFile {
    let profile = profile::active(&context.layout, context.settings.given(&table::PROFILE));
    CalendarFile::new(context.layout.calendar(&profile))
}

/// Arms the reminders; the calendar itself is right also where that fails.
async fn arm_reminders(context: &ToolContext) {
    let environment = Environment::of_process();
    if let Err(error) = ensure_scheduler(&context.layout, &context.settings, &environment).await {
        tracing::warn!(%error, "no scheduler");
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct EventsData {
    events: Vec<EventRow>,
    /// Number of further events.
    left_out: usize,
}

impl EventsData {
    fn new(occurrences: &[Occurrence]) -> Self {
        EventsData {
            events: occurrences.iter().take(MAX_LISTED_EVENTS).map(EventRow::from).collect(),
            left_out: occurrences.len().saturating_sub(MAX_LISTED_EVENTS),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddEventInput {
    title: String,
    /// Day (`2026-11-20`) or time (`2026-11-20T15:00`), ISO 8601; without a zone it is local time. `[Europe/Berlin]` may follow.
    start: String,
    /// End in the same form; empty: an hour later, or the same day. Of whole days, the last.
    #[serde(default)]
    end: String,
    #[serde(default)]
    location: String,
    #[serde(default)]
    description: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AddEventData {
    uid: String,
    title: String,
}

const CALENDAR_ADD_EVENT: ToolFacts = ToolFacts {
    name: "calendar_add_event",
    description: "Add an event to the person's calendar. Reminders come 60 and 30 minutes before.",
    example: r#"{"title": "Dentist", "start": "2026-11-20T15:00", "end": "2026-11-20T15:30", "location": "Main St 5"}"#,
    touches: Touches::STORES,
};

async fn calendar_add_event(
    input: AddEventInput,
    context: ToolContext,
) -> Result<Output<AddEventData>, ToolError> {
    let file = calendar(&context);
    let local = TimeZone::system();
    let mut draft = Draft::new(&input.title, &input.start, &input.end, &local)?;
    draft.location = input.location;
    draft.description = input.description;
    let uid = file.add(&draft, clock::now())?;
    arm_reminders(&context).await;
    let added = file.events()?.into_iter().find(|event| event.uid == uid);
    let line = added.map(|event| event.line(&local)).unwrap_or_default();
    let text = format!("Added {}", line.trim_start_matches("- "));
    Ok(Output::line(text, AddEventData { uid, title: draft.title }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteEventInput {
    /// Its uid, as `calendar_list_upcoming` shows it.
    #[serde(default)]
    uid: String,
    /// A part of its title, where the uid is not known.
    #[serde(default)]
    title: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteEventData {
    uid: String,
    title: String,
}

const CALENDAR_DELETE_EVENT: ToolFacts = ToolFacts {
    name: "calendar_delete_event",
    description: "Delete an event (all of a series) from the calendar by uid or by a part of its title. If several match, they are listed: ask the person which one.",
    example: r#"{"title": "Dentist"}"#,
    touches: Touches::STORES,
};

async fn calendar_delete_event(
    input: DeleteEventInput,
    context: ToolContext,
) -> Result<Output<DeleteEventData>, ToolError> {
    let local = TimeZone::system();
    let event = calendar(&context).remove(&input.uid, &input.title, &local)?;
    arm_reminders(&context).await;
    let text = format!("Deleted {}", event.line(&local).trim_start_matches("- "));
    Ok(Output::line(text, DeleteEventData { uid: event.uid, title: event.title }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewInput {
    /// 1 to 12; 0: this month.
    #[serde(default)]
    month: i64,
    /// 0: this year.
    #[serde(default)]
    year: i64,
}

const CALENDAR_VIEW: ToolFacts = ToolFacts {
    name: "calendar_view",
    description: "Show a month of the calendar with its events.",
    example: r#"{"month": 12, "year": 2026}"#,
    touches: Touches::READS,
};

async fn calendar_view(input: ViewInput, context: ToolContext) -> Result<Output<EventsData>, ToolError> {
    let (text, found) = view_month(&calendar(&context), input.month, input.year, clock::now())?;
    Ok(Output::new(count(found.len(), "event"), text, EventsData::new(&found)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpcomingInput {
    /// Days to look ahead, 1 to 3660.
    #[serde(default = "default_days")]
    days: i64,
}

fn default_days() -> i64 {
    7
}

const CALENDAR_LIST_UPCOMING: ToolFacts = ToolFacts {
    name: "calendar_list_upcoming",
    description: "List the events of the next days, with their uids.",
    example: r#"{"days": 7}"#,
    touches: Touches::READS,
};

async fn calendar_list_upcoming(
    input: UpcomingInput,
    context: ToolContext,
) -> Result<Output<EventsData>, ToolError> {
    let found = upcoming(&calendar(&context), input.days, clock::now())?;
    Ok(Output::new(count(found.len(), "event"), list_text(&found, input.days), EventsData::new(&found)))
}
