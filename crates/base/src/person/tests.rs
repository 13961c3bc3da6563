//! The judgement over given process tables: what a person's terminals look like, and what agents do to look the same.

use super::process::{Process, ProcessTable};
use super::{DecisionChannel, Person, Refusal, refuse_marks, terminal_name, test_terminal, testing};
use crate::environment::Environment;
use crate::exit::Exit;
use std::path::PathBuf;

/// A change to the rows of a window.
type Change = fn(&mut Vec<Process>);

fn at(rows: &mut [Process], pid: i32) -> &mut Process {
    rows.iter_mut().find(|row| row.pid == pid).unwrap()
}

fn program(process: &mut Process, path: &str, words: &[&str]) {
    process.exe = Some(PathBuf::from(path));
    process.name = path.rsplit('/').next().unwrap().chars().take(15).collect();
    process.arguments = words.iter().map(ToString::to_string).collect();
}

/// Inserts a process between two others.
fn between(rows: &mut Vec<Process>, child: i32, path: &str, words: &[&str]) {
    let below = at(rows, child).clone();
    let mut new =
        Process { pid: 35, group: 35, started: below.started, exe_id: Some((1, 35)), ..below.clone() };
    new.session = at(rows, below.parent).session;
    program(&mut new, path, words);
    at(rows, child).parent = 35;
    rows.push(new);
}

fn judge(rows: Vec<Process>, connected: &[(i32, i32)], via: DecisionChannel) -> Result<Person, Refusal> {
    let home = tempfile::tempdir().unwrap();
    let environment =
        Environment::from_iter([("HOME", home.path().display().to_string()), ("USER", "ann".into())]);
    // A command line of a test has no terminal of its own, so what needs `/dev/tty` is tried in the tests of the binary.
    Person::judge(&ProcessTable::of_rows(40, rows, connected), &environment, via, None)
}

fn changed(change: Change) -> Result<Person, Refusal> {
    let mut rows = testing::window();
    change(&mut rows);
    judge(rows, &[], DecisionChannel::Screen)
}

#[test]
fn a_person_in_a_window_decides() {
    let person = changed(|_| {}).unwrap();
    assert_eq!(person.name(), "ann");
    assert_eq!(person.decided_by().tty.as_deref(), Some("/dev/pts/3"));
    assert_eq!(person.decided_by().via, "screen");
}

#[test]
fn everyday_ways_to_a_terminal_are_accepted() {
    let ways: &[(&str, Change)] = &[
        ("a nested shell", |rows| between(rows, 40, "/usr/bin/zsh", &["zsh"])),
        ("make", |rows| between(rows, 40, "/usr/bin/make", &["make", "approve"])),
        ("sudo", |rows| between(rows, 40, "/usr/bin/sudo", &["sudo", "-i"])),
        ("sudo in a terminal of its own", |rows| {
            between(rows, 40, "/usr/bin/bash", &["-bash"]);
            at(rows, 35).session = 36;
            at(rows, 40).session = 36;
            let mut sudo = at(rows, 35).clone();
            (sudo.pid, sudo.parent) = (36, 30);
            program(&mut sudo, "/usr/bin/sudo", &["sudo", "-i"]);
            at(rows, 35).parent = 36;
            rows.push(sudo);
        }),
        ("a shell in a terminal of script", |rows| {
            between(rows, 40, "/usr/bin/bash", &["bash", "-i"]);
            (at(rows, 35).session, at(rows, 40).session) = (35, 35);
        }),
        ("script in the person's own shell", |rows| between(rows, 40, "/usr/bin/script", &["script"])),
        ("a login shell", |rows| at(rows, 30).arguments = vec!["-bash".into()]),
        ("fish", |rows| program(at(rows, 30), "/usr/bin/fish", &["/usr/bin/fish", "-l"])),
        ("xterm", |rows| program(at(rows, 20), "/usr/bin/xterm", &["xterm"])),
        ("the console", |rows| {
            program(at(rows, 20), "/usr/bin/login", &["login"]);
            at(rows, 20).users = [0; 4];
        }),
        ("the console, whose login leads the session", |rows| {
            program(at(rows, 20), "/usr/bin/login", &["login"]);
            at(rows, 20).users = [0; 4];
            at(rows, 20).terminal = 0x8803;
            for pid in [30, 40] {
                at(rows, pid).session = 20;
            }
        }),
        ("the console, seen by an ordinary user", |rows| {
            program(at(rows, 20), "/usr/bin/login", &["login"]);
            at(rows, 20).users = [0; 4];
            at(rows, 20).exe = None;
        }),
        ("ssh from another machine", |rows| {
            program(at(rows, 10), "/usr/lib/openssh/sshd-session", &["sshd-session: ann [priv]"]);
            at(rows, 10).users = [0; 4];
            at(rows, 10).exe = None;
            program(at(rows, 20), "/usr/lib/openssh/sshd-session", &["sshd-session: ann@pts/3"]);
            at(rows, 20).exe = None;
            at(rows, 30).ssh_connection = Some("192.0.2.7 50000 192.0.2.1 22".into());
        }),
    ];
    for (name, change) in ways {
        assert!(changed(*change).is_ok(), "{name}: {:?}", changed(*change).unwrap_err());
    }
}

/// Mount, PID and user namespace.
fn namespaces(mount: &str, user: &str) -> [String; 3] {
    [format!("mnt:[{mount}]"), "pid:[1]".into(), format!("user:[{user}]")]
}

#[test]
fn s10_agents_among_the_ancestors_are_refused() {
    let ways: &[(&str, Change)] = &[
        ("claude", |rows| between(rows, 40, "/usr/local/bin/claude", &["claude"])),
        ("claude above the terminal", |rows| program(at(rows, 10), "/usr/bin/claude", &["claude"])),
        ("node with codex", |rows| {
            between(rows, 40, "/usr/bin/node", &["node", "/usr/lib/node_modules/@openai/codex/bin/codex.js"]);
        }),
        ("a copied marvin", |rows| {
            between(rows, 40, "/tmp/x", &["x"]);
            let own = at(rows, 40).exe_id;
            at(rows, 35).exe_id = own;
        }),
        ("another build of marvin", |rows| between(rows, 40, "/opt/marvin/marvin", &["bash"])),
        ("bubblewrap", |rows| between(rows, 40, "/usr/bin/bwrap", &["bwrap"])),
        ("a mark at the start of an ancestor", |rows| at(rows, 30).marks = vec!["CLAUDECODE".into()]),
        ("a mark at its own start", |rows| at(rows, 40).marks = vec!["MARVIN_RUN".into()]),
        ("a PID namespace of its own", |rows| at(rows, 40).pid_namespaces = 2),
        ("a user namespace of its own, with the terminal in it", |rows| {
            for pid in [20, 30, 40] {
                at(rows, pid).namespaces = Some(namespaces("1", "4026532000"));
            }
        }),
        ("other namespaces than its shell", |rows| {
            at(rows, 30).namespaces = Some(namespaces("1", "4026531837"));
            at(rows, 40).namespaces = Some(namespaces("2", "4026531837"));
        }),
    ];
    for (name, change) in ways {
        let refusal = changed(*change).unwrap_err();
        assert!(matches!(refusal, Refusal::Agent(_)), "{name}: {refusal:?}");
        assert_eq!(refusal.exit(), Exit::Refused);
    }
}

#[test]
fn s10_what_lost_its_ancestry_is_refused() {
    let ways: &[(&str, Change)] = &[
        ("a double fork", |rows| at(rows, 40).parent = 1),
        ("a double fork that keeps the person's session and terminal", |rows| {
            at(rows, 40).parent = 1;
            at(rows, 40).foreground = 40;
        }),
        ("setsid", |rows| (at(rows, 40).terminal, at(rows, 40).session) = (0, 40)),
        ("a pty of a program below the first process", |rows| {
            program(at(rows, 20), "/usr/bin/python3.12", &["python3", "-c", "import pty"]);
            at(rows, 20).parent = 1;
        }),
        ("script below the first process", |rows| {
            program(at(rows, 20), "/usr/bin/script", &["script", "-c", "bash"]);
        }),
        ("a terminal program of one's own", |rows| {
            program(at(rows, 20), "/tmp/xterm", &["xterm"]);
            at(rows, 20).exe_is_system = false;
        }),
        ("a process that calls itself a login", |rows| {
            program(at(rows, 20), "/usr/bin/login", &["login"]);
            at(rows, 20).exe = None;
        }),
        ("a login that runs as an ordinary user", |rows| program(at(rows, 20), "/usr/bin/login", &["login"])),
        ("a shell with a command", |rows| {
            at(rows, 30).arguments = vec!["bash".into(), "-c".into(), "marvin".into()];
        }),
        ("a shell with a script", |rows| at(rows, 30).arguments = vec!["bash".into(), "/tmp/x.sh".into()]),
        ("a shell with a start file", |rows| {
            at(rows, 30).arguments = ["bash", "--rcfile", "/nonexistent"].map(str::to_string).to_vec();
        }),
        ("a script in a terminal below the person's", |rows| {
            between(rows, 40, "/usr/bin/dash", &["/bin/sh", "/tmp/decide"]);
            (at(rows, 35).session, at(rows, 40).session) = (35, 35);
        }),
        ("another program in the window", |rows| program(at(rows, 30), "/usr/bin/expect", &["expect", "x"])),
        ("ssh to this machine", |rows| {
            program(at(rows, 20), "/usr/sbin/sshd", &["sshd: ann [priv]"]);
            at(rows, 20).users = [0; 4];
            at(rows, 30).ssh_connection = Some("127.0.0.1 50000 127.0.0.1 22".into());
        }),
        ("ssh to this machine by its address", |rows| {
            program(at(rows, 20), "/usr/sbin/sshd", &["sshd: ann [priv]"]);
            at(rows, 20).users = [0; 4];
            at(rows, 30).ssh_connection = Some("192.0.2.1 50000 192.0.2.1 22".into());
        }),
        ("ssh without its variables", |rows| {
            program(at(rows, 20), "/usr/sbin/sshd", &["sshd: ann [priv]"]);
            at(rows, 20).users = [0; 4];
        }),
        ("a parent that is not there", |rows| rows.retain(|row| row.pid != 10)),
        ("a parent's number that was given again", |rows| at(rows, 20).started = 1000),
        ("a shell directly below systemd", |rows| at(rows, 30).parent = 10),
        ("a program between the window and the session", |rows| {
            (at(rows, 30).session, at(rows, 30).terminal) = (20, 0);
            at(rows, 40).session = 40;
        }),
    ];
    for (name, change) in ways {
        let refusal = changed(*change).unwrap_err();
        assert!(matches!(refusal, Refusal::Undecided(_)), "{name}: {refusal:?}");
        assert_eq!(refusal.exit(), Exit::Blocked);
    }
}

/// A window with a tmux client, and its server with a shell and Marvin.
fn multiplexer() -> Vec<Process> {
    let mut rows = testing::window();
    let shell = at(&mut rows, 30).clone();
    let mut client = Process { pid: 33, parent: 30, group: 33, started: 33, ..shell.clone() };
    program(&mut client, "/usr/bin/tmux", &["tmux", "attach"]);
    client.exe_id = Some((1, 100));
    let mut server = Process { pid: 34, parent: 1, group: 34, session: 34, terminal: 0, ..client.clone() };
    server.arguments = vec!["tmux: server".into()];
    let pane =
        Process { pid: 36, parent: 34, group: 36, session: 36, started: 36, terminal: 0x8804, ..shell };
    at(&mut rows, 40).parent = 36;
    at(&mut rows, 40).session = 36;
    at(&mut rows, 40).terminal = 0x8804;
    rows.extend([client, server, pane]);
    rows
}

#[test]
fn s10_a_multiplexer_needs_a_client_in_a_persons_terminal() {
    judge(multiplexer(), &[(33, 34)], DecisionChannel::Screen).unwrap();
    let refused = |rows, connected: &[(i32, i32)], name: &str| {
        let refusal = judge(rows, connected, DecisionChannel::Screen).unwrap_err();
        assert!(matches!(refusal, Refusal::Undecided(_)), "{name}: {refusal:?}");
    };
    refused(multiplexer(), &[], "no client is attached");
    let mut rows = multiplexer();
    at(&mut rows, 33).parent = 1;
    refused(rows, &[(33, 34)], "a client that lost its ancestry");
    let mut rows = multiplexer();
    program(at(&mut rows, 20), "/usr/local/bin/claude", &["claude"]);
    refused(rows, &[(33, 34)], "a client below an agent");
    let mut rows = multiplexer();
    at(&mut rows, 33).exe_id = Some((9, 9));
    refused(rows, &[(33, 34)], "a client that is another program");
    let mut rows = multiplexer();
    at(&mut rows, 34).exe_is_system = false;
    refused(rows, &[(33, 34)], "a server of one's own");
    let mut rows = multiplexer();
    at(&mut rows, 34).marks = vec!["CLAUDECODE".into()];
    let refusal = judge(rows, &[(33, 34)], DecisionChannel::Screen).unwrap_err();
    assert!(matches!(refusal, Refusal::Agent(_)), "{refusal:?}");
}

#[test]
fn a_command_needs_a_shell_and_the_foreground() {
    let mut rows = testing::window();
    at(&mut rows, 40).foreground = 30;
    let refusal = judge(rows, &[], DecisionChannel::Command).unwrap_err();
    assert!(refusal.to_string().contains("foreground"), "{refusal}");
    let mut rows = testing::window();
    rows.retain(|row| row.pid != 30);
    let this = at(&mut rows, 40);
    (this.parent, this.session) = (20, 40);
    let refusal = judge(rows.clone(), &[], DecisionChannel::Command).unwrap_err();
    assert!(refusal.to_string().contains("not from a shell"), "{refusal}");
    judge(rows, &[], DecisionChannel::Screen).unwrap();
}

/// A home with these settings.
fn home_with(text: &str) -> (tempfile::TempDir, Environment) {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join(".config/marvin");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), text).unwrap();
    let environment = Environment::from_iter([("HOME", home.path().display().to_string())]);
    (home, environment)
}

#[test]
fn settings_of_the_person_accept_more() {
    let without_terminal = |change: Change| {
        let mut rows = testing::window();
        let this = at(&mut rows, 40);
        (this.terminal, this.session) = (0, 30);
        change(&mut rows);
        ProcessTable::of_rows(40, rows, &[])
    };
    let (home, environment) = home_with("[person]\nunattended = \"nightly\"\n");
    let person =
        Person::judge(&without_terminal(|_| {}), &environment, DecisionChannel::Command, None).unwrap();
    assert_eq!((person.name(), person.decided_by().via.as_str()), ("nightly", "unattended"));
    person.record("gate trust", "/p").unwrap();
    assert_eq!(super::decisions::read(&home.path().join(".local/state/marvin")).unwrap().len(), 1);
    let agent = without_terminal(|rows| program(at(rows, 20), "/usr/bin/claude", &["claude"]));
    assert!(matches!(
        Person::judge(&agent, &environment, DecisionChannel::Command, Some("ann")),
        Err(Refusal::Agent(_))
    ));
    let lost = without_terminal(|rows| at(rows, 40).parent = 1);
    assert!(matches!(
        Person::judge(&lost, &environment, DecisionChannel::Command, None),
        Err(Refusal::Undecided(_))
    ));

    let (_home, environment) = home_with("[person]\nterminals = [\"mosh-server\", \"/opt/term/\"]\n");
    for path in ["/home/a/bin/mosh-server", "/opt/term/bin/x"] {
        let mut rows = testing::window();
        program(at(&mut rows, 20), path, &["x"]);
        at(&mut rows, 20).exe_is_system = false;
        let table = ProcessTable::of_rows(40, rows, &[]);
        Person::judge(&table, &environment, DecisionChannel::Screen, None).unwrap();
    }
    let table = ProcessTable::of_rows(40, testing::window(), &[]);
    assert_eq!(
        Person::judge(&table, &environment, DecisionChannel::Screen, Some(" ")).unwrap_err(),
        Refusal::Nameless
    );
}

#[test]
fn a_key_that_cannot_be_used_refuses() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    std::fs::write(&state, "not a directory").unwrap();
    let environment = Environment::from_iter([("MARVIN_STATE_DIR", state.display().to_string())]);
    let table = ProcessTable::of_rows(40, testing::window(), &[]);
    let refusal = Person::judge(&table, &environment, DecisionChannel::Screen, None).unwrap_err();
    assert!(refusal.to_string().contains("key"), "{refusal}");
}

#[test]
fn the_terminal_of_a_test_exists_in_debug_builds_only() {
    let environment = Environment::from_iter([("MARVIN_TEST_TERMINAL", "/x")]);
    assert_eq!(test_terminal(&environment).is_some(), cfg!(debug_assertions));
}

#[test]
fn marks_and_devices_are_read() {
    assert!(refuse_marks(&Environment::from_iter([("CLAUDECODE", "1")])).is_err());
    assert!(refuse_marks(&Environment::from_iter([("USER", "claude")])).is_ok());
    let name = |terminal| terminal_name(&Process { terminal, ..Process::default() });
    assert_eq!(name(0x8803).as_deref(), Some("/dev/pts/3"));
    assert_eq!(name(0x0402).as_deref(), Some("/dev/tty2"));
    assert_eq!(name(0x8900 + 5).as_deref(), Some("/dev/pts/261"));
    assert_eq!(name(0), None);
}
