//! The person who decides about memory, and the memory of a project.

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::{deciding, project};
use clap::Args;
use marvin_agent::ProjectContext;
use marvin_memory::memory::Memory;
use marvin_memory::{Person, Places};

/// The person who decides.
#[derive(Debug, Args)]
pub(crate) struct Reviewer {
    /// The name of the person who decides; needed without a terminal
    #[arg(long, value_name = "NAME")]
    pub(super) reviewer: Option<String>,
    /// A note on the decision
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(super) note: String,
    #[command(flatten)]
    pub(super) place: ProjectArguments,
}

impl Reviewer {
    pub(super) fn person(&self) -> Result<Person, Failure> {
        deciding::person(self.reviewer.as_deref())
    }
}

/// The memory of the project around the directory; else the person's own.
pub(super) fn open_memory(place: &ProjectArguments) -> Result<(Memory, ProjectContext), Failure> {
    let context = project::project_context(place.working_dir.as_deref(), false, Vec::new())?;
    let places = Places::from_settings(&context.layout, &context.settings);
    Ok((Memory::open(places, context.redactor.clone()), context))
}
