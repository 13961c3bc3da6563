//! `marvin-hook EVENT [--client NAME]`: the program that clients start for every hook.
//!
//! It asks the daemon of the project and prints its answer. Everything else (no daemon, another build, verification, doubt)
//! it hands over to `marvin hook`, which lies beside it.

use marvin_base::environment::Environment;
use marvin_hook_client::wire::MAX_EVENT_BYTES;
use marvin_hook_client::{Client, DaemonReply, HookCall};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The exit code that both clients take for a refusal.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let marvin = match std::env::current_exe() {
        Ok(own) => own.with_file_name("marvin"),
        Err(error) => return refuse(&format!("cannot find its own file: {error}")),
    };
    let Some(call) = parse(&words).filter(|call| call.event().is_some() && !call.is_evaluating()) else {
        return hand_over(Command::new(&marvin).arg("hook").args(&words), &marvin);
    };
    let connection = call.connect();
    let mut event = Vec::new();
    // One byte more than is answered, so that `marvin hook` sees that it is too much.
    if let Err(error) = std::io::stdin().lock().take(MAX_EVENT_BYTES as u64 + 1).read_to_end(&mut event) {
        return refuse(&format!("standard input cannot be read: {error}"));
    }
    let is_event = event.len() <= MAX_EVENT_BYTES && !event.trim_ascii().is_empty();
    let reply = if is_event {
        call.ask(connection, &event, std::fs::metadata(&marvin).ok().as_ref())
    } else {
        DaemonReply::Unusable
    };
    match reply {
        DaemonReply::Answer(text) => match writeln!(std::io::stdout(), "{text}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => refuse(&format!("the answer cannot be written: {error}")),
        },
        other => match stored(&event) {
            Ok(input) => {
                let learned = other.to_argument().unwrap_or_default();
                let mut command = Command::new(&marvin);
                command.arg("hook").args(&words).args(["--handed-over", &learned]).stdin(Stdio::from(input));
                hand_over(&mut command, &marvin)
            }
            Err(error) => refuse(&format!("the event cannot be handed over: {error}")),
        },
    }
}

fn parse(words: &[OsString]) -> Option<HookCall> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let (event, client) = match words.as_slice() {
        [event] => (event, None),
        [event, "--client", client] => (event, Some(Client::read(client)?)),
        _ => return None,
    };
    // A command is judged also where the directory is gone.
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    Some(HookCall::new(Environment::of_process(), event, client, &directory))
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

/// Becomes `marvin hook`.
fn hand_over(command: &mut Command, marvin: &Path) -> ExitCode {
    let error = command.exec();
    refuse(&format!(
        "cannot start {}: {error}\n  hint: install marvin and marvin-hook in one directory",
        marvin.display()
    ))
}

fn refuse(why: &str) -> ExitCode {
    // A closed standard error leaves the exit code, which says the same.
    writeln!(std::io::stderr(), "marvin-hook: {why}").ok();
    ExitCode::from(REFUSED)
}
