//! Commands that run but check nothing: they describe a tool, list tests, look at the machine, or at a file that the line itself
//! has just written.
//!
//! What is listed here cannot fail for a reason that lies in the work. Such a command may stand beside a check; alone it proves
//! nothing.

use super::looks::Given;
use super::{Code, Mask, Proof, names};
use brush_parser::ast::{
    CommandPrefixOrSuffixItem as Item, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, SimpleCommand,
};

/// Tools that describe themselves with these words and do nothing else.
const DESCRIBING: [&str; 6] = ["--version", "--help", "-version", "-help", "--usage", "--info"];
const TOOLS: [&str; 74] = [
    "pytest",
    "py.test",
    "unittest",
    "tox",
    "nox",
    "coverage",
    "hypothesis",
    "nose2",
    "cargo",
    "rustc",
    "rustup",
    "cargo-nextest",
    "nextest",
    "node",
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "go",
    "gofmt",
    "make",
    "gmake",
    "cmake",
    "ctest",
    "ninja",
    "meson",
    "bazel",
    "just",
    "task",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "c8",
    "nyc",
    "karma",
    "cypress",
    "playwright",
    "mvn",
    "mvnw",
    "gradle",
    "gradlew",
    "sbt",
    "ant",
    "rspec",
    "rake",
    "bundle",
    "phpunit",
    "php",
    "composer",
    "git",
    "hg",
    "svn",
    "shellcheck",
    "tsc",
    "eslint",
    "prettier",
    "ruff",
    "mypy",
    "pyright",
    "black",
    "flake8",
    "pylint",
    "curl",
    "wget",
    "docker",
    "podman",
    "terraform",
    "kubectl",
    "bats",
    "gcc",
];

/// Words with which a tool lists, builds or describes and runs no check: program, first word (`*` for any), the words.
const LISTING: [(&str, &str, &[&str]); 45] = [
    (
        "pytest",
        "*",
        &[
            "--collect-only",
            "--co",
            "--setup-plan",
            "--setup-only",
            "--fixtures",
            "--fixtures-per-test",
            "--markers",
            "--cache-show",
            "-V",
            "-h",
            "--cache-clear",
        ],
    ),
    (
        "py.test",
        "*",
        &[
            "--collect-only",
            "--co",
            "--setup-plan",
            "--setup-only",
            "--fixtures",
            "--markers",
            "--cache-show",
            "-V",
            "-h",
        ],
    ),
    ("unittest", "*", &["-h"]),
    ("cargo", "*", &["--no-run", "--list", "-V", "-h"]),
    ("cargo", "nextest", &["list", "show-config", "archive"]),
    ("cargo", "version", &[""]),
    ("cargo", "help", &[""]),
    ("rustc", "*", &["-V", "-h"]),
    ("node", "*", &["-v", "-h"]),
    ("npm", "*", &["-v", "-h", "--passWithNoTests", "--ignore-scripts"]),
    ("npm", "help", &[""]),
    ("npm", "version", &[""]),
    ("npm", "pkg", &[""]),
    ("npm", "config", &[""]),
    ("yarn", "*", &["-v", "-h", "--passWithNoTests"]),
    ("pnpm", "*", &["-v", "-h", "--passWithNoTests"]),
    ("bun", "*", &["-v", "-h"]),
    ("go", "version", &[""]),
    ("go", "help", &[""]),
    ("go", "env", &[""]),
    ("go", "list", &[""]),
    ("go", "*", &["-list", "-c", "-exec", "-n", "-h", "-toolexec"]),
    ("make", "*", &["-v", "-h", "-p", "--print-data-base", "--question", "-q"]),
    ("ctest", "*", &["-N", "--show-only", "--print-labels", "-h"]),
    ("cmake", "*", &["-h"]),
    ("tox", "*", &["--showconfig", "-l", "--listenvs", "-a", "-h", "--notest", "-n"]),
    ("tox", "list", &[""]),
    ("tox", "config", &[""]),
    ("nox", "*", &["--list", "-l", "-h"]),
    ("jest", "*", &["--listTests", "--showConfig", "-v", "-h", "--clearCache", "--init"]),
    ("vitest", "list", &[""]),
    ("vitest", "*", &["-v", "-h", "--clearCache"]),
    ("mocha", "*", &["--dry-run", "--list-files", "--list-reporters", "-V", "-h"]),
    ("ava", "*", &["-h"]),
    ("rspec", "*", &["--dry-run", "-v", "-h", "--init"]),
    ("phpunit", "*", &["--list-tests", "--list-suites", "--list-groups", "-h"]),
    ("gradle", "*", &["-m", "-v", "-h", "tasks"]),
    ("gradlew", "*", &["-m", "-v", "-h", "tasks"]),
    ("mvn", "*", &["-v", "-h"]),
    ("git", "version", &[""]),
    ("git", "help", &[""]),
    ("tsc", "*", &["--showConfig", "-v", "-h", "--init", "--all", "--listFilesOnly"]),
    ("eslint", "*", &["--print-config", "-v", "-h", "--env-info", "--init"]),
    ("curl", "*", &["-V", "-h"]),
    ("docker", "version", &[""]),
];

/// Programs that speak of the machine, not of the work.
const AMBIENT: [&str; 22] = [
    "date", "id", "whoami", "hostname", "uname", "pwd", "printenv", "env", "tty", "nproc", "arch", "uptime",
    "free", "logname", "groups", "locale", "getconf", "who", "users", "kill", "sleep", "true",
];

/// Directories of the system, in which no work lies.
const SYSTEM: [&str; 10] =
    ["/etc/", "/usr/", "/bin/", "/sbin/", "/lib/", "/proc/", "/sys/", "/dev/", "/var/", "/boot/"];

/// Commands that look at files they are given.
const LOOKS: [&str; 24] = [
    "test",
    "[",
    "[[",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "cat",
    "head",
    "tail",
    "wc",
    "cmp",
    "diff",
    "ls",
    "stat",
    "file",
    "jq",
    "find",
    "sha256sum",
    "md5sum",
    "sort",
    "od",
    "readlink",
    "realpath",
];

/// Commands that write a file and say nothing of the work.
const WRITERS: [&str; 14] = [
    "touch", "mkdir", "cp", "mv", "ln", "install", "truncate", "dd", "tar", "tee", "sort", "npm", "git",
    "mktemp",
];

/// Marks a file that was copied in [`Proof::made`].
const COPIED: &str = "copied from ";

impl Proof {
    /// The code of a command that checks nothing; none for any other.
    pub(super) fn idle(&mut self, base: &str, rest: &[Given<'_>], text: &str) -> Option<Code> {
        let words: Vec<&str> = rest.iter().map(|(text, source)| text.as_deref().unwrap_or(source)).collect();
        let (base, words) = module(base, &words);
        if let Some(word) = idle_word(base, words) {
            let why = format!("checks nothing: with `{word}` it describes, lists or prepares");
            return Some(aside(Mask::new(text, why, "write the command that runs the check")));
        }
        let operands: Vec<&&str> = words.iter().filter(|word| !word.starts_with('-')).collect();
        let files = operands.get(usize::from(matches!(base, "grep" | "egrep" | "fgrep" | "rg" | "jq"))..);
        let files = files.unwrap_or_default();
        let is_system = |word: &&&str| SYSTEM.iter().any(|place| word.starts_with(place));
        if LOOKS.contains(&base)
            && base != "test"
            && base != "["
            && !files.is_empty()
            && files.iter().all(is_system)
        {
            let why = "looks only at files of the system";
            return Some(aside(Mask::new(text, why, "look at a file of the project")));
        }
        let pattern = operands.first().filter(|_| matches!(base, "grep" | "egrep" | "rg"));
        if pattern.is_some_and(|word| {
            matches!(word.trim_matches(['\'', '"']), "" | "^" | "$" | ".*" | "^.*$" | "^.*")
        }) {
            let why = "finds every line";
            return Some(aside(Mask::new(text, why, "write the text that must be there")));
        }
        let is_local_file = base == "curl" && operands.iter().any(|word| word.starts_with("file:"));
        let is_constant = matches!(base, "bc" | "dc" | "factor") && files.is_empty() && text.contains("<<<");
        if is_local_file
            || is_constant
            || matches!(base, "printenv" | "kill" | "getconf" | "nproc" | "arch" | "locale")
        {
            return Some(Code::passes());
        }
        if matches!(base, "test" | "[") {
            return self.idle_test(words, text);
        }
        None
    }

    /// A test that holds in every project.
    fn idle_test(&mut self, words: &[&str], text: &str) -> Option<Code> {
        let words: Vec<&str> = words.iter().copied().filter(|word| *word != "]").collect();
        let is_negative =
            |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()));
        let holds = match words.as_slice() {
            [_, "-ge", "0"] | ["0", "-le", _] => true,
            [_, "-gt" | "-ne", number] => is_negative(number),
            _ => false,
        };
        if holds {
            let why = "holds for every count";
            return Some(Code::masked(Mask::new(text, why, "compare with the number that is right")));
        }
        let inner: Vec<String> = words.iter().flat_map(|word| Proof::substitutions(word)).collect();
        let first = |script: &String| script.split_whitespace().next().unwrap_or_default().to_string();
        if !inner.is_empty()
            && inner
                .iter()
                .all(|script| AMBIENT.contains(&first(script).as_str()) && !script.contains(['|', ';', '&']))
        {
            let why = "looks only at the machine";
            return Some(aside(Mask::new(text, why, "look at what the work has made")));
        }
        let is_about_output = matches!(words.as_slice(), ["-n", _] | [_]);
        let runner = inner.iter().find(|script| TOOLS.contains(&first(script).as_str()) && !asks(script));
        if let Some(script) = runner.filter(|_| is_about_output) {
            let why = format!("holds whenever `{}` prints something, also when it fails", script.trim());
            return Some(Code::masked(Mask::new(text, why, "run it as a command of its own")));
        }
        None
    }

    /// Refuses a look at a file that the line has just written itself; notes what is written.
    pub(super) fn evidence(&mut self, simple: &SimpleCommand, text: &str) {
        let Some(name) = simple.word_or_name.as_ref().and_then(|name| self.text(&name.value)) else {
            // `> file`
            let targets = written_to(simple);
            self.made.extend(targets);
            return;
        };
        let base = crate::shell::base_name(&name).to_string();
        let mut operands = Vec::new();
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            if let Item::Word(word) | Item::AssignmentWord(_, word) = item {
                operands.push(self.text(&word.value).unwrap_or_else(|| word.value.clone()));
            }
        }
        if LOOKS.contains(&base.as_str()) && base != "sort" {
            let files: Vec<String> =
                operands.iter().filter(|word| !word.starts_with('-')).map(|word| plain(word)).collect();
            let is_own =
                |file: &String| self.made.contains(file) || self.made.contains(&format!("{COPIED}{file}"));
            // A text that is compared with a file of the work is a check.
            let compares = matches!(base.as_str(), "diff" | "cmp") && !files.iter().all(is_own);
            let looked_at = files.into_iter().find(|file| !compares && self.made.contains(file));
            if let Some(path) = looked_at {
                let why = format!("looks at `{path}`, which the line itself has just written");
                self.refuse(Mask::new(text, why, "look at what a program of the project wrote"));
            }
            return;
        }
        let is_trivial = names::is_sure(&base)
            || WRITERS.contains(&base.as_str())
            || names::is_weak(&base)
            || base == "exit";
        if !is_trivial {
            // What a program did to them is its work.
            self.made.clear();
            return;
        }
        self.made.extend(written_to(simple));
        let files: Vec<String> =
            operands.iter().filter(|word| !word.starts_with('-')).map(|word| plain(word)).collect();
        match (base.as_str(), operands.first().map(String::as_str)) {
            ("touch" | "mkdir" | "tee", _) => self.made.extend(files),
            ("cp" | "mv" | "ln" | "install" | "truncate", _) => {
                self.made.extend(files.first().map(|file| format!("{COPIED}{file}")));
                self.made.extend(files.last().cloned());
            }
            ("sort", _) => {
                let at = operands.iter().position(|word| word == "-o");
                self.made.extend(at.and_then(|at| operands.get(at + 1)).map(|word| plain(word)));
            }
            ("dd", _) => {
                let target = operands.iter().find_map(|word| word.strip_prefix("of="));
                self.made.extend(target.map(plain));
            }
            ("tar", Some(flags)) if flags.contains('c') => {
                self.made.extend(files.get(usize::from(!flags.starts_with('-'))).cloned());
            }
            ("npm", Some("init")) => self.made.extend(["package.json".to_string()]),
            ("npm" | "git", Some(word)) if word != "init" && word != "add" => self.made.clear(),
            _ => {}
        }
    }
}

/// The program behind `python3 -m`.
fn module<'a, 'b>(base: &'a str, words: &'b [&'a str]) -> (&'a str, &'b [&'a str]) {
    if !base.starts_with("python") {
        return (base, words);
    }
    match words {
        ["-m", module, rest @ ..] => (module, rest),
        [word] if matches!(*word, "--version" | "-V" | "-VV" | "--help" | "-h") => ("cargo", words),
        _ => (base, words),
    }
}

/// The word by which a tool checks nothing.
fn idle_word<'a>(base: &str, words: &[&'a str]) -> Option<&'a str> {
    // Interpreters give words behind a script to the script.
    let own: Vec<&'a str> = match base {
        "node" | "php" | "deno" | "bun" => {
            words.iter().copied().take_while(|word| word.starts_with('-')).collect()
        }
        _ => words.to_vec(),
    };
    if TOOLS.contains(&base)
        && let Some(word) = own.iter().find(|word| DESCRIBING.contains(word))
    {
        return Some(word);
    }
    if matches!((base, words), ("npm" | "yarn" | "pnpm", ["run"] | [])) {
        return Some("run");
    }
    let first = own.first().copied().unwrap_or_default();
    for (_, subcommand, listing) in LISTING.iter().filter(|(program, ..)| *program == base) {
        if listing.contains(&"") {
            if first == *subcommand {
                return Some(first);
            }
        } else if (*subcommand == "*" || first == *subcommand)
            && let Some(word) =
                own.iter().find(|word| listing.contains(&word.split('=').next().unwrap_or_default()))
        {
            return Some(word);
        }
    }
    // `go test -run '^$'` selects no test.
    let at = own.iter().position(|word| matches!(*word, "-run" | "--run"))?;
    let pattern = own.get(at + 1)?.trim_matches(['\'', '"']);
    (base == "go" && matches!(pattern, "^$" | "NONE" | "XXX" | "^$$" | "$^")).then_some("-run")
}

/// Whether git is asked for something that may be nothing.
fn asks(script: &str) -> bool {
    let mut words = script.split_whitespace();
    matches!(
        (words.next(), words.next()),
        (Some("git" | "gofmt" | "docker" | "curl" | "kubectl" | "php" | "node" | "npm"), _)
    )
}

/// A code that cannot be another than 0, which is no fault beside a check.
fn aside(mask: Mask) -> Code {
    Code::masked(Mask { strong: false, ..mask })
}

/// Files that redirections of a command write.
fn written_to(simple: &SimpleCommand) -> Vec<String> {
    let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let items = prefix.chain(simple.suffix.iter().flat_map(|suffix| &suffix.0));
    let target = |item: &Item| match item {
        Item::IoRedirect(IoRedirect::File(
            _,
            IoFileRedirectKind::Write | IoFileRedirectKind::Append | IoFileRedirectKind::Clobber,
            IoFileRedirectTarget::Filename(word),
        )) => Some(plain(&word.value)),
        Item::IoRedirect(IoRedirect::OutputAndError(word, _)) => Some(plain(&word.value)),
        _ => None,
    };
    items.filter_map(target).filter(|path| !path.starts_with("/dev/")).collect()
}

/// A path without quotes and without `./`.
fn plain(path: &str) -> String {
    let path = path.trim_matches(['"', '\'']).trim_end_matches('/');
    path.trim_start_matches("./").to_string()
}
