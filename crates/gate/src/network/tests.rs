//! The guard with its lists.

use super::*;
use crate::Decision;
use marvin_base::environment::Environment;
use marvin_base::settings::Sources;

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let environment = Environment::from_iter(pairs.iter().copied());
    Settings::load(&Sources { environment, ..Sources::default() }).unwrap()
}

fn judged(pairs: &[(&str, &str)], url: &str, service: Option<Service>) -> Verdict {
    let environment = Environment::from_iter([("MY_API_KEY", "correct horse battery")]);
    let redactor = Redactor::new(&environment, []);
    Guard::new(&settings(pairs), &redactor).unwrap().judge(url, service)
}

const ORG: &str = "MARVIN_WEB_ORG_ALLOWLIST";
const REQUEST: &str = "MARVIN_WEB_REQUEST_ALLOWLIST";

#[test]
fn without_a_list_a_person_is_asked_and_services_are_open_to_their_tool() {
    let verdict = judged(&[], "https://example.com/", None);
    assert_eq!((verdict.decision, verdict.rule.as_str()), (Decision::Ask, "network.unlisted"));
    assert!(verdict.how_to_fix.contains("web.org_allowlist"), "{verdict:?}");
    assert!(verdict.how_to_fix.contains("MARVIN_WEB_ORG_ALLOWLIST"), "{verdict:?}");
    let search = "https://html.duckduckgo.com/html/?q=a";
    assert_eq!(judged(&[], search, Some(Service::Search)).decision, Decision::Allow);
    assert_eq!(judged(&[], search, None).decision, Decision::Ask);
    assert_eq!(judged(&[], search, Some(Service::GithubApi)).decision, Decision::Ask);
    assert_eq!(judged(&[], "https://api.github.com/x", Some(Service::GithubApi)).decision, Decision::Allow);
    // Another port or scheme is another service.
    for url in ["http://api.github.com/x", "https://api.github.com:8443/x", "https://x.api.github.com/"] {
        assert_eq!(judged(&[], url, Some(Service::GithubApi)).decision, Decision::Ask, "{url}");
    }
}

#[test]
fn what_is_not_public_is_refused_with_or_without_lists() {
    for lists in [&[][..], &[(ORG, "*")], &[(ORG, "example.com")], &[(REQUEST, "127.0.0.1, localhost")]] {
        for url in [
            "http://127.0.0.1/",
            "http://localhost/",
            "http://x.localhost/",
            "http://[::1]/",
            "http://10.0.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://0.0.0.0/",
            "http://2130706433/",
            "http://[::ffff:a00:1]/",
        ] {
            let verdict = judged(lists, url, None);
            assert_eq!(verdict.decision, Decision::Deny, "{lists:?} {url}");
            assert!(verdict.how_to_fix.contains("web."), "{verdict:?}");
        }
    }
}

#[test]
fn the_operator_opens_what_they_name() {
    for (org, url) in [
        ("127.0.0.1", "http://127.0.0.1:8080/"),
        ("localhost:3000", "http://localhost:3000/"),
        ("10.0.0.0/8", "http://10.1.2.3/"),
        ("169.254.169.254", "http://169.254.169.254/"),
    ] {
        assert_eq!(judged(&[(ORG, org)], url, None).decision, Decision::Allow, "{org} {url}");
    }
    // A service on this machine is named by its own setting.
    let search = ("MARVIN_WEB_SEARCH_URL", "http://127.0.0.1:8888/");
    assert_eq!(
        judged(&[search], "http://127.0.0.1:8888/?q=a", Some(Service::Search)).decision,
        Decision::Allow
    );
    assert_eq!(judged(&[search], "http://127.0.0.1:8888/?q=a", None).decision, Decision::Deny);
    assert_eq!(
        judged(&[search], "http://127.0.0.1:8889/?q=a", Some(Service::Search)).decision,
        Decision::Deny
    );
}

#[test]
fn lists_restrict_services_too() {
    let search = "https://html.duckduckgo.com/html/?q=a";
    assert_eq!(judged(&[(ORG, "docs.rs")], search, Some(Service::Search)).decision, Decision::Deny);
    assert_eq!(judged(&[(ORG, "*")], search, Some(Service::Search)).decision, Decision::Allow);
    assert_eq!(judged(&[(REQUEST, "docs.rs")], search, Some(Service::Search)).decision, Decision::Deny);
    assert_eq!(judged(&[(REQUEST, "docs.rs")], "https://docs.rs/", None).decision, Decision::Ask);
    let verdict = judged(&[(ORG, "*"), (REQUEST, "docs.rs")], "https://example.com/", None);
    assert_eq!(verdict.decision, Decision::Deny);
    assert!(verdict.reason.contains("web.request_allowlist"), "{verdict:?}");
}

#[test]
fn a_secret_in_the_address_is_not_sent() {
    for url in [
        "https://example.com/?k=correct%20horse%20battery",
        "https://example.com/?k=correct+horse+battery",
        "https://example.com/correct%2520horse%2520battery",
        "https://example.com/?k=%63orrect%20horse%20battery",
        "https://example.com/?k=ghp_0123456789abcdefghijABCDEFGHIJ456789",
        "https://example.com/#correct%20horse%20battery",
    ] {
        let verdict = judged(&[(ORG, "*")], url, None);
        let sent = !url.contains('#');
        assert_eq!(verdict.rule == "network.secret", sent, "{url}: {verdict:?}");
        assert!(!verdict.for_model().contains("battery") && !verdict.for_model().contains("ghp_"));
    }
    let hash = "https://example.com/commit/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567";
    assert_eq!(judged(&[(ORG, "*")], hash, None).decision, Decision::Allow);
}

fn addresses(list: &'static [&'static str]) -> impl Fn(&str, u16) -> std::io::Result<Vec<SocketAddr>> {
    |_, port| Ok(list.iter().map(|text| SocketAddr::new(text.parse().unwrap(), port)).collect())
}

#[test]
fn every_address_of_a_name_is_checked() {
    let redactor = Redactor::patterns_only();
    let open = settings(&[(ORG, "*, 10.0.0.0/8")]);
    let guard = Guard::new(&open, &redactor).unwrap();
    let to = Destination::understand("https://example.com/").unwrap();
    let found = guard.resolve(&to, None, &addresses(&["93.184.216.34", "2606:4700::1"])).unwrap();
    assert_eq!(found.len(), 2);
    guard.resolve(&to, None, &addresses(&["10.1.2.3"])).unwrap();
    for list in [
        &["127.0.0.1"][..],
        &["93.184.216.34", "127.0.0.1"],
        &["93.184.216.34", "::1"],
        &["192.168.1.1"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["169.254.169.254"],
        &["0.0.0.0"],
        &["fe80::1"],
    ] {
        let lookup = move |_: &str, port: u16| {
            Ok(list.iter().map(|text| SocketAddr::new(text.parse().unwrap(), port)).collect())
        };
        let refusal = guard.resolve(&to, None, &lookup).unwrap_err();
        assert_eq!(refusal.kind, RefusalKind::Address, "{list:?}");
        assert!(refusal.reason.contains("example.com is "), "{refusal}");
    }
    let refusal = guard.resolve(&to, None, &addresses(&[])).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Unresolved);
}

#[test]
fn a_redirect_is_a_request_of_its_own() {
    let redactor = Redactor::patterns_only();
    let lists = settings(&[(ORG, "example.com, example.org")]);
    let guard = Guard::new(&lists, &redactor).unwrap();
    let from = Destination::understand("https://example.com/a/b").unwrap();
    let to = |location: &str| guard.redirect(&from, &from, location, None);
    assert_eq!(to("c?d#e").unwrap().url().as_str(), "https://example.com/a/c?d");
    assert_eq!(to("//example.org/").unwrap().url().as_str(), "https://example.org/");
    for location in [
        "http://example.com/",
        "https://evil.example/",
        "https://127.0.0.1/",
        "//localhost/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "data:text/html,x",
        "https://user@example.com/",
        "\\\\example.org",
        "https://example.com:25/",
        "https://example.com.evil/",
        "javascript:1",
    ] {
        let refusal = to(location).expect_err(location);
        assert_eq!(refusal.kind, RefusalKind::Redirect, "{location}");
    }
    // A person agreed to one host, and to no other.
    let none = settings(&[]);
    let guard = Guard::new(&none, &redactor).unwrap();
    let from = Destination::understand("http://example.com/").unwrap();
    guard.redirect(&from, &from, "https://example.com/x", None).unwrap();
    guard.redirect(&from, &from, "/x", None).unwrap();
    for location in ["https://www.example.com/", "http://example.com:8080/", "https://example.com:444/"] {
        guard.redirect(&from, &from, location, None).expect_err(location);
    }
}
