//! Splitting a line into words as a shell does, except that nothing is a comment: tickets mention `#12`.

/// The words of a line; `None` when a quote is not closed.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    shlex::split(&without_comments(line))
}

/// The line with every `#` escaped that would begin a comment in a shell.
fn without_comments(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut quote = None;
    let mut starts_word = true;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '#') if starts_word => text.push('\\'),
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        text.push(letter);
        starts_word = quote.is_none() && matches!(letter, ' ' | '\t' | '\n');
        if letter == '\\' && quote != Some('\'') {
            text.extend(letters.next());
            starts_word = false;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_a_shells_but_for_comments() {
        for (line, words) in [
            ("show nw-5c", vec!["show", "nw-5c"]),
            ("create 'a b' -d \"c \\\"d\\\"\"", vec!["create", "a b", "-d", "c \"d\""]),
            ("add-note x see #12 and a#b", vec!["add-note", "x", "see", "#12", "and", "a#b"]),
            ("add-note x '#1' \"#2\" \\#3", vec!["add-note", "x", "#1", "#2", "#3"]),
            ("create 'two\nlines'", vec!["create", "two\nlines"]),
            ("a 'it'\\''s' #x", vec!["a", "it's", "#x"]),
            ("", vec![]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        assert_eq!(split("create 'open"), None);
        assert_eq!(split("create \"open"), None);
    }

    proptest::proptest! {
        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("[ -~\n]{0,8}", 0..6)) {
            let line = shlex::try_join(words.iter().map(String::as_str)).unwrap();
            proptest::prop_assert_eq!(split(&line), Some(words));
        }
    }
}
