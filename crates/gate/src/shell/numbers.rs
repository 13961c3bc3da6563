//! Programs whose output is nothing but numbers, so that it may be evaluated as arithmetic.

use super::evaluated::is_numeric;
use super::value::{Stream, Word};

/// Commands that print numbers, word by word: `*` is any word that is certain, `*…` any number of them.
const PRINTERS: [&str; 27] = [
    "nproc",
    "nproc --all",
    "arch -n",
    "id -u",
    "id -g",
    "id -u *",
    "id -g *",
    "tput cols",
    "tput lines",
    "getconf *",
    "stat -c %s *",
    "stat -c %Y *",
    "stat -c %X *",
    "stat -c %a *",
    "stat -c%s *",
    "stat -c%Y *",
    "stat --format=%s *",
    "stat --format=%Y *",
    "stat --printf=%s *",
    "stat -f %z *",
    "stat -f%z *",
    "stat -f %m *",
    "git rev-list --count *…",
    "git rev-list * --count",
    "sysctl -n hw.ncpu",
    "jq length *",
    "jq length",
];

/// Programs that pass on what they are given, as a whole or in part.
const FILTERS: [&str; 7] = ["sort", "uniq", "head", "tail", "tac", "shuf", "xargs"];

/// Does the command print nothing but numbers?
pub(super) fn are_printed(name: &str, words: &[Word], input: Option<&Stream>) -> bool {
    let rest = words.get(1..).unwrap_or_default();
    match name {
        "echo" | "printf" => {
            let text = |word: &Word| {
                is_numeric(word) || word.is("-n") || word.is("%d\\n") || word.is("%d") || word.is("%s\\n")
            };
            return !rest.is_empty() && rest.iter().all(text);
        }
        "date" | "gdate" => {
            return rest.last().is_some_and(|word| word.text().is_some_and(|text| is_numeric_date(&text)));
        }
        // Not with texts between the numbers, or around them.
        "seq" => return rest.iter().all(|word| is_numeric(word) || word.is("-w")),
        "pgrep" | "pidof" => return rest.iter().all(is_process_filter),
        "expr" => return rest.iter().all(|word| is_numeric(word) || is_operator(word)),
        "wc" => return is_count(rest),
        "grep" | "egrep" | "fgrep" | "rg" => return is_grep_count(rest) || is_grep_digits(rest),
        "tr" => return keeps_digits(rest),
        "sed" => {
            return matches!(rest, [script] if script.is("s/[^0-9]//g") || script.is("s/[^0-9]*//g"));
        }
        "awk" | "gawk" | "mawk" => return is_awk_sum(rest),
        _ => {}
    }
    if FILTERS.contains(&name) || name == "cat" && rest.is_empty() {
        let flags = |word: &Word| word.beginning().starts_with('-') || is_numeric(word);
        return rest.iter().all(flags) && input.is_some_and(Stream::is_numeric);
    }
    let starts =
        |row: &&str| row.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    if !PRINTERS.iter().any(starts) {
        return false;
    }
    let texts: Option<Vec<String>> =
        words.iter().map(|word| word.text().map(std::borrow::Cow::into_owned)).collect();
    let Some(texts) = texts else { return false };
    PRINTERS.iter().any(|row| fits(row, name, texts.get(1..).unwrap_or_default()))
}

fn fits(row: &str, name: &str, rest: &[String]) -> bool {
    let mut parts = row.split(' ');
    if parts.next() != Some(name) {
        return false;
    }
    let mut rest = rest.iter();
    for part in parts {
        if part == "*…" {
            return true;
        }
        let Some(word) = rest.next() else { return false };
        let same = match part.split_once('*') {
            Some((start, _)) => word.starts_with(start),
            None => part == word,
        };
        if !same {
            return false;
        }
    }
    rest.next().is_none()
}

/// `+%Y%m%d`: a format of digits alone.
fn is_numeric_date(format: &str) -> bool {
    let Some(format) = format.strip_prefix('+') else { return false };
    let letters = format.split('%').skip(1);
    format.starts_with('%')
        && letters.map(|part| part.trim_start_matches(['-', '_', '0', '3', '6', '9'])).all(|part| {
            part.len() == 1
                && part
                    .starts_with(['s', 'N', 'd', 'm', 'Y', 'y', 'H', 'I', 'M', 'S', 'j', 'u', 'w', 'V', 'U'])
        })
}

/// A name, or an option of `pgrep` and `pidof` that changes which numbers are printed, and nothing else.
fn is_process_filter(word: &Word) -> bool {
    let filters =
        ["-f", "-x", "-n", "-o", "-s", "-u", "-U", "-P", "-i", "-v", "-xf", "-fx", "-fn", "-nf", "-fo"];
    word.text().is_some_and(|text| !text.starts_with('-') || filters.contains(&&*text))
}

fn is_operator(word: &Word) -> bool {
    matches!(word.text().as_deref(), Some("+" | "-" | "*" | "/" | "%" | "(" | ")" | "<" | ">" | "="))
}

/// `wc -l`: a number, with the names of files behind it, which must be certain and plain.
fn is_count(rest: &[Word]) -> bool {
    rest.iter().all(|word| {
        !word.globs()
            && word
                .text()
                .is_some_and(|text| !text.contains(['[', '$', '`']) && !text.starts_with("--files0"))
    })
}

/// `grep -c` over one input.
fn is_grep_count(rest: &[Word]) -> bool {
    let flag = |word: &&Word| word.beginning().starts_with('-');
    let counts = rest.iter().filter(flag).any(|word| {
        let text = word.beginning();
        text == "--count" || !text.starts_with("--") && text.contains('c')
    });
    let recursive = rest.iter().filter(flag).any(|word| {
        let text = word.beginning();
        text.starts_with("--include")
            || !text.starts_with("--") && text.contains(['r', 'R', 'H', 'o', 'f', 'e'])
    });
    let operands: Vec<&Word> = rest.iter().filter(|word| !flag(word)).collect();
    counts
        && !recursive
        && operands.len() <= 2
        && operands.iter().skip(1).all(|word| !word.globs() && !word.splits())
}

/// `grep -oE '[0-9]+'`.
fn is_grep_digits(rest: &[Word]) -> bool {
    let only = |word: &Word| {
        matches!(
            word.text().as_deref(),
            Some("-o" | "-oE" | "-oP" | "-Eo" | "-Po" | "-E" | "-m1" | "-m" | "1")
        )
    };
    let digits = |word: &Word| {
        matches!(
            word.text().as_deref(),
            Some("[0-9]+" | "[0-9]*" | "[0-9]\\+" | "\\d+" | "[[:digit:]]+" | "^[0-9]+" | "[0-9]+$")
        )
    };
    rest.iter().any(|word| word.text().is_some_and(|text| text.starts_with('-') && text.contains('o')))
        && rest.iter().filter(|word| !only(word)).all(digits)
        && rest.iter().any(digits)
}

/// `tr -dc 0-9`; `tr -d ' '` is left to filters of counts.
fn keeps_digits(rest: &[Word]) -> bool {
    match rest {
        [flag, set] => {
            matches!(flag.text().as_deref(), Some("-dc" | "-cd"))
                && matches!(
                    set.text().as_deref(),
                    Some("0-9" | "[0-9]" | "[:digit:]" | "0-9\\n" | "[:digit:]\\n")
                )
        }
        [d, c, set] => d.is("-d") && c.is("-c") && (set.is("0-9") || set.is("[:digit:]")),
        _ => false,
    }
}

/// `awk '{s+=$1} END {print s}'`: a sum, or a count of lines.
fn is_awk_sum(rest: &[Word]) -> bool {
    let [program, files @ ..] = rest else { return false };
    let Some(text) = program.text() else { return false };
    if files.iter().any(|word| word.beginning().starts_with('-')) {
        return false;
    }
    let Some((main, end)) = text.split_once("END") else { return false };
    let printed = end.trim().strip_prefix('{').and_then(|end| end.strip_suffix('}')).map(str::trim);
    let printed =
        printed.and_then(|end| end.strip_prefix("print")).map(|name| name.trim().trim_end_matches("+0"));
    match printed {
        Some("NR") => !main.contains("print"),
        Some(name) if !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphabetic()) => {
            let sum = main.replace(' ', "");
            !main.contains("print")
                && (sum.contains(&format!("{{{name}+=")) || sum.contains(&format!("{{{name}++")))
                && !sum.contains(&format!("{name}="))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(line: &str) -> bool {
        let words: Vec<Word> = shlex::split(line).unwrap().into_iter().map(Word::known).collect();
        let name = words[0].text().unwrap().into_owned();
        are_printed(&name, &words, None)
    }

    #[test]
    fn counters_are_told_from_printers_of_text() {
        for line in [
            "wc -l",
            "wc -l a.txt",
            "grep -c x a.txt",
            "nproc",
            "date +%s",
            "seq 1 10",
            "stat -c %s a",
            "tr -dc 0-9",
            "git rev-list --count HEAD",
            "id -u",
            "echo 1 2",
            "awk '{s+=$1} END {print s}' a",
            "awk 'END{print NR}' a",
            "grep -oE '[0-9]+'",
            "expr 1 + 2",
        ] {
            assert!(printed(line), "{line}");
        }
        for line in [
            "cat a",
            "grep x a",
            "grep -rc x .",
            "date",
            "date +%A",
            "id",
            "stat a",
            "tr -d x",
            "echo a",
            "awk '{print $1}' a",
            "awk '{s=$1} END {print s}' a",
            "awk '{print} END {print NR}' a",
            "grep -o 'x.*'",
            "jq .a f",
            "wc --files0-from=a",
        ] {
            assert!(!printed(line), "{line}");
        }
        let numbers = Stream::unknown(super::super::Taint::NONE.numeric(true));
        assert!(are_printed("sort", &[Word::known("sort"), Word::known("-n")], Some(&numbers)));
        assert!(!are_printed("sort", &[Word::known("sort")], None));
    }
}
