//! Parser of `git status --porcelain=v2 --branch -z`.

/// One file that differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// Two letters, as git shows them: of the index and of the file; `??` for a file that git does not know.
    pub(super) letters: String,
    pub(super) path: String,
    /// The path before a rename.
    pub(super) from: Option<String>,
}

impl Change {
    pub(super) fn is_untracked(&self) -> bool {
        self.letters == "??"
    }

    /// Whether a change of it is in the index.
    pub(super) fn is_staged(&self) -> bool {
        !self.is_untracked() && !self.is_conflict() && !self.letters.starts_with('.')
    }

    pub(super) fn is_conflict(&self) -> bool {
        matches!(self.letters.as_str(), "DD" | "AU" | "UD" | "UA" | "DU" | "AA" | "UU")
    }

    /// Whether the file differs from the index.
    pub(super) fn is_modified(&self) -> bool {
        !self.is_untracked() && !self.is_conflict() && !self.letters.ends_with('.')
    }

    /// As `git status --short` shows it.
    pub(super) fn line(&self) -> String {
        let letters = self.letters.replace('.', " ");
        match &self.from {
            Some(from) => format!("{letters} {from} -> {}", self.path),
            None => format!("{letters} {}", self.path),
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// The branch; none when no branch is checked out.
    pub(super) branch: Option<String>,
    /// The commit, shortened; none before the first.
    pub(super) head: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) ahead: u64,
    pub(super) behind: u64,
    pub(super) changes: Vec<Change>,
}

impl Status {
    /// Parses git's output; lines of an unknown kind are ignored.
    pub(super) fn parse(text: &str) -> Status {
        let mut status = Status::default();
        let mut entries = text.split('\0');
        while let Some(entry) = entries.next() {
            let (kind, rest) = entry.split_once(' ').unwrap_or((entry, ""));
            let fields = |count: usize| {
                let mut parts = rest.splitn(count, ' ');
                let letters = parts.next().unwrap_or_default().to_string();
                (letters, parts.last().unwrap_or_default().to_string())
            };
            match kind {
                "#" => status.header(rest),
                "?" => status.changes.push(Change { letters: "??".into(), path: rest.into(), from: None }),
                "1" => {
                    let (letters, path) = fields(8);
                    status.changes.push(Change { letters, path, from: None });
                }
                "2" => {
                    let (letters, path) = fields(9);
                    let from = entries.next().map(str::to_string);
                    status.changes.push(Change { letters, path, from });
                }
                "u" => {
                    let (letters, path) = fields(10);
                    status.changes.push(Change { letters, path, from: None });
                }
                _ => {}
            }
        }
        status
    }

    fn header(&mut self, text: &str) {
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        match name {
            // Shortened: a long row of digits would be redacted as a secret.
            "branch.oid" if value != "(initial)" => {
                self.head = Some(value.get(..12).unwrap_or(value).to_string());
            }
            "branch.head" if value != "(detached)" => self.branch = Some(value.to_string()),
            "branch.upstream" => self.upstream = Some(value.to_string()),
            "branch.ab" => {
                let mut figures =
                    value.split(' ').map(|figure| figure.trim_start_matches(['+', '-']).parse());
                self.ahead = figures.next().and_then(Result::ok).unwrap_or(0);
                self.behind = figures.next().and_then(Result::ok).unwrap_or(0);
            }
            _ => {}
        }
    }

    /// One line about branch and commit.
    pub(super) fn place(&self) -> String {
        let mut text = match (&self.branch, &self.head) {
            (Some(branch), Some(_)) => format!("On branch {branch}"),
            (Some(branch), None) => format!("On branch {branch}, no commits yet"),
            (None, Some(head)) => format!("No branch: at commit {head}"),
            (None, None) => "No branch".to_string(),
        };
        if let Some(upstream) = &self.upstream {
            text.push_str(&format!(" ({upstream}: {} ahead, {} behind)", self.ahead, self.behind));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_is_read() {
        let text = "# branch.oid 1234567890abcdef\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0\
            1 M. N... 100644 100644 100644 aaa bbb src/a b.rs\0\
            1 .M N... 100644 100644 100644 aaa aaa c\0\
            2 R. N... 100644 100644 100644 aaa aaa R100 new name\0old name\0\
            u UU N... 100644 100644 100644 100644 a b c conflict\0? un tracked\0! ignored\0";
        let status = Status::parse(text);
        assert_eq!(status.place(), "On branch main (origin/main: 2 ahead, 1 behind)");
        let lines: Vec<String> = status.changes.iter().map(Change::line).collect();
        assert_eq!(
            lines,
            ["M  src/a b.rs", " M c", "R  old name -> new name", "UU conflict", "?? un tracked"]
        );
        let staged = |change: &&Change| change.is_staged();
        assert_eq!(status.changes.iter().filter(staged).count(), 2);
        assert_eq!(status.changes.iter().filter(|change| change.is_modified()).count(), 1);
        let first = Status::parse("# branch.oid (initial)\0# branch.head main\0");
        assert_eq!(first.place(), "On branch main, no commits yet");
        let detached = Status::parse("# branch.oid 1234567890abcdef\0# branch.head (detached)\0");
        assert_eq!(detached.place(), "No branch: at commit 1234567890ab");
    }
}
