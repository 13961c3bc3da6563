//! Small transformations of text that the shell and its helpers do.

/// `$'…'` without its quotes: escapes become what they stand for.
pub(crate) fn ansi_c(text: &str) -> String {
    escapes(text, Escapes::AnsiC)
}

/// Escapes of `echo -e`.
pub(crate) fn echo(text: &str) -> String {
    escapes(text, Escapes::Echo)
}

/// Escapes of an argument of `printf` for `%b`: those of `echo -e`, and octal numbers without a zero before them.
pub(crate) fn printf_argument(text: &str) -> String {
    escapes(text, Escapes::PrintfArgument)
}

/// Escapes of a `printf` format.
pub(crate) fn printf(text: &str) -> String {
    escapes(text, Escapes::Printf)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    AnsiC,
    Echo,
    PrintfArgument,
    Printf,
}

fn escapes(text: &str, kind: Escapes) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\\' {
            bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let Some(escape) = chars.next() else {
            bytes.push(b'\\');
            break;
        };
        let mut digits = |most: usize, radix: u32, first: Option<char>| {
            let mut number = first.and_then(|char| char.to_digit(radix));
            for _ in 0..most {
                let Some(digit) = chars.peek().and_then(|char| char.to_digit(radix)) else { break };
                number = Some(number.unwrap_or(0) * radix + digit);
                chars.next();
            }
            number
        };
        match escape {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'v' => bytes.push(11),
            'f' => bytes.push(12),
            'e' | 'E' => bytes.push(27),
            '\\' => bytes.push(b'\\'),
            '\'' | '"' | '?' if kind != Escapes::Echo => {
                bytes.extend(escape.encode_utf8(&mut [0; 4]).as_bytes());
            }
            'x' => match digits(2, 16, None) {
                Some(number) => bytes.push(u8::try_from(number & 0xff).unwrap_or(0)),
                None => bytes.extend(b"\\x"),
            },
            'u' | 'U' => match digits(if escape == 'u' { 4 } else { 8 }, 16, None).and_then(char::from_u32) {
                Some(char) => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
                None => bytes.extend(escape.encode_utf8(&mut [0; 4]).as_bytes()),
            },
            '0' if kind != Escapes::AnsiC => {
                bytes.push(u8::try_from(digits(3, 8, Some('0')).unwrap_or(0) & 0xff).unwrap_or(0));
            }
            '0'..='7' if kind != Escapes::Echo => {
                bytes.push(u8::try_from(digits(2, 8, Some(escape)).unwrap_or(0) & 0xff).unwrap_or(0));
            }
            'c' if kind == Escapes::AnsiC => {
                if let Some(control) = chars.next() {
                    bytes.push(u8::try_from(u32::from(control) & 0x1f).unwrap_or(0));
                }
            }
            'c' => break,
            other => {
                bytes.push(b'\\');
                bytes.extend(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    // A string ends at NUL, as in C.
    if kind == Escapes::AnsiC
        && let Some(end) = bytes.iter().position(|byte| *byte == 0)
    {
        bytes.truncate(end);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// In old-style substitutions a backslash hides `$`, a backquote and itself.
pub(crate) fn without_backquote_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match chars.peek() {
            Some(next @ ('$' | '`' | '\\')) if char == '\\' => {
                plain.push(*next);
                chars.next();
            }
            _ => plain.push(char),
        }
    }
    plain
}

/// The text with its first character in the other case.
pub(crate) fn first(text: &str, upper: bool) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(char) if upper => char.to_uppercase().chain(chars).collect(),
        Some(char) => char.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// `${text:offset:length}`; negative numbers count from the end.
pub(crate) fn substring(text: &str, offset: i64, length: Option<i64>) -> String {
    let total = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let from = if offset < 0 { (total + offset).max(0) } else { offset };
    let to = match length {
        None => total,
        Some(length) if length < 0 => total + length,
        Some(length) => from.saturating_add(length),
    };
    let (from, to) = (usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0));
    text.chars().skip(from).take(to.saturating_sub(from)).collect()
}

/// A number as arithmetic reads it: octal behind `0`, hexadecimal behind `0x`.
pub(crate) fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix('0') {
        None | Some("") => text.parse().ok(),
        Some(rest) => match rest.strip_prefix(['x', 'X']) {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => i64::from_str_radix(rest, 8).ok(),
        },
    }
}

/// Holds the text only what arithmetic is made of? Brackets of other kinds are left alone: their parser is recursive.
pub(crate) fn is_plain_arithmetic(text: &str) -> bool {
    let depth = text.chars().filter(|char| *char == '(').count();
    depth < 16
        && text.chars().all(|char| char.is_ascii_alphanumeric() || " \t\n_+-*/%<>=!&|^~?:,()#".contains(char))
}

/// The last part of a program's path.
#[must_use]
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// An absolute path without `.`, `..` and doubled slashes.
pub(crate) fn normal(path: &str) -> String {
    let whole = |part: &str| !matches!(part, "" | "." | "..");
    if path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(whole)) {
        return path.to_string();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_what_the_shell_says() {
        assert_eq!(ansi_c(r"\x72\155 \u0072\U0000006d \'\n"), "rm rm '\n");
        assert_eq!(ansi_c(r"a\0b"), "a");
        assert_eq!(echo(r"\x72m\0155\cxyz"), "rmm");
        assert_eq!(printf(r"\162\155\n"), "rm\n");
        assert_eq!(without_backquote_escapes(r"echo \`id\` \$x \\ \n"), r"echo `id` $x \ \n");
        assert_eq!(substring("abcdef", 1, Some(2)), "bc");
        assert_eq!(substring("abcdef", -2, None), "ef");
        assert_eq!(substring("abcdef", 1, Some(-1)), "bcde");
    }
}
