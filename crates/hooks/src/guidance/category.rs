//! What a prompt is about: a category or the name of a pack that is there, never one that no pack has.

use crate::packs::{Packs, same_word, words};
use std::collections::{BTreeMap, BTreeSet};

/// Keywords of categories, where a pack has them.
const WORDS: [(&[&str], &[&str]); 9] = [
    (
        &["git"],
        &[
            "commit",
            "branch",
            "rebase",
            "merge",
            "push",
            "stash",
            "squash",
            "checkout",
            "pr",
            "changelog",
            "amend",
        ],
    ),
    (
        &["testing", "test-quality"],
        &[
            "test",
            "mock",
            "stub",
            "assert",
            "assertion",
            "coverage",
            "fixture",
            "flaky",
            "snapshot",
            "e2e",
            "jest",
            "vitest",
            "pytest",
            "playwright",
        ],
    ),
    (
        &["security", "auth"],
        &[
            "secret",
            "password",
            "token",
            "credential",
            "sanitize",
            "escape",
            "injection",
            "xss",
            "csrf",
            "permission",
            "encrypt",
            "vulnerability",
            "login",
            "oauth",
            "jwt",
        ],
    ),
    (&["validation"], &["validate", "sanitize", "schema", "zod"]),
    (
        &["typescript", "code-quality"],
        &[
            "any",
            "unknown",
            "interface",
            "generic",
            "eslint",
            "tsc",
            "tsconfig",
            "ts",
            "tsx",
            "react",
            "prettier",
        ],
    ),
    (
        &["code-quality", "patterns"],
        &[
            "naming",
            "refactor",
            "duplicate",
            "duplication",
            "readable",
            "helper",
            "abstraction",
            "lint",
            "comment",
            "dead",
        ],
    ),
    (
        &["rust"],
        &[
            "cargo",
            "clippy",
            "unwrap",
            "crate",
            "borrow",
            "lifetime",
            "trait",
            "rustfmt",
            "thiserror",
            "anyhow",
            "rs",
        ],
    ),
    (&["python"], &["pip", "uv", "poetry", "mypy", "ruff", "pydantic", "venv", "dataclass", "django", "py"]),
    (&["go", "golang"], &["golang", "goroutine", "gofmt", "channel", "errgroup"]),
];
/// Names of packs that are ordinary words; they count only by what is said with them.
const ORDINARY: [&str; 4] = ["go", "team", "general", "common"];

/// The category with the most words in the text; of equal ones the first in the order of packs.
pub(super) fn detect(text: &str, packs: &Packs) -> Option<String> {
    let spoken: BTreeSet<String> = words(&text.chars().take(4_000).collect::<String>()).into_iter().collect();
    let says = |word: &str| spoken.iter().any(|spoken| same_word(spoken, word));
    let mut points: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for pack in packs.all() {
        for category in pack.categories() {
            if !order.contains(&category) {
                order.push(category);
            }
        }
    }
    for category in &order {
        let parts: Vec<&str> = category.split('-').collect();
        let whole = !ORDINARY.contains(category) && parts.iter().all(|part| says(part));
        // Its own name counts more than a keyword.
        let mut count = if whole { parts.len() + 1 } else { 0 };
        for (categories, known) in WORDS {
            if categories.contains(category) {
                count += known.iter().filter(|word| says(word)).count();
            }
        }
        if count > 0 {
            *points.entry(category).or_default() += count;
        }
    }
    let spoken: Vec<String> = spoken.iter().cloned().collect();
    for (_, categories) in packs.keywords().find(&spoken) {
        for category in &order {
            if categories.iter().any(|known| **known == **category) {
                *points.entry(category).or_default() += 1;
            }
        }
    }
    let most = points.values().copied().max()?;
    order.into_iter().find(|category| points.get(category) == Some(&most)).map(ToString::to_string)
}
