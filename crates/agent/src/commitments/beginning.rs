//! Baseline of a turn: the project when it began, kept in memory, by which its commitments are judged.

use super::assertion::Assertion;
use super::check::{self, Beginning};
use super::store::{PROJECT, Store};
use crate::project_context::ProjectContext;
use marvin_tools::ToolContext;
use marvin_tools::command::{BaselineTree, TestSeal};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Seals of the project's own commitments, and a copy of the tree.
#[derive(Debug, Clone, Default)]
pub struct TurnBaseline {
    seals: BTreeMap<(String, String), TestSeal>,
    tree: Option<Arc<BaselineTree>>,
}

impl TurnBaseline {
    /// Takes the baseline, `with_project` also of the project's own commitments. The tree is copied only where tests are to be
    /// verified; without it the names of tests are compared by their sources alone.
    #[must_use]
    pub fn take(project: &ProjectContext, with_project: bool, has_tests: bool) -> Self {
        let context = project.tool_context(CancellationToken::new(), None);
        let mut baseline = TurnBaseline::default();
        if with_project {
            baseline.seal_project(project, &context);
        }
        if has_tests || !baseline.seals.is_empty() {
            baseline.tree = BaselineTree::take(&context).ok().map(Arc::new);
        }
        baseline
    }

    fn seal_project(&mut self, project: &ProjectContext, context: &ToolContext) {
        let Some(document) = Store::from_layout(&project.layout).and_then(|store| store.read(PROJECT).ok())
        else {
            return;
        };
        for commitment in &document.commitments {
            let assertion = Assertion::parse(commitment.kind, &commitment.assertion).ok();
            let input = assertion.and_then(|assertion| check::tests_input(&assertion, commitment.timeout_s));
            // Without a seal here, the commitment is judged by its own.
            if let Some(seal) = input.and_then(|input| TestSeal::take(&input, true, context).ok()) {
                self.seals.insert((PROJECT.to_string(), commitment.id.clone()), seal);
            }
        }
    }

    pub(super) fn for_commitment(&self, document: &str, id: &str) -> Beginning<'_> {
        let seal = self.seals.get(&(document.to_string(), id.to_string()));
        Beginning { seal, tree: self.tree.as_deref() }
    }
}
