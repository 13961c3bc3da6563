//! Operands that a flag must not hide: files behind flags without a value, and files behind a pattern that a flag gives.

use super::*;

#[test]
fn flags_without_a_value_hide_no_file_of_a_compressor() {
    none_allowed(&[
        "gzip -r .git",
        "gzip -kq .git/index",
        "gunzip -r /",
        "xz -k .git/index",
        "xz -k -- .git/index",
        "bzip2 -k .git/index",
        "zstd -q .git/index",
        "pigz -d ~/x.gz",
        "lz4 -m CLAUDE.md",
    ]);
    all(
        Decision::Allow,
        &[
            "gzip -k x.txt",
            "gzip -r target",
            "gzip -S .z data.csv",
            "xz -k data.csv",
            "xz -T 0 -k data.csv",
            "zstd -19 data.csv -o data.zst",
            "gunzip -c data.csv.gz",
        ],
    );
}

#[test]
fn flags_of_one_program_hide_no_file_of_another_of_its_row() {
    none_allowed(&[
        "isort -q .git/config",
        "gofmt -d -w CLAUDE.md",
        "isort -d .git/config",
        "black -q .git/config",
        "shfmt -d .git/config",
        "dos2unix -k CLAUDE.md",
    ]);
    all(
        Decision::Allow,
        &[
            "black -q src",
            "black -l 100 src",
            "isort --profile black src",
            "gofmt -d main.go",
            "shfmt -d run.sh",
            "dos2unix -k a.txt",
            "prettier --write src/a.ts",
        ],
    );
}

#[test]
fn pattern_option_leaves_every_operand_a_file() {
    none_allowed(&[
        "grep -e . .env",
        "grep -ie . .env",
        "grep -vf /dev/null .env",
        "grep --regexp=. .env",
        "grep --regexp . .env",
        "grep --file=/dev/null -v .env",
        "egrep -e . .env",
        "rg -e . .env",
        "rg --regexp=. .env",
        "rg -f words.txt .env",
        "rg -e password /etc",
    ]);
    all(
        Decision::Allow,
        &[
            "grep -e TODO src/lib.rs",
            "grep -rn -e TODO -e FIXME src",
            "grep -f words.txt src/lib.rs",
            "grep .env README.md",
            "grep -e .env README.md",
            "rg -e TODO src",
            "rg .env docs",
        ],
    );
}

#[test]
fn pattern_of_names_includes_credentials_of_the_system() {
    none_allowed(&["cat /etc/*", "head -n 1 /etc/*", "cd /etc && cat *", "cp /etc/* x", "grep root /etc/?*"]);
    all(
        Decision::Allow,
        &["ls /etc/*", "cat /etc/os-release", "cat /etc/*-release", "cat /usr/share/doc/*", "wc -l src/*"],
    );
}
