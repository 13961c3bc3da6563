//! May this request be made?
//!
//! Three questions, asked again for every redirect. *Where does it go?* [`Destination`] leaves no doubt. *Is the host agreed
//! on?* The operator's list and the run's list say so ([`allowlist`]). *Which machine is that?* [`Guard::resolve`] looks the
//! name up once and checks every address; the caller connects to one of these and to nothing else, so that a name which
//! changes its mind between the check and the connection gains nothing.
//!
//! Limits: a public address of this very machine, or of its router, is a public address.

pub mod address;
pub mod allowlist;
pub mod destination;
#[cfg(test)]
mod tests;

pub use destination::{Destination, Host};

use crate::refusal::{Refusal, RefusalKind};
use crate::verdict::Verdict;
use allowlist::Lists;
use marvin_base::redact::Redactor;
use marvin_base::settings::{Setting, Settings, table};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// A service that the operator's settings name. Its own tool may use it without a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// The search engine.
    Search,
    /// GitHub's HTTP interface.
    GithubApi,
    /// Clones of repositories.
    GithubClone,
    /// The server of push notifications.
    Ntfy,
    /// Magic cards; for a person who switched its tool on.
    Scryfall,
    /// The store of games; likewise.
    Steam,
    /// The search engine for what players say; likewise.
    Knowledge,
    /// The feed of headlines.
    News,
    /// Places of IP addresses.
    IpLocation,
    /// Google Places.
    Places,
    /// Search in OpenStreetMap.
    Nominatim,
    /// Objects of OpenStreetMap.
    Overpass,
    /// Routes.
    Osrm,
    /// Weather.
    OpenMeteo,
    /// Papers.
    SemanticScholar,
    Arxiv,
    Wikipedia,
    StackExchange,
    NewsApi,
    /// Films and series.
    Omdb,
    /// Games.
    Rawg,
    /// Players of Steam.
    SteamApi,
    /// Recipes.
    MealDb,
    MusicBrainz,
    Spotify,
    SpotifyAccounts,
    /// Rates of currencies.
    Frankfurter,
    Dictionary,
    Translation,
}

impl Service {
    /// The setting that names it.
    #[must_use]
    pub fn setting(self) -> &'static Setting {
        match self {
            Service::Search => &table::WEB_SEARCH_URL,
            Service::GithubApi => &table::GITHUB_API_URL,
            Service::GithubClone => &table::GITHUB_CLONE_URL,
            Service::Ntfy => &table::NTFY_URL,
            Service::Scryfall => &table::SCRYFALL_URL,
            Service::Steam => &table::STEAM_URL,
            Service::Knowledge => &table::KNOWLEDGE_URL,
            Service::News => &table::NEWS_URL,
            Service::IpLocation => &table::IP_LOCATION_URL,
            Service::Places => &table::PLACES_URL,
            Service::Nominatim => &table::NOMINATIM_URL,
            Service::Overpass => &table::OVERPASS_URL,
            Service::Osrm => &table::OSRM_URL,
            Service::OpenMeteo => &table::OPEN_METEO_URL,
            Service::SemanticScholar => &table::SEMANTIC_SCHOLAR_URL,
            Service::Arxiv => &table::ARXIV_URL,
            Service::Wikipedia => &table::WIKIPEDIA_URL,
            Service::StackExchange => &table::STACK_EXCHANGE_URL,
            Service::NewsApi => &table::NEWSAPI_URL,
            Service::Omdb => &table::OMDB_URL,
            Service::Rawg => &table::RAWG_URL,
            Service::SteamApi => &table::STEAM_API_URL,
            Service::MealDb => &table::MEALDB_URL,
            Service::MusicBrainz => &table::MUSICBRAINZ_URL,
            Service::Spotify => &table::SPOTIFY_URL,
            Service::SpotifyAccounts => &table::SPOTIFY_ACCOUNTS_URL,
            Service::Frankfurter => &table::FRANKFURTER_URL,
            Service::Dictionary => &table::DICTIONARY_URL,
            Service::Translation => &table::TRANSLATION_URL,
        }
    }
}

/// Judges requests by the settings of this process.
#[derive(Debug)]
pub struct Guard<'a> {
    settings: &'a Settings,
    redactor: &'a Redactor,
    lists: Lists,
}

impl<'a> Guard<'a> {
    /// A guard with the lists of the settings.
    ///
    /// # Errors
    /// When a list cannot be understood, or the run's list is not a part of the operator's.
    pub fn new(settings: &'a Settings, redactor: &'a Redactor) -> Result<Self, Refusal> {
        Ok(Guard { settings, redactor, lists: Lists::from_settings(settings)? })
    }

    /// May this address be fetched? The answer is not settled: a host that is on no list is asked about.
    #[must_use]
    pub fn judge(&self, url: &str, service: Option<Service>) -> Verdict {
        match Destination::understand(url) {
            Ok(to) => self.judge_destination(&to, service),
            Err(refusal) => refusal.verdict(),
        }
    }

    fn judge_destination(&self, to: &Destination, service: Option<Service>) -> Verdict {
        let checked = self
            .keeps_secrets(to)
            .and_then(|()| match to.host() {
                Host::Address(address) => self.check_address(to, *address, service),
                Host::Name(_) => Ok(()),
            })
            .and_then(|()| self.check_lists(to, service));
        match checked {
            Err(refusal) => refusal.verdict(),
            Ok(true) => Verdict::allow("network.listed", format!("{} is agreed on", to.place())),
            Ok(false) => Verdict::ask(
                "network.unlisted",
                format!("no list of hosts says that {} may be reached{}", to.place(), look_alike(to)),
                format!(
                    "Work without it, or tell the person: add `{}` to {} in their config.toml (or {}).",
                    to.place(),
                    table::WEB_ORG_ALLOWLIST.key,
                    variable(&table::WEB_ORG_ALLOWLIST)
                ),
            ),
        }
    }

    /// Neither the address nor what it decodes to may carry a secret that is known, or that looks like one.
    fn keeps_secrets(&self, to: &Destination) -> Result<(), Refusal> {
        let text = to.url().as_str();
        let spaced = text.replace('+', " ");
        let once = decode(text);
        let twice = decode(&once);
        if [text, &spaced, &once, &twice, &decode(&spaced)].iter().any(|text| self.redactor.finds(text)) {
            return Err(Refusal::new(
                RefusalKind::SendsSecret,
                format!("this address would send a secret out, to {}", to.place()),
                "Leave the secret out of the address. Headers for a host are set by the person (web.domain_secrets).",
            ));
        }
        Ok(())
    }

    /// Is it agreed on (true), a question (false), or refused?
    fn check_lists(&self, to: &Destination, service: Option<Service>) -> Result<bool, Refusal> {
        if self.lists.has_org() && !self.lists.org_covers(to) {
            return Err(self.not_listed(to, &table::WEB_ORG_ALLOWLIST, false));
        }
        if !self.lists.request_covers(to) {
            return Err(self.not_listed(to, &table::WEB_REQUEST_ALLOWLIST, true));
        }
        if self.lists.has_org() || self.is_service(to, service) {
            return Ok(true);
        }
        if to.host().is_localhost() {
            return Err(Refusal::new(
                RefusalKind::Address,
                format!("{} is this machine, which no list of hosts names", to.place()),
                address_hint(&to.place()),
            ));
        }
        Ok(false)
    }

    fn not_listed(&self, to: &Destination, setting: &Setting, request: bool) -> Refusal {
        Refusal::new(
            RefusalKind::Allowlist,
            format!("{} is not on the list {}{}", to.place(), setting.key, look_alike(to)),
            format!(
                "The list names {}. Use one of these, or tell the person: add `{}` to {} (or {}).",
                self.lists.told(request),
                to.place(),
                setting.key,
                variable(setting)
            ),
        )
    }

    /// Is this the service that the settings name, and is it asked for by its own tool?
    fn is_service(&self, to: &Destination, service: Option<Service>) -> bool {
        let named = service.map(|service| self.settings.text(service.setting()));
        named.and_then(|url| Destination::understand(url).ok()).is_some_and(|named| named.same_origin(to))
    }

    /// May a connection to this address be made for this destination?
    ///
    /// # Errors
    /// When the address is not a public one and the operator did not name it.
    pub fn check_address(
        &self,
        to: &Destination,
        address: IpAddr,
        service: Option<Service>,
    ) -> Result<(), Refusal> {
        let Some(class) = address::class(address) else { return Ok(()) };
        if self.lists.names(address, to.port()) {
            return Ok(());
        }
        // The name says which machine is meant, and the lists were asked about the name.
        if to.host().is_localhost() && address.to_canonical().is_loopback() {
            return Ok(());
        }
        let literal = *to.host() == Host::Address(address);
        if literal && !self.lists.has_org() && self.is_service(to, service) {
            return Ok(());
        }
        let what = if literal { to.place() } else { format!("{} is {address}, and that", to.place()) };
        Err(Refusal::new(
            RefusalKind::Address,
            format!("{what} is {class}, which no list of hosts names"),
            address_hint(&to.place_of(&Host::Address(address))),
        ))
    }

    /// The addresses of a destination, every one of them checked. Looks the name up once, and waits for it.
    ///
    /// # Errors
    /// When the name is unknown, or a single one of its addresses may not be connected to.
    pub fn resolve(
        &self,
        to: &Destination,
        service: Option<Service>,
        lookup: &dyn Fn(&str, u16) -> std::io::Result<Vec<SocketAddr>>,
    ) -> Result<Vec<SocketAddr>, Refusal> {
        let found = match to.host() {
            Host::Address(address) => vec![SocketAddr::new(*address, to.port())],
            Host::Name(name) => {
                lookup(name, to.port()).map_err(|error| unresolved(name, &error.to_string()))?
            }
        };
        for address in &found {
            self.check_address(to, address.ip(), service)?;
        }
        match found.is_empty() {
            true => Err(unresolved(&to.host().to_string(), "it has no address")),
            false => Ok(found),
        }
    }

    /// Judges a redirect like a request of its own.
    ///
    /// `first` is what was asked for, which may have been a person's decision: that host is agreed on.
    ///
    /// # Errors
    /// When the new address may not be fetched, or encryption would be lost on the way.
    pub fn redirect(
        &self,
        first: &Destination,
        from: &Destination,
        location: &str,
        service: Option<Service>,
    ) -> Result<Destination, Refusal> {
        let refuse = |reason: String, hint: String| Refusal::new(RefusalKind::Redirect, reason, hint);
        let origin = from.place();
        if location.contains(destination::is_unclear) {
            return Err(refuse(
                format!("{origin} leads to an address that cannot be read plainly"),
                "Try another page.".into(),
            ));
        }
        let joined = from.url().join(location).map_err(|error| {
            refuse(format!("{origin} leads to an unusable address: {error}"), "Try another page.".into())
        })?;
        let to = Destination::understand(joined.as_str()).map_err(|refusal| {
            refuse(format!("{origin} leads elsewhere, and {}", refusal.reason), refusal.how_to_fix)
        })?;
        if from.is_https() && !to.is_https() {
            return Err(refuse(
                format!("{origin} leads from https to http ({}), where others can listen", to.place()),
                "Ask for another address of the same page, with https.".into(),
            ));
        }
        let verdict = self.judge_destination(&to, service);
        let same = to.host() == first.host() && (to.port() == first.port() || is_upgrade(first, &to));
        match verdict.decision {
            crate::Decision::Allow => Ok(to),
            crate::Decision::Ask if same => Ok(to),
            crate::Decision::Ask => Err(refuse(
                format!("{origin} leads to {}, which no person has agreed to", to.place()),
                format!("Ask for that address itself if it is wanted. {}", verdict.how_to_fix),
            )),
            crate::Decision::Deny => Err(refuse(
                format!("{origin} leads to an address that is refused: {}", verdict.reason),
                verdict.how_to_fix,
            )),
        }
    }
}

/// The same host, with encryption now.
fn is_upgrade(first: &Destination, to: &Destination) -> bool {
    !first.is_https() && to.is_https() && (first.port(), to.port()) == (80, 443)
}

/// Asks the system for the addresses of a name.
///
/// # Errors
/// An error of the resolver.
pub fn system_lookup(name: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
    Ok((name, port).to_socket_addrs()?.collect())
}

fn unresolved(name: &str, why: &str) -> Refusal {
    let why = why.trim_start_matches("failed to lookup address information: ");
    Refusal::new(
        RefusalKind::Unresolved,
        format!("the name {name} cannot be resolved: {why}"),
        "Check the spelling of the host.",
    )
}

fn address_hint(place: &str) -> String {
    format!(
        "Only addresses on the public internet are open. Where this one is meant, tell the person: add `{place}` to {} in \
         their config.toml (or {}).",
        table::WEB_ORG_ALLOWLIST.key,
        variable(&table::WEB_ORG_ALLOWLIST)
    )
}

fn variable(setting: &Setting) -> &'static str {
    setting.variables.first().copied().unwrap_or_default()
}

/// A name with foreign letters can look like another one.
fn look_alike(to: &Destination) -> &'static str {
    match to.host() {
        Host::Name(name) if name.split('.').any(|part| part.starts_with("xn--")) => {
            " (it holds letters beyond ASCII, which can look like others)"
        }
        _ => "",
    }
}

/// Percent signs decoded once.
fn decode(text: &str) -> String {
    let mut bytes = text.as_bytes().iter();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(&byte) = bytes.next() {
        let digits = bytes.as_slice().get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits
            .filter(|digits| byte == b'%' && !digits.starts_with('+'))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(value) = value {
            decoded.push(value);
            bytes.nth(1);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
