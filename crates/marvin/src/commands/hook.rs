//! `marvin hook EVENT`: answers a hook of Claude Code or Codex.

use crate::arguments::client_parser;
use crate::failure::Failure;
use crate::output;
use clap::Args;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_hook_client::{Client, HookCall, NoAnswer, parse_words};
use marvin_hooks::client::{Hook, HookOutcome};
use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Answer a hook of Claude Code or Codex: its input on standard input, the answer on standard output
#[derive(Debug, Args)]
#[command(
    after_help = "Events have the client's own name or one in kebab case. A call that cannot be judged is never let through: the answer is a question, a refusal, or exit code 2.\n\nExamples:\n  marvin hook pre-tool-use --client claude < event.json\n  echo '{\"session_id\":\"s\",\"cwd\":\"/tmp\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' | marvin hook PreToolUse"
)]
pub(crate) struct HookArguments {
    /// The event
    pub(crate) event: String,
    /// The client: claude or codex (default: by the environment)
    #[arg(long, value_name = "NAME", value_parser = client_parser())]
    pub(crate) client: Option<Client>,
    /// Why `marvin-hook` got no answer from the daemon
    #[arg(long, hide = true, value_name = "REASON", value_parser = handed_over)]
    handed_over: Option<NoAnswer>,
    /// Accepted for symmetry: answers are always what the client expects
    #[arg(long)]
    json: bool,
}

fn handed_over(text: &str) -> Result<NoAnswer, &'static str> {
    NoAnswer::from_argument(text).ok_or("not a reason of `marvin-hook`")
}

/// Whether one of the two threads gives the answer already: a process answers one hook.
static ANSWERED: AtomicBool = AtomicBool::new(false);

/// Parses the words of a hook as `marvin init` writes them.
///
/// The whole command line is not set up for it, because a hook runs before and after everything that an agent does.
pub(crate) fn words(words: &[OsString]) -> Option<HookArguments> {
    let (command, rest) = words.split_first()?;
    let (event, client) = parse_words(rest).filter(|_| command == "hook")?;
    Some(HookArguments { event, client, handed_over: None, json: false })
}

/// Answers a hook.
pub(crate) fn run(arguments: HookArguments) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    // A command is judged also where the directory is gone.
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let call = HookCall::new(environment, &arguments.event, arguments.client, &directory);
    // The process ends with it, so nothing needs to be dropped.
    let mut hook = ManuallyDrop::new(Hook::new(call, arguments.handed_over));
    let late = move |ended: HookOutcome| {
        if !ANSWERED.swap(true, Ordering::AcqRel) {
            let exit = finish(&ended).unwrap_or_else(|failure| {
                // Codex takes exit code 2 for a refusal only where something is said.
                output::error(&failure.to_string());
                failure.exit
            });
            #[expect(clippy::disallowed_methods, reason = "the other thread may never return")]
            std::process::exit(i32::from(exit.code()));
        }
    };
    let answer = || hook.run(&mut std::io::stdin().lock(), late);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer))
        .unwrap_or_else(|_| hook.doubt("it broke while it was judged"));
    if ANSWERED.swap(true, Ordering::AcqRel) {
        // The other thread writes the answer and ends the process.
        loop {
            std::thread::park();
        }
    }
    finish(&ended)
}

fn finish(ended: &HookOutcome) -> Result<Exit, Failure> {
    match &ended.blocked {
        // Both clients take exit code 2 for a refusal, and everything else but a valid answer for a yes.
        Some(why) => Err(Failure::usage(why.clone())),
        // It is JSON for a program: characters that a terminal must not get stand in it as JSON writes them.
        None => output::json_line(&format!("{}\n", ended.print)).map(|()| Exit::Success),
    }
}
