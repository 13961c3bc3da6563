//! The migration of a project's records, before the first command of a person in it.

use crate::output;
use marvin_base::environment::Environment;
use marvin_base::layout::{self, Layout, migrate};
use marvin_base::person;
use std::path::PathBuf;

/// Migrates the project that the command line is about, and says so. A process of an agent migrates nothing.
pub(crate) fn migrate_project() {
    let environment = Environment::of_process();
    let bare = Layout::new(&environment, None);
    let Ok(here) = std::env::current_dir() else { return };
    let directory = working_dir().map_or(here.clone(), |named| here.join(named));
    let Some(project) = layout::find_project(&directory, bare.home()) else { return };
    let layout = Layout::new(&environment, Some(&project));
    if !migrate::is_due(&layout) || person::refuse_agents(&environment).is_err() {
        return;
    }
    match migrate::run(&layout) {
        Ok(outcome) => {
            if let Some(message) = outcome.message(&layout) {
                output::error(&output::visible(&message));
            }
        }
        Err(error) => output::error(&output::visible(&error.to_string())),
    }
}

/// The value of `--working-dir`, whichever command it belongs to.
fn working_dir() -> Option<PathBuf> {
    let mut words = std::env::args_os().skip(1).take_while(|word| word != "--");
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--working-dir" {
            return words.next().map(PathBuf::from);
        }
        if let Some(path) = text.strip_prefix("--working-dir=") {
            return Some(PathBuf::from(path));
        }
    }
    None
}
