//! Searching the workspace, in process, with ripgrep's own parts.
//!
//! Every file is opened through the workspace, so no link leads the search out of it. The output is bounded twice: by the
//! number of matches, and by bytes, since one match can be a megabyte long. The work is bounded too: files over 10 MB are
//! left out and counted, as are files of secrets (`.env`, keys); memory has a limit, and the search stops when the run is cancelled.

use crate::context::ToolContext;
use crate::result::{Confidence, FILE_LIMIT, Output, ToolError};
use crate::tool::Tool;
use crate::walk;
use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use marvin_base::redact::Redactor;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::{Intent, Touches, Workspace, WorkspacePath, secrets};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The name of [`CodeGrep`].
pub const CODE_GREP: &str = "code_grep";

/// Characters of one line that are shown.
const LINE: usize = 500;
/// Bytes of one line that are looked at for it, so that a secret at the cut is seen whole.
const LOOKED_AT: usize = 16 * 1024;
/// Bytes of the largest file that is searched; larger ones are counted.
const LARGEST: u64 = 10 * 1024 * 1024;
/// Bytes that the searcher may hold: the longest line that it can search.
const HEAP: usize = 16 * 1024 * 1024;
/// Folders that are left out when no path is given, wherever they lie.
const FOLDERS: [&str; 6] = ["runs", ".tokimon-tmp", ".venv", "node_modules", "dist", "build"];
/// Extensions that are left out when no path is given.
const EXTENSIONS: [&str; 2] = ["jsonl", "ndjson"];

/// Searches files for a regular expression.
#[derive(Debug, Clone, Copy)]
pub struct CodeGrep;

/// What to look for, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepInput {
    /// Regular expression, case-insensitive.
    pattern: String,
    /// Only files whose name matches, such as "*.py".
    #[serde(default = "any")]
    glob_filter: String,
    /// Lines to show around each match.
    #[serde(default = "two")]
    context_lines: usize,
    /// Matches to show at most.
    #[serde(default = "twenty")]
    max_results: usize,
    /// Folder or file to search, relative to the working directory; generated folders are searched only if named.
    path: Option<String>,
}

fn any() -> String {
    "*".into()
}

fn two() -> usize {
    2
}

fn twenty() -> usize {
    20
}

#[async_trait]
impl Tool for CodeGrep {
    type Input = GrepInput;
    const NAME: &'static str = CODE_GREP;
    const DESCRIPTION: &'static str =
        "Search the files of the working directory for a case-insensitive regular expression.";
    const EXAMPLE: &'static str =
        r#"{"pattern": "fn\\s+main", "glob_filter": "*.rs", "context_lines": 2, "max_results": 20}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("glob", "glob_filter"), ("query", "pattern")];

    fn touches() -> Touches {
        Touches::READS
    }

    fn intents(input: &GrepInput, _context: &ToolContext) -> Vec<Intent> {
        input.path.iter().map(|path| Intent::Read { path: path.clone() }).collect()
    }

    async fn call(&self, input: GrepInput, context: &ToolContext) -> Result<Output, ToolError> {
        context.workspace()?;
        let Some(workspace) = context.workspace.clone() else {
            return Err(ToolError::Failed("there is no working directory".into()));
        };
        let limit = context.settings.count(&table::GREP_MAX_BYTES);
        // Ends with the run, and with this future: a thread cannot be dropped.
        let cancel = context.cancel.child_token();
        let _guard = cancel.clone().drop_guard();
        let redactor = Arc::clone(&context.redactor);
        // Searching a large tree takes the processor for a while: not on a thread that others wait for.
        tokio::task::spawn_blocking(move || search(&input, &workspace, limit, &cancel, redactor))
            .await
            .map_err(|_| ToolError::Failed("the search failed inside".into()))?
    }
}

fn search(
    input: &GrepInput,
    workspace: &Arc<Workspace>,
    limit: usize,
    cancel: &CancellationToken,
    redactor: Arc<Redactor>,
) -> Result<Output, ToolError> {
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(true)
        .line_terminator(Some(b'\n'))
        .build(&input.pattern)
        .map_err(|error| ToolError::Usage(format!("the pattern is not a regular expression: {error}.")))?;
    let glob = GlobBuilder::new(&input.glob_filter)
        .literal_separator(false)
        .build()
        .map_err(|error| ToolError::Usage(format!("glob_filter cannot be understood: {error}.")))?
        .compile_matcher();
    let start = workspace.path(input.path.as_deref().unwrap_or("."))?;
    workspace.metadata(&start)?;
    let start = workspace.root().join(workspace.resolve(&start)?);
    let mut found = Found::new(input.max_results.clamp(1, 10_000), limit, redactor, cancel.clone());
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(input.context_lines.min(20))
        .after_context(input.context_lines.min(20))
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP))
        .build();
    let mut unreadable = 0usize;
    for entry in walk::builder(workspace.root(), &start, true, input.path.is_some()).build() {
        if cancel.is_cancelled() {
            return Err(ToolError::Failed("the search was cancelled".into()));
        }
        if found.full() {
            break;
        }
        let Ok(entry) = entry else {
            unreadable += 1;
            continue;
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(relative) = entry.path().strip_prefix(workspace.root()) else { continue };
        if !glob_fits(&glob, &input.glob_filter, relative) || (input.path.is_none() && is_left_out(relative))
        {
            continue;
        }
        // A secret file that is named itself was judged as such.
        let secret = |name: &OsStr| secrets::is_project_secret(&name.to_string_lossy());
        if entry.depth() > 0 && relative.file_name().is_some_and(secret) {
            found.secret += 1;
            continue;
        }
        let searched = relative
            .to_str()
            .and_then(|text| workspace.path(text).ok())
            .map(|path| search_file(&mut searcher, &matcher, workspace, &path, &mut found));
        if !matches!(searched, Some(Ok(()))) {
            unreadable += 1;
        }
    }
    if cancel.is_cancelled() {
        return Err(ToolError::Failed("the search was cancelled".into()));
    }
    Ok(found.output(input, unreadable))
}

fn search_file(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    workspace: &Workspace,
    path: &WorkspacePath,
    found: &mut Found,
) -> std::io::Result<()> {
    let file = workspace.open_read(path).map_err(|refusal| std::io::Error::other(refusal.to_string()))?;
    if file.metadata()?.len() > LARGEST {
        found.too_large += 1;
        return Ok(());
    }
    found.begin(path.as_str());
    searcher.search_file(matcher, &file, &mut *found)
}

fn glob_fits(glob: &GlobMatcher, text: &str, relative: &Path) -> bool {
    if text.contains('/') {
        glob.is_match(relative)
    } else {
        relative.file_name().is_some_and(|name| glob.is_match(name))
    }
}

fn is_left_out(relative: &Path) -> bool {
    let folders = relative.parent().into_iter().flat_map(Path::iter);
    let extension =
        relative.extension().is_some_and(|extension| EXTENSIONS.iter().any(|left| extension == *left));
    extension || folders.into_iter().any(|folder| FOLDERS.iter().any(|left| folder == *left))
}

/// What was found so far; also what the searcher reports to.
struct Found {
    output: String,
    /// The same for the record: redacted, then cut.
    record: String,
    redactor: Arc<Redactor>,
    cancel: CancellationToken,
    /// Files that were not searched because of their size.
    too_large: usize,
    /// Files of secrets that were not searched.
    secret: usize,
    path: String,
    matches: usize,
    files: usize,
    in_this_file: bool,
    most: usize,
    limit: usize,
    truncated: bool,
}

impl Found {
    fn new(most: usize, limit: usize, redactor: Arc<Redactor>, cancel: CancellationToken) -> Self {
        Found {
            output: String::new(),
            record: String::new(),
            redactor,
            cancel,
            too_large: 0,
            secret: 0,
            path: String::new(),
            matches: 0,
            files: 0,
            in_this_file: false,
            most,
            limit,
            truncated: false,
        }
    }

    fn begin(&mut self, path: &str) {
        self.path = path.to_string();
        self.in_this_file = false;
    }

    fn full(&self) -> bool {
        self.truncated
    }

    /// Adds a line; false when there is no more room.
    fn push(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) -> bool {
        // A line can be a megabyte long; what is far beyond the cut does not matter.
        let bytes = bytes.get(..LOOKED_AT).unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let place = format!("{}{mark}{}{mark}", self.path, number.unwrap_or(0));
        let line = format!("{place} {}\n", truncate::head_whole(text, LINE));
        if self.limit > 0 && self.output.len() + line.len() > self.limit {
            self.truncated = true;
            return false;
        }
        self.output.push_str(&line);
        let clean = truncate::head(&self.redactor.text(text), LINE);
        self.record.push_str(&format!("{place} {clean}\n"));
        true
    }

    fn output(self, input: &GrepInput, unreadable: usize) -> Output {
        let mut text = self.output.clone();
        if self.matches == 0 {
            text = format!("No matches for `{}`.", input.pattern);
        }
        if self.truncated {
            text.push_str("… [more matches were cut; narrow the pattern, the path or glob_filter]\n");
        }
        if self.too_large > 0 {
            text.push_str(&format!("\n… [{} files over 10 MB were not searched]", self.too_large));
        }
        let data = json!({
            "output": self.record,
            "truncated": self.truncated,
            "matches": self.matches,
            "files": self.files,
            "unreadable": unreadable,
            "too_large": self.too_large,
            "secret_files": self.secret,
        });
        let summary = format!(
            "{} matches in {} files for `{}`",
            self.matches,
            self.files,
            truncate::line(&self.redactor.text(&input.pattern), 60)
        );
        let confidence = if self.truncated { Confidence::Summarized } else { Confidence::Verbatim };
        Output { confidence, limit: FILE_LIMIT, ..Output::new(summary, text, data) }
    }
}

impl Sink for &mut Found {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.cancel.is_cancelled() {
            return Ok(false);
        }
        if self.matches == self.most {
            self.truncated = true;
            return Ok(false);
        }
        if !self.push(found.line_number(), ':', found.bytes()) {
            return Ok(false);
        }
        self.matches += 1;
        if !self.in_this_file {
            self.in_this_file = true;
            self.files += 1;
        }
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        // Lines around a match that will not be shown any more are not shown either.
        if self.matches == self.most && *context.kind() == grep_searcher::SinkContextKind::Before {
            return Ok(true);
        }
        Ok(self.push(context.line_number(), '-', context.bytes()))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, Self::Error> {
        if self.limit == 0 || self.output.len() + 3 <= self.limit {
            self.output.push_str("--\n");
            self.record.push_str("--\n");
        }
        Ok(true)
    }
}
