//! Provider credentials as data: one row per format, with examples that a test checks.
//!
//! To add a provider, add a row to the file of its kind: its name, the literals that every match contains, the regex, what
//! else must hold, and templates of texts that it finds and spares (see [`super::samples`]).

mod clouds;
mod forges;
mod keys;
mod messages;
mod models;
mod payments;
mod services;
mod systems;

use super::shape::Shape;
use std::sync::LazyLock;

const KINDS: [&[Shape]; 8] = [
    keys::SHAPES,
    forges::SHAPES,
    clouds::SHAPES,
    models::SHAPES,
    messages::SHAPES,
    payments::SHAPES,
    services::SHAPES,
    systems::SHAPES,
];

/// The rows of all kinds.
pub(super) static SHAPES: LazyLock<Vec<&'static Shape>> =
    LazyLock::new(|| KINDS.into_iter().flatten().collect());
