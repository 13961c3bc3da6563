//! Detours to credentials: programs that read everything below a directory, and listings whose names others read.
//!
//! A read of a known credential place is refused by its place alone. Here a read that is rooted above one (the home directory, `/`,
//! `~/.config`, `/etc`) is asked about, unless a search by name keeps credentials out.

use super::arguments::{Arguments, tail};
use super::disk::reached;
use super::facts::{self, Class};
use super::look::Look;
use super::operands;
use super::options;
use super::place::{Grounds, Place, is_below};
use super::severity::Act;
use super::words;
use crate::command::reach::{self, TreeFinding};
use crate::secrets;
use crate::shell::{self, Segment, Word, base_name, normal, pattern, search_starts};
use std::path::Path;

/// Programs that show only that a file is there, how large it is, or a sum of it.
fn shows_names_only(base: &str) -> bool {
    words::NAME_PROGRAMS.matches(base)
}

/// Does a word name a directory that holds credentials, from any directory in which the command may run?
fn holds(word: &Word, directories: &[Word], grounds: Grounds<'_>) -> bool {
    let Some(text) = word.text() else { return false };
    let each = |path: String| {
        let path = normal(&path);
        let inside = path == grounds.workspace || is_below(&path, grounds.workspace);
        !inside && secrets::holds(&path, grounds.home)
            || Place::of_path(&path, true, false, grounds) == Place::Secret
    };
    // `~/*` and `/etc/*` are everything in the directory before the pattern.
    let text = match text.find(['*', '?', '[']).filter(|_| word.globs()) {
        Some(at) => match text.get(..at).and_then(|head| head.rsplit_once('/')) {
            Some((directory, _)) => format!("{directory}/"),
            None => ".".to_string(),
        },
        None => text.into_owned(),
    };
    if text.starts_with('/') {
        return each(text);
    }
    directories.iter().filter_map(Word::text).any(|directory| each(format!("{directory}/{text}")))
}

/// Does a pattern without a name of its own find credentials of the system: `/etc/*` is `/etc/shadow` too?
fn finds_system_credentials(word: &Word, directories: &[Word]) -> bool {
    let Some(text) = word.text().filter(|_| word.globs()) else { return false };
    let finds = |pattern: &str| {
        let parts: Vec<&str> = pattern.split('/').collect();
        secrets::SYSTEM.iter().any(|place| {
            let names: Vec<&str> = place.split('/').collect();
            parts.len() == names.len()
                && parts.iter().zip(names).all(|(part, name)| pattern::matches(part, name))
        })
    };
    if text.starts_with('/') {
        return finds(&normal(&text));
    }
    directories.iter().filter_map(Word::text).any(|directory| finds(&normal(&format!("{directory}/{text}"))))
}

/// Judges a program that reads whole trees.
pub(super) fn judge(look: &mut Look<'_>, base: &str) {
    if look.context.disk {
        handed_over(look, base);
    }
    if !look.listed && stays_inside(look.segment, look.grounds) {
        return;
    }
    let roots = roots(look.segment, base);
    let found = roots.iter().find(|word| holds(word, &look.segment.directories, look.grounds));
    if let Some(word) = found {
        return look.ask(
            "secret.tree",
            format!("`{}` holds credentials, and `{base}` reads all of it", word.shown()),
        );
    }
    // These sort names that they read, and show a file that a word names.
    let shows = !shows_names_only(base) || matches!(base, "sort" | "uniq" | "cut");
    let consumes = look.listed
        && shows
        && !look.is_text
        && !shell::is_launcher(base)
        && (through_xargs(look.segment) || look.rest().iter().any(|word| word.text().is_none()));
    if consumes {
        look.ask(
            "secret.tree",
            format!("`{base}` reads what a listing of a directory with credentials named"),
        );
    }
}

/// Does every word stay below the workspace, so that nothing needs a closer look?
fn stays_inside(segment: &Segment, grounds: Grounds<'_>) -> bool {
    let inside = |directory: &Word| {
        let text = directory.text();
        text.is_some_and(|text| text == grounds.workspace || is_below(&text, grounds.workspace))
    };
    let plain = |word: &Word| {
        let text = word.beginning();
        !text.contains("..") && !text.contains('/')
            || text.starts_with(|char: char| char.is_ascii_alphanumeric())
                && !text.contains("..")
                && !text.contains('=')
    };
    segment.directories.iter().all(inside) && segment.words.iter().skip(1).all(plain)
}

fn through_xargs(segment: &Segment) -> bool {
    segment.through.iter().any(|name| shell::starts_per_item(name))
}

/// The directories that the command reads with all that is in them.
fn roots(segment: &Segment, base: &str) -> Vec<Word> {
    let words = segment.words.get(1..).unwrap_or_default();
    let here = || Word::known(".");
    match base {
        "rg" | "ag" | "ack" | "pt" | "ugrep" | "rga" | "sift" => {
            let arguments = Arguments::new(words, &words::SEARCH_VALUES);
            if arguments.has(&["--files", "--type-list"]) {
                return Vec::new();
            }
            let skip = usize::from(!arguments.has(&["-e", "-f", "--regexp", "--file"]));
            let mut roots: Vec<Word> = arguments.operands.iter().skip(skip).cloned().collect();
            if roots.is_empty() && segment.input.is_none() {
                roots.push(here());
            }
            roots
        }
        "grep" | "egrep" | "fgrep" | "rgrep" | "ggrep" | "zgrep" => {
            let values =
                ["-A", "-B", "-C", "-e", "-f", "-m", "-d", "-D", "--include", "--exclude", "--exclude-dir"];
            let arguments = Arguments::new(words, &values);
            let recurses = base == "rgrep"
                || arguments.has(&["-r", "-R", "--recursive", "--dereference-recursive"])
                || arguments.values(&["-d", "--directories"]).any(|value| value.is("recurse"));
            let skip = usize::from(!arguments.has(&["-e", "-f", "--regexp", "--file"]));
            let mut roots: Vec<Word> = arguments.operands.iter().skip(skip).cloned().collect();
            if !recurses {
                roots.retain(|word| finds_system_credentials(word, &segment.directories));
            } else if roots.is_empty() {
                roots.push(here());
            }
            roots
        }
        "find" | "gfind" => {
            let runs = words.iter().position(|word| {
                matches!(word.text().as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir"))
            });
            let reads = runs
                .and_then(|at| words.get(at + 1))
                .is_some_and(|word| word.text().is_none_or(|name| !shows_names_only(base_name(&name))));
            if reads && !is_narrowed(words) { search_starts(words) } else { Vec::new() }
        }
        "cp" | "gcp" | "rsync" | "ditto" | "scp" => {
            let arguments = Arguments::new(words, &words::TREE_COPY_VALUES);
            let tree = base != "cp" && base != "gcp"
                || arguments.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
            let mut roots = arguments.operands;
            if !arguments.flags.iter().any(|flag| matches!(flag.name.as_str(), "-t" | "--target-directory")) {
                roots.pop();
            }
            roots
                .into_iter()
                .filter(|word| tree || finds_system_credentials(word, &segment.directories))
                .collect()
        }
        "tar" | "gtar" | "bsdtar" | "star" => packed(words),
        "zip" | "7z" | "7za" | "7zr" | "7zz" | "rar" | "mksquashfs" | "jar" => {
            words.iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect()
        }
        "git" => {
            let verb = words.iter().find(|word| !word.beginning().starts_with('-'));
            let takes = verb
                .is_some_and(|verb| ["add", "stage", "hash-object", "grep"].iter().any(|name| verb.is(name)));
            let plain = words.iter().filter(|word| !word.beginning().starts_with('-')).skip(1);
            if takes { plain.cloned().collect() } else { Vec::new() }
        }
        _ => match facts::find(base) {
            Some(facts)
                if matches!(facts.class, Class::Read | Class::Convert | Class::Change | Class::Build) =>
            {
                let files = operands::files(base, words, facts);
                files
                    .into_iter()
                    .filter(|word| !word.globs() || finds_system_credentials(word, &segment.directories))
                    .collect()
            }
            _ if base.starts_with("python") => {
                let packs =
                    words.iter().any(|word| word.is("zipfile") || word.is("tarfile") || word.is("shutil"));
                if packs { words.to_vec() } else { Vec::new() }
            }
            _ => Vec::new(),
        },
    }
}

/// What `tar` packs.
fn packed(words: &[Word]) -> Vec<Word> {
    let packs = words.iter().enumerate().any(|(at, word)| {
        let text = word.beginning();
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let letters = letters.or((at == 0).then_some(&*text));
        letters.is_some_and(|letters| letters.contains(['c', 'r', 'u']) && !letters.contains('/'))
            || ["--create", "--append", "--update"]
                .iter()
                .any(|flag| text.len() > 3 && flag.starts_with(&*text))
    });
    let plain = words.iter().filter(|word| !word.beginning().starts_with('-'));
    let attached = words.iter().filter_map(|word| {
        let text = word.beginning();
        let at = if text.starts_with("--directory=") {
            12
        } else if text.starts_with("-C") && text.len() > 2 {
            2
        } else {
            return None;
        };
        Some(tail(word, at))
    });
    if packs { plain.cloned().chain(attached).collect() } else { Vec::new() }
}

/// Does a search look only for names that credentials do not have?
fn is_narrowed(words: &[Word]) -> bool {
    let mut patterns = 0;
    let mut choices = 1;
    let mut negated = false;
    for pair in words.windows(2) {
        let [test, name] = pair else { continue };
        match test.text().as_deref() {
            Some("-o" | "-or" | ",") => choices += 1,
            Some("!" | "-not") => {
                negated = true;
                continue;
            }
            Some("-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename") if !negated => {
                let Some(name) = name.text() else { return false };
                let last = name.rsplit('/').next().unwrap_or_default();
                let finds = |own: &str| {
                    pattern::matches(last, own) || pattern::matches(&last.to_lowercase(), &own.to_lowercase())
                };
                if words::CREDENTIAL_FILES.words().any(finds) || secrets::is_project_secret(last) {
                    return false;
                }
                patterns += 1;
            }
            _ => {}
        }
        negated = false;
    }
    patterns >= choices
}

/// Does a command list the names in a directory that holds credentials, for other commands to read?
pub(super) fn lists_credentials(segment: &Segment, grounds: Grounds<'_>) -> bool {
    let Some(name) = segment.words.first().and_then(Word::text) else { return false };
    let words = segment.words.get(1..).unwrap_or_default();
    let roots = match base_name(&name) {
        "find" | "gfind" if shell::finds_project_secrets(words) => return true,
        "find" | "gfind" if is_narrowed(words) => return false,
        "find" | "gfind" => search_starts(words),
        "ls" | "dir" | "du" | "tree" | "fd" | "fdfind" => {
            let roots: Vec<Word> =
                words.iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect();
            let secret =
                |word: &Word| word.globs() && secrets::may_be_project_secret(base_name(&word.shown()));
            if roots.iter().any(secret) {
                return true;
            }
            if roots.is_empty() { vec![Word::known(".")] } else { roots }
        }
        "rg" if words.iter().any(|word| word.is("--files")) => {
            words.iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect()
        }
        "locate" | "plocate" | "mlocate" => {
            let credential = |word: &Word| {
                let text = word.shown();
                words::CREDENTIAL_FILES
                    .words()
                    .any(|name| name.contains(text.trim_matches('*')) || pattern::matches(&text, name))
                    || text.contains(".ssh")
                    || text.contains(".aws")
            };
            return words.iter().any(credential);
        }
        _ => return false,
    };
    roots.iter().any(|word| holds(word, &segment.directories, grounds))
}

/// The names to which a search is narrowed, on every way; none where it finds files of any name.
fn searched_names(words: &[Word]) -> Option<Vec<String>> {
    let ways = 1 + words.iter().filter(|word| word.is("-o") || word.is("-or") || word.is(",")).count();
    let mut names = Vec::new();
    let mut before: Option<&Word> = None;
    for pair in words.windows(2) {
        let [test, name] = pair else { continue };
        let negated = before.is_some_and(|word| word.is("!") || word.is("-not"));
        before = Some(test);
        if !negated && (test.is("-name") || test.is("-iname")) {
            names.push(name.text()?.to_lowercase());
        }
    }
    (names.len() >= ways).then_some(names)
}

/// Does a search find a file of secrets that lies in the workspace, and is it one for files?
fn finds_secrets(words: &[Word], directories: &[Word], grounds: Grounds<'_>) -> bool {
    if words
        .windows(2)
        .any(|pair| matches!(pair, [test, kind] if test.is("-type") && !kind.beginning().contains('f')))
    {
        return false;
    }
    let names = searched_names(words);
    let is_read = |name: &str| {
        let lower = name.to_lowercase();
        names.as_ref().is_none_or(|names| names.iter().any(|own| pattern::matches(own, &lower)))
    };
    holds_secrets(&search_starts(words), directories, grounds, &is_read)
}

/// Does a file of secrets lie below one of these directories of the workspace?
fn holds_secrets(
    starts: &[Word],
    directories: &[Word],
    grounds: Grounds<'_>,
    is_read: &dyn Fn(&str) -> bool,
) -> bool {
    let workspace = reach::real(Path::new(grounds.workspace));
    let mut paths = starts.iter().flat_map(|start| reached(start, directories).unwrap_or_default());
    paths.any(|path| {
        if !path.starts_with(&workspace) {
            return false;
        }
        let found = reach::look_through(&path, &path, false, is_read);
        matches!(found, TreeFinding::Secret | TreeFinding::TooLarge)
    })
}

/// Does a command list the names of files of secrets in the workspace, for other commands to read?
pub(super) fn lists_project_secrets(segment: &Segment, grounds: Grounds<'_>) -> bool {
    let Some(name) = segment.words.first().and_then(Word::text) else { return false };
    let words = segment.words.get(1..).unwrap_or_default();
    let has = |flags: &[&str]| Arguments::new(words, &[""; 0]).has(flags);
    let mut roots: Vec<Word> =
        words.iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect();
    match base_name(&name) {
        "find" | "gfind" => return finds_secrets(words, &segment.directories, grounds),
        "ls" | "dir" if has(&["-a", "-A", "--all", "--almost-all"]) => {}
        "fd" | "fdfind" if has(&["-H", "-u", "--hidden", "--unrestricted"]) => roots.clear(),
        "rg" if has(&["--files"]) && has(&["-.", "--hidden", "-uu"]) => {}
        "tree" | "du" | "exa" | "eza" | "lsd" if has(&["-a", "--all"]) => {}
        "git" if git_lists_ignored(words) => roots.clear(),
        _ => return false,
    }
    if roots.is_empty() {
        roots.push(Word::known("."));
    }
    holds_secrets(&roots, &segment.directories, grounds, &|_| true)
}

/// Does git list files that are in no commit, the ignored ones among them?
fn git_lists_ignored(words: &[Word]) -> bool {
    let has = |flags: &[&str]| Arguments::new(words, &[""; 0]).has(flags);
    let verb = |name: &str| words.iter().any(|word| word.is(name));
    verb("ls-files") && has(&["-o", "--others"])
        || verb("status")
            && (has(&["--ignored"]) || words.iter().any(|word| word.beginning().starts_with("--ignored=")))
        || verb("check-ignore")
        || verb("clean") && has(&["-n", "--dry-run"])
}

/// `find . -type f -exec cat {} +`: what a search hands to a program that shows or copies it.
fn handed_over(look: &mut Look<'_>, base: &str) {
    let words = look.rest();
    let flags: &[&str] = match base {
        "find" | "gfind" => &["-exec", "-execdir", "-ok", "-okdir"],
        "fd" | "fdfind" => &["-x", "-X", "--exec", "--exec-batch"],
        _ => return,
    };
    let Some(at) = words.iter().position(|word| flags.iter().any(|flag| word.is(flag))) else { return };
    let program = words.get(at + 1).and_then(Word::text);
    let takes = program.is_none_or(|program| takes_contents(base_name(&program)));
    let finds = if base.starts_with("fd") {
        let hidden = Arguments::new(words, &[""; 0]).has(&["-H", "-u", "--hidden", "--unrestricted"]);
        hidden && holds_secrets(&[Word::known(".")], &look.segment.directories, look.grounds, &|_| true)
    } else {
        finds_secrets(words.get(..at).unwrap_or_default(), &look.segment.directories, look.grounds)
    };
    if takes && finds {
        look.ask("tree.secret", "the search finds files of secrets, and a program reads what it finds");
    }
}

/// Does a program show or copy the files that it is given?
fn takes_contents(base: &str) -> bool {
    if shows_names_only(base) {
        return false;
    }
    match facts::find(base) {
        Some(facts) => {
            matches!(facts.class, Class::Read | Class::Convert) || words::TREE_TAKERS.matches(base)
        }
        None => true,
    }
}

/// `--include=.env`, `-g .env`: the files that a search looks into.
fn chosen_by_pattern(look: &mut Look<'_>) {
    const OPTIONS: [&str; 6] = ["--include", "-g", "--glob", "--iglob", "-G", "--file-search-regex"];
    let words = look.rest().to_vec();
    for (index, word) in words.iter().enumerate() {
        let text = word.shown();
        let value = match OPTIONS.iter().find(|option| text.starts_with(**option)) {
            Some(option) if text == **option => words.get(index + 1).map(Word::shown),
            Some(option) => text.get(option.len()..).map(|value| value.trim_start_matches('=').to_string()),
            None => None,
        };
        let Some(value) = value.filter(|value| !value.starts_with('!')) else { continue };
        if secrets::may_be_project_secret(base_name(&value)) {
            look.act_at(Act::Read, Place::ProjectSecret, &value);
        }
    }
}

/// Looks on the disk at what a search through whole trees would show.
pub(super) fn contents(look: &mut Look<'_>, base: &str, arguments: &Arguments) {
    let searches = words::TREE_SEARCHES.matches(base);
    let greps = words::GREPS.matches(base);
    let whole = searches
        || greps
            && (base == "rgrep"
                || arguments.has(&["-r", "-R", "--recursive", "--dereference-recursive"])
                || is_recursive(look.rest()))
        // Of two directories they show what differs, without an option too.
        || words::TREE_COMPARERS.matches(base);
    if searches || greps {
        chosen_by_pattern(look);
    }
    if !look.context.disk || !whole {
        return;
    }
    let patterns = usize::from((searches || greps) && !arguments.has(&["-e", "-f", "--regexp", "--file"]));
    let mut starts: Vec<Word> = arguments.operands.iter().skip(patterns).cloned().collect();
    // Values that the program's own list of options knows are not directories.
    if let Some(listed) = options::all_operands(base, look.rest()) {
        let given = patterns == 0 || searches && arguments.has(&["--files"]);
        starts = listed.into_iter().skip(usize::from(!given && (searches || greps))).collect();
    }
    if starts.is_empty() && (searches && look.segment.input.is_none() || greps) {
        starts.push(Word::known("."));
    }
    let links = arguments.has(&["-R", "-L", "--dereference-recursive", "--follow"]);
    let hides = hides_dot_files(base, arguments);
    let included = included_names(arguments);
    let is_read = |name: &str| {
        !(hides && name.starts_with('.'))
            && included.as_ref().is_none_or(|patterns| patterns.iter().any(|own| pattern::matches(own, name)))
    };
    examine(look, &starts, links, &is_read);
}

/// `grep -d recurse`
fn is_recursive(words: &[Word]) -> bool {
    let listed = options::listed("grep", words).unwrap_or_default();
    listed.iter().any(|(name, value)| {
        matches!(name.as_str(), "-d" | "--directories")
            && value.as_ref().is_some_and(|value| !value.is("read") && !value.is("skip"))
    })
}

/// Looks on the disk at directories that a command packs, copies or prints as a whole: the project's secrets in them would get
/// another name, under which nothing knows them.
pub(super) fn take(look: &mut Look<'_>, starts: &[Word], excluded: &[Word]) {
    if !look.context.disk {
        return;
    }
    let excluded: Vec<String> =
        excluded.iter().filter_map(Word::text).map(|text| base_name(&text).to_string()).collect();
    let is_read = |name: &str| !excluded.iter().any(|own| pattern::matches(own, name));
    let starts: Vec<Word> = starts
        .iter()
        .filter(|word| {
            let place = look.place(word);
            matches!(
                place,
                Place::Workspace | Place::Inside | Place::Regenerable | Place::Temporary | Place::Above
            )
        })
        .cloned()
        .collect();
    examine(look, &starts, false, &is_read);
}

/// Asks about what a walk over directories finds.
fn examine(look: &mut Look<'_>, starts: &[Word], links: bool, is_read: &dyn Fn(&str) -> bool) {
    let workspace = reach::real(Path::new(look.grounds.workspace));
    for start in starts {
        for path in reached(start, &look.segment.directories).unwrap_or_default() {
            match reach::look_through(&path, &workspace, links, is_read) {
                TreeFinding::Nothing => {}
                TreeFinding::Secret => {
                    look.ask("tree.secret", format!("there are files of secrets in `{}`", start.shown()));
                }
                TreeFinding::LeadsOut => {
                    look.ask(
                        "tree.link",
                        format!("a link in `{}` leads out of the workspace", start.shown()),
                    );
                }
                TreeFinding::TooLarge => {
                    look.ask("tree.large", format!("`{}` is too large to know what is in it", start.shown()));
                }
            }
        }
    }
}

/// Does a search leave out hidden files, as `rg` does unless it is told otherwise?
fn hides_dot_files(base: &str, arguments: &Arguments) -> bool {
    base == "rg" && !arguments.has(&["--hidden", "-.", "-u", "--unrestricted", "-g", "--glob", "--iglob"])
}

/// The patterns of names that `grep` looks at, where it looks at no others: then the first of its choices is to include.
fn included_names(arguments: &Arguments) -> Option<Vec<String>> {
    let mut choices = arguments
        .flags
        .iter()
        .filter(|flag| flag.name.starts_with("--inc") || flag.name.starts_with("--exclude"));
    let first = choices.clone().next()?;
    if first.name != "--include" {
        return None;
    }
    choices.all(|flag| flag.value.is_some()).then_some(())?;
    let included = arguments.flags.iter().filter(|flag| flag.name.starts_with("--inc"));
    included.map(|flag| flag.value.as_ref()?.text().map(std::borrow::Cow::into_owned)).collect()
}
