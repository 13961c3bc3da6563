//! Searching a clone.

use super::clone::{not_cloned, owner_directory};
use super::repository::Repository;
use crate::context::ToolContext;
use crate::result::{FROM_WEB, Output, ToolError};
use crate::search::{CodeGrep, GrepData, GrepInput};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_gate::Touches;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
pub(super) struct GithubGrep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloneGrepInput {
    /// The repository, `owner/name`; it must be cloned.
    repo: String,
    /// Regular expression, case-insensitive.
    pattern: String,
    /// Only files whose name matches, such as "*.rs".
    #[serde(default)]
    glob_filter: String,
    /// Matches at most.
    #[serde(default = "crate::schema::count::<30>")]
    max_results: usize,
}

#[async_trait]
impl Tool for GithubGrep {
    type Input = CloneGrepInput;
    type Data = GrepData;
    const NAME: &'static str = "github_grep";
    const DESCRIPTION: &'static str = "Search the files of a repository that github_clone cloned.";
    const EXAMPLE: &'static str = r#"{"repo": "rust-lang/log", "pattern": "fn\\s+set_logger", "glob_filter": "*.rs", "max_results": 30}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("glob", "glob_filter"), ("query", "pattern")];
    const TOUCHES: Touches = Touches::READS;

    async fn call(
        &self,
        input: CloneGrepInput,
        context: &ToolContext,
    ) -> Result<Output<GrepData>, ToolError> {
        let repository = Repository::parse(&input.repo, &context.settings)?;
        let owner = owner_directory(&repository, context, false)?;
        let path = owner.path(&repository.name)?;
        if !owner.exists(&path) {
            return Err(not_cloned(&repository));
        }
        let clone = owner.inner(&path)?;
        let glob = if input.glob_filter.trim().is_empty() { "*" } else { input.glob_filter.trim() };
        let wanted = GrepInput::everywhere(input.pattern, glob.to_string(), input.max_results.clamp(1, 500));
        let inside = ToolContext { workspace: Some(Arc::new(clone)), ..context.clone() };
        let output = CodeGrep.call(wanted, &inside).await?;
        Ok(Output { source: FROM_WEB, ..output })
    }
}
