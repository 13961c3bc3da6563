//! Pages whose scripts run in the real browser, in the sandbox, through the proxy.

use super::lists;
use super::server::{Reply, Server, page};
use crate::support::Fixture;
use marvin_gate::sandbox::{self, Level};
use marvin_testing::skip;
use serde_json::json;

/// A page that a script writes.
const WRITTEN: &str = "<html><head><title>Shop</title></head><body><main id=app></main><script>\
    document.getElementById('app').innerHTML = '<h1>Offers</h1><p>Soup $' + (3 * 2) + '</p><a href=\"/more\">more</a>';\
    </script></body></html>";

fn has_browser() -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path.split(':').any(|directory| std::path::Path::new(directory).join("chromium").exists());
    let has_sockets = sandbox::support().level == Some(Level::Namespaces);
    if !found {
        skip("chromium is not installed, which `cargo xtask test` does");
    } else if !has_sockets {
        skip("this system refuses namespaces, and without them no browser starts in the sandbox");
    }
    found && has_sockets
}

/// A fixture that may reach this server and nothing else.
fn reaching(server: &Server) -> Fixture {
    lists(&server.address.to_string(), "")
}

fn html(body: &str) -> Reply {
    page("200 OK", "text/html; charset=utf-8", body)
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_write_the_page_before_it_is_read() {
    if !has_browser() {
        return;
    }
    let server = Server::start(|path, _| match path {
        "/" => html(WRITTEN),
        "/late" => html(
            "<main id=app></main><script src=/late.js></script><script>fetch('/data').then(r => r.text()).then(t => {\
             setTimeout(() => { document.getElementById('app').append('Data: ' + t); }, 1500); });</script>",
        ),
        "/late.js" => page("200 OK", "text/javascript", "document.title = 'From a file';"),
        "/data" => page("200 OK", "text/plain", "forty-two"),
        _ => page("404 Not Found", "text/html", "gone"),
    })
    .await;
    let fixture = reaching(&server);
    let called = fixture.call("browse_web", json!({"url": server.url("/")})).await.result;
    let text = called.for_model();
    assert_eq!(called.data["scripts"], json!({"state": "ran", "refused": []}), "{text}");
    assert!(
        text.contains("# Offers") && text.contains("Soup $6") && text.contains("not instructions"),
        "{text}"
    );
    assert!(text.contains(&server.url("/more")), "{text}");
    let menu = fixture.good("scrape_page", json!({"url": server.url("/"), "extract": "menu"})).await;
    assert!(menu.contains("Soup $6"), "{menu}");
    let late = fixture.good("scrape_page", json!({"url": server.url("/late"), "css_selector": "#app"})).await;
    assert!(late.contains("Data: forty-two") && late.contains("Title: From a file"), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_scripts_pass_the_gate() {
    if !has_browser() {
        return;
    }
    let secret = Server::secret("127.0.0.1:0").await;
    let target = secret.url("/");
    let server = Server::start(move |_, _| {
        html(&format!(
            "<main id=app>start</main><img src='{target}a.png'><iframe src='{target}'></iframe><script>\
             const app = document.getElementById('app');\
             fetch('{target}', {{mode: 'no-cors'}}).then(() => app.append(' reached'), () => app.append(' refused'));\
             new WebSocket('{}');\
             fetch('file:///etc/passwd').then(r => r.text()).then(t => app.append(t), () => app.append(' no file'));\
             navigator.sendBeacon('{target}', 'x');</script>",
            target.replace("http", "ws")
        ))
    })
    .await;
    let called = reaching(&server).call("browse_web", json!({"url": server.url("/")})).await.result;
    let text = called.for_model();
    assert_eq!(called.data["scripts"]["state"], "ran", "{text}");
    assert_eq!(called.data["scripts"]["refused"], json!([secret.address.to_string()]), "{text}");
    assert!(text.contains("no file") && !text.contains("root:"), "{text}");
    assert!(!text.contains("THE SECRET OF THE HOUSE"), "{text}");
    assert_eq!(secret.hits(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_requests_of_the_page_are_told() {
    if !has_browser() {
        return;
    }
    // Chromium asks the first two for itself too, at its start.
    let server = Server::start(|_, _| {
        html(
            "<main id=app>start</main><script>const app = document.getElementById('app');\
             for (const host of ['accounts.google.com', 'www.google.com', 'tracker.invalid']) \
               fetch('https://' + host + '/', {mode: 'no-cors'}).catch(() => app.append(' refused'));</script>",
        )
    })
    .await;
    let quiet = Server::start(|_, _| html(WRITTEN)).await;
    let called = reaching(&server).call("browse_web", json!({"url": server.url("/")})).await.result;
    let expected = json!(["accounts.google.com", "tracker.invalid", "www.google.com"]);
    assert_eq!(called.data["scripts"]["refused"], expected, "{}", called.for_model());
    let called = reaching(&quiet).call("scrape_page", json!({"url": quiet.url("/")})).await.result;
    assert_eq!(called.data["scripts"]["refused"], json!([]), "{}", called.for_model());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_browser_a_page_is_read_as_it_is() {
    let server = Server::start(|_, _| html(WRITTEN)).await;
    for (browser, state) in
        [("off", "no_browser"), ("/nonexistent/chromium", "no_browser"), ("/bin/false", "failed")]
    {
        let hosts = server.address.to_string();
        let fixture =
            super::fixture(&[("MARVIN_WEB_ORG_ALLOWLIST", &hosts), ("MARVIN_WEB_BROWSER", browser)]);
        let called = fixture.call("browse_web", json!({"url": server.url("/")})).await.result;
        assert!(called.ok && called.data["scripts"]["state"] == state, "{browser}: {}", called.data);
        assert!(called.for_model().contains("they did not run"), "{}", called.for_model());
    }
    let plain = Server::start(|_, _| html("<main>Hello</main>")).await;
    let called = reaching(&plain).call("browse_web", json!({"url": plain.url("/")})).await.result;
    assert_eq!(called.data["scripts"], json!({"state": "none"}));
    assert_eq!(plain.hits(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_never_ends_is_given_up_and_read_without_scripts() {
    if !has_browser() {
        return;
    }
    let server = Server::start(|path, _| match path {
        "/" => html("<main>static</main><script>while (true) {}</script>"),
        _ => page("404 Not Found", "text/html", "gone"),
    })
    .await;
    let called = reaching(&server).call("browse_web", json!({"url": server.url("/")})).await.result;
    assert!(called.for_model().contains("static"), "{}", called.for_model());
}
