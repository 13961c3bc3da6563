//! Keys: programs that show them, or lock files with them.

use super::argument_scan::generic;
use super::arguments::Arguments;
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::words;

/// Judges programs that make and use keys.
pub(super) fn keys(look: &mut Look<'_>, base: &str, words: &[String]) {
    let starts = |prefix: &str| words.iter().any(|word| word.starts_with(prefix));
    if starts("--export-secret")
        || words
            .iter()
            .any(|word| matches!(word.as_str(), "-exportcert" | "-importkeystore" | "--export-ownertrust"))
    {
        return look.deny("secret", "it shows private keys");
    }
    if starts("--delete") {
        return look.deny("secret", "it deletes keys");
    }
    let shows = words.iter().any(|word| words::KEY_LISTINGS.matches(word));
    generic(look, true);
    // Files that are locked with a key, and whose originals go: how data is held to ransom.
    let whole = look.rest().iter().any(|word| matches!(look.place(word), Place::Home | Place::InHome if word.globs() || word.text().is_none()));
    if whole && matches!(base, "gpg" | "gpg2" | "age" | "rage") {
        return look.deny("ransom", "it encrypts many files of the home directory");
    }
    if !shows {
        look.ask("key", "it makes or uses keys");
    }
}

/// Judges `openssl`, which also opens connections.
pub(super) fn openssl(look: &mut Look<'_>, words: &[String]) {
    let arguments = Arguments::new(look.rest(), &words::OPENSSL_VALUES);
    // A certificate is public, and `x509` prints nothing else.
    let shows_certificate = words.first().is_some_and(|word| word == "x509");
    for value in arguments.values(&["-in", "-inkey", "-key", "-cert"]) {
        let is_certificate = shows_certificate
            && look.place(value) == Place::ProjectSecret
            && value
                .text()
                .is_some_and(|text| [".pem", ".crt", ".cer"].iter().any(|end| text.ends_with(end)));
        if !is_certificate {
            look.act(Act::Read, value);
        }
        if words.iter().any(|word| word == "enc")
            && matches!(look.place(value), Place::Home | Place::InHome | Place::Unknown)
            && value.text().is_none()
        {
            look.deny("ransom", "it encrypts files of the home directory");
        }
    }
    for value in arguments.values(&["-out"]) {
        look.act(Act::Write, value);
    }
    if arguments.has(&["-engine", "-provider"])
        || words.first().is_some_and(|word| word == "engine") && words.len() > 2
    {
        look.ask("run.library", "it loads code from a file");
    }
    generic(look, false);
    if words.iter().any(|word| matches!(word.as_str(), "s_client" | "s_server"))
        && !words.iter().any(|word| word.contains("localhost") || word.contains("127.0.0.1"))
    {
        if look.segment.input.is_some() || look.segment.piped || words.iter().any(|word| word == "s_server") {
            look.deny("send.pipe", "it sends or runs what goes over a connection");
        } else {
            look.ask("network", "it opens a connection to another machine");
        }
    }
}
