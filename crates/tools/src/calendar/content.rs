//! Content lines of an iCalendar file, each with the bytes that it was read from.
//!
//! Marvin changes a few components of a file that other programs write too, so a file is a list of lines, and whatever is
//! not changed is written back byte for byte: properties that Marvin does not know, their order, how lines are folded and
//! ended. (The crate `icalendar` sorts properties into maps, which loses order and repeated lines.)

use super::error::CalendarError;
use std::ops::Range;

/// Bytes of a folded line, without its line break.
const MAX_LINE_BYTES: usize = 75;
/// Components inside components.
const MAX_NESTING: usize = 16;

/// A content line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentLine {
    /// The bytes in the file, with folds and the line break.
    raw: Vec<u8>,
    /// Number of its first line in the file, from 1.
    number: usize,
    /// Name of the property in upper case.
    pub name: String,
    /// Parameters; names in upper case.
    pub parameters: Vec<(String, String)>,
    /// The value as it stands there, with escapes.
    pub value: String,
}

impl ContentLine {
    /// A new line. The value is written as it is.
    #[must_use]
    pub fn new(name: &str, parameters: &[(&str, &str)], value: &str) -> Self {
        let mut text = name.to_string();
        for (key, parameter) in parameters {
            let quoted = parameter.contains([':', ';', ',']);
            text.push_str(&if quoted {
                format!(";{key}=\"{parameter}\"")
            } else {
                format!(";{key}={parameter}")
            });
        }
        text.push(':');
        text.push_str(value);
        ContentLine {
            raw: fold(&text),
            number: 0,
            name: name.to_string(),
            parameters: parameters.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
            value: value.to_string(),
        }
    }

    /// A new line whose value is text.
    #[must_use]
    pub fn text(name: &str, text: &str) -> Self {
        ContentLine::new(name, &[], &escape(text))
    }

    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.name == name && self.value.trim().eq_ignore_ascii_case(value)
    }
}

/// Escapes text for a value. Control characters other than line breaks and tabs cannot stand in one.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.replace("\r\n", "\n").chars() {
        match char {
            '\\' => escaped.push_str("\\\\"),
            ';' => escaped.push_str("\\;"),
            ',' => escaped.push_str("\\,"),
            '\n' => escaped.push_str("\\n"),
            char if char.is_control() && char != '\t' => {}
            char => escaped.push(char),
        }
    }
    escaped
}

/// The text of an escaped value.
#[must_use]
pub(super) fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        match (char, if char == '\\' { chars.next() } else { None }) {
            ('\\', Some('n' | 'N')) => text.push('\n'),
            ('\\', Some(other)) => text.push(other),
            (char, _) => text.push(char),
        }
    }
    text
}

/// A logical line in the form of the file: folded, ended by CRLF.
fn fold(text: &str) -> Vec<u8> {
    let mut folded = Vec::with_capacity(text.len() + 8);
    let mut room = MAX_LINE_BYTES;
    let mut units = [0; 4];
    for char in text.chars() {
        let bytes = char.encode_utf8(&mut units).as_bytes();
        if bytes.len() > room {
            folded.extend_from_slice(b"\r\n ");
            room = MAX_LINE_BYTES - 1;
        }
        folded.extend_from_slice(bytes);
        room = room.saturating_sub(bytes.len());
    }
    folded.extend_from_slice(b"\r\n");
    folded
}

/// An iCalendar file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    lines: Vec<ContentLine>,
}

/// A component directly inside VCALENDAR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Its kind in upper case, such as `VEVENT`.
    pub kind: String,
    /// Its lines, from BEGIN to END.
    pub lines: Range<usize>,
}

impl Document {
    /// An empty calendar.
    #[must_use]
    pub fn empty() -> Self {
        let line = |name, value: &str| ContentLine::new(name, &[], value);
        Document {
            lines: vec![
                line("BEGIN", "VCALENDAR"),
                line("VERSION", "2.0"),
                line("PRODID", concat!("-//Marvin//Marvin ", env!("CARGO_PKG_VERSION"), "//EN")),
                line("CALSCALE", "GREGORIAN"),
                line("END", "VCALENDAR"),
            ],
        }
    }

    /// Parses a file. `path` is for errors.
    ///
    /// # Errors
    /// When it is not one VCALENDAR (or several in a row) whose components begin and end in pairs.
    pub fn parse(bytes: &[u8], path: &str) -> Result<Self, CalendarError> {
        let damaged = |line, reason| CalendarError::Damaged { path: path.to_string(), line, reason };
        let mut lines = Vec::new();
        let mut open: Vec<String> = Vec::new();
        for (number, raw) in logical_lines(bytes) {
            let line = parse_line(raw, number).ok_or_else(|| damaged(number, "it is not `NAME:VALUE`"))?;
            let kind = line.value.trim().to_ascii_uppercase();
            match line.name.as_str() {
                "BEGIN" if open.is_empty() && kind != "VCALENDAR" => {
                    return Err(damaged(number, "a component outside of VCALENDAR"));
                }
                "BEGIN" if open.len() >= MAX_NESTING => {
                    return Err(damaged(number, "components are nested too deep"));
                }
                "BEGIN" => open.push(kind),
                "END" if open.pop().is_none_or(|begun| begun != kind) => {
                    return Err(damaged(number, "END without its BEGIN"));
                }
                _ if open.is_empty() && line.name != "END" && !line.name.is_empty() => {
                    return Err(damaged(number, "a property outside of VCALENDAR"));
                }
                _ => {}
            }
            lines.push(line);
        }
        let last = lines.last().map_or(1, |line| line.number);
        if !open.is_empty() {
            return Err(damaged(last, "a component does not end; the file may be cut off"));
        }
        if !lines.iter().any(|line| line.is("BEGIN", "VCALENDAR")) {
            return Err(damaged(1, "there is no VCALENDAR"));
        }
        Ok(Document { lines })
    }

    /// The bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| line.raw.iter().copied()).collect()
    }

    #[must_use]
    pub fn lines(&self, range: &Range<usize>) -> &[ContentLine] {
        self.lines.get(range.clone()).unwrap_or_default()
    }

    /// Components directly inside VCALENDAR, in order.
    #[must_use]
    pub fn components(&self) -> Vec<Component> {
        let (mut found, mut depth, mut start) = (Vec::new(), 0_usize, 0);
        for (index, line) in self.lines.iter().enumerate() {
            match line.name.as_str() {
                "BEGIN" => {
                    depth += 1;
                    if depth == 2 {
                        start = index;
                    }
                }
                "END" => {
                    if depth == 2 {
                        let kind = line.value.trim().to_ascii_uppercase();
                        found.push(Component { kind, lines: start..index + 1 });
                    }
                    depth = depth.saturating_sub(1);
                }
                _ => {}
            }
        }
        found
    }

    /// The properties of a component itself, without those of components inside it.
    pub fn properties(&self, component: &Component) -> impl Iterator<Item = &ContentLine> {
        let mut depth = 0_usize;
        self.lines(&component.lines).iter().filter(move |line| {
            match line.name.as_str() {
                "BEGIN" => depth += 1,
                "END" => depth = depth.saturating_sub(1),
                _ => return depth == 1,
            }
            false
        })
    }

    /// Adds a property to a component, in front of its others. Ranges of later components move by one.
    pub fn insert_property(&mut self, component: &Component, line: ContentLine) {
        let at = (component.lines.start + 1).min(self.lines.len());
        self.lines.insert(at, line);
    }

    /// Removes these components.
    pub fn remove(&mut self, components: &[Component]) {
        let mut index = 0;
        self.lines.retain(|_| {
            let removed = components.iter().any(|component| component.lines.contains(&index));
            index += 1;
            !removed
        });
    }

    /// Adds a component behind the others of the first VCALENDAR.
    pub fn append(&mut self, lines: impl IntoIterator<Item = ContentLine>) {
        let end = self.lines.iter().position(|line| line.is("END", "VCALENDAR"));
        let at = end.unwrap_or(self.lines.len());
        self.lines.splice(at..at, lines);
    }

    /// Adds a component in front of the others of the first VCALENDAR.
    pub fn prepend(&mut self, lines: impl IntoIterator<Item = ContentLine>) {
        let first = self.components().first().map(|component| component.lines.start);
        let end = self.lines.iter().position(|line| line.is("END", "VCALENDAR"));
        let at = first.or(end).unwrap_or(self.lines.len());
        self.lines.splice(at..at, lines);
    }
}

/// Logical lines with the number of their first line: a line that begins with a blank continues the one before.
fn logical_lines(bytes: &[u8]) -> Vec<(usize, &[u8])> {
    let mut found: Vec<(usize, Range<usize>)> = Vec::new();
    let mut at = 0;
    for (index, physical) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let range = at..at + physical.len();
        at = range.end;
        match found.last_mut() {
            Some((_, last)) if matches!(physical.first(), Some(b' ' | b'\t')) => last.end = range.end,
            _ => found.push((index + 1, range)),
        }
    }
    found.into_iter().filter_map(|(number, range)| Some((number, bytes.get(range)?))).collect()
}

/// The line without folds and line break. Programs fold between bytes, also inside a character.
fn unfold(raw: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    for (index, physical) in raw.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let content = physical.strip_suffix(b"\n").unwrap_or(physical);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        bytes.extend_from_slice(if index > 0 { content.get(1..).unwrap_or_default() } else { content });
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text)
}

/// Parses a logical line; a blank one has an empty name. None: it is neither.
fn parse_line(raw: &[u8], number: usize) -> Option<ContentLine> {
    let text = unfold(raw);
    let mut line = ContentLine {
        raw: raw.to_vec(),
        number,
        name: String::new(),
        parameters: Vec::new(),
        value: String::new(),
    };
    if text.trim().is_empty() {
        return Some(line);
    }
    let mut quoted = false;
    let mut parts: Vec<String> = vec![String::new()];
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '"' => quoted = !quoted,
            ':' if !quoted => break,
            ';' if !quoted => parts.push(String::new()),
            char => parts.last_mut()?.push(char),
        }
    }
    line.value = chars.as_str().to_string();
    let mut parts = parts.into_iter();
    line.name = parts.next()?.trim().to_ascii_uppercase();
    if line.name.is_empty()
        || !line.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    {
        return None;
    }
    line.parameters = parts
        .map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((&part, ""));
            (key.trim().to_ascii_uppercase(), value.to_string())
        })
        .collect();
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign() -> Vec<u8> {
        // The two bytes of `é` are folded in the middle.
        let mut bytes = b"BEGIN:VCALENDAR\r\nVERSION:2.0\nX-WR-CALNAME;X-A=\"a;b:c\":Mine\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Long \r\n text \xc3\r\n \xa9\r\nX-UNKNOWN;A=1;A=2:keep\r\nX-UNKNOWN:twice\r\nBEGIN:VALARM\r\nUID:inner\r\nEND:VALARM\r\nEND:VEVENT\r\n\r\nEND:VCALENDAR\n".to_vec();
        bytes.splice(0..0, "\u{feff}".bytes());
        bytes
    }

    #[test]
    fn lines_that_are_not_changed_keep_their_bytes() {
        let bytes = foreign();
        let mut document = Document::parse(&bytes, "x").unwrap();
        assert_eq!(document.bytes(), bytes);
        let event = document.components().remove(0);
        let named = |name: &str| document.properties(&event).find(|line| line.name == name).unwrap().clone();
        assert_eq!(named("SUMMARY").value, "Long text é");
        assert_eq!(named("UID").value, "1", "not the one of the alarm inside");
        document.append([ContentLine::text("X-NEW", "a,b;c\\d\ne")]);
        let text = String::from_utf8_lossy(&document.bytes()).into_owned();
        assert!(text.ends_with("\r\n\r\nX-NEW:a\\,b\\;c\\\\d\\ne\r\nEND:VCALENDAR\n"), "{text}");
    }

    #[test]
    fn folded_lines_read_back() {
        let text = format!("{}; {}\n{}", "ü".repeat(100), "x,y\\".repeat(30), "日本語".repeat(40));
        let line = ContentLine::text("DESCRIPTION", &text);
        for physical in line.raw.split(|byte| *byte == b'\n') {
            assert!(physical.len() <= MAX_LINE_BYTES + 1 && std::str::from_utf8(physical).is_ok());
        }
        let read = parse_line(&line.raw, 1).unwrap();
        assert_eq!(unescape(&read.value), text);
    }

    #[test]
    fn damaged_files_are_refused_with_the_line() {
        for (text, line) in [
            ("", 1),
            ("hello\n", 1),
            ("BEGIN:VEVENT\nEND:VEVENT\n", 1),
            ("BEGIN:VCALENDAR\nBEGIN:VEVENT\n", 2),
            ("BEGIN:VCALENDAR\nEND:VEVENT\n", 2),
            ("BEGIN:VCALENDAR\nEND:VCALENDAR\nUID:1\n", 3),
            ("BEGIN:VCALENDAR\nno colon\nEND:VCALENDAR\n", 2),
        ] {
            let error = Document::parse(text.as_bytes(), "x").unwrap_err();
            assert!(
                matches!(error, CalendarError::Damaged { line: at, .. } if at == line),
                "{text}: {error}"
            );
        }
        assert!(Document::parse(&"BEGIN:VCALENDAR\n".repeat(100).into_bytes(), "x").is_err());
    }
}
