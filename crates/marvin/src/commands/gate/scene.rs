//! The directory and the rules that commands are judged by.

use crate::failure::Failure;
use crate::project::{current_directory, layout_around};
use clap::Args;
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_gate::effects::Grounds;
use marvin_gate::layers::{Layers, Place};
use std::path::{Path, PathBuf};

/// The directory of the commands, and whether rules count.
#[derive(Debug, Args)]
pub(crate) struct SceneArguments {
    /// The directory that the commands would run in; it counts as the workspace
    #[arg(long, value_name = "PATH")]
    working_dir: Option<PathBuf>,
    /// Ignore all rule files: judge only by effects
    #[arg(long)]
    no_rules: bool,
}

impl SceneArguments {
    pub(super) fn scene(&self) -> Result<Scene, Failure> {
        Scene::find(self.working_dir.as_deref(), self.no_rules)
    }
}

/// The directory that commands are assumed to run in, with its rules.
pub(super) struct Scene {
    directory: String,
    home: String,
    pub(super) layout: Layout,
    pub(super) layers: Layers,
}

impl Scene {
    /// The scene of a project whose records or rules are meant: its directory must exist.
    pub(super) fn of_project(working_dir: Option<&Path>, no_rules: bool) -> Result<Self, Failure> {
        layout_around(working_dir)?;
        Scene::find(working_dir, no_rules)
    }

    /// The directory need not exist: commands for another machine can be judged too.
    pub(super) fn find(working_dir: Option<&Path>, no_rules: bool) -> Result<Self, Failure> {
        let given = match working_dir {
            Some(path) if path.is_absolute() => path.to_path_buf(),
            Some(path) => current_directory()?.join(path),
            None => current_directory()?,
        };
        let workspace: PathBuf = given.canonicalize().unwrap_or(given);
        let Some(text) = workspace.to_str() else {
            return Err(Failure::usage(format!("the name of {} is not UTF-8 text", workspace.display()))
                .hint("use another directory with --working-dir"));
        };
        let environment = Environment::of_process();
        let bare = Layout::new(&environment, None);
        let home = bare.home().to_path_buf();
        // Rules are at the top of a project, in whichever of its directories the command would run.
        let project = bare.find_project(&workspace).unwrap_or_else(|| workspace.clone());
        let layout = Layout::new(&environment, Some(&project));
        let layers = if no_rules { Layers::none() } else { Layers::new(&layout) };
        Ok(Scene { directory: text.to_string(), home: home.display().to_string(), layout, layers })
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place {
            directory: &self.directory,
            grounds: Grounds { workspace: &self.directory, home: &self.home },
        }
    }
}
