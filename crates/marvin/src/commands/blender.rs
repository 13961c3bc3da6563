//! `marvin blender`: the add-on through which agents reach Blender.

use crate::failure::Failure;
use crate::runtime::runtime;
use crate::{output, project};
use clap::Subcommand;
use marvin_base::Exit;
use marvin_tools::blender::{self, Blender};
use std::path::PathBuf;

/// Connect Blender: install its add-on, see whether it answers
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:\n  marvin blender install\n  marvin blender status")]
pub(crate) enum BlenderCommand {
    /// Write the add-on into the add-on directories of your Blender
    #[command(
        after_help = "The add-on listens on 127.0.0.1:9876 and wants a token that only you can read. Switch it on in Blender under Preferences, Add-ons, Marvin; or without a window:\n  blender --background scene.blend --python marvin_socket.py\n\nExamples:\n  marvin blender install\n  marvin blender install --directory ~/.config/blender/5.0/scripts/addons"
    )]
    Install {
        /// Directory of add-ons, where it is not below ~/.config/blender
        #[arg(long, value_name = "DIRECTORY")]
        directory: Option<PathBuf>,
    },
    /// Say whether Blender answers
    #[command(after_help = "Example:\n  marvin blender status")]
    Status,
}

pub(crate) fn run(command: BlenderCommand) -> Result<Exit, Failure> {
    let context = project::context(None, false, Vec::new())?;
    match command {
        BlenderCommand::Install { directory } => {
            let config = context
                .environment
                .get("XDG_CONFIG_HOME")
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .unwrap_or_else(|| context.layout.home().join(".config"));
            let installed =
                blender::install(directory.as_deref(), &config, &context.layout).map_err(Failure::failed)?;
            for path in &installed.paths {
                output::line(&format!("wrote {}", path.display()))?;
            }
            output::line("Switch the add-on Marvin on in Blender: Edit, Preferences, Add-ons.")
        }
        BlenderCommand::Status => {
            let blender =
                Blender::from_settings(&context.settings, &context.layout).map_err(Failure::usage)?;
            let version = runtime()?.block_on(blender.version()).map_err(Failure::failed)?;
            output::line(&format!("Blender {version} answers at {}", blender.address()))
        }
    }
}
