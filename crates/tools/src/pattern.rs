//! Regexes that are compiled once.

use regex::Regex;
use std::sync::LazyLock;

/// A regex of [`pattern!`]; one that does not compile finds nothing, and tests check that all compile.
pub(crate) type Pattern = LazyLock<Option<Regex>>;

/// Declares a static [`Pattern`].
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: crate::pattern::Pattern = std::sync::LazyLock::new(|| regex::Regex::new($text).ok());
    };
}

pub(crate) use pattern;
