//! Ringing while no front end is open: by a systemd user timer where one can run, else by a small process of Marvin's own.
//!
//! The timer starts `marvin alarms deliver` at each moment at which something is due, when the clock or the time zone is
//! changed, and after a boot for what was missed. The process (`marvin alarms run`) does the same and ends when nothing
//! waits; it does not survive a reboot, after which the next Marvin that is opened starts it again.

use super::deliver::Deliverer;
use super::error::AlarmError;
use super::time::Moment;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use marvin_base::atomic;
use marvin_base::child::{self, Child, Ending};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::settings::{Settings, table};
use marvin_base::wake::Waker;
use marvin_model::choose;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const SYSTEMCTL_TIMEOUT: Duration = Duration::from_secs(5);
/// The name of the units.
const UNIT: &str = "marvin-alarms";
/// The calendars may change without Marvin: they are read again after this.
const MAX_WAIT: SignedDuration = SignedDuration::from_hours(24);
/// The name of this program; a test or another program does not start itself.
const PROGRAM: &str = "marvin";

/// Who rings when no front end is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    Systemd,
    Process,
    Off,
}

/// Ensures that what waits will ring although this process ends.
///
/// # Errors
/// When the state cannot be read, or neither way works.
pub async fn ensure_scheduler(
    layout: &Layout,
    settings: &Settings,
    environment: &Environment,
) -> Result<Scheduler, AlarmError> {
    let program =
        std::env::current_exe().ok().filter(|path| path.file_name().is_some_and(|name| name == PROGRAM));
    let chosen = settings.text(&table::ALARMS_SCHEDULER);
    let (Some(program), false) = (program, chosen == "off") else { return Ok(Scheduler::Off) };
    let deliverer = Deliverer::new(layout, settings, environment);
    let next = deliverer.next_due(&Moment::now())?;
    let is_armed = units_directory(environment, layout).join(format!("{UNIT}.timer")).exists();
    let systemd = match chosen {
        // Nothing waits, and no timer has to be told so.
        _ if next.is_none() && !is_armed => return Ok(Scheduler::Process),
        "process" => None,
        _ => Systemd::find(environment, layout).await,
    };
    match systemd {
        Some(systemd) => {
            systemd.arm(&program, next, environment).await?;
            Ok(Scheduler::Systemd)
        }
        None if chosen == "systemd" => Ok(Scheduler::Off),
        None => {
            if next.is_some() {
                start_process(&deliverer, &program)?;
            }
            Ok(Scheduler::Process)
        }
    }
}

/// The lock of the scheduler process.
const SCHEDULER_LOCK: &str = "scheduler.lock";

/// Starts the scheduler process, unless one runs.
fn start_process(deliverer: &Deliverer, program: &Path) -> Result<(), AlarmError> {
    let store = deliverer.store();
    // The lock is free again at once; of several that are started the first keeps it.
    if store.try_lock(SCHEDULER_LOCK)?.is_none() {
        return Ok(());
    }
    let mut command = Command::new(program);
    command.args(["alarms", "run"]).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|source| AlarmError::Io {
        doing: "start",
        path: program.display().to_string(),
        source,
    })?;
    // Waited for, so that no zombie stays if it ends before this process.
    std::thread::spawn(move || child.wait().ok());
    Ok(())
}

/// Rings and delivers until nothing waits. Ends at once when another process does it. `settings` gives those of the moment:
/// the process outlives many changes of them.
///
/// # Errors
/// When the state cannot be read or written.
pub async fn run_scheduler(
    layout: &Layout,
    settings: &dyn Fn() -> Arc<Settings>,
    environment: &Environment,
) -> Result<(), AlarmError> {
    loop {
        let deliverer = Deliverer::new(layout, &settings(), environment);
        let Some(lock) = deliverer.store().try_lock(SCHEDULER_LOCK)? else { return Ok(()) };
        deliver_until_idle(layout, settings, environment).await?;
        drop(lock);
        // Another process may have set an alarm and seen the lock just before it was released.
        if !layout.alarms().is_dir() || deliverer.next_due(&Moment::now())?.is_none() {
            return Ok(());
        }
    }
}

/// Rings and delivers until nothing waits. The lock is held.
async fn deliver_until_idle(
    layout: &Layout,
    settings: &dyn Fn() -> Arc<Settings>,
    environment: &Environment,
) -> Result<(), AlarmError> {
    loop {
        // Before the state is read, so that no change is missed.
        let waker = Waker::new(&watched(layout));
        let deliverer = Deliverer::new(layout, &settings(), environment);
        let now = Moment::now();
        let Some(next) = deliverer.pass(&now).await?.next else { return Ok(()) };
        let longest = now.timestamp.saturating_add(MAX_WAIT).unwrap_or(Timestamp::MAX);
        waker.wait(Some(next.min(longest))).map_err(|source| AlarmError::Io {
            doing: "wait for changes of",
            path: layout.alarms().display().to_string(),
            source,
        })?;
        // The directory was removed: there is nothing to ring, and nowhere to note it.
        if !layout.alarms().is_dir() {
            return Ok(());
        }
    }
}

/// Directories in which something may be set or changed.
fn watched(layout: &Layout) -> Vec<PathBuf> {
    let profiles = std::fs::read_dir(layout.profiles()).into_iter().flatten();
    let mut all: Vec<PathBuf> = profiles.filter_map(|entry| Some(entry.ok()?.path())).collect();
    all.push(layout.profiles());
    all.push(layout.alarms());
    all
}

/// Directory of the person's own units.
fn units_directory(environment: &Environment, layout: &Layout) -> PathBuf {
    let config = environment.get("XDG_CONFIG_HOME").filter(|path| path.starts_with('/'));
    let config = config.map_or_else(|| layout.home().join(".config"), PathBuf::from);
    config.join("systemd/user")
}

/// systemd of the user.
#[derive(Debug)]
struct Systemd {
    systemctl: PathBuf,
    units: PathBuf,
}

impl Systemd {
    /// systemd, where it runs for this user.
    async fn find(environment: &Environment, layout: &Layout) -> Option<Self> {
        environment.get("XDG_RUNTIME_DIR")?;
        let systemctl = choose::find_program("systemctl", environment)?;
        let systemd = Systemd { systemctl, units: units_directory(environment, layout) };
        systemd.call(&["show-environment"]).await.ok()?;
        Some(systemd)
    }

    async fn call(&self, words: &[&str]) -> std::io::Result<()> {
        let words = std::iter::once("--user").chain(words.iter().copied());
        let mut called = Child::new(&self.systemctl).args(words);
        called.deadline = SYSTEMCTL_TIMEOUT;
        let outcome = child::run(called, &CancellationToken::new()).await;
        let outcome = outcome.map_err(|error| std::io::Error::other(error.to_string()))?;
        match outcome.ending {
            Ending::Exited(0) => Ok(()),
            _ => Err(std::io::Error::other(outcome.stderr.text().trim().to_string())),
        }
    }

    /// Writes the units and starts the timer, unless they are as they should be.
    async fn arm(
        &self,
        program: &Path,
        next: Option<Timestamp>,
        environment: &Environment,
    ) -> Result<(), AlarmError> {
        let (service, timer) =
            (self.units.join(format!("{UNIT}.service")), self.units.join(format!("{UNIT}.timer")));
        let texts = [(&service, service_unit(program, environment)), (&timer, timer_unit(next))];
        let same =
            |(path, text): &(&PathBuf, String)| std::fs::read_to_string(path).is_ok_and(|old| old == *text);
        if texts.iter().all(same) {
            return Ok(());
        }
        for (path, text) in &texts {
            atomic::replace(path, text.as_bytes())?;
        }
        let timer_name = format!("{UNIT}.timer");
        for words in [&["daemon-reload"][..], &["enable", &timer_name], &["restart", &timer_name]] {
            self.call(words).await.map_err(|source| AlarmError::Io {
                doing: "start with systemd",
                path: timer.display().to_string(),
                source,
            })?;
        }
        Ok(())
    }
}

/// The unit that delivers once.
fn service_unit(program: &Path, environment: &Environment) -> String {
    let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let kept = ["MARVIN_HOME", "MARVIN_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"];
    let variables: String = kept
        .iter()
        .filter_map(|name| Some(format!("Environment=\"{name}={}\"\n", escape(environment.get(name)?))))
        .collect();
    // A `$` in the line of a program is a variable.
    let program = escape(&program.display().to_string()).replace('$', "$$");
    format!(
        "[Unit]\nDescription=Alarms, timers and reminders of Marvin\n\n[Service]\nType=oneshot\n{variables}ExecStart=\"{program}\" alarms deliver\n"
    )
}

/// The unit that starts it at the next moment, and when the clock is changed.
fn timer_unit(next: Option<Timestamp>) -> String {
    // systemd counts in seconds: one later rather than one too early.
    let moment = next.map(|next| {
        let next = next.saturating_add(SignedDuration::from_millis(999)).unwrap_or(next);
        format!("OnCalendar={}\n", next.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))
    });
    format!(
        "[Unit]\nDescription=Alarms, timers and reminders of Marvin\n\n[Timer]\n{}OnCalendar=daily\nOnClockChange=true\nOnTimezoneChange=true\nAccuracySec=1s\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
        moment.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_what_systemd_understands() {
        let next: Timestamp = "2026-11-17T14:30:00.001Z".parse().unwrap();
        let timer = timer_unit(Some(next));
        assert!(timer.contains("\nOnCalendar=2026-11-17 14:30:01 UTC\nOnCalendar=daily\n"), "{timer}");
        let environment = Environment::from_iter([("MARVIN_HOME", "/a \"b\" 50%")]);
        let service = service_unit(Path::new("/opt/my $dir/marvin"), &environment);
        assert!(service.contains("Environment=\"MARVIN_HOME=/a \\\"b\\\" 50%%\"\nExecStart=\"/opt/my $$dir/marvin\" alarms deliver\n"), "{service}");
        let directory = tempfile::tempdir().unwrap();
        let (timer_path, service_path) =
            (directory.path().join("marvin-alarms.timer"), directory.path().join("marvin-alarms.service"));
        std::fs::write(&timer_path, timer).unwrap();
        std::fs::write(&service_path, service_unit(Path::new("/bin/true"), &environment)).unwrap();
        match Command::new("systemd-analyze")
            .args(["verify", "--user"])
            .args([&timer_path, &service_path])
            .output()
        {
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let ours: Vec<&str> = said.lines().filter(|line| line.contains("marvin-alarms")).collect();
                assert_eq!(ours, [""; 0], "{said}");
            }
            Err(error) => println!("skipped: systemd-analyze cannot be started: {error}"),
        }
    }
}
