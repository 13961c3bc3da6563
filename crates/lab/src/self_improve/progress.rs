//! Progress messages of a run.

use std::sync::Arc;

/// Receives lines about the progress of a run.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(&str) + Send + Sync>);

impl std::fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Progress")
    }
}

impl Progress {
    pub fn new(say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Progress(Arc::new(say))
    }

    pub(super) fn say(&self, line: &str) {
        (self.0)(line);
    }
}
