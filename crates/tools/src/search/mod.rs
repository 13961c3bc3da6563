//! Searching the workspace, in process, with ripgrep's own parts.
//!
//! Every file is opened through the workspace, so no link leads the search out of it. The output is bounded twice: by the
//! number of matches, and by bytes, since one match can be a megabyte long. The work is bounded too: files over 10 MB are
//! left out and counted, as are secret files (`.env`, keys); memory has a limit, and the search stops when the run is cancelled.
//!
//! All cores search ([`engine`]); the result is the same as if one did: the first matches in the order of paths.

mod engine;
mod hits;

use crate::context::ToolContext;
use crate::result::{Confidence, FILE_LIMIT, Output, ToolError};
use crate::tool::{DynTool, Tool, run_blocking};
use crate::walk;
use async_trait::async_trait;
use engine::{Files, Finder};
use globset::GlobBuilder;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use hits::MergedHits;
use marvin_base::printable::count;
use marvin_base::redact::Redactor;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::secrets::GrantedFiles;
use marvin_gate::{Intent, Touches, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

pub const CODE_GREP: &str = "code_grep";

/// Bytes of the searcher's heap: the longest line that it can search.
const HEAP: usize = 16 * 1024 * 1024;
/// Directories that are left out at any depth when no path is given.
const DIRECTORIES: [&str; 6] = ["runs", ".tokimon-tmp", ".venv", "node_modules", "dist", "build"];
/// Extensions that are left out when no path is given.
const EXTENSIONS: [&str; 2] = ["jsonl", "ndjson"];

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(CodeGrep)]
}

#[derive(Debug, Clone, Copy)]
pub struct CodeGrep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepInput {
    /// Regular expression, case-insensitive.
    pattern: String,
    /// Only files whose name matches, such as "*.py".
    #[serde(default = "any")]
    glob_filter: String,
    /// Lines to show around each match.
    #[serde(default = "crate::schema::count::<2>")]
    context_lines: usize,
    /// Matches to show at most.
    #[serde(default = "crate::schema::count::<20>")]
    max_results: usize,
    /// Directory or file to search, relative to the working directory; generated directories are searched only if named.
    path: Option<String>,
}

impl GrepInput {
    /// A search of the whole workspace.
    pub(crate) fn everywhere(pattern: String, glob_filter: String, max_results: usize) -> Self {
        GrepInput { pattern, glob_filter, context_lines: 2, max_results, path: None }
    }
}

fn any() -> String {
    "*".into()
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GrepData {
    /// The matches with the lines around them.
    output: String,
    /// Whether further matches exist.
    truncated: bool,
    matches: usize,
    files: usize,
    unreadable: usize,
    /// Files that were not searched because of their size.
    too_large: usize,
    /// Secret files, which are not searched.
    secret_files: usize,
}

#[async_trait]
impl Tool for CodeGrep {
    type Input = GrepInput;
    type Data = GrepData;
    const NAME: &'static str = CODE_GREP;
    const DESCRIPTION: &'static str =
        "Search the files of the working directory for a case-insensitive regular expression.";
    const EXAMPLE: &'static str =
        r#"{"pattern": "fn\\s+main", "glob_filter": "*.rs", "context_lines": 2, "max_results": 20}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("glob", "glob_filter"), ("query", "pattern")];
    const TOUCHES: Touches = Touches::READS;

    fn intents(input: &GrepInput, _context: &ToolContext) -> Vec<Intent> {
        input.path.iter().map(|path| Intent::Read { path: path.clone() }).collect()
    }

    async fn call(&self, input: GrepInput, context: &ToolContext) -> Result<Output<GrepData>, ToolError> {
        let workspace = context.shared_workspace()?;
        let limit = context.settings.count(&table::GREP_MAX_BYTES);
        // Cancelled with the run, and with this future: a thread cannot be dropped.
        let cancel = context.cancel.child_token();
        let _guard = cancel.clone().drop_guard();
        let redactor = Arc::clone(&context.redactor);
        let granted = GrantedFiles::from_settings(&context.settings);
        // Searching a large tree takes the CPU for a while, so not on a thread of the runtime.
        run_blocking(move || search(&input, &workspace, limit, &cancel, &redactor, &granted)).await
    }
}

fn search(
    input: &GrepInput,
    workspace: &Arc<Workspace>,
    limit: usize,
    cancel: &CancellationToken,
    redactor: &Redactor,
    granted: &GrantedFiles,
) -> Result<Output<GrepData>, ToolError> {
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(true)
        .line_terminator(Some(b'\n'))
        .build(&input.pattern)
        .map_err(|error| ToolError::Usage(format!("the pattern is not a regular expression: {error}.")))?;
    let glob = GlobBuilder::new(&input.glob_filter)
        .literal_separator(false)
        .build()
        .map_err(|error| ToolError::Usage(format!("glob_filter is not a glob: {error}.")))?
        .compile_matcher();
    let start = workspace.path(input.path.as_deref().unwrap_or("."))?;
    let facts = workspace.metadata(&start)?;
    if !facts.is_dir() {
        // Refuses what is neither a directory nor a regular file.
        workspace.open_read(&start)?;
    }
    let whole_tree = input.path.is_none();
    let plan = walk::Plan {
        everything: !whole_tree,
        without: if whole_tree { &DIRECTORIES } else { &[] },
        ..walk::Plan::default()
    };
    let files = Files {
        start: workspace.resolve(&start)?,
        single: !facts.is_dir(),
        plan,
        glob: (input.glob_filter != "*").then_some(glob),
        by_path: input.glob_filter.contains('/'),
        without: if whole_tree { &EXTENSIONS } else { &[] },
    };
    let mut searcher = SearcherBuilder::new();
    searcher
        .line_number(true)
        .before_context(input.context_lines.min(20))
        .after_context(input.context_lines.min(20))
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP));
    let most = input.max_results.clamp(1, 10_000);
    let finder = Finder {
        workspace,
        matcher,
        searcher,
        most,
        limit,
        cancel,
        redactor,
        granted,
        closed: OnceLock::new(),
    };
    let found = engine::run(&finder, &files);
    if cancel.is_cancelled() {
        return Err(ToolError::Failed("the search was cancelled".into()));
    }
    Ok(output(found, input, redactor))
}

fn output(found: MergedHits, input: &GrepInput, redactor: &Redactor) -> Output<GrepData> {
    let mut text = found.output;
    if found.matches == 0 {
        text = format!("No matches for `{}`.", input.pattern);
    }
    if found.truncated {
        text.push_str("… [more matches were cut; narrow the pattern, the path or glob_filter]\n");
    }
    if found.counts.too_large > 0 {
        let large = count(found.counts.too_large, "file");
        text.push_str(&format!("\n… [not searched: {large} over 10 MB]"));
    }
    let summary = format!(
        "{} {} in {} for `{}`",
        found.matches,
        if found.matches == 1 { "match" } else { "matches" },
        count(found.files, "file"),
        truncate::line(&redactor.text(&input.pattern), 60)
    );
    let data = GrepData {
        output: found.record,
        truncated: found.truncated,
        matches: found.matches,
        files: found.files,
        unreadable: found.counts.unreadable,
        too_large: found.counts.too_large,
        secret_files: found.counts.secret,
    };
    let confidence = if found.truncated { Confidence::Summarized } else { Confidence::Verbatim };
    Output { confidence, limit: FILE_LIMIT, ..Output::new(summary, text, data) }
}
