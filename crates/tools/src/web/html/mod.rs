//! HTML that strangers wrote, read within bounds.
//!
//! The tokenizer is html5ever's; the tree is ours. A browser's tree grows far beyond the page for some pages (unclosed
//! formatting is repeated in every paragraph) and takes quadratic time for others (very deep nesting), and a page must not
//! be able to ask for that. So this tree has a bound of depth and of nodes, and is built in one pass.
//!
//! Limits: scripts do not run, so a page that a script writes is empty here. Misplaced elements in tables stay where they
//! stand.

mod render;
pub(crate) mod selector;
mod tree;

pub(crate) use render::{Style, links, text, title};
pub(crate) use selector::Selector;
pub(crate) use tree::Document;

#[cfg(test)]
mod tests;
