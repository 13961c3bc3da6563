//! Options of interpreters, and modules that Python runs by name.

use crate::effects::arguments::tail;
use crate::effects::look::Look;
use crate::effects::place::Place;
use crate::effects::severity::Act;
use crate::effects::{arrivals, trees};
use crate::shell::Word;

/// Options of an interpreter before its program.
struct Options {
    /// The interpreter's names.
    names: &'static [&'static str],
    /// Options without a value that change nothing outside; single letters may stand together.
    flags: &'static str,
    /// Options with a value that changes nothing outside.
    values: &'static str,
    /// Options whose value is code, and is read elsewhere.
    code: &'static str,
    /// Options whose value is a module that is loaded first.
    loads: &'static str,
    /// Options whose value is a path from which code is taken.
    paths: &'static str,
    /// Options whose value is a file or a directory that is written.
    writes: &'static str,
    /// Modules that are known to be harmless to load.
    modules: &'static str,
}

const OPTIONS: &[Options] = &[
    Options {
        names: &["python", "pypy", "ipython", "jython"],
        flags: "-b -bb -B -d -E -h -I -O -OO -P -q -s -S -u -v -V -x -3 --help --version --check-hash-based-pycs",
        values: "-W -X -Q",
        code: "-c -m",
        loads: "",
        paths: "",
        writes: "",
        modules: "",
    },
    Options {
        names: &["node", "nodejs", "tsx", "ts-node"],
        flags: "-c --check -v --version -h --help -i --test --watch --enable-source-maps --no-warnings --trace-warnings --trace-uncaught \
                --trace-deprecation --throw-deprecation --no-deprecation --expose-gc --experimental-strip-types \
                --experimental-vm-modules --experimental-modules --experimental-specifier-resolution --preserve-symlinks \
                --experimental-json-modules --experimental-test-coverage --experimental-transform-types --no-experimental-fetch \
                --experimental-fetch --experimental-wasm-modules --experimental-permission --permission --harmony --interactive --prof \
                --cpu-prof --heap-prof --pending-deprecation --frozen-intrinsics --no-addons --test-only --test-force-exit \
                --use-strict --esm -T --transpile-only --files",
        values: "--max-old-space-size --stack-size --stack-trace-limit --input-type --test-name-pattern --conditions \
                 -C --unhandled-rejections --watch-path --test-concurrency --test-timeout --run --max-semi-space-size --title \
                 --experimental-default-type --icu-data-dir --inspect --inspect-brk --inspect-port -P --project --env-file \
                 --env-file-if-exists",
        code: "-e -p -pe --eval --print",
        loads: "-r --require --import --loader --experimental-loader --test-reporter",
        paths: "",
        writes: "--cpu-prof-dir --cpu-prof-name --heap-prof-dir --redirect-warnings --diagnostic-dir --report-directory \
                 --report-filename --test-reporter-destination --trace-event-file-pattern",
        modules: "dotenv/config tsx tsx/esm tsx/cjs ts-node/register ts-node/esm esm source-map-support/register @swc-node/register \
                  @babel/register tsconfig-paths/register spec tap dot junit lcov",
    },
    Options {
        names: &["perl"],
        flags: "-n -p -a -w -W -X -l -c -v -V -t -T -u -U -s -h -f -0 -i -C -g",
        values: "-F",
        code: "-e -E",
        loads: "-M -m",
        paths: "",
        writes: "",
        modules: "strict warnings utf8 feature bigint bignum integer constant Data::Dumper List::Util Scalar::Util JSON::PP JSON JSON::XS \
                  Time::HiRes Time::Local Time::Piece POSIX Encode MIME::Base64 Digest::MD5 Digest::SHA Text::Wrap Text::CSV Getopt::Long \
                  Benchmark Storable File::Basename File::Spec Math::BigInt Math::Trig open locale diagnostics vars autodie",
    },
    Options {
        names: &["ruby", "irb", "jruby"],
        flags: "-n -p -a -w -W -W0 -W1 -W2 -l -c -v -h -s -i -0 --version --help --verbose --yjit --jit --enable --disable -U -y",
        values: "-E -F -K --encoding --external-encoding --internal-encoding",
        code: "-e",
        loads: "-r",
        paths: "",
        writes: "",
        modules: "json yaml set date time csv pp securerandom digest erb bundler/setup minitest/autorun rspec ostruct bigdecimal \
                  prime matrix benchmark optparse stringio strscan zlib English",
    },
    Options {
        names: &["php"],
        flags: "-n -q -l -s -v -i -m -w -h --version --help --ini --rf --rc --re",
        values: "-t",
        code: "-r -f",
        loads: "",
        paths: "",
        writes: "",
        modules: "",
    },
    Options {
        names: &["lua", "luajit", "texlua"],
        flags: "-v -E -W",
        values: "",
        code: "-e",
        loads: "-l",
        paths: "",
        writes: "",
        modules: "",
    },
    Options {
        names: &["R", "Rscript"],
        flags: "-q -s --vanilla --no-save --no-restore --no-restore-data --no-environ --no-site-file --no-init-file --quiet --slave \
                --silent --no-echo --verbose --version --help --args --interactive --no-readline",
        values: "--encoding --max-ppsize",
        code: "-e -f --file",
        loads: "",
        paths: "",
        writes: "",
        modules: "",
    },
    Options {
        names: &["julia"],
        flags: "-h -v -q -i --help --version --quiet --banner --project",
        values: "-t -p -O -g --threads --procs --optimize --color --startup-file --history-file --check-bounds --compile \
                 --depwarn --inline --code-coverage --track-allocation --banner",
        code: "-e -E -L --eval --print --load",
        loads: "",
        paths: "--project",
        writes: "",
        modules: "",
    },
    Options {
        names: &["emacs"],
        flags: "-Q -q --quick --no-init-file --batch -batch -nw --no-window-system --no-splash --no-site-file --no-site-lisp \
                --version --help",
        values: "",
        code: "--eval -eval --execute -execute -l --load -load -f --funcall -funcall --script -script",
        loads: "",
        paths: "-L --directory",
        writes: "",
        modules: "",
    },
    Options {
        names: &[
            "osascript",
            "guile",
            "racket",
            "scheme",
            "csi",
            "sbcl",
            "clisp",
            "ecl",
            "octave",
            "elixir",
            "scala",
            "kotlin",
            "groovy",
            "jshell",
            "ocaml",
            "ghci",
            "runghc",
            "nu",
            "xonsh",
            "janet",
            "fennel",
            "maxima",
            "sage",
            "swipl",
        ],
        flags: "-q -v -V -h -i -n -W --help --version --quiet --silent --verbose --no-init --no-init-file --no-site-file \
                --no-sysinit --no-userinit --no-gui --no-window-system --no-history --norc --noinform --non-interactive \
                --disable-debugger --no-auto-compile --vanilla --no-config-file",
        values: "--color",
        code: "-e -E -c -x -g -s -C -L -l --eval -eval --execute --command --load --script --file -f",
        loads: "",
        paths: "-cp -classpath --classpath --class-path -pa",
        writes: "",
        modules: "",
    },
];

fn lists(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|own| own == name)
}

/// Judges the options before the program; those behind it belong to the program.
pub(super) fn judge(look: &mut Look<'_>, language: &str) {
    let Some(options) = OPTIONS.iter().find(|row| row.names.contains(&language)) else { return };
    let words = look.rest().to_vec();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.beginning().into_owned();
        if !text.starts_with('-') || text == "-" || text == "--" {
            return;
        }
        let whole = [options.flags, options.paths, options.code].iter().any(|list| lists(list, &text));
        if text.starts_with("--") || whole || text.len() == 2 {
            let (name, attached) = match text.split_once('=') {
                Some((name, value)) => (name.to_string(), Some(value.to_string())),
                None => (text.clone(), None),
            };
            let is_path = attached.is_some() && lists(options.paths, &name);
            if lists(options.flags, &name) && !is_path {
                continue;
            }
            if name.starts_with("--inspect") {
                one(look, options, &name, attached.as_deref().unwrap_or_default());
                continue;
            }
            let mut value = || attached.clone().or_else(|| rest.next().map(Word::shown)).unwrap_or_default();
            if lists(options.code, &name) {
                // What follows a module or a text are its arguments, except for languages that take several texts.
                if matches!(language, "python" | "pypy" | "ipython" | "jython") {
                    return;
                }
                value();
            } else {
                let value = if is_listed_with_value(options, &name) { value() } else { String::new() };
                one(look, options, &name, &value);
            }
            continue;
        }
        cluster(look, options, &text, &mut rest);
        if matches!(language, "python" | "pypy") && text.contains(['c', 'm']) {
            return;
        }
    }
}

fn is_listed_with_value(options: &Options, name: &str) -> bool {
    [options.values, options.loads, options.paths, options.writes].iter().any(|list| lists(list, name))
        || matches!(name, "-I" | "-d" | "-C")
}

/// `-lane CODE`, `-MList::Util=sum`: letters, of which one may take the rest of the word.
fn cluster<'w>(
    look: &mut Look<'_>,
    options: &Options,
    text: &str,
    rest: &mut impl Iterator<Item = &'w Word>,
) {
    for (at, letter) in text.char_indices().skip(1) {
        let name = format!("-{letter}");
        let attached = text.get(at + letter.len_utf8()..).unwrap_or_default();
        let takes = lists(options.code, &name)
            || is_listed_with_value(options, &name)
            || !lists(options.flags, &name);
        if !takes {
            // `-i.bak`, `-0777`, `-l012`: a suffix.
            if matches!(letter, 'i' | '0' | 'C' | 'W')
                && !attached.starts_with(|char: char| char.is_ascii_alphabetic())
            {
                return;
            }
            continue;
        }
        let value = if attached.is_empty() {
            rest.next().map(Word::shown).unwrap_or_default()
        } else {
            attached.to_string()
        };
        if !lists(options.code, &name) {
            one(look, options, &name, &value);
        }
        return;
    }
}

/// One option with its value.
fn one(look: &mut Look<'_>, options: &Options, name: &str, value: &str) {
    let place = |look: &Look<'_>| look.place(&Word::known(value.to_string()));
    if lists(options.loads, name) {
        // `-Mx;system(…)`: what stands behind the name is code.
        let (module, imported) = value.split_once('=').unwrap_or((value, ""));
        let module = module.trim_start_matches('-');
        let plain =
            |text: &str| !text.contains([';', '(', ')', '{', '}', '`', '\'', '"', ' ', '|', '&', '…']);
        let own = value.starts_with("./") && matches!(place(look), Place::Inside | Place::Regenerable);
        if !(own || lists(options.modules, module)) || !plain(value) || !plain(imported) {
            look.ask("interpreter", format!("`{name}` loads `{value}` before the program"));
        }
    } else if lists(options.writes, name) {
        look.act(Act::Write, &Word::known(value.to_string()));
    } else if lists(options.paths, name)
        || matches!(name, "-I" | "-C") && !lists(options.values, name) && !lists(options.flags, name)
    {
        let is_own = |path: &str| {
            let place = look.place(&Word::known(path));
            matches!(place, Place::Inside | Place::Regenerable | Place::Workspace)
        };
        if !value.split(':').all(is_own) {
            look.ask("interpreter", format!("`{name}` loads code from `{value}`"));
        }
    } else if name == "-W" && value.split(':').nth(2).is_some_and(|category| category.contains('.')) {
        look.ask("interpreter", "a filter of warnings loads a module");
    } else if name == "-X" {
        if let Some(directory) = value.strip_prefix("pycache_prefix=") {
            look.act(Act::Write, &Word::known(directory.to_string()));
        }
    } else if name.starts_with("--inspect") {
        let local = value.is_empty()
            || value.parse::<u16>().is_ok()
            || value.starts_with("127.0.0.1")
            || value.starts_with("localhost");
        if !local {
            look.ask("interpreter", "it lets other machines debug the program");
        }
    } else if name.starts_with("--env-file") {
        look.act(Act::Read, &Word::known(value.to_string()));
    } else if !lists(options.values, name) {
        look.ask("interpreter", format!("what `{name}` does to the program is not known"));
    }
}

/// The words behind a module that Python runs by name.
struct ModuleWords<'a>(&'a [Word]);

impl ModuleWords<'_> {
    fn has(&self, names: &[&str]) -> bool {
        self.0.iter().any(|word| names.iter().any(|name| word.is(name)))
    }

    /// Words that are neither flags nor values of these flags.
    fn operands(&self, takes: &[&str]) -> Vec<Word> {
        let mut found = Vec::new();
        let mut rest = self.0.iter();
        while let Some(word) = rest.next() {
            let text = word.beginning();
            if text.starts_with('-') && text.len() > 1 {
                if takes.contains(&&*text) {
                    rest.next();
                }
            } else {
                found.push(word.clone());
            }
        }
        found
    }

    /// The values of these flags.
    fn values(&self, names: &[&str]) -> Vec<Word> {
        let mut found = Vec::new();
        for (at, word) in self.0.iter().enumerate() {
            let text = word.beginning().into_owned();
            for name in names {
                if text == *name {
                    found.extend(self.0.get(at + 1).cloned());
                } else if let Some(value) = text.strip_prefix(&format!("{name}=")) {
                    found.push(Word::known(value));
                } else if name.len() == 2 && text.starts_with(name) {
                    found.push(tail(word, 2));
                }
            }
        }
        found
    }
}

fn runs(look: &mut Look<'_>, script: &Word) {
    if !matches!(look.place(script), Place::Inside | Place::Regenerable | Place::Workspace | Place::Sink) {
        look.act(Act::Run, script);
    }
}

/// Profilers: they run a script or a module, and write what they measured.
fn profiler(look: &mut Look<'_>, module: &str, words: &ModuleWords<'_>) {
    for file in words.values(&["-o", "-C", "-f", "--file", "--coverdir", "--data-file"]) {
        look.act(Act::Write, &file);
    }
    let coverage = module == "coverage";
    let is_module = |word: &Word| word.beginning().starts_with("--mod");
    if words.has(&["-m"]) || words.0.iter().any(is_module) {
        if !coverage {
            look.ask("module", "what the module that it runs does is not known");
        }
        return;
    }
    let takes = ["-o", "-C", "-s", "-f", "--file", "--coverdir", "--data-file", "--source", "--rcfile", "-m"];
    let operands = words.operands(&takes);
    let starts = !coverage || words.0.first().is_some_and(|word| word.is("run"));
    if let Some(script) = operands.iter().find(|word| !coverage || !word.is("run")).filter(|_| starts) {
        runs(look, script);
    }
}

/// What the modules that Python runs do with the words behind them: code, scripts and files.
pub(super) fn module(
    look: &mut Look<'_>,
    module: &str,
    words: &[Word],
    code: fn(&mut Look<'_>, &Word, &str),
) {
    let words = ModuleWords(words);
    match module {
        "timeit" => {
            let takes = ["-n", "-r", "-u", "-s", "--number", "--repeat", "--unit", "--setup"];
            let texts = words.operands(&takes).into_iter().chain(words.values(&["-s", "--setup"]));
            texts.for_each(|text| code(look, &text, "python"));
        }
        "cProfile" | "profile" | "trace" | "coverage" => profiler(look, module, &words),
        "unittest" => {
            words.values(&["-s", "--start-directory", "-t"]).iter().for_each(|start| runs(look, start));
            let takes = ["-k", "-p", "--pattern", "-s", "--start-directory", "-t", "--durations"];
            let is_path = |word: &&Word| word.beginning().starts_with(['/', '~', '.']);
            words.operands(&takes).iter().filter(is_path).for_each(|tests| runs(look, tests));
        }
        "doctest" => words.operands(&["-o"]).iter().for_each(|file| runs(look, file)),
        "zipfile" | "tarfile" => {
            let operands = words.operands(&["--metadata-encoding", "--filter"]);
            if words.has(&["-c", "--create"]) {
                operands.first().iter().for_each(|file| look.act(Act::Write, file));
                operands.iter().skip(1).for_each(|file| look.act(Act::Read, file));
                trees::take(look, operands.get(1..).unwrap_or_default(), &[]);
            } else if words.has(&["-e", "--extract"]) {
                let to = operands.get(1).cloned().unwrap_or_else(|| Word::known("."));
                look.act(Act::Write, &to);
                arrivals::unknown(look, &to);
            }
        }
        "json.tool" => {
            words.operands(&["--indent"]).iter().skip(1).for_each(|file| look.act(Act::Write, file));
        }
        "compileall" | "venv" | "virtualenv" => {
            let takes = ["--prompt", "-p", "--python", "-d", "-x", "-j", "-r", "-i"];
            // The directory is emptied first.
            let clears = module != "compileall" && words.has(&["--clear"]);
            let act = if clears { Act::DeleteTree } else { Act::Write };
            words.operands(&takes).iter().for_each(|file| look.act(act, file));
        }
        "pydoc" if words.has(&["-p", "-b", "-n"]) => {
            look.ask("send.serve", "it shows files to other machines");
        }
        // It imports what it documents.
        "pydoc" => words
            .operands(&[])
            .iter()
            .filter(|word| word.shown().contains('/'))
            .for_each(|file| runs(look, file)),
        _ => {}
    }
}
