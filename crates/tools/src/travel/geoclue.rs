//! The position of the machine, as GeoClue knows it: by GPS, Wi-Fi or mobile network.
//!
//! GeoClue is a service of the system bus, and a client of it belongs to one connection. Its own program `where-am-i` is such a
//! client, so Marvin needs no D-Bus library. GeoClue decides by its own rules who may ask, and on a desktop asks the person.
//!
//! Limits: GeoClue gives coordinates and no name of a place. Without GPS it asks a service that its own configuration names.

use crate::context::ToolContext;
use marvin_base::child::{self, Child, ChildError};
use marvin_base::environment::Environment;
use marvin_base::settings::table;
use marvin_model::choose;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// The name that people know.
pub(super) const NAME: &str = "GeoClue";
const LOCATE_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_OUTPUT_BYTES: u64 = 64 * 1024;

/// A position on the earth, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Position {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
    /// Radius in metres; none where the source does not say.
    pub(super) accuracy_m: Option<f64>,
}

/// Why GeoClue gave no position.
#[derive(Debug, thiserror::Error)]
pub(super) enum GeoClueError {
    #[error(transparent)]
    Start(#[from] ChildError),
    #[error("no position within {} s", LOCATE_TIMEOUT.as_secs())]
    Late,
    #[error("{0}")]
    Refused(String),
    #[error("cancelled")]
    Cancelled,
}

/// The program that asks GeoClue; none: it is not installed, or not wanted.
pub(super) fn find(context: &ToolContext) -> Option<PathBuf> {
    match context.settings.text(&table::GEOCLUE).trim() {
        "" | "off" => None,
        named => choose::find_program(named, &Environment::of_process()),
    }
}

/// Asks GeoClue for the position, and takes the first that it gives.
///
/// # Errors
/// When the program cannot be started, is refused, or finds nothing in time.
pub(super) async fn locate(program: &Path, context: &ToolContext) -> Result<Position, GeoClueError> {
    let seconds = LOCATE_TIMEOUT.as_secs().to_string();
    let mut child = Child::new(program).args(["--timeout", seconds.as_str()]);
    child.set.insert("LC_ALL".into(), "C.UTF-8".into());
    let (handle, (stdin, stdout, stderr)) = child::keep(&child)?;
    drop(stdin);
    let answer = tokio::select! {
        answer = read_answer(stdout, stderr) => answer,
        () = tokio::time::sleep(LOCATE_TIMEOUT) => Err(GeoClueError::Late),
        () = context.cancel.cancelled() => Err(GeoClueError::Cancelled),
    };
    handle.end().await;
    answer
}

/// Reads positions until one is complete.
async fn read_answer(
    stdout: impl AsyncRead + Unpin,
    stderr: impl AsyncRead + Unpin,
) -> Result<Position, GeoClueError> {
    let mut lines = BufReader::new(stdout.take(MAX_OUTPUT_BYTES)).lines();
    let mut partial = PartialPosition::default();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(position) = partial.add(&line) {
            return Ok(position);
        }
    }
    let mut reason = String::new();
    stderr.take(MAX_OUTPUT_BYTES).read_to_string(&mut reason).await.ok();
    let last = reason.lines().rev().find(|line| !line.trim().is_empty());
    Err(last.map_or(GeoClueError::Late, |line| {
        GeoClueError::Refused(marvin_base::truncate::line(&crate::service::clean(line), 200))
    }))
}

/// The fields of a position that were printed so far.
#[derive(Debug, Default)]
struct PartialPosition {
    latitude: Option<f64>,
    longitude: Option<f64>,
}

impl PartialPosition {
    /// Takes a line such as `Latitude:    48.117300°`; the accuracy is the last line of a position.
    fn add(&mut self, line: &str) -> Option<Position> {
        let (field, value) = line.split_once(':')?;
        let number = || {
            let text = value.trim().trim_end_matches('°');
            let text = text.split_whitespace().next()?;
            text.parse::<f64>().ok().filter(|number| number.is_finite())
        };
        match field.trim() {
            "Latitude" => self.latitude = number().filter(|it| it.abs() <= 90.0),
            "Longitude" => self.longitude = number().filter(|it| it.abs() <= 180.0),
            "Accuracy" => {
                let accuracy_m = number().filter(|metres| *metres > 0.0);
                return Some(Position { latitude: self.latitude?, longitude: self.longitude?, accuracy_m });
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answer(stdout: &str, stderr: &str) -> Result<Position, GeoClueError> {
        read_answer(stdout.as_bytes(), stderr.as_bytes()).await
    }

    #[tokio::test]
    async fn the_first_complete_position_is_taken() {
        let printed = "Client object: /org/freedesktop/GeoClue2/Client/1\n\nNew location:\nLatitude:    48.117300°\n\
                       Longitude:   -11.516667°\nAccuracy:    25.500000 meters\nAltitude:    545.4 meters\n\nNew location:\n\
                       Latitude:    1.0°\nLongitude:   1.0°\nAccuracy:    1.0 meters\n";
        let position = answer(printed, "").await.unwrap();
        let expected = Position { latitude: 48.1173, longitude: -11.516_667, accuracy_m: Some(25.5) };
        assert_eq!(position, expected);
    }

    #[tokio::test]
    async fn impossible_positions_and_refusals_are_not_positions() {
        for (stdout, stderr, reason) in [
            ("Latitude: 148.1°\nLongitude: 11.5°\nAccuracy: 25.0 meters\n", "", "no position within 10 s"),
            ("Latitude: nan°\nLongitude: 11.5°\nAccuracy: 25.0 meters\n", "", "no position within 10 s"),
            ("Accuracy: 25.0 meters\n", "** CRITICAL: Access \u{1b}[31mdenied\n\n", "Access"),
        ] {
            let error = answer(stdout, stderr).await.unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains('\u{1b}'), "{error}");
        }
    }
}
