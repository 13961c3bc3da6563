//! Scenes in a network namespace that has a loopback and nothing else.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// Says that the scene is played in this process, not in a namespace to be made.
const INSIDE: &str = "MARVIN_TEST_NETNS";
/// The variable with the directory of the programs.
pub(crate) const CLIENTS: &str = "MARVIN_TEST_CLIENTS";
/// Brings the loopback up and becomes the program.
const ENTER: &str = r#"ip link set lo up && exec "$0" "$@""#;
/// Seconds after which a scene counts as stuck.
const SCENE_TIMEOUT_SECONDS: u32 = 600;

/// A command in a network namespace of its own, with a bare environment.
#[must_use]
pub fn isolated(program: &OsStr, timeout_seconds: u32, home: &Path, temporary: &Path) -> Command {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", &timeout_seconds.to_string()])
        .args(["unshare", if is_root { "-n" } else { "-rn" }, "sh", "-c", ENTER])
        .arg(program)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("TMPDIR", temporary)
        .env("LANG", "C.UTF-8");
    command
}

/// Plays a scene, unless the programs are not there: the test starts its own program again inside a namespace. `name` is
/// the full path of the test.
pub fn play(name: &str, scene: impl FnOnce()) {
    let Ok(clients) = std::env::var(CLIENTS) else {
        crate::skip("run through `cargo xtask test`, which installs the programs");
        return;
    };
    // The test program knows the test's name without the crate in front.
    let name = name.split_once("::").unwrap().1;
    let played = format!("the scene was played: {name}");
    if std::env::var_os(INSIDE).is_some() {
        check_only_the_loopback();
        scene();
        println!("{played}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // Not below the temporary directory: Codex does not work in a home there.
    let (home, temporary) = (directory.path().join("home"), directory.path().join("tmp"));
    fs::create_dir(&home).unwrap();
    fs::create_dir(&temporary).unwrap();
    let test = std::env::current_exe().unwrap();
    let output = isolated(test.as_os_str(), SCENE_TIMEOUT_SECONDS, &home, &temporary)
        .args(["--exact", name, "--nocapture"])
        .env(CLIENTS, clients)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains(&played), "{}\n{out}\n{err}", output.status);
}

fn check_only_the_loopback() {
    let devices = fs::read_to_string("/proc/self/net/dev").unwrap();
    let names: Vec<&str> =
        devices.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim())).collect();
    assert_eq!(names, ["lo"]);
}
