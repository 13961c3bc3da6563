//! Wrappers that run a command for each item of a list: `xargs` and `parallel`.

use super::special::replaced;
use crate::shell::run::InheritedIo;
use crate::shell::state::Shell;
use crate::shell::value::{Piece, Stream, Taint, UnknownReason, Word};
use std::borrow::Cow;

/// Runs of a command that are followed, where it runs once per line.
const MAX_ITEM_RUNS: usize = 16;

/// The options of `xargs`.
#[derive(Debug, Default)]
struct XargsOptions {
    /// Words that are options and their values.
    count: usize,
    /// The text in the command that an item takes the place of.
    replace: Option<String>,
    separator: Option<char>,
    /// The file whose items take the place of the standard input.
    from_file: Option<Word>,
}

impl Shell<'_> {
    pub(in crate::shell) fn xargs(&mut self, words: &[Word], around: &InheritedIo) -> Stream {
        let rest = words.get(1..).unwrap_or_default();
        let options = self.xargs_options(rest);
        let command = rest.get(options.count..).unwrap_or_default();
        let command = if command.is_empty() { vec![Word::known("echo")] } else { command.to_vec() };
        let input = match &options.from_file {
            Some(file) => Some(self.file(file).unwrap_or(Stream::unknown(Taint::CONTENT))),
            None => around.input.clone(),
        };
        let known = input.as_ref().and_then(|stream| stream.text.clone());
        let taint = input.map_or(Taint::NONE, |stream| stream.taint);
        let items: Vec<Word> = match &known {
            Some(text) => {
                let items = items(text, options.separator);
                if items.len() > crate::shell::limits::MAX_EXPANDED_WORDS {
                    self.doubt("more words from a pipe than can be followed");
                }
                items.into_iter().take(crate::shell::limits::MAX_EXPANDED_WORDS).map(item).collect()
            }
            None => vec![any_items(taint)],
        };
        let quiet = InheritedIo { input: None, redirects: around.redirects.clone() };
        let Some(mark) = options.replace else {
            let inner = command.into_iter().chain(items).collect();
            return self.nested_list("xargs", inner, &quiet, words);
        };
        // The command runs once for each line.
        let lines: Vec<Word> = match &known {
            Some(text) => text.lines().map(|line| Word::known(line.trim_start())).collect(),
            None => items,
        };
        if lines.len() > MAX_ITEM_RUNS {
            self.doubt("a command for more lines than can be followed");
        }
        let mut output = Stream::empty();
        for item in lines.iter().take(MAX_ITEM_RUNS) {
            let inner = command.iter().map(|word| replaced(word, &mark, item)).collect();
            output = output.then(self.nested_list("xargs", inner, &quiet, words));
        }
        output
    }

    /// The options of `xargs` before its command.
    fn xargs_options(&mut self, words: &[Word]) -> XargsOptions {
        const VALUES: &str = "-I -n -P -d -L -a -E -s --max-args --max-procs --delimiter --arg-file --max-lines --max-chars \
            -J -R -S --process-slot-var --eof";
        let mut options = XargsOptions::default();
        while let Some(word) = words.get(options.count) {
            let flag = word.beginning();
            if !flag.starts_with('-') {
                break;
            }
            if word.is("--") {
                options.count += 1;
                break;
            }
            let next = words.get(options.count + 1);
            if word.is("-I") || word.is("-J") {
                options.replace = next.and_then(Word::text).map(Cow::into_owned);
            } else if let Some(mark) = replacement_mark(&flag) {
                options.replace = Some(mark);
            }
            if !is_xargs_flag(&flag) {
                self.doubt("an option of a launcher that is not known");
            }
            if let Some(file) = flag.strip_prefix("--arg-file=").or_else(|| flag.strip_prefix("-a")) {
                let next = next.filter(|_| file.is_empty()).cloned();
                let file = next.unwrap_or_else(|| Word::known(file));
                self.touch(crate::shell::state::RedirectKind::Read, file.clone());
                options.from_file = Some(file);
            }
            if word.is("-d") || word.is("--delimiter") {
                options.separator = next.and_then(|word| word.text()?.chars().next());
            } else if let Some(text) = flag.strip_prefix("-d").or_else(|| flag.strip_prefix("--delimiter=")) {
                options.separator = crate::shell::text::ansi_c(text).chars().next();
            } else if word.is("--null")
                || !flag.starts_with("--") && flag.contains('0') && !flag.contains(['n', 'P', 'L', 's', 'I'])
            {
                options.separator = Some('\0');
            }
            options.count += if is_listed(VALUES, &flag) { 2 } else { 1 };
        }
        options
    }

    /// The items behind `:::`, and those in the files behind `::::`.
    fn parallel_lists(&mut self, words: &[Word], is_list: impl Fn(&Word) -> bool) -> Vec<Vec<Word>> {
        let mut lists: Vec<Vec<Word>> = Vec::new();
        let mut in_files = false;
        for word in words {
            if is_list(word) {
                in_files = word.beginning().starts_with("::::");
                lists.push(Vec::new());
                continue;
            }
            let items = if in_files { self.items_of_file(word) } else { vec![word.clone()] };
            if let Some(list) = lists.last_mut() {
                list.extend(items);
            }
        }
        lists
    }

    /// The lines of a file that the line itself wrote; those of another one may be anything.
    fn items_of_file(&mut self, file: &Word) -> Vec<Word> {
        self.touch(crate::shell::state::RedirectKind::Read, file.clone());
        match self.file(file).and_then(|stream| stream.text) {
            Some(text) => text.lines().map(Word::known).collect(),
            None => vec![any_items(Taint::CONTENT)],
        }
    }

    pub(in crate::shell) fn parallel(&mut self, words: &[Word], around: &InheritedIo) -> Stream {
        let rest = words.get(1..).unwrap_or_default();
        let is_list = |word: &Word| word.text().is_some_and(|text| text.starts_with(":::"));
        let split = rest.iter().position(is_list).unwrap_or(rest.len());
        let before = rest.get(..split).unwrap_or_default();
        let command: Vec<Word> = before.get(self.parallel_options(before)..).unwrap_or_default().to_vec();
        // `{= perl =}`, and every form that a version of it knows beside the plain ones.
        let known = |text: &str| {
            text.split('{').skip(1).all(|part| {
                let name = part.split('}').next().unwrap_or_default();
                let name = name.trim_start_matches(|digit: char| digit.is_ascii_digit());
                !part.contains('}')
                    || matches!(name, "" | "." | "/" | "//" | "/." | "#" | "%")
                    || part.contains([' ', ';', ','])
            }) && !text.contains("{=")
        };
        if command.iter().any(|word| !known(&word.shown())) {
            self.doubt("a replacement that runs code");
        }
        let lists: Vec<Vec<Word>> = match rest.get(split..).filter(|lists| !lists.is_empty()) {
            Some(lists) => self.parallel_lists(lists, is_list),
            None => {
                let taint = around.input.as_ref().map_or(Taint::NONE, |stream| stream.taint);
                vec![match around.input.as_ref().and_then(|stream| stream.text.as_ref()) {
                    Some(text) => text.lines().map(Word::known).collect(),
                    None => vec![any_items(taint)],
                }]
            }
        };
        let rounds = lists.iter().map(Vec::len).max().unwrap_or(0);
        if rounds > MAX_ITEM_RUNS {
            self.doubt("a command for more lines than can be followed");
        }
        self.emit(words.to_vec(), Vec::new(), around);
        self.through.push("parallel".into());
        let mut taint = Taint::NONE;
        for round in 0..rounds.min(MAX_ITEM_RUNS) {
            // Each item is taken with the last of the lists that are shorter.
            let items: Vec<Word> =
                lists.iter().filter_map(|list| list.get(round).or(list.last())).cloned().collect();
            let first = items.first().cloned().unwrap_or_default();
            let fill = |word: &Word| {
                let filled = replaced(word, "{}", &first);
                items
                    .iter()
                    .enumerate()
                    .fold(filled, |word, (at, item)| replaced(&word, &format!("{{{}}}", at + 1), item))
            };
            let mut line: Vec<Word> = command.iter().map(fill).collect();
            if line == command {
                line.extend(items);
            }
            // Its words are joined and read by a shell again, unless it is told to keep them.
            self.spliced(&line);
            let text = self.source(&line);
            taint = taint.and(self.apart(|shell| shell.script(&text, &InheritedIo::default())).taint);
            self.deeper(|shell| shell.apart(|shell| shell.call(line, Vec::new(), &InheritedIo::default())));
        }
        self.through.pop();
        Stream::unknown(taint)
    }

    /// The number of words before the command that are options of `parallel`.
    fn parallel_options(&mut self, words: &[Word]) -> usize {
        const VALUES: &str = "-j --jobs -P --max-procs -n -N --max-args --max-replace-args -L --delay --timeout --retries \
            --halt -d --delimiter --colsep -C --load --memfree --nice -s --max-chars --block --shuf-seed";
        const FLAGS: &str = "-k --keep-order --bar --progress --eta --tag -q --quote -0 --null -X -m --xargs --dry-run \
            --line-buffer --lb --linebuffer --ungroup -u --group --will-cite --no-notice --verbose -t -v --silent \
            --shuf --link -r --no-run-if-empty --dryrun";
        let mut index = 0;
        while let Some(word) = words.get(index) {
            let text = word.beginning();
            if !text.starts_with('-') {
                break;
            }
            let name = text.split('=').next().unwrap_or(&text).to_string();
            let letter: String = text.chars().take(2).collect();
            if is_listed(FLAGS, &name) || name.len() < text.len() && is_listed(VALUES, &name) {
                index += 1;
            } else if is_listed(VALUES, &name) {
                index += 2;
            } else if !text.starts_with("--") && is_listed(VALUES, &letter) {
                index += 1;
            } else {
                self.doubt("an option of parallel that is not known");
                index += 1;
            }
        }
        index
    }

    fn nested_list(&mut self, base: &str, inner: Vec<Word>, around: &InheritedIo, words: &[Word]) -> Stream {
        self.emit(words.to_vec(), Vec::new(), around);
        self.through.push(base.to_string());
        let output = self.deeper(|shell| shell.apart(|shell| shell.call(inner, Vec::new(), around)));
        self.through.pop();
        output.unwrap_or_else(|| Stream::unknown(Taint::NONE))
    }
}

fn is_listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|own| own == name)
}

/// Items of a list that is not known.
/// A word of a list. A pattern in it may have been one for the command that made the list: `echo .e* | xargs cat`.
fn item(text: String) -> Word {
    let quoted = !text.contains(['*', '?', '[']);
    Word { pieces: vec![Piece::Known { text, quoted }] }
}

fn any_items(taint: Taint) -> Word {
    Word { pieces: vec![Piece::Unknown { why: UnknownReason::Output, taint, splits: true }] }
}

/// The mark of `-I{}`, `-i`, `--replace` and its abbreviations.
fn replacement_mark(flag: &str) -> Option<String> {
    if let Some(text) = flag.strip_prefix("-I") {
        return Some(text.to_string());
    }
    if let Some(text) = flag.strip_prefix("--replace=").or_else(|| flag.strip_prefix("-i")) {
        return Some(if text.is_empty() { "{}" } else { text }.to_string());
    }
    let name = flag.strip_prefix("--")?;
    (name.len() > 1 && "replace".starts_with(name)).then(|| "{}".to_string())
}

/// Options of `xargs` that are known; values may be joined to them.
fn is_xargs_flag(flag: &str) -> bool {
    const LETTERS: &str = "0rtpxonPLIdaEsiJReSl";
    const LONG: &str = "--null --no-run-if-empty --verbose --interactive --exit --open-tty --max-args --max-procs --max-lines \
        --replace --delimiter --arg-file --eof --max-chars --process-slot-var --show-limits --help --version";
    if flag.starts_with("--") {
        let name = flag.split('=').next().unwrap_or(flag);
        return LONG.split_whitespace().any(|own| own.starts_with(name) && name.len() > 3);
    }
    flag.chars().nth(1).is_some_and(|letter| LETTERS.contains(letter))
}

/// The words that `xargs` makes of its input.
fn items(text: &str, separator: Option<char>) -> Vec<String> {
    let parts = |text: &str, is: &dyn Fn(char) -> bool| -> Vec<String> {
        text.split(is).filter(|part| !part.is_empty()).map(str::to_string).collect()
    };
    match separator {
        Some(separator) => parts(text.strip_suffix('\n').unwrap_or(text), &|char| char == separator),
        None => shlex::split(&text.replace('\0', " "))
            .unwrap_or_else(|| parts(text, &|char| char.is_whitespace() || char == '\0')),
    }
}
