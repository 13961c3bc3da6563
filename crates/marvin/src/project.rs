//! The project that a command is about: its directory, its context, its runs.

use crate::failure::Failure;
use marvin_agent::{ProjectContext, SessionError};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::run_record::RunRecord;
use marvin_base::settings;
use std::path::{Path, PathBuf};

/// Settings that flags give, by key.
pub(crate) type Flags = Vec<(&'static str, String)>;

/// The flags of a resumed run: those that it was started with, under those that are given now.
pub(crate) fn resumed_flags(run: &Path, given: &Flags) -> Flags {
    let record = RunRecord::read(run).unwrap_or_default();
    let kept = record.start.into_iter().filter_map(|(key, value)| Some((settings::find(&key)?.key, value)));
    let kept = kept.filter(|(key, _)| given.iter().all(|(other, _)| other != key));
    kept.chain(given.clone()).collect()
}

/// The directory that the program was started in.
pub(crate) fn current_directory() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::usage(format!("the current directory cannot be used: {error}"))
            .hint("cd to a directory that exists")
    })
}

/// The person's home directory.
pub(crate) fn home_directory() -> PathBuf {
    Layout::new(&Environment::of_process(), None).home().to_path_buf()
}

/// The directory that is named, else the project around the current directory.
pub(crate) fn find_project(named: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let bare = Layout::new(&Environment::of_process(), None);
    Ok(named.map(Path::to_path_buf).or(bare.find_project(&current_directory()?)))
}

/// Settings and workspace of the current directory, or of exactly the directory that is named.
pub(crate) fn context(
    working_dir: Option<&Path>,
    coding: bool,
    flags: Flags,
) -> Result<ProjectContext, Failure> {
    Ok(ProjectContext::find(Environment::of_process(), current_directory()?, working_dir, coding, flags)?)
}

/// Settings and workspace of the project that is named, else of the one around the current directory.
pub(crate) fn project_context(
    working_dir: Option<&Path>,
    coding: bool,
    flags: Flags,
) -> Result<ProjectContext, Failure> {
    context(find_project(working_dir)?.as_deref(), coding, flags)
}

/// A note on the records that a project had before it was moved.
pub(crate) fn moved_note(layout: &Layout) -> Option<String> {
    let moved = layout.moved_state()?;
    Some(format!(
        "this project was at {}; its memory and its runs of there are not used here\n  hint: `marvin memory audit --adopt` takes them over",
        moved.old_path
    ))
}

/// The directories of the runs of this project, and of the runs that belong to no project.
pub(crate) fn run_directories(working_dir: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    Ok(layout_around(working_dir)?.run_directories())
}

/// The paths of the project around a directory, or of the directory itself.
///
/// A directory that does not exist is refused: the project around it would be another one than the caller means.
pub(crate) fn layout_around(working_dir: Option<&Path>) -> Result<Layout, Failure> {
    let environment = Environment::of_process();
    let here = current_directory()?;
    let named = working_dir.map_or(here.clone(), |path| here.join(path));
    if let Some(missing) = working_dir.filter(|_| !named.is_dir()) {
        return Err(SessionError::NoDirectory(missing.display().to_string()).into());
    }
    let project = Layout::new(&environment, None).find_project(&named).unwrap_or(named);
    Ok(Layout::new(&environment, Some(&project)))
}
