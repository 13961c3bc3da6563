//! Keywords of paths and their categories: `auth` means security.
//!
//! A file `keywords.json` beside the packs adds to them: `{"payment": ["billing", "security"]}`.

use super::problem::Problem;
use marvin_base::files::{self, Links};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const FILE: &str = "keywords.json";
const MAX_FILE_BYTES: u64 = 256 * 1024;
const MAX_KEYWORDS: usize = 2_000;

/// Keywords of every project; the plural counts too.
const COMMON: [(&[&str], &[&str]); 4] = [
    (&["test", "testing", "spec"], &["testing", "test-quality"]),
    (&["auth", "authentication", "authorization", "oauth", "login", "middleware"], &["security", "auth"]),
    (&["config", "configuration", "env", "environment"], &["configuration"]),
    (&["schema", "migration", "migrate"], &["database", "schema"]),
];

/// Keywords with their categories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keywords {
    words: BTreeMap<Box<str>, Vec<Box<str>>>,
}

impl Keywords {
    pub(crate) fn common() -> Self {
        let mut keywords = Keywords { words: BTreeMap::new() };
        for (words, categories) in COMMON {
            for word in words {
                keywords.add(word, categories.iter().copied());
            }
        }
        keywords
    }

    fn add<'a>(&mut self, word: &str, categories: impl IntoIterator<Item = &'a str>) {
        let known = self.words.entry(word.to_lowercase().into()).or_default();
        for category in categories {
            let category: Box<str> = category.to_lowercase().into();
            if !known.contains(&category) {
                known.push(category);
            }
        }
    }

    /// Adds the keywords of a file; a broken file adds none.
    pub(super) fn read(&mut self, file: &Path) -> Option<Problem> {
        let hint = "the file is {\"keyword\": [\"category\", …]}";
        let text = match files::read_text(file, MAX_FILE_BYTES, Links::Refuse) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Problem::new(file, "", format!("it cannot be read: {error}"), hint)),
        };
        let more: BTreeMap<String, Vec<String>> = match serde_json::from_str(&text) {
            Ok(more) => more,
            Err(error) => {
                return Some(Problem::new(file, "", format!("it is not of the right shape: {error}"), hint));
            }
        };
        if more.len() > MAX_KEYWORDS {
            let what = format!("it holds {} keywords, and at most {MAX_KEYWORDS} are read", more.len());
            return Some(Problem::new(file, "", what, "keep the ones that matter"));
        }
        for (word, categories) in more {
            self.add(&word, categories.iter().map(String::as_str));
        }
        None
    }

    /// The keywords among these words, with their categories.
    pub(crate) fn find<'a>(&'a self, words: &'a [String]) -> impl Iterator<Item = (&'a str, &'a [Box<str>])> {
        words.iter().filter_map(|word| {
            let singular = word.strip_suffix('s').filter(|singular| singular.len() > 2).unwrap_or(word);
            let found = self.words.get_key_value(word.as_str());
            let found = found.or_else(|| self.words.get_key_value(singular));
            found.map(|(word, categories)| (&**word, categories.as_slice()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::paths::words;
    use super::*;

    #[test]
    fn only_whole_words_are_keywords() {
        let keywords = Keywords::common();
        let says = |path: &str| keywords.find(&words(path)).next().map(|(word, _)| word.to_string());
        assert_eq!(says("src/tests/a.rs").as_deref(), Some("test"));
        assert_eq!(says("src/userAuth.ts").as_deref(), Some("auth"));
        assert_eq!(says("db/migrations/1.sql").as_deref(), Some("migration"));
        for path in ["src/latest.ts", "src/author.ts", "src/inspector.rs", "src/envelope.ts", "contest.go"] {
            assert_eq!(says(path), None, "{path}");
        }
    }

    #[test]
    fn a_file_adds_and_a_broken_one_is_a_problem() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        let mut keywords = Keywords::common();
        assert_eq!(keywords.read(&file), None);
        std::fs::write(&file, r#"{"Payment": ["billing"], "auth": ["login"]}"#).unwrap();
        assert_eq!(keywords.read(&file), None);
        let path = words("src/payments/auth.ts");
        let found: Vec<_> = keywords.find(&path).collect();
        assert_eq!((found[0].0, &*found[0].1[0]), ("payment", "billing"));
        assert_eq!(found[1].1.len(), 3);
        for broken in ["[]", r#"{"a": "b"}"#, "{", r#"{"a": [1]}"#] {
            std::fs::write(&file, broken).unwrap();
            assert!(keywords.read(&file).unwrap().to_string().contains("hint: the file is"), "{broken}");
        }
    }
}
