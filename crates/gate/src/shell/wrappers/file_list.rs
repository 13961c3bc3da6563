//! Programs that take the names of files from a list: `tar -T`, `sort --files0-from`, `cpio`, `zip -@`.
//!
//! A list that the line itself wrote or pipes is read, and every path in it counts as read by the program. What another list
//! names is not known, so that the line is doubted.
//!
//! Limit: any file of the line among the words counts as a list, because a path of credentials in a file that is only packed is
//! rare, and every program has another spelling of the option. Lists of other files are known by the options of [`LIST_OPTIONS`].

use crate::shell::limits::MAX_EXPANDED_WORDS;
use crate::shell::run::InheritedIo;
use crate::shell::state::{RedirectKind, Shell};
use crate::shell::value::Word;

const PROGRAMS: [&str; 24] = [
    "tar", "gtar", "bsdtar", "star", "cpio", "pax", "zip", "7z", "7za", "7zz", "rsync", "sort", "wc", "du",
    "find", "file", "xgettext", "ctags", "cscope", "convert", "magick", "montage", "identify", "mogrify",
];

/// Those whose standard input is data unless an option says that it is a list.
const DATA_ON_INPUT: [&str; 8] =
    ["sort", "wc", "file", "convert", "magick", "montage", "identify", "mogrify"];

/// Programs that show, pack or change what a list names, and their options for it. `@` stands for operands behind that mark.
const LIST_OPTIONS: [(&[&str], &[&str]); 7] = [
    (&["tar", "gtar", "bsdtar", "star"], &["-T", "--files-from"]),
    (&["sort", "gsort"], &["--files0-from"]),
    (&["zstd", "zstdmt", "unzstd", "zstdcat"], &["--filelist"]),
    (&["ctags", "etags"], &["-L"]),
    (&["cscope"], &["-i"]),
    (&["clang-format"], &["--files"]),
    (&["convert", "magick", "montage", "identify", "mogrify", "composite", "compare", "gm"], &["@"]),
];

impl Shell<'_> {
    /// Notes the files that a program reads because a list names them.
    pub(in crate::shell) fn file_list(&mut self, base: &str, words: &[Word], around: &InheritedIo) {
        let rest = words.get(1..).unwrap_or_default();
        if given_lists(base, rest).iter().any(|list| self.file(list).is_none_or(|file| file.text.is_none())) {
            self.doubt("a list of files that is not known from the line");
        }
        if !PROGRAMS.contains(&base) {
            return;
        }
        let mut texts: Vec<String> =
            rest.iter().flat_map(list_names).filter_map(|file| self.file(&file)?.text).collect();
        let named = rest.iter().any(|word| word.text().is_some_and(|text| is_input_list(&text)));
        if named || !DATA_ON_INPUT.contains(&base) {
            texts.extend(around.input.as_ref().and_then(|stream| stream.text.clone()));
        }
        let items: Vec<&str> = texts.iter().flat_map(|text| text.split(['\n', '\0'])).collect();
        if items.len() > MAX_EXPANDED_WORDS {
            self.doubt("more files in a list than can be followed");
        }
        let paths = items.into_iter().take(MAX_EXPANDED_WORDS).map(str::trim).filter(|item| is_path(item));
        for path in paths.map(str::to_string).collect::<Vec<_>>() {
            self.touch(RedirectKind::Read, Word::known(path));
        }
    }
}

/// The lists that the options of a program name; its standard input is not among them.
fn given_lists(base: &str, rest: &[Word]) -> Vec<Word> {
    let options = LIST_OPTIONS.iter().find(|(programs, _)| programs.contains(&base));
    let options = options.map(|(_, options)| *options).unwrap_or_default();
    let list = |(at, word): (usize, &Word)| {
        let text = word.beginning();
        options.iter().find_map(|option| {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) if option.starts_with("--") => (name, Some(value)),
                _ => (&*text, None),
            };
            // A unique beginning of a long option counts as the option.
            let is_long = name.len() >= MIN_BEGINNING && option.starts_with(name);
            match value {
                Some(value) if is_long => Some(Word::known(value)),
                None if is_long || text == *option => rest.get(at + 1).cloned(),
                _ if option.starts_with("--") => None,
                _ => text.strip_prefix(option).filter(|list| !list.is_empty()).map(Word::known),
            }
        })
    };
    let lists = rest.iter().enumerate().filter_map(list);
    lists.filter(|list| !list.is("-") && !list.is("/dev/stdin")).collect()
}

/// Bytes of the shortest beginning by which these programs know an option: `--files`; `--file` is another one.
const MIN_BEGINNING: usize = 7;

/// The files that a word may name: itself, the value behind `=`, and the rest of a short option.
fn list_names(word: &Word) -> Vec<Word> {
    let Some(text) = word.text() else { return Vec::new() };
    let value = text.split_once('=').map(|(_, value)| value);
    let attached =
        text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.get(1..));
    let listed = text.strip_prefix('@');
    [Some(&*text), value, attached, listed].into_iter().flatten().map(Word::known).collect()
}

/// Does this option take the list from the standard input?
fn is_input_list(option: &str) -> bool {
    matches!(option, "--files0-from=-" | "--files-from=-" | "-T-" | "-files0-from" | "-f-")
}

/// Text that can be a path and not a sentence.
fn is_path(item: &str) -> bool {
    item.contains('/') && item.len() < 4096 && !item.contains(|char: char| char.is_control())
}
