//! Polling: a command that is run again and again until it succeeds, which is not a retry.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

const MAX_PAUSE: Duration = Duration::from_secs(3_600);
const MAX_POLLS: u32 = 10_000;

/// `poll: {every: 5s, until: …, max_attempts: 60}` of a `Command`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    pub every: Pause,
    /// What must hold besides exit code 0, each `KIND:ASSERTION`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_many")]
    pub until: Vec<String>,
    #[serde(default = "default_polls")]
    pub max_attempts: u32,
}

impl Poll {
    /// Whether its numbers are within their bounds.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        (1..=MAX_POLLS).contains(&self.max_attempts)
            && (Duration::from_secs(1)..=MAX_PAUSE).contains(&self.every.0)
    }
}

fn default_polls() -> u32 {
    60
}

/// Time between two polls: `5`, `5s`, `2m` or `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause(pub Duration);

impl Serialize for Pause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}s", self.0.as_secs()))
    }
}

impl<'de> Deserialize<'de> for Pause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum PauseForm {
            Seconds(u64),
            Text(String),
        }
        let seconds = match PauseForm::deserialize(deserializer)? {
            PauseForm::Seconds(seconds) => Some(seconds),
            PauseForm::Text(text) => parse_seconds(&text),
        };
        let seconds = seconds.ok_or_else(|| serde::de::Error::custom("not a time such as 5s"))?;
        Ok(Pause(Duration::from_secs(seconds)))
    }
}

fn parse_seconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let factor = match text.get(digits.len()..)? {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum UntilForm {
        One(String),
        Many(Vec<String>),
    }
    Ok(match UntilForm::deserialize(deserializer)? {
        UntilForm::One(text) => vec![text],
        UntilForm::Many(texts) => texts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pause_is_read_as_people_write_it() {
        for (written, seconds) in [(json!(5), 5), (json!("5"), 5), (json!("5s"), 5), (json!("2m"), 120)] {
            let poll: Poll = serde_json::from_value(json!({"every": written})).unwrap();
            assert_eq!((poll.every.0.as_secs(), poll.max_attempts), (seconds, 60));
            assert_eq!(serde_json::from_value::<Poll>(json!(poll)).unwrap(), poll);
        }
        for wrong in
            [json!("soon"), json!("5 s"), json!("-1s"), json!("5d"), json!(-1), json!(1.5), json!("")]
        {
            assert!(serde_json::from_value::<Poll>(json!({"every": wrong})).is_err(), "{wrong}");
        }
        let long: Poll = serde_json::from_value(json!({"every": "9h", "until": "file_exists:x"})).unwrap();
        assert!(!long.is_bounded() && long.until == ["file_exists:x"]);
    }
}
