//! Knowledge of others: news, papers, Wikipedia, questions and answers.

mod arxiv;
mod news;
mod papers;
mod stack;
mod wikipedia;

use crate::service::tool;
use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        tool::<news::SearchNews>(),
        tool::<papers::SearchPapers>(),
        tool::<arxiv::SearchArxiv>(),
        tool::<wikipedia::WikiSearch>(),
        tool::<wikipedia::WikiSummary>(),
        tool::<wikipedia::WikiFull>(),
        tool::<wikipedia::WikiGrep>(),
        tool::<stack::StackSearch>(),
        tool::<stack::StackAnswers>(),
    ]
}
