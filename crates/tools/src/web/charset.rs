//! Decoding the bytes of a page as text.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes at the beginning of a page where it may name its own charset.
const SNIFFED_BYTES: usize = 1024;

/// Decodes a page: by its BOM, by the server's header, by the page's own charset, else as UTF-8, else as windows-1252,
/// which old pages mean. Bytes that do not fit become `�`.
pub(super) fn decode(bytes: &[u8], content_type: &str) -> String {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    let named = label_in(content_type).or_else(|| {
        let start = String::from_utf8_lossy(bytes.get(..SNIFFED_BYTES).unwrap_or(bytes)).into_owned();
        label_in(&start)
    });
    let encoding = named.unwrap_or_else(|| match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        // The end may be cut in the middle of a character, where there were others before it.
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            if error.error_len().is_none() && !valid.is_ascii() { UTF_8 } else { WINDOWS_1252 }
        }
    });
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// The known charset that a header or the beginning of a page names (`charset=…`, `encoding="…"`).
fn label_in(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    ["charset", "encoding"].iter().find_map(|word| {
        let (_, rest) = lower.split_once(word)?;
        let label = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
        let end =
            label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c)).unwrap_or(label.len());
        Encoding::for_label(label.split_at(end).0.as_bytes())
    })
}

pub(super) fn is_text(bytes: &[u8], content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if matches!(Encoding::for_bom(bytes), Some((encoding, _)) if encoding != UTF_8) {
        return true;
    }
    let has_nul = bytes.iter().take(4096).any(|byte| *byte == 0);
    let named = kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "x-www-form-urlencoded", "x-sh", "toml", "sql", "graphql"]
            .iter()
            .any(|word| kind.ends_with(word));
    if named {
        let wide = label_in(content_type).is_some_and(|encoding| encoding.name().starts_with("UTF-16"));
        return wide || !has_nul;
    }
    let unknown = kind.is_empty() || kind == "application/octet-stream" || kind == "binary/octet-stream";
    let start = bytes.get(..4096).unwrap_or(bytes);
    unknown
        && !has_nul
        && std::str::from_utf8(start).map_or_else(|error| error.error_len().is_none(), |_| true)
}

pub(super) fn is_html(text: &str, content_type: &str) -> bool {
    let kind = content_type.to_ascii_lowercase();
    if kind.contains("html") {
        return true;
    }
    let start: String = text.trim_start().chars().take(15).collect::<String>().to_ascii_lowercase();
    (kind.is_empty() || kind.starts_with("application/octet-stream"))
        && ["<!doctype html", "<html"].iter().any(|tag| start.starts_with(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charsets_are_found_and_survived() {
        for (bytes, kind, expected) in [
            (&b"caf\xc3\xa9"[..], "text/html", "café"),
            (b"caf\xe9", "text/html", "café"),
            (b"caf\xe9", "text/html; charset=ISO-8859-1", "café"),
            (b"caf\xe9", "text/html; charset=\"iso-8859-1\"", "café"),
            (b"<meta charset=windows-1251>\xcf\xf0\xe8", "text/html", "<meta charset=windows-1251>При"),
            (
                b"<?xml version='1.0' encoding='koi8-r'?>\xf0",
                "text/xml",
                "<?xml version='1.0' encoding='koi8-r'?>П",
            ),
            (b"\xff\xfeh\0i\0", "text/html", "hi"),
            (b"h\0i\0", "text/plain; charset=utf-16le", "hi"),
            (b"\xef\xbb\xbfhi", "text/plain", "hi"),
            (b"ab\xff", "text/plain; charset=utf-8", "ab\u{fffd}"),
            (b"ok", "text/plain; charset=no-such-charset", "ok"),
            (b"caf\xc3\xa9 \xc3", "text/plain", "café \u{fffd}"),
            (b"\x82\xa0", "text/plain; charset=shift_jis", "あ"),
        ] {
            assert_eq!(decode(bytes, kind), expected, "{kind}");
        }
    }

    #[test]
    fn text_and_html_are_distinguished_from_binary_content() {
        assert!(
            is_text(b"abc", "text/plain") && is_text(b"{}", "application/ld+json") && is_text(b"abc", "")
        );
        assert!(is_text(b"\xff\xfea\0", "") && is_text(b"a\0", "text/plain; charset=utf-16le"));
        assert!(
            !is_text(b"\x89PNG\0", "image/png") && !is_text(b"a\0b", "text/plain") && !is_text(b"a\0b", "")
        );
        assert!(!is_text(b"abc", "application/pdf"));
        assert!(
            is_html("  <!DOCTYPE HTML>", "")
                && is_html("x", "text/html; charset=x")
                && !is_html("<html>", "text/plain")
        );
    }
}
