//! GitHub: search and single files over its HTTP API, whole repositories as clones to search in.
//!
//! The URLs of the API and of the clones are the operator's settings, so these tools need no allowlist. The token goes to
//! the API and nowhere else: clones are made without it.

mod api;
mod clone;
mod grep;
mod repository;

use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        Arc::new(api::GithubSearch),
        Arc::new(api::GithubReadFile),
        Arc::new(clone::GithubClone),
        Arc::new(grep::GithubGrep),
    ]
}
