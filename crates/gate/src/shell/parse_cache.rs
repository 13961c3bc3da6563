//! A cache of parsed texts: one judgement meets the same text several times. A judgement begins with none of it, so
//! that what is said of a line never depends on the lines before.

/// Texts that are kept.
const MAX_CACHED_TEXTS: usize = 48;
/// Bytes of the longest text that is kept.
const MAX_CACHED_TEXT_BYTES: usize = 4 * 1024;

/// Texts and what came of reading them.
#[derive(Debug)]
pub(super) struct ParseCache<T>(Vec<(Box<str>, T)>);

impl<T> ParseCache<T> {
    pub(super) const fn new() -> Self {
        ParseCache(Vec::new())
    }

    pub(super) fn get(&self, text: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| **known == *text).map(|(_, found)| found)
    }

    pub(super) fn keep(&mut self, text: &str, found: T) {
        if self.0.len() < MAX_CACHED_TEXTS && text.len() <= MAX_CACHED_TEXT_BYTES {
            self.0.push((text.into(), found));
        }
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
