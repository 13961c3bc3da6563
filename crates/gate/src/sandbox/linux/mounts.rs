//! The mounts of a sandbox: a plan made before the fork, carried out inside the namespaces by system calls alone.
//!
//! The new root is an empty tmpfs into which the [`View`](super::view::View) is bound, with private `/tmp`, `/dev`, `/dev/shm` and `/proc`.
//! Mounts are made by `open_tree`, `mount_setattr` and `move_mount`, which never follow a link at the end of a path, so a link that
//! appears between plan and mount leads nowhere else. The old root is gone when the program starts.

use super::view::View;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Devices that programs use without harm.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Kernel settings that root could write by its user ID alone. Landlock refuses that too.
const PROC_READ_ONLY: [&str; 2] = ["sys", "sysrq-trigger"];

/// `MOUNT_ATTR_RDONLY`, `MOUNT_ATTR_NOSUID` and `MOUNT_ATTR_NODEV` of the kernel.
const READ_ONLY: u64 = 1;
const NO_SET_USER: u64 = 2;
const NO_DEVICES: u64 = 4;
const PLAIN: u64 = NO_SET_USER | NO_DEVICES;
/// `OPEN_TREE_CLONE` and `MOVE_MOUNT_F_EMPTY_PATH` of the kernel.
const CLONE_TREE: i32 = 1;
const EMPTY_FROM: u32 = 4;

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// One step of the plan.
#[derive(Debug)]
enum Step {
    /// Makes a directory; it may exist.
    Directory(CString, libc::mode_t),
    /// Makes an empty file; it may exist.
    File(CString, libc::mode_t),
    /// Makes a link.
    Link { target: CString, path: CString },
    /// Mounts a file system of the kernel.
    Mount { kind: CString, path: CString, flags: libc::c_ulong, options: CString },
    /// Binds a place of the host; a missing one is skipped unless it is needed.
    Bind { from: CString, to: CString, attributes: u64, needed: bool },
    /// Makes a mount of the new root read-only.
    Seal(CString),
}

/// The plan of one sandbox.
#[derive(Debug)]
pub(super) struct Plan {
    root: CString,
    /// The directory in which the new root is built. Removed with the plan; by then the root is no longer there.
    _stage: tempfile::TempDir,
    steps: Vec<Step>,
    directory: CString,
    loopback: bool,
}

/// A path with a zero byte cannot be mounted.
fn c_path(path: &Path) -> std::io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| std::io::Error::other(format!("{} holds a zero byte", path.display())))
}

fn c_text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

impl Plan {
    /// The plan for a view. `directory` is where the program starts.
    pub(super) fn new(view: &View, directory: &Path, private_network: bool) -> std::io::Result<Self> {
        let made = tempfile::Builder::new().prefix("sandbox-root-").tempdir()?;
        let stage = made.path().canonicalize()?;
        let stage = stage.as_path();
        let mut plan = Plan {
            root: c_path(stage)?,
            _stage: made,
            steps: Vec::new(),
            directory: c_path(directory)?,
            loopback: private_network,
        };
        let inside = |place: &Path| stage.join(place.strip_prefix("/").unwrap_or(place));
        let mut made = BTreeSet::new();
        plan.tmpfs(stage, "mode=0755,size=16m")?;
        plan.steps.push(Step::File(c_path(&stage.join(".closed"))?, 0));
        for place in ["tmp", "dev", "proc", "run", "var/tmp", "home", "root", "sys", "mnt", "srv"] {
            plan.parents(stage, &stage.join(place).join("x"), &mut made)?;
        }
        for place in ["tmp", "var/tmp"] {
            plan.tmpfs(&stage.join(place), "mode=1777,size=50%")?;
        }
        plan.devices(stage)?;
        for (link, target) in &view.links {
            plan.parents(stage, &inside(link), &mut made)?;
            plan.steps.push(Step::Link { target: c_path(target)?, path: c_path(&inside(link))? });
        }
        // Outer places first, so that inner ones lie on top of them.
        let readable = view.readable.iter().map(|place| (place, READ_ONLY));
        let writable = view.writable.iter().map(|place| (place, 0));
        let mut places: Vec<(&PathBuf, u64)> = readable.chain(writable).collect();
        places.sort_by_key(|(place, _)| place.components().count());
        let mut bound: Vec<&PathBuf> = Vec::new();
        for (place, attributes) in places {
            let to = inside(place);
            if !bound.iter().any(|outer| place.starts_with(outer)) {
                plan.parents(stage, &to, &mut made)?;
                let step = if place.is_dir() {
                    Step::Directory(c_path(&to)?, 0o755)
                } else {
                    Step::File(c_path(&to)?, 0o644)
                };
                plan.steps.push(step);
            }
            let needed = attributes & READ_ONLY == 0;
            plan.bind(place, &to, attributes, needed)?;
            bound.push(place);
        }
        plan.empty_and_aliased(view, stage, &bound, &mut made)?;
        // A directory above a protected or closed place is a mount too: otherwise it could be moved away and made again.
        let kept = view.protected.iter().chain(&view.closed);
        let above = |place: &PathBuf| -> Vec<PathBuf> {
            let roots: Vec<&PathBuf> = view.writable.iter().filter(|root| place.starts_with(root)).collect();
            let above = place.ancestors().skip(1).map(Path::to_path_buf);
            above.filter(|above| roots.iter().any(|root| above.starts_with(root) && above != *root)).collect()
        };
        // In the order of their names, so that outer ones come first.
        for place in kept.flat_map(above).collect::<BTreeSet<PathBuf>>() {
            plan.bind(&place, &inside(&place), 0, false)?;
        }
        for place in &view.protected {
            plan.bind(place, &inside(place), READ_ONLY, false)?;
        }
        // What a tool opened inside of a protected place lies on top of it.
        for place in &view.writable {
            if view.protected.iter().any(|protected| place.starts_with(protected)) {
                plan.bind(place, &inside(place), 0, true)?;
            }
        }
        for place in &view.closed {
            if place.is_dir() {
                // What is meant to be open inside of it was bound before and would be covered.
                if !view.writable.iter().any(|open| open.starts_with(place)) {
                    plan.tmpfs(&inside(place), "mode=0000,size=4k")?;
                    plan.steps.push(Step::Seal(c_path(&inside(place))?));
                }
            } else {
                plan.bind(&stage.join(".closed"), &inside(place), READ_ONLY, false)?;
            }
        }
        plan.proc(stage)?;
        plan.steps.push(Step::Seal(c_path(stage)?));
        Ok(plan)
    }

    /// Directories that are there and empty, and places by a second name.
    fn empty_and_aliased(
        &mut self,
        view: &View,
        stage: &Path,
        bound: &[&PathBuf],
        made: &mut BTreeSet<PathBuf>,
    ) -> std::io::Result<()> {
        let is_inner = |place: &Path| bound.iter().any(|outer| place.starts_with(outer));
        let inside = |place: &Path| stage.join(place.strip_prefix("/").unwrap_or(place));
        for place in view.empty.iter().filter(|place| !is_inner(place)) {
            self.parents(stage, &inside(place), made)?;
            self.steps.push(Step::Directory(c_path(&inside(place))?, 0o555));
        }
        for (name, real) in view.aliases.iter().filter(|(name, _)| !is_inner(name)) {
            let to = inside(name);
            self.parents(stage, &to, made)?;
            let path = c_path(&to)?;
            let step = if real.is_dir() { Step::Directory(path, 0o755) } else { Step::File(path, 0o644) };
            self.steps.push(step);
            self.bind(real, &to, READ_ONLY, false)?;
        }
        Ok(())
    }

    fn tmpfs(&mut self, path: &Path, options: &str) -> std::io::Result<()> {
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        let (kind, path, options) = (c_text("tmpfs"), c_path(path)?, c_text(options));
        self.steps.push(Step::Mount { kind, path, flags, options });
        Ok(())
    }

    fn bind(&mut self, from: &Path, to: &Path, attributes: u64, needed: bool) -> std::io::Result<()> {
        let (from, to) = (c_path(from)?, c_path(to)?);
        self.steps.push(Step::Bind { from, to, attributes: attributes | PLAIN, needed });
        Ok(())
    }

    /// The directories above a place of the new root.
    fn parents(&mut self, stage: &Path, place: &Path, made: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
        let relative = place.strip_prefix(stage).unwrap_or(place);
        let mut directory = stage.to_path_buf();
        for part in relative.parent().into_iter().flat_map(Path::components) {
            directory.push(part);
            if made.insert(directory.clone()) {
                self.steps.push(Step::Directory(c_path(&directory)?, 0o755));
            }
        }
        Ok(())
    }

    fn devices(&mut self, stage: &Path) -> std::io::Result<()> {
        let devices = stage.join("dev");
        self.tmpfs(&devices, "mode=0755,size=64k")?;
        for name in DEVICES {
            let (from, to) = (Path::new("/dev").join(name), devices.join(name));
            self.steps.push(Step::File(c_path(&to)?, 0o666));
            // Devices only here. A read-only mount lets a device be written and keeps its mode and times as they are.
            let (from, to) = (c_path(&from)?, c_path(&to)?);
            self.steps.push(Step::Bind { from, to, attributes: READ_ONLY | NO_SET_USER, needed: false });
        }
        for (name, target) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
            ("ptmx", "pts/ptmx"),
        ] {
            self.steps.push(Step::Link { target: c_text(target), path: c_path(&devices.join(name))? });
        }
        for name in ["shm", "pts"] {
            self.steps.push(Step::Directory(c_path(&devices.join(name))?, 0o755));
        }
        self.tmpfs(&devices.join("shm"), "mode=1777,size=50%")?;
        let terminals = c_path(&devices.join("pts"))?;
        let options = c_text("newinstance,ptmxmode=0666,mode=0620");
        let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
        self.steps.push(Step::Mount { kind: c_text("devpts"), path: terminals, flags, options });
        Ok(())
    }

    fn proc(&mut self, stage: &Path) -> std::io::Result<()> {
        let proc = stage.join("proc");
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        self.steps.push(Step::Mount {
            kind: c_text("proc"),
            path: c_path(&proc)?,
            flags,
            options: c_text(""),
        });
        for name in PROC_READ_ONLY {
            self.bind(&proc.join(name), &proc.join(name), READ_ONLY, false)?;
        }
        Ok(())
    }

    /// Carries the plan out, in namespaces of its own. System calls only.
    #[expect(unsafe_code, reason = "mounts have no safe form that allocates nothing")]
    pub(super) fn carry_out(&self) -> std::io::Result<()> {
        // SAFETY: every pointer is to a text that ends with a zero byte and lives as long as the plan.
        unsafe {
            let none = std::ptr::null();
            let slave = libc::MS_REC | libc::MS_PRIVATE;
            check(libc::mount(none, c"/".as_ptr(), none, slave, std::ptr::null()))?;
            // Modes are meant as they are written.
            libc::umask(0);
            for step in &self.steps {
                step.carry_out()?;
            }
            if self.loopback {
                raise_loopback()?;
            }
            check(libc::chdir(self.root.as_ptr()))?;
            let here = c".".as_ptr();
            check(libc::syscall(libc::SYS_pivot_root, here, here))?;
            check(libc::umount2(here, libc::MNT_DETACH))?;
            check(libc::chdir(c"/".as_ptr()))?;
            check(libc::chdir(self.directory.as_ptr()))?;
            libc::umask(0o022);
        }
        Ok(())
    }
}

/// The error of a system call that returned this.
fn check<T: Into<i64>>(returned: T) -> std::io::Result<()> {
    if returned.into() < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

impl Step {
    #[expect(unsafe_code, reason = "mounts have no safe form that allocates nothing")]
    fn carry_out(&self) -> std::io::Result<()> {
        let exists = |error: &std::io::Error| error.raw_os_error() == Some(libc::EEXIST);
        // SAFETY: every pointer is to a text that ends with a zero byte, or to a structure of this function.
        unsafe {
            match self {
                Step::Directory(path, mode) => check(libc::mkdir(path.as_ptr(), *mode))
                    .or_else(|error| if exists(&error) { Ok(()) } else { Err(error) }),
                Step::File(path, mode) => {
                    let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
                    let handle = libc::open(path.as_ptr(), flags, *mode);
                    let made =
                        check(handle).or_else(|error| if exists(&error) { Ok(()) } else { Err(error) });
                    libc::close(handle);
                    made
                }
                Step::Link { target, path } => check(libc::symlink(target.as_ptr(), path.as_ptr()))
                    .or_else(|error| if exists(&error) { Ok(()) } else { Err(error) }),
                Step::Mount { kind, path, flags, options } => check(libc::mount(
                    kind.as_ptr(),
                    path.as_ptr(),
                    kind.as_ptr(),
                    *flags,
                    options.as_ptr().cast(),
                )),
                Step::Bind { from, to, attributes, needed } => match bind(from, to, *attributes) {
                    Err(error)
                        if !needed && matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) =>
                    {
                        Ok(())
                    }
                    other => other,
                },
                Step::Seal(path) => set_attributes(libc::AT_FDCWD, path.as_ptr(), 0, READ_ONLY),
            }
        }
    }
}

/// Binds a place with all mounts below it.
#[expect(unsafe_code, reason = "mounts have no safe form that allocates nothing")]
fn bind(from: &CString, to: &CString, attributes: u64) -> std::io::Result<()> {
    let flags = CLONE_TREE | libc::O_CLOEXEC | libc::AT_RECURSIVE | libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: both paths end with a zero byte.
    unsafe {
        let tree = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, from.as_ptr(), flags);
        check(tree)?;
        let tree = i32::try_from(tree).unwrap_or(-1);
        let empty = c"".as_ptr();
        let bound = set_attributes(tree, empty, libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, attributes)
            .and_then(|()| {
                check(libc::syscall(
                    libc::SYS_move_mount,
                    tree,
                    empty,
                    libc::AT_FDCWD,
                    to.as_ptr(),
                    EMPTY_FROM,
                ))
            });
        libc::close(tree);
        bound
    }
}

/// Adds attributes to a mount.
#[expect(unsafe_code, reason = "mounts have no safe form that allocates nothing")]
fn set_attributes(at: i32, path: *const libc::c_char, flags: i32, attributes: u64) -> std::io::Result<()> {
    let wanted = MountAttributes { set: attributes, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path ends with a zero byte, and the structure is ours.
    unsafe {
        check(libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path,
            flags,
            &raw const wanted,
            size_of::<MountAttributes>(),
        ))
    }
}

/// Raises the loopback device of a new network namespace.
#[expect(unsafe_code, reason = "the request has no safe form that allocates nothing")]
fn raise_loopback() -> std::io::Result<()> {
    // SAFETY: a zeroed request is a valid one; it is ours.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        check(socket)?;
        let mut request: libc::ifreq = std::mem::zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *place = byte.cast_signed();
        }
        request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
        let raised = check(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request));
        libc::close(socket);
        raised
    }
}
