//! Programs that agents run: hostile ones, large ones, ones that need a network, and git in a dirty environment.

use crate::support::{Marvin, PROGRAM, ProgramOutput, World, commands_run, put, until};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Processes that are left over run longer than this.
const LEFTOVER_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of processes with this text in their command line or environment.
fn with_mark(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(mark)).count()
}

#[track_caller]
fn nothing_left(mark: &str) {
    let end = Instant::now() + LEFTOVER_TIMEOUT;
    while with_mark(mark) > 0 {
        assert!(Instant::now() < end, "{} processes are left", with_mark(mark));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until no process works in this directory. Other tests run scripts of the same name elsewhere.
#[track_caller]
fn nothing_runs_in(directory: &Path) {
    let end = Instant::now() + LEFTOVER_TIMEOUT;
    let count = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let directories = processes.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
        directories.filter(|own| own.starts_with(directory)).count()
    };
    while count() > 0 {
        assert!(Instant::now() < end, "{} processes are left in {}", count(), directory.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn call(world: &World, tool: &str, arguments: &Value) -> Marvin {
    world.marvin(["tools", "call", tool, "--json", "--args", &arguments.to_string()])
}

/// The result of a call, as JSON.
fn result(ended: &ProgramOutput) -> Value {
    serde_json::from_str(ended.text()).unwrap_or_else(|error| panic!("{error}\n{}", ended.whole()))
}

/// A target of the project's Makefile, which the gate allows: the sandbox limits what a build can do.
fn target(world: &World, script: &str) {
    world.write("script.sh", script);
    world.write("Makefile", "run:\n\t@bash script.sh\n");
}

fn make(world: &World, seconds: u64) -> Marvin {
    call(world, "run_command", &json!({"command": "make run", "timeout": seconds}))
}

fn note(text: &str) {
    eprintln!("SKIPPED: {text}");
}

/// If the sandbox fails, the bomb stops at a few thousand processes and ends by itself after a while, to spare
/// the machine.
const DOUBLING: &str = "F=$((EPOCHSECONDS + 10)); b() { if (( $1 < 12 && EPOCHSECONDS < F )); then b $(($1 + 1)) | b $(($1 + 1)) & \
    else sleep 9; fi; }; b 0; sleep ";
const IN_SESSIONS: &str = "export F=${F:-$((EPOCHSECONDS + 10))} DEPTH=$((DEPTH + 1)); if (( DEPTH < 12 && EPOCHSECONDS < F )); then \
    setsid bash script.sh & setsid bash script.sh & fi; sleep ";

#[test]
fn fork_bombs_are_ended_and_reported() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    for (name, script) in [
        ("doubling", format!("{DOUBLING} 91.25")),
        ("in sessions", format!("{IN_SESSIONS} 91.25")),
        ("ten thousand", "for i in $(seq 10000); do sleep 91.25 & done; wait".to_string()),
    ] {
        target(&world, &script);
        let started = Instant::now();
        let ended = make(&world, 20).run();
        let shown = result(&ended);
        assert!(started.elapsed() < Duration::from_secs(80), "{name}: {:?}", started.elapsed());
        assert_eq!(shown["ok"], false, "{name}: {shown}");
        let error = shown["error"].as_str().unwrap();
        assert!(
            error.contains("more than 512 processes") && error.contains("sandbox.processes"),
            "{name}: {error}"
        );
        nothing_left("91.25");
        nothing_runs_in(world.root());
    }
    // A lower limit in the user's settings, and a deadline before the limit.
    target(&world, "for i in $(seq 100); do sleep 91.25 & done; wait");
    let shown = result(&make(&world, 20).env("MARVIN_SANDBOX_PROCESSES", "50").run());
    assert!(shown["error"].as_str().unwrap().contains("more than 50 processes"), "{shown}");
    let started = Instant::now();
    let shown = result(&make(&world, 2).run());
    assert_eq!(shown["data"]["timed_out"], true, "{shown}");
    assert!(started.elapsed() < Duration::from_secs(45), "{:?}", started.elapsed());
    nothing_left("91.25");
}

#[test]
fn a_fork_bomb_of_an_unprivileged_user_is_ended() {
    let world = World::new();
    if !rustix::process::geteuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        return note("only root can run this as another user");
    }
    if !commands_run(&world) {
        return;
    }
    target(&world, &format!("id -u > who; {DOUBLING} 92.25"));
    let program = world.root().join("marvin");
    fs::copy(PROGRAM, &program).unwrap();
    let everybody = fs::Permissions::from_mode(0o777);
    for path in [world.root().to_path_buf(), world.project(), world.home(), world.root().join("tmp")] {
        fs::set_permissions(&path, everybody.clone()).unwrap();
    }
    let mut command = Command::new("/usr/bin/setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    command.args([
        "tools",
        "call",
        "run_command",
        "--json",
        "--args",
        r#"{"command": "make run", "timeout": 20}"#,
    ]);
    command.current_dir(world.project());
    world.bare(&mut command);
    let started = Instant::now();
    let output = command.output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(80), "{:?}", started.elapsed());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("more than 512 processes"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(world.read("who").trim(), "65534");
    nothing_left("92.25");
    nothing_runs_in(world.root());
}

/// Peak memory of a process in kilobytes, sampled while it ran.
fn peak(marvin: Marvin) -> (u64, ProgramOutput) {
    let running = marvin.start();
    let status = PathBuf::from(format!("/proc/{}/status", running.id()));
    let watcher = std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(text) = fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let Some(line) = line else { break };
            peak = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap().max(peak);
            std::thread::sleep(Duration::from_millis(1));
        }
        peak
    });
    let ended = running.end();
    (watcher.join().unwrap(), ended)
}

#[test]
fn much_output_is_not_held_in_memory() {
    let megabytes = marvin_testing::sized(100, 1_000);
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    target(&world, "echo hello");
    let (idle, ended) = peak(make(&world, 60));
    assert_eq!(result(&ended)["ok"], true, "{}", ended.whole());
    for script in [
        // Lines, one line without an end, and both streams.
        format!("yes 0123456789012345678901234567890123456789 | head -c {megabytes}MB"),
        format!("head -c {megabytes}MB /dev/zero"),
        format!("yes error | head -c {0}MB >&2; yes | head -c {0}MB", megabytes / 2),
    ] {
        target(&world, &script);
        let (busy, ended) = peak(make(&world, 80));
        let shown = result(&ended);
        assert_eq!(shown["data"]["exit_code"], 0, "{script}: {}", ended.whole());
        assert_eq!(shown["confidence"], "summarized");
        assert!(busy < idle + 12 * 1024, "{script}: {busy} kB, and {idle} kB for a few bytes");
        let kept = shown["artifact"]["path"].as_str().unwrap();
        let size = fs::metadata(world.project().join(kept)).unwrap().len();
        assert!(size > 100_000 && size < 4 * 1024 * 1024, "{script}: {size}");
        println!("{script}: {busy} kB, idle {idle} kB, {} ms, kept {size} bytes", shown["elapsed_ms"]);
    }
}

#[test]
fn endless_programs_end_at_their_deadline() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    for script in [
        "yes 93.25",
        "trap '' TERM INT HUP; sleep 93.25 & setsid sleep 93.25 & setsid -f sh -c 'trap \"\" TERM; sleep 93.25; sleep 93.25'; sleep infinity",
    ] {
        target(&world, script);
        let started = Instant::now();
        let shown = result(&make(&world, 2).run());
        assert!(started.elapsed() < Duration::from_secs(45), "{script}: {:?}", started.elapsed());
        assert_eq!((&shown["data"]["timed_out"], &shown["data"]["exit_code"]), (&json!(true), &Value::Null));
        nothing_left("93.25");
    }
}

#[test]
fn an_interrupt_ends_all_processes() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    target(&world, "setsid -f sleep 94.25; sleep 94.25 & (trap '' INT TERM; sleep 94.25)");
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM, rustix::process::Signal::KILL]
    {
        let running = make(&world, 60).start();
        until("the program runs", || with_mark("sleep 94.25") >= 3);
        let started = Instant::now();
        running.signal(signal);
        let ended = running.end();
        assert!(started.elapsed() < Duration::from_secs(45), "{signal:?}: {:?}", started.elapsed());
        let killed = signal == rustix::process::Signal::KILL;
        assert_eq!(ended.code, if killed { None } else { Some(130) }, "{signal:?}: {}", ended.whole());
        nothing_left("94.25");
    }
}

#[test]
fn output_of_every_kind_is_recorded() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    target(
        &world,
        r"printf 'a\0b\377\376c\xf0\x9f\n'; head -c 300000 /dev/zero | tr '\0' x; printf '\033[31mred\033[0m\r\n' >&2; exit 7",
    );
    let ended = make(&world, 20).run();
    let shown = result(&ended);
    // `make` exits with 2 when a recipe fails.
    assert_eq!((&shown["data"]["exit_code"], &shown["ok"]), (&json!(2), &json!(false)));
    assert!(!ended.stdout.contains(&0) && !ended.text().contains("\\u0000"));
    let kept = world.project().join(shown["artifact"]["path"].as_str().unwrap());
    let text = fs::read_to_string(kept).unwrap();
    assert!(text.contains("a\u{2400}b\u{fffd}\u{fffd}c") && text.len() > 300_000, "{}", text.len());
}

#[test]
fn s6_changes_to_protected_files_are_undone_and_reported() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    put(&world.project().join(".git/config"), "[core]\n");
    put(&world.project().join(".git/hooks/x"), "");
    for level in ["auto", "landlock"] {
        target(
            &world,
            "echo '[alias]' >> .git/config; echo x > .git/hooks/pre-commit; echo .. > .git/commondir; echo a > ordinary; true",
        );
        let shown = result(&make(&world, 20).env("MARVIN_SANDBOX", level).run());
        let tampered = shown["data"]["tampered"].to_string();
        assert!(tampered.contains(".git/commondir"), "{level} {shown}");
        assert_eq!(world.read("ordinary"), "a\n");
        assert_eq!(world.read(".git/config"), "[core]\n", "{level}");
        assert!(!world.project().join(".git/hooks/pre-commit").exists(), "{level}");
        assert!(!world.project().join(".git/commondir").exists(), "{level}");
    }
    target(&world, "echo b > ordinary; mkdir -p .git/objects");
    let shown = result(&make(&world, 20).run());
    assert!(shown["ok"] == true && shown["data"].get("tampered").is_none(), "{shown}");
}

#[test]
fn commands_run_in_namespaces_or_not_at_all() {
    let world = World::new();
    let doctor = world.marvin(["doctor", "--json"]).env("MARVIN_SANDBOX", "namespaces").run();
    let works = doctor.json()["checks"]
        .as_array()
        .unwrap()
        .iter()
        .any(|check| check["name"] == "sandbox" && check["state"] == "ok");
    if !works {
        target(&world, "touch ran");
        let shown = result(&make(&world, 20).env("MARVIN_SANDBOX", "namespaces").run());
        assert!(shown["error"].as_str().unwrap().contains("namespaces"), "{shown}");
        assert!(!world.project().join("ran").exists());
        return note("namespaces cannot be had here, which was refused; what they do was not tested");
    }
    put(&world.home().join(".ssh/id_rsa"), "s3cret");
    put(&world.project().join(".git/config"), "[core]\n");
    target(
        &world,
        "echo a > ordinary; echo x >> .git/config; echo x > .marvin/config.toml; cat $HOME/.ssh/id_rsa; ls /proc | grep -c '^[0-9]'; true",
    );
    let shown = result(&make(&world, 20).run());
    assert_eq!(
        (&shown["ok"], &shown["data"]["sandbox"]),
        (&json!(true), &json!("namespaces+landlock+seccomp")),
        "{shown}"
    );
    assert_eq!(world.read("ordinary"), "a\n");
    assert_eq!(world.read(".git/config"), "[core]\n");
    assert!(!world.project().join(".marvin/config.toml").exists());
    assert!(shown["data"].get("tampered").is_none() && !shown.to_string().contains("s3cret"), "{shown}");
    let runs = fs::read_dir(world.state().join("runs")).unwrap().flatten();
    let trace = runs.map(|entry| entry.path()).filter(|path| path.is_dir()).last().unwrap();
    assert!(fs::read_to_string(trace.join("trace.jsonl")).unwrap().contains("namespaces+landlock+seccomp"));
    // Sandboxes do not nest: inside one, the command is refused.
    let inner =
        format!("{PROGRAM} tools call run_command --args '{{\"command\": \"touch inner\"}}' --working-dir .");
    target(&world, &format!("MARVIN_SANDBOX=namespaces {inner}"));
    let shown = result(&make(&world, 30).run());
    assert_eq!(shown["ok"], false, "{shown}");
    assert!(!world.project().join("inner").exists());
}

/// A small file server on loopback; returns its port.
fn serve(directory: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let directory = directory.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(&stream);
                let mut first = String::new();
                reader.read_line(&mut first).ok();
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let path = first.split(' ').nth(1).unwrap_or("/").trim_start_matches('/').to_string();
                let path =
                    directory.join(path.split(['?', '#']).next().unwrap_or_default().replace("%2f", "/"));
                let path = if path.is_dir() { path.join("index.html") } else { path };
                let (status, body) = match fs::read(&path) {
                    Ok(body) => ("200 OK", body),
                    Err(_) => ("404 Not Found", Vec::new()),
                };
                let kind = if path.extension().is_some_and(|end| end == "html") {
                    "text/html"
                } else {
                    "application/json"
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(&body)).ok();
            });
        }
    });
    port
}

fn runs(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

#[test]
fn packages_are_installed_only_with_approval() {
    let world = World::new();
    world.write("pyproject.toml", "[project]\nname = \"a\"\nversion = \"0\"\n");
    let ask = json!({"packages": ["marvin-tiny"]});
    let ended = call(&world, "install_packages", &ask).run().exits(5);
    let shown = result(&ended);
    assert_eq!(shown["verdict"]["rule"], "install.ask", "{shown}");
    let shown =
        result(&call(&world, "install_packages", &ask).env("MARVIN_SANDBOX_INSTALL", "deny").run().exits(5));
    assert_eq!(shown["verdict"]["rule"], "install.denied", "{shown}");
    // The project cannot grant it to itself.
    put(&world.project().join(".marvin/config.toml"), "[sandbox]\ninstall = \"allow\"\n");
    assert!(call(&world, "install_packages", &ask).run().stderr.contains("sandbox.install"));
    fs::remove_file(world.project().join(".marvin/config.toml")).unwrap();
    for name in ["-r x", "--index-url=http://x", "./a", "git+https://x/y"] {
        let ended = call(&world, "install_packages", &json!({"packages": [name]}))
            .env("MARVIN_SANDBOX_INSTALL", "allow")
            .run();
        assert!(ended.whole().contains("not the name of a package"), "{}", ended.whole());
    }
    assert!(!world.project().join(".venv").exists());
}

#[test]
fn a_python_package_is_installed_from_a_real_index() {
    let world = World::new();
    if !commands_run(&world) || !runs("python3", &["-c", "import venv, ensurepip"]) {
        return note("no Python package was installed: python3 has no venv");
    }
    if runs("uv", &["--version"]) {
        return note("no Python package was installed with pip: uv is here and comes first");
    }
    let index = world.root().join("index");
    put(
        &index.join("simple/marvin-tiny/index.html"),
        "<a href=\"/marvin_tiny-1.0-py3-none-any.whl\">marvin_tiny-1.0-py3-none-any.whl</a>",
    );
    let wheel = "import zipfile, sys\nz = zipfile.ZipFile(sys.argv[1], 'w')\n\
        z.writestr('marvin_tiny.py', 'ANSWER = 42\\n')\n\
        z.writestr('marvin_tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: marvin-tiny\\nVersion: 1.0\\n')\n\
        z.writestr('marvin_tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
        z.writestr('marvin_tiny-1.0.dist-info/RECORD', '')\nz.close()\n";
    let built = index.join("marvin_tiny-1.0-py3-none-any.whl");
    assert!(Command::new("python3").args(["-c", wheel]).arg(&built).status().unwrap().success());
    let port = serve(index);
    world.write("pyproject.toml", "[project]\nname = \"a\"\nversion = \"0\"\n");
    let ended = call(&world, "install_packages", &json!({"packages": ["marvin-tiny==1.0"]}))
        .env("MARVIN_SANDBOX_INSTALL", "allow")
        .env("PIP_INDEX_URL", format!("http://127.0.0.1:{port}/simple/"))
        .env("PIP_RETRIES", "0")
        .run();
    let shown = result(&ended);
    assert_eq!((&shown["ok"], &shown["data"]["manager"]), (&json!(true), &json!("pip")), "{}", ended.whole());
    assert_eq!(
        (&shown["data"]["network"], &shown["data"]["sandbox"]),
        (&json!(true), &json!(marvin_gate::sandbox::chosen("auto")))
    );
    let python = world.project().join(".venv/bin/python3");
    let output =
        Command::new(python).args(["-c", "import marvin_tiny; print(marvin_tiny.ANSWER)"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "42");
    // A missing package fails, and other commands have no network again.
    let ended = call(&world, "install_packages", &json!({"packages": ["marvin-none"]}))
        .env("MARVIN_SANDBOX_INSTALL", "allow")
        .env("PIP_INDEX_URL", format!("http://127.0.0.1:{port}/simple/"))
        .env("PIP_RETRIES", "0")
        .run();
    assert_eq!(result(&ended)["ok"], false);
    target(&world, &format!("echo x > /dev/tcp/127.0.0.1/{port}"));
    assert_eq!(result(&make(&world, 20).run())["ok"], false);
}

#[test]
fn a_node_package_is_installed_without_its_scripts() {
    let world = World::new();
    if !commands_run(&world) || !runs("npm", &["--version"]) {
        return note("no npm package was installed: npm is not installed");
    }
    let source = world.root().join("source");
    let marker = world.project().join("script-ran");
    put(
        &source.join("package.json"),
        &json!({"name": "marvin-tiny", "version": "1.0.0", "scripts": {"postinstall": format!("touch {}", marker.display())}}).to_string(),
    );
    put(&source.join("index.js"), "module.exports = 42;\n");
    let index = world.root().join("registry");
    fs::create_dir_all(&index).unwrap();
    let mut pack = Command::new("npm");
    pack.args(["pack", "--ignore-scripts", "--json", "--pack-destination"]).arg(&index).current_dir(&source);
    world.bare(&mut pack);
    let packed = pack.output().unwrap();
    let facts: Value = serde_json::from_slice(&packed.stdout).unwrap();
    let port = serve(index.clone());
    let address = format!("http://127.0.0.1:{port}");
    let version = json!({
        "name": "marvin-tiny", "version": "1.0.0", "hasInstallScript": true,
        "scripts": {"postinstall": format!("touch {}", marker.display())},
        "dist": {"tarball": format!("{address}/marvin-tiny-1.0.0.tgz"), "integrity": facts[0]["integrity"], "shasum": facts[0]["shasum"]},
    });
    let about =
        json!({"name": "marvin-tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}});
    put(&index.join("marvin-tiny"), &about.to_string());
    world.write("package.json", "{\"name\": \"a\", \"version\": \"1.0.0\"}\n");
    let ended = call(&world, "install_packages", &json!({"packages": ["marvin-tiny"], "dev": true}))
        .env("MARVIN_SANDBOX_INSTALL", "allow")
        .env("npm_config_registry", &address)
        .run();
    let shown = result(&ended);
    assert_eq!((&shown["ok"], &shown["data"]["manager"]), (&json!(true), &json!("npm")), "{}", ended.whole());
    assert!(world.project().join("node_modules/marvin-tiny/index.js").exists());
    assert!(!marker.exists(), "an install script ran");
    let listed: Value = serde_json::from_str(&world.read("package.json")).unwrap();
    assert_eq!(listed["devDependencies"]["marvin-tiny"], "^1.0.0");
}

#[test]
fn git_ignores_repository_variables_of_the_environment() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let other = world.root().join("other");
    for directory in [&world.project(), &other] {
        fs::create_dir_all(directory).unwrap();
        assert!(
            Command::new("git")
                .args(["init", "-q", "-b", "main"])
                .current_dir(directory)
                .env_remove("GIT_DIR")
                .status()
                .unwrap()
                .success()
        );
    }
    world.write("a.txt", "a\n");
    put(&other.join("b.txt"), "b\n");
    let dirty = |marvin: Marvin| {
        let git = other.join(".git").display().to_string();
        marvin
            .env("GIT_DIR", &git)
            .env("GIT_WORK_TREE", &other)
            .env("GIT_INDEX_FILE", other.join(".git/index"))
            .env("GIT_COMMON_DIR", &git)
            .env("GIT_OBJECT_DIRECTORY", other.join(".git/objects"))
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "core.hooksPath")
            .env("GIT_CONFIG_VALUE_0", &other)
            .env("GIT_EXTERNAL_DIFF", "touch")
    };
    let ended = dirty(call(&world, "git_status", &json!({}))).run();
    assert_eq!(result(&ended)["data"]["untracked"], json!(["a.txt"]), "{}", ended.whole());
    let ended = dirty(call(&world, "git_commit", &json!({"message": "First"}))).run();
    let shown = result(&ended);
    assert_eq!(shown["ok"], true, "{}", ended.whole());
    assert!(
        shown["data"]["hash"].as_str().is_some_and(|hash| hash.len() == 12 && !hash.contains('[')),
        "{shown}"
    );
    let log = |directory: &Path| {
        let output = Command::new("git")
            .args(["log", "--format=%an <%ae> %s%n%b"])
            .current_dir(directory)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // Git has no configured author here, and run records are not committed.
    assert_eq!(log(&world.project()).trim(), "Marvin <marvin@localhost> First");
    assert!(!shown["data"]["files"].to_string().contains(".marvin/runs"), "{shown}");
    assert_eq!(log(&other), "");
    target(&world, "git rev-parse --show-toplevel");
    assert_eq!(result(&dirty(make(&world, 20)).run())["ok"], true);
}
