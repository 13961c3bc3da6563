//! Runs a scene in its own network namespace: the test starts its own program again inside one.

use std::future::Future;
use std::process::Command;

/// Marks that the scene is already inside its namespace.
const INSIDE: &str = "MARVIN_TEST_NETNS";
/// The directory with the programs.
pub(crate) const CLIENTS: &str = "MARVIN_TEST_CLIENTS";
/// Brings the loopback up, then executes the test.
const ENTER: &str = r#"ip link set lo up && exec "$0" "$@""#;
/// Seconds after which a scene counts as hung.
const SCENE_TIMEOUT_SECONDS: &str = "600";

/// Plays a scene, unless the programs are missing. `name` is the full path of the test.
pub(crate) fn play<F: Future<Output = ()>>(name: &str, scene: impl FnOnce() -> F) {
    let Ok(clients) = std::env::var(CLIENTS) else {
        println!("skipped: run through `cargo xtask test`, which installs the programs");
        return;
    };
    // The test program knows the test's name without the crate in front.
    let name = name.split_once("::").unwrap().1;
    let played = format!("the scene was played: {name}");
    if std::env::var_os(INSIDE).is_some() {
        only_the_loopback();
        tokio::runtime::Runtime::new().unwrap().block_on(scene());
        println!("{played}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Not below the temporary directory: Codex does not work in a home there.
    let (home, temporary) = (directory.path().join("home"), directory.path().join("tmp"));
    std::fs::create_dir(&home).unwrap();
    std::fs::create_dir(&temporary).unwrap();
    let flags = if is_root() { "-n" } else { "-rn" };
    let output = Command::new("timeout")
        .args(["--kill-after=5", SCENE_TIMEOUT_SECONDS, "unshare", flags, "sh", "-c", ENTER])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("TMPDIR", temporary)
        .env("LANG", "C.UTF-8")
        .env(CLIENTS, clients)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains(&played), "{}\n{out}\n{err}", output.status);
}

/// Checks that this process can reach only its own loopback.
fn only_the_loopback() {
    let devices = std::fs::read_to_string("/proc/self/net/dev").unwrap();
    let names: Vec<&str> =
        devices.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    assert_eq!(names, ["lo"]);
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}
