//! Programs that delete, copy, move, search and change files and their rights.

use super::argument_scan::generic;
use super::arguments::{Arguments, tail};
use super::arrivals;
use super::links;
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::{made_names, options, trees, words};
use crate::shell::{Taint, UnknownReason, Word, base_name, search_starts};

/// Judges the program if it is one of these.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    match base {
        "rm" | "unlink" | "rmdir" | "grm" | "trash" | "trash-put" | "trash-empty" | "del" | "erase"
        | "rd" => delete(look, base),
        "shred" | "srm" | "wipe" | "bleachbit" | "scrub" => destroy(look),
        "cp" | "gcp" | "install" | "ginstall" | "ln" | "gln" | "link" | "mv" | "gmv" | "ditto" => {
            copy(look, base);
        }
        "rename" | "prename" | "mmv" | "rename.ul" | "detox" => renames(look),
        "chmod" | "gchmod" => chmod(look),
        "chown" | "chgrp" | "lchown" => chown(look),
        "setfacl" | "chattr" | "setcap" | "xattr" | "setfattr" => attributes(look, base),
        "find" | "gfind" => find(look),
        "dd" | "gdd" | "dcfldd" => dd(look),
        "sed" | "gsed" => return sed(look),
        "xargs" | "gxargs" => {
            let arguments =
                Arguments::new(look.rest(), &["-a", "--arg-file", "-I", "-n", "-P", "-d", "-L", "-E", "-s"]);
            for value in arguments.values(&["-a", "--arg-file"]) {
                look.act(Act::Read, value);
            }
        }
        "split" | "gsplit" | "csplit" => split(look, base),
        "truncate" => {
            let arguments = Arguments::new(look.rest(), &["-s", "--size", "-r", "--reference"]);
            for word in &arguments.operands {
                let loses = matches!(look.place(word), Place::Inside | Place::Workspace);
                let act = if loses { Act::Delete } else { Act::Change };
                look.act(act, word);
            }
        }
        "tee" => {
            for word in Arguments::new(look.rest(), &[""; 0]).operands {
                look.act(Act::Write, &word);
            }
        }
        _ => return false,
    }
    true
}

fn delete(look: &mut Look<'_>, base: &str) {
    let arguments = Arguments::new(look.rest(), &[""; 0]);
    let tree = base != "rmdir" && base != "unlink" && arguments.has(&["-r", "-R", "--recursive"]);
    if arguments.has(&["--no-preserve-root"]) {
        look.deny("delete.root", "it switches off the guard of the root directory");
    }
    for word in &arguments.operands {
        let place = look.place(word);
        // A pattern for everything is the directory itself.
        let all = word.globs()
            && word
                .text()
                .is_some_and(|text| matches!(text.rsplit('/').next(), Some("*" | ".*" | "{*,.*}" | "**")));
        let act = if tree || (all && place == Place::Workspace) { Act::DeleteTree } else { Act::Delete };
        let unset = word.why().is_some() && word.beginning() == "/";
        if unset && tree {
            look.deny("delete.root", "if the variable is empty, it deletes the whole file system");
            continue;
        }
        if is_found_made(look, word) {
            continue;
        }
        // One file that a search found, not all of them.
        if !tree && place == Place::Workspace && word.text().is_none() {
            look.ask("find.delete", "it deletes the files that it finds");
            continue;
        }
        // Directories given back when they are empty lose nothing.
        if base == "rmdir" && matches!(place, Place::Inside | Place::Regenerable | Place::Temporary) {
            continue;
        }
        look.act(act, word);
    }
}

fn destroy(look: &mut Look<'_>) {
    let arguments = Arguments::new(look.rest(), &["-n", "-s", "--iterations", "--size", "--random-source"]);
    for word in &arguments.operands {
        match look.place(word) {
            Place::Temporary | Place::Sink => {}
            Place::Inside | Place::Regenerable | Place::Outside => {
                look.ask("destroy", format!("it destroys `{}` beyond recovery", word.shown()));
            }
            _ => look.deny("destroy", format!("it destroys `{}` beyond recovery", word.shown())),
        }
    }
}

fn copy(look: &mut Look<'_>, base: &str) {
    let mut arguments = Arguments::new(look.rest(), &words::COPY_VALUES);
    // Of each program by its own options: `-m` has a value for `install` alone.
    if let Some(operands) = options::all_operands(base, look.rest()) {
        arguments.operands = operands;
    }
    let mut targets: Vec<Word> = arguments.values(&["-t", "--target-directory"]).cloned().collect();
    let mut sources = arguments.operands.clone();
    if targets.is_empty() && sources.len() > 1 {
        targets.extend(sources.pop());
    }
    let link = matches!(base, "ln" | "gln" | "link");
    let symbolic = arguments.has(&["-s", "--symbolic", "--symbolic-link"]);
    if link || symbolic || arguments.has(&["-l", "--link"]) {
        links::judge(look, &sources, targets.first(), symbolic);
    }
    for source in &sources {
        let place = look.place(source);
        if link {
            continue;
        }
        look.act(Act::Read, source);
        if matches!(base, "mv" | "gmv" | "rename") {
            match place {
                Place::Inside | Place::Regenerable | Place::Temporary => {}
                Place::ProjectSecret => look.ask("move", format!("it moves secrets: `{}`", source.shown())),
                Place::Outside | Place::InHome | Place::Unknown => {
                    look.ask("move", format!("it moves something from outside: `{}`", source.shown()));
                }
                _ => look.act(Act::DeleteTree, source),
            }
        }
        if matches!(place, Place::System | Place::Vital)
            && (shell_copy(source) || source.beginning().contains("bin/"))
            && !targets.is_empty()
        {
            look.ask("copy.program", "it makes a copy of a program of the system");
        }
    }
    let keeps_aside = arguments.values(&["-S", "--suffix"]).last().cloned();
    if base == "install" && arguments.has(&["-d", "--directory"]) {
        return arguments.operands.iter().for_each(|word| look.act(Act::MakeDirectory, word));
    }
    let is_tree = base == "ditto" || arguments.has(&["-r", "-R", "-a", "--recursive", "--archive"]);
    if matches!(base, "cp" | "gcp" | "ditto") && is_tree {
        trees::take(look, &sources, &[]);
    }
    let emptied = !link && sources.iter().any(|source| source.is("/dev/null"));
    let whole = arguments.has(&["-T", "--no-target-directory"]);
    let moves = matches!(base, "mv" | "gmv");
    for target in &targets {
        look.act(Act::Write, target);
        // What is moved there may be lost with the place.
        if moves && matches!(look.place(target), Place::Temporary | Place::Regenerable | Place::Sink) {
            let kept = sources.iter().filter(|source| look.place(source) == Place::Inside);
            for source in kept.cloned().collect::<Vec<Word>>() {
                look.act(Act::DeleteTree, &source);
            }
        }
        if let Some(suffix) = &keeps_aside {
            let inside = sources.iter().map(|source| target.joined(&Word::known(base_name(&source.shown()))));
            for file in inside.chain([target.clone()]).collect::<Vec<Word>>() {
                made_names::kept_aside(look, &file, suffix);
            }
        }
        // With `--parents` the whole path is made again.
        if arguments.has(&["--parents"]) {
            for source in &sources {
                arrivals::lands(look, target, source.end().trim_start_matches("./"));
            }
        }
        if whole {
            arrivals::brings(look, &sources, target);
        } else {
            arrivals::into(look, &sources.iter().collect::<Vec<_>>(), target);
        }
        if emptied && look.place(target) == Place::Inside {
            look.act(Act::Delete, target);
        }
        if look.carries(Taint::NETWORK) {
            look.ask("copy.network", "it puts what came from the network in place");
        }
    }
    if base == "install" && arguments.values(&["-m", "--mode"]).any(|mode| is_set_id(&mode.shown())) {
        look.deny("set-id", "it makes a program that runs with its owner's rights");
    }
}

fn shell_copy(word: &Word) -> bool {
    word.text().is_some_and(|text| crate::shell::is_shell(crate::shell::base_name(&text)))
}

fn is_set_id(mode: &str) -> bool {
    let digits = mode.trim_start_matches('0');
    let octal = digits.len() == 4
        && digits.starts_with(['2', '4', '6', '7'])
        && digits.chars().all(|char| char.is_digit(8));
    octal || (mode.contains('s') && mode.contains(['+', '=']))
}

fn chmod(look: &mut Look<'_>) {
    let words = look.rest().to_vec();
    let tree = words.iter().any(|word| {
        matches!(word.text().as_deref(), Some("-R" | "--recursive"))
            || word.beginning().starts_with("--rec")
            || (word.beginning().starts_with('-')
                && !word.beginning().starts_with("--")
                && word.beginning().contains('R'))
    });
    let reference = words.iter().any(|word| word.beginning().starts_with("--ref"));
    let mut plain: Vec<&Word> = words
        .iter()
        .filter(|word| {
            let text = word.beginning();
            !(text.starts_with("--")
                || (text.starts_with('-')
                    && text.chars().skip(1).all(|char| "RcfvhHLP".contains(char))
                    && text.len() > 1))
        })
        .collect();
    let stand_in = Word::known("--reference");
    if reference {
        plain.insert(0, &stand_in);
    }
    let Some((mode, targets)) = plain.split_first() else { return };
    let tree = tree || each(look);
    let mode = mode.shown();
    if is_set_id(&mode) {
        return look.deny("set-id", "it makes a program that runs with its owner's rights");
    }
    let executable = !tree && words::EXECUTABLE_MODES.matches(&mode);
    for target in targets {
        let act = if executable {
            Act::MakeExecutable
        } else if tree {
            Act::PermissionTree
        } else {
            Act::Permission
        };
        look.act(act, target);
    }
}

/// `find . -name __pycache__ -exec rm -rf {} +`: nothing but what a build makes again, found in the workspace.
fn is_found_made(look: &Look<'_>, word: &Word) -> bool {
    let behind = word.after_unknown();
    let Some(name) = behind.strip_prefix('/').filter(|name| !name.contains('/')) else { return false };
    let is_found = matches!(look.segment.through.last().map(String::as_str), Some("find" | "gfind"))
        && word.why() == Some(UnknownReason::Found)
        && word.taint() == Taint::NONE;
    let start = Word::known(word.beginning());
    let is_made = words::BUILD_DIRECTORIES.matches(name) || words::BUILD_FILE_ENDINGS.matches(name);
    is_found
        && is_made
        && matches!(look.place(&start), Place::Workspace | Place::Inside | Place::Regenerable)
        && look.place(word) == Place::Inside
}

/// Is it run for each of many files?
fn each(look: &Look<'_>) -> bool {
    look.segment
        .through
        .last()
        .is_some_and(|through| matches!(through.as_str(), "find" | "gfind" | "fd" | "xargs"))
}

fn chown(look: &mut Look<'_>) {
    let arguments = Arguments::new(look.rest(), &["--from", "--reference"]);
    let tree = arguments.has(&["-R", "--recursive"]) || each(look);
    let reference = arguments.has(&["--reference"]);
    for target in arguments.operands.iter().skip(usize::from(!reference)) {
        look.act(if tree { Act::PermissionTree } else { Act::Permission }, target);
    }
    look.ask("owner", "it changes whose files these are");
}

fn attributes(look: &mut Look<'_>, base: &str) {
    let words = look.rest().to_vec();
    if base == "setcap" && !words.iter().any(|word| word.is("-r")) {
        return look.deny("capability", "it gives a program rights of root");
    }
    let places: Vec<Place> = words.iter().map(|word| look.place(word)).collect();
    let removes_lock = base == "chattr"
        && words.iter().any(|word| word.beginning().starts_with('-') && word.beginning().contains('i'));
    if removes_lock
        && places
            .iter()
            .any(|place| matches!(place, Place::StartUp | Place::Vital | Place::Log | Place::System))
    {
        return look.deny("attribute", "it opens a locked file of the system");
    }
    look.ask("attribute", "it changes attributes of files");
}

fn find(look: &mut Look<'_>) {
    let words = look.rest().to_vec();
    let starts = search_starts(&words);
    let has = |flag: &str| words.iter().any(|word| word.is(flag));
    let keys = words.windows(2).any(|pair| match pair {
        [flag, name] => {
            matches!(flag.text().as_deref(), Some("-name" | "-iname" | "-path" | "-ipath" | "-wholename"))
                && name.text().is_some_and(|name| {
                    let bare = name.trim_matches('*').trim_start_matches('/');
                    crate::secrets::is_project_secret(bare) || words::CREDENTIAL_NAME_PARTS.matches(bare)
                })
        }
        _ => false,
    });
    let outside = starts.iter().any(|start| {
        !matches!(look.place(start), Place::Inside | Place::Workspace | Place::Regenerable | Place::Unknown)
    });
    if keys && outside {
        let runs = words
            .iter()
            .position(|word| matches!(word.text().as_deref(), Some("-exec" | "-execdir" | "-ok")));
        let takes = runs
            .and_then(|at| words.get(at + 1))
            .is_some_and(|word| !matches!(word.text().as_deref(), Some("ls" | "stat" | "echo" | "file")));
        if takes {
            look.deny("secret.search", "it takes every credential that it finds");
        } else {
            look.ask("secret.search", "it looks for credentials outside the workspace");
        }
    }
    if has("-delete") {
        let narrowed =
            words.iter().any(|word| word.text().is_some_and(|text| words::NARROWING_TESTS.matches(&text)));
        for start in &starts {
            match look.place(start) {
                Place::Workspace | Place::Inside | Place::Regenerable if finds_made_files(&words) => {}
                Place::Workspace | Place::Inside if narrowed => {
                    look.ask("find.delete", "it deletes the files that it finds");
                }
                Place::Workspace if !narrowed => {
                    look.deny("find.delete", "it deletes everything in the workspace");
                }
                Place::InHome if narrowed => look.ask("find.delete", "it deletes the files that it finds"),
                Place::Home if narrowed => {
                    look.ask("find.delete", "it deletes files all over the home directory");
                }
                Place::Temporary | Place::Regenerable => {
                    look.ask("find.delete", "it deletes the files that it finds");
                }
                _ => look.act(Act::DeleteTree, start),
            }
        }
    }
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        if matches!(word.text().as_deref(), Some("-fprint" | "-fprint0" | "-fprintf" | "-fls"))
            && let Some(target) = words.get(index)
        {
            look.act(Act::Write, target);
        }
        if matches!(word.text().as_deref(), Some("-files0-from"))
            && let Some(target) = words.get(index)
        {
            look.act(Act::Read, target);
        }
    }
}

/// `find src -type f -name '*.pyc' -delete`: nothing but files that a build makes again.
fn finds_made_files(words: &[Word]) -> bool {
    let mut tests = words.iter().skip_while(|word| !word.beginning().starts_with(['-', '(', '!']));
    let mut is_narrowed = false;
    while let Some(test) = tests.next() {
        let text = test.text();
        let is_known = match text.as_deref() {
            Some("-name") => {
                let pattern = tests.next().and_then(Word::text);
                let end = pattern.as_deref().and_then(|pattern| pattern.strip_prefix('*'));
                is_narrowed = end.is_some_and(|end| words::BUILD_FILE_ENDINGS.words().any(|own| own == end));
                is_narrowed
            }
            Some("-type") => tests.next().is_some_and(|kind| kind.is("f")),
            Some("-maxdepth" | "-mindepth") => tests.next().is_some(),
            Some("-print") => true,
            Some("-delete") => is_narrowed,
            _ => false,
        };
        if !is_known {
            return false;
        }
    }
    true
}

fn dd(look: &mut Look<'_>) {
    let words = look.rest().to_vec();
    for word in &words {
        let text = word.beginning();
        if text.starts_with("of=") {
            look.act(Act::Write, &tail(word, 3));
        } else if text.starts_with("if=") {
            look.act(Act::Read, &tail(word, 3));
        }
    }
}

/// `sed -i` changes files, `w` and `e` in its program write and run.
fn sed(look: &mut Look<'_>) -> bool {
    let words = look.rest().to_vec();
    let arguments = Arguments::new(&words, &["-e", "--expression", "-f", "--file", "-l"]);
    let scripts: Vec<String> = {
        let given: Vec<String> = arguments.values(&["-e", "--expression"]).map(Word::shown).collect();
        let from_file = arguments.values(&["-f", "--file"]).next().is_some();
        if given.is_empty() && !from_file {
            arguments.operands.first().map(Word::shown).into_iter().collect()
        } else {
            given
        }
    };
    let skip = usize::from(arguments.values(&["-e", "--expression", "-f", "--file"]).next().is_none());
    for script in &scripts {
        let runs = script.trim_start().starts_with(['e', '1'])
            && (script.trim_start() == "e" || script.starts_with("e ") || script.starts_with("1e"))
            || flags_of_substitutions(script).contains('e');
        if runs {
            if look.privileged() {
                look.deny("root.shell", "its program runs commands with root's rights");
            }
            look.ask("sed.run", "its program runs commands");
            if let Some(delimiter) = script.strip_prefix('s').and_then(|rest| rest.chars().next()) {
                let plain = script.replace(&format!("\\{delimiter}"), "\u{1}");
                if let Some(replacement) = plain.split(delimiter).nth(2) {
                    look.nested(&replacement.replace('\u{1}', &delimiter.to_string()));
                }
            }
            let line = script.trim_start_matches("1e").trim_start_matches("e ").to_string();
            look.nested(&line);
        }
        if let Some((_, target)) =
            script.rsplit_once(['\n', ';']).unwrap_or(("", script)).1.rsplit_once("w ").filter(
                |(before, _)| {
                    before.ends_with(['/', '|', ' ', '}'])
                        || before.is_empty()
                        || before.chars().all(|char| char.is_ascii_digit() || "$,".contains(char))
                },
            )
        {
            let target = Word::known(target.trim());
            look.act(Act::Write, &target);
        }
        for part in script.split(['\n', ';']) {
            if let Some(path) = part
                .trim()
                .trim_start_matches(|char: char| char.is_ascii_digit() || char == '$')
                .strip_prefix("r ")
            {
                let path = Word::known(path.trim());
                look.act(Act::Read, &path);
            }
        }
    }
    let changes = words.iter().any(|word| {
        word.beginning().starts_with("--in-place")
            || (word.beginning().starts_with('-')
                && !word.beginning().starts_with("--")
                && word.beginning().contains('i'))
    });
    let suffix = options::listed("sed", &words).unwrap_or_default().into_iter();
    let suffix = suffix.filter(|(name, _)| matches!(name.as_str(), "-i" | "--in-place"));
    let suffix = suffix.rev().find_map(|(_, value)| value);
    for word in arguments.operands.iter().skip(skip) {
        look.act(if changes { Act::Change } else { Act::Read }, word);
        if let Some(suffix) = &suffix {
            kept_by_sed(look, word, suffix);
        }
    }
    true
}

/// `sed -i.bak`, or `-i'old_*'` where the star stands for the name.
fn kept_by_sed(look: &mut Look<'_>, file: &Word, suffix: &Word) {
    let text = suffix.text().unwrap_or_default();
    if !text.contains('*') {
        return made_names::kept_aside(look, file, suffix);
    }
    let path = file.shown();
    let (directory, name) = path.rsplit_once('/').map_or(("", &*path), |(directory, name)| (directory, name));
    let kept = text.replace('*', name);
    let kept = if directory.is_empty() || text.contains('/') { kept } else { format!("{directory}/{kept}") };
    look.act(Act::Write, &Word::known(kept));
}

fn flags_of_substitutions(script: &str) -> String {
    let mut flags = String::new();
    for part in script.split([';', '\n']) {
        let part = part.trim();
        let Some(rest) = part.strip_prefix('s').or_else(|| part.split_once('s').map(|(_, rest)| rest)) else {
            continue;
        };
        let Some(delimiter) = rest.chars().next().filter(|char| !char.is_alphanumeric()) else { continue };
        if let Some(tail) = rest
            .rsplit(delimiter)
            .next()
            .filter(|tail| tail.len() < 6 && tail.chars().all(|char| char.is_ascii_alphanumeric()))
        {
            flags.push_str(tail);
        }
    }
    flags
}

/// `split` writes beside its input; a filter is a command.
fn split(look: &mut Look<'_>, base: &str) {
    let mut arguments = Arguments::new(look.rest(), &words::SPLIT_VALUES);
    if let Some(operands) = options::all_operands(base, look.rest()) {
        arguments.operands = operands;
    }
    for value in arguments.values(&["--filter"]) {
        look.ask("run.flag", "it runs a command on each part");
        look.nested(&value.shown());
    }
    for word in arguments.operands.iter().take(1) {
        look.act(Act::Read, word);
    }
    if base == "csplit" {
        // Its parts are judged by their options: the second operand is where it cuts.
        return generic(look, false);
    }
    let length = arguments.values(&["-a", "--suffix-length"]).last().and_then(Word::text);
    let names = made_names::PartNames {
        prefix: arguments.operands.get(1).cloned().unwrap_or_else(|| Word::known("x")),
        suffix: arguments.values(&["--additional-suffix"]).last().cloned(),
        length: length.and_then(|length| length.parse().ok()),
    };
    made_names::parts(look, &names);
    generic(look, false);
}

/// Renames inside the workspace can be taken back; the program that makes the new names is perl.
fn renames(look: &mut Look<'_>) {
    let words: Vec<Word> =
        look.rest().iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect();
    for word in words.iter().skip(1) {
        look.act(Act::Change, word);
    }
    // `s/a/CLAUDE.md/`: what replaces stands in the program.
    let program = words.first().map(Word::shown).unwrap_or_default();
    let made = program
        .split(|char: char| "/|#,;:{} ".contains(char))
        .find(|part| part.len() > 3 && look.place(&Word::known(*part)).steers());
    if let Some(name) = made {
        look.act(Act::Write, &Word::known(name));
    }
    if words.first().is_some_and(|word| {
        ["system", "`", "exec", "qx", "unlink"].iter().any(|call| word.shown().contains(call))
    }) {
        look.ask("code.run", "the program starts other programs");
    }
}
