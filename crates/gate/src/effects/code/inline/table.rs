//! What is harmless in the inline code of each language (`data/inline_code.toml`).

use super::lexer::Syntax;

/// A language, as the table describes it. Lists are words between blanks.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) names: &'static str,
    pub(super) syntax: Syntax,
    pub(super) closed: bool,
    pub(super) words: &'static str,
    pub(super) doubted: &'static str,
    pub(super) methods: &'static str,
    pub(super) callbacks: &'static str,
    pub(super) properties: &'static str,
    pub(super) imports: &'static str,
    pub(super) modules: &'static str,
    pub(super) readers: &'static str,
    pub(super) receivers: &'static str,
    pub(super) paths: &'static str,
    pub(super) environment: &'static str,
    pub(super) objects: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/inline_code.rs"));

pub(super) fn find(language: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|row| lists(row.names, language))
}

pub(super) fn lists(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|own| own == word)
}

/// Whether a part of a name tells that it runs, writes, sends or loads something.
pub(super) fn is_acting_name(name: &str) -> bool {
    has_part(name, ACTING_PARTS)
}

/// Whether a part of a name tells that it reads a file by its path.
pub(super) fn is_reading_name(name: &str) -> bool {
    has_part(name, READING_PARTS)
}

/// Whether a name, or a part of it between underscores or capitals, is listed.
fn has_part(name: &str, list: &str) -> bool {
    let mut part = String::new();
    let mut parts = vec![name.to_ascii_lowercase()];
    for char in name.chars() {
        if (char == '_' || char.is_ascii_uppercase()) && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if char.is_ascii_alphanumeric() {
            part.push(char.to_ascii_lowercase());
        }
    }
    parts.push(part.trim_end_matches("sync").to_string());
    parts.iter().any(|part| lists(list, part))
}

impl Language {
    /// What may be used of a module or class; `None` for other names.
    pub(super) fn object(&self, path: &str) -> Option<&'static str> {
        self.objects.iter().find(|(name, _)| *name == path).map(|(_, attributes)| *attributes)
    }

    /// Whether this attribute of an object is harmless. `*` stands for all that are neither private nor modules.
    pub(super) fn has_attribute(&self, attributes: &str, name: &str) -> bool {
        lists(attributes, name)
            || lists(attributes, "*") && !name.starts_with('_') && !lists(self.modules, name)
    }
}
