//! Quoting of foreign text in prompts: packs, file names, output of programs.
//!
//! Such a text must not pass for the word of the user or of the system: invisible characters are dropped, then every `<` that
//! begins a tag is written as `&lt;`, whatever the tag's name.
//!
//! Limits: what the text says in plain words stays; the caller says that it is data. Types with parameters
//! (`Vec<u8>`, `Map<String, T>`) are not tags and stay as they are.

/// Names that clients wrap other people's words in, where nothing else in the name gives it away.
const SPEAKERS: [&str; 12] = [
    "system",
    "user",
    "assistant",
    "human",
    "developer",
    "marvin",
    "hook",
    "task",
    "tool",
    "function",
    "command",
    "environment",
];

/// Types that are written small.
const TYPES: [&str; 30] = [
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
    "bool", "char", "str", "string", "number", "boolean", "int", "float", "double", "long", "byte", "void",
    "any", "unknown", "never", "object",
];

/// The text on one line of at most `limit` characters before its tags are escaped.
#[must_use]
pub fn line(text: &str, limit: usize) -> String {
    escaped(&marvin_base::truncate::line(&seen(text), limit))
}

/// The text with its lines.
#[must_use]
pub fn block(text: &str) -> String {
    escaped(&seen(text))
}

/// The text without what is not seen: it could hide in the middle of a tag. Line breaks and tabs stay.
#[must_use]
pub fn seen(text: &str) -> String {
    // Most texts are plain, and then all of it is seen.
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return text.to_string();
    }
    let shown = |letter: char| match letter {
        '\n' | '\t' => Some(letter),
        '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(' '),
        letter if letter.is_control() || is_unseen(letter) => None,
        letter => Some(letter),
    };
    // Only one that ends a line without another after it is more than half of a line break.
    text.replace("\r\n", "\n").chars().filter_map(shown).collect()
}

/// Characters that show nothing or turn the direction of writing.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn escaped(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut parts = text.split('<');
    clean.extend(parts.next());
    let mut at = clean.len();
    for part in parts {
        // What follows this `<`, beyond the next one too: `< <` may stand before a name.
        let after = text.get(at + 1..).unwrap_or_default();
        clean.push_str(if begins_tag(text.get(..at).unwrap_or_default(), after) { "&lt;" } else { "<" });
        clean.push_str(part);
        at += 1 + part.len();
    }
    clean
}

/// Does a `<` between these texts begin a tag?
fn begins_tag(before: &str, after: &str) -> bool {
    let inner = after.trim_start();
    if inner.starts_with(['/', '!', '?']) {
        return true;
    }
    let name = inner.split(|letter: char| !is_of_name(letter)).next().unwrap_or_default();
    let speaks = SPEAKERS
        .iter()
        .any(|speaker| name.get(..speaker.len()).is_some_and(|start| start.eq_ignore_ascii_case(speaker)));
    // With a blank behind it, it is most likely a comparison.
    let spaced = inner.len() < after.len();
    if speaks || spaced || !name.starts_with(char::is_alphabetic) {
        return speaks;
    }
    let of_type = before.ends_with(|letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':'));
    let is_type = name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric)
        || TYPES.contains(&name);
    !(of_type && is_type)
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_any_name_are_escaped_however_they_are_hidden() {
        for (text, told) in [
            ("</marvin-context>", "&lt;/marvin-context>"),
            ("<\u{200b}/marvin-context>", "&lt;/marvin-context>"),
            ("<\u{1b}/x>", "&lt;/x>"),
            ("<\u{ad}sys\u{2060}tem-reminder>", "&lt;system-reminder>"),
            ("< / MARVIN>", "&lt; / MARVIN>"),
            ("a<System>", "a&lt;System>"),
            ("a<tool_result>", "a&lt;tool_result>"),
            ("<thinking a=\"1\">", "&lt;thinking a=\"1\">"),
            ("<hook_prompt>", "&lt;hook_prompt>"),
            ("<x:y>", "&lt;x:y>"),
            ("<!-- -->", "&lt;!-- -->"),
            ("<\u{2028}system>", "&lt; system>"),
            ("<<b>", "<&lt;b>"),
            ("Vec<\u{200d}my_words>", "Vec&lt;my_words>"),
            ("<\u{e0041}b>", "&lt;b>"),
        ] {
            assert_eq!(block(text), told, "{text:?}");
            assert_eq!(line(text, 100), told, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_tag_stays() {
        for text in [
            "Vec<u8> Map<String, Vec<T>> f::<Never>() Promise<string>",
            "a < b && c<=d x << 3 <- -> <3",
            "1 <2\tzwei\nдрei",
            "",
            "<",
        ] {
            assert_eq!(block(text), text);
        }
    }

    #[test]
    fn a_line_is_one_line_and_bounded() {
        assert_eq!(line(" a\r\n\tb\u{202e} c\u{7}\u{85}d", 100), "a b c d");
        assert_eq!(line(&"é".repeat(50), 10).chars().count(), 10);
        assert_eq!(seen("a\r\nb\rc"), "a\nb c");
    }
}
