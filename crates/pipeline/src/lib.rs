//! Layer 6: the TDD pipeline, from one sentence to verified software.
//!
//! A [`Pipeline`] goes through the phases ([`phase`]) in order. Each phase is code that decides by files and counts; its agents
//! work through [`marvin_agent::step_agents::StepAgents`], one attempt each, under a key in the run's record. Checks between two
//! agents are recorded under a key too, so that a process that resumes the run decides the same. The last completed phase is in
//! `.marvin/pipeline_state` ([`state`]) and in the journal of the run ([`journal`]), and both must agree.
//!
//! It has neither an engine nor an agent loop of its own: attempts are turns of `agent`, measurements are those of `flow`.

/// Defines a regex that is compiled once.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: std::sync::LazyLock<Option<regex::Regex>> =
            std::sync::LazyLock::new(|| regex::Regex::new($text).ok());
    };
}

pub mod documents;
pub mod failing_tests;
pub mod files;
pub mod finding;
pub mod http_checks;
pub mod journal;
pub mod mock_detection;
pub mod oracle;
pub mod phase;
mod phases;
mod pipeline;
mod project_setup;
mod report;
pub mod state;
mod stop;
mod test_config;
mod test_run;

pub use phase::Phase;
pub use pipeline::{Options, Pipeline, PipelineOutcome, Trust, last_run};
pub use stop::{Halt, Stop};
