//! Packages: of languages, of the system, and the tools that run what they bring.

use super::arguments::Arguments;
use super::{Look, common_flags, distribution};
use crate::shell::Word;

/// Scripts of a project that reach beyond it, by their names.
const REACHING: [&str; 14] = [
    "deploy",
    "release",
    "publish",
    "upload",
    "push",
    "migrate",
    "prod",
    "seed",
    "destroy",
    "postinstall",
    "preinstall",
    "drop",
    "reset",
    "teardown",
];

/// Flags that name the directory or the file of another project.
const ELSEWHERE: [&str; 6] = ["--manifest-path", "--prefix", "--cwd", "--dir", "--project", "-C"];

/// Judges package managers; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    let words: Vec<String> = arguments.operands.iter().map(Word::shown).collect();
    let all: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let elsewhere = Arguments::new(look.rest(), &ELSEWHERE);
    for value in elsewhere.values(&ELSEWHERE) {
        common_flags::runs_at(look, value);
    }
    if base == "go" && words.first().is_some_and(|verb| matches!(verb.as_str(), "test" | "run" | "generate"))
    {
        for word in arguments.operands.iter().filter(|word| word.beginning().starts_with(['/', '~', '.'])) {
            common_flags::runs_at(look, word);
        }
    }
    match base {
        "npm" | "pnpm" | "yarn" | "bun" | "cnpm" | "corepack" => node(look, base, &words, &all),
        "npx" | "bunx" | "pnpx" | "uvx" | "pipx" | "dlx" => runner(look, base, &words, &all),
        "cargo" => cargo(look, &words, &all),
        "go" => go(look, &words, &all),
        "pip" | "pip2" | "pip3" | "uv" | "poetry" | "pipenv" | "pdm" | "rye" | "hatch" | "conda"
        | "mamba" | "micromamba" | "easy_install" | "pixi" => python(look, base, &words, &all),
        "apt" | "apt-get" | "apt-cache" | "aptitude" | "dpkg" | "yum" | "dnf" | "dnf5" | "microdnf"
        | "rpm" | "rpmquery" | "rpmdb" | "rpmverify" | "zypper" | "pacman" | "yay" | "paru" | "pamac"
        | "apk" | "brew" | "snap" | "flatpak" | "nix-env" | "nix-channel" | "emerge" | "port" | "pkg"
        | "pkgin" | "opkg" | "xbps-install" | "eopkg" | "guix" | "choco" | "scoop" | "winget" | "mas"
        | "tdnf" => distribution::system(look, base, &words, &all),
        "gem" | "bundle" | "bundler" | "composer" | "mix" | "hex" | "rebar3" | "dotnet" | "nuget"
        | "opam" | "cabal" | "stack" | "luarocks" | "conan" | "vcpkg" | "flutter" | "dart" | "pub"
        | "swift" | "pod" | "carthage" | "nix" | "mise" | "asdf" | "nvm" | "fnm" | "volta" | "rustup"
        | "ghcup" | "sdk" | "pyenv" | "rbenv" | "nodenv" | "jenv" | "cpan" | "cpanm" | "spack" | "zig"
        | "elm" | "lein" | "shards" | "nimble" | "dub" | "raco" | "ansible-galaxy" | "krew" => {
            distribution::other(look, base, &words, &all);
        }
        _ => return false,
    }
    true
}

/// Code that is installed from a bare address, or over a line that anybody may change.
fn from_anywhere(all: &[String]) -> bool {
    all.iter().any(|word| {
        let plain = word.contains("http://") && !word.contains("localhost") && !word.contains("127.0.0.1");
        let host = word.split_once("://").map(|(_, rest)| rest.split(['/', ':']).next().unwrap_or_default());
        plain
            || host.is_some_and(|host| {
                host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| !address.is_loopback())
            })
            || word == "--trusted-host"
    })
}

pub(super) fn changes(look: &mut Look<'_>, all: &[String], reason: &'static str) {
    if from_anywhere(all) {
        look.deny("code.network", "it installs code from an address that nobody vouches for");
    } else {
        look.ask("package", reason);
    }
}

fn node(look: &mut Look<'_>, base: &str, words: &[String], all: &[String]) {
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    if all.iter().any(|word| {
        word.starts_with("--script-shell") || word.starts_with("--node-options") || word.starts_with("--call")
    }) {
        look.ask("package.run", "a flag makes it run a program of its own choice");
        let inner: Vec<&String> = all.iter().filter(|word| word.contains(' ')).collect();
        for text in inner {
            look.nested(text);
        }
        return;
    }
    match first {
        "test" | "t" | "tst" | "start" | "stop" | "build" | "lint" | "dev" | "typecheck" | "check"
        | "format" | "fmt" | "coverage" | "bench" | "serve" | "storybook" | "e2e" | "type-check" | "tsc"
        | "eslint" | "prettier" | "jest" | "vitest" => {}
        "ls" | "list" | "ll" | "la" | "view" | "info" | "show" | "v" | "outdated" | "why" | "explain"
        | "fund" | "doctor" | "prefix" | "root" | "bin" | "help" | "help-search" | "search" | "sbom"
        | "query" | "licenses" | "workspaces" | "completion" | "versions" | "get" | "constraints" => {}
        "workspace" => {
            if words
                .iter()
                .skip(2)
                .any(|word| matches!(word.as_str(), "add" | "remove" | "install" | "publish" | "up"))
            {
                changes(look, all, "it changes dependencies");
            }
        }
        "audit" if base == "npm" && second != "fix" && !has("fix") => {}
        "version" if second.is_empty() => {}
        "config" | "c" if matches!(second, "get" | "list" | "ls") => {}
        "pm" if matches!(second, "ls" | "bin") => {}
        "pack" if has("--dry-run") => {}
        "publish" if has("--dry-run") => {}
        "run" | "run-script" | "rum" | "urn" => {
            let written = look
                .segment
                .words
                .iter()
                .any(|word| word.is("-C") || word.is("--prefix") || word.is("--cwd"));
            if written && second.len() < 4 {
                look.ask("script", format!("what the script `{second}` does is not known"));
            }
            if REACHING.iter().any(|word| second.contains(word)) {
                look.ask("script", format!("the script `{second}` reaches beyond the project"));
            }
        }
        "token" | "adduser" | "login" => look.deny("secret", "it works with tokens of the registry"),
        "unpublish" | "deprecate" | "owner" | "access" => {
            look.deny("package.lost", "it takes away what others use");
        }
        "" if has("--version") || has("-v") || has("-V") => {}
        "" => changes(look, all, "it installs packages"),
        "install" | "i" | "ci" | "add" | "remove" | "rm" | "uninstall" | "un" | "update" | "up"
        | "upgrade" | "exec" | "x" | "dlx" | "create" | "init" | "link" | "unlink" | "publish" | "cache"
        | "config" | "set" | "version" | "dedupe" | "prune" | "rebuild" | "audit" | "pack" | "patch"
        | "import" | "store" | "global" | "pm" | "self-update" | "env" | "setup" | "deploy"
        | "shrinkwrap" | "pkg" => changes(look, all, "it installs, publishes or runs packages"),
        // Scripts of the project may be named without `run`.
        script if matches!(base, "yarn" | "pnpm" | "bun") && words.len() < 3 && !script.contains('/') => {
            if REACHING.iter().any(|word| script.contains(word)) || !script.contains(['.', ':', '-']) {
                look.ask("script", format!("what `{base} {script}` does is not known"));
            }
        }
        _ => changes(look, all, "it installs, publishes or runs packages"),
    }
}

/// `npx X`: known tools of a project run; others are fetched and run.
fn runner(look: &mut Look<'_>, base: &str, words: &[String], all: &[String]) {
    let has = |word: &str| all.iter().any(|own| own == word);
    if base == "pipx" {
        if !words.first().is_some_and(|word| matches!(word.as_str(), "list" | "environment" | "--version")) {
            changes(look, all, "it installs or runs packages");
        }
        return;
    }
    let Some(tool) = words.first() else { return look.ask("package.run", "what it runs is not known") };
    let rest: Vec<String> = all.iter().skip_while(|word| *word != tool).skip(1).cloned().collect();
    if matches!(
        tool.as_str(),
        "prisma"
            | "sequelize"
            | "sequelize-cli"
            | "knex"
            | "typeorm"
            | "drizzle-kit"
            | "supabase"
            | "mikro-orm"
    ) {
        let first = rest.iter().find(|word| !word.starts_with('-')).cloned().unwrap_or_default();
        return super::database::framework(look, &rest, &first);
    }
    // Agents by the names of their packages: what they are told decides.
    let package =
        tool.rsplit_once('@').map_or(tool.as_str(), |(name, _)| if name.is_empty() { tool } else { name });
    let agent = match package {
        "@anthropic-ai/claude-code" => "claude",
        "@openai/codex" => "codex",
        "@google/gemini-cli" => "gemini",
        _ => "",
    };
    if let Ok(line) = shlex::try_join(std::iter::once(agent).chain(rest.iter().map(String::as_str)))
        && !agent.is_empty()
    {
        look.nested(&line);
    }
    let known = super::facts::find(tool).is_some_and(|facts| {
        matches!(
            facts.class,
            super::facts::Class::Build
                | super::facts::Class::Change
                | super::facts::Class::Read
                | super::facts::Class::Convert
        )
    });
    let yes = has("-y")
        || has("--yes")
        || tool.contains('@') && !tool.starts_with('@')
        || has("-p")
        || has("--package");
    // `uvx` has no tools of the project.
    if known && !yes && base != "uvx" {
        if let Ok(line) =
            shlex::try_join(std::iter::once(tool.as_str()).chain(rest.iter().map(String::as_str)))
        {
            look.nested(&line);
        }
        return;
    }
    changes(look, all, "it fetches a package and runs it");
}

fn cargo(look: &mut Look<'_>, words: &[String], all: &[String]) {
    let first = words.first().map_or("", String::as_str);
    let verb = if first.starts_with('+') { words.get(1).map_or("", String::as_str) } else { first };
    if all.iter().any(|word| {
        word.contains("rustc-wrapper")
            || word.contains("build.rustc")
            || word.contains(".runner=")
            || word.contains("linker=")
    }) {
        return look.ask("package.run", "a setting makes cargo run a program of its own choice");
    }
    match verb {
        "build" | "b" | "check" | "c" | "test" | "t" | "run" | "r" | "bench" | "doc" | "d" | "clippy"
        | "fmt" | "tree" | "metadata" | "clean" | "search" | "info" | "verify-project" | "pkgid"
        | "locate-project" | "read-manifest" | "help" | "version" | "nextest" | "report" | "expand"
        | "udeps" | "deny" | "audit" | "outdated" | "llvm-cov" | "tarpaulin" | "miri" | "new" | "init"
        | "rustc" | "rustdoc" | "bloat" | "asm" | "machete" | "hack" | "insta" | "fuzz" | "config"
        | "xtask" | "watch" | "sort" | "geiger" | "about" | "msrv" | "semver-checks" | "public-api"
        | "criterion" | "flamegraph" | "mutants" | "kani" | "shear" | "spellcheck" | "careful"
        | "deadlinks" | "readme" | "cache" => {
            if verb == "watch"
                && let Some(command) = all.iter().skip_while(|word| *word != "-s").nth(1)
            {
                let command = command.clone();
                look.nested(&command);
            }
        }
        "fix" if !all.iter().any(|word| word == "--allow-dirty" || word == "--allow-no-vcs") => {}
        "" => {}
        "yank" | "owner" => look.deny("package.lost", "it takes away what others use"),
        "login" | "logout" => look.ask("secret", "it works with tokens of the registry"),
        verb => {
            let reason = format!("`cargo {verb}` changes dependencies, installs or publishes");
            if from_anywhere(all) {
                look.deny("code.network", "it installs code from an address that nobody vouches for");
            } else {
                look.ask("package", reason);
            }
        }
    }
}

fn go(look: &mut Look<'_>, words: &[String], all: &[String]) {
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    match first {
        "build" | "test" | "vet" | "fmt" | "run" | "doc" | "list" | "env" | "version" | "tool"
        | "generate" | "clean" | "bug" | "fix" | "help" | "telemetry" => {
            let elsewhere = first == "run" && words.iter().skip(1).any(|word| word.contains('@'));
            let runs = all.iter().any(|word| {
                ["-exec", "-toolexec", "-vettool", "--exec", "--toolexec"]
                    .iter()
                    .any(|flag| word.starts_with(flag))
            });
            if elsewhere
                || first == "env" && (has("-w") || has("-u"))
                || runs
                || first == "clean" && (has("-modcache") || has("-cache"))
            {
                look.ask("package", "it runs code from elsewhere, or changes what all projects share");
            }
        }
        "mod" if matches!(second, "graph" | "why") => {}
        "" => {}
        _ => changes(look, all, "it brings code from elsewhere"),
    }
}

fn python(look: &mut Look<'_>, base: &str, words: &[String], all: &[String]) {
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    let runs = all.iter().any(|word| word == "--editor" || word.starts_with("--editor="));
    let looks = match first {
        "list" | "show" | "freeze" | "check" | "debug" | "inspect" | "index" | "hash" | "help" | "search"
        | "info" | "tree" | "version" | "why" | "outdated" | "run" | "test" | "build" | "fmt" | "lint"
        | "graph" | "about" | "completion" | "format" => true,
        "config" => base == "pip" && matches!(second, "get" | "list" | "debug"),
        "env" => matches!(second, "list" | "info" | ""),
        "cache" => base == "pip" && matches!(second, "dir" | "info" | "list"),
        "pip" => matches!(second, "list" | "show" | "freeze" | "check" | "tree" | "compile"),
        "" => has("--version") || has("-V") || has("--info"),
        _ => false,
    };
    if !looks || runs {
        changes(look, all, "it changes the environment or its packages");
    }
}
