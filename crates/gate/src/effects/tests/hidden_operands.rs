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

#[test]
fn lists_of_files_are_known_only_where_the_line_writes_them() {
    none_allowed(&[
        "tar --files-from list -cf x.tar",
        "tar -cf x.tar --files=list",
        "tar -cf x.tar -Tlist",
        "sort --files0-from=list",
        "zstd --filelist list -c",
        "ctags -L list",
        "cscope -i list",
        "clang-format --files=list",
        "convert @list y.png",
        "identify -format %w @list",
        "parallel cat :::: list",
        "parallel --colsep , cat {1} :::: list ::: a",
        "parallel cat ::: a :::: list",
        "echo ~/.ssh/id_rsa > list; parallel cat :::: list",
    ]);
    all(
        Decision::Allow,
        &[
            "echo README.md > list; tar cf x.tar -T list",
            "echo README.md > list; parallel cat :::: list",
            "find src -name '*.rs' | tar cf x.tar -T -",
            "parallel echo ::: a b ::: c",
            "wc --files0-from list",
            "convert a.png -resize 50% out/b.png",
        ],
    );
}

#[test]
fn copies_of_whole_files_read_what_they_copy() {
    none_allowed(&["ddrescue .env out", "ddrescue out .git/config"]);
}

#[test]
fn services_that_command_this_machine_are_not_talked_to_unasked() {
    none_allowed(&[
        "curl localhost:2375/containers/json",
        "curl -X POST -d @x.json http://127.0.0.1:2376/containers/create?name=x",
        "wget --method=POST --body-data=x localhost:10250/run",
        "curl https://localhost:6443/api/v1/secrets",
    ]);
    all(Decision::Allow, &["curl localhost:3000/containers", "curl http://localhost:8080/a:2375"]);
}
