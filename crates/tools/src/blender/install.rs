//! Writing the add-on into Blender's directories of this person.

use marvin_base::atomic::{self, WriteError};
use marvin_base::files::{self, Links};
use marvin_base::ids;
use marvin_base::layout::Layout;
use std::path::{Path, PathBuf};

/// The add-on.
const ADD_ON: &str = include_str!("../../data/marvin_socket.py");
/// Name of the add-on as Blender knows it.
const MODULE: &str = "marvin_socket";
const MAX_TOKEN_BYTES: u64 = 256;
const TOKEN_CHARS: usize = 32;

/// Why the add-on could not be written.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error(
        "cannot find a directory of Blender below {0}\n  hint: start Blender once, or name the directory of its add-ons with --directory"
    )]
    NoBlender(String),
    #[error("cannot create {path}: {source}")]
    Directory {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The places of an installed add-on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The written files, one per Blender version.
    pub paths: Vec<PathBuf>,
    /// Name under which Blender lists it.
    pub module: &'static str,
}

/// Writes the add-on and its token into `directory`, or into the add-on directories of every Blender version of the person.
///
/// # Errors
/// When the directory is missing, or cannot be written.
pub fn install(
    directory: Option<&Path>,
    config: &Path,
    layout: &Layout,
) -> Result<Installation, InstallError> {
    let directories = match directory {
        Some(directory) => vec![directory.to_path_buf()],
        None => add_on_directories(&config.join("blender")),
    };
    if directories.is_empty() {
        return Err(InstallError::NoBlender(config.join("blender").display().to_string()));
    }
    let token = keep_token(layout)?;
    let mut paths = Vec::new();
    for directory in directories {
        create_directory(&directory)?;
        let path = directory.join(format!("{MODULE}.py"));
        atomic::replace_private(&directory.join(format!("{MODULE}.token")), token.as_bytes())?;
        atomic::replace(&path, ADD_ON.as_bytes())?;
        paths.push(path);
    }
    Ok(Installation { paths, module: MODULE })
}

/// The add-on directories of the versions that were started once.
fn add_on_directories(blender: &Path) -> Vec<PathBuf> {
    let is_version = |name: &str| {
        name.split_once('.').is_some_and(|(major, minor)| {
            [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit()))
        })
    };
    let entries = std::fs::read_dir(blender).into_iter().flatten().filter_map(Result::ok);
    let versions = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_version));
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path().join("scripts").join("addons")).collect();
    found.sort();
    found
}

fn create_directory(path: &Path) -> Result<(), InstallError> {
    std::fs::create_dir_all(path)
        .map_err(|source| InstallError::Directory { path: path.display().to_string(), source })
}

/// The token of the person, made at the first installation.
fn keep_token(layout: &Layout) -> Result<String, InstallError> {
    let path = layout.blender_token();
    let kept = files::read_text(&path, MAX_TOKEN_BYTES, Links::Refuse).unwrap_or_default();
    if kept.trim().len() >= TOKEN_CHARS {
        return Ok(kept);
    }
    create_directory(layout.user())?;
    let token = format!("{}\n", ids::short(TOKEN_CHARS));
    atomic::replace_private(&path, token.as_bytes())?;
    Ok(token)
}
