//! Options that write, load or run, response files, and operands that are code: one table per cause.

use super::*;

#[test]
fn response_files_give_more_options() {
    for program in [
        "ghc",
        "kotlinc",
        "scalac",
        "mcs",
        "protoc",
        "dotnet msbuild",
        "dotnet build",
        "sbt",
        "csc",
        "fsc",
        "vbc",
        "msbuild",
        "java",
        "javac",
        "jar",
        "javap",
        "flatc",
        "ld",
        "as",
        "ar",
        "link",
        "swiftc",
        "valac",
        "pytest",
    ] {
        none_allowed(&[&format!("{program} @args.rsp")]);
    }
    all(Decision::Allow, &["bazel build @//label", "npm ls @scope/x"]);
}

#[test]
fn commands_of_sbt_are_told_from_its_tasks() {
    none_allowed(&[
        "sbt '~eval 1'",
        "sbt '+eval sys.process.stringToProcess(\"id\").!'",
        "sbt '++2.13 eval 1'",
        "sbt ';clean;~eval 1'",
        "sbt 'onFailure !id' test",
        "sbt 'early(eval 1)'",
        "sbt 'apply -cp /home/ada/evil Evil'",
        "sbt new evil/x.g8",
    ]);
    all(
        Decision::Allow,
        &[
            "sbt '~test'",
            "sbt 'testOnly *Foo'",
            "sbt '+test'",
            "sbt '++2.13' test",
            "sbt '++2.13 test'",
            "sbt ';clean;test'",
        ],
    );
}

#[test]
fn operands_of_builders_outside_the_workspace_are_foreign_code() {
    none_allowed(&[
        "dotnet build /tmp/evil.csproj",
        "dotnet test /tmp/evil.dll",
        "dotnet vstest /tmp/evil.dll",
        "dotnet test -a ./evil",
        "dotnet build /p:CustomBeforeMicrosoftCommonTargets=x",
        "msbuild /tmp/evil.proj",
        "cabal run /tmp/evil.hs",
        "cucumber /tmp/evil.feature",
        "vite build /tmp/evil",
        "next build /tmp/evil",
        "mdbook build /tmp/evil",
        "mdbook build ~/evil",
        "testcafe 'path:/home/ada/evil' tests",
        "testcafe remote tests",
        "rollup -c --watch.onEnd='touch x' -w",
        "rollup -p ./evil.js -i a.js -f es",
        "rollup -c --plugin x",
        "uv run -p /home/ada/evil pytest",
        "uv pip list -p /home/ada/evil",
    ]);
    all(
        Decision::Allow,
        &[
            "dotnet build -p:Configuration=Release",
            "dotnet test tests/A.csproj",
            "mdbook build book",
            "testcafe chrome:headless tests",
            "rollup -c rollup.config.js -w",
            "uv run --python 3.12 pytest",
            "uv run a.py",
        ],
    );
}

#[test]
fn runners_of_modules_and_overridden_settings_are_judged() {
    none_allowed(&[
        "pytest -o 'addopts=-p evil'",
        "pytest -o addopts=--basetemp=src",
        "pytest -o cache_dir=.claude",
        "pytest -o cache_dir=.git",
        "coverage run -m http.server",
        "coverage run -m timeit 'import os; os.system(\"id\")'",
        "coverage run -m pdb",
        "coverage run -m pytest -p evil",
        "coverage erase --data-file=src/a.py",
        "python3 -m trace --count -C . --module http.server",
        "jupytext --check 'touch x' a.ipynb",
    ]);
    all(
        Decision::Allow,
        &[
            "pytest -o cache_dir=.pytest_cache",
            "pytest -o addopts=",
            "pytest --snapshot-update",
            "coverage run -m pytest -q tests",
            "coverage run -m unittest",
            "coverage erase",
            "jupytext --to py a.ipynb",
        ],
    );
}

#[test]
fn options_that_write_or_load_are_not_taken_for_values() {
    none_allowed(&[
        "mlr --icsv put -q 'print|\"touch x\", $a' a.csv",
        "mlr --icsv put -q 'tee>$a.\".csv\", $*' a.csv",
        "mlr --cpuprofile /home/ada/x cat a.csv",
        "as -ad=/home/ada/x a.s",
        "ld -Map /home/ada/x a.o",
        "ld -T /home/ada/x a.o",
        "pygmentize -x -l ./evil.py a.py",
        "nyc --report-dir /home/ada/x npm test",
        "nyc --temp-dir src npm test",
        "nyc -i ./evil.js npm test",
        "stylelint --custom-syntax ./evil.js a.css",
        "stylelint -f /tmp/evil.js a.css",
        "bandit -c /tmp/x -r src",
        "pkg-config --with-path=/tmp/evil --libs x",
        "gpg --show-photos --list-keys",
        "javap -J-javaagent:x A",
        "jps -J-javaagent:x",
        "keytool -J-javaagent:x -list",
        "javadoc -J-javaagent:x A.java",
        "ccache -M 5G",
        "csplit --prefix /home/ada/x a 1",
        "csplit -kf /home/ada/x a 1",
        "csplit -b ../../%d a 1",
        "diffoscope --json /home/ada/x a b",
        "qsv extsort a /home/ada/x",
        "qsv sqlp a \"select * from read_csv('.env')\"",
        "less '+!touch x' a",
        "less +v a",
        "psalm -r /tmp/x",
        "xmllint --xinclude a.xml",
        "xmllint --noent a.xml",
        "xmlstarlet tr x.xsl a.xml",
        "ghc -odir /home/ada/x a.hs",
        "ghc -pgmF ./evil a.hs",
        "stack ghc -- -pgmF ./evil a.hs",
    ]);
    all(
        Decision::Allow,
        &[
            "mlr --icsv --ojson cat a.csv",
            "mlr --icsv filter '$a > 3' a.csv",
            "nyc --reporter=text npm test",
            "stylelint -f json a.css",
            "bandit -c bandit.yaml -r src",
            "pkg-config --cflags --libs gtk4",
            "csplit -f out/x a 1",
            "qsv select a,b a.csv",
            "less +G a",
            "less +/foo a",
        ],
    );
}

#[test]
fn containers_and_forges_show_what_a_line_may_see() {
    none_allowed(&[
        "kubectl cluster-info dump",
        "docker inspect -f '{{with .Config}}{{.Env}}{{end}}' web",
        "docker inspect -f '{{json .}}' web",
        "docker inspect -f '{{ . | json }}' web",
        "docker inspect --format json web",
        "docker inspect web",
        "podman inspect web",
        "gh pr list -R evil.example/secret/b",
        "gh pr list --repo=evil.example/secret/b",
        "gh pr view https://evil.example/secret/b/pull/1",
    ]);
    all(
        Decision::Allow,
        &[
            "docker inspect -f '{{.State.Status}}' web",
            "docker inspect -f '{{json .State}}' web",
            "docker image inspect alpine",
            "docker network inspect bridge",
            "gh pr list -R owner/repo",
            "gh pr view https://github.com/o/r/pull/1",
        ],
    );
}

#[test]
fn verbs_that_send_fetch_listen_or_change_the_user_are_asked_about() {
    none_allowed(&[
        "keytool -printcert -sslserver secret.evil.example",
        "semgrep ci",
        "mvn sonar:sonar",
        "mvn scm:bootstrap",
        "mvn wrapper:wrapper",
        "mvn liquibase:update",
        "mvn flyway:migrate",
        "glow github.com/secret/y",
        "nx g @evil/x:y z",
        "nx migrate latest",
        "nx connect",
        "ng g @evil/x:y",
        "ng update",
        "ng analytics on",
        "helm dependency update",
        "dune tools exec ocamlformat",
        "turbo telemetry enable",
        "turbo link",
        "next telemetry enable",
        "yard config load_plugins true",
        "cspell link add x",
        "karma start",
        "next dev",
        "next start",
        "storybook dev",
    ]);
    all(
        Decision::Allow,
        &[
            "mvn test",
            "mvn -q dependency:tree",
            "glow README.md",
            "nx test app",
            "turbo run build",
            "ng build",
            "ng generate component foo",
            "next build",
            "next dev -H 127.0.0.1",
        ],
    );
}

#[test]
fn ordinary_options_of_builders_are_known() {
    all(
        Decision::Allow,
        &[
            "phpunit --filter Foo",
            "mix test --cover",
            "swift build -c release",
            "rake -T",
            "npx playwright test --project=chromium",
            "playwright test --headed",
            "npx cypress run --spec cypress/e2e/a.cy.ts",
            "gcc -Wl,--gc-sections -o a a.c",
            "gcc -save-temps a.c",
            "ninja -t clean",
            "ghc -Wall a.hs -o a",
            "stack ghc -- -Wall a.hs",
            "mkdocs build --strict",
            "sphinx-build -b html docs docs/_build",
            "tailwindcss -i a.css -o b.css --minify",
            "jest -u",
            "tsc -b --clean",
        ],
    );
}
