//! Replies that are notes.

use super::{Course, Halt, Turn};
use crate::outcome::Status;
use crate::stages::{MAX_NOTES_ONLY_REPLIES, Notes};
use marvin_model::{Message, Reply};

impl Turn {
    /// Handles a reply of nothing but notes: requests the answer, a bounded number of times.
    pub(super) fn noted(&self, course: &mut Course, reply: &Reply, notes: &Notes) -> Result<(), Halt> {
        course.noted += 1;
        if course.noted > MAX_NOTES_ONLY_REPLIES {
            let error = format!("the model gave its notes {} times and no answer", course.noted);
            return self.over(course, Status::Failed, "only_notes", Some(error));
        }
        course.empty = 0;
        let again = course.noted > 1;
        let word =
            self.stages.as_ref().and_then(|stages| stages.word(notes, true, again)).unwrap_or_default();
        // Vendors refuse a message of nothing.
        let text = if reply.text.is_empty() { "(notes)" } else { &reply.text };
        let reply =
            Message::Assistant { content: text.into(), tool_calls: Vec::new(), opaque: reply.opaque.clone() };
        self.feed(course, vec![reply, Message::user(word)])?;
        Ok(())
    }

    /// Adds the message that follows the tools of a reply with notes.
    pub(super) fn after_notes(&self, course: &mut Course, notes: Option<&Notes>) -> Result<(), Halt> {
        let (Some(stages), Some(notes)) = (&self.stages, notes) else { return Ok(()) };
        if let Some(word) = stages.word(notes, false, false) {
            self.feed(course, vec![Message::user(word)])?;
        }
        Ok(())
    }
}
