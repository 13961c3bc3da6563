//! `marvin tools`: list the tools, show a schema, and call one as an agent would: judged and recorded.

use crate::failure::Failure;
use crate::runtime::{cancel_on_signal, runtime};
use crate::{deciding, output, project};
use async_trait::async_trait;
use clap::Subcommand;
use marvin_agent::agent_toolbox::agent_toolbox;
use marvin_agent::offering::FindTools;
use marvin_agent::tool_caller::record_call;
use marvin_base::Exit;
use marvin_base::person::Person;
use marvin_base::settings::table;
use marvin_base::truncate;
use marvin_gate::{Access, Verdict};
use marvin_model::{Arguments, ToolCall};
use marvin_tools::service::{
    self,
    check::{KeyStatus, ServiceState},
};
use marvin_tools::{ApprovalAnswer, Approver, Question, Tool, ToolError};
use marvin_tui::picture::picture_of_result;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// List, explain and call tools
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin tools list\n  marvin tools schema read_file\n  marvin tools call read_file --args '{\"path\":\"Cargo.toml\"}'"
)]
pub(crate) enum ToolsCommand {
    /// List the tools
    #[command(after_help = "Examples:\n  marvin tools list\n  marvin tools list --json | jq -r '.[].name'")]
    List {
        /// As JSON, with schemas
        #[arg(long)]
        json: bool,
    },
    /// Show the schema of a tool's arguments
    #[command(
        after_help = "Examples:\n  marvin tools schema read_file\n  marvin tools schema read_file --result"
    )]
    Schema {
        /// The tool
        name: String,
        /// Show the schema of the result's data instead of the arguments
        #[arg(long)]
        result: bool,
        /// Accepted for symmetry: a schema is always JSON
        #[arg(long)]
        json: bool,
    },
    /// Check which services can be asked: keys, addresses and, with --live, whether they answer
    #[command(
        after_help = "Examples:\n  marvin tools check\n  marvin tools check --live\n  marvin tools check --json | jq '.[] | select(.key == \"missing\")'"
    )]
    Check {
        /// Send a small request to each service
        #[arg(long)]
        live: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Call a tool, judged and recorded as an agent's call would be
    #[command(
        after_help = "Examples:\n  marvin tools call convert_units --args '{\"value\":3,\"from_unit\":\"km\",\"to_unit\":\"miles\"}'\n  marvin tools call read_file --args '{\"path\":\"Cargo.toml\"}' --working-dir ~/src/app"
    )]
    Call {
        /// The tool
        name: String,
        /// Its arguments, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,
        /// The directory to work in
        #[arg(long, value_name = "PATH")]
        working_dir: Option<PathBuf>,
        /// The whole result as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct CallReport<'a> {
    tool: &'a str,
    verdict: &'a Verdict,
    #[serde(flatten)]
    record: Map<String, Value>,
}

pub(crate) fn run(command: ToolsCommand) -> Result<Exit, Failure> {
    match command {
        ToolsCommand::List { json } => list(json),
        ToolsCommand::Schema { name, result, .. } => schema(&name, result),
        ToolsCommand::Check { live, json } => check(live, json),
        ToolsCommand::Call { name, args, working_dir, json } => {
            call(&name, &args, working_dir.as_deref(), json)
        }
    }
}

/// Lists the tools that an agent would be offered here, with the access of this process.
fn list(as_json: bool) -> Result<Exit, Failure> {
    let context = project::context(None, true, Vec::new())?;
    let access = Access::from_settings(&context.settings);
    let (in_workspace, depth) = (context.workspace.is_some(), context.settings.whole(&table::DEPTH));
    let toolbox = agent_toolbox(&context, &access);
    if !in_workspace {
        output::talk(
            "note: servitors and commitments are not listed, because this directory is not a project\n  hint: run it in the directory that agents work in",
        );
    } else if depth > 0 || access != Access::Full {
        output::talk("note: tools that this process may not use are not listed, because an agent started it");
    }
    if as_json {
        return output::json(&toolbox.specs());
    }
    let width = toolbox.names().iter().map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for spec in toolbox.specs() {
        let first = spec.description.split(['.', '\n']).next().unwrap_or_default().to_string();
        text.push_str(&format!("{:width$}  {first}\n", spec.name));
    }
    output::line(&text)
}

/// Lists the services of tools and whether they can be asked.
fn check(live: bool, as_json: bool) -> Result<Exit, Failure> {
    let context = project::context(None, true, Vec::new())?;
    let tool_context = context.tool_context(CancellationToken::new(), None);
    let all = runtime()?.block_on(service::check::check(&tool_context, live));
    let is_failed = all.iter().any(|status| status.state == ServiceState::Fails);
    if as_json {
        output::json(&all)?;
        return Ok(if is_failed { Exit::Failed } else { Exit::Success });
    }
    let width = all.iter().map(|status| status.service.len()).max().unwrap_or(0);
    let mut text = String::new();
    for status in &all {
        let state = match status.state {
            ServiceState::Configured => "configured",
            ServiceState::Answers => "answers",
            ServiceState::Fails => "fails",
            ServiceState::Unusable => "cannot be used",
        };
        let key = match status.key {
            KeyStatus::NotUsed => "",
            KeyStatus::Set => ", with a key",
            KeyStatus::Optional => ", works better with a key",
            KeyStatus::Missing => ", without its key",
        };
        text.push_str(&format!("{:width$}  {state}{key}\n", status.service));
        if !status.reason.is_empty() {
            text.push_str(&format!("{:width$}  {}\n", "", status.reason));
        }
    }
    output::line(&context.redactor.text(&text))?;
    Ok(if is_failed { Exit::Failed } else { Exit::Success })
}

fn schema(name: &str, result: bool) -> Result<Exit, Failure> {
    let toolbox = agent_toolbox(&project::context(None, true, Vec::new())?, &Access::Full);
    let tool = toolbox.find(name).map_err(|error| no_tool(name, error))?;
    output::line(&format!("{:#}", if result { tool.data_schema() } else { tool.schema() }))
}

/// The failure for a tool that cannot be found.
fn no_tool(name: &str, error: ToolError) -> Failure {
    if name.trim() != FindTools::NAME {
        return Failure::usage(error);
    }
    Failure::usage(format!(
        "{} belongs to conversations: it chooses the tools that the next requests to the model offer",
        FindTools::NAME
    ))
    .hint("list all tools with `marvin tools list`")
}

fn call(name: &str, args: &str, working_dir: Option<&Path>, as_json: bool) -> Result<Exit, Failure> {
    let arguments = Arguments::from_text(args);
    if let Arguments::Unreadable(_) = arguments {
        return Err(Failure::usage(format!("--args is not a JSON object: {}", truncate::line(args, 80)))
            .hint(r#"--args '{"path":"a.txt"}'"#));
    }
    let context = project::context(working_dir, true, Vec::new())?;
    agent_toolbox(&context, &Access::Full).find(name).map_err(|error| no_tool(name, error))?;
    runtime()?.block_on(async {
        let call = ToolCall { id: "call_1".into(), name: name.to_string(), arguments, opaque: None };
        let cancel = cancel_on_signal();
        let person = terminal_person();
        let absent = Arc::new(AbsentPerson::default());
        let approver: Arc<dyn Approver> = match &person {
            Ok(person) => Arc::new(TerminalApprover(person.clone())),
            Err(_) => absent.clone(),
        };
        let called = record_call(&context, &call, Some(approver), cancel.clone()).await?;
        let exit = match (called.ok, called.verdict.is_allowed()) {
            (true, _) => Exit::Success,
            (false, _) if cancel.is_cancelled() => Exit::Interrupted,
            (false, true) => Exit::Failed,
            (false, false) if called.verdict.rule == marvin_tools::MISUNDERSTOOD => Exit::Usage,
            (false, false) => Exit::Refused,
        };
        if as_json {
            let mut report = serde_json::to_value(CallReport {
                tool: &called.tool,
                verdict: &called.verdict,
                record: called.record.as_object().cloned().unwrap_or_default(),
            })
            .map_err(Failure::failed)?;
            context.redactor.value(&mut report);
            output::json(&report)?;
        } else if called.ok {
            output::line(&context.redactor.text(&called.text))?;
            output::picture(|| picture_of_result(&called.tool, &called.record));
        } else {
            output::error(&context.redactor.text(&called.text));
        }
        if let (Err(AbsenceNote(note)), true) = (&person, absent.was_asked.load(Ordering::Relaxed)) {
            output::talk(note);
        }
        Ok(exit)
    })
}

/// Bytes of what was approved that its record shows.
const MAX_SUBJECT_BYTES: usize = 400;

/// Asks the person who typed the command, in the terminal.
struct TerminalApprover(Person);

/// What to say after a question that had to be refused.
struct AbsenceNote(String);

/// The person at the terminal.
fn terminal_person() -> Result<Person, AbsenceNote> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(AbsenceNote("  hint: run it in a terminal, where you are asked".into()));
    }
    deciding::person(None).map_err(|failure| AbsenceNote(format!("note: {failure}")))
}

/// Stands where no person can be asked: every question is a refusal.
#[derive(Default)]
struct AbsentPerson {
    was_asked: AtomicBool,
}

#[async_trait]
impl Approver for AbsentPerson {
    async fn ask(&self, _: Question) -> ApprovalAnswer {
        self.was_asked.store(true, Ordering::Relaxed);
        ApprovalAnswer::No("this needs a person's approval, and there is none to ask".into())
    }
}

#[async_trait]
impl Approver for TerminalApprover {
    async fn ask(&self, question: Question) -> ApprovalAnswer {
        output::talk(&format!("{}: {}", question.tool, question.verdict.reason));
        // A call without arguments has nothing to show but its name.
        let what =
            if question.what == "{}" { format!("call {}?", question.tool) } else { question.what.clone() };
        output::ask(&format!("{what} [y/N] "));
        let (sender, answer) = tokio::sync::oneshot::channel();
        // A thread of its own: the runtime would wait for one of its threads after Ctrl-C.
        std::thread::spawn(move || {
            let mut answer = String::new();
            std::io::stdin().read_line(&mut answer).ok();
            sender.send(answer).ok();
        });
        let is_yes = matches!(answer.await.unwrap_or_default().trim(), "y" | "Y" | "yes");
        if !is_yes {
            return ApprovalAnswer::No("the person said no".into());
        }
        let subject = truncate::line(&format!("{} {}", question.tool, question.what), MAX_SUBJECT_BYTES);
        match self.0.record("tools call", &subject) {
            Ok(()) => ApprovalAnswer::Yes,
            Err(error) => ApprovalAnswer::No(format!("nothing was decided: {error}")),
        }
    }
}
