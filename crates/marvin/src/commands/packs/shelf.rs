//! A project and its packs.

use crate::failure::Failure;
use crate::project::current_directory;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_hooks::packs::{Pack, Packs};
use std::path::{Path, PathBuf};

/// The output of `packs` in a project without packs.
pub(super) const NO_PACKS: &str =
    "This project has no packs. `marvin packs new rust` makes one to begin with.\n";

/// A project and its packs.
pub(crate) struct Shelf {
    /// The directory that the command works in.
    pub(crate) here: PathBuf,
    /// The project that the directory belongs to, or the directory itself.
    pub(crate) project: PathBuf,
    pub(crate) layout: Layout,
    pub(crate) packs: Packs,
}

impl Shelf {
    pub(crate) fn find(working_dir: Option<&Path>) -> Result<Self, Failure> {
        let given = working_dir.map_or_else(current_directory, |path| Ok(current_directory()?.join(path)))?;
        let here = given.canonicalize().map_err(|error| {
            Failure::usage(format!("cannot use {}: {error}", given.display()))
                .hint("name a directory that exists with --working-dir")
        })?;
        let environment = Environment::of_process();
        let bare = Layout::new(&environment, None);
        let project = bare.find_project(&here).unwrap_or_else(|| here.clone());
        let layout = Layout::new(&environment, Some(&project));
        let packs = Packs::load(&layout.packs());
        Ok(Shelf { here, project, layout, packs })
    }

    /// The owner of a pack.
    pub(super) fn origin(&self, pack: &Pack) -> &'static str {
        if pack.directory.starts_with(self.layout.user()) { "yours" } else { "project" }
    }
}

/// Text of packs, without control characters that would move the cursor.
pub(crate) fn safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}
