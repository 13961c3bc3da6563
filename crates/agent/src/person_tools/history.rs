//! The chat log: compaction, and search in its backups.

use super::changes::{SessionChange, SessionChanges};
use crate::history::History;
use async_trait::async_trait;
use marvin_base::printable::{count, visible};
use marvin_base::profile;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::Touches;
use marvin_tools::{Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

fn chat_log(context: &ToolContext) -> PathBuf {
    let name = profile::active(&context.layout, context.settings.given(&table::PROFILE));
    context.layout.chat_log(&name)
}

#[derive(Debug, Clone)]
pub(super) struct CompactHistory(pub(super) Arc<SessionChanges>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompactInput {
    /// Tokens that the log has afterwards, about.
    #[serde(default = "fifty_thousand")]
    target_tokens: usize,
}

fn fifty_thousand() -> usize {
    50_000
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CompactData {
    /// The file with the log as it was; none where it was short enough.
    backup: Option<String>,
}

#[async_trait]
impl Tool for CompactHistory {
    type Input = CompactInput;
    type Data = CompactData;
    const NAME: &'static str = "compact_history";
    const DESCRIPTION: &'static str = "Compact the chat log to a number of tokens, after a backup.";
    const EXAMPLE: &'static str = r#"{"target_tokens": 50000}"#;
    const TOUCHES: Touches = Touches::STORES;

    async fn call(
        &self,
        input: CompactInput,
        context: &ToolContext,
    ) -> Result<Output<CompactData>, ToolError> {
        let path = chat_log(context);
        let backup = History::compact_file(&path, input.target_tokens.max(500))
            .map_err(|error| ToolError::Failed(format!("cannot compact {}: {error}", path.display())))?;
        let text = match &backup {
            None => "The chat log is short enough already.".to_string(),
            Some(backup) => {
                self.0.push(SessionChange::ChatLog);
                format!("The chat log is compacted; as it was, it is in {}.", backup.display())
            }
        };
        Ok(Output::line(text, CompactData { backup: backup.map(|path| path.display().to_string()) }))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SearchHistoryBackups;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchInput {
    /// Words that occur in the text, as they stand.
    query: String,
    /// Results at most, 1 to 50.
    #[serde(default = "twenty")]
    max_results: usize,
}

fn twenty() -> usize {
    20
}

/// An entry of a backup.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BackupEntry {
    /// The moment of the backup.
    backup: String,
    role: String,
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BackupEntries {
    entries: Vec<BackupEntry>,
}

#[async_trait]
impl Tool for SearchHistoryBackups {
    type Input = SearchInput;
    type Data = BackupEntries;
    const NAME: &'static str = "search_history_backups";
    const DESCRIPTION: &'static str =
        "Search the backups of the chat log: older conversations with this person.";
    const EXAMPLE: &'static str = r#"{"query": "visa", "max_results": 20}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("limit", "max_results")];
    const TOUCHES: Touches = Touches::READS;

    async fn call(
        &self,
        input: SearchInput,
        context: &ToolContext,
    ) -> Result<Output<BackupEntries>, ToolError> {
        if input.query.trim().is_empty() {
            return Err(ToolError::Usage(
                "search_history_backups needs `query`: the words to look for.".into(),
            ));
        }
        let found = History::search_backups(&chat_log(context), &input.query, input.max_results.clamp(1, 50));
        let entry = |(backup, entry): (String, crate::history::ChatLogEntry)| BackupEntry {
            backup,
            role: entry.role,
            text: truncate::middle(&visible(&entry.text), 600),
        };
        let entries: Vec<BackupEntry> = found.into_iter().map(entry).collect();
        let lines: Vec<String> = entries
            .iter()
            .map(|entry| format!("- {} {}: {}", entry.backup, entry.role, entry.text))
            .collect();
        let text = if lines.is_empty() { "No backup holds these words.".into() } else { lines.join("\n") };
        Ok(Output::new(count(entries.len(), "entry of old chat logs"), text, BackupEntries { entries }))
    }
}
