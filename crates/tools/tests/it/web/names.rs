//! Host names that resolve to forbidden addresses, and DNS rebinding.
//!
//! Each scene is played in its own namespaces: a network that has only a loopback, with a public-looking address, a
//! private one and the metadata service's on it, and a file system whose `/etc/resolv.conf` names the scene's
//! DNS server. The lookups are the system's own.

use super::server::{Reply, Server, answer, page, redirect};
use super::{fixture, lists};
use serde_json::json;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::IpAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio_util::task::AbortOnDropHandle;

/// Marks that the scene is already inside its namespaces.
const INSIDE: &str = "MARVIN_TEST_NAMES";
/// Holds a value that must not be shown.
const VALUE: &str = "MARVIN_TEST_HEADER";
const HIDDEN: &str = "velvet-underground-banana";
const PUBLIC: &str = "93.184.216.34";
/// Assigns all addresses to the loopback, then executes the test.
const ENTER: &str = r#"ip link set lo up && ip addr add 93.184.216.34/32 dev lo && ip addr add 10.0.0.5/32 dev lo \
    && ip addr add 169.254.169.254/32 dev lo && mount --bind "$SCENE/resolv.conf" /etc/resolv.conf \
    && { [ ! -e /etc/nsswitch.conf ] || mount --bind "$SCENE/nsswitch.conf" /etc/nsswitch.conf; } && exec "$0" "$@""#;

/// Plays a scene in namespaces, and prints a warning where the kernel has none.
fn play<F: Future<Output = ()>>(name: &str, scene: impl FnOnce() -> F) {
    let played = format!("the scene was played: {name}");
    if std::env::var_os(INSIDE).is_some() {
        tokio::runtime::Runtime::new().unwrap().block_on(scene());
        println!("{played}");
        return;
    }
    let flags = "-rnm";
    let possible = Command::new("unshare").args([flags, "ip", "link", "set", "lo", "up"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: this kernel gives no user, network and mount namespaces; {name} was not played");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("resolv.conf"),
        "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
    )
    .unwrap();
    std::fs::write(directory.path().join("nsswitch.conf"), "hosts: files dns\n").unwrap();
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120", "unshare", flags, "sh", "-c", ENTER])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("web::names::{name}"), "--nocapture"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory.path())
        .env("LANG", "C.UTF-8")
        .env("SCENE", directory.path())
        .env(VALUE, HIDDEN)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains(&played), "{}\n{out}\n{err}", output.status);
}

/// A minimal DNS server over UDP.
struct Names {
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
    _task: AbortOnDropHandle<()>,
}

impl Names {
    /// `zone` returns the addresses of a name for the nth query, from 0.
    async fn start(zone: impl Fn(&str, usize) -> Vec<&'static str> + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:53").await.unwrap();
        let asked = Arc::new(Mutex::new(BTreeMap::new()));
        let counts = asked.clone();
        let task = tokio::spawn(async move {
            let mut buffer = [0; 1500];
            loop {
                let Ok((length, from)) = socket.recv_from(&mut buffer).await else { continue };
                let query = &buffer[..length];
                let Some((name, kind, end)) = question(query) else { continue };
                let nth = {
                    let mut counts = counts.lock().unwrap();
                    let count = counts.entry(format!("{name} {kind}")).or_insert(0);
                    *count += 1;
                    *count - 1
                };
                let addresses = zone(&name, nth).into_iter().map(|text| text.parse::<IpAddr>().unwrap());
                let fitting: Vec<IpAddr> =
                    addresses.filter(|address| address.is_ipv4() == (kind == 1)).collect();
                socket.send_to(&response(query, end, &fitting), from).await.ok();
            }
        });
        Names { asked, _task: AbortOnDropHandle::new(task) }
    }

    /// Number of queries for the IPv4 addresses of a name.
    fn asked(&self, name: &str) -> usize {
        self.asked.lock().unwrap().get(&format!("{name} 1")).copied().unwrap_or(0)
    }
}

/// The name and type of a query, and where it ends.
fn question(query: &[u8]) -> Option<(String, u16, usize)> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(query.get(at..at + length)?).to_ascii_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes([*query.get(at)?, *query.get(at + 1)?]);
    Some((labels.join("."), kind, at + 4))
}

fn response(query: &[u8], end: usize, addresses: &[IpAddr]) -> Vec<u8> {
    let mut bytes = query[..2].to_vec();
    bytes.extend_from_slice(&[0x81, 0x80, 0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    bytes.extend_from_slice(&query[12..end]);
    for address in addresses {
        let (kind, data) = match address {
            IpAddr::V4(address) => (1, address.octets().to_vec()),
            IpAddr::V6(address) => (28, address.octets().to_vec()),
        };
        bytes.extend_from_slice(&[0xc0, 0x0c, 0, kind, 0, 1, 0, 0, 0, 0, 0, data.len() as u8]);
        bytes.extend_from_slice(&data);
    }
    bytes
}

/// Forbidden servers, one on every address that a request could reach.
async fn secrets() -> Vec<Server> {
    let mut servers = Vec::new();
    for address in ["127.0.0.1:80", "10.0.0.5:80", "169.254.169.254:80", "[::1]:80"] {
        servers.push(Server::secret(address).await);
    }
    servers
}

fn hits(servers: &[Server]) -> usize {
    servers.iter().map(Server::hits).sum()
}

#[test]
fn every_address_of_a_name_counts() {
    play("every_address_of_a_name_counts", || async {
        let closed = secrets().await;
        let public =
            Server::on(&format!("{PUBLIC}:80"), |_, _| page("200 OK", "text/plain", "public words")).await;
        let names = Names::start(|name, _| match name {
            "good.example" | "www.good.example" => vec![PUBLIC],
            "private.example" => vec!["10.0.0.5"],
            "loop.example" => vec!["127.0.0.1"],
            "meta.example" => vec!["169.254.169.254"],
            "none.example" => vec!["0.0.0.0"],
            "mixed.example" => vec![PUBLIC, "127.0.0.1"],
            "reverse.example" => vec!["127.0.0.1", PUBLIC],
            "six.example" => vec!["::1"],
            "both.example" => vec![PUBLIC, "::1"],
            "mapped.example" => vec!["::ffff:127.0.0.1"],
            "nat64.example" => vec!["64:ff9b::7f00:1"],
            "sixtofour.example" => vec!["2002:7f00:1::"],
            "linklocal.example" => vec!["fe80::1"],
            _ => vec![],
        })
        .await;
        let fixture = lists("*", "");
        for host in ["good.example", "GOOD.example.", "www.good.example"] {
            let text = fixture.good("web_fetch", json!({"url": format!("http://{host}/")})).await;
            assert!(text.contains("public words"), "{text}");
        }
        let head = public.heads()[1].to_ascii_lowercase();
        assert!(head.contains("host: good.example\r\n"), "{head}");
        for host in [
            "private.example",
            "loop.example",
            "meta.example",
            "none.example",
            "mixed.example",
            "reverse.example",
            "six.example",
            "both.example",
            "mapped.example",
            "nat64.example",
            "sixtofour.example",
            "linklocal.example",
        ] {
            for tool in ["web_fetch", "scrape_page", "browse_web", "read_rss", "download_file"] {
                let text = fixture.bad(tool, json!({"url": format!("http://{host}/")})).await;
                assert!(text.contains("which no list of hosts names"), "{tool} {host}: {text}");
                assert!(text.contains("web.org_allowlist"), "{tool} {host}: {text}");
            }
        }
        assert_eq!((public.hits(), hits(&closed)), (3, 0));
        assert_eq!(names.asked("mixed.example"), 5);
        let text = fixture.bad("web_fetch", json!({"url": "http://unknown.example/"})).await;
        assert!(text.contains("unknown.example cannot be resolved"), "{text}");
        // Listed by the operator by name and by address, it opens.
        for list in ["private.example, 10.0.0.0/8", "*, 10.0.0.5", "private.example, 10.0.0.5:80"] {
            let text = lists(list, "").good("web_fetch", json!({"url": "http://private.example/"})).await;
            assert!(text.contains("THE SECRET"), "{text}");
        }
        for list in ["private.example", "10.0.0.5", "*, 10.0.0.5:8080", "private.example, 10.0.1.0/24"] {
            lists(list, "").bad("web_fetch", json!({"url": "http://private.example/"})).await;
        }
        assert_eq!(hits(&closed), 3);
    });
}

#[test]
fn dns_rebinding_gains_nothing() {
    play("dns_rebinding_gains_nothing", || async {
        let closed = secrets().await;
        let public = Server::on(&format!("{PUBLIC}:80"), |path, _| match path {
            "/back" => redirect("302 Found", "/page"),
            "/other" => redirect("302 Found", "http://later.example/"),
            _ => page("200 OK", "text/plain", "public words"),
        })
        .await;
        let names = Names::start(|name, nth| match name {
            // Public at the first query, and this machine from then on.
            "rebind.example" | "again.example" | "later.example" => match nth {
                0 => vec![PUBLIC],
                _ => vec!["127.0.0.1"],
            },
            "flip.example" => match nth % 2 {
                0 => vec![PUBLIC],
                _ => vec!["169.254.169.254"],
            },
            _ => vec![PUBLIC],
        })
        .await;
        let fixture = lists("*", "");
        // Looked up once: the checked address is the one that is connected to.
        let text = fixture.good("web_fetch", json!({"url": "http://rebind.example/"})).await;
        assert!(text.contains("public words"), "{text}");
        assert_eq!(names.asked("rebind.example"), 1);
        // Every later request resolves the name again.
        for _ in 0..3 {
            fixture.bad("web_fetch", json!({"url": "http://rebind.example/"})).await;
        }
        // A redirect to the same name resolves it again.
        let text = fixture.bad("web_fetch", json!({"url": "http://again.example/back"})).await;
        assert!(text.contains("again.example is 127.0.0.1"), "{text}");
        assert_eq!(names.asked("again.example"), 2);
        fixture.good("web_fetch", json!({"url": "http://first.example/other"})).await;
        fixture.bad("web_fetch", json!({"url": "http://first.example/other"})).await;
        let mut good = 0;
        for _ in 0..20 {
            let called = fixture.call("web_fetch", json!({"url": "http://flip.example/"})).await;
            assert!(!called.result.for_model().contains("THE SECRET"));
            good += usize::from(called.result.ok);
        }
        assert_eq!((good, hits(&closed)), (10, 0));
        assert!(public.hits() >= 10);
    });
}

#[test]
fn an_allowed_name_does_not_allow_its_siblings() {
    play("an_allowed_name_does_not_allow_its_siblings", || async {
        let closed = secrets().await;
        let public =
            Server::on(&format!("{PUBLIC}:80"), |_, _| page("200 OK", "text/plain", "public words")).await;
        let names = Names::start(|_, _| vec![PUBLIC]).await;
        let fixture = lists("allowed.example", "");
        fixture.good("web_fetch", json!({"url": "http://a.b.allowed.example/"})).await;
        for host in ["evilallowed.example", "allowed.example.evil.test", "allowed-example.test", "example"] {
            fixture.bad("web_fetch", json!({"url": format!("http://{host}/")})).await;
            assert_eq!(names.asked(host), 0, "{host} was even looked up");
        }
        assert_eq!((public.hits(), hits(&closed)), (1, 0));
    });
}

#[test]
fn headers_of_a_domain_are_sent_there_and_shown_nowhere() {
    play("headers_of_a_domain_are_sent_there_and_shown_nowhere", || async {
        let other = Server::start(|_, head| page("200 OK", "text/plain", head)).await;
        let elsewhere = other.url("/");
        let echo = Server::start(move |path, head| match path {
            "/type" => page("200 OK", &format!("text/plain; x={HIDDEN}"), head),
            "/location" => redirect("302 Found", &format!("/?q={HIDDEN}")),
            "/leave" => redirect("302 Found", &elsewhere),
            "/pieces" => Reply::Pieces(vec![
                b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nBearer velvet-under".to_vec(),
                b"ground-ban".to_vec(),
                b"ana and more".to_vec(),
            ]),
            "/error" => page("500 Oops", "text/plain", head),
            "/html" => page("200 OK", "text/html", format!("<title>{HIDDEN}</title><p>{head}")),
            "/feed" => page(
                "200 OK",
                "text/xml",
                format!(
                    "<rss version='2.0'><channel><title>{HIDDEN}</title><item><title>{HIDDEN}</title></item></channel></rss>"
                ),
            ),
            "/broken" => answer("200 OK", &[("Content-Encoding", "gzip")], HIDDEN),
            _ => page("200 OK", "text/plain", format!("{}{head}", "x".repeat(50))),
        })
        .await;
        let table = format!(
            r#"{{"127.0.0.1": {{"X-Wrong": "never"}}, "127.0.0.1:{}": {{"Authorization": "Bearer ${VALUE}"}}}}"#,
            echo.address.port()
        );
        let fixture =
            fixture(&[("MARVIN_WEB_ORG_ALLOWLIST", "127.0.0.1"), ("MARVIN_WEB_DOMAIN_SECRETS", &table)]);
        let unseen = |text: &str, whence: &str| {
            for cut in 4..HIDDEN.len() {
                let (start, end) = (HIDDEN.split_at(cut).0, HIDDEN.split_at(HIDDEN.len() - cut).1);
                assert!(!text.contains(start) && !text.contains(end), "{whence}: {text}");
            }
        };
        for (tool, path) in [
            ("web_fetch", "/"),
            ("web_fetch", "/type"),
            ("web_fetch", "/location"),
            ("web_fetch", "/pieces"),
            ("web_fetch", "/error"),
            ("web_fetch", "/html"),
            ("web_fetch", "/broken"),
            ("scrape_page", "/html"),
            ("browse_web", "/html"),
            ("read_rss", "/feed"),
            ("read_rss", "/"),
            ("download_file", "/kept"),
        ] {
            let called = fixture.call(tool, json!({"url": echo.url(path)})).await;
            unseen(&format!("{:?} {:?}", called, called.result.for_model()), &format!("{tool} {path}"));
        }
        unseen(&fixture.read("kept"), "the file");
        assert!(fixture.read("kept").contains("**"));
        assert!(echo.heads().iter().all(|head| head.contains(&format!("Bearer {HIDDEN}"))));
        assert!(echo.heads().iter().all(|head| !head.contains("never")));
        // Cut in the middle of the value.
        for bytes in 100..200 {
            let called = fixture.call("web_fetch", json!({"url": echo.url("/"), "max_bytes": bytes})).await;
            unseen(&called.result.for_model(), &bytes.to_string());
        }
        // Another port of the same machine gets its own headers.
        fixture.good("web_fetch", json!({"url": echo.url("/leave")})).await;
        let seen = other.heads().join("");
        assert!(!seen.contains(HIDDEN) && seen.to_lowercase().contains("x-wrong: never"), "{seen}");
        let missing = super::fixture(&[
            ("MARVIN_WEB_ORG_ALLOWLIST", "127.0.0.1"),
            ("MARVIN_WEB_DOMAIN_SECRETS", r#"{"127.0.0.1": {"X": "$NOT_SET_ANYWHERE"}}"#),
        ]);
        let before = echo.hits();
        let text = missing.bad("web_fetch", json!({"url": echo.url("/")})).await;
        assert!(text.contains("NOT_SET_ANYWHERE") && echo.hits() == before, "{text}");
    });
}

#[test]
fn a_clone_connects_to_the_checked_address() {
    play("a_clone_connects_to_the_checked_address", || async {
        let closed = secrets().await;
        let origin = super::github::Origin::new();
        let root = origin.root();
        let public = Server::with_bodies(&format!("{PUBLIC}:80"), move |path, head, body| {
            super::github::git(&root, path, head, body)
        })
        .await;
        let names = Names::start(|name, nth| match (name, nth) {
            ("git.example", 0) => vec![PUBLIC],
            _ => vec!["10.0.0.5"],
        })
        .await;
        let fixture = fixture(&[("MARVIN_GITHUB_CLONE_URL", "http://git.example")]);
        let text = fixture.good("github_clone", json!({"repo": "owner/one"})).await;
        assert!(text.contains("Cloned owner/one"), "{text}");
        assert_eq!(names.asked("git.example"), 1, "git looked the name up itself");
        let text = fixture.bad("github_clone", json!({"repo": "owner/two"})).await;
        assert!(text.contains("git.example is 10.0.0.5"), "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(public.hits() > 1 && hits(&closed) == 0);
    });
}
