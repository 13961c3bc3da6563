//! Access control of the server, in the order of its checks.
//!
//! 1. `Host` must name this server: a page elsewhere whose name was made to lead here (rebinding) names itself instead.
//!    An address in digits cannot be made to lead anywhere, so beyond this machine digits are taken, names are not.
//! 2. `Origin`, where a browser sends it, must be this server, and so must `Sec-Fetch-Site` for data. There is no CORS.
//! 3. The token, as `Authorization: Bearer …`, for everything that is data or changes something. It is in no cookie, so
//!    no other page can make a browser send it.
//! 4. Not more requests than a person with a few programs makes. Requests with the token, without it, and with a wrong one are
//!    counted apart, so that others cannot use up the person's share; the page's own files are not counted.
//!
//! Every answer also says that only this server's own files may run or be loaded, and that no page may frame it.

use crate::answer::Refusal;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use marvin_base::token::TokenHash;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Requests at once, and a second.
const BURST: f64 = 1_200.0;
const A_SECOND: f64 = 300.0;
/// Wrong tokens at once, and a second.
const WRONG_BURST: f64 = 60.0;
const WRONG_A_SECOND: f64 = 5.0;
const MAX_URI_BYTES: usize = 4 * 1024;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Headers of every answer.
const ALWAYS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
];

/// Lets requests in.
#[derive(Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
    /// Tokens that are known; each stands for one caller.
    keys: Vec<TokenHash>,
    with_token: Mutex<Bucket>,
    open: Mutex<Bucket>,
    wrong: Mutex<Bucket>,
}

/// How much of something there may be: so much at once, so much a second.
#[derive(Debug)]
struct Bucket {
    left: f64,
    most: f64,
    rate: f64,
    at: Instant,
}

impl Bucket {
    fn new(most: f64, rate: f64) -> Mutex<Bucket> {
        Mutex::new(Bucket { left: most, most, rate, at: Instant::now() })
    }

    fn fill(&mut self) {
        let now = Instant::now();
        self.left = (self.left + now.duration_since(self.at).as_secs_f64() * self.rate).min(self.most);
        self.at = now;
    }

    /// Takes one, if there is one.
    fn take(&mut self) -> bool {
        self.fill();
        let there = self.left >= 1.0;
        self.left -= f64::from(u8::from(there));
        there
    }
}

fn locked(bucket: &Mutex<Bucket>) -> std::sync::MutexGuard<'_, Bucket> {
    bucket.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, tokens: &[&str]) -> Self {
        Guard {
            address,
            keys: tokens.iter().map(|token| TokenHash::new(token)).collect(),
            with_token: Bucket::new(BURST, A_SECOND),
            open: Bucket::new(BURST, A_SECOND),
            wrong: Bucket::new(WRONG_BURST, WRONG_A_SECOND),
        }
    }

    /// Lets a request in, or says why not. `open`: it needs no token. Returns the position of its token; without one, the first.
    pub(crate) fn admit(&self, uri: &Uri, headers: &HeaderMap, open: bool) -> Result<usize, Refusal> {
        if uri.path_and_query().is_some_and(|whole| whole.as_str().len() > MAX_URI_BYTES) {
            return Err(Refusal::new(StatusCode::URI_TOO_LONG, "the address is too long"));
        }
        let host = self.host(uri, headers)?;
        self.origin(headers, &host)?;
        if open {
            // Cheap to serve, and the first thing that a person's browser asks for.
            let is_file = uri.path() == "/" || uri.path().starts_with("/assets/");
            return if is_file || locked(&self.open).take() { Ok(0) } else { Err(too_many()) };
        }
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "another page asks; only this server's own page may",
            ));
        }
        self.token(headers)
    }

    /// The host that is asked for, where it is this server.
    fn host(&self, uri: &Uri, headers: &HeaderMap) -> Result<String, Refusal> {
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().and_then(|host| host.to_str().ok()).map(str::to_ascii_lowercase);
        let wrong = || {
            let why = format!(
                "the Host is not this server's\n  hint: ask for http://{}, by its address and not by another name",
                self.address
            );
            Refusal::new(StatusCode::MISDIRECTED_REQUEST, why)
        };
        let host = host.filter(|_| named.next().is_none()).ok_or_else(wrong)?;
        let whole = uri.authority().map(|authority| authority.as_str().to_ascii_lowercase());
        if whole.is_some_and(|whole| whole != host) || !self.is_ours(&host) {
            return Err(wrong());
        }
        Ok(host)
    }

    fn is_ours(&self, host: &str) -> bool {
        let port = self.address.port();
        let (name, given) = match host.rsplit_once(':') {
            Some((name, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                (name, digits.parse().ok())
            }
            _ => (host, Some(80)),
        };
        if given != Some(port) {
            return false;
        }
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        match bare.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || !self.address.ip().is_loopback(),
            Err(_) => name == "localhost",
        }
    }

    fn origin(&self, headers: &HeaderMap, host: &str) -> Result<(), Refusal> {
        let ours = format!("http://{host}");
        let is_ours = |origin: &HeaderValue| origin.as_bytes().eq_ignore_ascii_case(ours.as_bytes());
        match headers.get_all(header::ORIGIN).iter().all(is_ours) {
            true => Ok(()),
            false => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "the Origin is another page's; only this server's own page may ask",
            )),
        }
    }

    fn token(&self, headers: &HeaderMap) -> Result<usize, Refusal> {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let one = given.next().and_then(|value| value.to_str().ok()).filter(|_| given.next().is_none());
        // Every token is compared, so that the time tells nothing about which one fits.
        let keys = self.keys.iter().enumerate();
        let found = keys.fold(None, |found, (position, key)| {
            let fits = one.is_some_and(|one| key.fits_bearer(one));
            if fits { Some(position) } else { found }
        });
        if let Some(position) = found {
            return if locked(&self.with_token).take() { Ok(position) } else { Err(too_many()) };
        }
        if !locked(&self.wrong).take() {
            return Err(too_many());
        }
        let why = "the token is missing or wrong\n  hint: open the link that Marvin printed, or send `Authorization: Bearer TOKEN`";
        let refusal = Refusal::new(StatusCode::UNAUTHORIZED, why);
        Err(refusal.with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
    }
}

fn too_many() -> Refusal {
    let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again in a second");
    refusal.with(header::RETRY_AFTER, HeaderValue::from_static("1"))
}

/// Puts the headers of every answer into this one.
pub(crate) fn seal(response: &mut Response) {
    for (name, value) in ALWAYS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard::new(address.parse().unwrap(), &["secret"])
    }

    #[test]
    fn only_this_server_is_meant() {
        let here = guard("127.0.0.1:8765");
        for host in ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"] {
            assert!(here.is_ours(host), "{host}");
        }
        let others = [
            "evil.example:8765",
            "127.0.0.1",
            "127.0.0.1:8766",
            "localhost",
            "192.168.1.2:8765",
            "localhost.evil.example:8765",
            "127.0.0.1.evil.example:8765",
            "",
            ":8765",
            "0:8765",
            "[::1",
            "127.0.0.1:8765:8765",
            "localhost:",
            "localhost:99999999",
        ];
        for host in others {
            assert!(!here.is_ours(host), "{host}");
        }
        let beyond = guard("0.0.0.0:80");
        assert!(beyond.is_ours("192.168.1.2") && beyond.is_ours("192.168.1.2:80"));
        assert!(!beyond.is_ours("box.lan") && !beyond.is_ours("192.168.1.2:81"));
    }

    #[test]
    fn each_token_is_a_caller_of_its_own() {
        let guard = Guard::new("127.0.0.1:1".parse().unwrap(), &["one", "two"]);
        let caller = |token: &'static str| {
            let headers = HeaderMap::from_iter([
                (header::HOST, HeaderValue::from_static("127.0.0.1:1")),
                (header::AUTHORIZATION, HeaderValue::from_static(token)),
            ]);
            guard.admit(&Uri::from_static("/api/table/x"), &headers, false).ok()
        };
        assert_eq!(caller("Bearer one"), Some(0));
        assert_eq!(caller("Bearer two"), Some(1));
        assert_eq!(caller("Bearer three"), None);
    }

    #[test]
    fn guesses_run_out_before_they_matter() {
        let guard = guard("127.0.0.1:1");
        let headers = HeaderMap::from_iter([
            (header::HOST, HeaderValue::from_static("127.0.0.1:1")),
            (header::AUTHORIZATION, HeaderValue::from_static("Bearer guess")),
        ]);
        let uri: Uri = "/api/status".parse().unwrap();
        let codes: Vec<StatusCode> =
            (0..200).map(|_| guard.admit(&uri, &headers, false).unwrap_err().status).collect();
        assert_eq!(codes.first(), Some(&StatusCode::UNAUTHORIZED));
        assert!(codes.iter().filter(|code| **code == StatusCode::TOO_MANY_REQUESTS).count() > 100);
    }

    #[test]
    fn s12_requests_without_a_token_leave_the_person_their_share() {
        let guard = guard("127.0.0.1:1");
        let headers = |token: &'static str| {
            HeaderMap::from_iter([
                (header::HOST, HeaderValue::from_static("127.0.0.1:1")),
                (header::AUTHORIZATION, HeaderValue::from_static(token)),
            ])
        };
        let uri = |path: &'static str| Uri::from_static(path);
        for _ in 0..3_000 {
            guard.admit(&uri("/api/status"), &headers("Bearer guess"), false).unwrap_err();
            guard.admit(&uri("/healthz"), &headers("Bearer guess"), true).ok();
        }
        assert!(guard.admit(&uri("/healthz"), &headers(""), true).is_err(), "their own share is used up");
        for path in ["/", "/assets/main.js"] {
            guard.admit(&uri(path), &headers(""), true).unwrap();
        }
        for _ in 0..1_000 {
            guard.admit(&uri("/api/status"), &headers("Bearer secret"), false).unwrap();
        }
    }
}
