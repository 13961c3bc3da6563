//! What somebody else on this machine, or a page in the same browser, could try. All of it is refused, and the server lives.

use super::client::WebFrontEnd;
use crate::support::{World, put, say};
use serde_json::json;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

/// A raw request: its name, its bytes, and the codes that refuse it. No code: the connection is closed, which is a refusal too.
type Attack = (&'static str, Vec<u8>, &'static [u16]);

fn attacks(face: &WebFrontEnd, run: &str) -> Vec<Attack> {
    let (host, bearer) = (face.address.as_str(), face.bearer());
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
    let mut wrong = face.token.clone();
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
            get("/api/messages", &[&format!("Authorization: Bearer {}", face.token.get(..16).unwrap())]),
            &[401],
        ),
        (
            "the token as a password",
            get("/api/messages", &[&format!("Authorization: Basic {}", face.token)]),
            &[401],
        ),
        ("two tokens", get("/api/messages", &[&format!("Authorization: Bearer {wrong}"), &bearer]), &[401]),
        ("the token in the address", get(&format!("/api/messages?token={}", face.token), &[]), &[401]),
        ("the token in a cookie", get("/api/messages", &[&format!("Cookie: token={}", face.token)]), &[401]),
        ("another host", request("GET", "/api/messages", &["Host: evil.example", &bearer], ""), &[421]),
        (
            "rebinding: a name that leads here",
            request("GET", "/", &[&format!("Host: evil.example:{port}")], ""),
            &[421],
        ),
        (
            "a host that only begins like ours",
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
            "a whole address with another host",
            request("GET", "http://evil.example/api/messages", &[&own, &bearer], ""),
            &[421],
        ),
        ("another port", request("GET", "/api/messages", &["Host: 127.0.0.1:1", &bearer], ""), &[421]),
        ("another page's origin", post(&[&bearer, json_kind, "Origin: http://evil.example"], prompt), &[403]),
        ("an origin that is none", post(&[&bearer, json_kind, "Origin: null"], prompt), &[403]),
        (
            "another server of this machine",
            post(&[&bearer, json_kind, "Origin: http://127.0.0.1:1"], prompt),
            &[403],
        ),
        (
            "a page of another site reads",
            get("/api/messages", &[&bearer, "Sec-Fetch-Site: cross-site"]),
            &[403],
        ),
        (
            "a page of another port reads",
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
        ("a body without a kind", post(&[&bearer], prompt), &[415]),
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
        ("a change by reading", known("/api/prompt"), &[405]),
        ("a method in a header", get("/api/prompt", &[&bearer, "X-HTTP-Method-Override: POST"]), &[405]),
        ("deleting", request("DELETE", "/api/memory", &[&own, &bearer], ""), &[405]),
        ("a method that nobody knows", request("BREW", "/api/status", &[&own, &bearer], ""), &[405]),
        ("a tunnel", request("CONNECT", "evil.example:443", &[&own, &bearer], ""), &[400, 404, 405, 421]),
        ("a trace of headers", request("TRACE", "/", &[&own, &bearer], ""), &[405]),
        ("the way up among the assets", get("/assets/../../Cargo.toml", &[]), &[401, 404]),
        ("the way up, written in digits", get("/assets/%2e%2e%2fCargo.toml", &[]), &[401, 404]),
        ("the way up, written twice", get("/assets/%252e%252e%252fCargo.toml", &[]), &[401, 404]),
        ("a file of the machine", get("//etc/passwd", &[]), &[401, 404]),
        ("the way out of a run", file("../../../../etc/passwd"), &[404]),
        ("the way out of a run by artifacts", file("artifacts/../run.json"), &[404]),
        ("an absolute file of a run", file("/etc/passwd"), &[404]),
        ("a link in a run", file("artifacts/link"), &[404]),
        ("a directory behind a link", file("artifacts/directory/secret"), &[404]),
        ("a zero in a name", file("artifacts/a%00.txt"), &[404]),
        ("a run that is a way", known("/api/runs/..%2f..%2fhome"), &[404]),
        (
            "a body that is too large by its word",
            post(&[&bearer, json_kind, "Content-Length: 99999999999"], ""),
            &[413],
        ),
        ("a length that is none", post(&[&bearer, json_kind, "Content-Length: -1"], ""), &[400]),
        ("two lengths", post(&[&bearer, json_kind, "Content-Length: 2", "Content-Length: 40"], ""), &[400]),
        (
            "a length and chunks (smuggling)",
            post(
                &[&bearer, json_kind, "Transfer-Encoding: chunked"],
                "0\r\n\r\nGET /api/messages HTTP/1.1\r\n\r\n",
            ),
            &[400],
        ),
        ("a body that is no text", not_text, &[400]),
        (
            "a body that is deep",
            post(&[&bearer, json_kind], &format!("{}{}", "[".repeat(50_000), "]".repeat(50_000))),
            &[400],
        ),
        (
            "a key that nobody asked for",
            post(&[&bearer, json_kind], r#"{"text":"x","person":"root"}"#),
            &[400],
        ),
        (
            "a body while reading",
            get("/api/messages", &[&bearer, "Content-Length: 3"]).into_iter().chain(*b"abc").collect(),
            &[400],
        ),
        ("a long address", known(&format!("/api/messages?x={}", "a".repeat(8_000))), &[414]),
        ("a very long address", known(&format!("/{}", "a".repeat(100_000))), &[400, 414, 431]),
        ("many headers", get("/healthz", &vec!["X-A: b"; 200]), &[400, 431]),
        ("a large header", get("/healthz", &[&format!("X-A: {}", "b".repeat(100_000))]), &[400, 431]),
        ("a line break in a header", get("/healthz", &["X-A: b\r\n evil: c\r\n\0"]), &[400]),
        ("no protocol at all", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), &[400]),
        ("another protocol", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), &[400, 421, 505]),
        ("an old protocol without a host", b"GET /api/messages HTTP/1.0\r\n\r\n".to_vec(), &[421]),
        ("a wrong number", known("/api/messages?limit=-1"), &[400]),
        ("a huge number", known("/api/messages?limit=99999999999999999999999"), &[400]),
    ]
}

#[test]
fn all_are_refused_and_the_server_lives() {
    let world = World::new();
    let run = "run_20260203_040506_1a2b";
    let directory = world.state().join("runs").join(run);
    put(&directory.join("run.json"), "{}");
    put(&directory.join("artifacts/a.txt"), "hello");
    put(&world.home().join("secret"), "the secret");
    symlink(world.home().join("secret"), directory.join("artifacts/link")).unwrap();
    symlink(world.home(), directory.join("artifacts/directory")).unwrap();
    let face = WebFrontEnd::start(&world, &[say("fine")]);
    assert_eq!(face.get(&format!("/api/runs/{run}/file?path=artifacts/a.txt")).ok()["text"], "hello");
    let attacks = attacks(&face, run);
    assert!(attacks.len() >= 30, "{}", attacks.len());
    for (name, bytes, codes) in &attacks {
        match face.raw(bytes) {
            Some(answer) => {
                assert!(
                    codes.contains(&answer.status),
                    "{name}: {} {}",
                    answer.status,
                    String::from_utf8_lossy(&answer.body)
                );
                let said = format!("{}{}", answer.head, String::from_utf8_lossy(&answer.body));
                assert!(!said.contains("the secret") && !said.contains(&face.token), "{name}: {said}");
                assert!(answer.header("access-control-allow-origin").is_none(), "{name}");
            }
            // Bytes that are no request need no answer.
            None => assert!(codes.contains(&400), "{name}: closed without an answer"),
        }
        assert_eq!(face.open("GET", "/healthz").status, 200, "{name}: the server is gone");
    }
    assert_eq!(face.get("/api/messages").ok()["total"], 0, "nothing was said by anybody");
    assert_eq!(face.post("/api/send", &json!({"message": "hi"})).ok()["reply"], "fine");
}

#[test]
fn every_answer_forbids_what_is_not_ours() {
    let world = World::new();
    let face = WebFrontEnd::start(&world, &[]);
    for path in ["/", "/assets/main.js", "/healthz", "/openapi.json", "/api/status", "/nothing"] {
        let answer = face.open("GET", path);
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
fn whoever_is_slow_is_not_waited_for() {
    let world = World::new();
    let face = WebFrontEnd::start(&world, &[]);
    let begun = Instant::now();
    // A head that never ends, a body that never comes, and one that comes a byte at a time.
    let mut head = face.connect();
    head.write_all(b"GET /healthz HTTP/1.1\r\nHost: ").unwrap();
    let mut idle = face.connect();
    let request = format!(
        "POST /api/prompt HTTP/1.1\r\nHost: {}\r\n{}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n",
        face.address,
        face.bearer()
    );
    let mut body = face.connect();
    body.write_all(request.as_bytes()).unwrap();
    let mut drip = face.connect();
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
    let mut said = String::new();
    body.read_to_string(&mut said).ok();
    assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    let mut said = String::new();
    drip.read_to_string(&mut said).ok();
    assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    for stream in [&mut head, &mut idle] {
        let mut said = Vec::new();
        stream.read_to_end(&mut said).ok();
    }
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    drop(drip);
    dripper.join().unwrap();
    assert_eq!(face.open("GET", "/healthz").status, 200);
}

#[test]
fn many_at_once_do_not_bring_it_down() {
    let world = World::new();
    let face = WebFrontEnd::start(&world, &[]);
    // Far more requests than the server takes in a second: those beyond are told so, and after a while all is well.
    let path = "/healthz";
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = face.connect();
                    let one = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", face.address);
                    let last =
                        format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", face.address);
                    let mut all = one.repeat(400);
                    all.push_str(&last);
                    let mut writer = stream.try_clone().unwrap();
                    let writing = std::thread::spawn(move || writer.write_all(all.as_bytes()).ok());
                    let mut said = String::new();
                    stream.read_to_string(&mut said).ok();
                    writing.join().unwrap();
                    said.match_indices("HTTP/1.1 ")
                        .filter_map(|(at, _)| said.get(at + 9..at + 12)?.parse().ok())
                        .collect::<Vec<u16>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(codes.contains(&200) && codes.contains(&429), "{} answers", codes.len());
    assert!(codes.iter().all(|code| [200, 429].contains(code)));
    // Connections that say nothing take places, but not all of them, and give them back.
    let held: Vec<_> = (0..300).map(|_| face.connect()).collect();
    crate::support::until("it answers again", || face.open("GET", path).status == 200);
    drop(held);
}
