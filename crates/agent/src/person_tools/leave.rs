//! Another working directory, and the end of the conversation.

use super::changes::{SessionChange, SessionChanges};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::{Intent, Touches, Workspace};
use marvin_tools::{Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(super) struct SetWorkingDir(pub(super) Arc<SessionChanges>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectoryInput {
    /// Its absolute path.
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DirectoryData {
    path: String,
}

#[async_trait]
impl Tool for SetWorkingDir {
    type Input = DirectoryInput;
    type Data = DirectoryData;
    const NAME: &'static str = "set_working_dir";
    const DESCRIPTION: &'static str =
        "Work in another directory from the next message on; the person is asked first.";
    const EXAMPLE: &'static str = r#"{"path": "/home/me/src/app"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("directory", "path"), ("working_dir", "path")];
    const TOUCHES: Touches = Touches::STORES;

    fn intents(input: &DirectoryInput, context: &ToolContext) -> Vec<Intent> {
        // What the call refuses the person is not asked about.
        let directory = open_directory(input, context).ok();
        directory
            .map(|path| Intent::WorkingDirectory { path: path.display().to_string() })
            .into_iter()
            .collect()
    }

    async fn call(
        &self,
        input: DirectoryInput,
        context: &ToolContext,
    ) -> Result<Output<DirectoryData>, ToolError> {
        let root = open_directory(&input, context)?;
        self.0.push(SessionChange::WorkingDir(root.clone()));
        let path = root.display().to_string();
        let text = format!("The working directory is {path} from the next message on.");
        Ok(Output::line(text, DirectoryData { path }))
    }
}

/// The directory, if it can be worked in under the name that the person is asked about: a link could lead elsewhere, and
/// later to a third place.
fn open_directory(input: &DirectoryInput, context: &ToolContext) -> Result<PathBuf, ToolError> {
    let path = Path::new(input.path.trim());
    if !path.is_absolute() || !path.is_dir() {
        return Err(ToolError::Usage(format!(
            "`{}` is not the absolute path of a directory.",
            truncate::line(&input.path, 200)
        )));
    }
    let root = Workspace::open(path, context.layout.home())?.root().to_path_buf();
    if root == path {
        return Ok(root);
    }
    Err(ToolError::Usage(format!(
        "`{}` leads to {}: give that path, so that the person sees it.",
        truncate::line(&input.path, 200),
        root.display()
    )))
}

#[derive(Debug, Clone)]
pub(super) struct ExitApp(pub(super) Arc<SessionChanges>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExitInput {
    /// The last words.
    #[serde(default = "goodbye")]
    message: String,
}

fn goodbye() -> String {
    "Goodbye!".into()
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ExitData {
    message: String,
}

#[async_trait]
impl Tool for ExitApp {
    type Input = ExitInput;
    type Data = ExitData;
    const NAME: &'static str = "exit_app";
    const DESCRIPTION: &'static str = "End the conversation after this answer, when the person says goodbye.";
    const EXAMPLE: &'static str = r#"{"message": "Goodbye!"}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(&self, input: ExitInput, _context: &ToolContext) -> Result<Output<ExitData>, ToolError> {
        let message = truncate::line(&input.message, 200);
        self.0.push(SessionChange::Exit(message.clone()));
        Ok(Output::line(format!("The conversation ends after this answer: {message}"), ExitData { message }))
    }
}
