//! Programs that talk to other machines: addresses, data and answers.

use super::argument_scan::{candidates, generic};
use super::arguments::{Arguments, tail};
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::words;
use crate::shell::{Piece, RedirectKind, Taint, UnknownReason, Word};

/// Programs whose output comes from another machine.
pub(super) fn fetches(name: &str) -> bool {
    words::FETCHERS.matches(name)
}

/// Judges the program if it is one of these.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    match base {
        "curl" | "curlie" => curl(look),
        "wget" | "wget2" => wget(look),
        "http" | "https" | "xh" | "httpie" => plain(look),
        name if words::RAW_CONNECTORS.matches(name) => {
            raw(look, base);
        }
        "cancel" | "finger" | "whois"
            if look
                .rest()
                .iter()
                .any(|word| word.is("-h") || word.is("-p") || word.beginning().contains('@')) =>
        {
            if base == "cancel"
                || look.rest().iter().any(|word| word.text().is_none())
                || look.carries(Taint::SECRET)
            {
                look.deny("send", "it sends words of the line to another machine");
            } else {
                look.ask("network", "it asks another machine");
            }
        }
        name if words::RESOLVERS.matches(name) => {
            resolve(look, base);
            return false;
        }
        "mail" | "mailx" | "mutt" | "sendmail" | "swaks" | "msmtp" => {
            if look.carries(Taint::SECRET) {
                look.catastrophe("send.secret", "it sends secrets by mail");
            }
            return false;
        }
        _ => return false,
    }
    true
}

/// Programs that look a name up: the servers of its domain learn whatever the name holds.
fn resolve(look: &mut Look<'_>, base: &str) {
    let has = |names: &[&str]| look.rest().iter().any(|word| names.iter().any(|name| word.is(name)));
    let looks_up = match base {
        "getent" => has(&["hosts", "ahosts", "ahostsv4", "ahostsv6", "networks"]),
        "resolvectl" => has(&["query", "service", "openpgp", "tlsa"]),
        _ => true,
    };
    if !looks_up {
        return;
    }
    let unknown: Vec<&Word> =
        look.rest().iter().filter(|word| word.text().is_none() && !holds_numbers(word)).collect();
    let is_told = unknown.iter().any(|word| {
        word.end().contains('.')
            || word.why().is_some_and(|why| why.is_output() || why == UnknownReason::Input)
    });
    let is_doubtful = unknown.iter().any(|word| word.why() != Some(UnknownReason::Variable));
    let from_input = words::INPUT_RESOLVERS.matches(base)
        && (look.segment.input.is_some()
            || look.segment.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Read));
    if look.carries(Taint::SECRET) {
        look.catastrophe("send.secret", "it hides secrets in the name that it looks up");
    } else if is_told {
        look.deny("send.name", "it puts the output of a command into the name that it looks up");
    } else if from_input || is_doubtful {
        look.ask("send.name", "which names it looks up cannot be known from the line");
    }
}

/// Whether only numbers of a word are not known, and no name stands behind them: `192.168.1.$number`.
fn holds_numbers(word: &Word) -> bool {
    let counts = |piece: &Piece| match piece {
        Piece::Known { .. } => true,
        Piece::Unknown { taint, .. } => taint.has(Taint::NUMBER),
    };
    word.pieces.iter().all(counts) && !word.end().contains('.')
}

/// The host of an address, if there is one.
fn host(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = if let Some(inner) = host.strip_prefix('[') {
        inner.split(']').next()?
    } else {
        host.split(':').next()?
    };
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

pub(super) fn is_local(text: &str) -> bool {
    matches!(host(text).as_deref(), Some("localhost" | "127.0.0.1" | "::1" | "0.0.0.0"))
        || host(text).is_some_and(|host| host.ends_with(".localhost"))
}

/// Ports of this machine behind which Docker, the kubelet, the API of Kubernetes and etcd obey without a password.
const CONTROL_PORTS: [&str; 5] = ["2375", "2376", "10250", "6443", "2379"];

fn commands_machine(text: &str) -> bool {
    let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once(':').is_some_and(|(_, port)| CONTROL_PORTS.contains(&port))
}

/// The strictest that a request with these addresses is.
pub(super) fn addressed(look: &mut Look<'_>, addresses: &[Word], sends: bool, sends_file: bool) {
    let local = !addresses.is_empty() && addresses.iter().all(|word| is_local(&word.beginning()));
    let input = look.segment.input.as_ref().is_some_and(|stream| stream.taint.has(Taint::SECRET));
    let secret = input || addresses.iter().any(|word| word.taint().has(Taint::SECRET));
    if secret && !local {
        return look.catastrophe("send.secret", "it sends secrets to another machine");
    }
    let scheme =
        |word: &Word| word.beginning().split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let raw = addresses.iter().any(|word| {
        matches!(
            scheme(word).as_deref(),
            Some("gopher" | "dict" | "ldap" | "smb" | "tftp" | "telnet" | "smtp")
        )
    });
    match (local, raw) {
        // A service of this machine may obey such bytes: a database that writes files, a mail server.
        (true, true) => {
            return look.ask("send.scheme", "the address speaks a protocol that reaches anything");
        }
        (true, false) if addresses.iter().any(|word| commands_machine(&word.beginning())) => {
            return look.ask("send.control", "the address commands containers or holds their secrets");
        }
        (true, false) => return,
        (false, true) => {
            return look.deny("send.scheme", "the address speaks a protocol that reaches anything");
        }
        (false, false) => {}
    }
    if sends_file {
        return look.deny("send.file", "it sends files or the output of commands to another machine");
    }
    let bare = |word: &Word| {
        host(&word.beginning()).is_some_and(|host| {
            host.parse::<std::net::Ipv4Addr>()
                .is_ok_and(|address| !address.is_private() && !address.is_loopback())
        })
    };
    if sends && addresses.iter().any(bare) {
        return look.deny("send.address", "it sends something to a bare address without a name");
    }
    if addresses.iter().any(|word| word.text().is_none() && word.why().is_some_and(UnknownReason::is_output))
    {
        return look.deny("send.address", "it puts the output of a command into the address");
    }
    look.ask(if sends { "send" } else { "fetch" }, "it talks to another machine");
}

fn curl(look: &mut Look<'_>) {
    let arguments = Arguments::new(look.rest(), &words::CURL_VALUES);
    let mut addresses = arguments.operands.clone();
    addresses.extend(arguments.values(&["--url"]).cloned());
    let data: Vec<Word> = arguments.values(&words::CURL_DATA).cloned().collect();
    let uploads: Vec<Word> = arguments
        .values(&["-T", "--upload-file", "-K", "--config", "--netrc-file", "--cert", "--key"])
        .cloned()
        .collect();
    let local = !addresses.is_empty() && addresses.iter().all(|word| is_local(&word.beginning()));
    let sent: Vec<&Word> = data.iter().chain(&uploads).collect();
    let file = curl_sends(look, &sent, local) || arguments.has(&["-T", "--upload-file"]);
    for word in &uploads {
        look.act(Act::Read, word);
    }
    // `-F NAME=<FILE` sends what the file says.
    for word in arguments.values(&["-F", "--form"]) {
        if let Some(at) = word.beginning().find("=<") {
            look.act(Act::Read, &tail(word, at + 2));
        }
    }
    let sends = !data.is_empty() || arguments.has(&["-X", "--request"]);
    let deletes = arguments.values(&["-X", "--request"]).any(|word| word.is("DELETE"));
    if deletes {
        look.deny("send.delete", "it deletes something through the network");
    }
    for address in &addresses {
        if let Some(path) = address.beginning().strip_prefix("file://") {
            // `%73` is a letter, and `{a,b}` and `[a-c]` are several files.
            if address.text().is_none() || path.contains(['%', '{', '[', '\\']) {
                look.ask("read", "which file it reads is not known from the line");
            }
            let path = Word::known(path);
            look.act(Act::Read, &path);
        }
    }
    let only_files =
        !addresses.is_empty() && addresses.iter().all(|word| word.beginning().starts_with("file://"));
    if !only_files {
        addressed(look, &addresses, sends, file);
    }
    // Without `=` it is a file of cookies.
    for cookies in arguments.values(&["-b", "--cookie"]).filter(|value| !value.shown().contains('=')) {
        look.act(Act::Read, cookies);
    }
    curl_writes(look, &arguments, &addresses);
}

/// What the data of a request, its headers and files hold; true where a file is sent.
fn curl_sends(look: &mut Look<'_>, sent: &[&Word], local: bool) -> bool {
    let mut file = false;
    for word in sent.iter().copied() {
        let text = word.beginning();
        if let Some(at) = text.find('@').filter(|_| !text.contains("://")) {
            let path = tail(word, at + 1);
            if path.is("-") {
                file |= look.segment.input.is_some();
            } else if !path.shown().contains([' ', '.'])
                || text.starts_with('@')
                || text.contains("=@")
                // `--data-urlencode NAME@FILE`
                || look.place(&path) == Place::ProjectSecret
            {
                file = true;
                look.act(Act::Read, &path);
                if !local && matches!(look.place(&path), Place::Secret | Place::ProjectSecret) {
                    look.catastrophe("send.secret", "it sends secrets to another machine");
                }
            }
        }
        // A header may carry the key that a service is asked with.
        let header = text.to_ascii_lowercase().contains("authorization")
            || text.to_ascii_lowercase().contains("token")
            || text.to_ascii_lowercase().contains("key:");
        if word.taint().has(Taint::SECRET) && !local {
            if header && word.why() == Some(crate::shell::UnknownReason::Variable) {
                look.ask("send", "it sends a key to another machine");
            } else {
                look.catastrophe("send.secret", "it sends secrets to another machine");
            }
        }
        if word.why().is_some_and(UnknownReason::is_output) && !local {
            look.deny("send.output", "it sends the output of a command to another machine");
        }
    }
    file
}

/// The files that answers are written to.
fn curl_writes(look: &mut Look<'_>, arguments: &Arguments, addresses: &[Word]) {
    for target in arguments.values(&words::CURL_OUTPUTS) {
        look.act(Act::Write, target);
        // `#1` stands for what the first pattern of the address finds.
        let shown = target.shown();
        let mut parts = shown.split('#').skip(1);
        if parts.any(|part| part.starts_with(|char: char| char.is_ascii_digit())) {
            look.act_at(Act::Write, Place::Unknown, &shown);
        }
    }
    if arguments.has(&["-O", "--remote-name", "--remote-name-all"]) {
        let directory = arguments.values(&["--output-dir"]).last();
        addresses.iter().for_each(|address| write_remote_name(look, directory, address, false));
    }
    for format in arguments.values(&["-w", "--write-out"]) {
        let text = format.beginning();
        if let Some(path) = text.strip_prefix('@') {
            look.act(Act::Read, &Word::known(path));
        }
        for (at, _) in text.match_indices("output{") {
            let path = text.get(at + 7..).and_then(|rest| rest.split('}').next()).unwrap_or_default();
            look.act(Act::Write, &Word::known(path.trim_start_matches(">>")));
        }
    }
}

/// Writes the file that an address names: by its last part, or by its whole path.
fn write_remote_name(look: &mut Look<'_>, directory: Option<&Word>, address: &Word, whole: bool) {
    let text = address.shown();
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let path = path.split_once('/').map_or("", |(_, path)| path);
    let name = if whole { path } else { path.rsplit('/').next().unwrap_or_default() };
    // What is encoded, a pattern or not known may become any name.
    if address.text().is_none() || name.contains(['%', '{', '[', '\\']) {
        return look.act_at(Act::Write, Place::Unknown, &text);
    }
    if name.is_empty() {
        return;
    }
    let mut file = directory.cloned().unwrap_or_default();
    if directory.is_some() {
        file.push("/", true);
    }
    file.push(name, true);
    look.act(Act::Write, &file);
}

fn wget(look: &mut Look<'_>) {
    let arguments = Arguments::new(look.rest(), &words::WGET_VALUES);
    for path in arguments.values(&["--post-file", "--body-file", "-i", "--input-file"]) {
        look.act(Act::Read, path);
    }
    if arguments.has(&["-i", "--input-file"]) {
        look.ask("fetch", "a file says which addresses it talks to");
    }
    let file = arguments.has(&["--post-file", "--body-file"]);
    let sends = file || arguments.has(&["--post-data", "--body-data", "--method"]);
    if arguments
        .values(&["--post-data", "--body-data", "--header"])
        .any(|word| word.taint().has(Taint::SECRET) || word.why().is_some_and(UnknownReason::is_output))
    {
        look.catastrophe("send.secret", "it sends the output of a command to another machine");
    }
    let addresses = arguments.operands.clone();
    addressed(look, &addresses, sends, file);
    for target in arguments.values(&["-O", "--output-document", "-o", "-a", "-P", "--directory-prefix"]) {
        if !target.is("-") {
            look.act(Act::Write, target);
        }
    }
    if !arguments.has(&["-O", "--output-document", "--spider"]) {
        let directory = arguments.values(&["-P", "--directory-prefix"]).last();
        let whole = arguments.has(&["-x", "--force-directories", "--protocol-directories"]);
        for address in &addresses {
            write_remote_name(look, directory, address, whole);
            if arguments.has(&["--content-disposition", "--trust-server-names"]) {
                look.act_at(Act::Write, Place::Unknown, &address.shown());
            }
        }
    }
    if arguments.has(&["--use-askpass", "--ask-password"]) {
        look.ask("wget.run", "it runs a program to ask for a password");
    }
}

fn plain(look: &mut Look<'_>) {
    let addresses: Vec<Word> = look
        .rest()
        .iter()
        .filter(|word| {
            word.beginning().contains('.')
                || word.beginning().contains("://")
                || word.beginning().starts_with(':')
        })
        .cloned()
        .collect();
    let local = addresses.first().is_some_and(|word| word.beginning().starts_with(':'));
    if !local {
        addressed(look, &addresses, true, look.rest().iter().any(|word| word.shown().contains('@')));
    }
}

fn raw(look: &mut Look<'_>, base: &str) {
    let words = look.rest().to_vec();
    let text = words.iter().map(Word::shown).collect::<Vec<_>>().join(" ");
    let runs = words.iter().any(|word| {
        matches!(word.text().as_deref(), Some("-e" | "-c" | "--exec" | "--sh-exec" | "-lvpe" | "-lpe"))
            || word.beginning().starts_with("-e")
            || word.beginning().starts_with("--sh-exec")
            || word.beginning().starts_with("--exec")
            || word.beginning().starts_with("--lua-exec")
            || base == "socket" && word.beginning().starts_with('-') && word.beginning().contains('p')
    }) || text.contains("EXEC:")
        || text.contains("SYSTEM:")
        || text.contains("exec:")
        || text.contains("system:");
    if runs {
        return look.deny("reverse-shell", "it hands a program to another machine");
    }
    let named = words.iter().flat_map(candidates).any(|word| {
        let plain = Word::known(word.shown().trim_matches(['"', '\'']));
        matches!(look.place(&plain), Place::Secret | Place::ProjectSecret)
    });
    if look.carries(Taint::SECRET) || named && text.contains(':') {
        return look.catastrophe("send.secret", "it sends secrets to another machine");
    }
    generic(look, true);
    let scans = words.iter().any(|word| word.beginning().starts_with('-') && word.beginning().contains('z'));
    let arguments = Arguments::new(&words, &words::CONNECTOR_VALUES);
    for file in arguments.values(&words::CONNECTOR_OUTPUTS) {
        look.act(Act::Write, file);
    }
    let is_elsewhere = |word: &Word| word.beginning().contains("://") && !is_local(&word.beginning());
    let is_proxied = arguments.has(&words::CONNECTOR_PROXIES);
    let local = arguments.operands.iter().any(|word| is_local(&word.beginning()))
        && !arguments.operands.iter().any(is_elsewhere);
    if local && !is_proxied && base != "socat" {
        return;
    }
    if look.segment.input.is_some() && !scans {
        return look.deny("send.pipe", "it sends the output of commands to another machine");
    }
    if look.segment.piped
        && words.iter().any(|word| word.beginning().starts_with('-') && word.beginning().contains('l'))
    {
        return look.deny("reverse-shell", "it runs what another machine sends");
    }
    look.ask("network", "it opens a connection to another machine");
}
