//! Downloading video and sound with yt-dlp, the program itself, in the sandbox.
//!
//! It reaches the network only through a [`Proxy`], which lets it ask the page's host and the hosts that the site's media come
//! from. It writes into a temporary directory; complete files are then created among the downloads (while coding, in the working
//! directory) and never replace others.

use super::download;
use super::proxy::Proxy;
use crate::context::ToolContext;
use crate::result::{FROM_WEB, Output, ToolError};
use crate::service::clean;
use crate::tool::Tool;
use async_trait::async_trait;
use marvin_base::child::Ending;
use marvin_base::environment::Environment;
use marvin_base::printable::count;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::sandbox::Policy;
use marvin_gate::{Intent, JudgedCommand, RefusalKind, Touches, WorkspacePath, secrets};
use marvin_model::choose;
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Files that one call may leave.
const MAX_FILES: usize = 20;
/// Options of every call: nothing from configuration files, one item, names without odd characters.
const OPTIONS: &[&str] = &[
    "--ignore-config",
    "--no-cache-dir",
    "--no-playlist",
    "--no-progress",
    "--no-mtime",
    "--no-update",
    "--restrict-filenames",
    "--no-write-comments",
    "--no-exec",
    "--socket-timeout=20",
    "--retries=2",
    "--output=%(title).100B-%(id).40B.%(ext)s",
];

/// The table of sites and the hosts of their media.
#[derive(Debug, Deserialize)]
struct Sites {
    site: Vec<Site>,
}

#[derive(Debug, Deserialize)]
struct Site {
    hosts: Vec<String>,
    media: Vec<String>,
}

/// Hosts that the media of this page may come from, in addition to its own.
fn media_hosts(url: &str) -> Vec<&'static str> {
    static SITES: OnceLock<Vec<Site>> = OnceLock::new();
    let sites = SITES.get_or_init(|| {
        toml::from_str::<Sites>(include_str!("../../data/media_hosts.toml"))
            .map(|it| it.site)
            .unwrap_or_default()
    });
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_string)).unwrap_or_default();
    let is_below = |domain: &String| {
        host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let site = sites.iter().find(|site| site.hosts.iter().any(is_below));
    site.map(|site| site.media.iter().map(String::as_str).collect()).unwrap_or_default()
}

#[derive(Debug, Clone, Copy)]
pub(super) struct YtDlpDownload;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct YtDlpInput {
    /// Address of the page with the video or the sound.
    url: String,
    /// Only the sound.
    #[serde(default)]
    audio_only: bool,
    /// Directory below the downloads (while coding, of the working directory); empty: that directory itself.
    #[serde(default)]
    output_dir: String,
}

/// A file that was saved.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MediaFile {
    /// Relative to the working directory while coding, else absolute.
    path: String,
    bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct YtDlpData {
    url: String,
    files: Vec<MediaFile>,
    /// Hosts that were not let through.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
    /// The sandbox that yt-dlp had.
    sandbox: &'static str,
}

#[async_trait]
impl Tool for YtDlpDownload {
    type Input = YtDlpInput;
    type Data = YtDlpData;
    const NAME: &'static str = "yt_dlp_download";
    const DESCRIPTION: &'static str = "Download the video or the sound of a page (YouTube and many other sites) with yt-dlp into \
        new files among the person's downloads, or in the working directory while coding.";
    const EXAMPLE: &'static str =
        r#"{"url": "https://www.youtube.com/watch?v=aqz-KE-bpKQ", "audio_only": true}"#;
    const TOUCHES: Touches = Touches { writes: true, network: true, ..Touches::STORES };

    fn intents(input: &YtDlpInput, _context: &ToolContext) -> Vec<Intent> {
        vec![Intent::Request { url: input.url.clone(), service: None }]
    }

    async fn call(&self, input: YtDlpInput, context: &ToolContext) -> Result<Output<YtDlpData>, ToolError> {
        let environment = Environment::of_process();
        let program = choose::find_program(context.settings.text(&table::YT_DLP), &environment)
            .ok_or_else(|| {
                ToolError::Failed(format!(
                    "yt-dlp is not installed\n  hint: tell the person to install it (pipx install yt-dlp), or to name it in {}",
                    table::YT_DLP.key
                ))
            })?;
        let directory = download::directory(context)?;
        // A directory that cannot be used is said before anything is fetched.
        file_path(&directory, &input.output_dir, "media", context)?;
        let temporary = tempfile::Builder::new()
            .prefix("marvin-")
            .tempdir()
            .map_err(|error| ToolError::Failed(format!("cannot create a temporary directory: {error}")))?;
        let (work, home) = (temporary.path().join("files"), temporary.path().join("home"));
        for place in [&work, &home] {
            std::fs::create_dir(place)
                .map_err(|error| ToolError::Failed(format!("cannot create {}: {error}", place.display())))?;
        }
        let (sandbox, refused) = run(&program, &input, &work, &home, &environment, context).await?;
        let files = keep_files(&work, &input.output_dir, &directory, context)?;
        if files.is_empty() {
            return Err(ToolError::Failed("yt-dlp ended well, and left no file".into()));
        }
        let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let text = format!("Saved {}: {}", count(files.len(), "file"), names.join(", "));
        let data = YtDlpData { url: input.url, files, refused, sandbox };
        Ok(Output { source: FROM_WEB, ..Output::line(text, data) })
    }
}

/// Runs yt-dlp; returns its sandbox, and the hosts that it was not let through to.
async fn run(
    program: &Path,
    input: &YtDlpInput,
    work: &Path,
    home: &Path,
    environment: &Environment,
    context: &ToolContext,
) -> Result<(&'static str, Vec<String>), ToolError> {
    let limit = context.settings.count(&table::WEB_DOWNLOAD_BYTES) as u64;
    let proxy = Proxy::start(&input.url, &media_hosts(&input.url), limit, context).await?;
    let ffmpeg = choose::find_program("ffmpeg", environment);
    let mut child = JudgedCommand::own(program, OPTIONS);
    child.arguments.push(format!("--proxy={}", proxy.url()).into());
    child.arguments.push(format!("--max-filesize={limit}").into());
    // Without ffmpeg video and sound cannot be joined, nor the sound taken out.
    let format = match (input.audio_only, ffmpeg.is_some()) {
        (true, true) => "--extract-audio",
        (true, false) => "--format=bestaudio/best",
        (false, true) => "--format=bestvideo*+bestaudio/best",
        (false, false) => "--format=best/bestvideo/bestaudio",
    };
    child.arguments.extend([format.into(), "--paths".into(), work.into()]);
    child.arguments.extend(["--".into(), input.url.as_str().into()]);
    child.directory = Some(work.to_path_buf());
    child.deadline = context.settings.seconds(&table::WEB_DOWNLOAD_TIMEOUT);
    child.keep = 16 * 1024;
    child.inherit = false;
    let path = environment.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
    child.set = BTreeMap::from(
        [("PATH", path), ("HOME", &home.display().to_string()), ("LANG", "C.UTF-8")]
            .map(|(name, value)| (name.to_string(), value.to_string())),
    );
    let mut policy = Policy::new(work, home);
    policy.home = Some(context.layout.home().to_path_buf());
    policy.hidden = secrets::places(context.layout.home());
    // A program of a virtual environment needs all of it.
    let installed = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
    policy.readable.extend(installed.ancestors().nth(2).map(Path::to_path_buf));
    policy.connect = Some(proxy.port());
    let sandbox = crate::command::contain(&mut child, policy, context).await?;
    let outcome = child.run(&context.cancel).await.map_err(|error| ToolError::Failed(error.to_string()))?;
    let refused = proxy.refused();
    let why = match outcome.ending {
        Ending::Exited(0) => return Ok((sandbox, refused)),
        Ending::Cancelled => "cancelled".to_string(),
        Ending::Late => format!("not done in time ({})", table::WEB_DOWNLOAD_TIMEOUT.key),
        _ => {
            let text = clean(&context.redactor.text(&outcome.stderr.text()));
            truncate::middle_whole(text.trim(), 1_500)
        }
    };
    let hint = if refused.is_empty() {
        String::new()
    } else {
        format!(
            "\n  hint: these hosts were not let through: {}. Where they are meant, tell the person: add them to {}",
            refused.join(", "),
            table::WEB_ORG_ALLOWLIST.key
        )
    };
    Err(ToolError::Failed(format!("yt-dlp could not download it: {why}{hint}")))
}

/// The place of a new file.
fn file_path(
    directory: &marvin_gate::Workspace,
    below: &str,
    name: &str,
    context: &ToolContext,
) -> Result<WorkspacePath, ToolError> {
    let below = below.trim().trim_matches('/');
    let path =
        directory.path(&if below.is_empty() { name.to_string() } else { format!("{below}/{name}") })?;
    if context.coding {
        context.access.may_write(&path)?;
        directory.writable(&path)?;
    }
    Ok(path)
}

/// Creates the files that yt-dlp left among the downloads; a name that is taken gets a number.
fn keep_files(
    work: &Path,
    below: &str,
    directory: &Arc<marvin_gate::Workspace>,
    context: &ToolContext,
) -> Result<Vec<MediaFile>, ToolError> {
    let failed = |error: std::io::Error| ToolError::Failed(format!("cannot read the download: {error}"));
    let entries = std::fs::read_dir(work).map_err(failed)?.filter_map(Result::ok);
    // No links: the program chose what lies there.
    let is_file = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let mut found: Vec<PathBuf> = entries.filter(is_file).map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_none_or(|ending| ending != "part" && ending != "ytdl"));
    found.sort();
    let below_path = below.trim().trim_matches('/');
    if !found.is_empty() && !below_path.is_empty() {
        directory.make_directory(&directory.path(below_path)?)?;
    }
    let mut files = Vec::new();
    for path in found.into_iter().take(MAX_FILES) {
        let name = download::plain_name(&path.file_name().unwrap_or_default().to_string_lossy());
        let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
        let mut number = 1;
        loop {
            let wanted = match (number, ending) {
                (1, _) => name.clone(),
                (_, "") => format!("{stem}-{number}"),
                _ => format!("{stem}-{number}.{ending}"),
            };
            let place = file_path(directory, below, &wanted, context)?;
            let mut file = std::fs::File::open(&path).map_err(failed)?;
            match directory.create_from(&place, &mut file) {
                Ok(bytes) => {
                    let shown = if context.coding {
                        place.as_str().to_string()
                    } else {
                        directory.root().join(place.as_path()).display().to_string()
                    };
                    files.push(MediaFile { path: shown, bytes });
                    break;
                }
                Err(refusal) if refusal.kind == RefusalKind::Exists && number < 100 => number += 1,
                Err(refusal) => return Err(refusal.into()),
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_bring_the_hosts_of_their_media() {
        assert!(media_hosts("https://www.youtube.com/watch?v=x").contains(&"googlevideo.com"));
        assert!(media_hosts("https://youtu.be/x").contains(&"youtube.com"));
        for other in ["https://notyoutube.com/x", "https://example.com", "not an address"] {
            assert_eq!(media_hosts(other), Vec::<&str>::new(), "{other}");
        }
    }
}
