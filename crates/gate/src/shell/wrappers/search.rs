//! `find` and `fd`, which start a command on what they find.

use super::special::replaced;
use crate::shell::base_name;
use crate::shell::run::InheritedIo;
use crate::shell::state::Shell;
use crate::shell::value::{Piece, Stream, Taint, UnknownReason, Word};

/// Names that a search may be narrowed to before only its start is looked at.
const MAX_SEARCHED_NAMES: usize = 8;

/// Places that a search may hand to its command before they are too many to follow.
const MAX_FOUND_ITEMS: usize = 32;

/// Tests and options of `find` behind which a value stands.
const TESTS_WITH_VALUE: [&str; 36] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-perm",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-used",
    "-links",
    "-inum",
    "-samefile",
    "-lname",
    "-ilname",
    "-fstype",
    "-anewer",
    "-cnewer",
    "-printf",
    "-D",
];

/// Those behind which none stands.
const TESTS_WITHOUT_VALUE: [&str; 25] = [
    "-H",
    "-L",
    "-P",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-noleaf",
    "-daystart",
    "-follow",
    "-empty",
    "-readable",
    "-writable",
    "-executable",
    "-true",
    "-nouser",
    "-nogroup",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-delete",
    "-a",
    "-and",
];

impl Shell<'_> {
    /// `find … -exec COMMAND {} ;`: the command runs on something below the start.
    pub(in crate::shell) fn find(
        &mut self,
        base: &str,
        words: &[Word],
        around: &InheritedIo,
    ) -> Option<Stream> {
        let rest = words.get(1..).unwrap_or_default();
        let finds = matches!(base, "find" | "gfind");
        let starts_command = |word: &Word| {
            let text = word.text();
            if finds {
                matches!(text.as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir"))
            } else {
                matches!(text.as_deref(), Some("-x" | "-X" | "--exec" | "--exec-batch"))
            }
        };
        // The name of the command may be joined to its flag, alone or behind letters of other flags.
        let joined = |word: &Word| {
            let text = word.beginning();
            text.starts_with("--exec") && text.contains('=')
                || text.starts_with('-')
                    && !text.starts_with("--")
                    && text.len() > 2
                    && text.contains(['x', 'X'])
        };
        if !finds && rest.iter().take_while(|word| !starts_command(word)).any(joined) {
            self.doubt("a command that is joined to its option");
        }
        if !rest.iter().any(starts_command) {
            return None;
        }
        self.emit(words.to_vec(), Vec::new(), around);
        let items: Vec<Word> = if finds {
            search_starts(rest).iter().flat_map(|start| found_items(start, rest)).collect()
        } else {
            vec![below(&Word::known("."))]
        };
        if items.len() > MAX_FOUND_ITEMS {
            self.doubt("more places to search than can be followed");
        }
        let mut index = 0;
        while let Some(word) = rest.get(index) {
            index += 1;
            if !starts_command(word) {
                continue;
            }
            let tail = rest.get(index..).unwrap_or_default();
            let length = tail.iter().position(|word| word.is(";") || word.is("+")).unwrap_or(tail.len());
            let command = tail.get(..length).unwrap_or_default();
            let appends = base.starts_with("fd") && !tail.iter().any(|word| word.shown().contains("{}"));
            index += length;
            self.through.push(base.to_string());
            for item in items.iter().take(MAX_FOUND_ITEMS) {
                let replaced = command.iter().map(|word| replaced(word, "{}", item));
                let inner = replaced.chain(appends.then(|| item.clone())).collect();
                self.deeper(|shell| {
                    shell.apart(|shell| shell.call(inner, Vec::new(), &InheritedIo::default()))
                });
            }
            self.through.pop();
        }
        Some(Stream::unknown(Taint::NONE))
    }
}

/// The places at which `find` begins: its words up to the first test.
pub(crate) fn search_starts(words: &[Word]) -> Vec<Word> {
    let mut rest = words;
    while let [option, others @ ..] = rest {
        let text = option.beginning();
        rest = match &*text {
            "-D" => others.get(1..).unwrap_or_default(),
            "-H" | "-L" | "-P" => others,
            _ if text.starts_with("-O") => others,
            _ => break,
        };
    }
    let is_test = |word: &&Word| {
        let text = word.beginning();
        text.starts_with('-') || matches!(word.text().as_deref(), Some("(" | "!" | ")" | ","))
    };
    let starts: Vec<Word> = rest.iter().take_while(|word| !is_test(word)).cloned().collect();
    if starts.is_empty() { vec![Word::known(".")] } else { starts }
}

/// Something below a start.
fn below(start: &Word) -> Word {
    let mut item = start.clone();
    item.push("/", true);
    item.pieces.push(Piece::Unknown { why: UnknownReason::Found, taint: Taint::NONE, splits: false });
    item
}

/// What a search may hand to its command: something below its start, which has one of its names.
fn found_items(start: &Word, words: &[Word]) -> Vec<Word> {
    let names = match searched_names(words) {
        _ if finds_project_secrets(words) => vec![".env".to_string()],
        Some(names) => names,
        None => return vec![below(start)],
    };
    let named = |name: &String| {
        let mut item = below(start);
        item.push(&format!("/{name}"), false);
        item
    };
    names.iter().map(named).collect()
}

/// The patterns of names of which everything that a search finds has one; `None` where not every way to the command of
/// the search goes through a test of a name.
fn searched_names(words: &[Word]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut is_narrowed = false;
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        match word.text().as_deref() {
            Some(test @ ("-name" | "-iname")) => {
                let name = rest.next()?.text()?;
                if !name.contains(char::is_alphanumeric) || name.contains('/') {
                    return None;
                }
                names.push(if test == "-iname" { any_case(&name) } else { name.into_owned() });
                is_narrowed = true;
            }
            // What is ruled out tells nothing of the rest.
            Some("!" | "-not") => {
                if rest.peek().is_some_and(|word| word.is("(")) {
                    return None;
                }
                let test = rest.next()?.text()?;
                if is_test_with_value(&test) {
                    rest.next();
                } else if !TESTS_WITHOUT_VALUE.contains(&&*test) {
                    return None;
                }
            }
            Some("-o" | "-or" | ",") => {
                if !is_narrowed {
                    return None;
                }
                is_narrowed = false;
            }
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                if !is_narrowed {
                    return None;
                }
                rest.by_ref().find(|word| word.is(";") || word.is("+"));
            }
            Some(test) if is_test_with_value(test) => {
                rest.next();
            }
            Some(test) if test.starts_with('-') && !TESTS_WITHOUT_VALUE.contains(&test) => return None,
            Some(_) => {}
            None => return None,
        }
    }
    (!names.is_empty() && names.len() <= MAX_SEARCHED_NAMES).then_some(names)
}

/// Does a value follow this test of `find`?
fn is_test_with_value(test: &str) -> bool {
    TESTS_WITH_VALUE.contains(&test) || test.starts_with("-newer")
}

/// The pattern, for names in any case.
fn any_case(pattern: &str) -> String {
    let mut result = String::new();
    let mut is_class = false;
    for char in pattern.chars() {
        is_class = char == '[' || is_class && char != ']';
        if char.is_ascii_alphabetic() && !is_class {
            result.extend(['[', char.to_ascii_lowercase(), char.to_ascii_uppercase(), ']']);
        } else {
            result.push(char);
        }
    }
    result
}

/// Does a search look for files of secrets by their names, wherever it begins?
pub(crate) fn finds_project_secrets(words: &[Word]) -> bool {
    words.windows(2).any(|pair| match pair {
        [test, name] => {
            matches!(test.text().as_deref(), Some("-name" | "-iname" | "-path" | "-wholename"))
                && name.text().is_some_and(|name| crate::secrets::is_search_for_secrets(base_name(&name)))
        }
        _ => false,
    })
}
