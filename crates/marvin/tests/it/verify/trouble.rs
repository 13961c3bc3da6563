//! Broken documents, several processes, interrupts, secrets.

use super::*;

#[test]
fn broken_documents_are_named_with_file_and_line_and_the_others_are_verified() {
    let world = World::new();
    world.write("a.txt", "");
    add(&world, "file_exists:a.txt", &[]);
    let agents = world.state().join("agents");
    let cases: [(&[u8], &str); 7] = [
        (b"---\nid: x\ncommitments:\n  - {\"id\"", "x.md:4"),
        (b"---\nid: x\n", "x.md:2"),
        (b"---\nnonsense\n---\n", "x.md:2"),
        (b"---\ncommitments:\n  - {\"id\":\"c\",\"kind\":\"magic\",\"assertion\":\"x\"}\n---\n", "x.md:3"),
        (b"---\n\xff\xfe\x00\n---\n", "x.md:2"),
        (b"---\ncommitments:\n  - [[[[[[[[[[\n---\n", "x.md:3"),
        (b"---\ncommitments: 7\n---\n", "x.md:2"),
    ];
    for (bytes, place) in cases {
        fs::write(agents.join("x.md"), bytes).unwrap();
        let report = not_verified(&world);
        assert!(report["problems"][0].as_str().unwrap().contains(place), "{place}: {report:#}");
        assert_eq!(report["commitments"][0]["status"], "passed", "{report:#}");
        let ended = world.marvin(["verify"]).run().exits(3);
        assert!(ended.text().contains(place), "{}", ended.whole());
        assert!(world.marvin(["commitments", "list"]).run().exits(1).message().contains(place));
        assert_eq!(fs::read(agents.join("x.md")).unwrap(), bytes, "it is left as it is");
    }
    fs::write(agents.join("x.md"), vec![b'-'; 5 * 1024 * 1024]).unwrap();
    assert!(not_verified(&world)["problems"][0].as_str().unwrap().contains("larger"));
    let deep = format!("---\ncommitments:\n  - {}\n---\n", "[".repeat(200_000));
    fs::write(agents.join("x.md"), deep).unwrap();
    not_verified(&world);
    fs::remove_file(agents.join("x.md")).unwrap();
    symlink(world.root().join("elsewhere"), agents.join("x.md")).unwrap();
    assert!(not_verified(&world)["problems"][0].as_str().unwrap().contains("link"));
    fs::remove_file(agents.join("x.md")).unwrap();
    // Notes without frontmatter, hidden files and other file types are ignored.
    fs::write(agents.join("notes.md"), "hello\n").unwrap();
    fs::write(agents.join(".hidden.md"), "---\n").unwrap();
    fs::write(agents.join("x.txt"), "---\n").unwrap();
    verified(&world);
    fs::write(agents.join("commitments.jsonl"), "nonsense\n").unwrap();
    assert!(not_verified(&world)["problems"][0].as_str().unwrap().contains("hash chain"));
}

#[test]
fn the_commitments_directory_must_not_be_a_symlink() {
    let world = World::new();
    world.write("a.txt", "");
    add(&world, "file_exists:a.txt", &[]);
    let (agents, moved) = (world.state().join("agents"), world.root().join("moved"));
    fs::rename(&agents, &moved).unwrap();
    symlink(&moved, &agents).unwrap();
    let report = not_verified(&world);
    assert!(report["problems"][0].as_str().unwrap().contains("link"), "{report:#}");
    world.marvin(["commitments", "add", "file_exists:b.txt"]).run().exits(1);
    assert!(!fs::read_to_string(moved.join("project.md")).unwrap().contains("b.txt"));
}

#[test]
fn an_outcome_that_cannot_be_recorded_does_not_count() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    world.write("a.txt", "");
    add(&world, "shell:touch ran.txt && test -f a.txt", &[]);
    verified(&world);
    fs::remove_file(world.project().join("ran.txt")).unwrap();
    let agents = world.state().join("agents");
    let closed = |mode: u32| fs::set_permissions(&agents, fs::Permissions::from_mode(mode)).unwrap();
    if rustix::process::geteuid().is_root() {
        // Root ignores file modes: directories in the place of lock files make locking fail.
        for name in [".lock", ".verifying"] {
            fs::remove_file(agents.join(name)).unwrap();
            fs::create_dir(agents.join(name)).unwrap();
        }
    } else {
        closed(0o555);
    }
    stands(&world, "could_not_run", "cannot be written down");
    assert!(!world.project().join("ran.txt").exists(), "nothing is run in vain");
    closed(0o755);
}

// ---- concurrency and interrupts -------------------------------------------------------------------------------------

#[test]
fn concurrent_verifications_do_not_interfere() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    script(&world, "alone.sh", "mkdir busy || exit 1; sleep 0.4; rmdir busy; echo x >> count.txt");
    add(&world, "shell:./alone.sh", &[]);
    add(&world, "shell:./alone.sh && test -f count.txt", &[]);
    let running: Vec<_> = (0..3).map(|_| world.marvin(["verify", "--json"]).start()).collect();
    for one in running {
        assert_eq!(one.end().exits(0).json()["passed"], 2);
    }
    assert_eq!(world.read("count.txt").lines().count(), 6, "each ran all");
    let adding: Vec<_> =
        (0..6).map(|n| world.marvin(["commitments", "add", &format!("file_exists:f{n}")]).start()).collect();
    adding.into_iter().for_each(|one| drop(one.end().exits(0)));
    let listed = world.marvin(["commitments", "list", "--json"]).run().exits(0).json();
    assert_eq!(listed["commitments"].as_array().unwrap().len(), 8, "none is lost");
}

/// Whether no process has this word on its command line. A script sees only process ids of its own namespace.
fn is_gone(mark: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    !lines.into_iter().any(|line| line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()))
}

fn statuses(world: &World) -> Vec<Value> {
    let listed = world.marvin(["commitments", "list", "--json"]).run().exits(0).json();
    listed["commitments"].as_array().unwrap().iter().map(|one| one["status"].clone()).collect()
}

fn long(world: &World) -> (String, crate::support::RunningProgram) {
    world.write("a.txt", "");
    let name = world.root().file_name().unwrap().to_string_lossy().into_owned();
    let seconds = name.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let mark = format!("300.{}{seconds}", std::process::id());
    script(world, "long.sh", &format!("touch started; sleep {mark}"));
    add(world, "file_exists:a.txt", &[]);
    add(world, "shell:./long.sh", &[]);
    add(world, "file_exists:long.sh", &[]);
    let directory = world.root().join("tmp");
    fs::create_dir_all(&directory).unwrap();
    let running = world.marvin(["verify", "--json"]).env("TMPDIR", &directory).start();
    until("the script runs", || world.project().join("started").exists() && !is_gone(&mark));
    assert_eq!(statuses(world), ["passed", "verifying", "verifying"]);
    (mark, running)
}

#[test]
fn a_killed_verification_leaves_nothing_and_is_repeated() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    let (mark, running) = long(&world);
    running.signal(rustix::process::Signal::KILL);
    drop(running.end());
    until("the script is gone", || is_gone(&mark));
    assert_eq!(statuses(&world), ["passed", "verifying", "verifying"]);
    script(&world, "long.sh", "exit 0");
    fs::remove_file(world.project().join("a.txt")).unwrap();
    let report = not_verified(&world);
    let all: Vec<&Value> =
        report["commitments"].as_array().unwrap().iter().map(|one| &one["status"]).collect();
    assert_eq!(all, ["failed", "passed", "passed"]);
    assert!(files(&world).iter().all(|name| !name.starts_with(".marvin-")), "{:?}", files(&world));
}

fn files(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.state().join("agents")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn an_interrupt_exits_with_130_and_leaves_no_partial_state() {
    use rustix::process::Signal;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::new();
        if !commands_run(&world) {
            return;
        }
        let (mark, running) = long(&world);
        assert_eq!(rooms(&world), 1);
        running.signal(signal);
        let report = running.end().exits(130).json();
        assert_eq!((&report["verified"], &report["interrupted"]), (&json!(false), &json!(true)));
        until("the script is gone", || is_gone(&mark));
        assert_eq!(statuses(&world), ["passed", "pending", "pending"]);
        assert_eq!(rooms(&world), 0, "its temporary directory is gone");
    }
}

/// Temporary directories of commands.
fn rooms(world: &World) -> usize {
    let entries = fs::read_dir(world.root().join("tmp")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("marvin-")).count()
}

#[test]
fn secrets_do_not_reach_the_evidence() {
    let world = World::new();
    if !commands_run(&world) {
        return;
    }
    script(
        &world,
        "leak.sh",
        "echo \"token: sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789\"; printf '\\e[31mred\\e[0m\\a'; cat key.txt; exit 1",
    );
    world.write("key.txt", "correct-horse-battery-staple\n");
    add(&world, "shell:./leak.sh", &[]);
    let ended =
        world.marvin(["verify", "--json"]).env("MY_API_KEY", "correct-horse-battery-staple").run().exits(3);
    let report = ended.json();
    let evidence = report["commitments"][0]["evidence"].as_str().unwrap();
    assert!(evidence.contains("[REDACTED") && evidence.contains("red"), "{evidence}");

    for text in [ended.text().to_string(), world.read_state(DOCUMENT)] {
        assert!(
            !text.contains("sk-ant-api03-abc")
                && !text.contains("correct-horse")
                && !text.contains("\\u001b"),
            "{text}"
        );
    }
}

#[test]
fn another_directory_can_be_named_and_the_home_directory_is_refused() {
    let world = World::new();
    world.write("a.txt", "");
    add(&world, "file_exists:a.txt", &[]);
    let project = world.project().display().to_string();
    let elsewhere =
        |arguments: &[&str]| -> ProgramOutput { world.marvin(arguments).directory(world.root()).run() };
    assert_eq!(elsewhere(&["verify", "--json", "--working-dir", &project]).exits(0).json()["passed"], 1);
    assert!(elsewhere(&["verify"]).exits(0).text().contains("nothing to verify"));
    elsewhere(&["verify", "--working-dir", "nowhere"]).exits(2);
    let home = world.home().display().to_string();
    assert_ne!(elsewhere(&["commitments", "add", "file_exists:a", "--working-dir", &home]).code, Some(0));
    assert!(!Path::new(&home).join(".marvin").exists());
}
