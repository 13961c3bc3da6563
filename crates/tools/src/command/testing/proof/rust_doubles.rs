//! Rust code that is different under test: macros with the names of assertions, and items with a double for tests.
//!
//! Unit tests are compiled with the code that they test, so a `macro_rules! assert_eq` before `mod tests;` takes the place of the
//! real one, and `#[cfg(test)]` can give tests another function than the program has. Test modules and helpers that exist for tests
//! alone are as they should be. Files are compared with what they were before the work.
//!
//! Limits: sources are searched by regex, so code that macros make is not seen.

use crate::pattern::{Pattern, pattern};
use std::collections::BTreeSet;

pattern!(
    NO_CODE,
    r####"(?s)//[^\n]*|/\*.*?\*/|\bb?r"[^"]*"|\bb?r#".*?"#|\bb?r###*".*?"###*|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'"####
);
pattern!(
    ASSERTION_MACRO,
    r"(?:macro_rules!\s*|\bas\s+)((?:debug_)?assert(?:_eq|_ne|_matches)?|panic|matches|unreachable|todo|unimplemented)\b"
);
pattern!(CONDITION, r"#\s*\[\s*cfg\s*\(([^\]]*)\)\s*\]");
pattern!(
    ITEM,
    r"^(?:\s*#\s*\[[^\]]*\])*\s*(?:pub(?:\s*\([^)]*\))?\s+)?(?:(?:async|const|unsafe|default|extern\s*\S*)\s+)*(?:(fn|struct|enum|union|trait|type|const|static|mod|macro_rules!)\s+(?:mut\s+)?(\w+)|(use|impl)\b([^;{]*)([;{]))"
);
pattern!(TEST_WORD, r"\btest\b");
pattern!(NOT_TEST, r"\bnot\s*\(\s*(?:any\s*\(\s*)?test\b");
pattern!(BRANCH, r"\bcfg!\s*\([^;{]*\btest\b|\bcfg_attr\s*\([^\]]*\btest\b[^\]]*\bpath\s*=");

/// A sentence about what a source has now that it did not have before.
pub(super) fn find(name: &str, before: &str, now: &str) -> Option<String> {
    let (before, now) = (Source::parse(before)?, Source::parse(now)?);
    if let Some(name_of_macro) = now.macros.difference(&before.macros).next() {
        return Some(format!("`{name}` defines another macro `{name_of_macro}!`, by which tests judge"));
    }
    if let Some(item) = now.doubles.difference(&before.doubles).next() {
        return Some(format!(
            "`{name}` has a double of `{item}` under `cfg(test)`, so the tests do not run the code of the program"
        ));
    }
    (now.branches > before.branches).then(|| {
        format!("`{name}` branches by `cfg!(test)`, so the tests do not run the code of the program")
    })
}

/// Code without comments, texts and what stands inside of test modules.
pub(super) fn split_test_modules(text: &str) -> Option<(String, String)> {
    let blank = blank(text)?;
    let (mut own, mut of_tests, mut at) = (String::new(), String::new(), 0);
    for found in CONDITION.as_ref()?.captures_iter(&blank) {
        let (Some(attribute), Some(condition)) = (found.get(0), found.get(1)) else { continue };
        let rest = blank.get(attribute.end()..).unwrap_or_default();
        let is_module = ITEM
            .as_ref()?
            .captures(rest)
            .is_some_and(|item| item.get(1).is_some_and(|kind| kind.as_str() == "mod"));
        if attribute.start() < at || !is_module || !is_for_tests(condition.as_str()) {
            continue;
        }
        let Some(open) =
            rest.find(['{', ';']).filter(|open| rest.get(*open..).is_some_and(|rest| rest.starts_with('{')))
        else {
            continue;
        };
        let end = attribute.end() + open + block(rest.get(open..).unwrap_or_default());
        own.push_str(text.get(at..attribute.start()).unwrap_or_default());
        of_tests.push_str(text.get(attribute.start()..end).unwrap_or_default());
        at = end;
    }
    own.push_str(text.get(at..).unwrap_or_default());
    Some((own, of_tests))
}

/// The code with blanks in place of comments and texts, each as long as what it replaces.
fn blank(text: &str) -> Option<String> {
    let blanks = |found: &regex::Captures<'_>| " ".repeat(found.get(0).map_or(0, |found| found.len()));
    Some(NO_CODE.as_ref()?.replace_all(text, blanks).into_owned())
}

fn is_for_tests(condition: &str) -> bool {
    let is = |pattern: &Pattern| pattern.as_ref().is_some_and(|pattern| pattern.is_match(condition));
    is(&TEST_WORD) && !is(&NOT_TEST)
}

/// The length of a block that begins here, with its braces.
fn block(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, char) in code.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[derive(Default)]
struct Source {
    macros: BTreeSet<String>,
    doubles: BTreeSet<String>,
    branches: usize,
}

impl Source {
    fn parse(text: &str) -> Option<Source> {
        let whole = blank(text)?;
        let macros = ASSERTION_MACRO.as_ref()?.captures_iter(&whole);
        let macros = macros.filter_map(|found| found.get(1)).map(|name| name.as_str().to_string()).collect();
        let (own, _) = split_test_modules(text)?;
        let code = blank(&own)?;
        let (mut for_tests, mut otherwise) = (BTreeSet::new(), BTreeSet::new());
        for (code, is_whole) in [(&code, false), (&whole, true)] {
            for found in CONDITION.as_ref()?.captures_iter(code) {
                let (Some(attribute), Some(condition)) = (found.get(0), found.get(1)) else { continue };
                let Some(item) = ConditionalItem::parse(code.get(attribute.end()..).unwrap_or_default())
                else {
                    continue;
                };
                // Test modules are not part of the code, but may themselves be doubles.
                if is_for_tests(condition.as_str()) && (item.is_module || !is_whole) {
                    for_tests.insert(item.name);
                } else if NOT_TEST.as_ref()?.is_match(condition.as_str()) {
                    otherwise.insert(item.name);
                }
            }
        }
        let doubles = for_tests.intersection(&otherwise).cloned().collect();
        let branches = BRANCH.as_ref()?.find_iter(&code).count();
        Some(Source { macros, doubles, branches })
    }
}

/// An item behind a condition.
struct ConditionalItem {
    /// Its name: of an import the last one, of an implementation its header.
    name: String,
    is_module: bool,
}

impl ConditionalItem {
    fn parse(code: &str) -> Option<ConditionalItem> {
        let item = ITEM.as_ref()?.captures(code)?;
        let kind = item.get(1).or(item.get(3))?.as_str();
        let name = match (item.get(2), item.get(4)) {
            (Some(name), _) => name.as_str().to_string(),
            (None, header) => header?.as_str().split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let name = match kind {
            "use" => name.rsplit([':', ' ']).next().unwrap_or_default().to_string(),
            _ => name,
        };
        Some(ConditionalItem { name, is_module: kind == "mod" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_code_that_is_different_under_test_is_found() {
        let before = "pub fn add(a: i64, b: i64) -> i64 { a - b }\n#[cfg(test)]\nmod tests;\n";
        let cheats = [
            "#[cfg(test)]\nmacro_rules! assert_eq { ($($t:tt)*) => {}; }\n",
            "macro_rules! fake { () => {} }\npub(crate) use fake as assert_eq;\n",
            "#[cfg(test)]\npub fn add(a: i64, b: i64) -> i64 { a + b }\n#[cfg(not(test))]\n",
            "#[cfg(all(test, unix))]\n/// The sum.\n#[inline]\npub(crate) const fn add(a: i64) {}\n#[cfg(any(not(test), not(unix)))]\n",
            "#[cfg(test)]\nmod imp { pub fn f() {} }\n#[cfg(not(test))]\nmod imp { pub fn f() {} }\n",
            "#[cfg_attr(test, path = \"good.rs\")]\nmod imp;\n",
            "#[cfg(test)] use good::add;\n#[cfg(not(test))] use bad::add;\n",
            "#[cfg(test)] impl Calc { fn f() {} }\n#[cfg(not(test))] impl Calc { fn f() {} }\n",
            "#[cfg(test)]\n#[path = \"good.rs\"]\nmod imp;\n#[cfg(not(test))]\nmod imp;\n",
            "fn f() -> i64 { if cfg!(test) { 1 } else { 2 } }\n",
            "fn f() -> i64 { if cfg!(not(test)) { 1 } else { 2 } }\n",
        ];
        for cheat in cheats {
            let now = format!("{cheat}{before}");
            assert!(find("src/lib.rs", before, &now).is_some(), "{cheat}");
            assert_eq!(find("src/lib.rs", &now, &now), None, "as it was: {cheat}");
        }
    }

    #[test]
    fn code_for_tests_alone_is_no_double() {
        let honest = [
            "#[cfg(test)]\nmod tests {\n    use super::*;\n    fn add() {}\n    #[test]\n    fn five() { assert_eq!(2, '{'); }\n}\nfn add() {}\n",
            "fn add() {}\n#[cfg(test)]\nfn add_for_tests() { add() }\n#[cfg(test)]\nmod tests;\n",
            "#![cfg_attr(not(test), no_std)]\nfn add() {}\n#[cfg(not(test))]\n#[panic_handler]\nfn panic() {}\n",
            "// #[cfg(test)] fn add() {}\nfn add() {}\nconst S: &str = \"#[cfg(test)] fn add() {} cfg!(test)\";\n",
            "#[cfg(feature = \"test\")]\nfn add() {}\n#[cfg(not(feature = \"test\"))]\nfn add() {}\n",
            "struct A;\nimpl A { fn new() {} }\n#[cfg(test)]\nimpl A { fn for_tests() {} }\n#[cfg(test)]\nfn new() {}\n",
            "macro_rules! assert_close { () => {} }\nfn f() { let x = 1 as u8; }\n",
            "#[cfg(test)] use std::fs;\nuse std::io;\n#[cfg(not(test))] use std::env;\n",
            "impl A {\n    #[cfg(test)]\n    fn len(&self) {}\n}\nimpl B {\n    fn len(&self) {}\n}\n",
            "#[cfg_attr(test, derive(Debug))]\nstruct A;\n",
        ];
        for text in honest {
            assert_eq!(find("src/lib.rs", "", text), None, "{text}");
        }
    }
}
