//! `marvin-hook EVENT [--client NAME]`: the program that clients start for every hook.
//!
//! It asks the daemon of the project and prints its answer. Everything else (no daemon, another build, verification, doubt)
//! it hands over to `marvin hook`, which lies beside it.

use marvin_base::environment::Environment;
use marvin_hook_client::wire::MAX_EVENT_BYTES;
use marvin_hook_client::{Event, HookCall, NoAnswer, parse_words};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// The exit code that both clients take for a refusal of a call, and at `Stop` for an order to continue.
const REFUSED: u8 = 2;
/// The exit code that both clients show and pass over.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // A closed standard error leaves the exit code, which says the same.
            writeln!(std::io::stderr(), "marvin-hook: {why}").ok();
            let event = words.first().and_then(|word| Event::read(word.to_str()?));
            // Where no call is decided, a refusal would only keep the agent from stopping.
            ExitCode::from(if event.is_none_or(Event::decides) { REFUSED } else { FAILED })
        }
    }
}

/// The reason why nothing could be answered.
#[derive(Debug, thiserror::Error)]
enum HookError {
    #[error("cannot find its own file: {0}")]
    OwnFile(std::io::Error),
    #[error("cannot read standard input: {0}")]
    Input(std::io::Error),
    #[error("cannot write the answer: {0}")]
    Output(std::io::Error),
    #[error("cannot hand over the event: {0}")]
    Event(std::io::Error),
    #[error("cannot start {program}: {source}\n  hint: install marvin and marvin-hook in one directory")]
    Start { program: String, source: std::io::Error },
}

fn run(words: &[OsString]) -> Result<(), HookError> {
    let marvin = std::env::current_exe().map_err(HookError::OwnFile)?.with_file_name("marvin");
    let mut whole = Command::new(&marvin);
    whole.arg("hook").args(words);
    // A command is judged also where the directory is gone.
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let call = parse_words(words)
        .map(|(event, client)| HookCall::new(Environment::of_process(), &event, client, &directory))
        .filter(|call| call.event().is_some() && !call.is_evaluating());
    let Some(call) = call else { return Err(become_program(&mut whole)) };
    let connection = call.connect();
    let mut event = Vec::new();
    // One byte more than is answered, so that `marvin hook` sees that it is too much.
    let input = std::io::stdin().lock().take(MAX_EVENT_BYTES as u64 + 1).read_to_end(&mut event);
    input.map_err(HookError::Input)?;
    let is_event = event.len() <= MAX_EVENT_BYTES && !event.trim_ascii().is_empty();
    let answer = if is_event {
        call.ask(connection, &event, std::fs::metadata(&marvin).ok().as_ref())
    } else {
        Err(NoAnswer::Unusable)
    };
    match answer {
        Ok(text) => writeln!(std::io::stdout(), "{text}").map_err(HookError::Output),
        Err(reason) => {
            let input = stored(&event).map_err(HookError::Event)?;
            let whole = whole.args(["--handed-over", &reason.to_argument()]).stdin(Stdio::from(input));
            Err(become_program(whole))
        }
    }
}

/// The event in a file without a name, from its beginning.
fn stored(event: &[u8]) -> std::io::Result<File> {
    #[cfg(target_os = "linux")]
    let mut file = File::from(rustix::fs::memfd_create("event", rustix::fs::MemfdFlags::CLOEXEC)?);
    #[cfg(not(target_os = "linux"))]
    let mut file = tempfile::tempfile()?;
    file.write_all(event)?;
    file.rewind()?;
    Ok(file)
}

/// Becomes `marvin hook`; returns only where that fails.
fn become_program(command: &mut Command) -> HookError {
    let source = command.exec();
    HookError::Start { program: command.get_program().to_string_lossy().into_owned(), source }
}
