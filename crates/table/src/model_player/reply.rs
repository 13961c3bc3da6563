//! Parser of a model's reply: the last JSON object in it that is an answer.

use marvin_mtg::surface::CompactAnswer;
use serde::Deserialize;

/// Objects of a reply that are looked at, from its end.
const MAX_OBJECTS: usize = 64;

/// Characters of a remark.
const MAX_REMARK_CHARS: usize = 200;

/// Why a reply has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReplyProblem {
    #[error("cannot read reply: it has no JSON object with an answer")]
    NoAnswer,
    #[error("cannot read reply: it has more than one answer")]
    SeveralAnswers,
    #[error("cannot read reply: it is too long")]
    TooLong,
}

/// Answer in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelReply {
    pub answer: CompactAnswer,
    pub remark: Option<String>,
}

/// Reply as JSON; other fields are ignored.
#[derive(Debug, Deserialize)]
struct RawReply {
    action: Option<String>,
    options: Option<Vec<String>>,
    attackers: Option<Vec<(String, String)>>,
    blockers: Option<Vec<(String, String)>>,
    amounts: Option<Vec<i32>>,
    say: Option<String>,
}

impl RawReply {
    fn into_reply(self) -> Result<ModelReply, ReplyProblem> {
        let mut answers = [
            self.action.map(CompactAnswer::Action),
            self.options.map(CompactAnswer::Options),
            self.attackers.map(CompactAnswer::Attackers),
            self.blockers.map(CompactAnswer::Blockers),
            self.amounts.map(CompactAnswer::Amounts),
        ]
        .into_iter()
        .flatten();
        let answer = answers.next().ok_or(ReplyProblem::NoAnswer)?;
        if answers.next().is_some() {
            return Err(ReplyProblem::SeveralAnswers);
        }
        let remark = self.say.map(|text| text.trim().chars().take(MAX_REMARK_CHARS).collect::<String>());
        Ok(ModelReply { answer, remark: remark.filter(|text| !text.is_empty()) })
    }
}

/// Finds the answer in a reply: the last object that has one, so that reasoning before it does not count.
pub(super) fn read_reply(text: &str) -> Result<ModelReply, ReplyProblem> {
    let mut problem = ReplyProblem::NoAnswer;
    let starts = text.char_indices().rev().filter(|(_, one)| *one == '{').take(MAX_OBJECTS);
    for (start, _) in starts {
        let Some(rest) = text.get(start..) else { continue };
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<RawReply>();
        let Some(Ok(raw)) = values.next() else { continue };
        match raw.into_reply() {
            Ok(reply) => return Ok(reply),
            Err(ReplyProblem::SeveralAnswers) => problem = ReplyProblem::SeveralAnswers,
            Err(_) => {}
        }
    }
    Err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(text: &str) -> Option<String> {
        match read_reply(text).ok()?.answer {
            CompactAnswer::Action(id) => Some(id),
            _ => None,
        }
    }

    #[test]
    fn the_last_object_with_an_answer_counts() {
        assert_eq!(action(r#"{"action": "a1"}"#).as_deref(), Some("a1"));
        let reasoned = "I could {\"action\": \"a9\"} but no.\n```json\n{\"reasoning\": \"x\", \"action\": \"a2\"}\n``` done";
        assert_eq!(action(reasoned).as_deref(), Some("a2"));
        assert_eq!(action(r#"{"answer": {"action": "a3"}}"#).as_deref(), Some("a3"));
    }

    #[test]
    fn replies_without_one_answer_are_problems() {
        for text in ["", "pass", "{", "[]", r#"{"action": 3}"#, r#"{"concede": true}"#, "{{{{{{"] {
            assert_eq!(read_reply(text), Err(ReplyProblem::NoAnswer), "{text}");
        }
        let both = r#"{"action": "a1", "options": ["o1"]}"#;
        assert_eq!(read_reply(both), Err(ReplyProblem::SeveralAnswers));
    }

    #[test]
    fn a_remark_is_bounded() {
        let reply = read_reply(&format!(r#"{{"action": "a0", "say": "{}"}}"#, "x".repeat(5_000))).unwrap();
        assert_eq!(reply.remark.map(|text| text.len()), Some(MAX_REMARK_CHARS));
    }
}
