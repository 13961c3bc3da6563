//! Shell patterns (`*`, `?`, `[…]`) on certain text, within bounds.

/// Does the whole text match?
#[must_use]
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    whole(&pattern, &text)
}

/// The classic two-pointer walk: a star remembers where it began and gives up one character at a time.
fn whole(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(pattern, at, text.get(from).copied()),
            Some('\\') => (pattern.get(at + 1) == text.get(from)).then_some(2),
            Some(char) => (Some(char) == text.get(from)).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(length), _) => {
                at += length;
                from += 1;
            }
            (None, Some((after, begun))) => {
                star = Some((after, begun + 1));
                at = after + 1;
                from = begun + 1;
            }
            (None, None) => return false,
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|char| *char == '*')
}

fn is_wild(part: &str) -> bool {
    part.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// A pattern of files, directory by directory.
pub(crate) struct PathPattern<'a> {
    parts: Vec<&'a str>,
}

impl<'a> PathPattern<'a> {
    /// `None` where it says nothing of any name: what finds everything does not point at a file.
    pub(crate) fn new(pattern: &'a str) -> Option<Self> {
        let says = |part: &&str| is_wild(part) && part.contains(|char: char| char.is_alphanumeric());
        let parts: Vec<&str> = pattern.split('/').collect();
        parts.iter().any(says).then_some(PathPattern { parts })
    }

    /// Does it find this path, given in pieces? Hidden names are found only by patterns that begin with a dot.
    pub(crate) fn finds(&self, pieces: &[&str]) -> bool {
        let mut names = pieces.iter().flat_map(|piece| piece.split('/'));
        let all = self.parts.iter().all(|part| {
            names.next().is_some_and(|name| {
                if is_wild(part) {
                    name.starts_with('.') == part.starts_with('.') && matches(part, name)
                } else {
                    *part == name
                }
            })
        });
        all && names.next().is_none()
    }
}

/// The length of the bracket expression at `at` if it takes the character.
fn class(pattern: &[char], at: usize, char: Option<char>) -> Option<usize> {
    let char = char?;
    let rest = pattern.get(at + 1..)?;
    let negated = matches!(rest.first(), Some('!' | '^'));
    let members = rest.get(usize::from(negated)..)?;
    let mut found = false;
    let mut index = 0;
    // A bracket that stands first is a member.
    while index == 0 || members.get(index) != Some(&']') {
        let first = *members.get(index)?;
        if let (true, Some((length, holds))) = (first == '[', named(members.get(index..)?, char)) {
            found |= holds;
            index += length;
            continue;
        }
        match (members.get(index + 1), members.get(index + 2)) {
            (Some('-'), Some(last)) if *last != ']' => {
                found |= (first..=*last).contains(&char);
                index += 3;
            }
            _ => {
                found |= first == char;
                index += 1;
            }
        }
    }
    (found != negated).then_some(index + 2 + usize::from(negated))
}

/// `[:alpha:]`, `[.x.]`, `[=x=]` inside a bracket expression: its length, and whether it has the character.
fn named(members: &[char], char: char) -> Option<(usize, bool)> {
    let kind = *members.get(1).filter(|kind| matches!(kind, ':' | '.' | '='))?;
    let end = members.windows(2).skip(2).position(|pair| pair == [kind, ']'])? + 2;
    let name: String = members.get(2..end)?.iter().collect();
    let holds = match (kind, name.as_str()) {
        (':', "alpha") => char.is_alphabetic(),
        (':', "digit") => char.is_ascii_digit(),
        (':', "alnum") => char.is_alphanumeric(),
        (':', "lower") => char.is_lowercase(),
        (':', "upper") => char.is_uppercase(),
        (':', "space") => char.is_whitespace(),
        (':', "blank") => matches!(char, ' ' | '\t'),
        (':', "punct") => char.is_ascii_punctuation(),
        (':', "xdigit") => char.is_ascii_hexdigit(),
        (':', "word") => char.is_alphanumeric() || char == '_',
        (':', "cntrl") => char.is_control(),
        (':', "print" | "graph" | "ascii") => true,
        (':', _) => false,
        (_, name) => name.chars().eq([char]),
    };
    Some((end + 2, holds))
}

/// Removes the shortest or longest prefix that matches.
pub(crate) fn without_beginning(text: &str, pattern: &str, longest: bool) -> String {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let fits = |at: &&usize| text.get(..**at).is_some_and(|part| matches(pattern, part));
    let found = if longest { ends.iter().rev().find(fits) } else { ends.iter().find(fits) };
    found.and_then(|at| text.get(*at..)).unwrap_or(text).to_string()
}

/// Removes the shortest or longest suffix that matches.
pub(crate) fn without_end(text: &str, pattern: &str, longest: bool) -> String {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let fits = |at: &&usize| text.get(**at..).is_some_and(|part| matches(pattern, part));
    let found = if longest { starts.iter().find(fits) } else { starts.iter().rev().find(fits) };
    found.and_then(|at| text.get(..*at)).unwrap_or(text).to_string()
}

/// The longest text in which a pattern is looked for everywhere: that takes time by the cube of it.
const MAX_PATTERN_SEARCH_BYTES: usize = 128;

/// The text with matches replaced: the longest match at each place, the first or all of them. `None` where that would
/// take too long.
pub(crate) fn replaced(text: &str, pattern: &str, with: &str, all: bool) -> Option<String> {
    if pattern.is_empty() {
        return Some(text.to_string());
    }
    if !pattern.contains(['*', '?', '[', '\\']) {
        return Some(if all { text.replace(pattern, with) } else { text.replacen(pattern, with, 1) });
    }
    if text.len() > MAX_PATTERN_SEARCH_BYTES {
        return None;
    }
    let mut result = String::new();
    let mut rest = text;
    let mut done = false;
    while !rest.is_empty() {
        let ends = rest.char_indices().map(|(at, _)| at).skip(1).chain([rest.len()]);
        let ends: Vec<usize> = ends.collect();
        let hit = ends.iter().rev().find(|at| rest.get(..**at).is_some_and(|part| matches(pattern, part)));
        match hit.filter(|_| all || !done) {
            Some(at) => {
                result.push_str(with);
                rest = rest.get(*at..).unwrap_or_default();
                done = true;
            }
            None => {
                let Some(char) = rest.chars().next() else { break };
                result.push(char);
                rest = rest.get(char.len_utf8()..).unwrap_or_default();
            }
        }
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_the_shell() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("r?", "rm", true),
            ("[a-z][!a]", "rm", true),
            ("[]x]", "]", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("[abc", "[abc", false),
            (".[[:alpha:]]nv", ".env", true),
            ("[![:digit:]x]", "a", true),
            ("[[.a.]-]", "-", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_find_files() {
        let finds = |pattern, path| PathPattern::new(pattern).is_some_and(|pattern| pattern.finds(&[path]));
        assert!(finds("/ho*/*/.ss?/id_*", "/home/me/.ssh/id_rsa"));
        assert!(finds("/home/me/.s*/i*", "/home/me/.ssh/id_rsa"));
        assert!(finds("/etc/sh[a]dow", "/etc/shadow"));
        for pattern in ["/etc/*", "/home/me/*/i*", "/home/me/.ssh/id_rsa", "/home/*", "/etc/*-release"] {
            assert!(!finds(pattern, "/home/me/.ssh/id_rsa") && !finds(pattern, "/etc/shadow"), "{pattern}");
        }
    }

    #[test]
    fn pieces_are_taken_off_and_replaced() {
        assert_eq!(without_beginning("a/b/c", "*/", false), "b/c");
        assert_eq!(without_beginning("a/b/c", "*/", true), "c");
        assert_eq!(without_end("a.b.c", ".*", false), "a.b");
        assert_eq!(without_end("a.b.c", ".*", true), "a");
        assert_eq!(replaced("rXXm", "X", "", true).as_deref(), Some("rm"));
        assert_eq!(replaced("rXXm", "X", "", false).as_deref(), Some("rXm"));
        assert_eq!(replaced("rXXm", "X*", "", false).as_deref(), Some("r"));
    }
}
