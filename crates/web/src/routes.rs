//! Matching of requests against the table of routes.

use crate::answer::Refusal;
use crate::pages::{ROUTES, Route};
use axum::http::{HeaderValue, Method, StatusCode, header};

/// A route, and what its address named.
#[derive(Debug)]
pub(crate) struct RouteMatch {
    pub(crate) route: &'static Route,
    /// The part that stands for `{…}`; none of them has more than one.
    pub(crate) part: String,
}

pub(crate) fn find(method: &Method, path: &str) -> Result<RouteMatch, Refusal> {
    let mut allowed = Vec::new();
    for route in &ROUTES {
        let Some(part) = fits(route.path, path) else { continue };
        if route.method == method.as_str() {
            return Ok(RouteMatch { route, part });
        }
        allowed.push(route.method);
    }
    if allowed.is_empty() {
        return Err(Refusal::absent(
            "there is nothing at this address\n  hint: /openapi.json says what there is",
        ));
    }
    let why = format!("{method} is not for this address; {} is", allowed.join(", "));
    let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, why);
    Err(match HeaderValue::from_str(&allowed.join(", ")) {
        Ok(names) => refusal.with(header::ALLOW, names),
        Err(_) => refusal,
    })
}

/// Matches a path against a route and returns the decoded part that stands for `{…}`.
///
/// A part that would name a directory, or is not text, does not match.
fn fits(route: &str, path: &str) -> Option<String> {
    let mut given = path.split('/');
    let mut part = String::new();
    for wanted in route.split('/') {
        let given = given.next()?;
        if wanted.starts_with('{') {
            part = decoded(given)?;
            if part.is_empty() || part == "." || part == ".." || part.contains(['/', '\\', '\0']) {
                return None;
            }
        } else if wanted != given {
            return None;
        }
    }
    given.next().is_none().then_some(part)
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(
            u8::from_str_radix(std::str::from_utf8(&digits).ok().filter(|text| !text.contains('+'))?, 16)
                .ok()?,
        );
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Act;
    use serde_json::Value;

    #[test]
    fn the_description_names_every_route_and_no_other() {
        let described: Value = serde_json::from_str(crate::assets::DESCRIPTION).unwrap();
        let mut named: Vec<String> = Vec::new();
        for (path, methods) in described["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                named.push(format!("{} {path}", method.to_uppercase()));
            }
        }
        let mut ours: Vec<String> =
            ROUTES.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
        named.sort();
        ours.sort();
        assert_eq!(ours, named);
        for route in &ROUTES {
            let operation = &described["paths"][route.path][route.method.to_lowercase()];
            assert_eq!(operation["security"] == serde_json::json!([]), route.open, "{}", route.path);
        }
    }

    #[test]
    fn an_address_names_one_thing_or_nothing() {
        let found = |path: &str| find(&Method::GET, path).map(|found| (found.route.act, found.part)).ok();
        assert_eq!(found("/api/runs/run_1"), Some((Act::Run, "run_1".into())));
        assert_eq!(found("/api/runs/a%20b"), Some((Act::Run, "a b".into())));
        let nothing = [
            "/api/runs/..",
            "/api/runs/%2e%2e",
            "/api/runs/a%2fb",
            "/api/runs/%",
            "/api/runs/%zz",
            "/api/runs/%ff",
            "/api/runs/",
            "//",
            "/assets/../x",
            "/assets/%2e%2e%2fx",
            "/api",
            "/api/runs/x/file/y",
            "/api/runs/%00",
            "/api/runs/%+1",
        ];
        for path in nothing {
            assert_eq!(found(path), None, "{path}");
        }
        let refused = find(&Method::DELETE, "/api/prompt").unwrap_err();
        assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED);
    }
}
