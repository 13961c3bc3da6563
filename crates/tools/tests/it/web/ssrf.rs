//! Requests to forbidden addresses. A server counts its requests: none may arrive.

use super::server::{Reply, Server, page, redirect};
use super::{fixture, lists};
use crate::support::Fixture;
use marvin_gate::{Access, Decision};
use marvin_tools::Mode;
use serde_json::json;

/// Every spelling of an address of this machine or of a private network, and invalid addresses.
fn addresses(port: u16) -> Vec<String> {
    let hosts = [
        "127.0.0.1",
        "127.0.0.2",
        "127.255.255.254",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "sub.localhost",
        "2130706433",
        "0x7f000001",
        "0x7F000001",
        "017700000001",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "0",
        "0.0.0.0",
        "0x0",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[0000::0001]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:0:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[fe80::1]",
        "[fe80::1%25lo]",
        "[fe80::1%lo]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "0xA9FEA9FE",
        "2852039166",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "１２７.０.０.１",
        "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "ⓛocalhost",
        "%31%32%37.0.0.1",
        "allowed.example@127.0.0.1",
        "allowed.example:80@127.0.0.1",
        "@127.0.0.1",
        "127.0.0.1\\@allowed.example",
        "allowed.example\\@127.0.0.1",
        "127.0.0.1%2f@allowed.example",
        "127.0.0.1%00.allowed.example",
        "127.0.0.1\t",
        "127.0.\n0.1",
        "loc\talhost",
        "local\u{200b}host",
        "local\u{ad}host",
    ];
    hosts.into_iter().map(|host| format!("http://{host}:{port}/")).collect()
}

/// Other ways to reach them.
fn schemes(port: u16) -> Vec<String> {
    [
        "file:///etc/passwd",
        "file://127.0.0.1/etc/passwd",
        "ftp://127.0.0.1:PORT/",
        "gopher://127.0.0.1:PORT/_GET%20/",
        "dict://127.0.0.1:PORT/x",
        "ldap://127.0.0.1:PORT/",
        "data:text/plain,secret",
        "unix:///var/run/docker.sock",
        "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
        "ws://127.0.0.1:PORT/",
        "jar:http://127.0.0.1:PORT/!/x",
        "view-source:http://127.0.0.1:PORT/",
        "javascript:fetch('http://127.0.0.1:PORT/')",
        "blob:http://127.0.0.1:PORT/x",
        "http:127.0.0.1:PORT/",
        "http:/127.0.0.1:PORT/",
        "http:///127.0.0.1:PORT/",
        "http:\\\\127.0.0.1:PORT\\",
        "//127.0.0.1:PORT/",
        "127.0.0.1:PORT",
        "\u{feff}http://127.0.0.1:PORT/",
        "http://127.0.0.1:PORT/#@allowed.example/",
        "http://127.0.0.1:PORT/?@allowed.example/",
        "http://127.0.0.1:PORT?allowed.example",
        "HtTp://127.0.0.1:PORT/",
    ]
    .into_iter()
    .map(|text| text.replace("PORT", &port.to_string()))
    .collect()
}

async fn no_request_arrives(fixture: &Fixture, secret: &Server, urls: &[String]) {
    for url in urls {
        for (tool, arguments) in [
            ("web_fetch", json!({"url": url, "timeout_s": 3})),
            ("scrape_page", json!({"url": url})),
            ("browse_web", json!({"url": url})),
            ("read_rss", json!({"url": url})),
            ("download_file", json!({"url": url, "filename": "x"})),
        ] {
            let called = fixture.call(tool, arguments).await;
            let text = called.result.for_model();
            assert!(!called.result.ok, "{tool} {url:?}: {text}");
            assert!(!text.contains("THE SECRET"), "{tool} {url:?}: {text}");
            assert!(called.verdict.decision == Decision::Deny, "{tool} {url:?}: {:?}", called.verdict);
            assert!(called.verdict.rule.starts_with("network."), "{tool} {url:?}: {:?}", called.verdict);
            assert!(!called.verdict.how_to_fix.is_empty(), "{tool} {url:?}");
            assert!(!fixture.root.join("x").exists() && !fixture.home.join("Downloads/x").exists());
        }
    }
    assert_eq!(secret.hits(), 0);
}

#[tokio::test]
async fn no_spelling_of_an_address_gets_through() {
    let secret = Server::secret("0.0.0.0:0").await;
    let port = secret.address.port();
    let urls = [addresses(port), schemes(port)].concat();
    assert!(urls.len() >= 60);
    no_request_arrives(&fixture(&[]), &secret, &urls).await;
    no_request_arrives(&lists("*", ""), &secret, &urls).await;
    no_request_arrives(&lists("allowed.example", ""), &secret, &urls).await;
    // Another port of the same machine needs approval, and the run's own list cannot open anything.
    no_request_arrives(&lists("127.0.0.1:1, localhost:1, [::1]:1", ""), &secret, &urls).await;
    no_request_arrives(&fixture(&[("MARVIN_WEB_REQUEST_ALLOWLIST", "127.0.0.1, localhost")]), &secret, &urls)
        .await;
}

#[tokio::test]
async fn an_address_on_the_operators_list_is_open() {
    let secret = Server::secret("127.0.0.1:0").await;
    let port = secret.address.port();
    for (entry, host) in [
        ("127.0.0.1".to_string(), "127.0.0.1"),
        (format!("127.0.0.1:{port}"), "127.0.0.1"),
        ("127.0.0.0/8".to_string(), "127.0.0.1"),
        ("127.0.0.1".to_string(), "2130706433"),
        (format!("localhost:{port}"), "localhost"),
        ("localhost".to_string(), "LOCALHOST."),
        ("127.0.0.1".to_string(), "[::ffff:127.0.0.1]"),
    ] {
        let url = format!("http://{host}:{port}/");
        let text = lists(&entry, "").good("web_fetch", json!({"url": url})).await;
        assert!(text.contains("THE SECRET"), "{entry} {host}: {text}");
    }
    assert_eq!(secret.hits(), 7);
    let six = Server::secret("[::1]:0").await;
    let text = lists(&format!("[::1]:{}", six.address.port()), "")
        .good("web_fetch", json!({"url": six.url("/")}))
        .await;
    assert!(text.contains("THE SECRET"), "{text}");
    // A list entry covers nothing beyond what it names.
    for (entry, host) in [("127.0.0.1", "localhost"), ("localhost", "127.0.0.1"), ("127.0.0.2", "127.0.0.1")]
    {
        lists(entry, "").bad("web_fetch", json!({"url": format!("http://{host}:{port}/")})).await;
    }
    assert_eq!(secret.hits(), 7);
}

#[tokio::test]
async fn redirects_to_other_hosts_are_refused() {
    let secret = Server::secret("0.0.0.0:0").await;
    let port = secret.address.port();
    let front = Server::start(|path, _| {
        let (kind, target) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
        let target = target.replace("%20", " ").replace("%5C", "\\").replace("%09", "\t").replace("~~", "//");
        match kind {
            "301" => redirect("301 Moved Permanently", &target),
            "303" => redirect("303 See Other", &target),
            "307" => redirect("307 Temporary Redirect", &target),
            "308" => redirect("308 Permanent Redirect", &target),
            "refresh" => {
                super::server::answer("200 OK", &[("Refresh", &format!("0; url={target}"))], "quiet")
            }
            "meta" => page(
                "200 OK",
                "text/html",
                format!(
                    "quiet<meta http-equiv=refresh content='0;url={target}'><iframe src='{target}'></iframe>"
                ),
            ),
            "chain" => redirect("302 Found", &format!("/302/{}", target.replace("//", "~~"))),
            _ => redirect("302 Found", &target),
        }
    })
    .await;
    let fixture = lists(&format!("127.0.0.1:{}, allowed.example", front.address.port()), "");
    let targets = [
        format!("http:~~127.0.0.1:{port}/"),
        format!("http:~~localhost:{port}/"),
        format!("http:~~2130706433:{port}/"),
        format!("http:~~[::1]:{port}/"),
        format!("http:~~0.0.0.0:{port}/"),
        format!("http:~~[::ffff:127.0.0.1]:{port}/"),
        format!("~~127.0.0.1:{port}/"),
        format!("http:~~allowed.example@127.0.0.1:{port}/"),
        format!("%5C%5C127.0.0.1:{port}/"),
        format!("/%5C127.0.0.1:{port}/"),
        format!("http:~~127.0.0.1:{port}%09/"),
        format!("https:~~127.0.0.1:{port}/"),
        "http:~~169.254.169.254/latest/meta-data/".to_string(),
        "http:~~10.0.0.1/".to_string(),
        "file:~~/etc/passwd".to_string(),
        format!("ftp:~~127.0.0.1:{port}/"),
        format!("gopher:~~127.0.0.1:{port}/"),
        "data:text/plain,hello".to_string(),
        "javascript:1".to_string(),
        "http:~~evil.example/".to_string(),
        "http:~~evilallowed.example/".to_string(),
        "http:~~allowed.example.evil/".to_string(),
    ];
    for target in &targets {
        for kind in ["301", "302", "303", "307", "308", "chain"] {
            let called = fixture
                .call("web_fetch", json!({"url": front.url(&format!("/{kind}/{target}")), "timeout_s": 3}))
                .await;
            let text = called.result.for_model();
            assert!(!called.result.ok, "{kind} {target}: {text}");
            assert!(text.contains("leads"), "{kind} {target}: {text}");
        }
    }
    for kind in ["refresh", "meta"] {
        let text = fixture
            .good("web_fetch", json!({"url": front.url(&format!("/{kind}/http:~~127.0.0.1:{port}/"))}))
            .await;
        assert!(text.contains("quiet"), "{text}");
    }
    assert_eq!(secret.hits(), 0);
}

#[tokio::test]
async fn redirects_on_the_same_host_are_followed_and_counted() {
    let server = Server::start(|path, _| match path.trim_start_matches('/').parse::<usize>() {
        Ok(0) => page("200 OK", "text/plain", "arrived"),
        Ok(left) => redirect("302 Found", &format!("/{}", left - 1)),
        Err(_) => redirect("302 Found", "/loop"),
    })
    .await;
    let fixture = lists("127.0.0.1", "");
    let called = fixture.call("web_fetch", json!({"url": server.url("/5")})).await;
    assert!(called.result.ok, "{}", called.result.for_model());
    assert_eq!(called.result.data["url"], server.url("/0"));
    let before = server.hits();
    for path in ["/6", "/loop"] {
        let text = fixture.bad("web_fetch", json!({"url": server.url(path)})).await;
        assert!(text.contains("more than 5 times"), "{text}");
    }
    assert_eq!(server.hits() - before, 12);
}

#[tokio::test]
async fn lookalike_names_are_on_no_list() {
    let fixture = lists("example.com, bücher.example", "");
    for host in [
        "evilexample.com",
        "example.com.evil",
        "example.com.evil.org",
        "example-com.org",
        "xn--example-com",
        "еxample.com",
        "exаmple.com",
        "examp1e.com",
        "example.com-evil.org",
        "example.comm",
        "com",
        "bucher.example",
        "xn--bcher-kva.example.evil",
        "example.com%2eevil.org",
        "example.com:25",
        "example.com:22",
    ] {
        let called = fixture.call("web_fetch", json!({"url": format!("https://{host}/")})).await;
        assert_eq!(called.verdict.decision, Decision::Deny, "{host}");
        assert!(called.verdict.rule == "network.allowlist" || called.verdict.rule == "network.url", "{host}");
    }
    for host in ["example.com", "EXAMPLE.com.", "a.example.com", "bücher.example", "xn--bcher-kva.example"] {
        let arguments = marvin_model::Arguments::from_value(json!({"url": format!("https://{host}/")}));
        let verdict = fixture.toolbox.judge("web_fetch", &arguments, &fixture.context);
        assert_eq!(verdict.decision, Decision::Allow, "{host}: {verdict:?}");
    }
}

#[tokio::test]
async fn without_a_list_and_a_person_requests_are_denied() {
    let fixture = fixture(&[]);
    let called = fixture.call("web_fetch", json!({"url": "https://example.com/"})).await;
    let text = called.result.for_model();
    assert_eq!(called.verdict.rule, "network.unlisted");
    for needed in ["example.com", "there is none to ask", "web.org_allowlist", "MARVIN_WEB_ORG_ALLOWLIST"] {
        assert!(text.contains(needed), "{needed}: {text}");
    }
    // An entry of the run's list that exceeds the operator's is named.
    let text = lists("example.com", "example.com, evil.org")
        .bad("web_fetch", json!({"url": "https://example.com/"}))
        .await;
    assert!(text.contains("`evil.org`") && text.contains("web.request_allowlist"), "{text}");
    let text =
        lists("https://example.com", "").bad("web_fetch", json!({"url": "https://example.com/"})).await;
    assert!(text.contains("`https://example.com`"), "{text}");
}

#[tokio::test]
async fn a_person_approves_one_host_and_no_other() {
    let secret = Server::secret("127.0.0.1:0").await;
    let target = secret.url("/");
    let mut fixture = Fixture::with(Mode::Coding, &Access::Full, &[]);
    fixture.context.attended = true;
    let arguments = |url: &str| marvin_model::Arguments::from_value(json!({"url": url, "timeout_s": 2}));
    let called =
        fixture.toolbox.call("web_fetch", &arguments("https://example.com/"), &fixture.context).await;
    assert_eq!(called.verdict.decision, Decision::Ask);
    // A denial cannot be overruled by an approval.
    let called = fixture.toolbox.call_approved("web_fetch", &arguments(&target), &fixture.context).await;
    assert_eq!((called.verdict.decision, called.result.ok), (Decision::Deny, false));
    assert_eq!(secret.hits(), 0);
}

#[tokio::test]
async fn a_service_is_open_only_to_its_own_tool() {
    let server = Server::start(|_, _| {
        page(
            "200 OK",
            "text/html",
            "<div class=result><a class=result__a href='https://one.example/'>One</a>\
             <a class=result__snippet>words</a></div>",
        )
    })
    .await;
    let fixture = fixture(&[("MARVIN_WEB_SEARCH_URL", &server.url("/html/"))]);
    let text =
        fixture.good("web.search", json!({"query": "a b&c", "max_results": 3, "time_filter": "w"})).await;
    assert!(text.contains("https://one.example/") && text.contains("words"), "{text}");
    assert!(server.heads()[0].starts_with("GET /html/?q=a+b%26c&df=w HTTP/1.1"), "{}", server.heads()[0]);
    fixture.bad("web_fetch", json!({"url": server.url("/html/?q=a")})).await;
    assert_eq!(server.hits(), 1);
    // With a list, the list decides.
    let closed = super::fixture(&[
        ("MARVIN_WEB_SEARCH_URL", &server.url("/")),
        ("MARVIN_WEB_ORG_ALLOWLIST", "example.com"),
    ]);
    closed.bad("web_search", json!({"query": "a"})).await;
    // A redirect target is not the service.
    let secret = Server::secret("127.0.0.1:0").await;
    let target = secret.url("/");
    let leading = Server::start(move |_, _| redirect("302 Found", &target)).await;
    let fixture = super::fixture(&[("MARVIN_WEB_SEARCH_URL", &leading.url("/"))]);
    fixture.bad("web_search", json!({"query": "a"})).await;
    assert_eq!((server.hits(), secret.hits()), (1, 0));
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    // The test program itself is run again with a proxy in its environment.
    const INSIDE: &str = "MARVIN_TEST_PROXY";
    if let Ok(url) = std::env::var(INSIDE) {
        let text = lists("127.0.0.1", "").good("web_fetch", json!({"url": url})).await;
        assert!(text.contains("straight"), "{text}");
        return;
    }
    let proxy = Server::start(|_, _| page("200 OK", "text/plain", "by proxy")).await;
    let server = Server::start(|_, _| page("200 OK", "text/plain", "straight")).await;
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "web::ssrf::proxies_of_the_environment_are_not_used"])
        .env(INSIDE, server.url("/"));
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(name, proxy.url("/"));
    }
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((proxy.hits(), server.hits()), (0, 1));
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let server = Server::start(|_, _| Reply::Silence).await;
    let started = std::time::Instant::now();
    let text = lists("127.0.0.1", "").bad("web_fetch", json!({"url": server.url("/"), "timeout_s": 1})).await;
    assert!(text.contains("not done after 1 s"), "{text}");
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}
