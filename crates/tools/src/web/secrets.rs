//! Secret headers that the operator adds to requests for a domain.
//!
//! `web.domain_secrets` is `{"domain": {"Header": "Bearer $VARIABLE"}}`. The longest domain that fits wins, and it is
//! determined again on every hop, so a header never goes to another host. Every response is searched for the values before
//! it is passed on.

use crate::result::ToolError;
use marvin_base::environment::Environment;
use marvin_base::settings::{Settings, table};
use marvin_gate::network::allowlist::Entry;
use marvin_gate::network::{Destination, Host};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// Secret values to black out.
#[derive(Default)]
pub(crate) struct Needles {
    values: Vec<Vec<u8>>,
    longest: usize,
}

impl Needles {
    /// Adds a value, in the encodings in which a server may send it back.
    pub(crate) fn add(&mut self, value: &str) {
        /// Shorter ones would black out ordinary text.
        const MIN_SECRET_BYTES: usize = 4;
        let value = value.trim();
        if value.len() < MIN_SECRET_BYTES {
            return;
        }
        let percent: String = value.bytes().fold(String::new(), |mut text, byte| {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                text.push(char::from(byte));
            } else {
                text.push_str(&format!("%{byte:02X}"));
            }
            text
        });
        let quoted = Value::from(value).to_string();
        let escaped = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        let markup =
            value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let forms = [
            value.as_bytes().to_vec(),
            percent.to_ascii_lowercase().into_bytes(),
            percent.into_bytes(),
            escaped.as_bytes().to_vec(),
            markup.into_bytes(),
            base64(value.as_bytes()).trim_end_matches('=').as_bytes().to_vec(),
            value.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            value.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        ];
        for form in forms {
            if !self.values.contains(&form) {
                self.longest = self.longest.max(form.len());
                self.values.push(form);
            }
        }
        // The longest first: it may contain a shorter one.
        self.values.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Blacks out every value, byte for byte.
    pub(crate) fn black_out(&self, bytes: &mut [u8]) {
        for needle in &self.values {
            let found: Vec<usize> = memchr::memmem::find_iter(bytes, needle).collect();
            for start in found {
                if let Some(piece) = bytes.get_mut(start..start + needle.len()) {
                    piece.fill(b'*');
                }
            }
        }
    }

    /// The same for a text.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.black_out(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
        let number = number << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let index = number >> (18 - 6 * place) & 63;
            text.push(char::from(LETTERS.get(index as usize).copied().unwrap_or(b'A')));
        }
    }
    text
}

fn table_of(settings: &Settings) -> Result<Map<String, Value>, ToolError> {
    match settings.given(&table::WEB_DOMAIN_SECRETS) {
        None => Ok(Map::new()),
        Some(text) => serde_json::from_str(text).map_err(|_| wrong("it is not a JSON object")),
    }
}

fn wrong(what: &str) -> ToolError {
    ToolError::Failed(format!(
        "{} cannot be used: {what}. It is a JSON object such as {{\"example.com\": {{\"Authorization\": \"Bearer \
         $EXAMPLE_TOKEN\"}}}}. Tell the person.",
        table::WEB_DOMAIN_SECRETS.key
    ))
}

/// The headers for a destination; their values are added to the needles.
pub(crate) fn headers_for(
    to: &Destination,
    settings: &Settings,
    environment: &Environment,
    needles: &mut Needles,
) -> Result<HeaderMap, ToolError> {
    let table = table_of(settings)?;
    let mut best: Option<(&String, &Value)> = None;
    for (domain, headers) in &table {
        let entry = Entry::parse(domain)
            .ok()
            .filter(|_| !domain.contains('*'))
            .ok_or_else(|| wrong(&format!("`{domain}` is not a domain")))?;
        if entry.covers(to.host(), to.port()) && best.is_none_or(|(longest, _)| domain.len() > longest.len())
        {
            best = Some((domain, headers));
        }
    }
    let mut headers = HeaderMap::new();
    let Some((domain, wanted)) = best else { return Ok(headers) };
    let wanted = wanted.as_object().ok_or_else(|| wrong(&format!("`{domain}` has no headers")))?;
    if !may_carry_secrets(to) {
        return Err(ToolError::Failed(format!(
            "the headers that {} has for {domain} are sent only over https, and this address is http. Use https.",
            table::WEB_DOMAIN_SECRETS.key
        )));
    }
    for (name, template) in wanted {
        let template = template
            .as_str()
            .ok_or_else(|| wrong(&format!("the header `{name}` of `{domain}` is not a text")))?;
        let value = fill(template, environment, needles).map_err(|UnsetVariable(variable)| {
            ToolError::Failed(format!(
                "the header `{name}` for {domain} needs the variable {variable}, which is not set. Tell the person to set \
                 it, or to take it out of {}.",
                table::WEB_DOMAIN_SECRETS.key
            ))
        })?;
        let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) else {
            return Err(wrong(&format!("the header `{name}` of `{domain}` cannot be sent")));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Whether secrets may be sent there: over https, or to this machine.
pub(crate) fn may_carry_secrets(to: &Destination) -> bool {
    to.is_https()
        || to.host().is_localhost()
        || matches!(to.host(), Host::Address(address) if address.to_canonical().is_loopback())
}

/// A variable of a template that is not set.
struct UnsetVariable(String);

/// Fills the variables of a template; every value and the whole are added to the needles.
fn fill(template: &str, environment: &Environment, needles: &mut Needles) -> Result<String, UnsetVariable> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let (name, after) = name_at(after);
        rest = after;
        if name.is_empty() {
            filled.push('$');
            continue;
        }
        let value = environment.get(name).ok_or_else(|| UnsetVariable(name.to_string()))?;
        needles.add(value);
        filled.push_str(value.trim());
    }
    filled.push_str(rest);
    needles.add(&filled);
    // Of `Bearer abc` a server may send back `abc`.
    for word in filled.split_ascii_whitespace().skip(1) {
        needles.add(word);
    }
    Ok(filled)
}

/// The name of a variable at the beginning of a text (`NAME` or `{NAME}`), and what follows it.
fn name_at(text: &str) -> (&str, &str) {
    if let Some((name, after)) = text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        return (name, after);
    }
    text.split_at(text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len()))
}

/// Secret values of `web.domain_secrets` with the names of their variables, for the redactor.
#[must_use]
pub fn domain_secrets(settings: &Settings, environment: &Environment) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let table = table_of(settings).unwrap_or_default();
    for template in
        table.values().filter_map(Value::as_object).flat_map(Map::values).filter_map(Value::as_str)
    {
        let mut pieces = template.split('$');
        let plain = pieces.next().unwrap_or_default();
        let before = found.len();
        for name in pieces.map(|piece| name_at(piece).0) {
            found.extend(environment.get(name).map(|value| (name.to_string(), value.to_string())));
        }
        // A secret that was written down in the setting itself.
        if found.len() == before && !template.contains('$') {
            found.extend(
                plain.split_ascii_whitespace().last().map(|word| ("domain-secret".into(), word.into())),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::settings::Sources;

    fn headers(json: &str, url: &str) -> Result<(HeaderMap, Needles), ToolError> {
        let environment = Environment::from_iter([
            ("MARVIN_WEB_DOMAIN_SECRETS", json),
            ("CORP", "corp-value-1"),
            ("INNER", "inner-value-2"),
        ]);
        let settings =
            Settings::load(&Sources { environment: environment.clone(), ..Sources::default() }).unwrap();
        let mut needles = Needles::default();
        let to = Destination::understand(url).unwrap();
        let headers = headers_for(&to, &settings, &environment, &mut needles)?;
        Ok((headers, needles))
    }

    const TABLE: &str = r#"{"example.com": {"Authorization": "Bearer $CORP"}, "api.example.com": {"X-Key": "${INNER}-x"},
        "broken.example": {"X": "$NOT_SET_ANYWHERE"}}"#;

    #[test]
    fn the_longest_domain_wins_and_no_other_host_gets_anything() {
        let (sent, _) = headers(TABLE, "https://www.example.com/").unwrap();
        assert_eq!(sent["authorization"], "Bearer corp-value-1");
        assert!(sent["authorization"].is_sensitive());
        let (sent, _) = headers(TABLE, "https://v1.api.example.com/").unwrap();
        assert_eq!((sent.len(), sent["x-key"].to_str().unwrap()), (1, "inner-value-2-x"));
        for other in ["https://evilexample.com/", "https://example.com.evil/", "https://example.org/"] {
            assert!(headers(TABLE, other).unwrap().0.is_empty(), "{other}");
        }
        let error = headers(TABLE, "http://example.com/").err().unwrap().to_string();
        assert!(error.contains("https") && !error.contains("corp-value"), "{error}");
    }

    #[test]
    fn a_missing_variable_is_named() {
        let error = headers(TABLE, "https://broken.example/").err().unwrap().to_string();
        assert!(error.contains("NOT_SET_ANYWHERE"), "{error}");
        for bad in [r#"{"a": 1}"#, r#"{"a": {"X": 1}}"#, r#"{"*": {"X": "y"}}"#, r#"{"a": {"X Y": "y"}}"#] {
            let error = headers(bad, "https://a/").err().map(|error| error.to_string());
            assert!(error.is_none_or(|error| error.contains("web.domain_secrets")), "{bad}");
        }
    }

    #[test]
    fn every_form_of_a_value_is_blacked_out() {
        let mut needles = Needles::default();
        needles.add("s3cret/val ue\"");
        for form in [
            "s3cret/val ue\"",
            "s3cret%2Fval%20ue%22",
            "s3cret%2fval%20ue%22",
            "s3cret/val ue\\\"",
            "s3cret/val ue&quot;",
        ] {
            let text = format!("a {form} b {form}");
            let clean = needles.clean(&text);
            assert_eq!(clean.len(), text.len());
            assert!(
                !clean.contains("s3cret") && clean.starts_with("a *") && clean.contains("* b *"),
                "{clean}"
            );
        }
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE");
        let encoded = base64("s3cret/val ue\"".as_bytes());
        assert!(!needles.clean(&format!("x{encoded}==")).contains(&encoded));
        let mut wide: Vec<u8> = "x s3cret/val ue\" y".encode_utf16().flat_map(u16::to_le_bytes).collect();
        needles.black_out(&mut wide);
        assert!(!wide.windows(2).any(|pair| pair == b"3\0"));
        needles.add("abc");
        assert_eq!(needles.clean("abc"), "abc");
    }
}
