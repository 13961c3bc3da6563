//! Programs whose flags or words decide whether they can fail, and what is told of a command by its program.

use super::looks::{Given, constant, is_always_there};
use super::{Code, Mask, Proof, names, words};
use crate::shell::base_name;
use brush_parser::ast::{
    Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, IoRedirect, Pipeline,
    SimpleCommand,
};

/// What `test` and its like look at: an exit code, or anything else.
pub(super) const EXIT_CODE: &str = "an exit code";
pub(super) const TEST: &str = "test";

/// Flags with which a program passes whatever it found, in any program that has them.
const FORGIVING: [&str; 12] = [
    "--ignore-errors",
    "--exit-zero",
    "--exit-0",
    "--fail-never",
    "--if-present",
    "--passWithNoTests",
    "--pass-with-no-tests",
    "--issues-exit-code=0",
    "--suppress-no-test-exit-code",
    "--suppress-tests-failed-exit-code",
    "--dry-run",
    "--just-print",
];

/// Flags of single programs with which they check nothing.
const OWN: [(&str, &[&str]); 14] = [
    ("make", &["--recon", "--touch"]),
    ("gmake", &["--recon", "--touch"]),
    ("pytest", &["--collect-only", "--co", "--setup-plan", "--fixtures", "--markers"]),
    ("py.test", &["--collect-only", "--co", "--setup-plan", "--fixtures", "--markers"]),
    (
        "mvn",
        &[
            "-fn",
            "-DskipTests",
            "-DskipTests=true",
            "-Dmaven.test.skip=true",
            "-Dmaven.test.failure.ignore=true",
        ],
    ),
    ("mvnw", &["-fn", "-DskipTests", "-DskipTests=true", "-Dmaven.test.skip=true"]),
    ("gradle", &["-m"]),
    ("gradlew", &["-m"]),
    ("jest", &["--listTests"]),
    ("ruff", &["-e"]),
    ("cargo", &["--list"]),
    ("go", &["-list"]),
    ("setsid", &["-f", "--fork"]),
    ("nox", &["--list", "-l"]),
];

impl Proof {
    /// The code of a program that its words say more about.
    pub(super) fn particular(&mut self, base: &str, rest: &[Given<'_>], text: &str) -> Option<Code> {
        let words: Vec<&str> = rest.iter().map(|(text, source)| text.as_deref().unwrap_or(source)).collect();
        let own = OWN.iter().find(|(name, _)| *name == base).map_or(&[][..], |(_, flags)| flags);
        let mut flags = words.iter().take_while(|word| **word != "--");
        if let Some(flag) = flags.find(|word| FORGIVING.contains(word) || own.contains(word)) {
            let why = format!("passes with `{flag}` also when what it runs fails, or runs nothing");
            return Some(Code::masked(Mask::new(text, why, format!("leave `{flag}` out"))));
        }
        match base {
            "make" | "gmake" => {
                let short = words.iter().filter(|word| word.starts_with('-') && !word.starts_with("--"));
                let letters = short
                    .flat_map(|word| word.chars().skip(1).take_while(|char| !"CfIjloWE".contains(*char)));
                let flag = letters.into_iter().find(|letter| "int".contains(*letter))?;
                let why = format!("passes with `-{flag}` also when a command in it fails, or runs none");
                Some(Code::masked(Mask::new(text, why, format!("leave `-{flag}` out"))))
            }
            "find" => Some(found(&words, text)),
            "xargs" if !self.fed => Some(Code::masked(Mask::new(
                text,
                "gets no words to work on, so what it starts checks nothing, or is not started at all",
                "write the words behind the program itself",
            ))),
            "awk" | "gawk" | "mawk" | "sed" | "gsed" => {
                let words: Vec<String> = words
                    .iter()
                    .map(|word| {
                        ["exit 0", "exit}", "exit }", "exit;"]
                            .iter()
                            .fold((*word).to_string(), |text, zero| text.replace(zero, ""))
                    })
                    .collect();
                let steers = words
                    .iter()
                    .any(|word| word.contains("exit") || base.ends_with("sed") && word.contains('q'));
                let starts = words.iter().any(|word| word.contains("system("));
                let files = words.iter().filter(|word| !word.starts_with('-')).count() > 1;
                (!steers).then(|| match (starts, files) {
                    (true, _) => Code::masked(ignored(text)),
                    (false, true) => Code::weak(),
                    (false, false) => Code::passes(),
                })
            }
            "diff" | "cmp" => {
                let files: Vec<&&str> =
                    words.iter().filter(|word| !word.starts_with('-') && !word.starts_with("<(")).collect();
                let plain = |file: &str| file.trim_start_matches("./").to_string();
                let same = matches!(files.as_slice(), [one, two] if plain(one) == plain(two));
                same.then(|| Code::masked(constant(text)))
            }
            "jq" if words.iter().any(|word| matches!(*word, "-n" | "--null-input" | "-en" | "-ne"))
                && words.iter().filter(|word| !word.starts_with('-')).count() < 2 =>
            {
                Some(Code::masked(constant(text)))
            }
            "git" => {
                let shows =
                    ["status", "log", "diff", "show", "branch", "tag", "stash", "fetch", "config", "remote"];
                let command = words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
                let asks = ["--exit-code", "--quiet", "--check", "--error-unmatch", "--verify"];
                let asks = words.iter().any(|word| asks.contains(word));
                let always = matches!(command, "status" | "log" | "diff" | "branch" | "stash" | "remote")
                    || matches!(words.as_slice(), ["rev-parse"] | ["rev-parse", "HEAD"]);
                if always && !asks {
                    return Some(Code::passes());
                }
                (command.is_empty() || shows.contains(&command) && !asks).then(Code::weak)
            }
            "script"
                if !words.iter().any(|word| {
                    matches!(*word, "-e" | "--return")
                        || word.contains('e') && word.starts_with('-') && !word.starts_with("--")
                }) =>
            {
                Some(Code::masked(ignored(text)))
            }
            "tmux" | "screen" | "at" | "batch" | "systemd-run" | "setsid" if base != "setsid" => {
                Some(Code::masked(ignored(text)))
            }
            // Whether it is installed, and no more.
            _ if matches!(words.as_slice(), ["--version" | "--help" | "-V" | "-h"]) => Some(Code::weak()),
            _ => self.written(base, rest, text),
        }
    }

    /// `python -c '…'`
    fn written(&mut self, base: &str, rest: &[Given<'_>], text: &str) -> Option<Code> {
        let flag = names::script_flag(base)?;
        let at = rest.iter().position(|(text, _)| text.as_deref() == Some(flag))?;
        let script = rest.get(at + 1)?.0.as_deref()?;
        if names::starts_unheard(script) {
            return Some(Code::masked(ignored(text)));
        }
        (!names::can_fail(script)).then(|| {
            let why = "runs a program that cannot fail";
            Code::masked(Mask::new(text, why, "let it look at the project and exit with 1"))
        })
    }

    /// A command that shows, prepares or tidies up.
    pub(super) fn weakly(&mut self, base: &str, rest: &[Given<'_>]) -> Code {
        let has = |letter: char| {
            let words = rest.iter().filter_map(|(text, _)| text.as_deref());
            words
                .filter(|word| word.starts_with('-') && !word.starts_with("--"))
                .any(|word| word.contains(letter))
        };
        let mut operands =
            rest.iter().filter(|(text, _)| text.as_deref().is_none_or(|text| !text.starts_with('-')));
        let always = match base {
            "rm" => has('f'),
            "mkdir" => has('p'),
            "touch" | "sync" | "df" | "ps" => true,
            "ls" | "tree" | "du" | "cd" | "pushd" | "stat" | "file" | "realpath" | "cat" | "head"
            | "tail" | "wc" => operands.all(|(_, source)| is_always_there(source)),
            "basename" | "dirname" => true,
            _ => false,
        };
        if always { Code::passes() } else { Code::weak() }
    }

    /// What kind of thing a pipe looks at: two of the same kind may stand for each other.
    pub(super) fn kin(&self, pipeline: &Pipeline) -> Option<String> {
        let kinds: Option<Vec<String>> = pipeline.seq.iter().map(|command| self.kin_of(command)).collect();
        kinds.map(|kinds| kinds.join("|"))
    }

    /// The same for the last of a list.
    pub(super) fn kin_in(&self, list: &CompoundList) -> Option<String> {
        let last = list.0.last()?;
        last.0.additional.is_empty().then(|| self.kin(&last.0.first)).flatten()
    }

    fn kin_of(&self, command: &Command) -> Option<String> {
        let look = |text: String| {
            let code = self.codes_in(&[text.as_str()]);
            if code.is_some() {
                EXIT_CODE.to_string()
            } else if self.is_loud(&[text.as_str()]) {
                text
            } else {
                TEST.to_string()
            }
        };
        match command {
            Command::ExtendedTest(test, _) => Some(look(test.expr.to_string())),
            Command::Compound(CompoundCommand::Arithmetic(sum), _) => Some(look(sum.expr.value.clone())),
            Command::Compound(CompoundCommand::BraceGroup(group), _) => self.kin_in(&group.list),
            Command::Compound(CompoundCommand::Subshell(group), _) => self.kin_in(&group.list),
            Command::Simple(simple) => {
                let name = self.text(&simple.word_or_name.as_ref()?.value)?;
                match base_name(&name) {
                    "test" | "[" => Some(look(simple.to_string())),
                    "pytest" | "py.test" => Some("tests of python".to_string()),
                    base if base.starts_with("python") => {
                        let tests = ["-m pytest", "-m unittest"];
                        let tests = tests.iter().any(|words| simple.to_string().contains(words));
                        Some(if tests { "tests of python".to_string() } else { simple.to_string() })
                    }
                    // The same program with other words may do something else altogether.
                    "make" | "npm" | "yarn" | "cargo" | "go" | "git" | "bash" | "sh" => {
                        Some(simple.to_string())
                    }
                    _ => Some(name),
                }
            }
            _ => None,
        }
    }

    /// Does a command only make room for what follows: `docker rm -f x`?
    pub(super) fn is_preparation(&self, pipeline: &Pipeline) -> bool {
        pipeline.seq.iter().all(|command| {
            let Command::Simple(simple) = command else { return false };
            let name = simple.word_or_name.as_ref().and_then(|name| self.text(&name.value));
            let installs = |name: &str| {
                let text = simple.to_string();
                names::installs(name)
                    && text
                        .split_whitespace()
                        .any(|word| matches!(word, "install" | "ci" | "i" | "sync" | "fetch"))
            };
            name.is_some_and(|name| names::prepares(base_name(&name)) || installs(base_name(&name)))
        })
    }

    /// The same for commands one after the other.
    pub(super) fn prepares_in(&self, list: &CompoundList) -> bool {
        list.0.iter().all(|item| words::pipelines(&item.0).all(|pipeline| self.is_preparation(pipeline)))
    }

    /// Is a command asked again and again until something else is ready?
    pub(super) fn waits_for(&self, pipeline: &Pipeline) -> bool {
        match self.kin(pipeline) {
            Some(kind) => kind.split('|').all(|kind| kind == TEST || names::waits(base_name(kind))),
            None => false,
        }
    }

    /// Does a command look at what is printed into it?
    pub(super) fn is_look(&self, command: &Command) -> bool {
        let Command::Simple(simple) = command else { return false };
        let name = simple.word_or_name.as_ref().and_then(|name| self.text(&name.value));
        name.is_some_and(|name| names::looks_at_input(base_name(&name)))
    }

    /// Does a command look for a text that is not found where nothing is said?
    pub(super) fn searches(&self, simple: &SimpleCommand) -> bool {
        let name = simple.word_or_name.as_ref().and_then(|name| self.text(&name.value));
        if !name.is_some_and(|name| matches!(base_name(&name), "grep" | "egrep" | "fgrep" | "rg")) {
            return false;
        }
        let mut words = Vec::new();
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            if let Item::Word(word) = item {
                words.push(self.text(&word.value).unwrap_or_default());
            }
        }
        let plain = |word: &String| {
            matches!(
                word.as_str(),
                "-q" | "-E"
                    | "-F"
                    | "-i"
                    | "-w"
                    | "-x"
                    | "-qF"
                    | "-qE"
                    | "-qi"
                    | "-qx"
                    | "-qw"
                    | "-Fq"
                    | "-e"
            )
        };
        let (flags, patterns): (Vec<String>, Vec<String>) =
            words.into_iter().partition(|word| word.starts_with('-'));
        let [pattern] = patterns.as_slice() else { return false };
        flags.iter().all(plain)
            && pattern.contains(|char: char| char.is_alphanumeric())
            && pattern.chars().all(|char| char.is_alphanumeric() || " _-:,/=.@!'".contains(char))
    }

    /// Does the first command of a pipe print nothing, or only what is written in it?
    pub(super) fn says_nothing(&self, command: Option<&Command>) -> bool {
        let Some(Command::Simple(simple)) = command else { return false };
        let Some(words) = self.plain_words(simple) else { return false };
        match words.split_first() {
            Some((name, rest)) => match base_name(name) {
                "true" | ":" => true,
                "echo" | "printf" => rest.iter().all(|word| word.is_empty() || word == "-n"),
                "cat" => rest.iter().all(|word| word == "/dev/null"),
                _ => false,
            },
            None => false,
        }
    }

    /// Notes a pipe that shows a text and runs nothing.
    pub(super) fn show(&mut self, pipeline: &Pipeline) {
        if self.shown.is_some() || self.captured {
            return;
        }
        let mut tells = false;
        for command in &pipeline.seq {
            let Command::Simple(simple) = command else { return };
            let Some(name) = simple.word_or_name.as_ref().and_then(|name| self.text(&name.value)) else {
                return;
            };
            if !names::shows(base_name(&name)) {
                return;
            }
            tells |= self.tells(base_name(&name), simple);
        }
        if tells {
            self.shown = Some(pipeline.to_string());
        }
    }

    fn tells(&self, base: &str, simple: &SimpleCommand) -> bool {
        let speaks = matches!(base, "echo" | "printf" | "yes" | "seq");
        let mut operands = 0;
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::Word(word) | Item::AssignmentWord(_, word) => {
                    let text = self.text(&word.value).unwrap_or_else(|| word.value.clone());
                    if speaks && (text.contains(|char: char| char.is_ascii_digit()) || text.contains("$(")) {
                        return true;
                    }
                    operands += usize::from(!text.starts_with('-'));
                }
                Item::IoRedirect(IoRedirect::HereDocument(..) | IoRedirect::HereString(..)) => return true,
                Item::IoRedirect(IoRedirect::File(_, kind, _)) => {
                    if matches!(kind, brush_parser::ast::IoFileRedirectKind::Read) {
                        return true;
                    }
                }
                Item::IoRedirect(_) => {}
                Item::ProcessSubstitution(..) => return true,
            }
        }
        !speaks && base != "tee" && operands > names::filter(base).unwrap_or(0)
    }

    /// `grep -q ok <<< ok`
    pub(super) fn looks_at_itself(&self, base: &str, rest: &[Given<'_>], document: Option<&str>) -> bool {
        let operands =
            rest.iter().filter(|(text, _)| text.as_deref().is_none_or(|text| !text.starts_with('-')));
        document.is_some() && names::filter(base).is_some_and(|most| operands.count() <= most)
    }
}

/// `find` passes whether it finds anything or not, and whatever the programs say that it starts one by one.
fn found(words: &[&str], text: &str) -> Code {
    let starts = words.iter().position(|word| matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir"));
    if let Some(at) = starts {
        let together = words.iter().skip(at).any(|word| *word == "+");
        if together {
            return Code::checks();
        }
        let why = "passes whatever the program says that it starts";
        return Code::masked(Mask::new(
            text,
            why,
            "end with `{} +` in place of `{} \\;`, or write `| xargs`",
        ));
    }
    let mut places = words.iter().take_while(|word| !word.starts_with(['-', '(', '!'])).peekable();
    if places.peek().is_none() || places.all(|place| is_always_there(place)) {
        return Code::passes();
    }
    Code::weak()
}

fn ignored(text: &str) -> Mask {
    Mask::new(text, "starts a program and does not end with its exit code", "run the program itself")
}

/// The variables that are set before a command only for it.
pub(super) fn set_before(simple: &SimpleCommand) -> Vec<String> {
    let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let names = items.filter_map(|item| match item {
        Item::AssignmentWord(assignment, _) => Some(words::assigned(assignment)),
        _ => None,
    });
    names.collect()
}
