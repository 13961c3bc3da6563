//! Rows of `census.toml`: what is counted, and the limits.

use super::error::CensusError;
use regex::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml_edit::{ArrayOfTables, DocumentMut, Item};

pub(super) const FILE: &str = "census.toml";

/// One figure as `census.toml` states it.
///
/// At most one of the fields that say what is counted is set; a row with none of them names a
/// figure that [`Measure`] knows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) name: String,
    /// What it counts, in one sentence.
    pub(super) counts: String,
    /// The count that may not be exceeded.
    pub(super) limit: Option<u64>,
    /// The count that may not be undercut.
    pub(super) at_least: Option<u64>,
    pub(super) target: Option<u64>,
    /// Words, also as parts of identifiers, in code, comments and strings.
    #[serde(default)]
    words: Vec<String>,
    /// Regex on comments and strings; a space in it matches a line break too.
    prose: Option<String>,
    /// Regex on matches of `prose` that do not count.
    except: Option<String>,
    /// Path prefixes below which nothing is counted.
    #[serde(default)]
    skip: Vec<String>,
    /// Names of types.
    #[serde(default)]
    types: Vec<String>,
    /// Names of functions.
    #[serde(default)]
    functions: Vec<String>,
    /// Names of constants and statics, exact or as their first or last part.
    #[serde(default)]
    constants: Vec<String>,
}

impl Row {
    /// Whether the figure does not count a file.
    pub(super) fn skips(&self, path: &str) -> bool {
        self.skip.iter().any(|prefix| path.starts_with(prefix.as_str()))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    figure: Vec<Row>,
}

/// How a figure is counted.
#[derive(Debug)]
pub(super) enum Counter {
    Words(Regex),
    Prose { pattern: Regex, except: Option<Regex> },
    Types(Vec<String>),
    Functions(Vec<String>),
    Constants(Vec<String>),
    Measure(Measure),
}

/// Figures that need code of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    JsonMacros,
    StringErrors,
    LongestFunctionGate,
    LongFunctions,
    ModuleCircles,
    InlineSnapshots,
    ContainsAssertions,
    SourceLines,
    EnglishDecisions,
}

/// Names of the measures in `census.toml`.
const MEASURES: [(&str, Measure); 9] = [
    ("json_macros", Measure::JsonMacros),
    ("string_errors", Measure::StringErrors),
    ("longest_function_gate", Measure::LongestFunctionGate),
    ("long_functions", Measure::LongFunctions),
    ("module_circles", Measure::ModuleCircles),
    ("inline_snapshots", Measure::InlineSnapshots),
    ("contains_assertions", Measure::ContainsAssertions),
    ("source_lines", Measure::SourceLines),
    ("english_decisions", Measure::EnglishDecisions),
];

/// A row with its compiled counter.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) row: Row,
    pub(super) counter: Counter,
}

impl Figure {
    pub(super) fn is(&self, measure: Measure) -> bool {
        matches!(self.counter, Counter::Measure(own) if own == measure)
    }

    /// Do findings in tests count?
    pub(super) fn counts_tests(&self) -> bool {
        match self.counter {
            Counter::Measure(measure) => {
                matches!(measure, Measure::InlineSnapshots | Measure::ContainsAssertions)
            }
            _ => true,
        }
    }

    /// Is the figure the largest of its findings, not their sum?
    pub(super) fn is_maximum(&self) -> bool {
        self.is(Measure::LongestFunctionGate) || self.is(Measure::ModuleCircles)
    }
}

pub(super) fn load(root: &Path) -> Result<Vec<Figure>, CensusError> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|error| CensusError::read(FILE, &error))?;
    let figures = parse(&text)?;
    match MEASURES.iter().find(|(_, measure)| !figures.iter().any(|figure| figure.is(*measure))) {
        Some((name, _)) => Err(CensusError::parse(FILE, &format!("no row for {name}"))),
        None => Ok(figures),
    }
}

/// Sets each limit to the count where that is stricter, and keeps everything else of the file.
pub(super) fn tighten(root: &Path, totals: &BTreeMap<&str, u64>) -> Result<(), CensusError> {
    let path = root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| CensusError::read(FILE, &error))?;
    let tightened = tighten_text(&text, totals)?;
    std::fs::write(&path, tightened).map_err(|error| CensusError::write(FILE, &error))
}

fn tighten_text(text: &str, totals: &BTreeMap<&str, u64>) -> Result<String, CensusError> {
    let mut document: DocumentMut = text.parse().map_err(|error| CensusError::parse(FILE, &error))?;
    let rows = document.get_mut("figure").and_then(Item::as_array_of_tables_mut);
    for row in rows.into_iter().flat_map(ArrayOfTables::iter_mut) {
        let total = row.get("name").and_then(Item::as_str).and_then(|name| totals.get(name));
        let Some(total) = total.and_then(|total| i64::try_from(*total).ok()) else { continue };
        for (key, is_stricter) in [("limit", i64::lt as fn(&i64, &i64) -> bool), ("at_least", i64::gt)] {
            let old = row.get(key).and_then(Item::as_integer);
            if old.is_some_and(|old| is_stricter(&total, &old)) {
                row.insert(key, toml_edit::value(total));
            }
        }
    }
    Ok(document.to_string())
}

pub(super) fn parse(text: &str) -> Result<Vec<Figure>, CensusError> {
    let table: Table = toml::from_str(text).map_err(|error| CensusError::parse(FILE, &error))?;
    table.figure.into_iter().map(|row| Ok(Figure { counter: compile(&row)?, row })).collect()
}

fn compile(row: &Row) -> Result<Counter, CensusError> {
    // A boundary of ASCII words keeps the regex engine on its fast path in files with other
    // characters.
    let regex = |pattern: &str| {
        Regex::new(&pattern.replace(r"\b", r"(?-u:\b)"))
            .map_err(|error| CensusError::parse(FILE, &format!("{}: {error}", row.name)))
    };
    Ok(if !row.words.is_empty() {
        Counter::Words(regex(&word_pattern(&row.words))?)
    } else if let Some(prose) = &row.prose {
        Counter::Prose {
            pattern: regex(&prose.replace(' ', r"(?:[ \t]|\\?\n[ \t]*(?://[/!]?)?)+"))?,
            except: row.except.as_deref().map(regex).transpose()?,
        }
    } else if !row.types.is_empty() {
        Counter::Types(row.types.clone())
    } else if !row.functions.is_empty() {
        Counter::Functions(row.functions.clone())
    } else if !row.constants.is_empty() {
        Counter::Constants(row.constants.clone())
    } else {
        let unknown = || CensusError::parse(FILE, &format!("{}: unknown figure without a pattern", row.name));
        let measure = MEASURES.iter().find(|(name, _)| row.name == *name);
        Counter::Measure(measure.ok_or_else(unknown)?.1)
    })
}

/// Pattern for words as prose, `snake_case`, `CamelCase` and `UPPER_CASE` write them. An escape
/// such as `\n` may stand directly before a word in a string.
fn word_pattern(words: &[String]) -> String {
    let list = |spell: fn(&str) -> String| words.iter().map(|word| spell(word)).collect::<Vec<_>>().join("|");
    let lower = list(str::to_lowercase);
    let upper = list(str::to_uppercase);
    let capital = list(|word| {
        let mut characters = word.chars();
        characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
    });
    let before = r"\\[nrt]|\b|_";
    let in_lower_case = format!(r"(?:{before})(?:{lower})(?:\b|_|[A-Z])");
    let in_upper_case = format!(r"(?:{before})(?:{upper})(?:\b|_)");
    let in_camel_case = format!(r"(?:{before}|[a-z0-9])(?:{capital})(?:\b|_|[A-Z0-9])");
    format!("{in_lower_case}|{in_upper_case}|{in_camel_case}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_parts_of_identifiers() {
        let regex = Regex::new(&word_pattern(&["cart".to_owned(), "carts".to_owned()])).unwrap();
        for text in [
            "a cart.",
            "carts",
            "own_cart_path",
            "cart_path",
            "OldCart",
            "CartPath",
            "OLD_CART",
            "cartPath",
            "\"\\ncart\"",
            "Carts!",
        ] {
            assert!(regex.is_match(text), "{text}");
        }
        for text in ["carton", "descartes", "CARTOON", "Carton"] {
            assert!(!regex.is_match(text), "{text}");
        }
    }

    #[test]
    fn spaces_of_a_prose_pattern_match_line_breaks() {
        let figures = parse("[[figure]]\nname = 'a'\ncounts = 'b'\nprose = 'red cart'").unwrap();
        let Counter::Prose { pattern, .. } = &figures[0].counter else { panic!("{figures:?}") };
        for text in ["red cart", "/// red\n    /// cart", "\"red \\\n  cart\""] {
            assert!(pattern.is_match(text), "{text}");
        }
        assert!(!pattern.is_match("red, cart"));
    }

    #[test]
    fn limits_are_never_loosened() {
        let text =
            "# Why.\n[[figure]]\nname = \"a\" # first\nlimit = 5\n\n[[figure]]\nname = \"b\"\nat_least = 5\n";
        let tightened = |a, b| tighten_text(text, &BTreeMap::from([("a", a), ("b", b)])).unwrap();
        assert_eq!(tightened(6, 4), text);
        assert_eq!(
            tightened(4, 6),
            text.replace("limit = 5", "limit = 4").replace("at_least = 5", "at_least = 6")
        );
    }

    #[test]
    fn a_row_that_counts_nothing_is_an_error() {
        assert!(parse("[[figure]]\nname = 'a'\ncounts = 'b'").is_err());
    }
}
