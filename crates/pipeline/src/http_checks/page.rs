//! A page as a browser would take it: it is there, it is HTML, and so is everything that it names of this service.
//!
//! Limits: names are found in the attributes `src` and `href` of the page itself; what scripts load later is not seen.

use super::Check;
use super::http::{Answer, Request};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Assets of one page that are fetched.
const MAX_PAGE_ASSETS: usize = 100;

static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?is)<(script|link|img|source|iframe)\b[^>]*?\b(?:src|href)\s*=\s*["']?([^"'\s>]+)"#).ok()
});
static TITLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?is)<title[^>]*>\s*\S.*?</title>").ok());

/// The paths of this service that a page names, each with the element that names it.
fn named(page: &str, html: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for captures in NAMED.iter().flat_map(|named| named.captures_iter(html)) {
        let (Some(element), Some(target)) = (captures.get(1), captures.get(2)) else { continue };
        let target = target.as_str().split('#').next().unwrap_or_default().replace("&amp;", "&");
        let elsewhere = target.is_empty()
            || target.starts_with("//")
            || target.split('/').next().is_some_and(|start| start.contains(':'));
        if !elsewhere {
            found.insert((element.as_str().to_lowercase(), resolve(page, &target)));
        }
    }
    found
}

/// A name relative to the page that names it.
fn resolve(page: &str, target: &str) -> String {
    let directory = page.split('?').next().unwrap_or(page);
    let base = match target.starts_with('/') {
        true => String::new(),
        false => directory
            .rsplit_once('/')
            .map_or_else(|| "/".to_string(), |(directory, _)| format!("{directory}/")),
    };
    let mut parts: Vec<&str> = Vec::new();
    let whole = format!("{base}{target}");
    let (path, query) =
        whole.split_once('?').map_or((whole.as_str(), None), |(path, query)| (path, Some(query)));
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("/{}{query}", parts.join("/"))
}

/// What is wrong with something that a page names.
fn asset_problem(element: &str, path: &str, answer: &Answer) -> Option<String> {
    let kind = answer.kind();
    if answer.status != 200 {
        return Some(format!("the status is {}", answer.status));
    }
    if answer.body.is_empty() {
        return Some("it is empty".into());
    }
    let path = path.split('?').next().unwrap_or(path);
    let fits = match (element, path.rsplit('.').next()) {
        ("script", _) => {
            kind.contains("javascript") || kind.contains("ecmascript") || kind == "application/json"
        }
        (_, Some("css")) => kind == "text/css",
        ("img", _) => kind.starts_with("image/"),
        _ => true,
    };
    (!fits).then(|| format!("it is served as `{kind}`, which a browser does not take for a {element}"))
}

/// Checks one page, and everything that it names.
pub(super) async fn check(path: &str, answer: Result<Answer, String>, port: u16) -> Vec<Check> {
    let name = format!("page {path}");
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => return vec![Check { name, ok: false, detail: why }],
    };
    let html = answer.text();
    let problem = if answer.status != 200 {
        Some(format!("the status is {}", answer.status))
    } else if !answer.is_html() {
        Some(format!("it is served as `{}`, not as text/html", answer.kind()))
    } else if !html.trim_start().to_lowercase().starts_with("<!doctype html") {
        Some("it does not begin with <!doctype html>".into())
    } else if !TITLE.as_ref().is_some_and(|title| title.is_match(&html)) {
        Some("it has no title".into())
    } else {
        None
    };
    let mut checks = vec![Check::new(name, problem, &html)];
    for (element, target) in named(path, &html).into_iter().take(MAX_PAGE_ASSETS) {
        let name = format!("{element} {target} of {path}");
        checks.push(match Request::get(&target).send(port).await {
            Ok(answer) => Check::new(name, asset_problem(&element, &target, &answer), &answer.kind()),
            Err(why) => Check { name, ok: false, detail: why },
        });
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_service_are_found() {
        let html = r#"<link rel=stylesheet href="style.css?v=1"><SCRIPT src='/js/../app.js'></SCRIPT><img src=data:x>
                      <script src="https://cdn.example/x.js"></script><script src="//cdn/x.js"></script><img src="../a.png#b">"#;
        let found: Vec<String> =
            named("/sub/page", html).into_iter().map(|(element, path)| format!("{element} {path}")).collect();
        assert_eq!(found, ["img /a.png", "link /sub/style.css?v=1", "script /app.js"]);
    }

    #[test]
    fn kinds_matter() {
        let answer = |kind: &str| Answer {
            status: 200,
            headers: [("content-type".to_string(), kind.to_string())].into(),
            body: b"x".to_vec(),
        };
        assert_eq!(asset_problem("script", "/a.js", &answer("text/javascript; charset=utf-8")), None);
        assert!(asset_problem("script", "/a.js", &answer("text/plain")).unwrap().contains("text/plain"));
        assert!(asset_problem("link", "/a.css", &answer("text/html")).is_some());
        assert!(
            asset_problem("img", "/a.png", &Answer { status: 404, ..Answer::default() })
                .unwrap()
                .contains("404")
        );
    }
}
