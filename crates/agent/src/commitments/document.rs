//! One document of the store: frontmatter with sorted keys, then Markdown.
//!
//! The commitments are in the frontmatter, one JSON object per line, and again below `## Commitments` for people. Only that
//! list and the lines of our own keys are ever rewritten: other keys, comments, other text and line endings stay byte for byte.

use super::commitment::{Commitment, MAX_TIMEOUT_SECS};
use marvin_base::redact::Redactor;
use marvin_base::truncate;

pub const MAX_DOCUMENT_BYTES: u64 = 4 * 1024 * 1024;
pub const MAX_COMMITMENTS: usize = 200;

const FENCE: &str = "---";
const KEY: &str = "commitments";
const HEADING: &str = "## Commitments";

/// A line of a document that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Counted from 1.
    pub line: usize,
    pub problem: String,
}

impl Damage {
    fn at(line: usize, problem: impl Into<String>) -> Self {
        Damage { line, problem: problem.into() }
    }
}

/// One key of the frontmatter with the comments before it, verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    key: String,
    raw: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its name, which is that of its file.
    pub id: String,
    pub commitments: Vec<Commitment>,
    fields: Vec<Field>,
    /// Comments at the end of the frontmatter.
    rest: String,
    body: String,
    /// How its lines end.
    newline: &'static str,
}

impl Document {
    #[must_use]
    pub fn new(id: &str, title: &str, assignment: &str, now: &str) -> Self {
        let mut document = Document {
            id: id.to_string(),
            commitments: Vec::new(),
            fields: Vec::new(),
            rest: String::new(),
            body: format!("\n## Assignment\n\n{}\n", Redactor::patterns_only().text(assignment.trim())),
            newline: "\n",
        };
        for (key, value) in
            [("id", id), ("title", title), ("state", "idle"), ("createdAt", now), ("updatedAt", now)]
        {
            document.set(key, value);
        }
        document
    }

    /// Reads the bytes of a file.
    pub fn parse(id: &str, bytes: &[u8]) -> Result<Document, Damage> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
            Damage::at(line, "it is not UTF-8 text")
        })?;
        let windows = text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n"));
        let newline = if windows { "\r\n" } else { "\n" };
        let mut document = Document {
            id: id.to_string(),
            commitments: Vec::new(),
            fields: Vec::new(),
            rest: String::new(),
            body: String::new(),
            newline,
        };
        let mut lines = text.split_inclusive('\n').enumerate();
        if lines.next().is_none_or(|(_, first)| first.trim_end() != FENCE) {
            document.body = text.to_string();
            return Ok(document);
        }
        let mut open: Option<usize> = None;
        let mut at = text.split_inclusive('\n').next().map_or(0, str::len);
        for (index, line) in lines {
            at += line.len();
            if line.trim_end() == FENCE {
                document.body = text.get(at..).unwrap_or_default().to_string();
                let mut seen = std::collections::BTreeSet::new();
                for commitment in &document.commitments {
                    if !seen.insert(&commitment.id) {
                        return Err(Damage::at(
                            index + 1,
                            format!("the id `{}` stands there twice", commitment.id),
                        ));
                    }
                }
                return Ok(document);
            }
            document.frontmatter_line(index + 1, line, &mut open)?;
        }
        Err(Damage::at(
            text.split_inclusive('\n').count(),
            "its frontmatter has no closing line `---`; a document that begins with `---` needs one",
        ))
    }

    /// Parses one line. `open` is the line of a list that may continue.
    fn frontmatter_line(
        &mut self,
        number: usize,
        line: &str,
        open: &mut Option<usize>,
    ) -> Result<(), Damage> {
        let trimmed = line.trim_end();
        let is_inner = trimmed.is_empty() || line.starts_with([' ', '\t', '-']);
        let is_comment = trimmed.starts_with('#');
        if is_inner && !is_comment {
            if open.is_some() && !trimmed.trim().is_empty() {
                let item = trimmed.trim_start();
                let item = item.strip_prefix("- ").ok_or_else(|| {
                    Damage::at(number, "below `commitments:` every line is `  - {…}`, one JSON object")
                })?;
                self.push(number, item)?;
            }
            match self.fields.last_mut() {
                Some(field) => field.raw.push_str(&(std::mem::take(&mut self.rest) + line)),
                None => self.rest.push_str(line),
            }
            return Ok(());
        }
        *open = None;
        if is_comment {
            self.rest.push_str(line);
            return Ok(());
        }
        let Some((key, value)) = trimmed.split_once(':') else {
            return Err(Damage::at(number, format!("`{}` is not `key: value`", truncate::line(trimmed, 40))));
        };
        let key = key.trim().to_string();
        if self.fields.iter().any(|field| field.key == key) {
            return Err(Damage::at(
                number,
                format!("the key `{}` stands there twice", truncate::line(&key, 40)),
            ));
        }
        if key == KEY {
            let value = value.trim();
            if value.is_empty() {
                *open = Some(number);
            } else {
                let list: Vec<serde_json::Value> = serde_json::from_str(value).map_err(|error| {
                    Damage::at(number, format!("`commitments` is not a JSON list: {error}"))
                })?;
                for item in list {
                    self.push(number, &item.to_string())?;
                }
            }
        }
        let raw = std::mem::take(&mut self.rest) + line;
        self.fields.push(Field { key, raw });
        Ok(())
    }

    fn push(&mut self, number: usize, item: &str) -> Result<(), Damage> {
        let commitment: Commitment = serde_json::from_str(item.trim())
            .map_err(|error| Damage::at(number, format!("a commitment is not understood: {error}")))?;
        if !is_name(&commitment.id) {
            let shown = truncate::line(&commitment.id, 40);
            return Err(Damage::at(
                number,
                format!("`{shown}` is not an id: letters, digits, `-` and `_`, at most 64"),
            ));
        }
        if !(1..=MAX_TIMEOUT_SECS).contains(&commitment.timeout_s) {
            return Err(Damage::at(number, format!("timeout_s is between 1 and {MAX_TIMEOUT_SECS}")));
        }
        if self.commitments.len() >= MAX_COMMITMENTS {
            return Err(Damage::at(number, format!("there are more than {MAX_COMMITMENTS} commitments")));
        }
        self.commitments.push(commitment);
        Ok(())
    }

    /// The value of a key, without quotes.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<String> {
        let field = self.fields.iter().find(|field| field.key == key)?;
        let line = field.raw.lines().find(|line| !line.trim_start().starts_with('#'))?;
        let value = line.split_once(':')?.1.trim();
        if value.starts_with('"') {
            return serde_json::from_str(value).ok();
        }
        Some(value.to_string())
    }

    /// Sets a key that holds one word or text.
    pub fn set(&mut self, key: &str, value: &str) {
        let plain = !value.is_empty()
            && !value.contains([
                ':', '#', '"', '\'', '\n', '\r', '\\', '{', '[', '&', '*', '!', '|', '>', '%', '@', '`',
            ])
            && value.trim() == value
            && !value.starts_with(['-', '?', ',']);
        let shown = if plain { value.to_string() } else { serde_json::Value::from(value).to_string() };
        self.set_raw(key, format!("{key}: {shown}{}", self.newline));
    }

    fn set_raw(&mut self, key: &str, raw: String) {
        match self.fields.iter_mut().find(|field| field.key == key) {
            Some(field) => {
                let comments =
                    field.raw.split_inclusive('\n').take_while(|line| line.trim_start().starts_with('#'));
                field.raw = comments.collect::<String>() + &raw;
            }
            None => self.fields.push(Field { key: key.to_string(), raw }),
        }
    }

    pub fn commitment(&mut self, id: &str) -> Option<&mut Commitment> {
        self.commitments.iter_mut().find(|commitment| commitment.id == id)
    }

    /// The bytes to be written.
    #[must_use]
    pub fn render(&self) -> String {
        let mut document = self.clone();
        if !self.commitments.is_empty() || self.fields.iter().any(|field| field.key == KEY) {
            let mut raw = format!("{KEY}:{}", if self.commitments.is_empty() { " []" } else { "" });
            for commitment in &self.commitments {
                // Of plain values, which JSON can always hold.
                let item = serde_json::to_string(commitment).unwrap_or_default();
                raw.push_str(&format!("{}  - {item}", self.newline));
            }
            raw.push_str(self.newline);
            document.set_raw(KEY, raw);
        }
        document.fields.sort_by(|a, b| a.key.cmp(&b.key));
        let mut text = String::new();
        if !document.fields.is_empty() || !document.rest.is_empty() {
            text = format!("{FENCE}{}", self.newline);
            for field in &document.fields {
                text.push_str(&field.raw);
            }
            text.push_str(&document.rest);
            text.push_str(&format!("{FENCE}{}", self.newline));
        }
        text + &self.with_list()
    }

    /// The body with the list of commitments in it.
    fn with_list(&self) -> String {
        let list: String = self.commitments.iter().map(|commitment| self.entry(commitment)).collect();
        let mut before = String::new();
        let mut lines = self.body.split_inclusive('\n').peekable();
        let mut found = false;
        for line in lines.by_ref() {
            before.push_str(line);
            if line.trim_end() == HEADING {
                found = true;
                break;
            }
        }
        if !found {
            if list.is_empty() {
                return before;
            }
            let end = |text: &str| text.is_empty() || text.ends_with('\n');
            let gap = if end(&before) { "" } else { self.newline };
            return format!("{before}{gap}{n}{HEADING}{n}{n}{list}", n = self.newline);
        }
        while lines.next_if(|line| line.trim().is_empty()).is_some() {}
        let mut ours = false;
        while let Some(line) = lines.next_if(|line| is_entry(line) || ours && is_detail(line)) {
            ours |= is_entry(line);
        }
        if list.is_empty() && !ours {
            return self.body.clone();
        }
        if !before.ends_with('\n') {
            before.push_str(self.newline);
        }
        let after: String = lines.collect();
        let gap = if list.is_empty() { "" } else { self.newline };
        let next = if after.is_empty() || after.starts_with(['\n', '\r']) { "" } else { self.newline };
        format!("{before}{gap}{list}{next}{after}")
    }

    fn entry(&self, commitment: &Commitment) -> String {
        use super::commitment::Status;
        let flat = |text: &str, most: usize| truncate::line(text, most).replace('`', "'");
        let n = self.newline;
        let mut entry = format!(
            "- {} **{}**{n}  - Assertion: `{}`{n}",
            commitment.status.sign(),
            flat(&commitment.title(), 200).replace("**", "*"),
            flat(&commitment.whole(), 400)
        );
        let what = match commitment.status {
            Status::Failed => "Failed",
            Status::CouldNotRun => "Could not run",
            Status::Pending | Status::Verifying | Status::Passed => return entry,
        };
        let first = commitment.reason.as_deref().and_then(|reason| reason.lines().next()).unwrap_or("?");
        entry.push_str(&format!("  - {what}: {}{n}", flat(first, 400)));
        entry
    }
}

/// Is this a line that begins a commitment in the list?
fn is_entry(line: &str) -> bool {
    ["⏳", "🔄", "✅", "❌", "⚠️"].iter().any(|sign| {
        line.strip_prefix("- ")
            .and_then(|rest| rest.strip_prefix(sign))
            .and_then(|rest| rest.strip_prefix(" **"))
            .is_some()
    })
}

fn is_detail(line: &str) -> bool {
    ["  - Assertion: ", "  - Failed: ", "  - Could not run: "].iter().any(|start| line.starts_with(start))
}

/// Is this a name that can be an id and a file?
#[must_use]
pub fn is_name(text: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    (1..=64).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commitments::commitment::{Kind, Source, Status};

    fn commitment(id: &str) -> Commitment {
        serde_json::from_value(serde_json::json!({
            "id": id, "kind": "shell", "assertion": "pytest -q \"ä\"", "description": "all `tests` pass", "mine": {"a": 1},
        }))
        .unwrap()
    }

    #[test]
    fn a_new_document_has_sorted_keys_and_both_headings() {
        let mut document =
            Document::new("project", "Project: a #1", "Make it work.", "2026-02-03T04:05:06.000Z");
        document.commitments.push(commitment("c-1"));
        let text = document.render();
        assert!(text.starts_with("---\ncommitments:\n  - {\"id\":\"c-1\","), "{text}");
        let keys: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with(' '))
            .filter_map(|line| line.split_once(':'))
            .map(|(key, _)| key)
            .collect();
        assert_eq!(keys.get(..6).unwrap(), ["commitments", "createdAt", "id", "state", "title", "updatedAt"]);
        assert!(text.contains("title: \"Project: a #1\"\n"), "{text}");
        assert!(text.contains("\n## Assignment\n\nMake it work.\n\n## Commitments\n\n- ⏳ **all 'tests' pass**\n  - Assertion: `shell: pytest -q \"ä\"`\n"), "{text}");
        let again = Document::parse("project", text.as_bytes()).unwrap();
        assert_eq!(again.render(), text);
        assert_eq!(again.value("title").unwrap(), "Project: a #1");
        let read = &again.commitments[0];
        assert_eq!(
            (read.kind, read.source, read.status, read.timeout_s),
            (Kind::Shell, Source::Parent, Status::Pending, 120)
        );
        assert_eq!(read.other["mine"]["a"], 1);
    }

    #[test]
    fn foreign_text_stays_byte_for_byte() {
        let text = "---\r\n# mine\r\nalpha:   1 \r\nzeta: x\r\n  - nested\r\n\ttab\r\n# last\r\n---\r\nText  \r\n\r\n## Commitments\r\n\r\nKeep me.\r\n- ✅ not mine\r\n\r\n## More\r\nend";
        let mut document = Document::parse("a", text.as_bytes()).unwrap();
        assert_eq!(document.render(), text);
        document.commitments.push(commitment("c-1"));
        let with = document.render();
        for part in [
            "# mine\r\nalpha:   1 \r\n",
            "zeta: x\r\n  - nested\r\n\ttab\r\n",
            "# last\r\n---\r\nText  \r\n\r\n## Commitments\r\n\r\n- ⏳",
            "Keep me.\r\n- ✅ not mine\r\n\r\n## More\r\nend",
        ] {
            assert!(with.contains(part), "{part:?} in {with}");
        }
        let mut again = Document::parse("a", with.as_bytes()).unwrap();
        assert_eq!(again.render(), with);
        again.commitments.clear();
        assert!(again.render().contains("commitments: []\r\n"));
        let plain = "No frontmatter\n---\n";
        assert_eq!(Document::parse("a", plain.as_bytes()).unwrap().render(), plain);
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let cases: [(&[u8], usize, &str); 9] = [
            (b"---\nid: a\ncommitments:\n", 3, "closing"),
            (b"---\nid: a\nnonsense\n---\n", 3, "key: value"),
            (b"---\nid: a\nid: b\n---\n", 3, "twice"),
            (b"---\ncommitments:\n  - {\"id\":\"c\"}\n---\n", 3, "kind"),
            (b"---\ncommitments:\n  - {oops\n---\n", 3, "not understood"),
            (b"---\ncommitments:\n  id: c\n---\n", 3, "one JSON object"),
            (b"---\ncommitments: {\"a\": 1}\n---\n", 2, "not a JSON list"),
            (
                b"---\ncommitments:\n  - {\"id\":\"../x\",\"kind\":\"shell\",\"assertion\":\"x\"}\n---\n",
                3,
                "not an id",
            ),
            (b"---\nid: a\n\xff\xfe---\n", 3, "UTF-8"),
        ];
        for (bytes, line, what) in cases {
            let damage = Document::parse("a", bytes).unwrap_err();
            assert_eq!(damage.line, line, "{damage:?}");
            assert!(damage.problem.contains(what), "{damage:?}");
        }
        let twice = "---\ncommitments:\n  - {\"id\":\"c\",\"kind\":\"shell\",\"assertion\":\"x\"}\n  - {\"id\":\"c\",\"kind\":\"shell\",\"assertion\":\"y\"}\n---\n";
        assert!(Document::parse("a", twice.as_bytes()).unwrap_err().problem.contains("twice"));
        let forever = "---\ncommitments:\n  - {\"id\":\"c\",\"kind\":\"shell\",\"assertion\":\"x\",\"timeout_s\":99999999999}\n---\n";
        assert!(Document::parse("a", forever.as_bytes()).unwrap_err().problem.contains("timeout_s"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived_and_kept(bytes in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..200)) {
            Document::parse("a", &bytes).ok();
        }

        #[test]
        fn what_is_read_is_written_again(body in "(?s)[ -~\n#é-]{0,120}", key in "[a-z]{1,8}", value in "[ -~]{0,20}") {
            let text = format!("---\n{key}: {value}\n---\n{body}");
            if let Ok(document) = Document::parse("a", text.as_bytes()) && document.commitments.is_empty() && !body.contains("## Commitments") && key != "commitments" {
                proptest::prop_assert_eq!(document.render(), text);
            }
        }
    }
}
