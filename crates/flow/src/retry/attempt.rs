//! One attempt at a step, as it is recorded.

use super::progress::Progress;
use crate::worker::Status;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Counted from 1.
    pub attempt_id: u32,
    pub status: Status,
    /// See [`call_signature`](super::call_signature).
    pub call_signature: String,
    pub worker_type: String,
    pub strategy_id: String,
    pub retrieval_stage: u8,
    /// The worker's own report: a claim.
    pub summary: String,
    pub failure_signature: Option<String>,
    /// What the shell measured.
    #[serde(rename = "progress_metrics", alias = "progress")]
    pub progress: Progress,
    pub artifacts: Vec<String>,
}
