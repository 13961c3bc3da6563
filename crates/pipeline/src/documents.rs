//! The documents of a pipeline and the checks of their content.

use crate::phase::Phase;
use marvin_base::files::{self, Links};
use std::path::Path;

/// Bytes that a document must have.
pub const MIN_DOCUMENT_BYTES: usize = 1_000;
const MAX_PHASE_DOCUMENT_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// What to build.
    Specification,
    /// The user's view.
    Experience,
    /// Architecture and test plan.
    Design,
}

impl Document {
    /// The documents that a phase writes or reviews.
    #[must_use]
    pub fn for_phase(phase: Phase) -> &'static [Document] {
        match phase {
            Phase::Specification | Phase::SpecificationReview => {
                &[Document::Specification, Document::Experience]
            }
            Phase::Design | Phase::DesignReview => &[Document::Design],
            _ => &[],
        }
    }

    /// The name in step ids.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Document::Specification => "spec",
            Document::Experience => "ux",
            Document::Design => "design",
        }
    }

    /// The path, relative to the workspace.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Document::Specification => ".marvin/spec.md",
            Document::Experience => ".marvin/ux.md",
            Document::Design => ".marvin/design.md",
        }
    }

    /// Required headings.
    #[must_use]
    pub fn headings(self) -> &'static [&'static str] {
        match self {
            Document::Specification => &["Overview", "Requirements", "Acceptance Criteria"],
            Document::Experience => &["Users", "Interface", "Errors"],
            Document::Design => &["Architecture", "Files", "Test Plan"],
        }
    }

    /// Everything that is wrong with the document.
    #[must_use]
    pub fn problems(self, root: &Path) -> Vec<String> {
        let path = self.path();
        let bytes = match files::read(&root.join(path), MAX_PHASE_DOCUMENT_BYTES, Links::Refuse) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return vec![format!(
                    "{path} was not written (use create_file; the text of your answer is not kept as a document)"
                )];
            }
            Err(error) => return vec![format!("{path} cannot be read: {error}")],
        };
        let Ok(text) = std::str::from_utf8(&bytes) else { return vec![format!("{path} is not UTF-8 text")] };
        let mut problems = Vec::new();
        if bytes.len() < MIN_DOCUMENT_BYTES {
            problems.push(format!(
                "{path} has {} bytes, and a document needs at least {MIN_DOCUMENT_BYTES}",
                bytes.len()
            ));
        }
        let found = headings(text);
        for wanted in self.headings() {
            match found.iter().find(|(title, _)| title.to_lowercase().contains(&wanted.to_lowercase())) {
                None => problems.push(format!("{path} has no heading `## {wanted}`")),
                Some((_, false)) => problems.push(format!("{path}: `## {wanted}` has no text")),
                Some((_, true)) => {}
            }
        }
        problems
    }
}

/// The headings of a Markdown text outside of fenced code, each with whether it has text before the next of its level.
fn headings(text: &str) -> Vec<(String, bool)> {
    let mut found: Vec<(String, usize, bool)> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let title = line.trim_start_matches('#');
        if fence.is_none() && (1..=6).contains(&level) && title.starts_with(' ') {
            found.push((title.trim().to_string(), level, false));
        } else if !line.trim().is_empty() {
            // Text belongs to the last heading and to the open ones above it.
            let mut lowest = usize::MAX;
            for (_, level, has) in found.iter_mut().rev() {
                if *level < lowest {
                    (*has, lowest) = (true, *level);
                }
            }
        }
    }
    found.into_iter().map(|(title, _, has)| (title, has)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &[u8]) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(".marvin")).unwrap();
        std::fs::write(directory.path().join(".marvin/spec.md"), text).unwrap();
        Document::Specification.problems(directory.path())
    }

    fn whole() -> String {
        let filler = "It does what it says. ".repeat(60);
        format!(
            "# Tool\n\n## Overview\n{filler}\n\n## Requirements\n### R1\nAdd.\n\n## Acceptance Criteria\n- It adds.\n"
        )
    }

    #[test]
    fn a_document_has_its_headings_and_something_under_them() {
        assert_eq!(problems(whole().as_bytes()), Vec::<String>::new());
        let empty = whole().replace("- It adds.\n", "");
        assert!(problems(empty.as_bytes())[0].contains("`## Acceptance Criteria` has no text"));
        let fenced = whole().replace("## Overview", "```\n## Overview\n```");
        assert!(problems(fenced.as_bytes())[0].contains("no heading `## Overview`"));
    }

    #[test]
    fn stubs_and_plans_are_refused() {
        assert!(problems(b"# Spec\nTODO\n")[0].contains("12 bytes"));
        let plan = "First I will think about the spec. Then I will write it. ".repeat(40);
        assert_eq!(problems(plan.as_bytes()).len(), 3, "planning notes have no headings");
        assert!(problems(&[0xff; 2000])[0].contains("not UTF-8"));
        let missing = Document::Design.problems(Path::new("/nowhere"));
        assert!(missing[0].contains("was not written"), "{missing:?}");
    }
}
