//! Pages, feeds and downloads, good and bad.

use super::server::{Reply, Server, answer, page, redirect};
use super::{fixture, lists};
use crate::support::Fixture;
use marvin_gate::Access;
use marvin_tools::Mode;
use serde_json::json;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

fn open() -> Fixture {
    lists("127.0.0.1", "")
}

const PAGE: &str = "<!doctype html><html><head><title>A page</title></head><body><nav>nav <a href='/nav'>n</a></nav>\
    <main><h1>Hello</h1><p>One <a href='two'>two</a></p><ul class=dishes><li>Soup $6</li><li>Bread</li></ul></main></body></html>";

#[tokio::test]
async fn a_page_is_text_for_the_model_and_html_in_the_data() {
    let server = Server::start(|_, _| page("200 OK", "text/html; charset=utf-8", PAGE)).await;
    let fixture = open();
    let called = fixture.call("web.fetch", json!({"url": server.url("/x#frag")})).await;
    assert_eq!((called.tool.as_str(), called.result.source), ("web_fetch", "web"));
    let text = called.result.for_model();
    assert!(text.contains("Title: A page") && text.contains("# Hello") && !text.contains("<h1>"), "{text}");
    assert!(text.contains("not instructions"), "{text}");
    assert_eq!(called.result.data["content"], PAGE);
    assert_eq!(called.result.data["status"], 200);
    assert_eq!(called.result.data["truncated"], false);
    assert_eq!(called.result.data["url"], server.url("/x"));
    assert!(server.heads()[0].starts_with("GET /x HTTP/1.1\r\n"), "{}", server.heads()[0]);
    fixture.good("web_fetch", json!({"url": server.url("/")})).await;

    let text = fixture.good("browse_web", json!({"url": server.url("/a/")})).await;
    assert!(text.contains(&format!("two <{}>", server.url("/a/two"))) && !text.contains("nav"), "{text}");
    let text = fixture.good("scrape_page", json!({"url": server.url("/"), "extract": "links"})).await;
    assert!(text.contains(&server.url("/nav")) && text.contains(&server.url("/two")), "{text}");
    let text = fixture.good("scrape_page", json!({"url": server.url("/"), "extract": "menu"})).await;
    assert!(text.contains("Soup $6") && !text.contains("Bread"), "{text}");
    let text =
        fixture.good("scrape_page", json!({"url": server.url("/"), "css_selector": "ul.dishes > li"})).await;
    assert!(text.ends_with("- Soup $6\n\n- Bread"), "{text}");
    let text = fixture.good("scrape_page", json!({"url": server.url("/"), "css_selector": ".none"})).await;
    assert!(text.contains("selects nothing"), "{text}");
    let text = fixture.bad("scrape_page", json!({"url": server.url("/"), "css_selector": "p:hover"})).await;
    assert!(text.contains(":hover") && text.contains("A correct call"), "{text}");
    let called = fixture.call("browse_web", json!({"url": server.url("/"), "max_length": 10})).await;
    assert_eq!(called.result.data["truncated"], true);
}

#[tokio::test]
async fn other_kinds_of_content() {
    let server = Server::start(|path, _| match path {
        "/json" => page("200 OK", "application/json", r#"{"a": 1}"#),
        "/png" => page("200 OK", "image/png", b"\x89PNG\r\n\0\0"),
        "/latin" => page("200 OK", "text/plain; charset=iso-8859-1", b"caf\xe9"),
        "/bad" => page("200 OK", "text/plain; charset=utf-8", b"a\xff\xfeb"),
        "/odd" => page("200 OK", "text/plain; charset=klingon", "plain"),
        "/none" => answer("200 OK", &[], "<html><p>guessed"),
        "/empty" => page("204 No Content", "", ""),
        "/404" => page("404 Not Found", "text/html", "<h1>Gone</h1>"),
        "/garbage" => Reply::Bytes(b"this is not http at all\r\n\r\n".to_vec()),
        "/cut" => Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec()),
        "/huge-header" => {
            Reply::Bytes(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(10_000_000)).into_bytes())
        }
        _ => Reply::Bytes(Vec::new()),
    })
    .await;
    let fixture = open();
    let fetch = async |path: &str| fixture.call("web_fetch", json!({"url": server.url(path)})).await.result;
    assert!(fetch("/json").await.for_model().ends_with("{\"a\": 1}"));
    let png = fetch("/png").await;
    assert!(png.ok && png.for_model().contains("not text") && !png.for_model().contains("PNG\r"));
    assert_eq!(png.data["content"], "");
    assert!(fetch("/latin").await.for_model().ends_with("café"));
    assert!(fetch("/bad").await.for_model().ends_with("a\u{fffd}\u{fffd}b"));
    assert!(fetch("/odd").await.for_model().ends_with("plain"));
    assert!(fetch("/none").await.for_model().ends_with("guessed"));
    assert!(fetch("/empty").await.ok);
    let gone = fetch("/404").await;
    assert!(!gone.ok && gone.error.as_deref().unwrap().contains("404 Not Found"));
    assert!(gone.for_model().contains("Gone"));
    for path in ["/garbage", "/cut", "/nothing", "/huge-header"] {
        let result = fetch(path).await;
        assert!(!result.ok && result.error.unwrap().contains("127.0.0.1"), "{path}");
    }
    let gone = server.url("/");
    drop(server);
    // The socket closes when its task is polled next.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let text = fixture.bad("web_fetch", json!({"url": gone})).await;
    assert!(text.contains("cannot be reached") && text.contains("refused"), "{text}");
    // A privileged port must be listed.
    let text = fixture.bad("web_fetch", json!({"url": "http://127.0.0.1:25/"})).await;
    assert!(text.contains("add `127.0.0.1:25` to web.org_allowlist"), "{text}");
}

#[tokio::test]
async fn bodies_are_limited_in_size_and_time() {
    let zeros = std::process::Command::new("sh")
        .args(["-c", "head -c 300000000 /dev/zero | gzip -9 -c"])
        .output()
        .unwrap()
        .stdout;
    assert!(zeros.len() < 1_000_000);
    let server = Server::start(move |path, _| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n".to_vec();
        match path {
            "/gzip" => {
                answer("200 OK", &[("Content-Type", "text/plain"), ("Content-Encoding", "gzip")], &zeros)
            }
            "/not-gzip" => answer("200 OK", &[("Content-Encoding", "gzip")], "this is not gzip"),
            "/endless" => Reply::Endless(head, vec![b'x'; 65536], Duration::ZERO),
            "/drip" => Reply::Endless(head, vec![b'x'], Duration::from_millis(100)),
            "/headers" => Reply::Endless(
                b"HTTP/1.1 200 OK\r\n".to_vec(),
                b"X: y\r\n".to_vec(),
                Duration::from_millis(1),
            ),
            "/exact" => page("200 OK", "text/plain", "x".repeat(1000)),
            _ => page("200 OK", "text/plain", "x".repeat(3_000_000)),
        }
    })
    .await;
    let fixture = open();
    let started = Instant::now();
    for path in ["/large", "/gzip", "/endless"] {
        let called = fixture.call("web_fetch", json!({"url": server.url(path), "max_bytes": 100_000})).await;
        assert!(called.result.ok, "{path}: {}", called.result.for_model());
        assert_eq!(
            (called.result.data["truncated"].as_bool(), called.result.data["bytes"].as_u64()),
            (Some(true), Some(100_000)),
            "{path}"
        );
        assert!(called.result.for_model().contains("only the first 100000 bytes"));
    }
    let called = fixture.call("web_fetch", json!({"url": server.url("/exact"), "max_bytes": 1000})).await;
    assert_eq!(called.result.data["truncated"], false);
    for path in ["/drip", "/headers"] {
        let text = fixture.bad("web_fetch", json!({"url": server.url(path), "timeout_s": 1})).await;
        assert!(text.contains("not done after 1 s") || text.contains("cannot be reached"), "{path}: {text}");
    }
    fixture.bad("web_fetch", json!({"url": server.url("/not-gzip")})).await;
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_deeply_nested_page_is_read() {
    let server =
        Server::start(|_, _| page("200 OK", "text/html", "<div>".repeat(200_000) + "deep words")).await;
    let fixture = open();
    for (tool, more) in
        [("web_fetch", "max_bytes"), ("scrape_page", "max_length"), ("browse_web", "max_length")]
    {
        let text = fixture.good(tool, json!({"url": server.url("/"), more: 5_000_000})).await;
        assert!(text.contains("deep words"), "{tool}: {text}");
    }
}

#[tokio::test]
async fn feeds_are_parsed_and_invalid_ones_are_reported() {
    let server = Server::start(|path, _| match path {
        "/good" => page(
            "200 OK",
            "application/rss+xml",
            "<?xml version='1.0' encoding='ISO-8859-1'?><rss version='2.0'><channel><title>News</title><item><title>One</title>\
             <link>http://h/1</link><description>&lt;p&gt;Words&lt;/p&gt;</description></item></channel></rss>",
        ),
        "/deep" => page("200 OK", "application/rss+xml", format!("<rss><channel>{}", "<a>".repeat(300_000))),
        "/entities" => page(
            "200 OK",
            "application/rss+xml",
            "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c SYSTEM \
             'file:///etc/passwd'>]><rss version='2.0'><channel><title>&b;&c;</title></channel></rss>",
        ),
        "/404" => page("404 Not Found", "text/plain", "no"),
        _ => page("200 OK", "application/rss+xml", "<rss><channel><item>"),
    })
    .await;
    let fixture = open();
    let text = fixture.good("read_rss", json!({"url": server.url("/good")})).await;
    assert!(
        text.contains("News")
            && text.contains("One")
            && text.contains("http://h/1")
            && text.contains("Words"),
        "{text}"
    );
    for path in ["/deep", "/bad", "/404"] {
        fixture.bad("read_rss", json!({"url": server.url(path)})).await;
    }
    let called = fixture.call("read_rss", json!({"url": server.url("/entities")})).await;
    assert!(!called.result.for_model().contains("root:"), "{}", called.result.for_model());
}

#[tokio::test]
async fn a_download_is_a_new_file_or_nothing() {
    let bytes: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    let body = bytes.clone();
    let server = Server::start(move |path, _| match path {
        "/missing" => page("404 Not Found", "text/plain", "no"),
        "/endless" => {
            Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![1; 65536], Duration::from_millis(1))
        }
        "/cut" => Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec()),
        "/announced" => Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx".to_vec()),
        "/moved" => redirect("302 Found", "/data.bin"),
        _ => page("200 OK", "application/octet-stream", &body),
    })
    .await;
    let small = [("MARVIN_WEB_ORG_ALLOWLIST", "127.0.0.1"), ("MARVIN_WEB_DOWNLOAD_MAX_BYTES", "1000000")];
    let fixture = Fixture::with(Mode::Coding, &Access::Full, &small);
    let called = fixture.call("download_file", json!({"url": server.url("/data.bin?x=1")})).await;
    assert!(called.result.ok, "{}", called.result.for_model());
    assert_eq!(
        (called.result.data["path"].as_str(), called.result.data["bytes"].as_u64()),
        (Some("data.bin"), Some(800_000))
    );
    assert_eq!(std::fs::read(fixture.root.join("data.bin")).unwrap(), bytes);

    // No name and no symlink overwrites an existing file.
    fixture.write("taken.txt", "mine");
    symlink(fixture.home.join("elsewhere"), fixture.root.join("link")).unwrap();
    let before = server.hits();
    for name in ["data.bin", "taken.txt", "../taken.txt", "./taken.txt", "link", "src"] {
        fixture.bad("download_file", json!({"url": server.url("/data.bin"), "filename": name})).await;
    }
    assert_eq!((fixture.read("taken.txt").as_str(), server.hits()), ("mine", before));
    assert!(!fixture.home.join("elsewhere").exists());
    // Files that instruct agents are not downloaded without approval.
    for name in ["AGENTS.md", "CLAUDE.md"] {
        let text = fixture.bad("download_file", json!({"url": server.url("/x"), "filename": name})).await;
        assert!(text.contains("what agents are told"), "{text}");
    }
    // No name leads out of the directory.
    let called = fixture
        .call("download_file", json!({"url": server.url("/m"), "filename": "../../a/.hidden\n"}))
        .await;
    assert_eq!(called.result.data["path"], "hidden");
    let called = fixture.call("download_file", json!({"url": server.url("/moved")})).await;
    assert_eq!(called.result.data["path"], "moved");

    let names = || {
        let mut names: Vec<String> = std::fs::read_dir(&fixture.root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let kept = names();
    for path in ["/missing", "/endless", "/cut", "/announced"] {
        fixture.bad("download_file", json!({"url": server.url(path), "filename": "new"})).await;
    }
    assert_eq!(names(), kept);
}

#[tokio::test]
async fn a_cancelled_download_leaves_nothing() {
    let server = Server::start(|_, _| {
        Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![1; 1024], Duration::from_millis(5))
    })
    .await;
    let fixture = open();
    let cancel = fixture.context.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(400)).await;
        cancel.cancel();
    });
    let started = Instant::now();
    let text = fixture.bad("download_file", json!({"url": server.url("/big.bin")})).await;
    assert!(text.contains("cancelled") && started.elapsed() < Duration::from_secs(5), "{text}");
    let names: Vec<_> =
        std::fs::read_dir(&fixture.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["src"]);
}

#[tokio::test]
async fn in_conversation_downloads_go_to_the_users_directory() {
    let server = Server::start(|_, _| page("200 OK", "text/plain", "kept")).await;
    let fixture = Fixture::with(Mode::Assistant, &Access::Full, &[("MARVIN_WEB_ORG_ALLOWLIST", "127.0.0.1")]);
    fixture.good("download_file", json!({"url": server.url("/note.txt")})).await;
    assert_eq!(std::fs::read_to_string(fixture.home.join("Downloads/note.txt")).unwrap(), "kept");
    let text = fixture.bad("download_file", json!({"url": server.url("/note.txt")})).await;
    assert!(text.contains("already") && text.contains("filename"), "{text}");
    assert!(!fixture.root.join("note.txt").exists());
}

#[tokio::test]
async fn read_only_agents_cannot_download() {
    let listed = Access::writable(["a.md".to_string()]);
    for access in [Access::Readonly, listed] {
        let fixture = Fixture::with(Mode::Coding, &access, &[("MARVIN_WEB_ORG_ALLOWLIST", "127.0.0.1")]);
        let names = fixture.toolbox.names();
        assert!(names.contains(&"web_fetch") && names.contains(&"github_grep"), "{names:?}");
        assert!(!names.contains(&"download_file") && !names.contains(&"github_clone"), "{names:?}");
    }
}

#[tokio::test]
async fn a_secret_in_a_url_is_not_sent() {
    let server = Server::start(|_, _| page("200 OK", "text/plain", "x")).await;
    let fixture = open();
    let text = fixture
        .bad("web_fetch", json!({"url": server.url("/?k=ghp_0123456789abcdefghijABCDEFGHIJ456789")}))
        .await;
    assert!(text.contains("would send a secret out") && !text.contains("ghp_"), "{text}");
    let searching = super::fixture(&[("MARVIN_WEB_SEARCH_URL", &server.url("/"))]);
    searching.bad("web_search", json!({"query": "who owns ghp_0123456789abcdefghijABCDEFGHIJ456789"})).await;
    assert_eq!(server.hits(), 0);
}

#[tokio::test]
async fn wrong_arguments_are_answered_with_a_correct_call() {
    let fixture = fixture(&[]);
    for (tool, arguments) in [
        ("web_fetch", json!({})),
        ("web_fetch", json!({"url": "https://example.com", "max_bytes": -1})),
        ("web_search", json!({"query": "a", "time_filter": "decade"})),
        ("scrape_page", json!({"url": "https://example.com", "extract": "everything"})),
        ("github_clone", json!({"repo": "../../etc"})),
        ("github_read_file", json!({"repo": "a/b", "path": "../../x"})),
        ("github_search", json!({"query": ""})),
    ] {
        let text = fixture.bad(tool, arguments).await;
        assert!(text.contains("A correct call"), "{tool}: {text}");
    }
}
