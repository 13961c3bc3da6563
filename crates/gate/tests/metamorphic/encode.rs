//! Ways to hide a text.

/// In single quotes.
pub(crate) fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// In double quotes.
pub(crate) fn double(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        if matches!(char, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted + "\""
}

/// For the inside of backquotes.
pub(crate) fn backquoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('`', "\\`")
}

/// Every letter as `\xHH`.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

/// As hexadecimal digits.
pub(crate) fn hexadecimal(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// As base64.
pub(crate) fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let number =
            chunk.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            if at <= chunk.len() {
                let letter = LETTERS.get((number >> (18 - 6 * at) & 63) as usize);
                encoded.extend(letter.copied().map(char::from));
            } else {
                encoded.push('=');
            }
        }
    }
    encoded
}

/// Letters moved by thirteen places.
pub(crate) fn turned(text: &str) -> String {
    let turn = |char: char| match char {
        'a'..='m' | 'A'..='M' => char::from(char as u8 + 13),
        'n'..='z' | 'N'..='Z' => char::from(char as u8 - 13),
        other => other,
    };
    text.chars().map(turn).collect()
}

/// As a text of Python.
pub(crate) fn word_escapes(text: &str) -> String {
    let inner = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{inner}\"")
}
