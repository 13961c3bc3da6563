//! The file format of a lesson: written strictly, parsed leniently, because a person may have written it.

use super::{Header, Lesson};
use serde_json::{Map, Value};

/// The reason why a file is not a lesson.
#[derive(Debug, thiserror::Error)]
pub(super) enum LessonError {
    #[error("it does not begin with a JSON object: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it is empty")]
    Empty,
}

pub(super) fn text(lesson: &Lesson) -> String {
    let header = serde_json::to_value(&lesson.header).unwrap_or_default();
    // The keys are sorted, whatever the order of the fields.
    let sorted: std::collections::BTreeMap<String, Value> =
        header.as_object().cloned().unwrap_or_default().into_iter().collect();
    let header = serde_json::to_string(&sorted).unwrap_or_default();
    let body = lesson.body.trim_end();
    format!("{header}\n---\n{body}\n")
}

/// Parses a JSON object, wherever it ends, a line `---`, and the body.
///
/// Fields that are missing or not texts are left empty; the file name is the id.
pub(super) fn parse(bytes: &[u8], id: &str) -> Result<Lesson, LessonError> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    let header = stream.next().ok_or(LessonError::Empty)??;
    let rest = text.get(stream.byte_offset()..).unwrap_or_default().trim_start();
    let body = match rest.strip_prefix("---") {
        // Only a line `---` is the separator; `----` and `---x` belong to the body.
        Some(after) if after.is_empty() || after.starts_with(['\n', '\r']) => {
            after.trim_start_matches(['\r', '\n'])
        }
        _ => rest,
    };
    let word = |key: &str| match header.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let tags = match header.get("tags") {
        Some(Value::Array(tags)) => tags.iter().filter_map(Value::as_str).map(str::to_string).collect(),
        Some(Value::String(tags)) => {
            tags.split([',', ' ']).filter(|tag| !tag.is_empty()).map(str::to_string).collect()
        }
        _ => Vec::new(),
    };
    Ok(Lesson {
        header: Header {
            id: id.to_string(),
            timestamp: word("timestamp"),
            task_id: word("task_id"),
            step_id: word("step_id"),
            failure_signature: word("failure_signature"),
            strategy_id: word("strategy_id"),
            tags,
            component: word("component"),
            root_cause_hypothesis: word("root_cause_hypothesis"),
            strategy_change: word("strategy_change"),
            evidence_of_novelty: word("evidence_of_novelty"),
        },
        body: body.trim_end().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_separator_inside_the_json_is_text() {
        let header = Header {
            id: "lesson-1".into(),
            root_cause_hypothesis: "the file\n---\nwas cut at ---".into(),
            tags: vec!["---".into(), "a b".into()],
            ..Header::default()
        };
        let lesson = Lesson { header, body: "# What\n\n---\nmore ---".into() };
        let text = text(&lesson);
        assert!(text.starts_with("{\"component\":\"\",\"evidence_of_novelty\""), "{text}");
        assert_eq!(text.lines().nth(1), Some("---"));
        assert_eq!(parse(text.as_bytes(), "lesson-1").unwrap(), lesson);
    }

    #[test]
    fn a_person_may_write_it_otherwise() {
        let text = "\u{feff}{\n  \"tags\": \"io, disk\",\n  \"step_id\": 3,\n \"component\": [\"x\"], \"mine\": 1}\r\n---\r\nLook first.\r\n";
        let lesson = parse(text.as_bytes(), "by-hand").unwrap();
        assert_eq!((lesson.header.id.as_str(), lesson.header.step_id.as_str()), ("by-hand", "3"));
        assert_eq!(
            (lesson.header.tags.as_slice(), lesson.header.component.as_str()),
            (&["io".to_string(), "disk".into()][..], "")
        );
        assert_eq!(lesson.body, "Look first.");
        assert_eq!(parse(b"{} no border", "x").unwrap().body, "no border");
        assert_eq!(parse(b"{}\n----\n", "x").unwrap().body, "----");
        for bad in [&b""[..], b"---\nx", b"[1]\n---\n", b"\xff\xfe", b"{\"a\":"] {
            assert!(parse(bad, "x").is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_breaks_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, "x");
        }

        #[test]
        fn what_is_written_is_read(cause in ".*", body in "[a-z\n-]{0,60}", tag in ".{1,20}") {
            let header = Header { id: "l".into(), root_cause_hypothesis: cause, tags: vec![tag], ..Header::default() };
            // Blank lines after the separator are not kept.
            let body = body.trim_start_matches('\n').trim_end().to_string();
            let lesson = Lesson { header, body };
            prop_assert_eq!(parse(text(&lesson).as_bytes(), "l").unwrap(), lesson);
        }
    }
}
