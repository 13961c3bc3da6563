//! GitHub: search and single files over its HTTP interface, whole repositories as clones to search in.
//!
//! Where the interface and the clones are is the operator's setting, so these tools need no list of hosts. The token goes to
//! the interface and nowhere else: clones are made without it.

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
