//! Interpreters: programs given as text, and their effects.

mod inline;
mod languages;
mod options;

use super::argument_scan::{generic, is_reaching, may_match};
use super::arguments::{Arguments, tail};
use super::common_flags::{rewritten, tested};
use super::database::framework;
use super::look::Look;
use super::place::Place;
use super::security_tools::is_attack;
use super::severity::Act;
use super::words;
use crate::shell::{Taint, Word};
use regex::Regex;
use std::sync::LazyLock;

/// Flags whose value is code or a file of code, of interpreters that share them.
const CODE_FLAGS: [&str; 15] = [
    "-e",
    "-E",
    "--eval",
    "-c",
    "-x",
    "--execute",
    "-eval",
    "-g",
    "-s",
    "-C",
    "--command",
    "-Command",
    "--load",
    "-L",
    "-l",
];

/// Judges the program if it is an interpreter.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    let plain = base.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.' || char == 'w');
    let (flags, values): (&[&str], &[&str]) = match plain {
        "python" | "pypy" | "ipython" | "jython" => (&["-c"], &["-W", "-X", "-m", "-c", "-Q"]),
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => (
            &["-e", "-p", "--eval", "--print", "-pe", "eval", "-ep"],
            &["-e", "-p", "-pe", "-r", "--require", "--eval", "--print", "--import", "--loader"],
        ),
        "perl" => (&["-e", "-E"], &["-e", "-E", "-I", "-M", "-m", "-F"]),
        "ruby" | "irb" | "jruby" => (&["-e"], &["-e", "-I", "-r", "-C", "-E"]),
        "php" => (&["-r"], &["-r", "-d", "-c", "-S", "-t", "-f", "-B", "-R", "-E"]),
        "lua" | "luajit" | "texlua" => (&["-e"], &["-e", "-l"]),
        "R" | "Rscript" => (&["-e"], &["-e"]),
        "awk" | "gawk" | "mawk" | "nawk" => return awk(look),
        _ if words::CODE_INTERPRETERS.matches(plain) => (&CODE_FLAGS, &CODE_FLAGS),
        _ => return false,
    };
    // These have verbs of their own too; what `--eval` of a task holds is a line for a shell.
    if matches!(base, "bun" | "deno")
        && (look.rest().first().is_some_and(|verb| verb.is("task"))
            || !look.rest().iter().any(|word| flags.contains(&word.shown().as_str())))
    {
        rewritten(look);
        return runtime(look, base);
    }
    let arguments = Arguments::new(look.rest(), values);
    served(look, plain, &arguments);
    // Behind a module or a script the words belong to it.
    let of_module = |word: &Word| {
        let text = word.beginning();
        text.starts_with('-') && !text.starts_with("--") && text.contains('m') && !text.contains('c')
    };
    let module_first = matches!(plain, "python" | "pypy")
        && look.rest().iter().take_while(|word| word.beginning().starts_with('-')).any(of_module);
    let mut texts: Vec<Word> =
        if module_first { Vec::new() } else { arguments.values(flags).cloned().collect() };
    if matches!(base, "deno" | "crystal") && arguments.operands.first().is_some_and(|word| word.is("eval")) {
        texts.extend(arguments.operands.get(1).cloned());
    }
    for text in &texts {
        source(look, text, plain);
    }
    generic(look, true);
    options::judge(look, plain);
    if plain == "emacs" && !arguments.has(&["--batch", "-batch", "--script", "-script"]) {
        look.ask("interactive", "it opens an editor");
    }
    if matches!(plain, "perl" | "ruby") && (!texts.is_empty() || arguments.has(&["-n", "-p"])) {
        arguments.operands.iter().for_each(|word| opened_operand(look, word));
    }
    // `manage.py shell -c CODE`: the flag may be the script's own, so that the script is judged too.
    let script = Arguments::leading(look.rest(), values);
    if let Some(file) = script.operands.first().filter(|_| script.values(flags).next().is_none())
        && !texts.is_empty()
        && words::FRAMEWORK_SCRIPTS.matches(crate::shell::base_name(&file.shown()))
    {
        script_file(look, plain, &arguments, file);
    }
    if !texts.is_empty() {
        // `perl -ne`, `ruby -pe`: the operands are files.
        let changes = arguments.has(&["-i"]);
        if matches!(plain, "perl" | "ruby") {
            for word in arguments.operands.iter() {
                look.act(if changes { Act::Change } else { Act::Read }, word);
            }
        }
        return true;
    }
    if matches!(plain, "perl" | "ruby") && arguments.has(&["-n", "-p"]) {
        arguments.operands.iter().for_each(|word| look.act(Act::Read, word));
    }
    if let Some(module) = arguments.values(&["-m"]).next() {
        module_by_name(look, &arguments, &module.shown());
        return true;
    }
    match arguments.operands.first() {
        Some(script) => script_file(look, plain, &arguments, script),
        None if look.segment.input.is_some() => from_input(look, plain),
        None if arguments.flags.is_empty() => look.ask("interactive", "it opens an interpreter"),
        None => {
            let harmless =
                arguments.has(&["--version", "-V", "-v", "--help", "-h", "--check", "--test", "--run", "-l"])
                    || look.rest().iter().any(|word| word.beginning().starts_with("--test"));
            if !harmless {
                look.ask("interpreter", "what the interpreter is to do is not known");
            }
        }
    }
    true
}

/// An operand that `<>` opens: Perl starts one with a bar as a command, and writes to one behind `>`.
fn opened_operand(look: &mut Look<'_>, word: &Word) {
    let shown = word.shown();
    let text = shown.trim();
    if text.starts_with(['|', '>', '<', '+']) || text.ends_with('|') {
        look.nested(text.trim_matches('|'));
        look.ask("code.run", "the name of a file is a command or a file that is written");
    }
}

/// `python -m MODULE …`.
fn module_by_name(look: &mut Look<'_>, arguments: &Arguments, module: &str) {
    let behind = look.rest().iter().position(|word| word.shown().ends_with(module)).map_or(0, |at| at + 1);
    let words = look.rest().get(behind..).unwrap_or_default().to_vec();
    options::module(look, module, &words, source);
    tested(look, module);
    match module {
        _ if words::PYTHON_MODULES.matches(module) => {}
        "pip" | "ensurepip" | "pipx" | "easy_install" => {
            let first = arguments.operands.first().and_then(Word::text);
            if !first.is_some_and(|verb| words::PIP_LOOKS.matches(&verb)) {
                look.ask("package", "it changes installed packages");
            }
        }
        module => look.ask("module", format!("what the module `{module}` does is not known")),
    }
}

/// A script that the interpreter runs, by its name, its place and its first words.
fn script_file(look: &mut Look<'_>, language: &str, arguments: &Arguments, script: &Word) {
    let place = look.place(script);
    let name = script.shown();
    let base = crate::shell::base_name(&name);
    let goal = arguments.operands.get(1).map(Word::shown).unwrap_or_default();
    if is_reaching(base)
        || base == "setup.py" && matches!(goal.as_str(), "install" | "upload" | "register" | "develop")
    {
        look.ask("script", format!("by its name, `{name} {goal}` reaches beyond the project"));
    }
    if is_attack(base) {
        look.deny("attack", format!("`{name}` is made to attack or to take credentials"));
    }
    if words::FRAMEWORK_SCRIPTS.matches(base) {
        let all: Vec<String> = look.rest().iter().skip(1).map(Word::shown).collect();
        framework(look, &all, &goal);
    }
    if !matches!(place, Place::Inside | Place::Regenerable | Place::Workspace | Place::Sink) {
        look.act_at(Act::Run, place, &name);
    }
    if look.segment.input.as_ref().is_some_and(|stream| stream.taint.has(Taint::NETWORK)) && script.is("-") {
        look.deny("code.network", "it runs what came from the network");
    }
    if script.is("-") || script.is("/dev/stdin") {
        from_input(look, language);
    } else if name.starts_with("/dev/fd/") || name.starts_with("/proc/") {
        look.ask("code.unknown", "it runs a program that cannot be seen");
    }
    let addressed = |word: &Word| word.beginning().contains("://") || is_address(&word.beginning());
    if arguments.operands.iter().skip(1).any(addressed) {
        look.ask("script.network", "the script is given an address of another machine");
    }
}

/// A server that shows files to other machines.
fn served(look: &mut Look<'_>, language: &str, arguments: &Arguments) {
    let php = language == "php" && arguments.has(&["-S"]);
    let module = arguments.values(&["-m", "-run"]).any(|value| {
        matches!(
            value.text().as_deref(),
            Some("http.server" | "SimpleHTTPServer" | "pyftpdlib" | "uploadserver")
        )
    });
    let ruby = language == "ruby" && look.rest().iter().any(|word| word.is("-run"));
    if !(php || module || ruby) {
        return;
    }
    let whole = look.rest().iter().any(|word| {
        matches!(look.place(word), Place::Root | Place::Home | Place::Secret | Place::Vital)
            && word.beginning().starts_with(['/', '~', '.'])
    });
    let local = look
        .rest()
        .iter()
        .any(|word| word.beginning().starts_with("127.0.0.1") || word.beginning().starts_with("localhost"));
    if whole {
        look.deny("send.serve", "it shows whole directories to other machines");
    } else if !local {
        look.ask("send.serve", "it shows files to other machines");
    }
}

fn is_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

fn runtime(look: &mut Look<'_>, base: &str) -> bool {
    let words: Vec<String> = look.rest().iter().map(Word::shown).collect();
    match words.first().map(String::as_str) {
        Some(verb) if words::RUNTIME_VERBS.matches(verb) => {
            let plain = words.iter().any(|word| word.contains("http://") && !word.contains("localhost"));
            if plain {
                return {
                    look.deny("code.network", "it runs code over a connection without encryption");
                    true
                };
            }
            // A script, or what an option loads: `--import-map=FILE`.
            let named = look.rest().iter().skip(1).map(|word| match word.beginning().find('=') {
                Some(at) if word.beginning().starts_with('-') => tail(word, at + 1),
                _ => word.clone(),
            });
            let outside = named.into_iter().find(|word| {
                word.shown().contains('/')
                    && !word.beginning().starts_with('-')
                    && !matches!(look.place(word), Place::Inside | Place::Regenerable | Place::Workspace)
            });
            if let Some(script) = outside {
                look.act(Act::Run, &script);
            }
            task_line(look, verb);
            // Without a script of that name the program itself is run.
            let shows = |word: &&String| matches!(word.as_str(), "env" | "printenv");
            if verb == "run"
                && words.iter().skip(1).find(|word| !word.starts_with('-')).is_some_and(|word| shows(&word))
            {
                look.ask("environment.show", "it shows the environment, which may hold keys");
            }
            // `npm:evil` and `jsr:@evil/x` are fetched as an address is.
            let fetched = |word: &String| word.starts_with("npm:") || word.starts_with("jsr:");
            let remote = words.iter().any(|word| word.contains("://"))
                || verb != "task" && words.iter().skip(1).any(fetched);
            let permitted = words.iter().any(|word| {
                word == "-A" || word.starts_with("--allow-all") || word.starts_with("--allow-run")
            });
            if remote || permitted && base == "deno" {
                look.ask("run.remote", "it runs code with rights of its own");
            }
        }
        Some(script)
            if script.ends_with(".ts")
                || script.ends_with(".js")
                || script.ends_with(".tsx")
                || script.ends_with(".mjs") =>
        {
            let script = Word::known(script);
            if !matches!(look.place(&script), Place::Inside | Place::Regenerable | Place::Workspace) {
                look.act(Act::Run, &script);
            }
        }
        Some("--version" | "-v" | "--help") => {}
        Some("pm")
            if words.get(1).is_some_and(
                |word| matches!(word.as_str(), "ls" | "bin" | "hash" | "cache" if words.len() < 3),
            ) => {}
        _ => look.ask("verb", format!("what `{base}` would do is not known to be harmless")),
    }
    true
}

/// `deno task --eval LINE`.
fn task_line(look: &mut Look<'_>, verb: &str) {
    if verb != "task" {
        return;
    }
    let arguments = Arguments::new(look.rest(), &["--eval"]);
    for line in arguments.values(&["--eval"]) {
        match line.text() {
            Some(line) => look.nested_command(&line),
            None => look.ask("code.unknown", "the line that it runs cannot be known"),
        }
    }
}

/// Judges the program that an interpreter reads from standard input.
pub(super) fn from_input(look: &mut Look<'_>, language: &str) {
    let Some(stream) = look.segment.input.clone() else { return };
    match stream.text {
        Some(text) => source(look, &Word::known(text), language),
        None if stream.taint.has(Taint::NETWORK) => {
            look.deny("code.network", "it runs what came from the network");
        }
        None if stream.taint.has(Taint::DECODED) => {
            look.deny("code.hidden", "it runs what was encoded to hide it");
        }
        None => look.ask("code.unknown", "it runs a program that cannot be seen"),
    }
}

/// What starts a program in a text of some language.
static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(system|popen|popen2|popen3|exec[lv]?[pe]*|exec|execfile|execute|spawn\w*|posix_spawn|shell_exec|passthru|proc_open|pcntl_exec|subprocess|child_process|execsync|spawnsync|execfilesync|kernel\.|open3|pty|ioutil|os/exec|runtime|processbuilder|eval|__import__|compile|getattr|importlib|ctypes|cdll|dlopen|loadlibrary|run|call|check_output|check_call|fork|syscall|shell|qx|start-process|invoke-expression|iex|invoke-command|run-shell-command|dup2)\b\s*[\(\s'\x22`\.\{\[/|!:]|%x[\{\(\[]|\|\s*sh\b",
    )
    .ok()
});

/// What reaches other machines.
static SENDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(socket|createserver|require\(.net.\)|\.listen\(|invoke-webrequest|webclient|invoke-restmethod|\biwr\b|\birm\b|urllib|urlopen|requests\.|httpx|http\.client|http\.get|https\.get|fetch\(|net\.|Net::|IO::Socket|LWP|open-uri|URI\.open|TCPSocket|curl_|fsockopen|file_get_contents\(.?http|ftplib|smtplib|paramiko|https?://|WebSocket|xmlhttp|/inet/)").ok()
});

/// What writes or deletes files.
static CHANGES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?i)(rmtree|unlink|os\.remove|rmdir|shutil|writefile|appendfile|createwritestream|fs\.rm|rmsync|unlinksync|file_put_contents|fopen\([^)]*['"][wa]|open\([^)]*['"][wax]b?\+?['"]|write_text|write_bytes|File\.write|FileUtils|IO\.write|chmod|chown|rename|truncate|symlink|setuid|setgid|os\.setuid|makedirs|mkdir|filewriter|out-file|set-content|add-content|remove-item|new-item|fputs|fwrite|\.write\(|writealltext|printwriter|move-item|copy-item|\bwrite\()"#).ok()
});

/// Quoted texts of a program.
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`|(?:\bq[qxw]?|%[xqQw])\s*(?:\{([^}]*)\}|\(([^)]*)\)|\[([^\]]*)\]|<([^>]*)>|\|([^|]*)\||/([^/]*)/|!([^!]*)!)"#).ok()
});

/// Judges a program given as text.
fn source(look: &mut Look<'_>, text: &Word, language: &str) {
    let whole = text.text().is_some();
    let shown = text.shown();
    if text.taint().has(Taint::NETWORK) {
        return look.deny("code.network", "it runs what came from the network");
    }
    if text.taint().has(Taint::DECODED) && text.text().is_none() {
        return look.deny("code.hidden", "it runs what was encoded to hide it");
    }
    let (runs, sends, changes) =
        (may_match(&RUNS, &shown), may_match(&SENDS, &shown), may_match(&CHANGES, &shown));
    let backquotes = matches!(language, "perl" | "ruby" | "php") && shown.contains('`');
    let strings = strings(&shown);
    let lower = shown.to_ascii_lowercase();
    let decodes = words::DECODERS.matches(&lower);
    if sends && (runs || shown.contains("/bin/sh") || shown.contains("dup2") || shown.contains("/bin/bash")) {
        return look.deny("code.remote", "the program joins another machine with a shell or with code");
    }
    for string in &strings {
        let word = Word::known(string.clone());
        let path = string.starts_with(['/', '~', '.'])
            || crate::secrets::is_project_secret(crate::shell::base_name(string));
        if path && !string.contains(' ') {
            let expanded = string
                .strip_prefix('~')
                .map_or(string.clone(), |rest| format!("{}{rest}", look.grounds.home));
            let word = Word::known(expanded);
            match look.place(&word) {
                Place::Secret | Place::ProjectSecret => look.act(Act::Read, &word),
                Place::StartUp | Place::Vital | Place::Device | Place::Log if changes => {
                    look.act(Act::Change, &word);
                }
                Place::Root
                | Place::Home
                | Place::System
                | Place::Repository
                | Place::Record
                | Place::State
                    if changes =>
                {
                    look.act(Act::DeleteTree, &word);
                }
                Place::Outside | Place::InHome if changes || shown.contains("connect(") => {
                    look.act(Act::Write, &word);
                }
                _ => {}
            }
        }
        if (runs || backquotes) && string.contains(|char: char| char.is_ascii_alphabetic() || char == '|') {
            look.nested(word.text().as_deref().unwrap_or_default());
        }
    }
    // Letters by number: `chr(114)`, `[114, 109]`, `\x72`, `pack('H*', …)`.
    for decoded in decoded(&shown) {
        look.nested(&decoded);
    }
    if runs && decodes {
        look.deny("code.hidden", "the program runs what was encoded to hide it");
    }
    if runs || backquotes {
        look.ask("code.run", "the program starts other programs");
    }
    if sends {
        look.ask("code.network", "the program talks to other machines");
    }
    if changes {
        look.ask("code.files", "the program changes files");
    }
    if look.carries(Taint::SECRET) && sends {
        look.deny("send.secret", "the program sends secrets to another machine");
    }
    let harmless = inline::read(language, &shown).filter(|_| !languages::is_doubted(language, &shown));
    match harmless {
        Some(harmless) => read_files(look, &harmless),
        None => look.ask("code.doubt", "the program may do more than compute and print"),
    }
    if !whole {
        look.ask("code.unknown", "the program's text cannot be known");
    }
    if shown.len() > inline::MAX_CODE_BYTES {
        look.ask("code.long", "the program's text is long");
    }
}

/// Judges the files that harmless code reads.
fn read_files(look: &mut Look<'_>, harmless: &inline::Harmless) {
    for path in &harmless.reads {
        let word = Word::known(path.clone());
        if path.contains("://") {
            look.ask("code.doubt", "the program opens an address");
        } else if path.contains(['*', '?', '[']) {
            if !is_plain_pattern(look, path) {
                look.ask("code.doubt", "the files that the program reads are not known");
            }
        } else {
            look.act(Act::Read, &word);
        }
    }
    if harmless.reads_arguments {
        let operands: Vec<Word> =
            look.rest().iter().filter(|word| !word.beginning().starts_with('-')).skip(1).cloned().collect();
        operands.iter().for_each(|word| look.act(Act::Read, word));
    }
}

/// Whether a pattern finds files of one kind in the project, and none that hold credentials.
fn is_plain_pattern(look: &Look<'_>, pattern: &str) -> bool {
    let hidden = |part: &str| part.starts_with(['.', '[', '?']) && part != "." || part == "..";
    let start = pattern.split(['*', '?', '[']).next().unwrap_or_default();
    let directory = start.rsplit_once('/').map_or(".", |(directory, _)| directory);
    let name = crate::shell::base_name(pattern);
    let ending = name.rsplit_once('*').map_or(name, |(_, ending)| ending);
    let kind = ending.strip_prefix('.').is_some_and(|kind| kind.len() > 1 || kind == "c" || kind == "h");
    let place = look.place(&Word::known(directory));
    kind && !ending.contains(['?', '['])
        && !pattern.split('/').any(hidden)
        && !crate::secrets::is_project_secret(&format!("a{ending}"))
        && !crate::secrets::is_project_secret(ending)
        && matches!(place, Place::Inside | Place::Regenerable | Place::Workspace)
}

/// The quoted texts of a program, a list of them also joined as a command.
fn strings(text: &str) -> Vec<String> {
    let Some(expression) = QUOTED.as_ref() else { return Vec::new() };
    let mut found: Vec<String> = expression
        .captures_iter(text)
        .take(64)
        .filter_map(|captures| {
            captures
                .iter()
                .skip(1)
                .flatten()
                .next()
                .map(|text| text.as_str().replace("\\'", "'").replace("\\\"", "\"").replace("\\n", "\n"))
        })
        .collect();
    if found.len() > 1 && found.len() < 16 {
        let quoted = shlex::try_join(found.iter().map(String::as_str)).unwrap_or_default();
        let joined = found.concat();
        found.push(quoted);
        found.push(joined);
    }
    found
}

/// Texts that are written as numbers.
fn decoded(text: &str) -> Vec<String> {
    static NUMBERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?:\b\d{2,3}\b[\s,+.)]*(?:chr\(|String\.fromCharCode\(|\.)?\s*){3,}").ok()
    });
    static HEX: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)['\x22]([0-9a-f]{8,})['\x22]").ok());
    static BASE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"['\x22]([A-Za-z0-9+/]{8,}={0,2})['\x22]").ok());
    static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\d{2,3}").ok());
    let mut all = Vec::new();
    if let (Some(numbers), Some(digits)) = (NUMBERS.as_ref(), DIGITS.as_ref()) {
        for run in numbers.find_iter(text).take(8) {
            let letters: String = digits
                .find_iter(run.as_str())
                .filter_map(|number| number.as_str().parse::<u8>().ok())
                .filter(|byte| byte.is_ascii_graphic() || *byte == b' ')
                .map(char::from)
                .collect();
            all.push(letters);
        }
    }
    if let Some(hex) = HEX.as_ref() {
        for captures in hex.captures_iter(text).take(8) {
            if let Some(bytes) = captures.get(1).and_then(|text| hex::decode(text.as_str()).ok()) {
                all.push(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    if let Some(base) = BASE.as_ref()
        && text.contains("64")
    {
        for captures in base.captures_iter(text).take(8) {
            all.extend(captures.get(1).and_then(|text| crate::shell::base64(text.as_str())));
        }
    }
    if text.contains("\\x") {
        all.push(crate::shell::unescaped(text));
    }
    all.retain(|text| text.len() > 2 && text.chars().all(|char| !char.is_control() || char == '\n'));
    all
}

/// Awk runs commands by `system`, by pipes and by `getline`, and writes by `>`.
fn awk(look: &mut Look<'_>) -> bool {
    let arguments = Arguments::new(
        look.rest(),
        &["-F", "-v", "-f", "--file", "--field-separator", "--assign", "-i", "-l"],
    );
    let from_file = arguments.values(&["-f", "--file"]).next().is_some();
    for value in arguments.values(&["-f", "--file"]) {
        look.act(Act::Read, value);
    }
    let skip = usize::from(!from_file);
    // `gawk` opens these names also among its files.
    if arguments.operands.iter().any(|word| word.beginning().starts_with("/inet")) {
        look.ask("send", "a name below `/inet` is a connection to another machine");
    }
    if let Some(program) = arguments.operands.first().filter(|_| !from_file) {
        let text = program.shown();
        let runs = words::AWK_RUNS.matches(&text);
        if text.contains("/inet/") {
            return {
                look.deny("reverse-shell", "the program opens a connection to another machine");
                true
            };
        }
        for string in strings(&text) {
            if runs {
                look.nested(&string);
            }
            let word = Word::known(string.clone());
            if string.starts_with('/') && !string.contains(' ') && text.contains('>') {
                look.act(Act::Write, &word);
            } else if string.starts_with('/') && text.contains("getline") {
                look.act(Act::Read, &word);
            }
        }
        if runs && look.privileged() {
            look.deny("root.shell", "the program starts other programs with root's rights");
        }
        if runs {
            look.ask("code.run", "the program starts other programs");
        }
        if program.text().is_none() {
            look.ask("code.unknown", "the program's text cannot be known");
        }
    }
    let operands: Vec<Word> =
        arguments.operands.iter().skip(skip).filter(|word| !word.shown().contains('=')).cloned().collect();
    for word in &operands {
        look.act(Act::Read, word);
    }
    true
}
