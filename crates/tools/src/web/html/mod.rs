//! A bounded HTML parser for untrusted pages.
//!
//! The tokenizer is html5ever's; the tree builder is not. A browser's tree grows far beyond the page for some pages
//! (unclosed formatting is repeated in every paragraph) and takes quadratic time for others (very deep nesting), which a
//! hostile page could exploit. So this tree has a bound of depth and of nodes, and is built in one pass.
//!
//! Limits: scripts do not run, so a page that a script writes is empty here. Misplaced elements in tables stay where they
//! are.

mod render;
pub(crate) mod selector;
mod tree;

pub(crate) use render::{Style, links, text, title};
pub(crate) use selector::Selector;
pub(crate) use tree::Document;

#[cfg(test)]
mod tests;
