//! Options and words by which programs load code or start commands, as data.

use super::super::run::InheritedIo;
use super::super::state::Shell;
use super::super::value::Word;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Programs and the beginnings of words that make them load code, run commands, or read their options elsewhere.
struct Row {
    programs: &'static str,
    words: &'static [&'static str],
    /// Texts that do so wherever they stand in a word.
    inside: &'static [&'static str],
    #[cfg(test)]
    matching: &'static [&'static str],
    #[cfg(test)]
    harmless: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        programs: "gcc g++ cc c++ clang clang++ gfortran cpp gcc-* clang-* ld gold lld ld.bfd ld.gold ld.lld as",
        words: &[
            "-wrapper",
            "-specs",
            "--specs",
            "-fplugin",
            "-fpass-plugin",
            "-B",
            "@",
            "-Wl,-plugin",
            "-Wl,--plugin",
            "-plugin",
            "--plugin",
            "-fuse-ld=/",
            "-fuse-ld=.",
            "-Xclang",
            "--config",
            "-Wl,@",
            "-load",
            "-dumpdir",
            "-dumpbase",
            "-aux-info",
            "--gcc-toolchain",
            "-ccc-",
            "-no-canonical-prefixes",
            "-Wa,@",
            "-Xlinker",
            "-fprofile-use=/",
            "--ld-path",
            "-Wp,-",
        ],
        inside: &[],
        #[cfg(test)]
        matching: &[
            "gcc -specs=./x a.c",
            "gcc @args",
            "clang -fpass-plugin=./x.so a.c",
            "ld -plugin ./x.so a.o",
            "gcc-13 -B/tmp a.c",
        ],
        #[cfg(test)]
        harmless: &[
            "gcc -Wall -O2 -o a a.c",
            "clang -fsanitize=address a.c",
            "g++ -std=c++20 -Iinclude -c a.cc",
            "gcc -Wl,--as-needed a.o",
        ],
    },
    Row {
        programs: "tex latex pdftex pdflatex xetex xelatex luatex lualatex mf mpost context platex uplatex latexmk arara",
        words: &[
            "-shell-escape",
            "--shell-escape",
            "-enable-write18",
            "--enable-write18",
            "-e",
            "-r",
            "-pdflatex",
            "-latex",
            "-xelatex=",
            "-lualatex=",
            "--lua",
            "-cnf-line",
            "--cnf-line",
            "-usepretex",
            "-new-viewer",
            "-exec",
            "-dvipdf",
            "-bibtex-cmd",
        ],
        inside: &["\\write18", "{|", "\\input|", "\\directlua", "\\openout", "\\immediate", "\\ShellEscape"],
        #[cfg(test)]
        matching: &["pdflatex -shell-escape a.tex", "latex '\\input{|id}'", "latexmk -e 'x' a"],
        #[cfg(test)]
        harmless: &["pdflatex a.tex", "latexmk -pdf a.tex", "pdflatex -interaction=nonstopmode a.tex"],
    },
    Row {
        programs: "yq",
        words: &["--from-file", "-L"],
        inside: &[
            "env(",
            "load(",
            "load_str(",
            "load_xml(",
            "load_props(",
            "load_base64(",
            "envsubst",
            "strenv(",
            "$ENV",
            "eval(",
        ],
        #[cfg(test)]
        matching: &["yq 'env(HOME)' a.yml", "yq 'load(\"x\")' a.yml", "yq '.a = strenv(X)' a.yml"],
        #[cfg(test)]
        harmless: &["yq .a a.yml", "yq -r '.jobs | keys' ci.yml", "yq -i '.a = 1' a.yml"],
    },
    Row {
        programs: "sqlite3 sqlite duckdb",
        words: &[
            "-init",
            "--init",
            "-cmd",
            "--cmd",
            ".shell",
            ".sh",
            ".system",
            ".sys",
            ".output",
            ".out",
            ".once",
            ".onc",
            ".import",
            ".im",
            ".load",
            ".lo",
            ".read",
            ".rea",
            ".backup",
            ".ba",
            ".save",
            ".sa",
            ".clone",
            ".cl",
            ".excel",
            ".exc",
            ".exp",
            ".log",
            ".cd",
            ".archive",
            ".ar",
            ".open",
            ".op",
            ".restore",
            ".res",
            ".ed",
            ".www",
            ".trace",
            ".tr",
            ".test",
            "-A",
            "-unsafe-testing",
            ".recover",
            ".filectrl",
        ],
        inside: &[
            "load_extension",
            "readfile",
            "writefile",
            "edit(",
            "fts3_tokenizer",
            "zipfile(",
            "fsdir(",
            "\n.",
            "read_csv('/",
            "copy ",
        ],
        #[cfg(test)]
        matching: &[
            "sqlite3 a.db 'select 1' '.sh id'",
            "sqlite3 a.db '.import |id t'",
            "sqlite3 a.db \"select readfile('x')\"",
        ],
        #[cfg(test)]
        harmless: &[
            "sqlite3 a.db 'select 1'",
            "sqlite3 a.db .tables",
            "sqlite3 a.db '.schema t'",
            "sqlite3 -header -csv a.db 'select 1'",
        ],
    },
    Row {
        programs: "R",
        words: &["CMD"],
        inside: &[],
        #[cfg(test)]
        matching: &["R CMD INSTALL x"],
        #[cfg(test)]
        harmless: &["R --version"],
    },
    Row {
        programs: "sort",
        words: &["--compress-prog", "--random-source=/dev/tcp"],
        inside: &[],
        #[cfg(test)]
        matching: &["sort --compress-prog=./x a"],
        #[cfg(test)]
        harmless: &["sort -t, -k2 -n a", "sort -u a"],
    },
    Row {
        programs: "split gsplit",
        words: &["--filter", "--fil", "--fi"],
        inside: &[],
        #[cfg(test)]
        matching: &["split --filter=sh a"],
        #[cfg(test)]
        harmless: &["split -l 100 a part-"],
    },
    Row {
        programs: "zip",
        words: &["-TT", "--unzip-command", "--unzip-c"],
        inside: &[],
        #[cfg(test)]
        matching: &["zip -T -TT id a.zip a"],
        #[cfg(test)]
        harmless: &["zip -r a.zip src", "zip -T a.zip"],
    },
    Row {
        programs: "psql",
        words: &["--file", "-f"],
        inside: &[
            "\\!",
            "\\o",
            "\\g",
            "\\copy",
            "\\i",
            "\\set",
            "\\w",
            "program",
            "PROGRAM",
            "pg_read_file",
            "lo_import",
            "lo_export",
            "\\e",
            "`",
        ],
        #[cfg(test)]
        matching: &["psql -c '\\! id'", "psql -c \"copy t to program 'id'\""],
        #[cfg(test)]
        harmless: &["psql -l", "psql -c 'select 1'"],
    },
    Row {
        programs: "mysql mariadb",
        words: &[
            "--pager",
            "--tee",
            "--init-command",
            "--plugin-dir",
            "--defaults-file",
            "--defaults-extra-file",
        ],
        inside: &[
            "\\!",
            "system ",
            "source ",
            "\\.",
            "load_file",
            "into outfile",
            "INTO OUTFILE",
            "LOAD DATA",
            "load data",
            "tee ",
        ],
        #[cfg(test)]
        matching: &["mysql -e '\\! id'", "mysql --pager=id -e 'select 1'"],
        #[cfg(test)]
        harmless: &["mysql -e 'select 1'"],
    },
    Row {
        programs: "openssl",
        words: &["-engine", "-engine_impl", "-provider-path", "-provider", "engine", "-config"],
        inside: &["OPENSSL_CONF", "dynamic"],
        #[cfg(test)]
        matching: &["openssl dgst -engine ./x.so a", "openssl engine -t ./x"],
        #[cfg(test)]
        harmless: &["openssl dgst -sha256 a", "openssl x509 -in a.pem -noout -text"],
    },
];

/// The rows by the names of their programs; those that end in a star are looked for one by one.
static BY_NAME: LazyLock<BTreeMap<&'static str, &'static Row>> = LazyLock::new(|| {
    let names = |row: &'static Row| row.programs.split_whitespace().map(move |name| (name, row));
    ROWS.iter().flat_map(names).collect()
});

fn find(base: &str) -> Option<&'static Row> {
    BY_NAME.get(base).copied().or_else(|| {
        let versioned = base.starts_with("gcc-") || base.starts_with("clang-");
        versioned.then(|| ROWS.iter().find(|row| named(row.programs, base))).flatten()
    })
}

fn named(programs: &str, base: &str) -> bool {
    programs.split_whitespace().any(|name| match name.strip_suffix('*') {
        Some(start) => base.starts_with(start),
        None => name == base,
    })
}

/// Do the words make the program load or run something?
fn is_found(row: &Row, words: &[Word]) -> bool {
    words.iter().any(|word| {
        let text = word.shown();
        let trimmed = text.trim_start();
        row.words.iter().any(|start| match start.strip_prefix('.') {
            // A command of `sqlite3` may be abbreviated, so its name is compared in both directions.
            Some(_) => {
                let name = trimmed.split_whitespace().next().unwrap_or_default();
                name.len() > 2
                    && (name == *start
                        || start.len() > 4 && start.starts_with(name)
                        || name.starts_with(start) && start.len() > 4)
            }
            None if start.len() == 2 && start.starts_with('-') && *start != "-B" => trimmed == *start,
            None => trimmed.starts_with(start),
        }) || row.inside.iter().any(|part| text.contains(part))
    })
}

impl Shell<'_> {
    /// Doubts words by which a program of the table loads or runs something.
    pub(super) fn doubted_words(&mut self, base: &str, rest: &[Word], around: &InheritedIo) {
        let Some(row) = find(base) else { return };
        let input = around.input.as_ref().and_then(|stream| stream.text.as_deref()).unwrap_or_default();
        let lines: Vec<Word> = if row.inside.is_empty() {
            Vec::new()
        } else {
            input.lines().take(256).map(Word::known).collect()
        };
        if is_found(row, rest) || is_found(row, &lines) {
            self.doubt("an option or a word that makes a program load code or run a command");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_find_their_examples() {
        for row in ROWS {
            for (line, expected) in row
                .matching
                .iter()
                .map(|line| (line, true))
                .chain(row.harmless.iter().map(|line| (line, false)))
            {
                let words: Vec<Word> = shlex::split(line).unwrap().into_iter().map(Word::known).collect();
                let name = words[0].text().unwrap().into_owned();
                assert!(named(row.programs, &name), "{line}");
                assert_eq!(is_found(row, &words[1..]), expected, "{line}");
            }
        }
    }
}
