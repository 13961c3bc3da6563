//! Services, by the verbs of the programs that manage them.

use super::argument_scan::generic;
use super::arguments::Arguments;
use super::look::Look;
use super::place::Place;
use super::security_tools::is_defence;
use super::words;
use crate::shell::Word;

/// Judges programs that manage services; true when the program is one of them.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, operands: &[Word]) -> bool {
    filters(look, base);
    if !words::SERVICE_MANAGERS.matches(base) {
        return false;
    }
    let words: Vec<String> = operands.iter().map(Word::shown).collect();
    services(look, base, &words);
    true
}

/// `gh … --jq FILTER`: a filter of `jq` may read the environment.
fn filters(look: &mut Look<'_>, base: &str) {
    let names: &[&str] = if base == "gh" { &["--jq", "-q"] } else { &["--jq"] };
    let values: Vec<Word> = Arguments::new(look.rest(), names).values(names).cloned().collect();
    for filter in values {
        match filter.text().and_then(|text| shlex::try_join(["jq", &text]).ok()) {
            Some(line) => look.nested_command(&line),
            None => look.ask("code.unknown", "the filter of its output cannot be known"),
        }
    }
}

fn services(look: &mut Look<'_>, base: &str, words: &[String]) {
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    let verb = if matches!(base, "service" | "rc-service") { second } else { first };
    let defence = words
        .iter()
        .any(|name| is_defence(name) || matches!(name.trim_end_matches(".service"), "sshd" | "ssh"));
    generic(look, true);
    match verb {
        "stop" | "disable" | "mask" | "kill" | "off" | "bootout" | "unload" | "remove" | "delete"
            if defence =>
        {
            look.deny("defence", "it switches off what watches over the machine");
        }
        verb if words::MACHINE_STOPS.matches(verb) => look.deny("machine", "it stops the machine"),
        "show-environment" => look.ask("environment.show", "it shows the environment, which may hold keys"),
        verb if words::SERVICE_LOOKS.matches(verb) => {
            if look.rest().iter().any(|word| word.shown().contains("Environment")) {
                look.ask("environment.show", "it shows the environment of a service, which may hold keys");
            }
            if look.rest().iter().any(|word| word.is("-H") || word.is("--host")) {
                look.ask("service", "it looks at another machine");
            }
        }
        "link" | "edit" if look.privileged() && base == "systemctl" => {
            look.deny("service", "it makes something run by itself");
        }
        "enable" | "link" | "edit" | "preset" | "reenable" | "set-default" | "load" | "bootstrap"
        | "create" => look.ask("service", "it makes something run by itself"),
        _ => look.ask("service", "it changes services"),
    }
    if base == "service" && first.contains("..") {
        look.deny("root.shell", "it runs a program that is not a service");
    }
    for word in look.rest().to_vec() {
        if look.place(&word) == Place::Temporary {
            look.deny("service.file", "it makes a file of a temporary directory a service");
        }
    }
}
