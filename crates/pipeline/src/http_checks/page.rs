//! Checks of a page as a browser loads it: the HTML and every asset of the service that it references.
//!
//! Limits: references are the attributes `src` and `href` of the page itself; what scripts load later is not seen.

use super::check::Check;
use super::http::{HttpError, Request, Response};
use std::collections::BTreeSet;

const MAX_PAGE_ASSETS: usize = 100;

pattern!(REFERENCE, r#"(?is)<(script|link|img|source|iframe)\b[^>]*?\b(?:src|href)\s*=\s*["']?([^"'\s>]+)"#);
pattern!(DOCTYPE, r"(?i)^\s*<!doctype html");
pattern!(TITLE, r"(?is)<title[^>]*>\s*\S.*?</title>");

/// The paths of this service that a page references, each with its element.
fn references(page: &str, html: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for captures in REFERENCE.iter().flat_map(|reference| reference.captures_iter(html)) {
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

/// Resolves a reference relative to its page.
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

/// What is wrong with an asset.
fn asset_problem(element: &str, path: &str, response: &Response) -> Option<String> {
    let kind = response.media_type();
    if response.status != 200 {
        return Some(format!("the status is {}", response.status));
    }
    if response.body.is_empty() {
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
    (!fits).then(|| format!("it is served as `{kind}`, which a browser does not accept for a {element}"))
}

/// Checks one page and its assets.
pub(super) async fn check(path: &str, response: Result<Response, HttpError>, port: u16) -> Vec<Check> {
    let name = format!("page {path}");
    let response = match response {
        Ok(response) => response,
        Err(error) => return vec![Check::failed(name, &error)],
    };
    let html = response.text();
    let problem = if response.status != 200 {
        Some(format!("the status is {}", response.status))
    } else if !response.is_html() {
        Some(format!("it is served as `{}`, not as text/html", response.media_type()))
    } else if !DOCTYPE.as_ref().is_some_and(|doctype| doctype.is_match(&html)) {
        Some("it does not begin with <!doctype html>".into())
    } else if !TITLE.as_ref().is_some_and(|title| title.is_match(&html)) {
        Some("it has no title".into())
    } else {
        None
    };
    let mut checks = vec![Check::new(name, problem, &html)];
    for (element, target) in references(path, &html).into_iter().take(MAX_PAGE_ASSETS) {
        let name = format!("{element} {target} of {path}");
        checks.push(match Request::get(&target).send(port).await {
            Ok(response) => {
                Check::new(name, asset_problem(&element, &target, &response), &response.media_type())
            }
            Err(error) => Check::failed(name, &error),
        });
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_the_service_are_found() {
        let html = r#"<link rel=stylesheet href="style.css?v=1"><SCRIPT src='/js/../app.js'></SCRIPT><img src=data:x>
                      <script src="https://cdn.example/x.js"></script><script src="//cdn/x.js"></script><img src="../a.png#b">"#;
        let found: Vec<String> = references("/sub/page", html)
            .into_iter()
            .map(|(element, path)| format!("{element} {path}"))
            .collect();
        assert_eq!(found, ["img /a.png", "link /sub/style.css?v=1", "script /app.js"]);
    }

    #[test]
    fn media_types_are_checked() {
        let response = |kind: &str| Response {
            status: 200,
            headers: [("content-type".to_string(), kind.to_string())].into(),
            body: b"x".to_vec(),
        };
        assert_eq!(asset_problem("script", "/a.js", &response("text/javascript; charset=utf-8")), None);
        assert!(asset_problem("script", "/a.js", &response("text/plain")).unwrap().contains("text/plain"));
        assert!(asset_problem("link", "/a.css", &response("text/html")).is_some());
        assert!(
            asset_problem("img", "/a.png", &Response { status: 404, ..Response::default() })
                .unwrap()
                .contains("404")
        );
    }
}
