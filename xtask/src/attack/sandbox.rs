//! Programs that try to leave the sandbox, on every level, as root and as an ordinary user.
//!
//! A person is set up around the attack: a home directory with credentials in it, a state directory, sockets, a tmux server, servers on
//! loopback, a running process with a secret in its environment, shared memory. The attack is a script that `make` runs through
//! `marvin tools call run_command`. The control is the same script without Marvin, in the same surroundings.

use super::{Arena, Trial, text};
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
/// An ordinary user.
const USER: u32 = 65534;
/// What attackers look for.
const SECRET: &str = "s3cret";
/// What every script prints first: an attack that did not run proves nothing.
const RAN: &str = "RAN";
/// Longer than what a script leaves behind waits before it shows that it lives.
const AFTERLIFE: Duration = Duration::from_millis(1700);

/// Runs every case on every level.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let cases = arena.cases("sandbox")?;
    let root = rustix::process::geteuid().is_root();
    let users: &[Option<u32>] = if root { &[None, Some(USER)] } else { &[None] };
    let mut trials = Vec::new();
    for user in users {
        let person = Person::new(arena, *user).map_err(|error| format!("cannot set up a person: {error}"))?;
        for case in &cases {
            let control = person.control(case)?;
            for (level, setting, old) in LEVELS {
                let AttackResult { through, ran, note } = person.attack(case, setting, old)?;
                // Without namespaces some things are open, and `marvin doctor` names them.
                let named = level == "landlock" && !text(case, "landlock").is_empty();
                let who = if user.is_some() { "user" } else { "" };
                let id = format!("{} {who}", text(case, "id")).trim_end().to_string();
                trials.push(Trial {
                    id,
                    level,
                    held: !through || named,
                    control: control && ran != old,
                    note,
                });
            }
        }
    }
    Ok(trials)
}

/// What was seen of an attack.
struct AttackResult {
    through: bool,
    /// Whether the script ran at all. On an old kernel it must not.
    ran: bool,
    note: String,
}

/// The surroundings of an attack.
struct Person {
    directory: tempfile::TempDir,
    marvin: PathBuf,
    user: Option<u32>,
    victim: Child,
    variables: BTreeMap<&'static str, String>,
    shared: PathBuf,
}

impl Drop for Person {
    fn drop(&mut self) {
        self.victim.kill().and_then(|()| self.victim.wait()).ok();
        let socket = self.directory.path().join("home/tmux.sock");
        Command::new("tmux").arg("-S").arg(socket).arg("kill-server").stderr(Stdio::null()).status().ok();
        for place in [&self.shared, &Path::new("/tmp").join(self.shared.file_name().unwrap_or_default())] {
            std::fs::remove_file(place).ok();
        }
    }
}

impl Person {
    fn new(arena: &Arena, user: Option<u32>) -> std::io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("attack-").tempdir()?;
        let top = directory.path().canonicalize()?;
        let [home, out] = ["home", "out"].map(|name| top.join(name));
        let state = home.join(".local/state/marvin/projects/p");
        for place in [&home, &out, &state, &top.join("bin")] {
            std::fs::create_dir_all(place)?;
        }
        let marvin = top.join("bin/marvin");
        std::fs::copy(&arena.marvin, &marvin)?;
        let cases = arena.every_case("sandbox").unwrap_or_default();
        for case in &cases {
            let named = text(case, "script").split_once("\"$H/").and_then(|(_, rest)| rest.split_once('"'));
            let Some(path) = named.map(|(file, _)| home.join(file)) else { continue };
            if path.extension().is_none_or(|ending| ending != "sock") && !path.is_dir() {
                path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                // A comment in every language of settings, so that Marvin's own stay readable.
                let usual = format!("# {SECRET}\n");
                let content = Some(text(case, "content")).filter(|content| !content.is_empty());
                std::fs::write(&path, content.unwrap_or(&usual))?;
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
        Ok(Person { directory, marvin, user, victim, variables, shared })
    }

    /// A new workspace with the script of a case.
    fn workspace(&self, case: &toml::Table) -> std::io::Result<PathBuf> {
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
        // What an earlier script may have taken away.
        let state = PathBuf::from(self.variables.get("STATE").cloned().unwrap_or_default());
        let temporary = Path::new("/tmp").join(self.shared.file_name().unwrap_or_default());
        std::fs::create_dir_all(&state)?;
        std::fs::write(state.join("ledger.jsonl"), SECRET)?;
        std::fs::write(&self.shared, format!("{SECRET:4096}"))?;
        std::fs::write(&temporary, SECRET)?;
        let exports: String =
            self.variables.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        std::fs::write(work.join("attack.sh"), format!("echo {RAN}\n{exports}{}", text(case, "script")))?;
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
    fn control(&self, case: &toml::Table) -> Result<bool, String> {
        if case.get("control").and_then(toml::Value::as_bool) == Some(false) {
            return Ok(true);
        }
        let failed = |error: std::io::Error| format!("{}: {error}", text(case, "id"));
        let work = self.workspace(case).map_err(failed)?;
        let before = steering(&work);
        let mut command = as_user(self.user, "bash");
        command.arg("attack.sh").current_dir(&work).env("HOME", self.directory.path().join("home"));
        command.envs(self.secrets());
        let output = command.stdin(Stdio::null()).output().map_err(failed)?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let (through, _) = self.is_through(case, &work, &printed, &before);
        Ok(through)
    }

    /// Whether the script gets through inside the sandbox, and what was seen.
    fn attack(&self, case: &toml::Table, setting: &str, old: bool) -> Result<AttackResult, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", text(case, "id"));
        let work = self.workspace(case).map_err(failed)?;
        let before = steering(&work);
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
        let output = command.stdin(Stdio::null()).output().map_err(failed)?;
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let (through, seen) = self.is_through(case, &work, &lines, &before);
        let complaint = String::from_utf8_lossy(&output.stderr);
        let ran = lines.lines().any(|line| line.trim() == RAN);
        Ok(AttackResult { through, ran, note: format!("{seen} {} {complaint}", lines.replace('\n', "⏎")) })
    }

    /// Variables with secrets, as a person's shell has them.
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

    fn is_through(
        &self,
        case: &toml::Table,
        work: &Path,
        printed: &str,
        before: &str,
    ) -> (bool, &'static str) {
        let id = text(case, "id");
        if id.starts_with("outlive") {
            std::thread::sleep(AFTERLIFE);
            return (work.join(id).exists(), "a process outlived the call;");
        }
        if case.get("steering").and_then(toml::Value::as_bool) == Some(true) {
            return (steering(work) != before, "a protected file stayed changed;");
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

/// Everything that steers git or Marvin in a workspace, as text. Marvin itself writes `.marvin/.gitignore`.
fn steering(work: &Path) -> String {
    let script = "for f in .git/config .git/commondir .git/info/attributes .git/objects/info/alternates; do cat $f 2>/dev/null; done; \
        find .git/hooks .marvin -type f ! -path .marvin/.gitignore | sort | tee /dev/stderr | xargs -r cat";
    let output = Command::new("sh").args(["-c", script]).current_dir(work).output();
    let both = |output: std::process::Output| [output.stdout, output.stderr].concat();
    output.map(|output| String::from_utf8_lossy(&both(output)).into_owned()).unwrap_or_default()
}

/// Answers everyone who connects.
fn answer(listener: UnixListener) {
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // A client that writes into a closed socket is killed before it can say that it was answered.
            let answered = stream.write_all(b"x");
            stream.set_read_timeout(Some(Duration::from_millis(200))).and(answered).ok();
            (&mut stream).take(256).read_to_end(&mut Vec::new()).ok();
        }
    });
}

/// A command as a user, or as this one.
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
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// Lets a command see a kernel without Landlock and without user namespaces.
#[expect(unsafe_code, reason = "pre_exec runs between fork and exec; the closure makes system calls only")]
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
    // SAFETY: the filter is owned by the closure, which makes system calls only.
    unsafe {
        command.pre_exec(move || {
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            let failed = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0;
            if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        });
    }
}
