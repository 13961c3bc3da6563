//! The format of one ticket: Markdown below a few lines of frontmatter.
//!
//! A [`Ticket`] is the bytes of its file and the ranges of its fields in them. Changing a field changes its own line and
//! nothing else: unknown keys, comments, line endings, a missing final newline and bytes that are not text stay as they
//! are. It writes the format of the original `tk` and reads a little more (Windows line endings, comments behind values,
//! quoted words); a line of three dashes in the body has no meaning here.

use std::borrow::Cow;
use std::ops::Range;

pub const STATUSES: [&str; 3] = ["open", "in_progress", "closed"];
pub const TYPES: [&str; 5] = ["bug", "feature", "task", "epic", "chore"];
/// Highest first.
pub const PRIORITIES: [&str; 5] = ["0", "1", "2", "3", "4"];

/// Fields that hold free text, in which `#` does not begin a comment.
const FREE: [&str; 2] = ["assignee", "external-ref"];
const LISTS: [&str; 3] = ["deps", "links", "tags"];
const FENCE: &[u8] = b"---";
const BOM: &[u8] = b"\xef\xbb\xbf";
const LIST_ITEM: &[u8] = b"- ";
const NOTES_HEADING: &[u8] = b"## Notes";

/// Why a file is not a ticket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("it does not begin with a line `---`")]
    NoFrontmatter,
    #[error("its frontmatter has no closing line `---`")]
    Unclosed,
    #[error("its frontmatter has no line `id: …`")]
    NoId,
    #[error("`{0}` is written over several lines; write it as `{0}: [a, b]`")]
    Block(String),
}

/// A field of the frontmatter, as a range of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    key: String,
    /// Without surrounding spaces and without a comment; lists with their brackets.
    value: Range<usize>,
}

/// A ticket as it is in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// Offset of the second line.
    start: usize,
    /// Offset of the body.
    body: usize,
}

impl Ticket {
    /// Parses the bytes of a file. Any bytes are either a ticket or a [`Damage`].
    ///
    /// # Errors
    /// When the frontmatter is missing, has no end or no id, or holds a list over several lines.
    pub fn parse(bytes: &[u8]) -> Result<Ticket, Damage> {
        let mut lines = Lines { bytes, at: 0 };
        let first = lines.next().ok_or(Damage::NoFrontmatter)?;
        let from = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        if !is_fence(bytes.get(from..first.end).unwrap_or_default()) {
            return Err(Damage::NoFrontmatter);
        }
        let start = lines.at;
        let mut fields: Vec<Field> = Vec::new();
        // A list without a value, which may continue on the next line.
        let mut open: Option<String> = None;
        for line in lines.by_ref() {
            let text = part(bytes, &line);
            if is_fence(text) {
                let ticket = Ticket { bytes: bytes.to_vec(), fields, start, body: lines.at };
                return if ticket.field("id").is_some() { Ok(ticket) } else { Err(Damage::NoId) };
            }
            if let Some(key) = open.take()
                && text.trim_ascii_start().starts_with(LIST_ITEM)
            {
                return Err(Damage::Block(key));
            }
            if let Some(field) = field(bytes, &line) {
                open = (LISTS.contains(&field.key.as_str()) && field.value.is_empty())
                    .then(|| field.key.clone());
                fields.push(field);
            }
        }
        Err(Damage::Unclosed)
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The body: everything below the frontmatter.
    #[must_use]
    pub fn body(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes.get(self.body..).unwrap_or_default())
    }

    /// Every field in its order, lists with their brackets.
    pub fn fields(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.fields.iter().map(|field| (field.key.as_str(), self.text_at(&field.value)))
    }

    /// The value of a field, without quotes around it; empty when there is none.
    #[must_use]
    pub fn value(&self, key: &str) -> String {
        let Some(field) = self.field(key) else { return String::new() };
        let text = self.text_at(&field.value);
        let unquoted = ['"', '\'']
            .iter()
            .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
            .filter(|inner| !inner.is_empty());
        unquoted.unwrap_or(&text).to_string()
    }

    /// The words of a list field.
    #[must_use]
    pub fn list(&self, key: &str) -> Vec<String> {
        let Some(field) = self.field(key) else { return Vec::new() };
        let text = |place: &Range<usize>| self.text_at(place).into_owned();
        self.items(field).iter().map(text).collect()
    }

    /// The id in the file, which may differ from its name.
    #[must_use]
    pub fn id(&self) -> String {
        self.value("id")
    }

    /// The status, which may be an unknown word.
    #[must_use]
    pub fn status(&self) -> String {
        self.value("status")
    }

    /// The first heading of the body, on one line and without control characters.
    #[must_use]
    pub fn title(&self) -> String {
        let mut lines = Lines { bytes: &self.bytes, at: self.body };
        let heading = lines.find_map(|line| part(&self.bytes, &line).strip_prefix(b"# "));
        let text = String::from_utf8_lossy(heading.unwrap_or_default());
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
    }

    /// Sets a field; a missing one is added at the top.
    pub fn set(&mut self, key: &str, value: &str) {
        match self.field(key).cloned() {
            Some(field) if field.value.is_empty() => {
                let comment = self.bytes.get(field.value.end) == Some(&b'#');
                self.replace(field.value, &format!(" {value}{}", if comment { " " } else { "" }));
            }
            Some(field) => self.replace(field.value, value),
            None => {
                let line = format!("{key}: {value}{}", self.ending());
                self.replace(self.start..self.start, &line);
            }
        }
    }

    /// Adds a word to a list, unless it contains the word; returns whether it changed.
    pub fn add(&mut self, key: &str, word: &str) -> bool {
        let Some(field) = self.field(key).cloned() else {
            self.set(key, &format!("[{word}]"));
            return true;
        };
        let items = self.items(&field);
        if items.iter().any(|item| self.text_at(item) == word) {
            return false;
        }
        let text = self.text_at(&field.value).into_owned();
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if !items.is_empty() && inner.is_some_and(|inner| !inner.contains(['[', ']'])) {
            let at = field.value.end - 1;
            self.replace(at..at, &format!(", {word}"));
        } else {
            let mut words = self.list(key);
            words.push(word.to_string());
            self.set(key, &format!("[{}]", words.join(", ")));
        }
        true
    }

    /// Removes a word from a list; returns whether it changed.
    pub fn remove(&mut self, key: &str, word: &str) -> bool {
        let mut removed = false;
        while let Some(place) = self.place_of(key, word) {
            // A list without brackets becomes `[]`: an empty value could continue on the next line.
            let alone = self.field(key).is_some_and(|field| field.value == place);
            let before = self.bytes.clone();
            self.replace(place, if alone { "[]" } else { "" });
            if self.bytes == before {
                break;
            }
            removed = true;
        }
        removed
    }

    /// The range of a word with its separator.
    fn place_of(&self, key: &str, word: &str) -> Option<Range<usize>> {
        let items = self.items(self.field(key)?);
        let at = items.iter().position(|item| self.text_at(item) == word)?;
        let item = items.get(at)?;
        let before = at.checked_sub(1).and_then(|at| items.get(at));
        Some(match (before, items.get(at + 1)) {
            (Some(before), _) => before.end..item.end,
            (None, Some(after)) => item.start..after.start,
            (None, None) => item.clone(),
        })
    }

    /// Appends a note, with the heading of notes before the first one.
    pub fn add_note(&mut self, stamp: &str, text: &str) {
        let mut lines = Lines { bytes: &self.bytes, at: self.body };
        let has_notes = lines.any(|line| part(&self.bytes, &line).starts_with(NOTES_HEADING));
        let mut added = String::new();
        if !self.bytes.ends_with(b"\n") {
            added.push('\n');
        }
        if !has_notes {
            added.push_str("\n## Notes\n");
        }
        added.push_str(&format!("\n**{stamp}**\n\n{text}\n"));
        if self.ending() == "\r\n" {
            added = added.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        let end = self.bytes.len();
        self.replace(end..end, &added);
    }

    /// The last field of this name, which is the one that counts.
    fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().rev().find(|field| field.key == key)
    }

    /// The ranges of a list's words, without brackets and spaces.
    fn items(&self, field: &Field) -> Vec<Range<usize>> {
        let mut items = Vec::new();
        let mut start = field.value.start;
        for (at, byte) in (field.value.start..).zip(part(&self.bytes, &field.value)) {
            if matches!(byte, b',' | b'[' | b']') {
                items.push(start..at);
                start = at + 1;
            }
        }
        items.push(start..field.value.end);
        let trimmed = items.into_iter().map(|item| trimmed(&self.bytes, item));
        trimmed.filter(|item| !item.is_empty()).collect()
    }

    fn text_at(&self, place: &Range<usize>) -> Cow<'_, str> {
        String::from_utf8_lossy(part(&self.bytes, place))
    }

    /// The line ending of the file, by its first line.
    fn ending(&self) -> &'static str {
        let first = self.bytes.get(..self.start).unwrap_or_default();
        if first.ends_with(b"\r\n") { "\r\n" } else { "\n" }
    }

    /// Replaces a range and parses the fields again.
    fn replace(&mut self, place: Range<usize>, text: &str) {
        let mut bytes = self.bytes.get(..place.start).unwrap_or_default().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(self.bytes.get(place.end..).unwrap_or_default());
        // The values have no line breaks and replace values, so it is still a ticket.
        if let Ok(ticket) = Ticket::parse(&bytes) {
            *self = ticket;
        }
    }
}

/// The lines of some bytes, as ranges without line endings.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|byte| *byte == b'\n');
        self.at = start + length.map_or(rest.len(), |length| length + 1);
        let mut end = start + length.unwrap_or(rest.len());
        if end > start && self.bytes.get(end - 1) == Some(&b'\r') {
            end -= 1;
        }
        Some(start..end)
    }
}

fn part<'a>(bytes: &'a [u8], place: &Range<usize>) -> &'a [u8] {
    bytes.get(place.clone()).unwrap_or_default()
}

fn is_fence(line: &[u8]) -> bool {
    line.trim_ascii_end() == FENCE
}

fn is_space(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b' ' | b'\t'))
}

/// The range without the spaces at its ends.
fn trimmed(bytes: &[u8], place: Range<usize>) -> Range<usize> {
    let Range { mut start, mut end } = place;
    while start < end && is_space(bytes.get(start)) {
        start += 1;
    }
    while start < end && is_space(bytes.get(end - 1)) {
        end -= 1;
    }
    start..end
}

/// The field of a line `key: value`, if it is one.
fn field(bytes: &[u8], line: &Range<usize>) -> Option<Field> {
    let text = part(bytes, line);
    let colon = text.iter().position(|byte| *byte == b':')?;
    let key = text.get(..colon)?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !key.first()?.is_ascii_alphabetic() || !key.iter().all(plain) {
        return None;
    }
    let key = String::from_utf8_lossy(key).into_owned();
    let after = line.start + colon + 1;
    let mut value = trimmed(bytes, after..line.end);
    if LISTS.contains(&key.as_str()) && bytes.get(value.start) == Some(&b'[') {
        if let Some(close) = part(bytes, &value).iter().position(|byte| *byte == b']') {
            value.end = value.start + close + 1;
        }
    } else if !FREE.contains(&key.as_str()) {
        let comment = |at: &usize| {
            bytes.get(*at) == Some(&b'#') && (*at == value.start || is_space(bytes.get(at.wrapping_sub(1))))
        };
        if let Some(at) = value.clone().find(comment) {
            value = trimmed(bytes, value.start..at);
        }
    }
    if value.is_empty() {
        // The position of a value: right behind the colon.
        value = after..after;
    }
    Some(Field { key, value })
}

#[cfg(test)]
mod tests;
