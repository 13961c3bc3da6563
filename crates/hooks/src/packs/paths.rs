//! Path patterns of packs, and the words of a path.
//!
//! A pattern with one name (`CLAUDE.md`, `node_modules/`) matches in any directory; one with several (`src/api/`) is
//! relative to the project. A pattern without `*`, `?`, `[` or `{` matches a file, or a directory with everything in it. `*`
//! stays within a name, `**` crosses directories.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::collections::BTreeMap;
use std::path::Path;

/// The reason why a pattern is not valid.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatternError {
    #[error("`{0}` names nothing")]
    Empty(String),
    #[error("`{0}` leads out of the project")]
    Outside(String),
    #[error("`{pattern}` is not a glob: {}", .source.kind())]
    Glob { pattern: String, source: globset::Error },
}

/// The globs that a pattern stands for.
pub(super) fn globs(pattern: &str) -> Result<Vec<String>, PatternError> {
    let plain = pattern.trim().trim_start_matches("./");
    let rooted = plain.starts_with('/');
    let below = plain.ends_with('/');
    let body = plain.trim_matches('/');
    if body.is_empty() {
        return Err(PatternError::Empty(pattern.to_string()));
    }
    if body.split('/').any(|part| part == "..") {
        return Err(PatternError::Outside(pattern.to_string()));
    }
    let anywhere = !rooted && !body.contains('/');
    let body = if anywhere { format!("**/{body}") } else { body.to_string() };
    let literal = !body.trim_start_matches("**/").contains(['*', '?', '[', '{']);
    let found = match (below, literal) {
        (true, _) => vec![format!("{body}/**")],
        (false, true) => vec![format!("{body}/**"), body],
        (false, false) => vec![body],
    };
    for glob in &found {
        build(glob).map_err(|source| PatternError::Glob { pattern: pattern.to_string(), source })?;
    }
    Ok(found)
}

fn build(glob: &str) -> Result<globset::Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).build()
}

/// Patterns of several owners, matched at once.
#[derive(Debug)]
pub(super) struct Patterns<T> {
    set: GlobSet,
    owners: Vec<Vec<T>>,
}

impl<T: Clone> Patterns<T> {
    pub(super) fn new(patterns: impl IntoIterator<Item = (String, T)>) -> Self {
        // Many packs have the same glob (`**/node_modules/**`): it is compiled once.
        let mut by_glob: BTreeMap<String, Vec<T>> = BTreeMap::new();
        for (glob, owner) in patterns {
            by_glob.entry(glob).or_default().push(owner);
        }
        let mut builder = GlobSetBuilder::new();
        let mut owners = Vec::new();
        for (glob, owners_of_glob) in by_glob {
            if let Ok(glob) = build(&glob) {
                builder.add(glob);
                owners.push(owners_of_glob);
            }
        }
        // Each was valid alone; together they can only be too large, and then none matches.
        Patterns { set: builder.build().unwrap_or_default(), owners }
    }

    /// The owners of all patterns that match a file.
    pub(super) fn find(&self, file: &str) -> impl Iterator<Item = &T> {
        let found = self.set.matches(file);
        found.into_iter().filter_map(|at| self.owners.get(at)).flatten()
    }
}

/// A path relative to the project, or unchanged where it is outside.
#[must_use]
pub fn relative(file: &Path, project: &Path) -> String {
    let inside = file.strip_prefix(project).unwrap_or(file);
    let text = inside.to_string_lossy();
    text.trim_start_matches("./").to_string()
}

/// The words of a text, in lower case: `src/userAuth-v2.ts` is src, user, auth, v2, ts.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        let border = !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase());
        if border && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Whether two words are the same, apart from a plural of more than two letters.
pub(crate) fn same_word(one: &str, two: &str) -> bool {
    let plural = |many: &str, one: &str| one.len() > 2 && many.strip_suffix('s') == Some(one);
    one == two || plural(one, two) || plural(two, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, file: &str) -> bool {
        let patterns = Patterns::new(globs(pattern).unwrap().into_iter().map(|glob| (glob, ())));
        patterns.find(file).next().is_some()
    }

    #[test]
    fn patterns_mean_what_a_person_expects() {
        for (pattern, file, expected) in [
            ("CLAUDE.md", "CLAUDE.md", true),
            ("CLAUDE.md", "apps/web/CLAUDE.md", true),
            ("CLAUDE.md", "NOT-CLAUDE.md", false),
            ("node_modules/", "node_modules/a/b.js", true),
            ("node_modules/", "apps/web/node_modules/a.js", true),
            ("node_modules/", "my_node_modules/a.js", false),
            ("dist", "dist/a.js", true),
            ("dist", "src/distance.ts", false),
            ("dist", "dist", true),
            ("src/api/", "src/api/users.ts", true),
            ("src/api/", "src/api", false),
            ("src/api", "src/api/v2/users.ts", true),
            ("src/api", "src/apis/users.ts", false),
            ("src/api", "apps/src/api/users.ts", false),
            ("./src/api", "src/api/users.ts", true),
            ("/build", "build/x", true),
            ("/build", "sub/build/x", false),
            ("src/*.ts", "src/a.ts", true),
            ("src/*.ts", "src/deep/a.ts", false),
            ("**/auth/**", "auth/a.rs", true),
            ("**/auth/**", "src/auth/deep/a.rs", true),
            ("**/auth/**", "/elsewhere/auth/a.rs", true),
            ("**/auth/**", "src/author/a.rs", false),
            ("**/.env*", ".env.local", true),
            (".git/**", ".git/hooks/pre-commit", true),
            ("*.sql", "db/deep/x.sql", true),
            ("src/{a,b}/x.ts", "src/b/x.ts", true),
        ] {
            assert_eq!(fits(pattern, file), expected, "{pattern} {file}");
        }
        for pattern in ["", "/", "../x", "a/../b", "a[", "{a"] {
            assert!(globs(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn words_of_paths() {
        assert_eq!(words("src/userAuth-v2.test.ts"), ["src", "user", "auth", "v2", "test", "ts"]);
        assert!(same_word("tests", "test") && same_word("test", "tests") && !same_word("latest", "test"));
        assert_eq!(relative(Path::new("/p/src/a.rs"), Path::new("/p")), "src/a.rs");
        assert_eq!(relative(Path::new("/q/a.rs"), Path::new("/p")), "/q/a.rs");
        assert_eq!(relative(Path::new("./a.rs"), Path::new("/p")), "a.rs");
    }
}
