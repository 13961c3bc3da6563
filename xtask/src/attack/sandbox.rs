//! Programs that try to leave the sandbox, on every level, as root and as an ordinary user.
//!
//! The environment of a user is set up around the attack: a home directory with credentials in it,
//! a state directory, sockets, a tmux server, servers on loopback, a running process with a secret
//! in its environment, shared memory. The attack is a script that `make` runs through
//! `marvin tools call run_command`. The control is the same script without Marvin, in the same
//! environment.

use super::case::{AttackOptions, Trial, load_all_cases};
use crate::tools;
use anyhow::Context;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The sandbox levels: name, `sandbox.commands`, whether an old kernel is simulated.
const LEVELS: [(&str, &str, bool); 3] =
    [("namespaces", "namespaces", false), ("landlock", "landlock", false), ("old-kernel", "auto", true)];
/// Id of an ordinary user.
const USER: u32 = 65534;
/// The text that attackers search for.
const SECRET: &str = "s3cret";
/// Printed first by every script: an attack that did not run proves nothing.
const RAN: &str = "RAN";
/// Longer than the time after which a process that a script left behind shows that it runs.
const LEFT_PROCESS_WAIT: Duration = Duration::from_millis(1700);

#[derive(Deserialize)]
struct Case {
    id: String,
    script: String,
    /// Content of the first file in the home directory that the script names.
    content: Option<String>,
    /// Why the attack is known to get through without namespaces.
    landlock: Option<String>,
    /// Whether the attack changes files that steer git or Marvin.
    #[serde(default)]
    steering: bool,
    #[serde(default = "has_control")]
    control: bool,
}

fn has_control() -> bool {
    true
}

/// Runs every case on every level.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let cases: Vec<Case> = options.load_cases("sandbox")?;
    let root = rustix::process::geteuid().is_root();
    let users: &[Option<u32>] = if root { &[None, Some(USER)] } else { &[None] };
    let mut trials = Vec::new();
    for user in users {
        let environment = UserEnvironment::new(&options.marvin, &load_all_cases("sandbox")?, *user)
            .context("cannot set up the environment of a user")?;
        for case in &cases {
            let control = environment.run_control(case).with_context(|| case.id.clone())?;
            for (level, setting, old) in LEVELS {
                let result = environment.run_attack(case, setting, old).with_context(|| case.id.clone())?;
                // Without namespaces some attacks get through, and `marvin doctor` names them.
                let is_known = level == "landlock" && case.landlock.is_some();
                trials.push(Trial {
                    id: format!("{}{}", case.id, if user.is_some() { " user" } else { "" }),
                    level,
                    held: !result.through || is_known,
                    control: control && result.ran != old,
                    note: result.note,
                });
            }
        }
    }
    Ok(trials)
}

struct AttackResult {
    through: bool,
    /// Whether the script ran at all. On an old kernel it must not.
    ran: bool,
    note: String,
}

/// A user's home directory, processes and sockets around an attack.
struct UserEnvironment {
    directory: tempfile::TempDir,
    marvin: PathBuf,
    user: Option<u32>,
    victim: Child,
    variables: BTreeMap<&'static str, String>,
    shared: PathBuf,
}

impl Drop for UserEnvironment {
    fn drop(&mut self) {
        self.victim.kill().and_then(|()| self.victim.wait()).ok();
        let socket = self.directory.path().join("home/tmux.sock");
        Command::new("tmux").arg("-S").arg(socket).arg("kill-server").stderr(Stdio::null()).status().ok();
        for place in [&self.shared, &Path::new("/tmp").join(self.shared.file_name().unwrap_or_default())] {
            std::fs::remove_file(place).ok();
        }
    }
}

impl UserEnvironment {
    fn new(marvin_binary: &Path, cases: &[Case], user: Option<u32>) -> std::io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("attack-").tempdir()?;
        let top = directory.path().canonicalize()?;
        let [home, out] = ["home", "out"].map(|name| top.join(name));
        let state = home.join(".local/state/marvin/projects/p");
        for place in [&home, &out, &state, &top.join("bin")] {
            std::fs::create_dir_all(place)?;
        }
        let marvin = top.join("bin/marvin");
        std::fs::copy(marvin_binary, &marvin)?;
        for case in cases {
            let named = case.script.split_once("\"$H/").and_then(|(_, rest)| rest.split_once('"'));
            let Some(path) = named.map(|(file, _)| home.join(file)) else { continue };
            if path.extension().is_none_or(|ending| ending != "sock") && !path.is_dir() {
                path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                // A comment in every format of settings, so that Marvin can still parse its own.
                let usual = format!("# {SECRET}\n");
                std::fs::write(&path, case.content.as_ref().unwrap_or(&usual))?;
            }
        }
        std::fs::create_dir_all(home.join("Documents"))?;
        std::fs::write(home.join("Documents/private.txt"), SECRET)?;
        let mark = format!("marvin-attack-{}", top.file_name().unwrap_or_default().to_string_lossy());
        let shared = Path::new("/dev/shm").join(&mark);
        for path in [home.join("agent.sock"), out.join("run.sock"), home.join("ssh-agent.sock")] {
            answer(UnixListener::bind(path)?);
        }
        answer(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&mark)?)?);
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let udp = UdpSocket::bind("127.0.0.1:0")?;
        let (port, udp_port) = (tcp.local_addr()?.port(), udp.local_addr()?.port());
        std::thread::spawn(move || {
            tcp.incoming().flatten().for_each(|mut stream| drop(stream.write_all(b"x")));
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 16];
            while let Ok((_, from)) = udp.recv_from(&mut buffer) {
                udp.send_to(b"x", from).ok();
            }
        });
        let queue = as_user(user, "ipcmk").arg("-Q").output().ok();
        let queue =
            queue.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let queue = queue.rsplit(' ').next().unwrap_or_default().trim().to_string();
        if user.is_some() {
            Command::new("chown").arg("-R").arg(format!("{USER}:{USER}")).arg(&top).status()?;
        }
        let mut victim = as_user(user, "sleep");
        let victim = victim.arg("100000").env("TOKEN", SECRET).current_dir(&home).spawn()?;
        let mut tmux = as_user(user, "tmux");
        tmux.arg("-S").arg(home.join("tmux.sock")).args(["new-session", "-d", "sleep 100000"]);
        tmux.env("HOME", &home).env("SHELL", "/bin/sh").stderr(Stdio::null()).status()?;
        let shown = |path: &Path| path.display().to_string();
        let variables = BTreeMap::from([
            ("H", shown(&home)),
            ("OUT", shown(&out)),
            ("W", shown(&top.join("work"))),
            ("STATE", shown(&state)),
            ("PORT", port.to_string()),
            ("UDP", udp_port.to_string()),
            ("ABSTRACT", mark.clone()),
            ("MARK", mark),
            ("QUEUE", queue),
            ("VICTIM", victim.id().to_string()),
        ]);
        Ok(UserEnvironment { directory, marvin, user, victim, variables, shared })
    }

    /// Creates a new workspace with the script of a case.
    fn create_workspace(&self, case: &Case) -> std::io::Result<PathBuf> {
        let work = self.directory.path().canonicalize()?.join("work");
        if work.exists() {
            std::fs::remove_dir_all(&work)?;
        }
        for place in [".git/hooks", ".git/objects", ".git/refs", ".git/info", ".marvin/packs/p"] {
            std::fs::create_dir_all(work.join(place))?;
        }
        std::fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        std::fs::write(work.join(".git/config"), "[core]\n")?;
        std::fs::write(work.join(".marvin/packs/p/pack.json"), "{}")?;
        // An earlier script may have removed these.
        let state = PathBuf::from(self.variables.get("STATE").cloned().unwrap_or_default());
        let temporary = Path::new("/tmp").join(self.shared.file_name().unwrap_or_default());
        std::fs::create_dir_all(&state)?;
        std::fs::write(state.join("ledger.jsonl"), SECRET)?;
        std::fs::write(&self.shared, format!("{SECRET:4096}"))?;
        std::fs::write(&temporary, SECRET)?;
        let exports: String =
            self.variables.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        std::fs::write(work.join("attack.sh"), format!("echo {RAN}\n{exports}{}", case.script))?;
        std::fs::write(work.join("Makefile"), "all:\n\t@bash attack.sh 2>&1; true\n")?;
        if self.user.is_some() {
            let mut chown = Command::new("chown");
            chown
                .arg("-R")
                .arg(format!("{USER}:{USER}"))
                .args([&work, &state, &self.shared, &temporary])
                .status()?;
        }
        Ok(work)
    }

    /// Whether the script gets through where nothing stops it.
    fn run_control(&self, case: &Case) -> std::io::Result<bool> {
        if !case.control {
            return Ok(true);
        }
        let work = self.create_workspace(case)?;
        let before = read_steering_files(&work);
        let mut command = as_user(self.user, "bash");
        command.arg("attack.sh").current_dir(&work).env("HOME", self.directory.path().join("home"));
        let output = command.envs(self.secrets()).stdin(Stdio::null()).output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let (through, _) = self.is_through(case, &work, &printed, &before);
        Ok(through)
    }

    /// Whether the script gets through inside the sandbox.
    fn run_attack(&self, case: &Case, setting: &str, old: bool) -> std::io::Result<AttackResult> {
        let work = self.create_workspace(case)?;
        let before = read_steering_files(&work);
        let mut command = as_user(self.user, &self.marvin.display().to_string());
        command
            .args(["tools", "call", "run_command", "--args", r#"{"command":"make"}"#, "--working-dir"])
            .arg(&work)
            .current_dir(&work)
            .env("HOME", self.directory.path().join("home"))
            .env("MARVIN_SANDBOX", setting)
            .envs(self.secrets());
        if old {
            simulate_old_kernel(&mut command);
        }
        let output = command.stdin(Stdio::null()).output()?;
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let (through, seen) = self.is_through(case, &work, &lines, &before);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let ran = lines.lines().any(|line| line.trim() == RAN);
        Ok(AttackResult { through, ran, note: format!("{seen} {} {stderr}", lines.replace('\n', "⏎")) })
    }

    /// Environment variables with secrets, as a user's shell has them.
    fn secrets(&self) -> BTreeMap<&'static str, String> {
        let home = self.directory.path().join("home");
        BTreeMap::from([
            ("OPENAI_API_KEY", SECRET.to_string()),
            ("DATABASE_URL", format!("postgres://ann:{SECRET}@db.example/x")),
            ("HTTP_PROXY", format!("http://ann:{SECRET}@proxy.example:1")),
            ("GITHUB_TOKEN", SECRET.to_string()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_string()),
            ("MY_PASSWORD", SECRET.to_string()),
            ("SENTRY_DSN", format!("https://{SECRET}@sentry.example/1")),
            ("npm_config__auth", SECRET.to_string()),
            ("CUSTOM_THING", format!("value-{SECRET}")),
            ("SSH_AUTH_SOCK", home.join("ssh-agent.sock").display().to_string()),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1/bus".to_string()),
        ])
    }

    fn is_through(&self, case: &Case, work: &Path, printed: &str, before: &str) -> (bool, &'static str) {
        let id = case.id.as_str();
        if id.starts_with("outlive") {
            std::thread::sleep(LEFT_PROCESS_WAIT);
            return (work.join(id).exists(), "a process outlived the call;");
        }
        if case.steering {
            return (read_steering_files(work) != before, "a protected file stayed changed;");
        }
        let mark = self.directory.path().join("out").join(id);
        if mark.symlink_metadata().is_ok() {
            let remove = if mark.is_dir() && !mark.is_symlink() {
                std::fs::remove_dir_all
            } else {
                std::fs::remove_file
            };
            remove(&mark).ok();
            return (true, "it left a mark;");
        }
        (printed.lines().any(|line| line.trim() == "THROUGH"), "")
    }
}

/// All files that steer git or Marvin in a workspace, as one text. Marvin itself writes
/// `.marvin/.gitignore`.
fn read_steering_files(work: &Path) -> String {
    let script = "for f in .git/config .git/commondir .git/info/attributes .git/objects/info/alternates; do cat $f 2>/dev/null; done; \
        find .git/hooks .marvin .vscode lib2 -type f ! -path .marvin/.gitignore ! -path '.marvin/tampered/*' ! -path '.marvin/tools_cache/*' 2>/dev/null | sort | tee /dev/stderr | xargs -r cat";
    let output = Command::new("sh").args(["-c", script]).current_dir(work).output();
    let both = |output: std::process::Output| [output.stdout, output.stderr].concat();
    output.map(|output| String::from_utf8_lossy(&both(output)).into_owned()).unwrap_or_default()
}

/// Answers every client that connects.
fn answer(listener: UnixListener) {
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // A client that writes into a closed socket is killed before it can say that it was
            // answered.
            let answered = stream.write_all(b"x");
            stream.set_read_timeout(Some(Duration::from_millis(200))).and(answered).ok();
            (&mut stream).take(256).read_to_end(&mut Vec::new()).ok();
        }
    });
}

/// A command as another user, or as this one.
fn as_user(user: Option<u32>, program: &str) -> Command {
    let mut command = match user {
        None => Command::new(program),
        Some(user) => {
            let mut command = Command::new("setpriv");
            command
                .args([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".into()])
                .arg(program);
            command
        }
    };
    command.env_clear();
    command.env("PATH", tools::search_path());
    command
}

/// Lets a command see a kernel without Landlock and without user namespaces.
#[expect(unsafe_code, reason = "pre_exec runs between fork and exec; the closure makes only syscalls")]
fn simulate_old_kernel(command: &mut Command) {
    const ERRNO: u32 = 0x0005_0000;
    const ALLOW: u32 = 0x7fff_0000;
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let masked = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let mut filter = [
        step(load, 0, 0, 0),
        step(equal, 4, 0, libc::SYS_landlock_create_ruleset as u32),
        step(equal, 4, 0, libc::SYS_unshare as u32),
        step(equal, 0, 4, libc::SYS_clone as u32),
        step(load, 0, 0, 16),
        step(masked, 1, 2, libc::CLONE_NEWUSER as u32),
        step(answer, 0, 0, ERRNO | libc::ENOSYS as u32),
        step(answer, 0, 0, ERRNO | libc::EPERM as u32),
        step(answer, 0, 0, ALLOW),
    ];
    // SAFETY: the filter is owned by the closure, which makes only syscalls.
    unsafe {
        command.pre_exec(move || {
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            let failed = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0;
            if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        });
    }
}
