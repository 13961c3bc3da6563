//! A scanner for the plainest lines: simple commands joined by `|`, `&&`, `||`, `;` and line ends.
//!
//! It does not interpret anything. A line with an expansion, a substitution, an assignment, a group, a here-document, a function
//! or a job in the background is refused, whatever it would do.

/// The first word of every command; `None` for a line that is not plain.
pub(super) fn commands(line: &str) -> Option<Vec<String>> {
    let mut firsts = Vec::new();
    let mut word = String::new();
    let mut in_word = false;
    let mut is_first = true;
    let mut chars = line.trim().chars().peekable();
    let end_word = |word: &mut String, in_word: &mut bool, is_first: &mut bool, firsts: &mut Vec<String>| {
        if std::mem::take(in_word) {
            let text = std::mem::take(word);
            if std::mem::take(is_first) {
                if text.is_empty()
                    || !text.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char))
                {
                    return false;
                }
                firsts.push(text);
            }
        }
        true
    };
    while let Some(char) = chars.next() {
        match char {
            '\'' => {
                in_word = true;
                loop {
                    match chars.next()? {
                        '\'' => break,
                        char => word.push(char),
                    }
                }
            }
            '"' => {
                in_word = true;
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '!' => return None,
                        '\\' => {
                            word.push('\\');
                            word.push(chars.next().filter(|char| *char != '\n')?);
                        }
                        char => word.push(char),
                    }
                }
            }
            '\\' => {
                in_word = true;
                word.push(chars.next().filter(|char| *char != '\n')?);
            }
            '$' | '`' | '(' | ')' | '{' | '}' | '\r' | '\0' => return None,
            '#' if !in_word => return None,
            '=' if is_first => return None,
            ' ' | '\t' => {
                if !end_word(&mut word, &mut in_word, &mut is_first, &mut firsts) {
                    return None;
                }
            }
            '<' | '>' => {
                // A descriptor before it belongs to it.
                let descriptor = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
                if descriptor && !is_first {
                    word.clear();
                    in_word = false;
                } else if !end_word(&mut word, &mut in_word, &mut is_first, &mut firsts) {
                    return None;
                }
                // Before the command's name, or doubled for a here-document, it is not plain.
                if is_first || chars.peek() == Some(&'<') {
                    return None;
                }
                if chars.peek() == Some(&'>') {
                    chars.next();
                }
                if chars.peek() == Some(&'&') {
                    chars.next();
                    chars.next().filter(char::is_ascii_digit)?;
                }
            }
            '&' | '|' | ';' | '\n' => {
                if !end_word(&mut word, &mut in_word, &mut is_first, &mut firsts) || is_first && char != '\n'
                {
                    return None;
                }
                if char == '&' {
                    chars.next().filter(|next| *next == '&')?;
                }
                if char == '|' && chars.peek() == Some(&'|') {
                    chars.next();
                } else if char == '|' && chars.peek() == Some(&'&')
                    || char == ';' && chars.peek() == Some(&';')
                {
                    return None;
                }
                is_first = true;
            }
            char if char.is_control() || !char.is_ascii() && is_first => return None,
            char => {
                in_word = true;
                word.push(char);
            }
        }
    }
    end_word(&mut word, &mut in_word, &mut is_first, &mut firsts).then_some(firsts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_give_their_commands() {
        for (line, firsts) in [
            ("ls", vec!["ls"]),
            ("ls -la | head -5", vec!["ls", "head"]),
            ("cd src && ls; pwd || true", vec!["cd", "ls", "pwd", "true"]),
            ("grep 'a$b' x 2>/dev/null", vec!["grep"]),
            ("grep \"a b\" x 2>&1 | wc -l", vec!["grep", "wc"]),
            ("find . \\( -name a \\)", vec!["find"]),
            ("ls\npwd", vec!["ls", "pwd"]),
        ] {
            assert_eq!(commands(line), Some(firsts.iter().map(ToString::to_string).collect()), "{line}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for line in [
            "A=1 ls",
            "A=1; ls",
            "PATH=.:x; ls",
            "ls $(id)",
            "ls `id`",
            "ls $HOME",
            "ls \"$HOME\"",
            "(ls)",
            "{ ls; }",
            "ls & pwd",
            "ls <<EOF\nx\nEOF",
            "cat <<< x",
            "f() ls",
            "> x ls",
            "ls # comment",
            "ls |& cat",
            "ls 'open",
            "./ls",
            "ls \\\n-la",
            "cat <(id)",
            "ls {a,b}",
            "ls; ; ls",
            "a[0]=1; ls",
        ] {
            assert_eq!(commands(line), None, "{line}");
        }
    }
}
