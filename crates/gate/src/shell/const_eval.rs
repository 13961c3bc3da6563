//! The output of simple programs, computed without running them, so that hidden commands show.

use super::state::Shell;
use super::text;
use super::value::{Stream, Taint, Word};

/// Output of a program that only transforms text, if its words and input are certain.
pub(super) fn output(
    shell: &Shell<'_>,
    name: &str,
    words: &[Word],
    input: Option<&Stream>,
) -> Option<Stream> {
    let arguments: Option<Vec<String>> =
        words.iter().skip(1).map(|word| word.text().map(std::borrow::Cow::into_owned)).collect();
    let given = input.and_then(|stream| stream.text.as_deref());
    let decoded = |text: Option<String>| {
        text.map(|text| Stream { text: Some(text), taint: Taint::DECODED })
            .or_else(|| input.map(|stream| Stream::unknown(stream.taint.and(Taint::DECODED))))
    };
    let arguments = arguments?;
    let plain: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match name {
        "echo" => Some(spelled(echo(&plain), &plain)),
        "printf" => printf(&plain).map(|text| spelled(text, &plain)),
        "true" | "false" | ":" => Some(Stream::empty()),
        // A unique name, below the directory for such names.
        "mktemp"
            if plain.iter().all(|word| matches!(*word, "-d" | "-q" | "-t" | "--directory" | "--quiet")) =>
        {
            Some(Stream::known("/tmp/tmp.made\n"))
        }
        "pwd" => shell.directory().text().map(|directory| Stream::known(format!("{directory}\n"))),
        "cat" | "tac" | "tee" if operands(&plain).is_empty() || name == "tee" => input.cloned(),
        "cat" => {
            let streams: Option<Vec<Stream>> =
                operands(&plain).into_iter().map(|path| shell.file(&Word::known(path))).collect();
            streams.map(|streams| streams.into_iter().fold(Stream::empty(), Stream::then))
        }
        "which" | "command" | "type" => match plain.as_slice() {
            ["-v" | "-V" | "-p" | "-P", name] | [name] if !name.starts_with('-') => {
                Some(Stream::known(format!("/usr/bin/{name}\n")))
            }
            _ => None,
        },
        "basename" => match plain.as_slice() {
            [path] => Some(Stream::known(format!("{}\n", path.trim_end_matches('/').rsplit('/').next()?))),
            [path, suffix] => {
                let base = path.trim_end_matches('/').rsplit('/').next()?;
                Some(Stream::known(format!("{}\n", base.strip_suffix(suffix).unwrap_or(base))))
            }
            _ => None,
        },
        "dirname" => match plain.as_slice() {
            [path] => Some(Stream::known(format!(
                "{}\n",
                path.rsplit_once('/').map_or(".", |(directory, _)| directory)
            ))),
            _ => None,
        },
        "rev" => given.map(|text| {
            let reversed = |line: &str| line.chars().rev().collect::<String>();
            let text = text.lines().map(|line| reversed(line) + "\n").collect::<String>();
            Stream { text: Some(text), taint: Taint::DECODED }
        }),
        "tr" => given.and_then(|text| tr(text, &plain)).map(|text| Stream {
            text: Some(text),
            taint: if plain.iter().any(|word| word.starts_with('-')) { Taint::NONE } else { Taint::DECODED },
        }),
        "head" | "tail" => given.and_then(|text| ends(text, name == "head", &plain)).map(Stream::known),
        "cut" => given
            .and_then(|text| cut(text, &plain))
            .map(|text| Stream { text: Some(text), taint: Taint::DECODED }),
        "sed" => given
            .and_then(|text| sed(text, &plain))
            .map(|text| Stream { text: Some(text), taint: Taint::DECODED }),
        "base64" if plain.iter().any(|flag| matches!(*flag, "-d" | "-D" | "--decode" | "-di")) => {
            decoded(given.and_then(|text| base(text, 6)))
        }
        "base32" if plain.iter().any(|flag| matches!(*flag, "-d" | "--decode")) => {
            decoded(given.and_then(|text| base(text, 5)))
        }
        "openssl"
            if plain.contains(&"-d")
                && (plain.contains(&"base64") || plain.contains(&"-base64") || plain.contains(&"-a")) =>
        {
            decoded(given.and_then(|text| base(text, 6)))
        }
        "xxd" if plain.iter().any(|flag| flag.starts_with('-') && flag.contains('r')) => {
            decoded(given.and_then(hexadecimal))
        }
        "gunzip" | "zcat" | "bunzip2" | "bzcat" | "unxz" | "xzcat" | "zstdcat" | "lzcat" | "uudecode" => {
            decoded(None)
        }
        "gzip" | "xz" | "bzip2" | "zstd"
            if plain.iter().any(|flag| flag.starts_with('-') && flag.contains('d')) =>
        {
            decoded(None)
        }
        _ => None,
    }
}

/// Text that was written as numbers of its letters was written so to hide it.
fn spelled(text: String, arguments: &[&str]) -> Stream {
    let numbers = |word: &&str| {
        let mut parts = word.split('\\').skip(1);
        parts
            .any(|part| part.starts_with(['x', 'u', 'U', '0', '1']) && !part.starts_with("0 ") && part != "0")
    };
    let taint = if arguments.iter().any(numbers) { Taint::DECODED } else { Taint::NONE };
    Stream { text: Some(text), taint }
}

fn operands<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    arguments.iter().copied().filter(|word| !word.starts_with('-')).collect()
}

fn echo(arguments: &[&str]) -> String {
    let is_flag = |word: &&&str| {
        word.len() > 1 && word.starts_with('-') && word.chars().skip(1).all(|c| "neE".contains(c))
    };
    let flags: String = arguments.iter().take_while(is_flag).copied().collect();
    let skipped = arguments.iter().take_while(is_flag).count();
    let text = arguments.get(skipped..).unwrap_or_default().join(" ");
    let text = if flags.contains('e') { text::echo(&text) } else { text };
    if flags.contains('n') { text } else { text + "\n" }
}

/// `printf FORMAT ARGUMENTS…`, the format used again until the arguments are used up.
pub(super) fn printf(arguments: &[&str]) -> Option<String> {
    let (format, mut rest) = match arguments {
        ["--", format, rest @ ..] | [format, rest @ ..] => (*format, rest),
        [] => return None,
    };
    if format.starts_with('-') && format.len() > 1 {
        return None;
    }
    let mut output = String::new();
    loop {
        let before = rest.len();
        let mut chars = format.chars().peekable();
        let mut literal = String::new();
        while let Some(char) = chars.next() {
            if char != '%' {
                literal.push(char);
                continue;
            }
            output.push_str(&text::printf(&std::mem::take(&mut literal)));
            let mut conversion = chars.next()?;
            let mut modifiers = String::new();
            while conversion.is_ascii_digit() || "-+ #.'".contains(conversion) {
                modifiers.push(conversion);
                conversion = chars.next()?;
            }
            let precision = match modifiers.split_once('.') {
                Some((_, "")) => Some(0),
                Some((_, digits)) => Some(digits.parse::<usize>().ok()?),
                None => None,
            };
            if conversion == '%' {
                output.push('%');
                continue;
            }
            let value = match rest.split_first() {
                Some((first, more)) => {
                    rest = more;
                    *first
                }
                None => "",
            };
            match conversion {
                's' => output.extend(value.chars().take(precision.unwrap_or(usize::MAX))),
                'q' => output.push_str(value),
                'b' if precision.is_some() => return None,
                'b' => output.push_str(&text::printf_argument(value)),
                'c' => output.extend(value.chars().next()),
                'd' | 'i' | 'u' => output.push_str(value),
                'x' => output.push_str(&format!("{:x}", value.trim().parse::<i64>().unwrap_or(0))),
                'o' => output.push_str(&format!("{:o}", value.trim().parse::<i64>().unwrap_or(0))),
                _ => return None,
            }
            if output.len() > super::limits::MAX_TEXT_BYTES {
                return None;
            }
        }
        output.push_str(&text::printf(&literal));
        if rest.is_empty() || rest.len() == before {
            return Some(output);
        }
    }
}

/// A set of characters as `tr` writes it.
fn set(text: &str) -> Vec<char> {
    let named = text
        .replace("[:lower:]", "a-z")
        .replace("[:upper:]", "A-Z")
        .replace("[:digit:]", "0-9")
        .replace("[:alpha:]", "A-Za-z")
        .replace("[:space:]", " \t\n")
        .replace("[:alnum:]", "A-Za-z0-9");
    let chars: Vec<char> = text::ansi_c(&named).chars().collect();
    let mut all = Vec::new();
    let mut index = 0;
    while let Some(first) = chars.get(index) {
        match (chars.get(index + 1), chars.get(index + 2)) {
            (Some('-'), Some(last)) if first <= last => {
                all.extend(*first..=*last);
                index += 3;
            }
            _ => {
                all.push(*first);
                index += 1;
            }
        }
        if all.len() > 4096 {
            break;
        }
    }
    all
}

fn tr(text: &str, arguments: &[&str]) -> Option<String> {
    match arguments {
        ["-d", from] => {
            let from = set(from);
            Some(text.chars().filter(|char| !from.contains(char)).collect())
        }
        [from, to] if !from.starts_with('-') => {
            let (from, to) = (set(from), set(to));
            let last = to.last().copied()?;
            let change = |char: char| match from.iter().rposition(|member| *member == char) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => char,
            };
            Some(text.chars().map(change).collect())
        }
        _ => None,
    }
}

fn ends(text: &str, first: bool, arguments: &[&str]) -> Option<String> {
    let (unit, count) = match arguments {
        [] => ('n', 10),
        [flag, number] if matches!(*flag, "-n" | "-c") => {
            (flag.chars().nth(1)?, number.parse::<usize>().ok()?)
        }
        [flag] => {
            let rest = flag.strip_prefix('-')?;
            match rest.strip_prefix(['n', 'c']) {
                Some(number) => (rest.chars().next()?, number.parse().ok()?),
                None => ('n', rest.parse().ok()?),
            }
        }
        _ => return None,
    };
    if unit == 'c' {
        let total = text.chars().count();
        let skip = if first { 0 } else { total.saturating_sub(count) };
        return Some(text.chars().skip(skip).take(count).collect());
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let skip = if first { 0 } else { lines.len().saturating_sub(count) };
    Some(lines.into_iter().skip(skip).take(count).collect())
}

fn cut(text: &str, arguments: &[&str]) -> Option<String> {
    let joined: Vec<String> = arguments.iter().map(|word| (*word).to_string()).collect();
    let flag = |name: &str| {
        joined.iter().enumerate().find_map(|(index, word)| match word.strip_prefix(name) {
            Some("") => joined.get(index + 1).cloned(),
            Some(rest) => Some(rest.to_string()),
            None => None,
        })
    };
    let range = |spec: &str| -> Option<(usize, usize)> {
        match spec.split_once('-') {
            Some((from, "")) => Some((from.parse().ok()?, usize::MAX)),
            Some(("", to)) => Some((1, to.parse().ok()?)),
            Some((from, to)) => Some((from.parse().ok()?, to.parse().ok()?)),
            None => spec.parse().ok().map(|at| (at, at)),
        }
    };
    let mut output = String::new();
    if let Some(spec) = flag("-c").or_else(|| flag("-b")) {
        let (from, to) = range(&spec)?;
        for line in text.lines() {
            output.extend(line.chars().skip(from.checked_sub(1)?).take(to - (from - 1)));
            output.push('\n');
        }
        return Some(output);
    }
    let delimiter = flag("-d").unwrap_or_else(|| "\t".into());
    let (from, to) = range(&flag("-f")?)?;
    for line in text.lines() {
        let fields: Vec<&str> = line.split(delimiter.chars().next()?).collect();
        let taken: Vec<&str> = fields
            .into_iter()
            .skip(from.checked_sub(1)?)
            .take(to.saturating_sub(from).saturating_add(1))
            .collect();
        output.push_str(&taken.join(&delimiter));
        output.push('\n');
    }
    Some(output)
}

/// `s/a/b/g` with plain text on both sides; anything else is not computed.
fn sed(text: &str, arguments: &[&str]) -> Option<String> {
    let program = match arguments {
        [program] | ["-e", program] => *program,
        _ => return None,
    };
    let delimiter = program.strip_prefix('s')?.chars().next()?;
    let parts: Vec<&str> = program.get(1 + delimiter.len_utf8()..)?.split(delimiter).collect();
    let [from, to, flags] = parts.as_slice() else { return None };
    let literal = |text: &str| !text.contains(['\\', '.', '*', '[', '^', '$', '&', '+', '?', '(']);
    if !literal(from) || to.contains(['\\', '&']) || from.is_empty() {
        return None;
    }
    let change = |line: &str| match *flags {
        "g" => Some(line.replace(from, to)),
        "" => Some(line.replacen(from, to, 1)),
        _ => None,
    };
    text.split_inclusive('\n').map(change).collect()
}

/// Base64 or base32, blanks ignored, url-safe letters too.
pub(super) fn base(text: &str, bits: u32) -> Option<String> {
    let (mut buffer, mut filled) = (0u64, 0);
    let mut bytes = Vec::new();
    for char in text.chars().filter(|char| !char.is_whitespace() && *char != '=') {
        let value = match (bits, char) {
            (6, 'A'..='Z') | (5, 'A'..='Z') => u32::from(char) - u32::from('A'),
            (6, 'a'..='z') => u32::from(char) - u32::from('a') + 26,
            (6, '0'..='9') => u32::from(char) - u32::from('0') + 52,
            (6, '+' | '-') => 62,
            (6, '/' | '_') => 63,
            (5, '2'..='7') => u32::from(char) - u32::from('2') + 26,
            _ => return None,
        };
        buffer = (buffer << bits | u64::from(value)) & 0xffff_ffff;
        filled += bits;
        if filled >= 8 {
            filled -= 8;
            bytes.push(u8::try_from(buffer >> filled & 0xff).unwrap_or(0));
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn hexadecimal(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|char| !char.is_whitespace()).collect();
    let bytes = hex::decode(digits).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
