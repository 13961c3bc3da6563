//! Real children in the real sandbox, on every level that this machine gives.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr
)]

use marvin_base::child::run_blocking;
use marvin_gate::JudgedCommand;
use marvin_gate::sandbox::{Level, Policy, SandboxError, SandboxMode, enter, support};
use std::path::Path;
use std::process::Output;

struct Sandbox {
    workspace: tempfile::TempDir,
    temporary: tempfile::TempDir,
    elsewhere: tempfile::TempDir,
    wanted: SandboxMode,
}

impl Sandbox {
    fn new(wanted: SandboxMode) -> Self {
        let directory = || tempfile::tempdir().unwrap();
        Sandbox { workspace: directory(), temporary: directory(), elsewhere: directory(), wanted }
    }

    /// One sandbox for each level that can be had here. Where none can, only the refusal is tested.
    fn all() -> Vec<Self> {
        let Some(level) = support().level else {
            let sandbox = Sandbox::new(SandboxMode::Auto);
            let refused = enter(&mut JudgedCommand::own("true", &[]), sandbox.policy(), SandboxMode::Auto);
            assert!(matches!(refused, Err(SandboxError::Unavailable { .. })));
            return Vec::new();
        };
        if level == Level::Landlock {
            eprintln!("SKIPPED: no namespaces here ({:?})", support().namespaces);
            return vec![Sandbox::new(SandboxMode::Landlock)];
        }
        vec![Sandbox::new(SandboxMode::Namespaces), Sandbox::new(SandboxMode::Landlock)]
    }

    fn is_namespaced(&self) -> bool {
        self.wanted == SandboxMode::Namespaces
    }

    fn policy(&self) -> Policy {
        Policy::new(self.workspace.path(), self.temporary.path())
    }

    fn run(&self, script: &str) -> Output {
        self.run_with(script, self.policy())
    }

    fn run_with(&self, script: &str, policy: Policy) -> Output {
        let mut child = JudgedCommand::own("bash", &["-c"]);
        child.arguments.push(script.into());
        child.directory = Some(self.workspace.path().to_path_buf());
        child.set.insert("ELSEWHERE".into(), self.elsewhere.path().display().to_string());
        child.limits.processes = Some(200);
        enter(&mut child, policy, self.wanted).unwrap();
        run_blocking(&child).unwrap()
    }

    #[track_caller]
    fn works(&self, script: &str) -> String {
        let output = self.run(script);
        let wanted = self.wanted;
        assert!(output.status.success(), "{wanted:?} {script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    fn fails(&self, script: &str) {
        let output = self.run(script);
        let wanted = self.wanted;
        assert!(!output.status.success(), "{wanted:?} {script}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

fn installed(program: &str) -> bool {
    std::env::var("PATH").unwrap().split(':').any(|directory| Path::new(directory).join(program).exists())
}

/// Where the system gives namespaces to this user, the sandbox has them: a fault in its own set-up must not pass for a refusal.
#[test]
fn namespaces_are_used_where_they_can_be_had() {
    let words =
        ["--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "true"];
    let can = std::process::Command::new("unshare").args(words).status().is_ok_and(|status| status.success());
    if can {
        assert_eq!(support().namespaces, None);
        assert_eq!(support().level, Some(Level::Namespaces));
    } else {
        eprintln!("SKIPPED: this system gives no namespaces to this user");
    }
}

#[test]
fn writes_stay_inside() {
    for sandbox in Sandbox::all() {
        sandbox.works(
            "echo hi > a && mkdir -p b && mv a b/a && cat b/a && echo x > $TMPDIR/y && echo z >/dev/null",
        );
        let keep = sandbox.elsewhere.path().join("keep");
        std::fs::write(&keep, "old").unwrap();
        for script in [
            "echo x > $ELSEWHERE/x",
            "echo x >> $ELSEWHERE/keep && cat $ELSEWHERE/keep | grep old",
            "truncate -cs 0 $ELSEWHERE/keep && test -e $ELSEWHERE/keep",
            "rm $ELSEWHERE/keep",
            "mv $ELSEWHERE/keep .",
            "mkdir $ELSEWHERE/directory",
            "ln $ELSEWHERE/keep here",
            "ln -s $ELSEWHERE out && echo x > out/x",
            "cd $ELSEWHERE && echo x > x",
            "echo x > /usr/marvin-should-not-exist",
            "echo x > \"$HOME/.marvin-should-not-exist\"",
            "echo x > /marvin-should-not-exist",
            "bash -c 'bash -c \"echo x > $ELSEWHERE/x\"'",
            "(setsid bash -c 'echo x > $ELSEWHERE/x')",
        ] {
            sandbox.fails(script);
        }
        assert_eq!(std::fs::read_to_string(keep).unwrap(), "old");
        assert_eq!(std::fs::read_dir(sandbox.elsewhere.path()).unwrap().count(), 1);
    }
}

#[test]
fn s11_temporary_files_and_shared_memory_are_private_and_do_not_last() {
    for sandbox in Sandbox::all() {
        let mark = format!("marvin-{}", std::process::id());
        sandbox.run(&format!("echo x > /tmp/{mark}; echo x > /dev/shm/{mark}; echo x > /var/tmp/{mark}"));
        for place in ["/tmp", "/dev/shm", "/var/tmp"] {
            assert!(!Path::new(place).join(&mark).exists(), "{place}");
        }
        sandbox.fails(&format!("cat /tmp/{mark} || cat /dev/shm/{mark}"));
        if installed("ipcmk") {
            let queues = || std::fs::read_to_string("/proc/sysvipc/msg").unwrap();
            let before = queues();
            sandbox.run("ipcmk -Q; ipcmk -S 1; ipcmk -M 4096");
            assert_eq!(queues(), before);
        }
    }
}

#[test]
fn a13_a_program_has_its_own_loopback_and_no_other_network() {
    for sandbox in Sandbox::all() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        sandbox.fails(&format!("echo x > /dev/tcp/127.0.0.1/{port}"));
        if !installed("python3") {
            continue;
        }
        let server = "import socket, threading\n\
            s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n\
            t = threading.Thread(target=lambda: s.accept()[0].sendall(b'hi')); t.start()\n\
            c = socket.create_connection(s.getsockname()); print(c.recv(2)); t.join()\n\
            u = socket.socket(socket.AF_UNIX); u.bind('own.sock'); u.listen()\n\
            v = socket.socket(socket.AF_UNIX); v.connect('own.sock')";
        let script = format!("python3 -c \"{server}\"");
        if sandbox.is_namespaced() {
            assert_eq!(sandbox.works(&script), "b'hi'\n");
            sandbox.fails("python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 1)\"");
        } else {
            sandbox.fails(&script);
            sandbox.fails("python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'");
        }
        sandbox.fails("python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'");
        sandbox.fails("python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'");
        sandbox.works("python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); b.recv(1)'");
        sandbox
            .works("python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'");
    }
}

#[test]
fn s1_sockets_of_the_person_cannot_be_reached() {
    if !installed("python3") {
        return;
    }
    for sandbox in Sandbox::all() {
        let place = sandbox.elsewhere.path().join("agent.sock");
        let listener = std::os::unix::net::UnixListener::bind(&place).unwrap();
        listener.set_nonblocking(true).unwrap();
        for kind in ["SOCK_STREAM", "SOCK_SEQPACKET", "SOCK_DGRAM"] {
            sandbox.fails(&format!(
                "python3 -c \"import socket; socket.socket(socket.AF_UNIX, socket.{kind}).connect('{}')\"",
                place.display()
            ));
        }
        // An abstract address, as buses and displays have it.
        let name = format!("marvin-test-{}", std::process::id());
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        let abstracted = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
        abstracted.set_nonblocking(true).unwrap();
        sandbox.fails(&format!(
            "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('\\\\0{name}')\""
        ));
        for listener in [listener, abstracted] {
            assert!(listener.accept().is_err(), "a process connected");
        }
    }
}

#[test]
fn s2_other_processes_are_out_of_reach() {
    for sandbox in Sandbox::all() {
        let this = std::process::id();
        let keeper = "$(awk '/^PPid/{print $2}' /proc/self/status)";
        for script in [
            format!("kill -0 {this}"),
            format!("prlimit --pid {this} --cpu=1000:1000"),
            format!("prlimit --pid {keeper} --cpu=1:1"),
            format!("cat /proc/{this}/environ"),
            format!("head -c1 /proc/{this}/mem"),
            format!("readlink /proc/{this}/fd/1"),
            format!("readlink /proc/{this}/exe"),
            format!("readlink /proc/{this}/root"),
            format!("taskset -p 1 {this}"),
            format!("renice -n 19 -p {this}"),
            format!("ionice -c3 -p {this}"),
            "unshare -Ur true".to_string(),
            "unshare -n true".to_string(),
            "unshare -m true".to_string(),
            "mount -t tmpfs none .".to_string(),
            "nsenter -t 1 -m true".to_string(),
            "chroot . true".to_string(),
            "keyctl show".to_string(),
        ] {
            sandbox.fails(&script);
        }
        sandbox.works("sleep 5 & kill $! && ulimit -n 64 && cat /proc/self/environ > /dev/null");
    }
    // Once more without privileges, where that can be arranged.
    as_unprivileged_user("s2_other_processes_are_out_of_reach");
    as_unprivileged_user("s1_sockets_of_the_person_cannot_be_reached");
    as_unprivileged_user("writes_stay_inside");
}

/// Runs a test of this file again as an ordinary user, when this is root.
fn as_unprivileged_user(test: &str) {
    if !rustix::process::geteuid().is_root() || !installed("setpriv") {
        return;
    }
    let run = |arguments: &[&std::ffi::OsStr]| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(arguments);
        command.env("HOME", "/nonexistent").output().unwrap()
    };
    let program = std::env::current_exe().unwrap();
    if run(&["test".as_ref(), "-x".as_ref(), program.as_os_str()]).status.success() {
        let output = run(&[program.as_os_str(), "--exact".as_ref(), test.as_ref()]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}

#[test]
fn s2_nothing_outlives_the_call() {
    for sandbox in Sandbox::all() {
        let mark = format!("{}.{}", 86400 + std::process::id(), u8::from(sandbox.is_namespaced()));
        let started = std::time::Instant::now();
        sandbox.run(&format!(
            "sleep {mark} & (setsid sleep {mark} &); nohup sleep {mark} >/dev/null 2>&1 & disown -a; \
             python3 -c 'import os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  os.execlp(\"sleep\", \"sleep\", \"{mark}\")\n' &
             exit 0"
        ));
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
        let alive =
            std::process::Command::new("pgrep").args(["-f", &format!("sleep {mark}")]).output().unwrap();
        assert!(alive.stdout.is_empty(), "{:?}: {}", sandbox.wanted, String::from_utf8_lossy(&alive.stdout));
    }
}

#[test]
fn a_program_sees_only_its_own_processes_and_no_terminal() {
    for sandbox in Sandbox::all().into_iter().filter(Sandbox::is_namespaced) {
        let seen = sandbox.works("ls /proc | grep -c '^[0-9]'");
        assert!(seen.trim().parse::<u32>().unwrap() < 8, "{seen}");
        sandbox.fails("echo x > /dev/tty");
        sandbox.fails("echo x > /proc/sys/kernel/hostname");
        sandbox.fails("echo x > /proc/sysrq-trigger");
        sandbox.works("test \"$(ls -A /home /mnt /srv /run | grep -cv :)\" -lt 5");
        sandbox.works("python3 -c 'import os, pty; pty.spawn([\"true\"])'");
        // The exit code and the signal are those of the program.
        assert_eq!(sandbox.run("exit 7").status.code(), Some(7));
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(sandbox.run("kill -SEGV $$").status.signal(), Some(11));
    }
}

#[test]
fn s1_no_file_gets_the_identity_of_its_owner() {
    for sandbox in Sandbox::all() {
        let python = |call: &str| {
            format!("python3 -c 'import os,ctypes; libc=ctypes.CDLL(None,use_errno=True); {call}'")
        };
        sandbox.works("cp /bin/true tool && chmod 755 tool && ./tool && mkdir d && chmod 1777 d && install -m 644 tool other");
        for mode in ["4755", "2755", "6755", "u+s", "g+s"] {
            sandbox.fails(&format!("chmod {mode} tool"));
        }
        for flags in ["os.O_CREAT|os.O_WRONLY", "os.O_TMPFILE|os.O_WRONLY"] {
            sandbox.fails(&python(&format!(
                "os.open(\"made\" if {flags}&os.O_CREAT else \".\", {flags}, 0o4755)"
            )));
        }
        // `fchmodat2` and `openat2`.
        sandbox.fails(&python("assert libc.syscall(452, -100, b\"tool\", 0o4755, 0) == 0"));
        sandbox.fails(&python("assert libc.syscall(437, -100, b\"tool\", (ctypes.c_uint64 * 3)(), 24) >= 0"));
        sandbox.fails("find . -perm /6000 | grep .");
    }
}

#[test]
fn s1_devices_are_written_and_keep_their_modes() {
    use std::os::unix::fs::MetadataExt;
    let facts = || std::fs::metadata("/dev/full").map(|facts| (facts.mode(), facts.mtime())).unwrap();
    let before = facts();
    for sandbox in Sandbox::all().into_iter().filter(Sandbox::is_namespaced) {
        sandbox.works("echo x > /dev/null && head -c 9 /dev/urandom > /dev/zero");
        sandbox.fails(&format!("chmod {:o} /dev/full", before.0 & 0o7777));
        sandbox.fails("touch -d 2001-01-01 /dev/full");
    }
    assert_eq!(facts(), before);
}

#[test]
fn git_works_inside() {
    if !installed("git") {
        return;
    }
    for sandbox in Sandbox::all() {
        let log = sandbox.works(
            "export HOME=$TMPDIR && git init -q . && echo a > a && git add a && \
             git -c user.name=a -c user.email=a@b commit -qm first && git log --oneline && git status --short",
        );
        assert!(log.contains("first"), "{log}");
    }
}

#[test]
fn a_program_that_only_reads_sees_the_names_beside_a_closed_file() {
    for sandbox in Sandbox::all() {
        let root = sandbox.workspace.path();
        std::fs::create_dir(root.join("deep")).unwrap();
        for (path, text) in [(".env", "KEY=s3cret"), ("deep/.env", "KEY=s3cret"), ("deep/new", "x")] {
            std::fs::write(root.join(path), text).unwrap();
        }
        let mut policy = sandbox.policy();
        policy.readonly = true;
        policy.closed = [".env", "deep/.env"].map(|path| root.join(path)).into();
        let listed = sandbox.run_with("ls -A . deep && cat deep/new", policy.clone());
        let text = String::from_utf8_lossy(&listed.stdout);
        assert_eq!(text, ".:\n.env\ndeep\n\ndeep:\n.env\nnew\nx", "{:?}", sandbox.wanted);
        for script in ["cat .env", "cat deep/.env", "touch deep/y"] {
            let output = sandbox.run_with(script, policy.clone());
            assert!(!output.status.success() && output.stdout.is_empty(), "{:?} {script}", sandbox.wanted);
        }
    }
}

#[test]
fn protected_places_cannot_be_written_and_closed_ones_not_opened() {
    for sandbox in Sandbox::all().into_iter().filter(Sandbox::is_namespaced) {
        let root = sandbox.workspace.path();
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/config"), "[core]\n").unwrap();
        std::fs::write(root.join(".env"), "KEY=s3cret\n").unwrap();
        let mut policy = sandbox.policy();
        policy.protected = [".git/config", ".git/hooks"].map(|place| root.join(place)).into();
        policy.closed = vec![root.join(".env")];
        for script in [
            "echo x >> .git/config",
            "rm .git/config",
            "mv .git/config x",
            "mv .git old",
            "echo x > .git/hooks/pre-commit",
            "rm -rf .git/hooks",
            "ln -f /usr/bin/true .git/hooks/post-commit",
            "cat .env",
            "cp .env x",
            "mv .env x && cat x",
            "ln .env y && cat y",
            "chmod 644 .env && cat .env",
        ] {
            let output = sandbox.run_with(script, policy.clone());
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(!output.status.success() && !text.contains("s3cret"), "{script}: {text}");
        }
        let output = sandbox.run_with("echo x > .git/index && cat .git/config && ls .git/hooks", policy);
        assert!(output.status.success());
        assert_eq!(std::fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n");
    }
}

#[test]
fn a_missing_directory_is_an_error_before_anything_runs() {
    for sandbox in Sandbox::all() {
        let policy = Policy::new("/no/such/directory", sandbox.temporary.path());
        let error = enter(&mut JudgedCommand::own("true", &[]), policy, sandbox.wanted).unwrap_err();
        assert!(error.to_string().contains("/no/such/directory"), "{error}");
    }
}

#[test]
fn s11_the_home_directory_shows_toolchains_and_nothing_else() {
    for sandbox in Sandbox::all() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let workspace = home.join("work");
        for directory in
            ["work", ".ssh", ".cargo/bin", ".config/gh", ".config/git", "real-aws", "other", ".rustup"]
        {
            std::fs::create_dir_all(home.join(directory)).unwrap();
        }
        for file in [".ssh/id_rsa", ".cargo/credentials.toml", ".config/gh/hosts.yml", ".config/unknown-tool"]
        {
            std::fs::write(home.join(file), "s3cret").unwrap();
        }
        for file in [".bash_history", "real-aws/credentials", "other/a.txt"] {
            std::fs::write(home.join(file), "s3cret").unwrap();
        }
        for file in
            [".gitconfig", ".cargo/config.toml", ".cargo/bin/tool", ".rustup/settings.toml", "work/a.txt"]
        {
            std::fs::write(home.join(file), "plain").unwrap();
        }
        std::os::unix::fs::symlink(home.join("real-aws"), home.join(".aws")).unwrap();
        std::os::unix::fs::symlink(home.join(".ssh"), workspace.join("link")).unwrap();
        std::os::unix::fs::symlink(home.join(".ssh"), home.join("keys")).unwrap();
        let mut policy = Policy::new(&workspace, sandbox.temporary.path());
        policy.home = Some(home.clone());
        policy.hidden = marvin_gate::secrets::places(&home);
        let run = |script: &str| {
            let mut child = JudgedCommand::own("bash", &["-c"]);
            child.arguments.push(script.into());
            child.directory = Some(workspace.clone());
            child.set.insert("H".into(), home.display().to_string());
            enter(&mut child, policy.clone(), sandbox.wanted).unwrap();
            run_blocking(&child).unwrap()
        };
        for script in [
            "cat $H/.ssh/id_rsa",
            "cat link/id_rsa",
            "cat $H/keys/id_rsa",
            "ls $H/.ssh",
            "cat $H/.cargo/credentials.toml",
            "cat $H/.config/gh/hosts.yml",
            "cat $H/.config/unknown-tool",
            "cat $H/.bash_history",
            "cat $H/.aws/credentials",
            "cat $H/real-aws/credentials",
            "cat $H/other/a.txt",
            "cat /etc/shadow",
            "grep -r s3cret $H",
            "cp $H/.ssh/id_rsa stolen",
            "ln $H/.ssh/id_rsa stolen && cat stolen",
            "mv $H/.ssh stolen",
            "cat /proc/1/root$H/.ssh/id_rsa",
        ] {
            let output = run(script);
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                !output.status.success() && !text.contains("s3cret"),
                "{:?} {script}: {text}",
                sandbox.wanted
            );
        }
        for script in [
            "cat a.txt $H/.gitconfig $H/.cargo/config.toml $H/.cargo/bin/tool $H/.rustup/settings.toml",
            "echo x > b.txt && ls .",
            "cat /etc/passwd >/dev/null && ls /usr/bin >/dev/null && /bin/sh -c true",
            "cd src 2>/dev/null; pwd -P",
        ] {
            let output = run(script);
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{:?} {script}: {text}", sandbox.wanted);
        }
    }
}

#[test]
fn the_link_to_the_records_leads_to_an_empty_directory() {
    for sandbox in Sandbox::all().into_iter().filter(Sandbox::is_namespaced) {
        let records = sandbox.elsewhere.path().join("runs");
        std::fs::create_dir_all(records.join("run_1")).unwrap();
        std::fs::create_dir(sandbox.workspace.path().join(".marvin")).unwrap();
        std::os::unix::fs::symlink(&records, sandbox.workspace.path().join(".marvin/runs")).unwrap();
        assert_eq!(sandbox.works("ls -A .marvin/runs/ && find . -follow -name run_1"), "");
        sandbox.fails("touch .marvin/runs/x");
        sandbox.fails("ls $ELSEWHERE/runs/run_1");
    }
}

#[test]
fn a_toolchain_behind_a_link_is_found_by_its_name() {
    use std::os::unix::fs::PermissionsExt;
    for sandbox in Sandbox::all() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let tool = top.join("real/bin/hello");
        std::fs::create_dir_all(top.join("real/lib")).unwrap();
        std::fs::create_dir_all(tool.parent().unwrap()).unwrap();
        std::fs::write(&tool, "#!/bin/sh\necho hello\n").unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(top.join("real"), top.join("link")).unwrap();
        let mut child = JudgedCommand::own("bash", &["-c", "hello"]);
        child.directory = Some(sandbox.workspace.path().to_path_buf());
        child.set.insert("PATH".into(), format!("{}:/usr/bin:/bin", top.join("link/bin").display()));
        enter(&mut child, sandbox.policy(), sandbox.wanted).unwrap();
        let output = run_blocking(&child).unwrap();
        assert_eq!(output.stdout, b"hello\n", "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn root_has_no_privileges_inside() {
    for sandbox in Sandbox::all() {
        let sets = sandbox.works("grep ^Cap /proc/self/status");
        let is_root = rustix::process::geteuid().is_root();
        for line in sets.lines().filter(|line| !line.starts_with("CapBnd") || is_root) {
            assert!(line.ends_with("0000000000000000"), "{sets}");
        }
        sandbox.fails("mknod null c 1 3");
        sandbox.fails("mknod disk b 8 0");
        sandbox.works(
            "mkfifo pipe && echo x > own && chmod 600 own && cat own && chmod 755 own && touch -d 2001-01-01 own",
        );
        if installed("setfattr") {
            sandbox.fails("setfattr -n user.a -v b own");
        }
        if is_root {
            sandbox.fails("chown 65534 own");
            // A mounted project that belongs to another user can still be worked in.
            std::os::unix::fs::chown(sandbox.workspace.path(), Some(65534), Some(65534)).unwrap();
            sandbox.works("echo x > theirs && rm theirs");
            sandbox.fails("mknod null c 1 3");
        }
    }
}

#[test]
fn builds_work_with_the_toolchains_of_this_machine() {
    for sandbox in Sandbox::all() {
        let home = std::env::var("HOME").unwrap_or_else(|_| "/".into());
        let mut policy = sandbox.policy();
        policy.home = Some(home.clone().into());
        policy.hidden = marvin_gate::secrets::places(Path::new(&home));
        let project = sandbox.workspace.path();
        std::fs::create_dir_all(project.join("src")).unwrap();
        let manifest = "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
        std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
        std::fs::write(project.join("src/main.rs"), "fn main() { println!(\"built\"); }\n").unwrap();
        for (program, script) in [
            ("git", "git init -q . && git status --short"),
            ("python3", "python3 -c 'import json, sys, tempfile; tempfile.TemporaryFile(); print(sys.path)'"),
            ("node", "node -e 'console.log(require(\"os\").cpus().length)'"),
            ("cargo", "unset CARGO_TARGET_DIR; CARGO_NET_OFFLINE=true cargo run -q --offline"),
        ] {
            if !installed(program) {
                continue;
            }
            let output = sandbox.run_with(script, policy.clone());
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{:?} {script}: {text}", sandbox.wanted);
        }
    }
}

#[test]
fn one_port_can_be_listened_on_and_none_called() {
    if !installed("python3") || support().landlock < 4 {
        return;
    }
    let sandbox = Sandbox::new(SandboxMode::Auto);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().port();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let python = |line: &str| {
        let mut policy = sandbox.policy();
        policy.listen = Some(free);
        let script = format!("python3 -c 'import socket; s = socket.socket(); {line}'");
        sandbox.run_with(&script, policy).status.success()
    };
    assert!(python(&format!("s.bind((\"127.0.0.1\", {free})); s.listen()")));
    for line in [
        "s.bind((\"127.0.0.1\", 0)); s.listen()".to_string(),
        format!("s.bind((\"127.0.0.1\", {})); s.listen()", free.wrapping_add(1).max(1024)),
        format!("s.connect((\"127.0.0.1\", {taken}))"),
        format!("s.connect((\"127.0.0.1\", {free}))"),
        "socket.socket(socket.AF_UNIX)".to_string(),
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)".to_string(),
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)".to_string(),
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)".to_string(),
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)".to_string(),
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)".to_string(),
    ] {
        assert!(!python(&line), "{line}");
    }
}

#[test]
fn one_port_can_be_called_and_none_listened_on() {
    if !installed("python3") || support().landlock < 4 {
        return;
    }
    let sandbox = Sandbox::new(SandboxMode::Auto);
    let listeners = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let [open, closed] = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
    let python = |line: &str| {
        let mut policy = sandbox.policy();
        policy.connect = Some(open);
        let script = format!("python3 -c 'import socket; s = socket.socket(); {line}'");
        sandbox.run_with(&script, policy).status.success()
    };
    assert!(python(&format!("s.connect((\"127.0.0.1\", {open}))")));
    for line in [
        format!("s.connect((\"127.0.0.1\", {closed}))"),
        "s.bind((\"127.0.0.1\", 0)); s.listen()".to_string(),
        "socket.socket(socket.AF_UNIX)".to_string(),
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)".to_string(),
    ] {
        assert!(!python(&line), "{line}");
    }
    if support().level != Some(Level::Namespaces) || support().landlock < 6 {
        return;
    }
    // A browser has Unix sockets of its own, and still no other way out.
    let name = format!("marvin-test-{open}");
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name);
    let _abstract = std::os::unix::net::UnixListener::bind_addr(&address.unwrap()).unwrap();
    let browser = |line: &str| {
        let mut policy = sandbox.policy();
        (policy.connect, policy.unix_sockets) = (Some(open), true);
        let script = format!("python3 -c 'import socket; {line}'");
        sandbox.run_with(&script, policy).status.success()
    };
    let unix = "u = socket.socket(socket.AF_UNIX); ";
    assert!(browser(&format!(
        "{unix}u.bind(\"own.sock\"); u.listen(); socket.socket(socket.AF_UNIX).connect(\"own.sock\")"
    )));
    for line in [
        format!("{unix}u.connect(\"\\0{name}\")"),
        format!("socket.socket().connect((\"127.0.0.1\", {closed}))"),
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)".to_string(),
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)".to_string(),
    ] {
        assert!(!browser(&line), "{line}");
    }
}
