//! `marvin schema`: JSON schemas of the files that Marvin writes.

use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::run_record::RunRecord;
use marvin_base::trace_event::TraceEvent;
use marvin_lab::self_improve::{Report, SessionReport};
use schemars::{Schema, schema_for};

/// Print the JSON schema of a file that Marvin writes
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  marvin schema run > run.schema.json\n  marvin schema trace | jq '.oneOf[].properties.type.const'"
)]
pub(crate) struct SchemaArguments {
    /// The file
    #[arg(value_enum)]
    file: RecordFile,
    /// Accepted for symmetry: a schema is always JSON
    #[arg(long)]
    json: bool,
}

/// A file with a schema.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum RecordFile {
    /// run.json
    Run,
    /// Lines of trace.jsonl
    Trace,
    /// config.toml
    Config,
    /// reports/self_improve.json of a run
    SelfImprove,
    /// sessions/session-B-I/session.json of a self-improve run
    Session,
}

/// Prints a schema.
pub(crate) fn run(arguments: &SchemaArguments) -> Result<Exit, Failure> {
    let print = |schema: &Schema| output::line(&format!("{:#}", schema.as_value()));
    match arguments.file {
        RecordFile::Run => print(&schema_for!(RunRecord)),
        RecordFile::Trace => print(&schema_for!(TraceEvent)),
        RecordFile::SelfImprove => print(&schema_for!(Report)),
        RecordFile::Session => print(&schema_for!(SessionReport)),
        RecordFile::Config => output::line(&format!("{:#}", marvin_base::settings::reference::schema())),
    }
}
