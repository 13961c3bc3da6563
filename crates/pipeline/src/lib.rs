//! Floor 6: the TDD pipeline, from one sentence to verified software.
//!
//! A [`Pipeline`] goes through the phases ([`phase`]) in order. Each phase is code that decides by files and counts; its agents work
//! through [`marvin_agent::crew::Crew`], one attempt each, under a key in the run's record. What a phase found out between two
//! agents is written down under a key too, so that a process that takes the run up again decides the same. How far it is stands in
//! `.marvin/pipeline_state` ([`state`]), and in the journal of the run ([`journal`]), and both must agree.
//!
//! It is no engine and no loop of its own: attempts are turns of `agent`, measures of work are those of `flow`.

pub mod asked;
pub mod documents;
pub mod files;
pub mod finding;
mod halt;
pub mod journal;
pub mod oracle;
pub mod phase;
mod phases;
mod pipeline;
pub mod red;
mod report;
pub mod stand_ins;
pub mod state;
mod steering;
mod surroundings;
mod tested;

pub use halt::{Halt, Stop};
pub use phase::Phase;
pub use pipeline::{Options, Pipeline, PipelineOutcome, Trust, last_run};
