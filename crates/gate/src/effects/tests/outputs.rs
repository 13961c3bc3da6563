//! Files that a command reads, writes or empties without an option that looks like it, and libraries that it loads.

use super::*;

#[test]
fn histories_and_credentials_of_common_programs_are_known() {
    all(
        Decision::Deny,
        &[
            "cat /run/user/1000/containers/auth.json",
            "cat /run/user/*/containers/auth.json",
            "cat $XDG_RUNTIME_DIR/containers/auth.json",
            "cat ~/.config/helm/repositories.yaml",
            "cat ~/.snowflake/config.toml",
            "cat ~/.confluent/config.json",
            "cat ~/.ipython/profile_default/history.sqlite",
            "cat ~/.local/share/zsh/history",
            "tail ~/.config/nushell/history.txt",
        ],
    );
    all(
        Decision::Allow,
        &["cat ~/.ipython/profile_default/ipython_config.py", "cat ~/.local/share/zsh/site-functions/_x"],
    );
}

#[test]
fn connection_through_a_proxy_leads_elsewhere() {
    none_allowed(&[
        "nc -X 5 -x localhost:1080 evil.example 80",
        "nc -xlocalhost:1080 evil.example 80",
        "ncat --proxy localhost:1080 evil.example 80",
        "ncat --proxy=localhost:1080 evil.example 80",
        "nc -s localhost evil.example 80",
        "ncat -o CLAUDE.md localhost 80",
    ]);
    all(Decision::Allow, &["nc -zv localhost 5432", "nc -w 3 localhost 80", "nc -z -w 1 127.0.0.1 80"]);
}

#[test]
fn checkout_index_and_worktrees_write_where_they_are_told() {
    none_allowed(&[
        "git checkout-index --prefix=/tmp/../etc/ -a",
        "git checkout-index -a --prefix=/srv/",
        "git checkout-index -a --prefix .git/",
        "git worktree add -B main build/x",
        "git worktree add .git/x",
        "git worktree add -b topic .git/x main",
        "git worktree add ../x",
    ]);
    all(
        Decision::Allow,
        &[
            "git checkout-index -a --prefix=build/",
            "git worktree add -b topic build/x",
            "git worktree add build/x main",
            "git worktree list",
        ],
    );
}

#[test]
fn every_kind_of_output_of_rustc_is_a_write() {
    none_allowed(&[
        "rustc --emit=link=.git/hooks/pre-commit x.rs",
        "rustc --emit link=.git/x x.rs",
        "rustc --emit=asm,dep-info=CLAUDE.md x.rs",
        "rustc --emit=$kind x.rs",
        "cargo rustc -- --emit=link=.claude/settings.json",
        "cargo rustc -- --emit=link=/etc/x",
    ]);
    all(
        Decision::Allow,
        &[
            "rustc --emit=asm,llvm-ir x.rs",
            "rustc --emit=link=target/x,dep-info=target/x.d x.rs",
            "cargo rustc --release -- --emit=asm",
        ],
    );
}

#[test]
fn address_names_the_file_that_is_written() {
    none_allowed(&[
        "curl -O localhost/CLAUDE.md",
        "curl -sO 'localhost:8000/.mcp.json?x=1'",
        "curl --remote-name http://localhost/AGENTS.md",
        "curl -OJ localhost/x",
        "curl -O 'localhost/{CLAUDE,x}.md'",
        "curl -o '#1.md' 'localhost/{CLAUDE}'",
        "curl --output-dir .github/workflows -O localhost/ci.yml",
        "curl -O localhost/$name",
        "wget localhost/.mcp.json",
        "wget localhost/%2Emcp.json",
        "wget -x localhost/.claude/settings.json",
        "wget --content-disposition localhost/x",
        "wget -i list.txt localhost/x",
    ]);
    all(
        Decision::Allow,
        &[
            "curl -O localhost:8000/data.json",
            "curl -O --output-dir build localhost:8000/data.json",
            "curl localhost/CLAUDE.md",
            "curl -o out.json localhost/CLAUDE.md",
            "wget localhost:8000/data.json",
            "wget -q --spider localhost/CLAUDE.md",
            "wget -qO- localhost/CLAUDE.md",
        ],
    );
}

#[test]
fn cookies_of_curl_are_a_file_unless_they_hold_a_value() {
    none_allowed(&["curl -b .env localhost", "curl --cookie .env localhost", "curl -b ~/.netrc localhost"]);
    all(Decision::Allow, &["curl -b 'a=b' localhost", "curl -b cookies.txt localhost"]);
}

#[test]
fn libraries_of_the_workspace_are_loaded_only_by_its_own_programs() {
    none_allowed(&[
        "LD_LIBRARY_PATH=. ls",
        "LD_LIBRARY_PATH=src ls",
        "LD_LIBRARY_PATH=target/debug:src ls",
        "LD_LIBRARY_PATH=target/debug: ls",
        "export LD_LIBRARY_PATH=src; ls",
        "LD_LIBRARY_PATH=target/debug:/opt/x ls",
        "PYTHONPATH=. aws s3 ls",
        "ENV=x sh -i run.sh",
        "export ENV=x; dash -i -c ls",
    ]);
    all(
        Decision::Allow,
        &[
            "LD_LIBRARY_PATH=target/debug/deps ./target/debug/x",
            "LD_LIBRARY_PATH=lib ./target/debug/x",
            "LD_LIBRARY_PATH=target/debug:$LD_LIBRARY_PATH ls",
            "LD_LIBRARY_PATH=/usr/lib ls",
            "LD_LIBRARY_PATH= ls",
            "PYTHONPATH=. pytest",
            "PYTHONPATH=src:tests python3 -m pytest",
            "PYTHONPATH=src sphinx-build -b html docs docs/_build",
            "export PYTHONPATH=src; pytest",
            "ENV=production npm test",
            "ENV=test bash scripts/run.sh",
        ],
    );
}

#[test]
fn assigned_default_leaves_the_value_of_the_environment_possible() {
    none_allowed(&[
        "rm -rf \"${out:=build}\"",
        "rm -rf ${out=build}",
        ": \"${out:=build}\"; rm -rf \"$out\"",
        ": ${out:=build} && cd \"$out\" && rm -rf *",
    ]);
    all(
        Decision::Allow,
        &[
            "out=; rm -rf \"${out:=build}\"",
            "out=build; rm -rf \"${out:=src}\"",
            "echo \"${name:=x}\"",
            ": \"${JOBS:=4}\"; make -j\"$JOBS\"",
        ],
    );
}

#[test]
fn output_directories_that_are_emptied_are_deleted() {
    none_allowed(&[
        "mkdocs build -d src",
        "mkdocs build --site-dir=docs",
        "mkdocs build -dsrc",
        "vitest --coverage.reportsDirectory=src",
        "vitest run --coverage --coverage.reportsDirectory .",
        "sphinx-build -M clean . src",
        "sphinx-build -M clean docs .",
        "sphinx-build -b html docs .git",
    ]);
    all(
        Decision::Allow,
        &[
            "mkdocs build",
            "mkdocs build -d site",
            "mkdocs build -d build/docs",
            "vitest run --coverage.reportsDirectory=coverage",
            "sphinx-build -M clean docs docs/_build",
            "sphinx-build -M html docs docs/_build",
        ],
    );
}

#[test]
fn well_known_options_are_named_by_what_they_do() {
    for (line, rule) in [
        ("docker build -t x .", "container"),
        ("docker build -f Dockerfile --build-arg A=1 .", "container"),
        ("cargo add --features derive serde", "package"),
        ("cargo add --dev insta", "package"),
    ] {
        let verdict = judged(line).verdict;
        assert_eq!((verdict.decision, verdict.rule.as_str()), (Decision::Ask, rule), "{line}: {verdict:?}");
    }
    assert_eq!(judged("docker build --frob .").verdict.rule, "option.unknown");
}

#[test]
fn a_value_that_names_a_steering_file_is_doubt_unless_it_is_left_out_or_read() {
    none_allowed(&[
        "esbuild a.ts --mangle-cache=AGENTS.md",
        "gcovr --json=AGENTS.md",
        "prettier --check --write AGENTS.md",
        "prettier --check -w AGENTS.md",
        "black -- --check AGENTS.md",
        "rustfmt --check --emit files AGENTS.md",
        "terser a.js --source-map url=AGENTS.md -o out/a.js",
        "golangci-lint run --out-format=colored-line-number,json:AGENTS.md",
        "pytest --cov-report html:.claude",
        "sass a.scss:AGENTS.md",
        "esbuild .git/hooks/x=a.ts --outdir=.",
        "mkdocs new .claude",
        "deno fmt AGENTS.md",
        "deno test --junit-path=AGENTS.md",
        "deno check --lock=AGENTS.md a.ts",
        "bun test --reporter-outfile=AGENTS.md",
        "cmake -B build -DCMAKE_INSTALL_PREFIX=.git",
    ]);
    all(
        Decision::Allow,
        &[
            "flake8 --exclude .git,__pycache__",
            "flake8 --exclude=.git,.venv src",
            "cloc --exclude-dir=.git,node_modules .",
            "codespell --skip=.git,target",
            "codespell --skip .git",
            "black --exclude .git .",
            "isort --skip .git .",
            "black --check AGENTS.md",
            "prettier --check AGENTS.md",
            "pytest --ignore=.claude",
            "eslint --ignore-pattern .claude src",
            "mypy --exclude .claude src",
            "ruff check --exclude=.git,.venv .",
            "jest --testPathIgnorePatterns .claude",
            "gh run list --workflow=.github/workflows/ci.yml",
            "actionlint .github/workflows/ci.yml",
            "npm test -- --grep=AGENTS.md",
            "cargo test agents -- --nocapture",
            "cargo fmt --all -- --check",
            "pytest tests/test_a.py::test_b",
            "pytest --cov=src --cov-report=xml:coverage.xml",
            "pytest --cov=src --cov-report term-missing:skip-covered",
            "ffmpeg -i a.mp4 -vf scale=640:-1,fps=30 b.mp4",
            "protoc --go_out=paths=source_relative:. a.proto",
            "sass src/a.scss:out/a.css",
            "esbuild a.ts --define:X=1 --outfile=out/a.js",
            "cargo new out/x",
            "clang-format --style=Google -i src/a.c",
            "shuf -e a b c",
            "deno fmt src/a.ts",
            "deno test",
            "deno check src/a.ts",
            "bun test --coverage",
        ],
    );
}
