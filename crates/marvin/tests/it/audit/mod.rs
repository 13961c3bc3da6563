//! Regressions found by trying every requirement, one test per finding, named after its id.

mod facts;
mod hooks;
mod prompts;
mod safety;
