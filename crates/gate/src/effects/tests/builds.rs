//! Words of builders that choose code, programs or other machines.

use super::*;

#[test]
fn cargo_starts_nothing_of_its_words_choice() {
    none_allowed(&[
        "cargo rustc -- -Zcodegen-backend=./x.so",
        "cargo rustc -- -C link-arg=-B/home/person/evil",
        "cargo rustc -- @args",
        "cargo rustc -- --sysroot /tmp/x",
        "cargo clippy -- -Zx",
        "cargo +/home/person/evil build",
        "rustc +/home/person/evil a.rs",
        "cargo build --target ./evil.json",
        "cargo tarpaulin --root ../x",
        "cargo mutants -C--config=build.rustc-wrapper=x",
        "cargo nextest self update",
        "cargo audit fix",
        "cargo insta reject",
        "cargo xtask publish",
    ]);
    all(
        Decision::Allow,
        &[
            "cargo clippy -- -D warnings",
            "cargo +nightly fmt",
            "cargo build --target x86_64-unknown-linux-musl",
            "cargo nextest run",
            "cargo xtask test",
            "cargo test -- -Z unstable-options",
        ],
    );
}

#[test]
fn go_starts_nothing_of_its_words_choice() {
    none_allowed(&[
        "gotestsum -- -exec /tmp/evil ./...",
        "go build -gccgoflags=-fplugin=./x.so ./...",
        "go build -compiler gccgo ./...",
        "go tool test2json /tmp/evil",
        "go list -m -versions secret.evil.example/x",
        "go tool pprof secret.evil.example/x",
        "go build -ldflags '-X a.b=1 -extld ./x' ./...",
    ]);
    all(
        Decision::Allow,
        &[
            "go list -m all",
            "go list -m -u all",
            "go tool pprof cpu.prof",
            "gotestsum -- -race ./...",
            "go build -ldflags '-X main.version=1' ./...",
            "go test -ldflags='-s -w' ./...",
        ],
    );
}

#[test]
fn code_outside_the_workspace_is_not_run_by_any_builder() {
    none_allowed(&[
        "autoreconf /tmp/evil",
        "behat /tmp/evil/x.feature",
        "pest /tmp/evil",
        "ginkgo /tmp/evil",
        "elixirc /tmp/evil/x.ex",
        "lean /tmp/evil/x.lean",
        "pyinstrument /tmp/evil/x.py",
        "qmlscene ~/evil/x.qml",
        "strings @args",
        "ruff check @args",
        "clippy-driver @args",
        "moc @args",
        "cargo-tree --config build.rustc=./x",
    ]);
    all(
        Decision::Allow,
        &["pest", "behat features/a.feature", "elixirc a.ex", "lean a.lean", "strings a.out", "ruff check ."],
    );
}
