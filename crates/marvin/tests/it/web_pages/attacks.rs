//! Requests by another process on this machine or by a page in the same browser. All are refused, and the server stays up.

use super::client::WebFrontEnd;
use crate::support::{World, put, say};
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

/// A raw request: its name, its bytes, and the status codes that refuse it. 400 also allows closing the connection.
type Attack = (&'static str, Vec<u8>, &'static [u16]);

fn attacks(server: &WebFrontEnd, run: &str) -> Vec<Attack> {
    let (host, bearer) = (server.address.as_str(), server.bearer());
    let port = host.rsplit(':').next().unwrap();
    let request = |method: &str, path: &str, headers: &[&str], body: &str| {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers {
            text.push_str(&format!("{header}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        format!("{text}\r\n{body}").into_bytes()
    };
    let own = format!("Host: {host}");
    let json_kind = "Content-Type: application/json";
    let prompt = r#"{"text":"attack"}"#;
    let get = |path: &str, headers: &[&str]| {
        let all: Vec<&str> = [own.as_str()].into_iter().chain(headers.iter().copied()).collect();
        request("GET", path, &all, "")
    };
    let known = |path: &str| get(path, &[&bearer]);
    let post = |headers: &[&str], body: &str| {
        let all: Vec<&str> = [own.as_str()].into_iter().chain(headers.iter().copied()).collect();
        request("POST", "/api/prompt", &all, body)
    };
    let mut wrong = server.token.clone();
    wrong.replace_range(0..1, if wrong.starts_with('a') { "b" } else { "a" });
    let mut not_text = post(&[&bearer, json_kind], "").to_vec();
    not_text.truncate(not_text.len() - 2);
    not_text.extend_from_slice(b"Content-Length: 12\r\n\r\n{\"text\":\"\xff\xfe\"}");
    let file = |path: &str| known(&format!("/api/runs/{run}/file?path={path}"));
    vec![
        ("data without a token", get("/api/messages", &[]), &[401]),
        ("a change without a token", post(&[json_kind], prompt), &[401]),
        ("a wrong token", get("/api/messages", &[&format!("Authorization: Bearer {wrong}")]), &[401]),
        (
            "half a token",
            get("/api/messages", &[&format!("Authorization: Bearer {}", server.token.get(..16).unwrap())]),
            &[401],
        ),
        (
            "the token as a password",
            get("/api/messages", &[&format!("Authorization: Basic {}", server.token)]),
            &[401],
        ),
        ("two tokens", get("/api/messages", &[&format!("Authorization: Bearer {wrong}"), &bearer]), &[401]),
        ("the token in the address", get(&format!("/api/messages?token={}", server.token), &[]), &[401]),
        (
            "the token in a cookie",
            get("/api/messages", &[&format!("Cookie: token={}", server.token)]),
            &[401],
        ),
        ("another host", request("GET", "/api/messages", &["Host: evil.example", &bearer], ""), &[421]),
        (
            "DNS rebinding: a name that resolves to this host",
            request("GET", "/", &[&format!("Host: evil.example:{port}")], ""),
            &[421],
        ),
        (
            "a host that only begins like the server's",
            request("GET", "/healthz", &[&format!("Host: localhost.evil.example:{port}")], ""),
            &[421],
        ),
        ("no host", request("GET", "/api/messages", &[&bearer], ""), &[400, 421]),
        (
            "two hosts",
            request("GET", "/api/messages", &[&own, "Host: evil.example", &bearer], ""),
            &[400, 421],
        ),
        (
            "an absolute URL with another host",
            request("GET", "http://evil.example/api/messages", &[&own, &bearer], ""),
            &[421],
        ),
        ("another port", request("GET", "/api/messages", &["Host: 127.0.0.1:1", &bearer], ""), &[421]),
        ("another page's origin", post(&[&bearer, json_kind, "Origin: http://evil.example"], prompt), &[403]),
        ("a null origin", post(&[&bearer, json_kind, "Origin: null"], prompt), &[403]),
        (
            "another server of this machine",
            post(&[&bearer, json_kind, "Origin: http://127.0.0.1:1"], prompt),
            &[403],
        ),
        (
            "a read by a page of another site",
            get("/api/messages", &[&bearer, "Sec-Fetch-Site: cross-site"]),
            &[403],
        ),
        (
            "a read by a page on another port",
            get("/api/messages", &[&bearer, "Sec-Fetch-Site: same-site"]),
            &[403],
        ),
        (
            "a form (CSRF)",
            post(
                &["Content-Type: application/x-www-form-urlencoded", &format!("Origin: http://{host}")],
                "text=attack",
            ),
            &[401],
        ),
        ("a form that knows the token", post(&[&bearer, "Content-Type: text/plain"], prompt), &[415]),
        ("a body without a content type", post(&[&bearer], prompt), &[415]),
        (
            "a preflight",
            request(
                "OPTIONS",
                "/api/prompt",
                &[&own, "Origin: http://evil.example", "Access-Control-Request-Method: POST"],
                "",
            ),
            &[403, 405],
        ),
        ("a change by GET", known("/api/prompt"), &[405]),
        (
            "a method override in a header",
            get("/api/prompt", &[&bearer, "X-HTTP-Method-Override: POST"]),
            &[405],
        ),
        ("a DELETE", request("DELETE", "/api/memory", &[&own, &bearer], ""), &[405]),
        ("an unknown method", request("BREW", "/api/status", &[&own, &bearer], ""), &[405]),
        ("a tunnel", request("CONNECT", "evil.example:443", &[&own, &bearer], ""), &[400, 404, 405, 421]),
        ("a TRACE", request("TRACE", "/", &[&own, &bearer], ""), &[405]),
        ("path traversal below the assets", get("/assets/../../Cargo.toml", &[]), &[401, 404]),
        ("percent-encoded path traversal", get("/assets/%2e%2e%2fCargo.toml", &[]), &[401, 404]),
        ("doubly encoded path traversal", get("/assets/%252e%252e%252fCargo.toml", &[]), &[401, 404]),
        ("an absolute path", get("//etc/passwd", &[]), &[401, 404]),
        ("path traversal out of a run", file("../../../../etc/passwd"), &[404]),
        ("path traversal out of a run's artifacts", file("artifacts/../run.json"), &[404]),
        ("an absolute path in a run", file("/etc/passwd"), &[404]),
        ("a symlink in a run", file("artifacts/link"), &[404]),
        ("a directory behind a symlink", file("artifacts/directory/secret"), &[404]),
        ("a NUL byte in a name", file("artifacts/a%00.txt"), &[404]),
        ("path traversal as a run id", known("/api/runs/..%2f..%2fhome"), &[404]),
        (
            "a content length above the limit",
            post(&[&bearer, json_kind, "Content-Length: 99999999999"], ""),
            &[413],
        ),
        ("a negative content length", post(&[&bearer, json_kind, "Content-Length: -1"], ""), &[400]),
        (
            "two content lengths",
            post(&[&bearer, json_kind, "Content-Length: 2", "Content-Length: 40"], ""),
            &[400],
        ),
        (
            "a content length and chunks (request smuggling)",
            post(
                &[&bearer, json_kind, "Transfer-Encoding: chunked"],
                "0\r\n\r\nGET /api/messages HTTP/1.1\r\n\r\n",
            ),
            &[400],
        ),
        ("a body that is not UTF-8", not_text, &[400]),
        (
            "a deeply nested body",
            post(&[&bearer, json_kind], &format!("{}{}", "[".repeat(50_000), "]".repeat(50_000))),
            &[400],
        ),
        ("an unknown key", post(&[&bearer, json_kind], r#"{"text":"x","person":"root"}"#), &[400]),
        (
            "a GET with a body",
            get("/api/messages", &[&bearer, "Content-Length: 3"]).into_iter().chain(*b"abc").collect(),
            &[400],
        ),
        ("a long URL", known(&format!("/api/messages?x={}", "a".repeat(8_000))), &[414]),
        ("a very long URL", known(&format!("/{}", "a".repeat(100_000))), &[400, 414, 431]),
        ("many headers", get("/healthz", &vec!["X-A: b"; 200]), &[400, 431]),
        ("a large header", get("/healthz", &[&format!("X-A: {}", "b".repeat(100_000))]), &[400, 431]),
        ("a line break in a header", get("/healthz", &["X-A: b\r\n evil: c\r\n\0"]), &[400]),
        ("a TLS handshake", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), &[400]),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), &[400, 421, 505]),
        ("HTTP/1.0 without a host", b"GET /api/messages HTTP/1.0\r\n\r\n".to_vec(), &[421]),
        ("a wrong number", known("/api/messages?limit=-1"), &[400]),
        ("a huge number", known("/api/messages?limit=99999999999999999999999"), &[400]),
    ]
}

#[test]
fn all_are_refused_and_the_server_stays_up() {
    let world = World::new();
    let run = "run_20260203_040506_1a2b";
    let directory = world.state().join("runs").join(run);
    put(&directory.join("run.json"), "{}");
    put(&directory.join("artifacts/a.txt"), "hello");
    put(&world.home().join("secret"), "the secret");
    symlink(world.home().join("secret"), directory.join("artifacts/link")).unwrap();
    symlink(world.home(), directory.join("artifacts/directory")).unwrap();
    let server = WebFrontEnd::start(&world, &[say("fine")]);
    assert_eq!(server.get(&format!("/api/runs/{run}/file?path=artifacts/a.txt")).ok()["text"], "hello");
    let attacks = attacks(&server, run);
    assert!(attacks.len() >= 30, "{}", attacks.len());
    for (name, bytes, codes) in &attacks {
        match server.raw(bytes) {
            Some(answer) => {
                assert!(
                    codes.contains(&answer.status),
                    "{name}: {} {}",
                    answer.status,
                    String::from_utf8_lossy(&answer.body)
                );
                let answered = format!("{}{}", answer.head, String::from_utf8_lossy(&answer.body));
                assert!(
                    !answered.contains("the secret") && !answered.contains(&server.token),
                    "{name}: {answered}"
                );
                assert!(answer.header("access-control-allow-origin").is_none(), "{name}");
            }
            // Bytes that do not parse as a request need no answer.
            None => assert!(codes.contains(&400), "{name}: closed without an answer"),
        }
        assert_eq!(server.open("GET", "/healthz").status, 200, "{name}: the server is gone");
    }
    assert_eq!(server.get("/api/messages").ok()["total"], 0, "no attack reached the conversation");
    assert_eq!(server.post("/api/send", &json!({"message": "hi"})).ok()["reply"], "fine");
}

#[test]
fn every_answer_has_the_security_headers() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[]);
    for path in ["/", "/assets/main.js", "/healthz", "/openapi.json", "/api/status", "/nothing"] {
        let answer = server.open("GET", path);
        let policy = answer.header("content-security-policy").unwrap_or_default();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert!(
            answer.header("set-cookie").is_none() && answer.header("access-control-allow-origin").is_none(),
            "{path}"
        );
    }
}

#[test]
fn slow_clients_time_out() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[]);
    let begun = Instant::now();
    // A head that never ends, a body that never arrives, and one that arrives byte by byte.
    let mut head = server.connect();
    head.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").unwrap();
    let mut idle = server.connect();
    let request = format!(
        "POST /api/prompt HTTP/1.1\r\nHost: {}\r\n{}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
        server.address,
        server.bearer()
    );
    let mut body = server.connect();
    body.write_all(request.as_bytes()).unwrap();
    let mut drip = server.connect();
    drip.write_all(request.as_bytes()).unwrap();
    let mut dripping = drip.try_clone().unwrap();
    let dripper = std::thread::spawn(move || {
        for _ in 0..600 {
            std::thread::sleep(Duration::from_millis(100));
            if dripping.write_all(b" ").is_err() {
                break;
            }
        }
    });
    let mut answered = String::new();
    body.read_to_string(&mut answered).ok();
    assert!(answered.starts_with("HTTP/1.1 408"), "{answered}");
    let mut answered = String::new();
    drip.read_to_string(&mut answered).ok();
    assert!(answered.starts_with("HTTP/1.1 408"), "{answered}");
    for stream in [&mut head, &mut idle] {
        let mut answered = Vec::new();
        stream.read_to_end(&mut answered).ok();
    }
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    drop(drip);
    dripper.join().unwrap();
    assert_eq!(server.open("GET", "/healthz").status, 200);
}

#[test]
fn a_flood_of_requests_does_not_bring_it_down() {
    let world = World::new();
    let server = WebFrontEnd::start(&world, &[]);
    // Far more requests than the server accepts per second: the rest get 429, and later requests succeed again.
    let path = "/healthz";
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = server.connect();
                    let one = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
                    let last = format!(
                        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                        server.address
                    );
                    let mut all = one.repeat(400);
                    all.push_str(&last);
                    let mut writer = stream.try_clone().unwrap();
                    let writing = std::thread::spawn(move || writer.write_all(all.as_bytes()).ok());
                    let mut answered = String::new();
                    stream.read_to_string(&mut answered).ok();
                    writing.join().unwrap();
                    answered
                        .match_indices("HTTP/1.1 ")
                        .filter_map(|(at, _)| answered.get(at + 9..at + 12)?.parse().ok())
                        .collect::<Vec<u16>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(codes.contains(&200) && codes.contains(&429), "{} answers", codes.len());
    assert!(codes.iter().all(|code| [200, 429].contains(code)));
    // Idle connections take slots, but not all of them, and are closed after a while.
    let held: Vec<_> = (0..300).map(|_| server.connect()).collect();
    crate::support::until("it answers again", || server.open("GET", path).status == 200);
    drop(held);
}
