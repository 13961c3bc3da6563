//! Children that behave and children that do not.

use super::*;

fn shell(script: &str) -> Child {
    Child::new("sh").args(["-c", script])
}

async fn outcome(child: Child) -> Outcome {
    run(child, &CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn output_input_and_code() {
    let mut child = shell("cat; echo oops >&2; exit 3");
    child.input = b"hello".to_vec();
    let outcome = outcome(child).await;
    assert_eq!(outcome.ending, Ending::Exited(3));
    assert_eq!(outcome.stdout.text(), "hello");
    assert_eq!(outcome.stderr.text(), "oops\n");
}

#[tokio::test]
async fn a_late_child_ends_with_its_whole_group() {
    let mut child = shell("sleep 300 & echo $!; trap '' TERM; sleep 300");
    child.deadline = Duration::from_millis(300);
    let outcome = outcome(child).await;
    assert_eq!(outcome.ending, Ending::Late);
    let grandchild = outcome.stdout.text().trim().to_string();
    let ended = eventually(|| {
        let state = std::fs::read_to_string(format!("/proc/{grandchild}/stat")).unwrap_or_default();
        state.is_empty() || state.contains(") Z")
    });
    assert!(ended.await, "the grandchild still runs");
}

/// Time within which a busy machine does what was asked of it; the children of these tests sleep for longer.
const PATIENT_TIMEOUT: Duration = Duration::from_secs(50);

/// Waits until the condition holds; false after [`PATIENT_TIMEOUT`].
async fn eventually(condition: impl Fn() -> bool) -> bool {
    let started = std::time::Instant::now();
    while started.elapsed() < PATIENT_TIMEOUT {
        if condition() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

/// Number of processes with this text in their command line.
fn count_processes(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

/// Waits until no process has this text in its command line any more.
async fn is_gone(mark: &str) -> bool {
    eventually(|| count_processes(mark) == 0).await
}

#[tokio::test]
async fn processes_outside_the_group_and_session_end_too() {
    let ways = [
        "setsid sh -c 'sleep 71.25; echo x' & echo done",
        "env -i setsid -f sh -c 'setsid -f sleep 71.25; sleep 71.25' >/dev/null 2>&1 </dev/null; echo done",
        "(trap '' TERM HUP INT; (sleep 71.25 >/dev/null 2>&1 &) &) ; echo done",
    ];
    for way in ways {
        let outcome = outcome(shell(way)).await;
        assert_eq!((outcome.ending, outcome.stdout.text().trim()), (Ending::Exited(0), "done"), "{way}");
        assert!(outcome.elapsed < PATIENT_TIMEOUT, "{way}");
        assert!(is_gone("sleep\x0071.25").await, "{way}");
    }
    let mut late = shell("setsid sleep 72.25 & setsid -f sleep 72.25; sleep 72.25");
    late.deadline = Duration::from_millis(300);
    assert_eq!(outcome(late).await.ending, Ending::Late);
    assert!(is_gone("sleep\x0072.25").await);
    // A run that is given up.
    let given_up = outcome(shell("setsid -f sleep 73.25; sleep 73.25"));
    tokio::time::timeout(Duration::from_millis(300), given_up).await.unwrap_err();
    assert!(is_gone("sleep\x0073.25").await);
}

#[tokio::test]
async fn runs_at_the_same_time_do_not_touch_each_other() {
    let slow = outcome(shell("(setsid sh -c 'sleep 1; echo late' &) ; sleep 1.5; echo end"));
    let quick = async {
        for _ in 0..5 {
            outcome(shell("setsid -f sleep 74.25; echo a")).await;
        }
    };
    let (slow, ()) = tokio::join!(slow, quick);
    assert_eq!(slow.stdout.text(), "late\nend\n");
}

#[tokio::test]
async fn a_killed_shell_takes_everything_along() {
    const INNER: &str = "MARVIN_TEST_KILLED_SHELL";
    if std::env::var_os(INNER).is_some() {
        outcome(shell("setsid -f sleep 75.25; sleep 75.25")).await;
        return;
    }
    let mut inner = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::tests::a_killed_shell_takes_everything_along"])
        .env(INNER, "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(eventually(|| count_processes("sleep\x0075.25") == 2).await);
    inner.kill().unwrap();
    inner.wait().unwrap();
    assert!(is_gone("sleep\x0075.25").await);
}

#[tokio::test]
async fn a_signal_is_reported() {
    assert_eq!(outcome(shell("kill -9 $$")).await.ending, Ending::Signalled(9));
    assert_eq!(outcome(shell("kill -TERM $$")).await.ending, Ending::Signalled(15));
    assert_eq!(outcome(shell("exit 255")).await.ending, Ending::Exited(255));
}

#[tokio::test]
async fn a_background_grandchild_does_not_hold_us() {
    let outcome = outcome(shell("sleep 300 & echo started")).await;
    assert_eq!(outcome.ending, Ending::Exited(0));
    assert_eq!(outcome.stdout.text(), "started\n");
    assert!(outcome.elapsed < PATIENT_TIMEOUT);
}

#[tokio::test]
async fn output_is_bounded_and_says_so() {
    let mut child = shell("head -c 3000000 /dev/zero | tr '\\0' x; echo end");
    child.keep = 3000;
    let outcome = outcome(child).await;
    let text = outcome.stdout.text();
    assert!(text.len() < 3200, "{}", text.len());
    assert!(text.contains("bytes cut here") && text.ends_with("end\n"));
}

#[tokio::test]
async fn cancelling_ends_it_and_git_variables_are_gone() {
    let mut child = shell("echo ${GIT_DIR-none} $A; sleep 300");
    child.set.insert("A".into(), "b".into());
    child.set.insert("PATH".into(), std::env::var("PATH").unwrap());
    let cancel = CancellationToken::new();
    let later = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        later.cancel();
    });
    let outcome = run(child, &cancel).await.unwrap();
    assert_eq!(outcome.ending, Ending::Cancelled);
    assert_eq!(outcome.stdout.text(), "none b\n");
}

#[tokio::test]
async fn a_child_is_prepared_or_not_started() {
    let mut child = shell("echo $A");
    child.prepare = Some(Arc::new(|command| {
        command.env("A", "prepared");
        Ok(())
    }));
    assert_eq!(outcome(child.clone()).await.stdout.text(), "prepared\n");
    child.prepare = Some(Arc::new(|_| Err(std::io::Error::other("no sandbox"))));
    let error = run(child, &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("no sandbox"), "{error}");
}

/// A descriptor of a directory that children would inherit, as the program that started this process could have left one.
pub(super) fn inheritable_descriptor() -> std::os::fd::OwnedFd {
    let directory = std::fs::File::open("/").unwrap();
    let descriptor = rustix::io::fcntl_dupfd_cloexec(&directory, 200).unwrap();
    rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::empty()).unwrap();
    descriptor
}

#[tokio::test]
async fn inherited_descriptors_end_with_marvin() {
    use std::os::fd::AsRawFd;
    let directory = inheritable_descriptor();
    let number = directory.as_raw_fd();
    let look = format!("test -e /dev/fd/{number} && echo open || echo closed");
    let plain = std::process::Command::new("sh").args(["-c", &look]).output().unwrap();
    assert_eq!(plain.stdout, b"open\n", "a program that is started otherwise inherits it");
    let mut children = vec![shell(&look)];
    if cfg!(target_os = "linux") {
        // Each of these opens descriptors of its own for the child.
        let limits = Limits { processes: Some(20), hard: true, ..Limits::default() };
        children.push(Child { limits, own_session: true, ..shell(&look) });
    }
    for child in children {
        assert_eq!(run_blocking(&child).unwrap().stdout, b"closed\n");
        let (handle, (_, mut stdout, _)) = keep(&child).unwrap();
        let mut said = String::new();
        stdout.read_to_string(&mut said).await.unwrap();
        handle.end().await;
        assert_eq!(said, "closed\n");
        assert_eq!(outcome(child).await.stdout.text(), "closed\n");
    }
    // The pipe over which a failed start is reported stays open until then.
    assert!(
        matches!(run_blocking(&Child::new("no-such-program")), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
    );
    assert!(rustix::io::fcntl_getfd(&directory).unwrap().is_empty(), "this process itself is unchanged");
}

#[test]
fn descriptors_are_found_where_the_kernel_cannot_close_a_range() {
    use std::os::fd::AsRawFd;
    let directory = inheritable_descriptor();
    let mut found = Vec::new();
    common::each_descriptor(3, |handle| found.push(handle));
    assert!(found.contains(&directory.as_raw_fd()) && found.iter().all(|handle| *handle >= 3), "{found:?}");
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let error = run(Child::new("no-such-program"), &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("no-such-program"), "{error}");
}

/// A shell that doubles itself, each half in a session of its own where `leave` says so. Whatever goes wrong, it becomes no
/// more than some thousand processes, and ends by itself after a while: the machine has other things to do.
fn bomb(leave: bool) -> String {
    let fuse = "export FUSE=${FUSE:-$((EPOCHSECONDS + 60))} DEPTH=$((DEPTH + 1)); : 78.25";
    if leave {
        let more = "setsid bash -c \"$0\" \"$0\" & setsid bash -c \"$0\" \"$0\" & wait";
        format!("{fuse}; if (( DEPTH < 11 && EPOCHSECONDS < FUSE )); then {more}; else sleep 60; fi")
    } else {
        let more = "b $(($1 + 1)) | b $(($1 + 1)) &";
        format!(
            "{fuse}; b() {{ if (( $1 < 11 && EPOCHSECONDS < FUSE )); then {more} else sleep 60; fi; }}; b 0; sleep 60"
        )
    }
}

#[tokio::test]
async fn a_fork_bomb_is_ended_with_everything_it_became() {
    for (leave, most, hard) in
        [(false, 200, false), (true, 100, false), (false, 200, true), (true, 100, true)]
    {
        let script = bomb(leave);
        let mut child = Child::new("bash").args(["-c", &script, &script]);
        child.limits = Limits { processes: Some(most), hard, ..Limits::default() };
        child.deadline = PATIENT_TIMEOUT;
        let outcome = outcome(child).await;
        assert_eq!(outcome.ending, Ending::Crowded, "{leave} {outcome:?}");
        assert!(is_gone("78.25").await, "{leave}");
    }
}

#[tokio::test]
async fn ten_thousand_processes_are_too_many_and_a_few_are_not() {
    let many = "for i in $(seq 10000); do sleep 76.25 & done; wait";
    let mut child = shell(many);
    child.limits = Limits { processes: Some(512), ..Limits::default() };
    let ended = outcome(child).await;
    assert_eq!(ended.ending, Ending::Crowded);
    assert!(ended.elapsed < PATIENT_TIMEOUT, "{:?}", ended.elapsed);
    assert!(is_gone("sleep\x0076.25").await);
    let mut child = shell("for i in $(seq 40); do sleep 0.8 & done; wait; echo done");
    child.limits = Limits { processes: Some(60), ..Limits::default() };
    let outcome = outcome(child).await;
    assert_eq!((outcome.ending, outcome.stdout.text().as_str()), (Ending::Exited(0), "done\n"));
}

#[tokio::test]
async fn files_are_bounded_and_core_dumps_are_off() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = shell("ulimit -c; head -c 3000000 /dev/zero > big; wc -c < big");
    child.directory = Some(directory.path().to_path_buf());
    child.limits = Limits { file_bytes: Some(1_000_000), expendable: true, ..Limits::default() };
    let bounded = outcome(child).await;
    assert_eq!(bounded.stdout.text().split_whitespace().collect::<Vec<_>>(), ["0", "1000000"]);
    let mut child = shell("cat /proc/self/oom_score_adj");
    child.limits.expendable = true;
    assert_eq!(outcome(child).await.stdout.text().trim(), "700");
}

#[tokio::test]
async fn programs_that_ask_work_as_others_do() {
    // With a pause before each new process: a signal of one that ends could reach the shell in the moment of its question.
    let script = "for i in $(seq 300); do /bin/true; done; (setsid sh -c 'sleep 0.3; echo late' &); sleep 0.05; \
        (sleep 0.05; seq 3) | wc -l; sleep 0.1 & wait; exit 5";
    let mut child = shell(script);
    child.limits = Limits { processes: Some(20), hard: true, ..Limits::default() };
    let mut asked = outcome(child.clone()).await;
    // On a busy machine a signal can still come between question and answer (see `forks.rs`).
    for _ in 0..5 {
        if !asked.stderr.text().contains("fork") {
            break;
        }
        asked = outcome(child.clone()).await;
    }
    let output = asked.stdout.text();
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!((asked.ending, lines), (Ending::Exited(5), vec!["3", "late"]), "{}", asked.stderr.text());
    let mut late = shell("setsid -f sleep 79.25; sleep 79.25");
    late.limits = Limits { processes: Some(20), hard: true, ..Limits::default() };
    late.deadline = Duration::from_millis(400);
    let late = outcome(late).await;
    assert_eq!(late.ending, Ending::Late);
    assert!(late.elapsed < PATIENT_TIMEOUT, "{:?}", late.elapsed);
    assert!(is_gone("79.25").await);
}
