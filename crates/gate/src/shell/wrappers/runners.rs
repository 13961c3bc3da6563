//! Programs that have effects of their own and also start a command: `uv run X`, `ccache X`, `lerna exec -- X`.
//!
//! A wrapper only starts its command. A runner is judged by its own words too, so it has a row in the tables of programs; here
//! stands only where the command begins among its words.
//!
//! Limit: a flag that takes a value and is not listed leaves the value in front of the command, which is then judged as a program
//! that is not known.

use crate::shell::value::Word;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Where the command of a runner begins, behind its subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Behind its flags and so many operands.
    Operands(usize),
    /// Behind its flags, where a program of that name is known: other names are scripts of the project.
    Program,
    /// Behind the first `--`.
    Dashes,
    /// Behind the first `--`, or behind its flags where there is none.
    DashesOrFlags,
    /// Behind one of these options.
    Option(&'static str),
    /// Every operand is a line for a shell.
    Lines,
}

/// Subcommands of programs behind which a command stands.
struct Runner {
    names: &'static str,
    /// Phrases, separated by commas. Without one the command follows the program's own flags.
    subcommands: &'static str,
    /// Flags that take the next word.
    values: &'static str,
    /// Operands in the command's place that are subcommands without a command.
    own: &'static str,
    start: Start,
}

const fn runner(
    names: &'static str,
    subcommands: &'static str,
    values: &'static str,
    start: Start,
) -> Runner {
    Runner { names, subcommands, values, own: "", start }
}

const PYTHON_VALUES: &str =
    "--python -p --extra --group --package --env-file --directory --project --with-requirements -C";

const RUNNERS: &[Runner] = &[
    runner("uv", "run", PYTHON_VALUES, Start::Operands(0)),
    runner("poetry pipenv pdm rye", "run", "-C -P --directory --project -p", Start::Operands(0)),
    runner("hatch", "run, env run", "-e --env -p --project", Start::Operands(0)),
    runner("conda mamba micromamba", "run", "-n --name -p --prefix --cwd", Start::Operands(0)),
    runner("pixi", "run, exec, x", "-e --environment --manifest-path -s --spec", Start::Operands(0)),
    runner("bundle bundler asdf rbenv pyenv nodenv volta", "exec, run, x", "", Start::Operands(0)),
    runner("mise", "exec, x", "-C --cd -j --jobs", Start::DashesOrFlags),
    runner("mise", "run", "-C --cd -j --jobs", Start::Operands(0)),
    runner("direnv", "exec", "", Start::Operands(1)),
    runner("rustup elan", "run", "", Start::Operands(1)),
    runner(
        "pnpm npm yarn",
        "exec, dlx, x",
        "-C --dir --filter -F --workspace --cwd --prefix",
        Start::Operands(0),
    ),
    // Other names than those of scripts are looked up on the search path.
    Runner {
        own: "build check clean dev format install lint start test time watch",
        ..runner("bun", "run", "--cwd --env-file --config --filter -F", Start::Program)
    },
    runner("nix", "develop, shell", "", Start::Option("-c --command")),
    runner("stack", "exec", "--package --stack-yaml --resolver --cwd", Start::Operands(0)),
    runner("cabal", "exec", "--project-file --project-dir -w", Start::Operands(0)),
    runner("opam", "exec", "--switch --root", Start::Operands(0)),
    runner("dune", "exec", "--root --profile --context -j", Start::Operands(0)),
    runner("lake", "env, exe, exec", "-d --dir -f --file", Start::Operands(0)),
    runner("mix", "cmd, do cmd", "--app --cd", Start::Operands(0)),
    runner("tox", "exec, e", "-e", Start::Dashes),
    runner("lerna nx", "exec", "--scope --ignore --concurrency --project", Start::DashesOrFlags),
    runner("infer", "run, capture, compile", "", Start::Dashes),
    runner("infer", "", "", Start::Dashes),
    runner("cargo", "watch", "", Start::Dashes),
    runner("meson", "devenv", "-C -w --workdir --dump", Start::Operands(0)),
    runner("sops", "exec-env, exec-file", "", Start::Operands(1)),
    runner("foreman honcho overmind", "run", "-e --env -f --procfile -d", Start::Operands(0)),
    runner(
        "ccache distcc icecc sccache",
        "",
        "-o --set-config -k --get-config -d --directory -F -M -X",
        Start::Operands(0),
    ),
    runner(
        "scan-build",
        "",
        "-o --use-cc --use-c++ --use-analyzer -maxloop -load-plugin -enable-checker -disable-checker",
        Start::Operands(0),
    ),
    runner(
        "intercept-build bear compiledb",
        "",
        "-o --output --config --cdb -p --parse -d --build-dir",
        Start::Operands(0),
    ),
    runner("xcrun", "", "--sdk -sdk --toolchain -toolchain --find -find -f", Start::Operands(0)),
    runner("kcov", "", "", Start::Operands(1)),
    runner("samply rr uftrace", "record, live", "-o --output --rate -r --duration -d -D", Start::Operands(0)),
    runner("flamegraph", "", "-o --output -F -c --cmd -p --pid", Start::Dashes),
    Runner {
        own: "report check-coverage merge instrument",
        ..runner(
            "nyc c8",
            "",
            "-r --reporter -o --report-dir --temp-dir --exclude --include --extension",
            Start::Operands(0),
        )
    },
    runner("fvm", "exec, spawn", "", Start::Operands(0)),
    runner("nbqa", "", "", Start::Operands(0)),
    runner(
        "gtest-parallel",
        "",
        "-w --workers -r --repeat -d --output_dir --gtest_filter",
        Start::Operands(0),
    ),
    runner("jc", "", "", Start::Operands(0)),
    runner("mprocs", "", "-c --config -s --server --names --ctl", Start::Lines),
];

/// What a runner starts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InnerCommand<'w> {
    /// The words of a command.
    Command(&'w [Word]),
    /// Lines for a shell.
    Lines(Vec<Word>),
}

/// The rows of a program.
fn runners(name: &str) -> impl Iterator<Item = &'static Runner> {
    static BY_NAME: LazyLock<BTreeMap<&str, Vec<&Runner>>> = LazyLock::new(|| {
        let mut rows: BTreeMap<&str, Vec<&Runner>> = BTreeMap::new();
        for row in RUNNERS {
            for name in row.names.split_whitespace() {
                rows.entry(name).or_default().push(row);
            }
        }
        rows
    });
    BY_NAME.get(name).into_iter().flatten().copied()
}

/// What a program starts, if it is a runner and its words hold a command.
pub(super) fn started<'w>(base: &str, rest: &'w [Word]) -> Option<InnerCommand<'w>> {
    runners(base).filter_map(|row| row.started(rest)).next()
}

/// Subcommands behind which the words are a command of the project: `uv run X`, `bundle exec X`.
pub(in crate::shell) fn runner_subcommands(name: &str) -> impl Iterator<Item = Vec<&'static str>> {
    runners(name)
        .filter(|row| matches!(row.start, Start::Operands(0)) && !row.subcommands.is_empty())
        .flat_map(Runner::phrases)
}

impl Runner {
    fn phrases(&self) -> impl Iterator<Item = Vec<&'static str>> {
        self.subcommands.split(',').map(|phrase| phrase.split_whitespace().collect())
    }

    fn started<'w>(&self, rest: &'w [Word]) -> Option<InnerCommand<'w>> {
        let rest = self.phrases().find_map(|phrase| behind_subcommand(rest, &phrase))?;
        let inner = match self.start {
            Start::Lines => {
                let lines = operands(rest, self.values);
                return (!lines.is_empty()).then_some(InnerCommand::Lines(lines));
            }
            Start::Operands(count) => self.behind_flags(rest, count),
            Start::Program => {
                let inner = self.behind_flags(rest, 0);
                let name = inner.first()?.text()?;
                crate::effects::is_known(&name).then_some(inner)?
            }
            Start::Dashes => behind_dashes(rest)?,
            Start::DashesOrFlags => behind_dashes(rest).unwrap_or_else(|| self.behind_flags(rest, 0)),
            Start::Option(names) => {
                let at = rest.iter().position(|word| names.split_whitespace().any(|name| word.is(name)))?;
                rest.get(at + 1..)?
            }
        };
        let is_own = |word: &Word| self.own.split_whitespace().any(|own| word.is(own));
        inner.first().filter(|word| !is_own(word)).map(|_| InnerCommand::Command(inner))
    }

    /// The words behind flags, their values and so many operands.
    fn behind_flags<'w>(&self, words: &'w [Word], operands: usize) -> &'w [Word] {
        let mut left = operands;
        let mut index = 0;
        while let Some(word) = words.get(index) {
            if word.is("--") && left == 0 {
                index += 1;
                break;
            } else if word.beginning().starts_with('-') {
                index += if takes_value(self.values, word) { 2 } else { 1 };
            } else if left > 0 {
                left -= 1;
                index += 1;
            } else {
                break;
            }
        }
        words.get(index..).unwrap_or_default()
    }
}

fn takes_value(values: &str, flag: &Word) -> bool {
    values.split_whitespace().any(|own| flag.is(own))
}

fn behind_dashes(words: &[Word]) -> Option<&[Word]> {
    let at = words.iter().position(|word| word.is("--"))?;
    words.get(at + 1..)
}

fn operands(words: &[Word], values: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let is_flag = word.beginning().starts_with('-');
        if !is_flag {
            found.push(word.clone());
        }
        index += if is_flag && takes_value(values, word) { 2 } else { 1 };
    }
    found
}

/// The words behind a subcommand, in front of which only flags and their values may stand: `uv --directory x run Y`.
fn behind_subcommand<'w>(rest: &'w [Word], phrase: &[&str]) -> Option<&'w [Word]> {
    let Some(first) = phrase.first() else { return Some(rest) };
    let mut is_behind_flag = false;
    for (index, word) in rest.iter().enumerate() {
        let tail = rest.get(index..).unwrap_or_default();
        if word.is(first)
            && tail.len() >= phrase.len()
            && phrase.iter().zip(tail).all(|(text, word)| word.is(text))
        {
            return tail.get(phrase.len()..);
        }
        let is_flag = word.beginning().starts_with('-');
        if !is_flag && !is_behind_flag {
            return None;
        }
        is_behind_flag = is_flag;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> String {
        let words: Vec<Word> = line.split_whitespace().map(Word::known).collect();
        let (name, rest) = words.split_first().unwrap();
        match started(&name.shown(), rest) {
            Some(InnerCommand::Command(words)) => words.iter().map(Word::shown).collect::<Vec<_>>().join(" "),
            Some(InnerCommand::Lines(lines)) => lines.iter().map(Word::shown).collect::<Vec<_>>().join("; "),
            None => String::new(),
        }
    }

    #[test]
    fn the_command_begins_behind_the_words_of_the_runner() {
        for (line, expected) in [
            ("uv run --frozen pytest -q", "pytest -q"),
            ("uv --directory sub run rm -rf src", "rm -rf src"),
            ("uv pip list", ""),
            ("conda run -n base rm x", "rm x"),
            ("direnv exec . rm x", "rm x"),
            ("mise x node@20 -- rm x", "rm x"),
            ("nix develop .#ci -c rm x", "rm x"),
            ("nix develop", ""),
            ("lerna exec --scope a -- rm x", "rm x"),
            ("infer run -- make", "make"),
            ("ccache -s", ""),
            ("ccache gcc -c a.c", "gcc -c a.c"),
            ("xcrun --sdk macosx clang a.c", "clang a.c"),
            ("xcrun --find clang", ""),
            ("kcov out ./a.out", "./a.out"),
            ("cargo watch -x test", ""),
            ("cargo watch -- make", "make"),
            ("mprocs -c x.yaml a b", "a; b"),
            ("nyc --reporter text npm test", "npm test"),
            ("nyc report", ""),
            ("bun run --bun cat .env", "cat .env"),
            ("bun run test", ""),
            ("bun run deploy:all", ""),
            ("ls run x", ""),
        ] {
            assert_eq!(command(line), expected, "{line}");
        }
    }
}
