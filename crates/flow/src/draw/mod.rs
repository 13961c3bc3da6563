//! Drawings of a workflow: for the terminal, for Graphviz, and as SVG.

mod dot;
mod picture;
mod svg;
mod terminal;

pub use dot::dot;
pub use picture::{Picture, picture};
pub use svg::{MAX_SVG_STEPS, svg};
pub use terminal::terminal;
