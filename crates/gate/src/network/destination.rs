//! The destination of a request, parsed from its URL without ambiguity.
//!
//! Programs disagree on odd addresses, and tricks live in the disagreement. So what a careful reader could read in two
//! ways is refused (user names, backslashes, control characters, invisible ones), and the rest is brought into one form:
//! numbers become dotted addresses, names become lower-case ASCII without a final dot.

use crate::refusal::{Refusal, RefusalKind};
use std::fmt;
use std::net::IpAddr;
use url::Url;

/// The longest address that is looked at.
const MAX_ADDRESS_BYTES: usize = 8 * 1024;

/// A host in its one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name, lower-case ASCII, without a final dot.
    Name(String),
    /// An address.
    Address(IpAddr),
}

impl Host {
    /// Is this the name of this machine, or below it?
    #[must_use]
    pub fn is_localhost(&self) -> bool {
        matches!(self, Host::Name(name) if is_below(name, "localhost"))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => formatter.write_str(name),
            Host::Address(address) => address.fmt(formatter),
        }
    }
}

/// Is a name equal to a domain, or below it?
pub(super) fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The destination of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    url: Url,
    host: Host,
    port: u16,
}

impl Destination {
    /// Understands an address.
    ///
    /// # Errors
    /// When it is not plainly an http or https address.
    pub fn understand(text: &str) -> Result<Self, Refusal> {
        let text = text.trim_matches(' ');
        if text.len() > MAX_ADDRESS_BYTES {
            return Err(unclear(&format!("the address is longer than {MAX_ADDRESS_BYTES} bytes")));
        }
        if text.contains(is_unclear) {
            return Err(unclear(
                "the address holds a space, a backslash, a control character or an invisible one",
            ));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            let scheme = text.split_once(':').map(|(scheme, _)| scheme);
            let known = ["data", "javascript", "mailto", "file", "blob", "about", "view-source", "jar"];
            return Err(
                match scheme.filter(|scheme| known.contains(&scheme.to_ascii_lowercase().as_str())) {
                    Some(scheme) => wrong_scheme(scheme),
                    None => unclear("the address does not begin with http:// or https://"),
                },
            );
        };
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(wrong_scheme(scheme));
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(unclear("the address holds a user name or a password before the host"));
        }
        if authority.contains('%') || authority.is_empty() {
            return Err(unclear("the address has no plain host"));
        }
        let mut url = Url::parse(text)
            .map_err(|error| unclear(&format!("the address cannot be understood: {error}")))?;
        url.set_fragment(None);
        let host = match url.host() {
            Some(url::Host::Ipv4(address)) => Host::Address(address.into()),
            Some(url::Host::Ipv6(address)) => Host::Address(address.into()),
            Some(url::Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
                if name.len() > 253 || name.split('.').any(str::is_empty) {
                    return Err(unclear("the host has an empty part or is too long"));
                }
                Host::Name(name)
            }
            None => return Err(unclear("the address has no host")),
        };
        if let Host::Name(name) = &host {
            // Without the final dot, so that the certificate and the server see the name that was judged.
            url.set_host(Some(name)).map_err(|_| unclear("the host cannot be used"))?;
        }
        match url.port_or_known_default() {
            None | Some(0) => Err(unclear("the address has no usable port")),
            Some(port) => Ok(Destination { url, host, port }),
        }
    }

    /// The address in its one form.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Is it encrypted on the way?
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Do both go to the same scheme, host and port?
    #[must_use]
    pub fn same_origin(&self, other: &Destination) -> bool {
        self.is_https() == other.is_https() && self.host == other.host && self.port == other.port
    }

    /// Host and port, as a list of hosts would name them.
    #[must_use]
    pub fn place(&self) -> String {
        self.place_of(&self.host)
    }

    /// The same for another host at this port.
    pub(super) fn place_of(&self, host: &Host) -> String {
        let default = if self.is_https() { 443 } else { 80 };
        let host = match host {
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
            host => host.to_string(),
        };
        if self.port == default { host } else { format!("{host}:{}", self.port) }
    }
}

/// Characters that a reader does not see, or that programs read differently.
pub(super) fn is_unclear(character: char) -> bool {
    character.is_control()
        || character.is_whitespace()
        || matches!(character, '\\' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn unclear(reason: &str) -> Refusal {
    Refusal::new(
        RefusalKind::Url,
        reason,
        "Give a plain address, for example `https://example.com/page`; characters such as spaces are written as %20.",
    )
}

fn wrong_scheme(scheme: &str) -> Refusal {
    let scheme: String = scheme.chars().take(20).collect();
    Refusal::new(
        RefusalKind::Url,
        format!("addresses of the kind `{scheme}:` cannot be fetched"),
        "Only http:// and https:// can be fetched; files of the working directory are read with read_file.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> String {
        Destination::understand(text).unwrap_or_else(|error| panic!("{text}: {error}")).host().to_string()
    }

    #[test]
    fn every_spelling_has_one_form() {
        for (text, expected) in [
            ("http://2130706433/", "127.0.0.1"),
            ("http://0x7f000001/", "127.0.0.1"),
            ("http://017700000001/", "127.0.0.1"),
            ("http://0177.0.0.1/", "127.0.0.1"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://127.1/", "127.0.0.1"),
            ("http://127.0.1/", "127.0.0.1"),
            ("http://127.0.0.1./", "127.0.0.1"),
            ("http://0/", "0.0.0.0"),
            ("http://[::1]/", "::1"),
            ("http://[0:0:0:0:0:0:0:1]/", "::1"),
            ("http://[::ffff:7f00:1]/", "::ffff:127.0.0.1"),
            ("http://１２７.０.０.１/", "127.0.0.1"),
            ("http://127。0。0。1/", "127.0.0.1"),
            ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "localhost"),
            ("HTTP://LOCALHOST./", "localhost"),
            ("https://EXAMPLE.com./a", "example.com"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("  https://example.com/a b ".trim_end_matches(" b "), "example.com"),
        ] {
            assert_eq!(host(text), expected, "{text}");
        }
        let dotted = Destination::understand("https://example.com.:8443/a?b#c").unwrap();
        assert_eq!(dotted.url().as_str(), "https://example.com:8443/a?b");
        assert_eq!(dotted.place(), "example.com:8443");
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        for text in [
            "http://allowed@127.0.0.1/",
            "http://user:pass@example.com/",
            "http://@example.com/",
            "http://example.com\\@127.0.0.1/",
            "http:\\\\127.0.0.1/",
            "http://exam\tple.com/",
            "http://example.com\n/",
            "http://example.com/\r\nHost: x",
            "http://127.0.0.1%2f@example.com/",
            "http://%31%32%37.0.0.1/",
            "http:///127.0.0.1/",
            "http:127.0.0.1/",
            "http:/127.0.0.1/",
            "//127.0.0.1/",
            "127.0.0.1",
            "http://[fe80::1%25eth0]/",
            "http://[::1%lo]/",
            "http://[::1/",
            "http://example..com/",
            "http://example.com../",
            "http://./",
            "http://example.com:0/",
            "http://example.com:99999/",
            "http://exam\u{200b}ple.com/",
            "http://example.com\u{202e}/",
            "http://256.256.256.256/",
            "http://1.2.3.4.5/",
            "file:///etc/passwd",
            "ftp://example.com/",
            "gopher://example.com/",
            "data:text/html,x",
            "unix:///var/run/docker.sock",
            "javascript:alert(1)",
            "ws://example.com/",
            "",
        ] {
            let refusal = Destination::understand(text).expect_err(text);
            assert_eq!(refusal.kind, RefusalKind::Url, "{text}");
            assert!(!refusal.how_to_fix.is_empty());
        }
    }
}
