//! Web tools through the real program: output, record, and real TLS.

use crate::support::{World, call, files_below, say};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A header's value; neither its name nor its shape says that it is secret.
const VALUE: &str = "velvet underground banana";

/// A server that answers every request with its own head, and records it.
fn echo() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 8192];
            let read = stream.read(&mut bytes).unwrap_or(0);
            let head = String::from_utf8_lossy(&bytes[..read]).into_owned();
            let body = format!("echo {head}\n{}", "filling ".repeat(5000));
            let kind = format!("text/plain; from={VALUE}");
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .ok();
            seen.lock().unwrap().push(head);
        }
    });
    (address, heads)
}

#[test]
fn a_secret_header_value_is_neither_printed_nor_recorded() {
    let (address, heads) = echo();
    let url = format!("http://{address}/page");
    let secrets = json!({"127.0.0.1": {"X-Place": "$WAREHOUSE"}}).to_string();
    for format in ["text", "json", "stream-json"] {
        let world = World::new();
        let script = [
            call("web_fetch", json!({"url": url})),
            call("download_file", json!({"url": url, "filename": "kept.txt"})),
            call("read_rss", json!({"url": url})),
            say("done"),
        ];
        let ended = world
            .play(&script, &["--output-format", format])
            .env("WAREHOUSE", VALUE)
            .env("MARVIN_WEB_DOMAIN_SECRETS", &secrets)
            .env("MARVIN_WEB_ORG_ALLOWLIST", "127.0.0.1")
            .env("MARVIN_SUBAGENT_LOG", world.root().join("tmp/agent.jsonl"))
            .run()
            .exits(0);
        assert!(!ended.text().contains(VALUE) && !ended.stderr.contains(VALUE), "{}", ended.whole());
        let files = [files_below(world.root())].concat();
        assert!(files.iter().any(|path| path.ends_with("kept.txt")), "{files:?}");
        assert!(files.iter().any(|path| path.display().to_string().contains("artifacts")), "{files:?}");
        for path in files {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(VALUE), "{}", path.display());
        }
        let calls: Vec<Value> =
            world.trace().into_iter().filter(|event| event.to_string().contains("network.listed")).collect();
        assert!(!calls.is_empty(), "the verdict is on the record");
        assert!(world.trace().iter().any(|event| event.to_string().contains(r#""source":"web""#)));
    }
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 9);
    assert!(heads.iter().all(|head| head.contains(VALUE)), "it was sent");
}

#[test]
fn a_refused_request_names_the_setting_that_allows_it() {
    let world = World::new();
    let fetch =
        |url: &str| world.marvin(["tools", "call", "web_fetch", "--args", &json!({"url": url}).to_string()]);
    let ended = fetch("https://example.com/").run().exits(5);
    for needed in ["example.com", "there is none to ask", "web.org_allowlist", "MARVIN_WEB_ORG_ALLOWLIST"] {
        assert!(ended.stderr.contains(needed), "{}", ended.whole());
    }
    let ended = fetch("http://169.254.169.254/latest/").env("MARVIN_WEB_ORG_ALLOWLIST", "*").run().exits(5);
    assert!(ended.stderr.contains("metadata"), "{}", ended.whole());
    // A project's settings cannot extend the allowlist; only the user's own can.
    world.write(".marvin/config.toml", "[web]\norg_allowlist = [\"127.0.0.1\"]\n");
    let ended = fetch("http://127.0.0.1/").run();
    assert_ne!(ended.code, Some(0), "{}", ended.whole());
    assert!(ended.stderr.contains("web.org_allowlist"), "{}", ended.whole());
}

/// A TLS server with a self-signed certificate, run by openssl.
struct TlsServer {
    child: Child,
    directory: tempfile::TempDir,
    port: u16,
}

impl TlsServer {
    /// Serves files that hold complete HTTP answers.
    fn start(files: &[(&str, String)]) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args([
                "-addext",
                "basicConstraints=critical,CA:FALSE",
                "-addext",
                "subjectAltName=DNS:localhost",
                "-keyout",
                "key.pem",
                "-out",
                "cert.pem",
            ])
            .current_dir(directory.path())
            .output();
        if !made.is_ok_and(|output| output.status.success()) {
            println!("SKIPPED: openssl cannot make a certificate");
            return None;
        }
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("openssl")
            .args([
                "s_server",
                "-accept",
                &format!("127.0.0.1:{port}"),
                "-cert",
                "cert.pem",
                "-key",
                "key.pem",
                "-HTTP",
                "-quiet",
            ])
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "openssl does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(TlsServer { child, directory, port })
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn certificates_are_checked_and_redirects_to_http_are_refused() {
    let (plain, heads) = echo();
    let Some(server) = TlsServer::start(&[
        ("page", "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nencrypted words".to_string()),
        ("down", format!("HTTP/1.0 302 Found\r\nLocation: http://localhost:{}/\r\n\r\n", plain.port())),
        ("here", "HTTP/1.0 302 Found\r\nLocation: /page\r\n\r\n".to_string()),
    ]) else {
        return;
    };
    let world = World::new();
    let fetch = |path: &str, trusted: bool| {
        let url = format!("https://localhost:{}/{path}", server.port);
        let marvin = world
            .marvin(["tools", "call", "web_fetch", "--args", &json!({"url": url}).to_string()])
            .env("MARVIN_WEB_ORG_ALLOWLIST", "localhost");
        if trusted { marvin.env("SSL_CERT_FILE", server.directory.path().join("cert.pem")) } else { marvin }
    };
    for path in ["page", "here"] {
        let ended = fetch(path, true).run().exits(0);
        assert!(ended.text().contains("encrypted words"), "{}", ended.whole());
    }
    let ended = fetch("page", false).run().exits(1);
    assert!(ended.stderr.contains("certificate"), "{}", ended.whole());
    let ended = fetch("down", true).run().exits(1);
    assert!(ended.stderr.contains("from https to http"), "{}", ended.whole());
    assert_eq!(heads.lock().unwrap().len(), 0);
}
