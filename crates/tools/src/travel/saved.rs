//! Places that the person saved, in `saved_places.json` of their profile.

use super::point::Point;
use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::service::{needs, store};
use crate::tool::{NoInput, Tool};
use async_trait::async_trait;
use marvin_base::settings::{nearest_of, table};
use marvin_base::{clock, profile};
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Characters of one field.
const MAX_FIELD_CHARS: usize = 2_000;

/// One saved place. Empty and zero values are left out; fields that Marvin does not know stay.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct SavedPlace {
    label: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    address: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    phone: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    website: String,
    #[serde(skip_serializing_if = "is_zero")]
    lat: f64,
    #[serde(skip_serializing_if = "is_zero")]
    lng: f64,
    #[serde(skip_serializing_if = "String::is_empty")]
    notes: String,
    updated_at: String,
    #[serde(flatten)]
    other: Map<String, Value>,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

fn path(context: &ToolContext) -> PathBuf {
    let profile = profile::active(&context.layout, context.settings.given(&table::PROFILE));
    context.layout.saved_places(&profile)
}

fn normal_label(text: &str) -> String {
    text.trim().to_lowercase()
}

impl SavedPlace {
    fn line(&self) -> String {
        let mut parts = vec![self.label.clone(), self.name.clone(), self.address.clone()];
        if self.lat != 0.0 || self.lng != 0.0 {
            parts.push(format!("({}, {})", self.lat, self.lng));
        }
        parts.extend([self.phone.clone(), self.website.clone(), self.notes.clone()]);
        parts.retain(|part| !part.is_empty());
        parts.join(": ")
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SavePlace;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveInput {
    /// Its short name, such as "home"; a place of that label is changed.
    label: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    address: String,
    #[serde(default)]
    phone: String,
    #[serde(default)]
    website: String,
    #[serde(default)]
    lat: f64,
    #[serde(default)]
    lng: f64,
    #[serde(default)]
    notes: String,
}

#[async_trait]
impl Tool for SavePlace {
    type Input = SaveInput;
    type Data = SavedPlace;
    const NAME: &'static str = "save_place";
    const DESCRIPTION: &'static str =
        "Save a place under a label (home, work, …), or add facts to one that is saved.";
    const EXAMPLE: &'static str =
        r#"{"label": "home", "address": "1 Long Road, Springfield", "lat": 52.52, "lng": 13.405}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(&self, input: SaveInput, context: &ToolContext) -> Result<Output<SavedPlace>, ToolError> {
        let label = normal_label(&input.label);
        if label.is_empty() {
            return Err(needs(Self::NAME, "label", "a short name such as \"home\""));
        }
        Point::new(input.lat, input.lng)?;
        let texts = [&label, &input.name, &input.address, &input.phone, &input.website, &input.notes];
        if texts.iter().any(|text| text.chars().count() > MAX_FIELD_CHARS) {
            return Err(ToolError::Usage(format!("a field has at most {MAX_FIELD_CHARS} characters.")));
        }
        let place = store::change(&path(context), |places: &mut Vec<SavedPlace>| {
            let at = places.iter().position(|place| normal_label(&place.label) == label);
            let mut place = at.map(|at| places.remove(at)).unwrap_or_default();
            place.label = label;
            let texts = [
                (&mut place.name, input.name),
                (&mut place.address, input.address),
                (&mut place.phone, input.phone),
                (&mut place.website, input.website),
                (&mut place.notes, input.notes),
            ];
            for (old, new) in texts {
                if !new.trim().is_empty() {
                    *old = new.trim().to_string();
                }
            }
            if input.lat != 0.0 || input.lng != 0.0 {
                (place.lat, place.lng) = (input.lat, input.lng);
            }
            place.updated_at = clock::now_stamp();
            places.insert(at.unwrap_or(places.len()).min(places.len()), place.clone());
            Ok(place)
        })?;
        Ok(Output::line(format!("Saved {}", place.line()), place))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RemovePlace;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveInput {
    /// The label of the place.
    label: String,
}

#[async_trait]
impl Tool for RemovePlace {
    type Input = RemoveInput;
    type Data = SavedPlace;
    const NAME: &'static str = "remove_place";
    const DESCRIPTION: &'static str = "Remove a saved place by its label.";
    const EXAMPLE: &'static str = r#"{"label": "old office"}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(&self, input: RemoveInput, context: &ToolContext) -> Result<Output<SavedPlace>, ToolError> {
        let label = normal_label(&input.label);
        let place = store::change(&path(context), |places: &mut Vec<SavedPlace>| {
            let at = places.iter().position(|place| normal_label(&place.label) == label);
            at.map(|at| places.remove(at)).ok_or_else(|| {
                let labels: Vec<&str> = places.iter().map(|place| place.label.as_str()).collect();
                let near = nearest_of(&label, labels.iter().copied())
                    .map(|near| format!(" Did you mean `{near}`?"))
                    .unwrap_or_default();
                ToolError::Failed(format!(
                    "no place is saved as `{label}`.{near} Saved are: {}",
                    if labels.is_empty() { "none".into() } else { labels.join(", ") }
                ))
            })
        })?;
        Ok(Output::line(format!("Removed {}", place.line()), place))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ListPlaces;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SavedPlaces {
    places: Vec<SavedPlace>,
}

#[async_trait]
impl Tool for ListPlaces {
    type Input = NoInput;
    type Data = SavedPlaces;
    const NAME: &'static str = "list_places";
    const DESCRIPTION: &'static str = "List the places that the person saved.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, _input: NoInput, context: &ToolContext) -> Result<Output<SavedPlaces>, ToolError> {
        let places: Vec<SavedPlace> = store::read(&path(context))?;
        let lines: Vec<String> = places.iter().map(|place| format!("- {}", place.line())).collect();
        let text = if lines.is_empty() { "No place is saved yet.".into() } else { lines.join("\n") };
        let summary = marvin_base::printable::count(places.len(), "saved place");
        Ok(Output::new(summary, text, SavedPlaces { places }))
    }
}
