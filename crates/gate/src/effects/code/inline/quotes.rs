//! Quotes of inline code: where strings and regexes end, and the code that stands inside of them.

use super::lexer::{Lexer, Syntax, Token, is_word};

/// What opens code inside of a string that may itself hold the string's quotes.
pub(super) fn code_opener(syntax: Syntax, quote: &str) -> Option<&'static str> {
    match (syntax, quote) {
        (Syntax::JavaScript, "`") => Some("${"),
        (Syntax::Ruby, "\"") => Some("#{"),
        (Syntax::Php, "\"") => Some("{$"),
        _ => None,
    }
}

/// Where a string ends, by the quote that closes it. Code between braces behind `opener` is skipped.
pub(super) fn find_end(body: &str, close: &str, opener: Option<&str>) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = body.get(at..)?;
        if rest.starts_with(close) {
            return Some(at);
        }
        if opener.is_some_and(|opener| rest.starts_with(opener)) {
            let brace = rest.find('{')?;
            at += brace + find_bracket_end(rest.get(brace..)?)?;
            continue;
        }
        let char = rest.chars().next()?;
        at += char.len_utf8();
        if char == '\\' {
            at += body.get(at..)?.chars().next()?.len_utf8();
        }
    }
}

/// Where the bracket at the beginning of a text is closed again. Brackets in strings are counted as well: the code
/// between them is then not whole, and cannot be read.
fn find_bracket_end(text: &str) -> Option<usize> {
    let open = text.chars().next()?;
    let close = closing(open);
    let mut depth = 0_usize;
    for (at, char) in text.char_indices() {
        if char == open {
            depth += 1;
        } else if char == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at + char.len_utf8());
            }
        }
    }
    None
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    }
}

/// Adds the code inside of a string that was read.
pub(super) fn splice_code<'a>(lexer: &mut Lexer<'a>, text: &'a str) -> Option<()> {
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let escaped = rest.starts_with('\\') && lexer.syntax != Syntax::Python;
        let (start, whole) = match lexer.syntax {
            _ if escaped => (1 + rest.chars().nth(1).map_or(0, char::len_utf8), 0),
            Syntax::Python if rest.starts_with("{{") || rest.starts_with("}}") => (2, 0),
            Syntax::Python if rest.starts_with('{') => (0, find_bracket_end(rest)?),
            Syntax::JavaScript if rest.starts_with("${") => (1, find_bracket_end(rest.get(1..)?)?),
            Syntax::Ruby if rest.starts_with("#{") => (1, find_bracket_end(rest.get(1..)?)?),
            Syntax::Php if rest.starts_with("${") => return None,
            Syntax::Php if rest.starts_with("{$") => (0, find_bracket_end(rest)?),
            Syntax::Perl if rest.starts_with(['$', '@']) => {
                let length = reference_length(rest)?;
                if length > 1 {
                    lexer.splice(rest.get(..length)?)?;
                }
                (length, 0)
            }
            _ => (rest.chars().next()?.len_utf8(), 0),
        };
        if whole > 0 {
            lexer.splice(rest.get(start + 1..start + whole - 1)?)?;
        }
        at += start + whole;
    }
    Some(())
}

/// How long the reference to a variable is at the beginning of a text: `$x`, `$x->{a}[0]`, `@{[ code ]}`.
fn reference_length(text: &str) -> Option<usize> {
    let sigils = text.find(|char: char| !matches!(char, '$' | '@')).unwrap_or(text.len());
    let rest = text.get(sigils..)?;
    let mut length = sigils;
    if rest.starts_with('{') {
        length += find_bracket_end(rest)?;
    } else {
        let name = rest.find(|char: char| !is_word(char) && char != ':').unwrap_or(rest.len());
        if name == 0 {
            // A special variable, or a sigil that stands for itself.
            return Some(sigils);
        }
        length += name;
    }
    loop {
        let rest = text.get(length..)?;
        let arrow = if rest.starts_with("->[") || rest.starts_with("->{") { 2 } else { 0 };
        let rest = rest.get(arrow..)?;
        if !rest.starts_with(['[', '{']) {
            return Some(length);
        }
        length += arrow + find_bracket_end(rest)?;
    }
}

/// Whether a regex, rather than a division, follows this name.
pub(super) fn takes_regex(name: &str, syntax: Syntax) -> bool {
    match syntax {
        Syntax::JavaScript => matches!(name, "return" | "typeof" | "case" | "of" | "in" | "void" | "await"),
        Syntax::Perl | Syntax::Ruby => matches!(
            name,
            "split"
                | "if"
                | "unless"
                | "and"
                | "or"
                | "not"
                | "return"
                | "grep"
                | "while"
                | "until"
                | "when"
                | "puts"
                | "print"
                | "elsif"
                | "push"
        ),
        _ => false,
    }
}

/// A regex between slashes, `prefix` bytes before its text, with its flags.
pub(super) fn regex(lexer: &mut Lexer<'_>, prefix: usize) -> Option<()> {
    let body = lexer.rest().get(prefix..)?;
    let mut class = false;
    let mut end = None;
    let mut chars = body.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => {
                chars.next()?;
            }
            '\n' if lexer.syntax == Syntax::JavaScript => return None,
            '[' if lexer.syntax == Syntax::JavaScript => class = true,
            ']' => class = false,
            '/' if !class => {
                end = Some(at);
                break;
            }
            _ => {}
        }
    }
    let text = body.get(..end?)?;
    let flags = body.get(end? + 1..)?;
    let flags = flags.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(flags.len());
    lexer.push(Token::Pattern, prefix + text.len() + 1 + flags)?;
    pattern_code(lexer, text)
}

/// Adds the code inside of a regex; one that runs code while it matches is not read.
fn pattern_code<'a>(lexer: &mut Lexer<'a>, text: &'a str) -> Option<()> {
    if text.contains("(?{") || text.contains("(??{") || text.contains("(?p{") {
        return None;
    }
    match lexer.syntax {
        Syntax::Perl | Syntax::Ruby => splice_code(lexer, text),
        _ => Some(()),
    }
}

/// Reads what only Perl has: sigils, quote operators, file handles in brackets. False if nothing of it is here.
pub(super) fn perl(lexer: &mut Lexer<'_>) -> Option<bool> {
    let rest = lexer.rest();
    let first = rest.chars().next()?;
    let second = rest.chars().nth(1);
    let starts_name =
        |char: Option<char>| char.is_some_and(|char| is_word(char) || matches!(char, '{' | '$'));
    // Behind a function, a sigil is more likely than an operator.
    let behind = lexer.is_behind_value() && !matches!(lexer.tokens.last(), Some(Token::Name(_)));
    match first {
        // A quote right behind a name separates packages.
        '\'' if lexer.code.get(..lexer.at)?.ends_with(is_word) => return None,
        '$' | '@' => perl_variable(lexer)?,
        '%' if !behind && starts_name(second) => perl_variable(lexer)?,
        '&' | '*' if !behind && second != Some(first) && starts_name(second) => return None,
        '-' if !lexer.is_behind_value()
            && second.is_some_and(|char| char.is_ascii_alphabetic())
            && !rest.chars().nth(2).is_some_and(is_word) =>
        {
            lexer.push(Token::Operator("-"), 2)?;
        }
        '<' if rest.starts_with("<<") => {
            let heredoc = |char: char| is_word(char) || matches!(char, '"' | '\'' | '~' | '`');
            if rest.get(2..)?.starts_with(|char: char| heredoc(char) && !char.is_ascii_digit()) {
                return None;
            }
            if !rest.starts_with("<<>>") {
                return Some(false);
            }
            lexer.push(Token::Diamond(""), 4)?;
        }
        '<' if !lexer.is_behind_value() || matches!(lexer.tokens.last(), Some(Token::Name(_))) => {
            let name = rest.get(1..)?.split_once('>')?.0;
            name.chars().all(|char| is_word(char) || char == '$').then_some(())?;
            lexer.push(Token::Diamond(name), name.len() + 2)?;
        }
        'q' | 'm' | 's' | 't' | 'y' => return perl_quote(lexer),
        _ => return Some(false),
    }
    Some(true)
}

fn perl_variable(lexer: &mut Lexer<'_>) -> Option<()> {
    let rest = lexer.rest();
    let sigils = rest.find(|char: char| !matches!(char, '$' | '@' | '%')).unwrap_or(rest.len());
    let after = rest.get(sigils..)?;
    if let Some(inner) = after.strip_prefix('{') {
        let name = inner.split_once('}').map(|(name, _)| name);
        if name.is_some_and(|name| !name.is_empty() && name.chars().all(is_word)) {
            let length = sigils + name?.len() + 2;
            return lexer.push(Token::Variable(rest.get(..length)?), length);
        }
        // What is dereferenced is read as code.
        return lexer.push(Token::Operator(rest.get(..sigils)?), sigils);
    }
    let length = after.find(|char: char| !is_word(char) && char != ':').unwrap_or(after.len());
    let length = after.get(..length)?.trim_end_matches(':').len();
    if length > 0 {
        let whole = sigils + length;
        return lexer.push(Token::Variable(rest.get(..whole)?), whole);
    }
    match after.chars().next()? {
        _ if sigils > 1 && rest.starts_with("$$") => lexer.push(Token::Variable(rest.get(..sigils)?), sigils),
        '#' if after.get(1..)?.starts_with(['{', '$']) => lexer.push(Token::Operator("$#"), sigils + 1),
        '#' => {
            let name = after.get(1..)?;
            let length = name.find(|char: char| !is_word(char)).unwrap_or(name.len());
            let whole = sigils + 1 + length;
            lexer.push(Token::Variable(rest.get(..whole)?), whole)
        }
        '^' => lexer.push(Token::Variable(rest.get(..sigils + 2)?), sigils + 2),
        char if char.is_ascii_punctuation() && rest.starts_with(['$', '@']) => {
            lexer.push(Token::Variable(rest.get(..=sigils)?), sigils + 1)
        }
        _ => None,
    }
}

/// `q(…)`, `qq{…}`, `m/…/`, `s/…/…/`, `tr/…/…/`.
fn perl_quote(lexer: &mut Lexer<'_>) -> Option<bool> {
    let rest = lexer.rest();
    if lexer.code.get(..lexer.at)?.ends_with(is_word) {
        return Some(false);
    }
    let length = rest.find(|char: char| !is_word(char)).unwrap_or(rest.len());
    let operator = rest.get(..length)?;
    let is_key =
        matches!(lexer.tokens.last(), Some(Token::Operator("{"))) && rest.get(length..)?.starts_with('}');
    let known = matches!(operator, "q" | "qq" | "qw" | "qr" | "qx" | "m" | "s" | "tr" | "y");
    let after = rest.get(length..)?;
    if !known || is_key || after.trim_start().starts_with("=>") {
        return Some(false);
    }
    let body = after.trim_start();
    let mut at = length + (after.len() - body.len());
    if operator == "qx" || body.len() < after.len() && (body.starts_with('#') || body.starts_with(is_word)) {
        return None;
    }
    let (first, used) = delimited(rest.get(at..)?)?;
    let plain = rest.get(at..)?.starts_with('\'');
    at += used;
    let mut second = None;
    if matches!(operator, "s" | "tr" | "y") {
        let open = rest.get(at - 1..)?.chars().next()?;
        let paired = matches!(open, ')' | ']' | '}' | '>');
        if paired {
            at += rest.get(at..)?.len() - rest.get(at..)?.trim_start().len();
        } else {
            at -= 1;
        }
        let (text, used) = delimited(rest.get(at..)?)?;
        second = Some(text);
        at += used;
    }
    let tail = rest.get(at..)?;
    let flags = match operator {
        "q" | "qq" | "qw" => "",
        _ => tail.get(..tail.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(tail.len()))?,
    };
    let token = match operator {
        "q" => Token::Text { text: first, exact: !first.contains('\\') },
        "qq" => Token::Text { text: first, exact: !first.contains(['\\', '$', '@']) },
        _ => Token::Pattern,
    };
    lexer.push(token, at + flags.len())?;
    match operator {
        "q" | "qw" | "tr" | "y" => {}
        "qq" => splice_code(lexer, first)?,
        _ if plain => pattern_code(lexer, "").filter(|()| !first.contains("(?"))?,
        _ => pattern_code(lexer, first)?,
    }
    match (operator, second) {
        ("s", Some(_)) if flags.matches('e').count() > 1 => return None,
        ("s", Some(code)) if flags.contains('e') => lexer.splice(code)?,
        ("s", Some(text)) => splice_code(lexer, text)?,
        _ => {}
    }
    Some(true)
}

/// The text between the delimiter at the beginning and the one that closes it, and how long all of it is.
fn delimited(text: &str) -> Option<(&str, usize)> {
    let open = text.chars().next()?;
    let close = closing(open);
    let mut depth = 0_usize;
    let mut chars = text.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        if char == '\\' {
            chars.next()?;
        } else if char == close {
            if depth == 0 {
                return Some((text.get(open.len_utf8()..at)?, at + char.len_utf8()));
            }
            depth -= 1;
        } else if char == open {
            depth += 1;
        }
    }
    None
}

/// Reads what only Ruby has: `%w[…]`, symbols, variables with sigils. False if nothing of it is here.
pub(super) fn ruby(lexer: &mut Lexer<'_>) -> Option<bool> {
    let rest = lexer.rest();
    let first = rest.chars().next()?;
    let second = rest.chars().nth(1);
    let behind = lexer.is_behind_value();
    match first {
        '$' | '@' => {
            let sigils = rest.find(|char| !matches!(char, '$' | '@')).unwrap_or(rest.len());
            let name = rest.get(sigils..)?;
            let length = name.find(|char: char| !is_word(char)).unwrap_or(name.len());
            let length = sigils + if length == 0 { 1 } else { length };
            lexer.push(Token::Variable(rest.get(..length)?), length)?;
        }
        // A literal of one character may be a quote.
        '?' if second.is_some_and(|char| !char.is_ascii_whitespace()) => return None,
        '<' if rest.starts_with("<<") => {
            let heredoc =
                |char: char| char.is_ascii_alphabetic() || matches!(char, '~' | '-' | '"' | '\'' | '`' | '_');
            return if rest.get(2..)?.starts_with(heredoc) { None } else { Some(false) };
        }
        ':' if second.is_some_and(|char| char.is_ascii_alphabetic() || char == '_')
            && !rest.starts_with("::") =>
        {
            let name = rest.get(1..)?;
            let length = name.find(|char: char| !is_word(char)).unwrap_or(name.len());
            let length = length + usize::from(name.get(length..)?.starts_with(['?', '!']));
            lexer.push(Token::Symbol(name.get(..length)?), length + 1)?;
        }
        '%' if !behind || matches!(lexer.tokens.last(), Some(Token::Name("puts" | "p" | "print"))) => {
            let kind = second.filter(char::is_ascii_alphabetic);
            let start = 1 + kind.map_or(0, char::len_utf8);
            let (text, length) = delimited(rest.get(start..)?)?;
            let whole = start + length;
            match kind {
                Some('w' | 'i' | 'q') => lexer.push(Token::Text { text, exact: false }, whole)?,
                None | Some('Q' | 'W' | 'r') => {
                    lexer.push(Token::Text { text, exact: false }, whole)?;
                    splice_code(lexer, text)?;
                }
                Some(_) => return None,
            }
        }
        '%' if matches!(lexer.tokens.last(), Some(Token::Name(_)))
            && second.is_some_and(|char| !char.is_ascii_whitespace()) =>
        {
            return None;
        }
        _ => return Some(false),
    }
    Some(true)
}
