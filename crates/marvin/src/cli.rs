//! The command line: the tree of commands, from which help, completions and the man page are made.
//!
//! The arguments and the help of a command are beside its code in `commands/`. Nothing imports this module but `main`.

use crate::arguments::ProjectArguments;
use crate::commands::turn::TurnArguments;
use crate::commands::{
    alarms, attempt, blender, bug_report, build_skill, calendar, chat, chat_ui, commitments, completions,
    config, daemon, doc, doctor, fleet, gate, hook, init, lab, lessons, mcp, memory, model_server, mtg, ntfy,
    packs, pipeline, prompt, replay, runs, schema, self_improve, servitors, skills, tk, tools, turn,
    workflow,
};
use crate::failure::Failure;
use crate::{logging, migration, output};
use clap::{CommandFactory, Parser, Subcommand};
use marvin_base::Exit;
use marvin_base::environment::Environment;
use std::ffi::OsString;

const HELP_END: &str = "\
Diagnostics, with every command: -v shows on standard error what Marvin does, -vv shows more;
a run keeps it in marvin.log. MARVIN_LOG=info,marvin_gate=debug writes only that file.

Exit codes: 0 success, 1 the work failed, 2 usage, 3 not verified, 4 blocked, 5 refused by the gate, 6 budget spent, 130 interrupted

Examples:
  marvin                                                talk, in a terminal (--plain: line by line)
  marvin what is 3 km in miles                          ask once, as a person
  marvin --non-interactive --prompt 'fix the test'      run unattended in this directory
  echo 'list files' | marvin --non-interactive          the prompt from standard input
  marvin --non-interactive --prompt-file task.md --working-dir ~/src/app --max-cost 2 \\
    --output-format stream-json
  marvin --non-interactive --prompt 'fix the tests' --commitment 'shell:pytest -q'
                                                        done when the command says so, not the model
  marvin --non-interactive --working-dir app --design-first --prompt 'a to-do list as a web service'
                                                        from a sentence to verified software
  marvin doctor                                         what is ready, and how to fix the rest";

/// A deterministic shell for LLM agents: models propose, the shell decides.
#[derive(Debug, Parser)]
#[command(name = "marvin", version, about, after_help = HELP_END, subcommand_negates_reqs = true, disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    turn: TurnArguments,
    // Hidden, because it would stand in the help of every command; the end of the help explains it once.
    /// Show what Marvin does on standard error (-vv: more)
    #[arg(short, long, global = true, hide = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// Every command besides a turn, in the order of the help.
#[derive(Debug, Subcommand)]
enum Command {
    Config(config::ConfigArguments),
    Doctor(doctor::DoctorArguments),
    #[command(name = "bug-report")]
    BugReport(bug_report::BugReportArguments),
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    #[command(subcommand)]
    Gate(gate::GateCommand),
    Hook(hook::HookArguments),
    #[command(subcommand)]
    Daemon(daemon::DaemonCommand),
    #[command(subcommand)]
    Commitments(commitments::CommitmentsCommand),
    /// Verify all commitments of this project
    #[command(after_help = commitments::VERIFY_HELP)]
    Verify(ProjectArguments),
    #[command(subcommand)]
    Prompt(prompt::PromptCommand),
    #[command(subcommand)]
    Doc(doc::DocCommand),
    #[command(subcommand)]
    Servitors(servitors::ServitorsCommand),
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
    #[command(subcommand)]
    Packs(packs::PacksCommand),
    #[command(subcommand)]
    Lessons(lessons::LessonsCommand),
    #[command(name = "list-skills")]
    ListSkills(skills::ListSkillsArguments),
    #[command(subcommand)]
    Skills(skills::SkillsCommand),
    #[command(name = "build-skill")]
    BuildSkill(build_skill::BuildSkillArguments),
    Tk(tk::TkArguments),
    #[command(subcommand)]
    Calendar(calendar::CalendarCommand),
    #[command(subcommand)]
    Alarms(alarms::AlarmsCommand),
    #[command(subcommand)]
    Ntfy(ntfy::NtfyCommand),
    #[command(subcommand)]
    Blender(blender::BlenderCommand),
    #[command(name = "model-server")]
    ModelServer(model_server::ModelServerArguments),
    Mcp(mcp::McpArguments),
    #[command(name = "chat-ui")]
    ChatUi(chat_ui::ChatUiArguments),
    Init(init::InitArguments),
    #[command(name = "run-workflow")]
    RunWorkflow(workflow::run::RunWorkflowArguments),
    #[command(subcommand)]
    Workflow(workflow::WorkflowCommand),
    #[command(subcommand)]
    Runs(runs::RunsCommand),
    #[command(name = "resume-run")]
    ResumeRun(runs::resume::ResumeRunArguments),
    #[command(name = "list-runs")]
    ListRuns(runs::list::ListRunsArguments),
    #[command(name = "stop-run")]
    StopRun(runs::stop::StopRunArguments),
    #[command(name = "inspect-run")]
    InspectRun(runs::show::ShowRunArguments),
    Attempt(attempt::AttemptArguments),
    Worker(fleet::WorkerArguments),
    #[command(subcommand)]
    Fleet(fleet::FleetCommand),
    #[command(subcommand)]
    Pipeline(pipeline::PipelineCommand),
    #[command(name = "list-tasks")]
    ListTasks(lab::ListTasksArguments),
    #[command(name = "run-task")]
    RunTask(lab::RunTaskArguments),
    #[command(name = "run-suite")]
    RunSuite(lab::RunSuiteArguments),
    #[command(name = "self-improve")]
    SelfImprove(self_improve::SelfImproveArguments),
    Replay(replay::ReplayArguments),
    #[command(subcommand)]
    Mtg(mtg::MtgCommand),
    Schema(schema::SchemaArguments),
    Completions(completions::CompletionsArguments),
    /// Print the man page
    #[command(after_help = "Example:\n  marvin man > ~/.local/share/man/man1/marvin.1")]
    Man,
}

impl Command {
    /// Whether a person runs it in a project. Hooks, servers and generated pages are for other programs.
    fn is_for_a_person(&self) -> bool {
        !matches!(
            self,
            Command::Hook(_)
                | Command::Daemon(_)
                | Command::Alarms(_)
                | Command::Mcp(_)
                | Command::ModelServer(_)
                | Command::Attempt(_)
                | Command::Worker(_)
                | Command::Fleet(_)
                | Command::Completions(_)
                | Command::Man
        )
    }

    fn run(self) -> Result<Exit, Failure> {
        match self {
            Command::Config(arguments) => config::run(&arguments),
            Command::Doctor(arguments) => doctor::run(&arguments),
            Command::BugReport(arguments) => bug_report::run(&arguments),
            Command::Tools(command) => tools::run(command),
            Command::Gate(command) => gate::run(command),
            Command::Hook(arguments) => hook::run(arguments),
            Command::Daemon(command) => daemon::run(command),
            Command::Commitments(command) => commitments::run(command),
            Command::Verify(project) => commitments::verify(&[], &project),
            Command::Prompt(command) => prompt::run(command),
            Command::Doc(command) => doc::run(command),
            Command::Servitors(command) => servitors::run(command),
            Command::Memory(command) => memory::run(command),
            Command::Packs(command) => packs::run(command),
            Command::Lessons(command) => lessons::run(command),
            Command::ListSkills(arguments) => skills::list(&arguments),
            Command::Skills(command) => skills::run(command),
            Command::BuildSkill(arguments) => build_skill::run(&arguments),
            Command::Tk(arguments) => tk::run(arguments),
            Command::Calendar(command) => calendar::run(command),
            Command::Alarms(command) => alarms::run(command),
            Command::Ntfy(command) => ntfy::run(command),
            Command::Blender(command) => blender::run(command),
            Command::ModelServer(arguments) => model_server::run(&arguments),
            Command::Mcp(arguments) => mcp::run(&arguments),
            Command::ChatUi(arguments) => chat_ui::run(&arguments),
            Command::Init(arguments) => init::run(&arguments),
            Command::RunWorkflow(arguments) => workflow::run::run(&arguments),
            Command::Workflow(command) => workflow::run(command),
            Command::Runs(command) => runs::run(&command),
            Command::ResumeRun(arguments) => runs::resume::run(&arguments),
            Command::ListRuns(arguments) => runs::list::list_workflows(&arguments),
            Command::StopRun(arguments) => runs::stop::run(&arguments),
            Command::InspectRun(arguments) => runs::show::run(&arguments),
            Command::Attempt(arguments) => attempt::run(&arguments),
            Command::Worker(arguments) => fleet::serve(&arguments),
            Command::Fleet(command) => fleet::run(&command),
            Command::Pipeline(command) => pipeline::run(command),
            Command::Mtg(command) => mtg::run(command),
            Command::ListTasks(arguments) => lab::list(&arguments),
            Command::RunTask(arguments) => lab::run_task(&arguments),
            Command::RunSuite(arguments) => lab::run_suite(&arguments),
            Command::SelfImprove(arguments) => self_improve::run(&arguments),
            Command::Replay(arguments) => replay::run(&arguments),
            Command::Schema(arguments) => schema::run(&arguments),
            Command::Completions(arguments) => {
                completions::completions(&arguments, &mut Arguments::command())
            }
            Command::Man => completions::man(Arguments::command()),
        }
    }
}

impl Arguments {
    /// Runs the command, or the turn. `verbosity` is the number of `-v` in front of the words.
    pub(crate) fn run(self, words: &[OsString], verbosity: u8) -> Result<Exit, Failure> {
        let environment = Environment::of_process();
        if ["HOME", "MARVIN_HOME"].iter().all(|name| environment.get(name).is_none()) {
            let failure = Failure::usage("HOME is empty: settings and records have no place");
            report_usage_error(&failure.hint("set HOME, or MARVIN_HOME"));
            return Ok(Exit::Usage);
        }
        if let Err(failure) = logging::start(verbosity.saturating_add(self.verbose)) {
            report_usage_error(&failure);
            return Ok(failure.exit);
        }
        // Without a command the first word belongs to a question.
        let command = words.first().and_then(|word| word.to_str()).filter(|_| self.command.is_some());
        tracing::info!(version = env!("CARGO_PKG_VERSION"), command, "command line parsed");
        if self.command.as_ref().is_none_or(Command::is_for_a_person) {
            migration::migrate_project();
        }
        let turn = self.turn;
        match self.command {
            Some(command) => return command.run(),
            None => turn.check()?,
        }
        match turn.words.as_slice() {
            _ if turn.design_first => pipeline::design_first(&turn),
            _ if turn.non_interactive => turn::non_interactive(&turn),
            [] => chat::run(turn),
            [word] if word == "help" => output::line(&Arguments::command().render_long_help().to_string()),
            [word, path @ ..] if word == "help" && names_command(path) => show_help(path),
            words => {
                check_spelling(words)?;
                turn::inline(&turn)
            }
        }
    }
}

/// Do words begin with the name of a command?
fn names_command(words: &[String]) -> bool {
    words.first().is_some_and(|word| Arguments::command().find_subcommand(word).is_some())
}

/// Shows the help of the command that words name (`workflow approve`); where one of them is unknown, of as much as is known.
fn show_help(words: &[String]) -> Result<Exit, Failure> {
    let mut command = Arguments::command();
    // So that its usage has the whole name.
    command.build();
    for (at, word) in words.iter().enumerate() {
        let Some(inner) = command.find_subcommand(word).cloned() else {
            output::line(&command.render_long_help().to_string())?;
            return Err(unknown_subcommand(&command, words.get(..at).unwrap_or_default(), word));
        };
        command = inner;
    }
    output::line(&command.render_long_help().to_string())
}

/// The failure for a word behind the name of a command that is not one of its subcommands.
fn unknown_subcommand(command: &clap::Command, known: &[String], word: &str) -> Failure {
    let known = known.join(" ");
    let failure = Failure::usage(format!("unknown command `{known} {word}`"));
    let names = command.get_subcommands().flat_map(|command| command.get_name_and_visible_aliases());
    match marvin_base::settings::nearest_of(word, names) {
        Some(meant) => failure.hint(format!("did you mean `marvin help {known} {meant}`?")),
        None => failure.hint(format!("the help above is that of `marvin {known}`")),
    }
}

/// Refuses words that look like a misspelt command: as a question they would cost money and answer nothing.
///
/// Words behind `--`, a quoted sentence and more than three words are a question.
fn check_spelling(words: &[String]) -> Result<(), Failure> {
    const MAX_COMMAND_WORDS: usize = 3;
    // `marvin help workflw` asks about a command as well.
    let (help, named) = match words {
        [help, named @ ..] if help == "help" => ("help ", named),
        named => ("", named),
    };
    let [first, rest @ ..] = named else { return Ok(()) };
    if named.len() > MAX_COMMAND_WORDS || std::env::args_os().any(|word| word == "--") {
        return Ok(());
    }
    let tree = Arguments::command();
    let names = tree.get_subcommands().flat_map(|command| command.get_name_and_visible_aliases());
    let Some(meant) = marvin_base::settings::misspelling_of(first, names) else { return Ok(()) };
    let line = rest.iter().fold(format!("{help}{meant}"), |line, word| line + " " + word);
    let question = words.join(" ");
    let hint = format!("did you mean `marvin {line}`? To ask it as a question: `marvin -- {question}`");
    Err(Failure::usage(format!("unknown command `{first}`")).hint(hint))
}

/// Parses the command line. Help and version are answered here; a mistake is exit code 2.
pub(crate) fn parse(words: &[OsString]) -> Result<Arguments, Exit> {
    let program = OsString::from("marvin");
    Arguments::try_parse_from(std::iter::once(&program).chain(words)).map_err(|error| {
        let text = error.render().to_string();
        if error.use_stderr() {
            let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
            report_usage_error(&Failure::usage(message));
            return Exit::Usage;
        }
        match output::line(&text) {
            Ok(exit) => exit,
            Err(failure) => {
                output::error(&failure.to_string());
                failure.exit
            }
        }
    })
}

/// Reports a mistake in the command line or in `MARVIN_LOG`, also to a program that runs Marvin unattended.
fn report_usage_error(failure: &Failure) {
    output::error(&failure.to_string());
    let words: Vec<OsString> = std::env::args_os().collect();
    turn::report_usage_error(failure, &words);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_help_ends_with_examples() {
        fn find_missing(command: &clap::Command, missing: &mut Vec<String>) {
            let end = command.get_after_long_help().or(command.get_after_help());
            let end = end.map(ToString::to_string).unwrap_or_default();
            let block = end.split("\n\n").last().unwrap_or_default();
            if !block.starts_with("Example") {
                missing.push(command.get_display_name().unwrap_or(command.get_name()).to_string());
            }
            let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
            shown.filter(|inner| inner.get_name() != "help").for_each(|inner| find_missing(inner, missing));
        }
        let mut command = Arguments::command();
        command.build();
        let mut missing = Vec::new();
        find_missing(&command, &mut missing);
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
