//! Packages of distributions and of languages with tools of their own.

use super::Look;
use super::package::changes;

/// Packages of the system.
pub(super) fn system(look: &mut Look<'_>, base: &str, words: &[String], all: &[String]) {
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let flags = all.join(" ");
    let flag = |starts: &[&str]| all.iter().any(|word| starts.iter().any(|start| word.starts_with(start)));
    let looks = matches!(
        first,
        "list"
            | "search"
            | "show"
            | "info"
            | "policy"
            | "depends"
            | "rdepends"
            | "showpkg"
            | "showsrc"
            | "madison"
            | "changelog"
            | "repolist"
            | "provides"
            | "history"
            | "check-update"
            | "repoquery"
            | "deps"
            | "uses"
            | "leaves"
            | "doctor"
            | "outdated"
            | "desc"
            | "find"
            | "help"
            | "whatprovides"
            | "se"
            | "version"
            | "cat"
            | "formulae"
            | "casks"
            | "commands"
            | "pkgnames"
            | "dotty"
            | "stats"
            | "why"
            | "ls"
            | "lu"
            | "lr"
            | "remotes"
            | "connections"
            | "interfaces"
            | "tap-info"
            | "log"
            | "options"
            | "repos"
            | "packages"
            | "patterns"
    ) || base == "apt-cache"
        || base == "brew"
            && (matches!(
                first,
                "config"
                    | "--prefix"
                    | "--cellar"
                    | "--cache"
                    | "--repository"
                    | "shellenv"
                    | "missing"
                    | "--env"
                    | "--version"
                    | "--caskroom"
            ) || has("--prefix")
                || has("--cellar")
                || first == "services" && words.get(1).is_some_and(|word| word == "list" || word == "info"))
        || base == "dpkg"
            && flag(&[
                "-l",
                "-L",
                "-s",
                "-S",
                "-p",
                "--list",
                "--status",
                "--search",
                "--print",
                "-I",
                "-c",
                "--info",
                "--contents",
                "--compare",
                "--get-sel",
                "--verify",
                "-V",
                "--audit",
                "-C",
            ])
        || matches!(base, "rpm")
            && (flag(&[
                "-q",
                "--query",
                "-V",
                "--eval",
                "-E",
                "--checksig",
                "-K",
                "--showrc",
                "--verify",
                "--querytags",
            ]))
        || matches!(base, "rpmquery" | "rpmverify")
        || matches!(base, "pacman" | "yay" | "paru")
            && flag(&["-Q", "-Ss", "-Si", "-T", "-Sl", "-Sg", "-Qi"])
        || matches!(base, "nix-env") && flag(&["-q", "--query"])
        || matches!(base, "emerge") && flag(&["-s", "--search", "-p", "--pretend", "--info"])
        || base == "apk"
            && matches!(first, "info" | "search" | "stats" | "policy" | "list" | "version" | "dot")
        || has("--dry-run")
        || has("--simulate") && base.starts_with("apt");
    let runs = ["Pre-Invoke", "Post-Invoke", "lua:", "%(", "os.execute", "Pre-Install-Pkgs", "--root-dir"]
        .iter()
        .any(|mark| flags.contains(mark));
    let vital = matches!(first, "remove" | "purge" | "autoremove" | "erase" | "del")
        && words.iter().skip(1).any(|word| {
            super::security_tools::is_defence(word)
                || matches!(
                    word.as_str(),
                    "systemd"
                        | "libc6"
                        | "glibc"
                        | "bash"
                        | "coreutils"
                        | "sudo"
                        | "openssh-server"
                        | "linux-image"
                        | "kernel"
                        | "python3"
                        | "apt"
                        | "dpkg"
                        | "*"
                        | "apparmor"
                )
        });
    if runs {
        look.deny("package.run", "a setting makes the package manager run something");
    } else if vital || has("--force-all") && base == "dpkg" {
        look.deny("package.lost", "it removes what the machine needs");
    } else if look.rest().iter().any(|word| word.beginning().starts_with("/dev/fd/")) && look.fetched {
        look.deny("code.network", "it installs what came from the network");
    } else if !looks {
        changes(look, all, "it changes the system's packages");
    }
}

/// Packages of other languages, and the tools that build with them.
pub(super) fn other(look: &mut Look<'_>, base: &str, words: &[String], all: &[String]) {
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    let looks = matches!(
        first,
        "list"
            | "ls"
            | "show"
            | "info"
            | "search"
            | "outdated"
            | "why"
            | "tree"
            | "check"
            | "doctor"
            | "validate"
            | "version"
            | "versions"
            | "help"
            | "env"
            | "which"
            | "current"
            | "environment"
            | "specification"
            | "contents"
            | "dependency"
            | "query"
            | "where"
            | "licenses"
            | "depends"
            | "config-path"
            | "analyze"
            | "analyse"
            | "--list"
            | "whence"
            | "fetch-list"
            | "list-remote"
            | "ls-remote"
            | "root"
            | "prefix"
            | "diagnose"
            | "status"
            | "suggests"
            | "browse"
            | "home"
            | "prohibits"
            | "fund"
            | "show-path"
            | "path"
            | "exec-path"
            | "latest"
            | "plugins"
            | "settings"
    ) && !(matches!(first, "env" | "settings" | "plugins") && words.len() > 1);
    let builds = match base {
        "mix" => matches!(
            first,
            "compile"
                | "test"
                | "format"
                | "run"
                | "credo"
                | "dialyzer"
                | "phx.server"
                | "phx.routes"
                | "docs"
                | "xref"
                | "clean"
                | "coveralls"
                | "sobelow"
                | "help"
                | "new"
                | "ecto.migrations"
                | "hex.outdated"
                | "deps.tree"
                | "deps"
                | "app.tree"
        ),
        "dotnet" => {
            matches!(
                first,
                "build"
                    | "test"
                    | "run"
                    | "clean"
                    | "format"
                    | "restore"
                    | "watch"
                    | "new"
                    | "pack"
                    | "msbuild"
                    | "sln"
                    | "vstest"
                    | "script"
            ) && !(first == "new" && has("install"))
        }
        "swift" => {
            matches!(first, "build" | "test" | "run" | "format")
                || first == "package"
                    && matches!(second, "describe" | "dump-package" | "show-dependencies" | "clean" | "init")
        }
        "cabal" => matches!(
            first,
            "build"
                | "test"
                | "run"
                | "bench"
                | "repl"
                | "haddock"
                | "clean"
                | "check"
                | "outdated"
                | "configure"
                | "sdist"
                | "init"
                | "freeze"
                | "v2-build"
                | "v2-test"
        ),
        "stack" => matches!(
            first,
            "build"
                | "test"
                | "run"
                | "bench"
                | "haddock"
                | "clean"
                | "path"
                | "ghc"
                | "dot"
                | "new"
                | "init"
                | "query"
        ),
        "opam" => matches!(first, "lint" | "exec") && words.len() < 2,
        "flutter" | "dart" | "pub" => matches!(
            first,
            "test"
                | "analyze"
                | "format"
                | "build"
                | "run"
                | "compile"
                | "fix"
                | "doc"
                | "devices"
                | "create"
                | "clean"
                | "gen-l10n"
                | "emulators"
                | "drive"
        ),
        "rebar3" => matches!(
            first,
            "compile"
                | "ct"
                | "eunit"
                | "dialyzer"
                | "shell"
                | "clean"
                | "xref"
                | "fmt"
                | "lint"
                | "tree"
                | "proper"
        ),
        "lein" => matches!(
            first,
            "test"
                | "run"
                | "compile"
                | "check"
                | "clean"
                | "jar"
                | "uberjar"
                | "deps"
                | "classpath"
                | "javac"
                | "new"
        ),
        "bundle" | "bundler" => matches!(first, "exec" | "viz" | "platform"),
        "zig" => matches!(
            first,
            "build"
                | "test"
                | "fmt"
                | "run"
                | "cc"
                | "c++"
                | "build-exe"
                | "build-lib"
                | "build-obj"
                | "ast-check"
                | "env"
                | "targets"
                | "zen"
                | "init"
                | "translate-c"
        ),
        "elm" => matches!(first, "make" | "repl" | "reactor" | "init" | "diff" | "bump"),
        "shards" | "nimble" | "dub" => {
            matches!(first, "build" | "test" | "run" | "check" | "describe" | "lint" | "c" | "dump")
        }
        "raco" => matches!(first, "test" | "make" | "exe" | "fmt" | "docs"),
        "nix" => {
            matches!(
                first,
                "build" | "eval" | "fmt" | "log" | "path-info" | "why-depends" | "derivation" | "hash"
            ) && second != "to-sri"
                && !all.iter().any(|word| {
                    word.contains("github:") || word == "-c" || word == "--command" || word == "--impure"
                })
        }
        "composer" => matches!(
            first,
            "validate" | "dump-autoload" | "test" | "run-script" | "check-platform-reqs" | "diagnose" | "run"
        ),
        "rustup" => {
            matches!(first, "doc" | "which")
                || matches!((first, second), ("toolchain" | "target" | "component", "list"))
        }
        "pod" | "carthage" => matches!(first, "lib" | "spec") && second == "lint",
        "conan" => matches!(first, "graph" | "inspect" | "profile") && second != "detect",
        _ => false,
    };
    let runs = all.iter().any(|word| word == "-e" || word == "--editor" || word.starts_with("--editor="))
        && matches!(base, "gem" | "composer")
        || base == "composer" && has("exec");
    if matches!(
        (base, first),
        ("gem", "yank" | "owner" | "signin")
            | ("hex", "publish")
            | ("mix", "hex.publish" | "hex.retire" | "ecto.drop" | "ecto.reset")
    ) {
        look.deny("package.lost", "it takes away what others use, or deletes data");
    } else if (looks || builds) && !runs {
        if first == "exec" && words.get(1).is_none() && !look.starts {
            look.ask("package", "what it runs is not known");
        }
    } else if words.is_empty() && (has("--version") || has("-v") || has("-V") || has("-h") || has("--list")) {
    } else {
        changes(look, all, "it installs, publishes or runs packages");
    }
}
