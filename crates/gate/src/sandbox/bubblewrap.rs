//! The box made by the program `bwrap`: a view of the file system of its own, in which secrets are not only closed but
//! gone, and in which what must not be changed inside the workspace is mounted read-only.
//!
//! Inside: everything read-only; the workspace, the temporary folder and the folders of the policy writable; `/tmp` private;
//! hidden places empty; `.git/config`, `.git/hooks`, the record and the tickets read-only where they exist; its own
//! processes, message queues and host name; a network of its own with nothing but loopback, unless granted; no capabilities;
//! the same seccomp filters. It ends with its keeper, and with it everything inside.
//!
//! Limits: guarded files that do not exist yet can be made. A program that is asked to end (`SIGTERM`) gets no time for it:
//! the box goes first. `/run` is hidden without a network, since the sockets of the system's services lie there.

use super::seccomp::{self, Sockets};
use super::{GUARDED, Policy, SandboxError, kept_capabilities};
use marvin_base::child::Child;
use rustix::fs::{MemfdFlags, SeekFrom};
use seccompiler::BpfProgram;
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What records say.
pub const BUBBLEWRAP: &str = "bubblewrap+seccomp";

/// Where the system keeps it. Not `PATH`: a workspace must not bring its own.
const FOLDERS: [&str; 4] = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];
/// How long the test may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where `bwrap` is, when it works here; tried once for each process.
///
/// # Errors
/// Why it does not, as a part of a sentence.
pub fn ready() -> Result<PathBuf, String> {
    static READY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    READY
        .get_or_init(|| {
            let program = find(&FOLDERS.map(Path::new))?;
            try_out(&program)?;
            Ok(program)
        })
        .clone()
}

/// The program, if it belongs to the system.
fn find(folders: &[&Path]) -> Result<PathBuf, String> {
    let found = folders.iter().map(|folder| folder.join("bwrap")).find(|path| path.exists());
    let Some(program) = found else {
        return Err("the program `bwrap` is not installed (package bubblewrap)".to_string());
    };
    let facts = std::fs::metadata(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    if facts.uid() != 0 || facts.mode() & 0o022 != 0 {
        return Err(format!("{} does not belong to the system alone", program.display()));
    }
    Ok(program)
}

/// Puts a child into the box, and says what that is called.
///
/// # Errors
/// When bubblewrap does not work here, or a folder of the policy is not there.
pub fn wrap(child: &mut Child, policy: &Policy) -> Result<&'static str, SandboxError> {
    let program = ready().map_err(SandboxError::Bubblewrap)?;
    policy.check()?;
    let (mut arguments, filters) = arguments(policy)?;
    if let Some(folder) = &child.folder {
        arguments.extend(["--chdir".into(), folder.into()]);
    }
    arguments.push("--".into());
    arguments.push(std::mem::replace(&mut child.program, program.clone().into()));
    arguments.append(&mut child.arguments);
    child.arguments = arguments;
    for name in ["TMPDIR", "TMP", "TEMP"] {
        child.set.insert(name.to_string(), policy.temporary.to_string_lossy().into_owned());
    }
    // Where it needs rights that it gains by being started, its processes cannot be asked about one by one.
    child.limits.hard = std::fs::metadata(&program).is_ok_and(|facts| facts.mode() & 0o6000 == 0);
    child.prepare = Some(Arc::new(move |command| {
        hand_over(command, Arc::clone(&filters));
        Ok(())
    }));
    Ok(BUBBLEWRAP)
}

/// The arguments of `bwrap` before the program, and the filters that they name by number.
fn arguments(policy: &Policy) -> Result<(Vec<OsString>, Arc<[OwnedFd; 3]>), SandboxError> {
    for folder in [&policy.workspace, &policy.temporary].into_iter().chain(&policy.writable) {
        if !folder.exists() {
            return Err(SandboxError::Rules(format!("{} is not there", folder.display())));
        }
    }
    let mut all: Vec<OsString> = Vec::new();
    let mut add = |words: &[&std::ffi::OsStr]| all.extend(words.iter().map(|word| (*word).to_os_string()));
    macro_rules! add {
        ($($word:expr),+) => { add(&[$(AsRef::<std::ffi::OsStr>::as_ref($word)),+]) };
    }
    add!("--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try");
    if !policy.network {
        add!("--unshare-net");
    }
    add!("--cap-drop", "ALL");
    if kept_capabilities(&policy.workspace) != 0 {
        add!("--cap-add", "CAP_DAC_OVERRIDE");
    }
    add!("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp");
    if !policy.network && Path::new("/run").is_dir() {
        add!("--tmpfs", "/run");
        // Where a system keeps its programs below it.
        add!("--ro-bind-try", "/run/current-system", "/run/current-system");
    }
    let hidden = hidden(policy);
    let inside = |place: &Path| place.starts_with(&policy.workspace) && place != policy.workspace;
    for place in hidden.iter().filter(|place| !inside(place)) {
        for word in mask(place) {
            add!(&word);
        }
    }
    let bind = if policy.readonly { "--ro-bind" } else { "--bind" };
    add!(bind, &policy.workspace, &policy.workspace);
    for place in [&policy.temporary].into_iter().chain(&policy.writable) {
        add!("--bind", place, place);
    }
    for place in hidden.iter().filter(|place| inside(place)) {
        for word in mask(place) {
            add!(&word);
        }
    }
    if !policy.readonly {
        // A mount of its own, so that the folder cannot be moved away and made anew.
        let git = policy.workspace.join(".git");
        if is_plain(&git) && git.is_dir() {
            add!("--bind", &git, &git);
        }
        for place in GUARDED.iter().map(|place| policy.workspace.join(place)).filter(|place| is_plain(place))
        {
            add!("--ro-bind", &place, &place);
        }
    }
    // Without a network its sockets reach nothing but its own loopback, which tests of servers need.
    let [first, second, third] = seccomp::filters(Sockets::Internet)?;
    let filters = [file_of(&first)?, file_of(&second)?, file_of(&third)?];
    for filter in &filters {
        add!("--add-seccomp-fd", &filter.as_raw_fd().to_string());
    }
    Ok((all, Arc::new(filters)))
}

/// Is it there, and no link?
fn is_plain(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|facts| !facts.is_symlink())
}

/// The hidden places as they really are; what is not there needs no hiding, and what is inside another hidden place is
/// hidden with it.
fn hidden(policy: &Policy) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> =
        policy.hidden.iter().filter_map(|place| place.canonicalize().ok()).collect();
    places.sort();
    places.dedup();
    let all = places.clone();
    places.retain(|place| !all.iter().any(|other| other != place && place.starts_with(other)));
    places
}

/// The arguments that make a place empty.
fn mask(place: &Path) -> Vec<OsString> {
    if place.is_dir() {
        vec!["--tmpfs".into(), place.into(), "--remount-ro".into(), place.into()]
    } else {
        vec!["--ro-bind".into(), "/dev/null".into(), place.into()]
    }
}

/// A filter as `bwrap` reads it.
fn file_of(filter: &BpfProgram) -> Result<OwnedFd, SandboxError> {
    let mut bytes = Vec::with_capacity(filter.len() * 8);
    for step in filter {
        bytes.extend(step.code.to_ne_bytes());
        bytes.extend([step.jt, step.jf]);
        bytes.extend(step.k.to_ne_bytes());
    }
    let wrong =
        |error: std::io::Error| SandboxError::Rules(format!("a filter cannot be handed over: {error}"));
    let file =
        rustix::fs::memfd_create("filter", MemfdFlags::CLOEXEC).map_err(|error| wrong(error.into()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(&bytes).map_err(wrong)?;
    rustix::fs::seek(&file, SeekFrom::Start(0)).map_err(|error| wrong(error.into()))?;
    Ok(file.into())
}

/// Lets the filters stay open in the program that is started.
#[expect(
    unsafe_code,
    reason = "pre_exec runs between fork and exec; the closure makes system calls only and allocates nothing"
)]
fn hand_over(command: &mut Command, filters: Arc<[OwnedFd; 3]>) {
    // SAFETY: the closure owns what it uses, makes only async-signal-safe system calls, and allocates no memory.
    unsafe {
        command.pre_exec(move || {
            for filter in filters.iter() {
                if libc::fcntl(filter.as_raw_fd(), libc::F_SETFD, 0) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
}

/// Does the box hold what it promises on this machine? Tried with a real program in a folder of its own.
fn try_out(program: &Path) -> Result<(), String> {
    let said = |error: std::io::Error| format!("it could not be tried out: {error}");
    let made = tempfile::Builder::new().prefix("marvin-bwrap-").tempdir().map_err(said)?;
    let folder = made.path().canonicalize().map_err(said)?;
    let places = [folder.join("work"), folder.join("temporary"), folder.join("hidden")];
    for place in &places {
        std::fs::create_dir_all(place).map_err(said)?;
    }
    let [workspace, temporary, secret] = places;
    let outside = folder.join("outside");
    std::fs::write(secret.join("key"), "key").map_err(said)?;
    let mut policy = Policy::new(&workspace, &temporary);
    policy.hidden.push(secret.clone());
    let (arguments, filters) = arguments(&policy).map_err(|error| error.to_string())?;
    // A file beside the workspace may be written, since `/tmp` is private; it must not be there afterwards.
    let script = "echo a > a && { echo x > \"$1\"; test ! -w /usr && ! test -e \"$2\" && test $$ -lt 9 && echo holds; }";
    let mut command = Command::new(program);
    command.args(arguments).args(["--", "/bin/sh", "-c", script, "sh"]);
    command.arg(&outside).arg(secret.join("key")).current_dir(&workspace);
    hand_over(&mut command, filters);
    let (text, complaint) = finish(command).map_err(said)?;
    if text.trim() == "holds" && workspace.join("a").exists() && !outside.exists() {
        return Ok(());
    }
    let complaint = complaint.lines().next().unwrap_or("it does not keep what it promises");
    Err(format!("{} says: {complaint}", program.display()))
}

/// Runs a short program to its end, or ends it when it takes too long.
fn finish(mut command: Command) -> std::io::Result<(String, String)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        if started.elapsed() > PATIENCE {
            child.kill()?;
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(&output.stdout), text(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_systems_own_program_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let missing = find(&[folder.path()]).unwrap_err();
        assert!(missing.contains("not installed"), "{missing}");
        let planted = folder.path().join("bwrap");
        std::fs::write(&planted, "#!/bin/sh\n").unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o777)).unwrap();
        let foreign = find(&[folder.path()]).unwrap_err();
        assert!(foreign.contains("does not belong to the system"), "{foreign}");
    }

    #[test]
    fn a_program_that_does_not_contain_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let fake = folder.path().join("bwrap");
        // Runs the program after `--` without any box.
        std::fs::write(&fake, "#!/bin/bash\nwhile [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n")
            .unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = try_out(&fake).unwrap_err();
        assert!(error.contains("promises"), "{error}");
        assert!(try_out(Path::new("/no/bwrap")).unwrap_err().contains("could not be tried"));
    }
}
