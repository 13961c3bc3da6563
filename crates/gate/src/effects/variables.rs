//! Environment variables: which change nothing that matters, and which make programs run, load or reach something else.
//!
//! A variable in neither list is doubt for programs of the system. Programs that run the project's own code may be given any
//! whose value is plain, because they are settings of that code (`DATABASE_URL=… npm test`).

use super::words::{WordList, WordMatch};

/// What a variable does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variable {
    /// Changes only what is shown, or what the project's own code is told.
    Harmless,
    /// Its value is a directory or file that is written.
    Written,
    /// Its value holds options of this program.
    Options(&'static str),
    /// Its value is a list of options of which only some are harmless.
    Only(WordList),
    /// Its value is an address that is talked to.
    Address,
    /// Chooses a program, a library or options for what a build or a test starts.
    Tool,
    /// Makes programs run, load or trust something else.
    Steering,
    /// Nothing is known of it.
    Unknown,
}

// `ROWS`: the rows of `data/variables.toml`; `NAMES`: the patterns of their names, each with the number of its row.
include!(concat!(env!("OUT_DIR"), "/variables.rs"));

/// The row of a variable: the first with a name that matches.
fn find(name: &str) -> Option<usize> {
    NAMES.matching(name).filter_map(|(_, row)| row.parse().ok()).min()
}

/// What is known of a variable.
pub(super) fn classify(name: &str) -> Variable {
    find(name).and_then(|at| ROWS.get(at)).map_or(Variable::Unknown, |row| *row)
}

/// Does the variable make programs run, load or reach something else, also when it was exported before?
pub(crate) fn steers(name: &str) -> bool {
    matches!(
        classify(name),
        Variable::Steering | Variable::Address | Variable::Only(_) | Variable::Options(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    include!(concat!(env!("OUT_DIR"), "/variable_examples.rs"));

    #[test]
    fn the_examples_of_every_row_hold() {
        for (at, name, expected) in EXAMPLES {
            assert_eq!(find(name) == Some(*at), *expected, "row {at}: {name}");
        }
    }

    #[test]
    fn the_first_row_that_matches_counts() {
        for (name, expected) in [
            ("LC_ALL", Variable::Harmless),
            ("RUST_LOG", Variable::Harmless),
            ("GIT_AUTHOR_NAME", Variable::Harmless),
            ("GIT_EXTERNAL_DIFF", Variable::Steering),
            ("CARGO_TARGET_DIR", Variable::Written),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", Variable::Steering),
            ("LD_PRELOAD", Variable::Steering),
            ("https_proxy", Variable::Address),
            ("SYSTEMD_PAGER", Variable::Steering),
            ("DATABASE_URL", Variable::Unknown),
        ] {
            assert_eq!(classify(name), expected, "{name}");
        }
    }
}
