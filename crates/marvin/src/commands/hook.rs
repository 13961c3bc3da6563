//! `marvin hook EVENT`: answers a hook of Claude Code or Codex.

use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::environment::Environment;
use marvin_hooks::client::{Hook, HookOutcome};
use marvin_hooks::event::Client;
use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody gives the answer already: there is one hook in a process.
static ANSWERED: AtomicBool = AtomicBool::new(false);

/// The words of a hook, as `marvin init` writes them: read without the rest of the command line, because a hook runs before
/// and after everything that an agent does.
pub(crate) fn words(words: &[OsString]) -> Option<(String, Option<Client>)> {
    let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let (event, client) = match words.as_slice() {
        ["hook", event] => (event, None),
        ["hook", event, "--client", client] => (event, Some(Client::read(client)?)),
        _ => return None,
    };
    (!event.starts_with('-')).then(|| ((*event).to_string(), client))
}

/// Answers a hook.
pub(crate) fn run(event: &str, client: Option<Client>) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    // A directory that is gone is no reason to let a command through.
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    // The process ends with it: nothing of it is taken apart.
    let hook = ManuallyDrop::new(Hook::new(environment, event, client, &directory));
    let late = move |ended: HookOutcome| {
        if !ANSWERED.swap(true, Ordering::AcqRel) {
            let exit = finish(&ended).unwrap_or_else(|failure| {
                // Codex takes exit code 2 for a refusal only where something is said.
                output::error(&failure.message);
                failure.exit
            });
            #[expect(clippy::disallowed_methods, reason = "whatever holds the other thread up does not end")]
            std::process::exit(i32::from(exit.code()));
        }
    };
    let answer = || hook.run(&mut std::io::stdin().lock(), late);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer))
        .unwrap_or_else(|_| hook.doubt("it broke while it was judged"));
    if ANSWERED.swap(true, Ordering::AcqRel) {
        // The answer is being given already.
        loop {
            std::thread::park();
        }
    }
    finish(&ended)
}

fn finish(ended: &HookOutcome) -> Result<Exit, Failure> {
    match &ended.blocked {
        // Both clients take exit code 2 for a refusal, and everything else but a good answer for a yes.
        Some(why) => Err(Failure::usage(why.clone())),
        None => output::line(&ended.print).map_err(|failure| Failure::usage(failure.message)),
    }
}
