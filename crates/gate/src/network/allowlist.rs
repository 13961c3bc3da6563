//! The two lists of hosts: what may be reached at all, and what this run may reach.

use super::address::{Class, class};
use super::destination::{Destination, Host, is_below};
use crate::refusal::{Refusal, RefusalKind};
use marvin_base::settings::{Setting, Settings, table};
use std::net::IpAddr;

/// The hosts that an entry stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// `*`: every public host.
    Public,
    /// A name and everything below it; or, with `*.`, only what is below it.
    Name { name: String, itself: bool },
    /// An address or a block of them.
    Block(IpAddr, u8),
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pattern: Pattern,
    port: Option<u16>,
    text: String,
}

impl Entry {
    /// Reads an entry: `*`, a name, `*.name`, an address, a block such as `10.0.0.0/8`; all but blocks with `:port` if
    /// wanted.
    ///
    /// # Errors
    /// A sentence about the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let entry = |pattern, port| Entry { pattern, port, text: text.to_string() };
        if let Some((base, length)) = text.split_once('/') {
            return Ok(entry(block(base, length)?, None));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(entry(single(address)?, None));
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) = rest.split_once(']').ok_or("the bracket is not closed")?;
            let address = address.parse().map_err(|_| "there is no IPv6 address in the brackets")?;
            let port = match rest.strip_prefix(':') {
                Some(number) => Some(port(number)?),
                None if rest.is_empty() => None,
                None => return Err("after the bracket only :port may follow".into()),
            };
            return Ok(entry(single(IpAddr::V6(address))?, port));
        }
        let (host, number) = match text.split_once(':') {
            Some((host, number)) => (host, Some(port(number)?)),
            None => (text, None),
        };
        if host == "*" {
            return Ok(entry(Pattern::Public, number));
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(entry(single(address)?, number));
        }
        let (name, itself) = host.strip_prefix("*.").map_or((host, true), |name| (name, false));
        if name.contains(['*', '@', '?', '#', '%', '\\']) || name.is_empty() {
            return Err("it is neither a host, an address nor a block of addresses".into());
        }
        match url::Host::parse(name) {
            Ok(url::Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(&name).to_ascii_lowercase();
                if name.split('.').any(str::is_empty) {
                    return Err("it has an empty part".into());
                }
                Ok(entry(Pattern::Name { name, itself }, number))
            }
            Ok(address) => Err(format!("write the address in its usual form, {address}")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Does the entry name this host at this port?
    #[must_use]
    pub fn covers(&self, host: &Host, port: u16) -> bool {
        self.fits_port(port)
            && match (&self.pattern, host) {
                (Pattern::Public, Host::Name(_)) => !host.is_localhost(),
                (Pattern::Public, Host::Address(address)) => class(*address).is_none(),
                (Pattern::Name { name, itself }, Host::Name(host)) => {
                    is_below(host, name) && (*itself || host != name)
                }
                (Pattern::Block(..), Host::Address(address)) => self.names(*address),
                (Pattern::Name { .. }, Host::Address(_)) | (Pattern::Block(..), Host::Name(_)) => false,
            }
    }

    /// A port below 1024 that is not one of the web's must be named itself.
    fn fits_port(&self, port: u16) -> bool {
        match self.port {
            Some(own) => own == port,
            None => matches!(port, 80 | 443) || port >= 1024,
        }
    }

    /// Does the entry name this very address? A metadata service only by itself, not by a block.
    fn names(&self, address: IpAddr) -> bool {
        let Pattern::Block(base, length) = self.pattern else { return false };
        let (base, address) = (base.to_canonical(), address.to_canonical());
        let alone = base == address && length == bits(base);
        alone || (class(address) != Some(Class::Metadata) && contains(base, length, address))
    }

    /// Is everything that the other entry names named by this one?
    fn includes(&self, other: &Entry) -> bool {
        let ports = self.port.is_none() || self.port == other.port;
        let places = match (&self.pattern, &other.pattern) {
            (Pattern::Public, Pattern::Public) => true,
            (Pattern::Public, Pattern::Name { name, .. }) => !is_below(name, "localhost"),
            (Pattern::Public, Pattern::Block(base, length)) => {
                *length == bits(*base) && class(*base).is_none()
            }
            (Pattern::Name { name, itself }, Pattern::Name { name: other, itself: other_itself }) => {
                is_below(other, name) && (*itself || other != name || !other_itself)
            }
            (Pattern::Block(base, length), Pattern::Block(other, other_length)) => {
                length <= other_length && contains(*base, *length, *other)
            }
            _ => false,
        };
        ports && places
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn contains(base: IpAddr, length: u8, address: IpAddr) -> bool {
    match (base, address) {
        (IpAddr::V4(base), IpAddr::V4(address)) => {
            let shift = 32u32.saturating_sub(length.into());
            u64::from(base.to_bits()) >> shift == u64::from(address.to_bits()) >> shift
        }
        (IpAddr::V6(base), IpAddr::V6(address)) => {
            let shift = 128u32.saturating_sub(length.into());
            (base.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
        }
        _ => false,
    }
}

fn port(text: &str) -> Result<u16, String> {
    text.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| format!("`{text}` is not a port"))
}

fn single(address: IpAddr) -> Result<Pattern, String> {
    match class(address).filter(|class| !class.can_be_named()) {
        Some(class) => Err(format!("{address} is {class}, which cannot be allowed")),
        None => Ok(Pattern::Block(address, bits(address))),
    }
}

fn block(base: &str, length: &str) -> Result<Pattern, String> {
    let base: IpAddr =
        base.parse().map_err(|_| "it is neither a host, an address nor a block of addresses")?;
    let length: u8 = length.parse().map_err(|_| format!("`{length}` is not the length of a block"))?;
    let least = if base.is_ipv4() { 8 } else { 16 };
    if length < least || length > bits(base) {
        return Err(format!(
            "the length of a block is {least} to {}; `*` means every public host",
            bits(base)
        ));
    }
    Ok(Pattern::Block(base, length))
}

/// Both lists.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    /// The operator's list; none means that nothing is agreed on.
    org: Option<Vec<Entry>>,
    /// The run's list, a part of the former.
    request: Option<Vec<Entry>>,
}

impl Lists {
    /// The lists of the settings.
    ///
    /// # Errors
    /// Names the entry that cannot be understood, or that the operator's list does not include.
    pub fn from_settings(settings: &Settings) -> Result<Self, Refusal> {
        let lists = Lists {
            org: read(settings, &table::WEB_ORG_ALLOWLIST)?,
            request: read(settings, &table::WEB_REQUEST_ALLOWLIST)?,
        };
        if let (Some(org), Some(request)) = (&lists.org, &lists.request)
            && let Some(stray) =
                request.iter().find(|entry| !org.iter().any(|allowed| allowed.includes(entry)))
        {
            return Err(Refusal::new(
                RefusalKind::Lists,
                format!(
                    "`{}` in {} is not part of {}, so no list can be relied on",
                    stray.text,
                    table::WEB_REQUEST_ALLOWLIST.key,
                    table::WEB_ORG_ALLOWLIST.key
                ),
                format!(
                    "Tell the person: take `{}` out of {}, or add it to {}.",
                    stray.text,
                    table::WEB_REQUEST_ALLOWLIST.key,
                    table::WEB_ORG_ALLOWLIST.key
                ),
            ));
        }
        Ok(lists)
    }

    /// Has the operator given a list?
    #[must_use]
    pub fn has_org(&self) -> bool {
        self.org.is_some()
    }

    /// Does the operator's list name it?
    #[must_use]
    pub fn org_covers(&self, to: &Destination) -> bool {
        covers(self.org.as_deref(), to)
    }

    /// Does the run's list name it, or is there none?
    #[must_use]
    pub fn request_covers(&self, to: &Destination) -> bool {
        self.request.is_none() || covers(self.request.as_deref(), to)
    }

    /// Does the operator's list name this very address at this port?
    #[must_use]
    pub fn names(&self, address: IpAddr, port: u16) -> bool {
        self.org.iter().flatten().any(|entry| entry.fits_port(port) && entry.names(address))
    }

    /// The entries of the list that decides, for messages.
    #[must_use]
    pub fn told(&self, request: bool) -> String {
        const MAX_SHOWN_ENTRIES: usize = 20;
        let list = if request { &self.request } else { &self.org };
        let mut texts: Vec<String> =
            list.iter().flatten().take(MAX_SHOWN_ENTRIES).map(|entry| format!("`{}`", entry.text)).collect();
        let more = list.as_ref().map_or(0, Vec::len).saturating_sub(MAX_SHOWN_ENTRIES);
        if more > 0 {
            texts.push(format!("{more} more"));
        }
        texts.join(", ")
    }
}

fn covers(list: Option<&[Entry]>, to: &Destination) -> bool {
    list.into_iter().flatten().any(|entry| entry.covers(to.host(), to.port()))
}

fn read(settings: &Settings, setting: &Setting) -> Result<Option<Vec<Entry>>, Refusal> {
    if settings.given(setting).is_none() {
        return Ok(None);
    }
    let entries = settings.list(setting).into_iter().map(|text| {
        Entry::parse(&text).map_err(|wrong| {
            Refusal::new(
                RefusalKind::Lists,
                format!("`{text}` in {} cannot be understood: {wrong}", setting.key),
                format!(
                    "Tell the person to fix {}: entries are hosts (`example.com`, `example.com:8443`), addresses \
                     (`127.0.0.1:8080`), blocks (`10.0.0.0/8`) or `*`.",
                    setting.key
                ),
            )
        })
    });
    entries.collect::<Result<Vec<_>, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;
    use marvin_base::settings::Sources;

    fn lists(org: &str, request: &str) -> Result<Lists, Refusal> {
        let environment = Environment::from_iter([
            ("MARVIN_WEB_ORG_ALLOWLIST", org),
            ("MARVIN_WEB_REQUEST_ALLOWLIST", request),
        ]);
        Lists::from_settings(&Settings::load(&Sources { environment, ..Sources::default() }).unwrap())
    }

    fn covered(entry: &str, url: &str) -> bool {
        let to = Destination::understand(url).unwrap();
        Entry::parse(entry).unwrap().covers(to.host(), to.port())
    }

    #[test]
    fn a_name_covers_itself_and_what_is_below_it() {
        for (entry, url) in [
            ("example.com", "https://example.com/"),
            ("example.com", "https://a.b.EXAMPLE.com./x"),
            ("Example.COM.", "http://example.com:8080/"),
            ("*.example.com", "https://a.example.com/"),
            ("example.com:8443", "https://example.com:8443/"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
            ("*", "https://example.com/"),
            ("*", "https://8.8.8.8/"),
            ("8.8.8.8", "https://8.8.8.8/"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("127.0.0.1", "http://[::ffff:127.0.0.1]:8080/"),
            ("10.0.0.0/8", "http://10.1.2.3/"),
            ("[::1]:8080", "http://[::1]:8080/"),
            ("::1", "http://[::1]/"),
            ("fd00::/16", "http://[fd00::1]/"),
            ("localhost", "http://localhost:3000/"),
            ("localhost:3000", "http://localhost:3000/"),
            ("169.254.169.254", "http://169.254.169.254/"),
            ("127.0.0.1:25", "http://127.0.0.1:25/"),
        ] {
            assert!(covered(entry, url), "{entry} {url}");
        }
        for (entry, url) in [
            ("example.com", "https://evilexample.com/"),
            ("example.com", "https://example.com.evil/"),
            ("example.com", "https://example.co/"),
            ("example.com", "https://com/"),
            ("example.com", "https://ехample.com/"),
            ("example.com", "https://exampⅼe.com.evil.org/"),
            ("*.example.com", "https://example.com/"),
            ("example.com:8443", "https://example.com/"),
            ("example.com", "http://example.com:25/"),
            ("*", "http://127.0.0.1/"),
            ("*", "http://localhost/"),
            ("*", "http://a.localhost/"),
            ("*", "http://10.0.0.1/"),
            ("*", "http://8.8.8.8:22/"),
            ("127.0.0.1:8080", "http://127.0.0.1:8081/"),
            ("127.0.0.1", "http://localhost/"),
            ("localhost", "http://127.0.0.1/"),
            ("10.0.0.0/8", "http://11.0.0.1/"),
            ("169.254.0.0/16", "http://169.254.169.254/"),
            ("fd00::/16", "http://[fd00:ec2::254]/"),
        ] {
            assert!(!covered(entry, url), "{entry} {url}");
        }
    }

    #[test]
    fn a_bad_entry_is_named() {
        for entry in [
            "https://example.com",
            "a*.example.com",
            "user@example.com",
            "example.com:0",
            "example.com:http",
            "0.0.0.0",
            "0.0.0.0/0",
            "::/0",
            "10.0.0.0/33",
            "224.0.0.1",
            "255.255.255.255",
            "127.1",
            "0x7f000001",
            "a..b",
            "[::1",
            "example.com/path",
        ] {
            let refusal = lists(entry, "").expect_err(entry);
            assert_eq!(refusal.kind, RefusalKind::Lists);
            assert!(refusal.reason.contains(&format!("`{entry}`")), "{refusal}");
            assert!(refusal.reason.contains("web.org_allowlist"), "{refusal}");
        }
    }

    #[test]
    fn the_runs_list_is_a_part_of_the_operators() {
        for (org, request) in [
            ("example.com", "example.com"),
            ("example.com", "a.example.com, b.example.com:8443"),
            ("*", "example.com, 8.8.8.8, *:443"),
            ("10.0.0.0/8", "10.1.0.0/16, 10.2.3.4:80"),
            ("*.example.com", "*.example.com"),
            ("", "anything.example"),
        ] {
            lists(org, request).unwrap_or_else(|error| panic!("{org} {request}: {error}"));
        }
        for (org, request, stray) in [
            ("example.com", "example.com, evil.org", "evil.org"),
            ("example.com", "*", "*"),
            ("a.example.com", "example.com", "example.com"),
            ("example.com:8443", "example.com", "example.com"),
            ("*", "127.0.0.1", "127.0.0.1"),
            ("*", "localhost", "localhost"),
            ("10.0.0.0/16", "10.0.0.0/8", "10.0.0.0/8"),
            ("*.example.com", "example.com", "example.com"),
        ] {
            let refusal = lists(org, request).expect_err(request);
            assert!(refusal.reason.contains(&format!("`{stray}`")), "{refusal}");
        }
    }
}
