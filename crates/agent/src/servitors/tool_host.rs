//! Tools of one servitor: those of its access, as far as it may use them.

use crate::tool_host::{ToolCallResult, ToolHost};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::{Touches, Verdict};
use marvin_model::{ToolCall, ToolSpec};
use marvin_tools::{FileHashes, ToolContext, Toolbox};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The tool that waits; it takes no place among those that run.
pub(super) const WAIT: &str = "wait_for_servitor";

pub(super) struct ServitorTools {
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) context: ToolContext,
    pub(super) only: Option<Vec<String>>,
    pub(super) acting: Arc<Semaphore>,
}

impl ServitorTools {
    fn may(&self, name: &str) -> bool {
        let only = self.only.as_ref();
        self.toolbox
            .find(name)
            .is_ok_and(|tool| only.is_none_or(|only| only.iter().any(|one| one == tool.name())))
    }
}

#[async_trait]
impl ToolHost for ServitorTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.toolbox.specs();
        specs.retain(|spec| self.may(&spec.name));
        specs
    }

    fn knows(&self, name: &str) -> bool {
        self.may(name)
    }

    fn touches(&self, name: &str) -> Touches {
        self.toolbox.find(name).map_or(Touches::NOTHING, |tool| tool.touches())
    }

    fn files_to_write(&self, call: &ToolCall) -> Option<FileHashes> {
        self.toolbox.files_to_write(&call.name, &call.arguments, &self.context)
    }

    async fn call(&self, call: &ToolCall) -> ToolCallResult {
        if self.toolbox.find(&call.name).is_ok() && !self.may(&call.name) {
            let why = format!(
                "`{}` is not among the tools that this servitor may use",
                truncate::line(&call.name, 60)
            );
            let verdict = Verdict::deny("servitor.tools", why.clone(), "Use one of your own tools.");
            return ToolCallResult::not_run(call, verdict, false, why, None);
        }
        // A servitor that waits for another must not take its place.
        let waits = call.name == WAIT;
        let _place = if waits { None } else { self.acting.clone().acquire_owned().await.ok() };
        self.toolbox.call(&call.name, &call.arguments, &self.context).await.into()
    }
}
