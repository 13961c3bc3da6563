//! Containers: what they may reach of the machine, and what is lost with them.

use super::Look;
use super::arguments::Arguments;
use crate::shell::Word;

/// Flags of a container that give it the machine.
fn has_host(flags: &str) -> bool {
    [
        "--privileged",
        "docker.sock",
        "containerd.sock",
        "podman.sock",
        "crio.sock",
        "--pid=host",
        "--pid host",
        "-v /:",
        "-v/:",
        "--volume /:",
        "--volume=/:",
        "source=/,",
        "src=/,",
        "--cap-add",
        "-v /etc",
        "--volume /etc",
        "--volume=/etc",
        "-v /root",
        "-v /proc",
        "-v /sys",
        "-v /dev",
        "-v /var/run",
        "-v /var/lib",
        "-v /boot",
        "--userns=host",
        "--ipc=host",
        "--uts=host",
        "--security-opt seccomp=unconfined",
        "--security-opt=seccomp=unconfined",
        "apparmor=unconfined",
        "apparmor:unconfined",
        "--device=/dev/sd",
        "--device /dev/sd",
        "--device=/dev/mem",
        "source=/etc",
    ]
    .iter()
    .any(|flag| flags.contains(flag))
}

/// Judges programs for containers; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    if !matches!(
        base,
        "docker"
            | "podman"
            | "nerdctl"
            | "docker-compose"
            | "podman-compose"
            | "buildah"
            | "skopeo"
            | "ctr"
            | "crictl"
            | "singularity"
            | "apptainer"
    ) {
        return false;
    }
    let words: Vec<String> = arguments.operands.iter().map(Word::shown).collect();
    let all: Vec<String> = look.rest().iter().map(Word::shown).collect();
    // Flags before the verb take values.
    let at = words
        .iter()
        .position(|word| !word.contains("://") && !word.contains('/') && !word.contains('.'))
        .unwrap_or(0);
    let first = words.get(at).map_or("", String::as_str);
    let second = words.get(at + 1).map_or("", String::as_str);
    let group = matches!(
        first,
        "container"
            | "image"
            | "volume"
            | "network"
            | "system"
            | "compose"
            | "buildx"
            | "context"
            | "node"
            | "service"
            | "stack"
            | "swarm"
            | "secret"
            | "config"
            | "plugin"
            | "manifest"
            | "trust"
            | "builder"
            | "pod"
            | "machine"
            | "scout"
            | "images"
            | "containers"
            | "i"
            | "c"
    );
    let verb = if group { second } else { first };
    let flags = all.join(" ");
    if has_host(&flags) && matches!(verb, "run" | "create" | "exec" | "up") {
        look.deny("container.host", "the container would have the machine itself");
        return true;
    }
    let remote = all.iter().any(|word| {
        word.starts_with("tcp://")
            || word.starts_with("-Htcp")
            || word.starts_with("--host=tcp")
            || word.starts_with("ssh://")
    });
    if remote && matches!(verb, "run" | "exec" | "create" | "rm") {
        look.deny("container.host", "it works with containers of another machine");
        return true;
    }
    let force = arguments.has(&["-f", "--force"]);
    let everything = look.rest().iter().any(|word| word.text().is_none());
    let volumes = flags.contains("--volumes") || all.iter().any(|word| word == "-v");
    if matches!((first, verb), ("system" | "volume" | "builder" | "buildx", "prune"))
        && (volumes || first == "volume" || flags.contains("-a") && force)
        || first == "volume" && matches!(verb, "rm" | "remove")
        || verb == "down" && (volumes || flags.contains("--rmi"))
        || matches!(verb, "rm" | "kill" | "stop" | "rmi") && everything && (force || verb != "stop")
        || matches!(first, "swarm") && verb == "leave"
        || matches!((first, verb), ("stack" | "service" | "secret" | "config" | "machine", "rm"))
        || (base, verb) == ("podman", "reset")
    {
        look.deny("container.lost", "it deletes containers or volumes, which hold data");
        return true;
    }
    let looks = matches!(
        verb,
        "ps" | "ls"
            | "list"
            | "images"
            | "inspect"
            | "logs"
            | "version"
            | "info"
            | "search"
            | "stats"
            | "top"
            | "port"
            | "diff"
            | "history"
            | "events"
            | "df"
            | "config"
            | "show"
            | "du"
            | "help"
            | "wait"
            | "convert"
            | "tree"
            | "list-tags"
            | "quickview"
            | "pods"
            | "imagefsinfo"
            | "statsp"
    ) || verb.is_empty() && (first.is_empty() || group);
    if !looks {
        look.ask("container", "it starts or changes containers");
    }
    true
}
