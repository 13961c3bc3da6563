//! Containers: their reach into the machine, and the data that is lost with them.

use super::arguments::Arguments;
use super::look::Look;
use super::words;
use crate::shell::Word;

/// Judges programs for containers; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    if !words::CONTAINER_PROGRAMS.matches(base) {
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
    let group = words::CONTAINER_GROUPS.matches(first);
    let verb = if group { second } else { first };
    let flags = all.join(" ");
    if words::CONTAINER_HOST_FLAGS.matches(&flags) && matches!(verb, "run" | "create" | "exec" | "up") {
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
    // With the values of `.env` and of the environment put in; these flags print names only.
    let composed = if base.ends_with("-compose") { first } else { second };
    let composes = first == "compose" || base.ends_with("-compose");
    if composes && matches!(composed, "config" | "convert") {
        let names =
            ["--services", "--volumes", "--images", "--profiles", "--networks", "--hash", "-q", "--quiet"];
        if !arguments.has(&names) {
            look.ask("secret", "it shows the values of `.env` and of the environment");
        }
        return true;
    }
    let looks = words::CONTAINER_LOOKS.matches(verb) || verb.is_empty() && (first.is_empty() || group);
    if !looks {
        look.ask("container", "it starts or changes containers");
    }
    true
}
