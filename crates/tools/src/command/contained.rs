//! The one way in which a tool runs a program: bounded, without Marvin's secrets, in the sandbox of the settings.

use super::guard::{Guard, NestedChanges};
use crate::context::ToolContext;
use crate::result::ToolError;
use marvin_base::child::{Child, Ending, Limits, Outcome};
use marvin_base::environment::{self, Environment};
use marvin_base::settings::table;
use marvin_gate::sandbox::{self, Level, Policy, SandboxMode};
use marvin_gate::{JudgedCommand, secrets, steering};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables that name the directory in which cargo builds.
const BUILD_DIRECTORIES: [&str; 2] = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];
const MAX_TIMEOUT_SECONDS: u64 = 86_400;

/// A private temporary directory for one program. It is removed with this value.
#[derive(Debug)]
pub(crate) struct PrivateTempDir {
    directory: tempfile::TempDir,
}

impl PrivateTempDir {
    pub(crate) fn new() -> Result<Self, ToolError> {
        let directory = tempfile::Builder::new().prefix("marvin-").tempdir();
        directory
            .map(|directory| PrivateTempDir { directory })
            .map_err(|error| ToolError::Failed(format!("cannot create a temporary directory: {error}")))
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The usual policy: workspace and this directory writable, credentials hidden, no network.
    pub(crate) fn policy(&self, context: &ToolContext) -> Result<Policy, ToolError> {
        let root = context.workspace()?.root();
        let mut policy = Policy::new(root, self.path());
        policy.home = Some(context.layout.home().to_path_buf());
        policy.hidden = secrets::places_in(context.layout.home(), &Environment::of_process());
        policy.hidden.extend([context.layout.state(), context.layout.user()].map(Path::to_path_buf));
        policy.closed = closed_files(root, context)?;
        policy.readable =
            context.settings.list(&table::SANDBOX_READABLE).into_iter().map(PathBuf::from).collect();
        policy.readable.extend(named_python(context));
        policy.protected = steering::protected(root);
        policy.protected.extend(sandbox::PROTECTED.iter().map(|place| root.join(place)));
        if let Some(grant) = &context.grant {
            policy.network |= grant.network;
            policy.writable.extend(grant.write.iter().cloned());
            policy.readable.extend(grant.read.iter().cloned());
            policy.closed.retain(|closed| !grant.read.contains(closed));
            let is_own =
                |place: &PathBuf| sandbox::PROTECTED.iter().any(|own| place.starts_with(root.join(own)));
            policy.opened.extend(grant.steering.iter().filter(|place| !is_own(place)).cloned());
        }
        Ok(policy)
    }
}

/// The Python that the person named for benchmark tasks, with its libraries.
fn named_python(context: &ToolContext) -> Option<PathBuf> {
    let named = PathBuf::from(context.settings.text(&table::LAB_PYTHON));
    if !named.is_absolute() {
        return None;
    }
    if named.is_dir() { Some(named) } else { named.ancestors().nth(2).map(Path::to_path_buf) }
}

/// The secret files of the workspace that the person did not open.
fn closed_files(root: &Path, context: &ToolContext) -> Result<Vec<PathBuf>, ToolError> {
    let granted = secrets::GrantedFiles::from_settings(&context.settings);
    let mut closed = secrets::closed_in(root).map_err(|error| ToolError::Failed(error.to_string()))?;
    closed.retain(|path| !granted.has(path.strip_prefix(root).unwrap_or(path)));
    Ok(closed)
}

/// A finished program.
#[derive(Debug)]
pub(crate) struct ContainedRun {
    /// Its ending and output.
    pub(crate) outcome: Outcome,
    /// The sandbox that it had.
    pub(crate) sandbox: &'static str,
    /// Protected files that it changed: git's configuration and hooks, the record, the tickets.
    pub(crate) tampered: Vec<String>,
    deadline: Duration,
    /// The limit of its processes.
    processes: u32,
}

impl ContainedRun {
    /// Its exit code; none when it was killed.
    pub(crate) fn code(&self) -> Option<i32> {
        match self.outcome.ending {
            Ending::Exited(code) => Some(code),
            _ => None,
        }
    }

    pub(crate) fn timed_out(&self) -> bool {
        self.outcome.ending == Ending::Late
    }

    /// Its failure, unless it exited with 0.
    pub(crate) fn error(&self) -> Option<String> {
        match self.outcome.ending {
            Ending::Exited(0) => None,
            Ending::Exited(code) => Some(format!("exit code {code}")),
            Ending::Signalled(signal) => Some(format!("ended by signal {signal}")),
            Ending::Late => Some(format!("not done after {} s, so it was ended", self.deadline.as_secs())),
            Ending::Cancelled => Some("cancelled".to_string()),
            Ending::Crowded => Some(format!(
                "it had more than {} processes at the same time (sandbox.processes), so it was ended with all of them",
                self.processes
            )),
        }
    }

    /// A sentence about the protected files that it changed; empty when there are none.
    pub(crate) fn warning(&self) -> String {
        if self.tampered.is_empty() {
            return String::new();
        }
        format!("[files that steer agents or git changed while it ran: {}]", self.tampered.join(", "))
    }
}

/// The timeout of a program: that of the call within bounds, else the setting.
pub(crate) fn seconds(asked: Option<u64>, context: &ToolContext) -> Duration {
    match asked {
        Some(seconds) => Duration::from_secs(seconds.clamp(1, MAX_TIMEOUT_SECONDS)),
        None => context.settings.seconds(&table::COMMAND_TIMEOUT),
    }
}

/// Runs a program in the workspace, in the sandbox. Its deadline, its input and additions to the environment are the
/// caller's.
pub(crate) async fn contained(
    child: JudgedCommand,
    policy: Policy,
    context: &ToolContext,
) -> Result<ContainedRun, ToolError> {
    contained_with(child, policy, NestedChanges::Undone, context).await
}

/// Like [`contained`], with another treatment of nested steering files.
pub(crate) async fn contained_with(
    mut child: JudgedCommand,
    policy: Policy,
    nested: NestedChanges,
    context: &ToolContext,
) -> Result<ContainedRun, ToolError> {
    let root = context.workspace()?.root().to_path_buf();
    let processes = bound(&mut child, &root, context);
    let run = context.artifacts.as_ref().and_then(|artifacts| artifacts.path().parent());
    let undone = context.layout.project_state().join("undone.jsonl");
    let guard = (!policy.readonly)
        .then(|| Guard::begin(&root, &policy.protected, policy.opened.clone(), nested).noting_in(undone));
    let sandbox = contain(&mut child, policy, context).await?;
    let deadline = child.deadline;
    let outcome = child.run(&context.cancel).await.map_err(|error| ToolError::Failed(error.to_string()))?;
    let quarantine = run.map(|run| run.join("artifacts/tampered"));
    let tampered = guard.map(|guard| guard.finish(quarantine.as_deref())).unwrap_or_default();
    Ok(ContainedRun { outcome, sandbox, tampered, deadline, processes })
}

/// Marks the child as an agent's process, which decides nothing that a person decides.
fn mark(child: &mut Child, run: Option<&Path>, context: &ToolContext) {
    let run = run.and_then(Path::file_name).map_or("none".into(), |name| name.to_string_lossy().into_owned());
    let depth = context.settings.whole(&table::DEPTH).saturating_add(1);
    child.set.insert("MARVIN_RUN".into(), run);
    child.set.insert("MARVIN_DEPTH".into(), depth.to_string());
}

/// Sets the environment and the limits of a child; returns its limit of processes.
pub(super) fn bound(child: &mut Child, root: &Path, context: &ToolContext) -> u32 {
    child.directory.get_or_insert_with(|| root.to_path_buf());
    let environment = marvin_base::child::environment();
    let further = context.settings.list(&table::SANDBOX_ENVIRONMENT);
    let mut allowed = environment::for_child(&environment, further.iter().map(String::as_str));
    // A build directory elsewhere could not be written; the default one lies in the workspace.
    allowed.retain(|name, value| {
        !BUILD_DIRECTORIES.contains(&name.as_str()) || Path::new(value).starts_with(root)
    });
    // The caller's variables win.
    allowed.extend(std::mem::take(&mut child.set));
    child.set = allowed;
    child.inherit = false;
    let run = context.artifacts.as_ref().and_then(|artifacts| artifacts.path().parent());
    mark(child, run, context);
    let processes = u32::try_from(context.settings.whole(&table::SANDBOX_PROCESSES)).unwrap_or(u32::MAX);
    let megabytes = u64::try_from(context.settings.whole(&table::SANDBOX_FILE)).unwrap_or(u64::MAX);
    child.limits = Limits {
        processes: Some(processes),
        hard: false,
        file_bytes: Some(megabytes.saturating_mul(1024 * 1024)),
        expendable: true,
    };
    processes
}

/// Puts the child into the sandbox of the settings, and returns its name. An unavailable one is not replaced by a weaker one.
pub(crate) async fn contain(
    child: &mut JudgedCommand,
    policy: Policy,
    context: &ToolContext,
) -> Result<&'static str, ToolError> {
    let wanted = SandboxMode::from_setting(context.settings.text(&table::CONTAINMENT));
    if wanted != SandboxMode::Off {
        // Probed once per process, which takes a moment.
        tokio::task::spawn_blocking(sandbox::support).await.ok();
    }
    sandbox::enter(child, policy, wanted).map_err(|error| ToolError::Failed(error.to_string()))
}

/// A notice for the person when commands have less than the full sandbox here, the first time and whenever that changes.
pub(crate) fn level_notice(context: &ToolContext) -> Option<String> {
    let level = sandbox::support().level?;
    let is_weaker = SandboxMode::from_setting(context.settings.text(&table::CONTAINMENT))
        == SandboxMode::Auto
        && level == Level::Landlock;
    let noted = context.layout.state().join("sandbox-level");
    let word = level.word();
    if std::fs::read_to_string(&noted).is_ok_and(|before| before == word) || !is_weaker && !noted.exists() {
        return None;
    }
    std::fs::create_dir_all(context.layout.state()).and_then(|()| std::fs::write(&noted, word)).ok();
    is_weaker.then(|| {
        format!("commands run with {word} only, since this system refuses namespaces; `marvin doctor` says what that leaves open")
    })
}

/// Quotes words as a line that a shell splits into the same words.
pub(crate) fn line_of<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    let quoted = |word: &str| {
        if !word.is_empty() && word.chars().all(plain) {
            word.to_string()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.into_iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_they_must_be() {
        assert_eq!(line_of(["cargo", "test", "-p", "a"]), "cargo test -p a");
        assert_eq!(line_of(["a b", "", "it's", "$(x)", "*"]), r#"'a b' '' 'it'\''s' '$(x)' '*'"#);
    }
}
