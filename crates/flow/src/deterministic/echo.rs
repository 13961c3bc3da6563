//! `Echo`: its outputs are its inputs.

use crate::worker::{Order, Report, Status, Worker};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// A worker that returns its inputs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Echo;

#[async_trait]
impl Worker for Echo {
    fn writes(&self, _: &Order) -> bool {
        false
    }

    fn repeatable(&self, _: &Order) -> bool {
        true
    }

    fn is_echo(&self) -> bool {
        true
    }

    fn gives_facts(&self) -> bool {
        true
    }

    async fn work(&self, order: &Order, _: &CancellationToken) -> Report {
        Report { outputs: order.inputs.clone(), ..Report::new(order, Status::Success, "") }
    }
}
