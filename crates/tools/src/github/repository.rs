//! Names of repositories, and the addresses below the base URLs of the settings.

use crate::result::ToolError;
use marvin_base::settings::{Setting, Settings, table};
use reqwest::Url;
use std::fmt;

/// A repository: `owner/name`, both of plain characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) owner: String,
    pub(super) name: String,
}

impl fmt::Display for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.owner, self.name)
    }
}

impl Repository {
    /// Parses `owner/name`, or the URL of the repository.
    pub(super) fn parse(text: &str, settings: &Settings) -> Result<Self, ToolError> {
        let text = text.trim();
        let base = settings.text(&table::GITHUB_CLONE_URL).trim_end_matches('/');
        let short = text.strip_prefix(base).map_or(text, |rest| rest.trim_start_matches('/'));
        let short = short.strip_suffix('/').unwrap_or(short);
        let short = short.strip_suffix(".git").unwrap_or(short);
        let plain = |part: &str, longest: usize| {
            !part.is_empty()
                && part.len() <= longest
                && !part.starts_with(['-', '.'])
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        match short.split_once('/') {
            Some((owner, name)) if plain(owner, 39) && plain(name, 100) && !name.contains("..") => {
                Ok(Repository { owner: owner.to_string(), name: name.to_string() })
            }
            _ => Err(ToolError::Usage(
                "`repo` is `owner/name`, of letters, digits, `-`, `_` and `.`, for example `rust-lang/rust`."
                    .into(),
            )),
        }
    }
}

/// An address below the base of a setting.
pub(super) fn below(settings: &Settings, setting: &Setting, parts: &[&str]) -> Result<Url, ToolError> {
    let wrong = |why: String| ToolError::Failed(format!("{} cannot be used: {why}", setting.key));
    let mut url = Url::parse(settings.text(setting)).map_err(|error| wrong(error.to_string()))?;
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().extend(parts);
        }
        Err(()) => return Err(wrong("it is not an http address".into())),
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_plain_names() {
        let settings = Settings::defaults().unwrap();
        for good in
            ["rust-lang/rust", "https://github.com/rust-lang/rust.git", "https://github.com/rust-lang/rust/"]
        {
            assert_eq!(Repository::parse(good, &settings).unwrap().to_string(), "rust-lang/rust");
        }
        for bad in [
            "",
            "rust",
            "a/b/c",
            "../b",
            "a/..",
            "a/.",
            "-u/b",
            "a/-b",
            "a/b..c",
            "a/b c",
            "a/b;c",
            "a/.git",
            "https://evil.example/a/b",
            "https://github.com.evil/a/b",
            "a/b?x",
            "a/b#x",
            "a/b%2f",
            "ä/b",
            "ext::sh -c x/b",
            "a\n/b",
        ] {
            Repository::parse(bad, &settings).expect_err(bad);
        }
    }
}
