//! Network namespaces: the server in one, each worker in one of its own, so that the link between them can be cut.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

static NETWORKS: AtomicU32 = AtomicU32::new(0);

/// A namespace for a server, and one for each of some workers. Dropping it removes them.
pub(crate) struct Network {
    /// The beginning of all names.
    prefix: String,
    server: File,
    workers: Vec<File>,
}

impl Network {
    /// Makes the namespaces; none where that is not possible.
    pub(crate) fn new(workers: usize) -> Option<Self> {
        let prefix = format!("mf{}x{}", std::process::id(), NETWORKS.fetch_add(1, Ordering::Relaxed));
        let made = Network::make(&prefix, workers);
        if made.is_none() {
            remove(&prefix, workers);
            marvin_testing::skip("network namespaces need root and iproute2");
        }
        made
    }

    fn make(prefix: &str, workers: usize) -> Option<Self> {
        let server = add_namespace(&server_name(prefix))?;
        let mut files = Vec::new();
        for number in 0..workers {
            let name = worker_name(prefix, number);
            files.push(add_namespace(&name)?);
            let (here, there) = (link(prefix, number), format!("{prefix}b{number}"));
            let (inside, outside) = (server_name(prefix), format!("10.213.{number}.1/24"));
            ip(&format!("link add {here} netns {inside} type veth peer name {there} netns {name}"))?;
            ip(&format!("-n {inside} addr add {outside} dev {here}"))?;
            ip(&format!("-n {name} addr add 10.213.{number}.2/24 dev {there}"))?;
            ip(&format!("-n {inside} link set {here} up"))?;
            ip(&format!("-n {name} link set {there} up"))?;
        }
        Some(Network { prefix: prefix.to_string(), server, workers: files })
    }

    pub(crate) fn server(&self) -> &File {
        &self.server
    }

    pub(crate) fn worker(&self, number: usize) -> &File {
        &self.workers[number]
    }

    /// The address of the server for a worker.
    pub(crate) fn server_address(&self, worker: usize) -> String {
        format!("10.213.{worker}.1")
    }

    /// Cuts the link of a worker, or heals it.
    pub(crate) fn set_link(&self, worker: usize, is_up: bool) {
        let (name, link) = (server_name(&self.prefix), link(&self.prefix, worker));
        let state = if is_up { "up" } else { "down" };
        ip(&format!("-n {name} link set {link} {state}")).expect("the link is changed");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        remove(&self.prefix, self.workers.len());
    }
}

fn server_name(prefix: &str) -> String {
    format!("{prefix}s")
}

fn worker_name(prefix: &str, number: usize) -> String {
    format!("{prefix}w{number}")
}

fn link(prefix: &str, number: usize) -> String {
    format!("{prefix}a{number}")
}

fn add_namespace(name: &str) -> Option<File> {
    ip(&format!("netns add {name}"))?;
    ip(&format!("-n {name} link set lo up"))?;
    File::open(format!("/run/netns/{name}")).ok()
}

fn remove(prefix: &str, workers: usize) {
    for number in 0..workers {
        ip(&format!("netns del {}", worker_name(prefix, number)));
    }
    ip(&format!("netns del {}", server_name(prefix)));
}

/// Runs `ip` with these words; none if it fails.
fn ip(words: &str) -> Option<()> {
    let mut command = Command::new("ip");
    command.args(words.split(' ')).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success()).then_some(())
}

/// Makes a program start in a namespace.
#[expect(unsafe_code, reason = "a process enters a namespace between fork and exec")]
pub(crate) fn enter(command: &mut Command, namespace: &File) {
    let namespace = namespace.try_clone().unwrap();
    let enter = move || {
        let network = rustix::thread::LinkNameSpaceType::Network;
        Ok(rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(network))?)
    };
    // SAFETY: one system call, which is safe after a fork.
    unsafe { command.pre_exec(enter) };
}
