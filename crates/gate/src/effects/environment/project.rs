//! Variables for programs that run the project's own code, of which no table can know the meaning: their values decide.
//!
//! Limit: which of the project's settings name a program is not known, so a path inside the workspace counts as harmless.

use crate::effects::look::Look;
use crate::effects::network;
use crate::effects::place::Place;
use crate::shell::{Piece, Word, is_tool_path};

/// Judges the value of a variable that the project's code is given.
pub(super) fn value(look: &mut Look<'_>, name: &str, value: &Word) {
    let reason = match value.text() {
        None if is_number(value) => return,
        None => "is not known from the line",
        Some(text) if holds_options(&text) => "may hold options or code",
        Some(text) if names_host(name, &text) => "names another machine",
        Some(text) if names_foreign_path(look, &text) => "names a path outside the workspace",
        Some(_) => return,
    };
    look.ask("environment.value", format!("`{name}={}` {reason}", value.shown()));
}

/// Judges a variable that chooses a program, a library or options: only switches and programs of the system are harmless.
pub(super) fn tool(look: &mut Look<'_>, name: &str, value: &Word) {
    let is_harmless = value.text().is_some_and(|text| {
        let is_switch = matches!(
            &*text.to_ascii_lowercase(),
            "" | "true" | "false" | "on" | "off" | "yes" | "no" | "auto"
        );
        let is_count = text.chars().all(|char| char.is_ascii_digit() || char == '.');
        let is_system = text.starts_with('/') && !text.contains(char::is_whitespace);
        is_switch || is_count || is_system && is_tool_path(&text, look.grounds.home)
    });
    if !is_harmless {
        look.ask(
            "environment",
            format!("`{name}={}` may choose a program, a library or options for it", value.shown()),
        );
    }
}

/// Judges what make takes from its environment: every value is expanded, and becomes part of the shell's commands.
pub(super) fn expanded_by_make(look: &mut Look<'_>, name: &str, value: &Word) {
    if value.text().is_some_and(|text| text.contains(['$', '`', ';', '|', '&', '\n'])) {
        look.ask(
            "environment.value",
            format!("`make` would expand `{name}={}`, and may run what it says", value.shown()),
        );
    }
}

fn is_number(value: &Word) -> bool {
    value.pieces.iter().all(|piece| match piece {
        Piece::Known { text, .. } => text.chars().all(|char| char.is_ascii_digit()),
        Piece::Unknown { taint, .. } => taint.has(crate::shell::Taint::NUMBER),
    })
}

/// Options, code that a shell or a template expands, or an object of settings.
fn holds_options(text: &str) -> bool {
    let is_option = |word: &str| {
        let word = word.trim_start_matches(['"', '\'']);
        word.strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|char: char| !char.is_ascii_digit() && char != '.'))
    };
    text.starts_with(['{', '@'])
        || text.contains(['$', '`'])
        || text.split(char::is_whitespace).any(is_option)
}

/// Where a text may end and a path begin.
const SEPARATORS: [char; 12] = [':', ',', ';', '=', '|', '"', '\'', '(', ')', '[', ']', '\n'];

fn names_foreign_path(look: &Look<'_>, text: &str) -> bool {
    let words = text.split(|char: char| char.is_whitespace() || SEPARATORS.contains(&char));
    words.filter(|word| word.contains('/') || word.starts_with(['~', '.'])).any(|word| {
        // `sqlite:///srv/x.db`: what stands before the path is the empty host.
        let path = if text.contains("://") && word.starts_with("//") {
            word.get(2..).unwrap_or_default()
        } else {
            word
        };
        let is_local_address = text.contains("://") && network::is_local(path);
        let is_own = matches!(
            look.place(&Word::known(path)),
            Place::Sink | Place::Inside | Place::Workspace | Place::Regenerable | Place::ProjectSecret
        );
        !path.is_empty()
            && !is_local_address
            && (path.starts_with('~') || !is_own && !is_tool_path(path, look.grounds.home))
    })
}

/// Ends of the names of variables that hold the name or the address of a machine.
const ADDRESS_NAMES: [&str; 14] = [
    "HOST", "HOSTS", "HOSTNAME", "SERVER", "SERVERS", "ENDPOINT", "ADDR", "ADDRESS", "URL", "URI", "DSN",
    "BROKER", "BROKERS", "PROXY",
];

/// Does a value name a machine other than this one?
fn names_host(name: &str, text: &str) -> bool {
    let is_address_name = ADDRESS_NAMES.iter().any(|end| name.to_ascii_uppercase().ends_with(end));
    let mut words = text.split(|char: char| char.is_whitespace() || ";\"'|=()".contains(char));
    words.any(|word| {
        if let Some((scheme, rest)) = word.split_once("://") {
            let is_file = ["sqlite", "file", "memory", "mem"].iter().any(|own| scheme.ends_with(own));
            return !is_file && !rest.split(',').all(network::is_local);
        }
        word.split(',').any(|part| is_foreign_host(part, is_address_name))
    })
}

/// `db.example:5432`, `git@host.example:x`, and where a machine is expected `db.example`.
fn is_foreign_host(text: &str, is_expected: bool) -> bool {
    let host = text.split(['/', ':']).next().unwrap_or_default();
    let plain = host.rsplit('@').next().unwrap_or_default();
    let end = plain.rsplit_once('.').map_or("", |(_, end)| end);
    let is_name = end.len() > 1 && end.chars().all(|char| char.is_ascii_alphabetic())
        || plain.parse::<std::net::Ipv4Addr>().is_ok();
    let has_port = text.get(host.len()..).and_then(|rest| rest.strip_prefix(':')).is_some_and(|port| {
        !port.is_empty() && (host.contains('@') || port.starts_with(|char: char| char.is_ascii_digit()))
    });
    is_name && !host.starts_with('.') && !network::is_local(text) && (is_expected || has_port)
}
