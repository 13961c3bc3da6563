//! Limits of the texts that are parsed. Both shell parsers are recursive or slow on some texts, so a text is measured before it is
//! given to them; what is too much is not read, and a person is asked.

use super::parse_cache::ParseCache;
use super::state::Shell;
use brush_parser::ast::Program;
use brush_parser::{Parser, ParserOptions};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Once;

/// Openings of brackets, quotes and branches that are read on the caller's own stack.
const MAX_INLINE_OPENINGS: usize = 48;
/// Openings that are read at all, on a stack of its own.
const MAX_OPENINGS: usize = 1_500;
/// Bytes of stack for that many, in a build without optimisations.
const PARSER_STACK_BYTES: usize = 48 * 1024 * 1024;
/// Nesting of brackets.
const MAX_BRACKET_DEPTH: usize = 40;
/// Things of which each doubles the time of one parser while they are not closed.
const MAX_DOUBLING_CONSTRUCTS: usize = 10;
/// Words and signs of one text.
const MAX_TEXT_TOKENS: usize = 4_000;
/// Bytes of text that is parsed, made and noted for one line, all together.
const MAX_WORK_BYTES: usize = 1024 * 1024;

/// The reason why a text is not parsed, if there is one.
pub(super) fn obstacle(text: &str) -> Option<&'static str> {
    if text.len() > super::limits::MAX_LINE_BYTES {
        return Some("more text than is read");
    }
    if text.contains('\0') {
        return Some("a NUL character");
    }
    if depth(text) > MAX_BRACKET_DEPTH || text.len() > MAX_OPENINGS && openings(text) > MAX_OPENINGS {
        return Some("brackets nested deeper than can be read");
    }
    if doubles(text) > MAX_DOUBLING_CONSTRUCTS {
        return Some("brackets or branches that double the work of reading");
    }
    if has_nested_indexes(text) {
        return Some("indexes inside of indexes");
    }
    if has_long_number(text) {
        return Some("a number that is too long");
    }
    if text.len() > MAX_TEXT_TOKENS && signs(text) > MAX_TEXT_TOKENS {
        return Some("more words than are read");
    }
    None
}

thread_local! {
    /// Is a parser at work on this thread? What it says when it gives up is not of use.
    static READING: Cell<bool> = const { Cell::new(false) };
    /// Texts that were parsed a moment ago.
    static READ: RefCell<ParseCache<Option<Rc<Program>>>> = const { RefCell::new(ParseCache::new()) };
}

/// Runs one of the parsers; what makes it give up is not shell to us, and it gives up quietly.
pub(super) fn guarded<T>(read: impl FnOnce() -> Option<T>) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !READING.get() {
                loud(panic);
            }
        }));
    });
    let outer = READING.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    READING.set(outer);
    result.ok().flatten()
}

/// Empties the cache.
pub(super) fn forget() {
    READ.with_borrow_mut(ParseCache::forget);
}

/// Parses a text that has no obstacle.
pub(super) fn parse(text: &str) -> Option<Rc<Program>> {
    if let Some(known) = READ.with_borrow(|read| read.get(text).cloned()) {
        return known;
    }
    let program = parse_anew(text).map(Rc::new);
    READ.with_borrow_mut(|read| read.keep(text, program.clone()));
    program
}

fn parse_anew(text: &str) -> Option<Program> {
    let read =
        |text: &str| guarded(|| Parser::new(text.as_bytes(), &ParserOptions::default()).parse_program().ok());
    if text.len() <= MAX_INLINE_OPENINGS || openings(text) <= MAX_INLINE_OPENINGS {
        return read(text);
    }
    // How deep it really nests is known only to a parser, so it gets a stack for the worst.
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .stack_size(PARSER_STACK_BYTES)
            .spawn_scoped(scope, || read(text))
            .ok()?;
        reader.join().ok()?
    })
}

/// The apparent nesting of brackets.
fn depth(text: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'(' | b'{' | b'[' => {
                depth += 1;
                most = most.max(depth);
            }
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Everything that could open a level, whether it does or not: quotes and comments cannot hide any of it.
fn openings(text: &str) -> usize {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'[' | b'`')).count();
    if brackets > MAX_OPENINGS {
        return brackets;
    }
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '!');
    let opens = |word: &&str| {
        matches!(
            *word,
            "if" | "while"
                | "until"
                | "case"
                | "for"
                | "select"
                | "coproc"
                | "function"
                | "time"
                | "!"
                | "elif"
        )
    };
    brackets + words.filter(opens).count()
}

/// Round brackets that follow one another in a row, and words `case`.
fn doubles(text: &str) -> usize {
    let (mut row, mut most) = (0usize, 0usize);
    for byte in text.bytes() {
        match byte {
            b'(' => row += 1,
            b' ' | b'\t' | b'\n' | b'$' => {}
            _ => row = 0,
        }
        most = most.max(row);
    }
    let cases = text.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| *word == "case").count();
    most.max(cases)
}

/// Does an index hold an index, or something that may hide one? One parser needs ten times longer for each level.
fn has_nested_indexes(text: &str) -> bool {
    let mut simple = true;
    let mut found = 0;
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("${") {
        rest = behind;
        let name = behind.trim_start_matches(['!', '#']);
        let name = name.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || char == '_');
        let Some(index) = name.strip_prefix('[') else { continue };
        found += 1;
        let end = index.find(']').unwrap_or(index.len());
        let inside = index.get(..end).unwrap_or_default();
        simple &= !inside.contains(['[', '\'', '"', '\\', '`', '(']);
    }
    found > 2 && !simple
}

/// Is there a number that a parser gives up on: of a file before a redirection, of a directory, of a row?
fn has_long_number(text: &str) -> bool {
    let mut length = 0;
    let mut before = [' '; 2];
    let mut marked = false;
    for char in text.chars().chain([' ']) {
        if char.is_ascii_digit() {
            if length == 0 {
                marked = matches!(
                    before,
                    [_, '~'] | ['~', '+' | '-'] | ['.', '.'] | ['.', '-'] | ['{', '-'] | [_, '{']
                );
            }
            length += 1;
        } else {
            if length > 8
                && (marked || matches!(char, '<' | '>' | '.'))
                && !(char == '.' && !marked && length < 18)
            {
                return true;
            }
            length = 0;
            before = [before[1], char];
        }
    }
    false
}

/// Counts words and signs. The text of a here-document is cheap and counts little.
fn signs(text: &str) -> usize {
    let mut sum = 0;
    let mut end: Option<(&str, bool)> = None;
    for line in text.split('\n') {
        if let Some((mark, plain)) = end {
            if line.trim_start_matches('\t') == mark {
                end = None;
            }
            sum += 1 + if plain {
                0
            } else {
                8 * line.bytes().filter(|byte| matches!(byte, b'$' | b'`')).count()
            };
            continue;
        }
        sum += in_line(line);
        end = document(line);
    }
    sum
}

fn in_line(line: &str) -> usize {
    let mut sum = 1;
    let mut blank = true;
    for byte in line.bytes() {
        let is_blank = matches!(byte, b' ' | b'\t');
        if matches!(
            byte,
            b';' | b'|'
                | b'&'
                | b'<'
                | b'>'
                | b'$'
                | b'`'
                | b'"'
                | b'\''
                | b'\\'
                | b'('
                | b'{'
                | b'['
                | b'='
                | b'+'
        ) || blank && !is_blank
        {
            sum += 1;
        }
        blank = is_blank;
    }
    sum
}

/// The mark that ends the here-document which a line begins, and whether its text is plain.
fn document(line: &str) -> Option<(&str, bool)> {
    let (before, behind) = line.rsplit_once("<<")?;
    let quoted = |sign: char| before.matches(sign).count() % 2 == 1;
    if before.ends_with('<') || behind.starts_with('<') || quoted('\'') || quoted('"') {
        return None;
    }
    let mark = behind.trim_start_matches('-').trim_start_matches([' ', '\t']);
    let plain = mark.starts_with(['\'', '"', '\\']);
    let mark = mark.trim_start_matches(['\'', '"', '\\']);
    let length = mark.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    mark.get(..length).filter(|mark| !mark.is_empty()).map(|mark| (mark, plain))
}

impl Shell<'_> {
    /// Counts work; false when there was too much of it.
    pub(super) fn charge(&mut self, bytes: usize) -> bool {
        self.work = self.work.saturating_add(bytes);
        if self.work > MAX_WORK_BYTES {
            self.doubt("more text than can be followed");
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_from_the_count_of_depth_does_not_hide_from_the_stack() {
        // Closings in quotes close nothing; the depth seems to be one.
        for text in ["(')'".repeat(1_000), "if ".repeat(1_000), "[[ ".to_string() + &"! ".repeat(1_000)] {
            assert!(depth(&text) < 3);
            assert!(obstacle(&text).is_none(), "{:?}", obstacle(&text));
            parse(&text);
        }
        assert!(obstacle(&"if ".repeat(2_000)).is_some());
        assert!(obstacle(&"(".repeat(100)).is_some());
    }

    #[test]
    fn what_a_reader_gives_up_on_is_not_given_to_it() {
        for text in [
            "ls 99999999999> a",
            "ls ~99999999999999999999",
            "ls ~-99999999999999999999",
            "echo {1..99999999999999999999}",
        ] {
            assert!(obstacle(text).is_some(), "{text}");
        }
        for text in
            ["ls 2> a", "sleep 100000000000", "echo 20260101123456789 {1..10}", "echo a.1234567890.log"]
        {
            assert!(obstacle(text).is_none(), "{text}");
        }
        assert!(obstacle(&("echo ".to_string() + &"${a[".repeat(5) + "0" + &"]}".repeat(5))).is_some());
        assert!(obstacle("echo ${a[0]} ${a[i]} \"${a[@]}\" ${#a[@]} ${a[$i]} ${a[-1]}").is_none());
    }

    #[test]
    fn the_text_of_a_document_counts_little() {
        let text = "word ".repeat(20).to_string() + "\n";
        let body = text.repeat(400);
        assert!(obstacle(&format!("cat > a.txt <<'END'\n{body}END\n")).is_none());
        assert!(obstacle(&format!("cat > a.txt <<END\n{body}END\n")).is_none());
        assert!(obstacle(&body).is_some());
        assert!(obstacle(&format!("echo '<<END'\n{body}END\n")).is_some());
    }
}
