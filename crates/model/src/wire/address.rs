//! Addresses of requests: the base address of the settings and the path of the wire.

use super::WireKind;
use super::http::missing;
use crate::client::ModelError;
use reqwest::Url;

/// The address that requests go to.
pub(super) fn endpoint(provider: &str, wire: WireKind, base: &str, model: &str) -> Result<Url, ModelError> {
    let wrong = |reason: &str| {
        missing(provider, &format!("cannot use the address ({reason}); correct `provider.{provider}.url`"))
    };
    let mut url = Url::parse(base.trim()).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("it must begin with http:// or https://"));
    }
    let path = url.path().trim_end_matches('/').to_string();
    let append = |full: &str, versions: &[&str], version: &str, rest: &str| {
        if path.ends_with(full) {
            path.clone()
        } else if versions.iter().any(|version| path.ends_with(version)) {
            format!("{path}{rest}")
        } else {
            format!("{path}{version}{rest}")
        }
    };
    match wire {
        WireKind::OpenAi => url.set_path(&append("/chat/completions", &[], "", "/chat/completions")),
        WireKind::Anthropic => url.set_path(&append("/messages", &["/v1"], "/v1", "/messages")),
        WireKind::Ollama => url.set_path(&append("/api/chat", &["/api"], "/api", "/chat")),
        WireKind::Gemini => {
            url.set_path(&append("/models", &["/v1beta", "/v1", "/v1alpha"], "/v1beta", "/models"));
            let model = model.strip_prefix("models/").unwrap_or(model);
            if let Ok(mut segments) = url.path_segments_mut() {
                segments.push(&format!("{model}:streamGenerateContent"));
            }
            url.query_pairs_mut().append_pair("alt", "sse");
        }
    }
    Ok(url)
}

/// Whether an address names this machine.
pub(crate) fn is_local(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| is_loopback(&url))
}

/// Whether an address is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_appended_where_missing() {
        for (wire, url, model, expected) in [
            (WireKind::OpenAi, "http://h/v1", "m", "http://h/v1/chat/completions"),
            (WireKind::OpenAi, "http://h/v1/chat/completions", "m", "http://h/v1/chat/completions"),
            (
                WireKind::OpenAi,
                "https://api.githubcopilot.com",
                "m",
                "https://api.githubcopilot.com/chat/completions",
            ),
            (WireKind::Anthropic, "http://h", "m", "http://h/v1/messages"),
            (WireKind::Anthropic, "http://h/v1/", "m", "http://h/v1/messages"),
            (WireKind::Anthropic, "http://h/x/v1/messages", "m", "http://h/x/v1/messages"),
            (WireKind::Ollama, "http://h:1", "m", "http://h:1/api/chat"),
            (WireKind::Gemini, "http://h", "g-3", "http://h/v1beta/models/g-3:streamGenerateContent?alt=sse"),
            (
                WireKind::Gemini,
                "http://h/v1",
                "models/g",
                "http://h/v1/models/g:streamGenerateContent?alt=sse",
            ),
        ] {
            assert_eq!(endpoint("p", wire, url, model).unwrap().as_str(), expected);
        }
    }

    #[test]
    fn this_machine_has_several_names() {
        let local = |url: &str| is_loopback(&Url::parse(url).unwrap());
        assert!(local("http://127.0.0.1:1") && local("http://localhost") && local("http://[::1]:8/x"));
        assert!(!local("https://api.openai.com") && !local("http://localhost.example.com"));
    }
}
