//! Lessons of retries: written before the next attempt begins, and retrieved for it.

use marvin_base::truncate;
use marvin_memory::MemoryError;
use marvin_memory::lessons::{Lesson, Lessons, Query};

/// Characters of one lesson that a worker is given.
const MAX_LESSON_CHARS: usize = 2_000;

/// A store of lessons.
pub trait Teacher: Send {
    /// Stores a lesson and returns its id.
    ///
    /// # Errors
    /// When it cannot be written; then the step is not retried.
    fn keep(&mut self, lesson: &Lesson) -> Result<String, MemoryError>;

    /// Matching lessons, as text for a worker.
    fn recall(&mut self, query: &Query) -> Vec<String>;

    /// The text of a stored lesson.
    fn read(&mut self, _id: &str) -> Option<String> {
        None
    }
}

/// Lessons in the memory of the project.
#[derive(Debug)]
pub struct MemoryTeacher {
    lessons: Lessons,
}

impl MemoryTeacher {
    #[must_use]
    pub fn new(lessons: Lessons) -> Self {
        MemoryTeacher { lessons }
    }
}

impl Teacher for MemoryTeacher {
    fn keep(&mut self, lesson: &Lesson) -> Result<String, MemoryError> {
        let path = self.lessons.write(lesson)?;
        Ok(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default())
    }

    fn recall(&mut self, query: &Query) -> Vec<String> {
        // Lessons are optional: an unreadable index must not stop the run.
        let found = self.lessons.retrieve(query).unwrap_or_default();
        found.into_iter().map(|found| truncate::head(&found.lesson.body, MAX_LESSON_CHARS)).collect()
    }

    fn read(&mut self, id: &str) -> Option<String> {
        self.lessons.read(id).ok().map(|lesson| truncate::head(&lesson.body, MAX_LESSON_CHARS))
    }
}
