//! Downloading a file.
//!
//! In conversation it goes to the person's downloads; while coding, into the working directory, judged like any other
//! write. The file appears whole or not at all, and never replaces another.

use super::get::{self, FetchRequest};
use crate::context::ToolContext;
use crate::result::{FROM_WEB, Output, ToolError};
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::settings::table;
use marvin_gate::{Intent, Refusal, RefusalKind, Touches, Workspace};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{Seek, Write};
use std::sync::Arc;

const MAX_FILE_NAME_BYTES: usize = 150;

#[derive(Debug, Clone, Copy)]
pub(super) struct DownloadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DownloadInput {
    /// The address, http or https.
    url: String,
    /// The name of the file; empty: the last part of the address.
    #[serde(default)]
    filename: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DownloadData {
    /// The URL after redirects.
    url: String,
    /// Where the file is: relative to the working directory while coding, else absolute.
    path: String,
    bytes: u64,
    content_type: String,
    sha256: String,
}

#[async_trait]
impl Tool for DownloadFile {
    type Input = DownloadInput;
    type Data = DownloadData;
    const NAME: &'static str = "download_file";
    const DESCRIPTION: &'static str = "Download an address into a new file: in the working directory while coding, else in \
        the person's downloads. Never overwrites.";
    const EXAMPLE: &'static str = r#"{"url": "https://example.com/data.csv", "filename": "data.csv"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("name", "filename"), ("path", "filename")];
    const TOUCHES: Touches = Touches { writes: true, network: true, ..Touches::STORES };

    fn intents(input: &DownloadInput, context: &ToolContext) -> Vec<Intent> {
        let mut intents = vec![Intent::Request { url: input.url.clone(), service: None }];
        if context.coding {
            intents.push(Intent::Write { path: name_of(input) });
        }
        intents
    }

    async fn call(
        &self,
        input: DownloadInput,
        context: &ToolContext,
    ) -> Result<Output<DownloadData>, ToolError> {
        let directory = directory(context)?;
        let path = directory.path(&name_of(&input))?;
        let taken = || {
            ToolError::Refused(Refusal::new(
                RefusalKind::Exists,
                format!("{} exists already", directory.root().join(path.as_path()).display()),
                "Nothing is overwritten: give another `filename`.",
            ))
        };
        // A link that leads out counts as an existing file.
        if directory.exists(&path) || directory.root().join(path.as_path()).is_symlink() {
            return Err(taken());
        }
        let limit = context.settings.count(&table::WEB_DOWNLOAD_BYTES) as u64;
        let deadline = context.settings.seconds(&table::WEB_DOWNLOAD_TIMEOUT);
        let mut answer = get::open(FetchRequest::page(&input.url, limit, deadline), context).await?;
        if let Some(error) = answer.error() {
            return Err(ToolError::Failed(format!("{error}; nothing was kept")));
        }
        let too_large = || {
            ToolError::Failed(format!(
                "the file is larger than {limit} bytes, so nothing was kept; the person can raise {}",
                table::WEB_DOWNLOAD_BYTES.key
            ))
        };
        if answer.announced.is_some_and(|announced| announced > limit) {
            return Err(too_large());
        }
        // Without a name until it is complete, so that nothing is left behind.
        let disk = |error: std::io::Error| ToolError::Failed(format!("cannot write the download: {error}"));
        let mut file = tempfile::tempfile().map_err(disk)?;
        let mut hash = Sha256::new();
        while let Some(piece) = answer.next().await? {
            hash.update(&piece);
            file.write_all(&piece).map_err(disk)?;
        }
        if answer.truncated {
            return Err(too_large());
        }
        file.rewind().map_err(disk)?;
        let destination = path.clone();
        let kept = Arc::clone(&directory);
        let bytes = tokio::task::spawn_blocking(move || kept.create_from(&destination, &mut file))
            .await
            .map_err(|_| ToolError::Failed("the download could not be written".into()))?
            .map_err(|refusal| if refusal.kind == RefusalKind::Exists { taken() } else { refusal.into() })?;
        let shown = if context.coding {
            path.as_str().to_string()
        } else {
            directory.root().join(path.as_path()).display().to_string()
        };
        let data = DownloadData {
            url: answer.url.clone(),
            path: shown.clone(),
            bytes,
            content_type: answer.content_type.clone(),
            sha256: hex::encode(hash.finalize()),
        };
        let output = Output::line(format!("Kept {} as {shown} ({bytes} bytes)", answer.url), data);
        Ok(Output { source: FROM_WEB, ..output })
    }
}

/// The directory of downloads.
pub(super) fn directory(context: &ToolContext) -> Result<Arc<Workspace>, ToolError> {
    if context.coding {
        return context.shared_workspace();
    }
    let directory = context.layout.downloads();
    std::fs::create_dir_all(&directory)
        .map_err(|error| ToolError::Failed(format!("cannot create {}: {error}", directory.display())))?;
    Ok(Arc::new(Workspace::open(&directory, context.layout.home())?))
}

/// The name of the new file: no directories, no leading dot, no invisible characters.
fn name_of(input: &DownloadInput) -> String {
    let given = input.filename.trim();
    let from_address = || {
        let url = Url::parse(&input.url).ok();
        let last = url.and_then(|url| Some(url.path_segments()?.next_back()?.to_string()));
        percent_decoded(&last.unwrap_or_default())
    };
    plain_name(&if given.is_empty() { from_address() } else { given.to_string() })
}

/// The last part of a path as the name of a new file.
pub(super) fn plain_name(wanted: &str) -> String {
    let last = wanted.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_seen = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let plain: String = last
        .chars()
        .filter(is_seen)
        .map(|c| if matches!(c, ':' | '*' | '?' | '"' | '<' | '>' | '|') { '_' } else { c })
        .collect();
    let plain = plain.trim().trim_start_matches(['.', '-', '~', ' ']).trim_end_matches(['.', ' ']);
    // The extension is kept whole.
    let (stem, extension) = match plain.rsplit_once('.') {
        Some((stem, extension)) if extension.len() <= 16 => (stem, format!(".{extension}")),
        _ => (plain, String::new()),
    };
    let end = stem.floor_char_boundary(MAX_FILE_NAME_BYTES.saturating_sub(extension.len()));
    let name = format!("{}{extension}", stem.split_at(end).0);
    if name.is_empty() { "download".into() } else { name }
}

fn percent_decoded(text: &str) -> String {
    let query = format!("x={}", text.replace('+', "%2B"));
    let url = Url::parse(&format!("http://h/?{query}")).ok();
    url.and_then(|url| url.query_pairs().next().map(|(_, value)| value.into_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for (url, filename, expected) in [
            ("https://h/a/b.csv?x=1", "", "b.csv"),
            ("https://h/a/", "", "download"),
            ("https://h", "", "download"),
            ("https://h/a%20b.txt", "", "a b.txt"),
            ("https://h/..%2F..%2Fetc%2Fpasswd", "", "passwd"),
            ("https://h/%2ebashrc", "", "bashrc"),
            ("https://h/x", "../../../etc/passwd", "passwd"),
            ("https://h/x", "..\\..\\boot.ini", "boot.ini"),
            ("https://h/x", "/etc/cron.d/job", "job"),
            ("https://h/x", ".ssh", "ssh"),
            ("https://h/x", "...", "download"),
            ("https://h/x", "a\u{0}b\nc\u{202e}txt.exe", "abctxt.exe"),
            ("https://h/x", "-rf", "rf"),
            ("https://h/x", "a:b*c?.txt", "a_b_c_.txt"),
            ("https://h/x", "  ", "x"),
            ("https://h/a+b&c.txt", "", "a+b"),
        ] {
            let input = DownloadInput { url: url.into(), filename: filename.into() };
            assert_eq!(name_of(&input), expected, "{url} {filename:?}");
        }
        let long =
            DownloadInput { url: "https://h/x".into(), filename: format!("{}.tar.gz", "é".repeat(400)) };
        let name = name_of(&long);
        assert!(name.len() <= MAX_FILE_NAME_BYTES && name.ends_with(".gz"), "{name}");
    }
}
