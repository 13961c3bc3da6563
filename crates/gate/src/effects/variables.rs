//! Environment variables: which change nothing that matters, and which make programs run, load or reach something else.
//!
//! A variable in neither list is doubt for programs of the system. Programs that run the project's own code may be given any,
//! because they are settings of that code (`DATABASE_URL=… npm test`).

use crate::shell::pattern;

/// What a variable does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variable {
    /// Changes only what is shown, or what the project's own code is told.
    Harmless,
    /// Its value is a directory or file that is written.
    Written,
    /// Its value holds options of this program.
    Options(&'static str),
    /// Its value is a list of options of which only some are harmless.
    Only(&'static [&'static str]),
    /// Its value is an address that is talked to.
    Address,
    /// Makes programs run, load or trust something else.
    Steering,
    /// Nothing is known of it.
    Unknown,
}

/// Variables by name; `*` stands for any letters. The first that matches counts.
const TABLE: &[(&str, Variable)] = &[
    (
        "LANG LANGUAGE LC_* TZ TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CARGO_TERM_*",
        Variable::Harmless,
    ),
    (
        "CI DEBUG VERBOSE V QUIET LOG_LEVEL LOGLEVEL TIMEFORMAT IFS POSIXLY_CORRECT BLOCKSIZE BLOCK_SIZE LS_COLORS GREP_COLOR GREP_COLORS",
        Variable::Harmless,
    ),
    (
        "RUST_BACKTRACE RUST_LIB_BACKTRACE RUST_LOG RUST_LOG_STYLE RUST_TEST_THREADS RUST_MIN_STACK RUST_TEST_NOCAPTURE CARGO_INCREMENTAL CARGO_NET_OFFLINE CARGO_BUILD_JOBS CARGO_PROFILE_*",
        Variable::Harmless,
    ),
    (
        "NODE_ENV NODE_DEBUG NODE_NO_WARNINGS BABEL_ENV NEXT_TELEMETRY_DISABLED UV_THREADPOOL_SIZE TS_NODE_TRANSPILE_ONLY PORT HOST_NAME NEXT_PUBLIC_* VITE_* REACT_APP_*",
        Variable::Harmless,
    ),
    (
        "PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONNOUSERSITE PYTHONFAULTHANDLER PYTHONASYNCIODEBUG PYTHONDEVMODE PYTHONOPTIMIZE PYTHONSAFEPATH PYTHON_COLORS",
        Variable::Harmless,
    ),
    (
        "DJANGO_SETTINGS_MODULE FLASK_ENV FLASK_APP FLASK_DEBUG RAILS_ENV RACK_ENV APP_ENV MIX_ENV ENVIRONMENT SPRING_PROFILES_ACTIVE ASPNETCORE_ENVIRONMENT DOTNET_ENVIRONMENT DOTNET_NOLOGO DOTNET_CLI_TELEMETRY_OPTOUT",
        Variable::Harmless,
    ),
    (
        "GOOS GOARCH GOARM GOAMD64 CGO_ENABLED GOMAXPROCS GOMEMLIMIT GOGC GO111MODULE GOTRACEBACK GOWORK_OFF GOEXPERIMENT",
        Variable::Harmless,
    ),
    (
        "GIT_AUTHOR_* GIT_COMMITTER_* GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_MERGE_AUTOEDIT GIT_ADVICE GIT_LITERAL_PATHSPECS GIT_CEILING_DIRECTORIES GIT_REFLOG_ACTION GIT_DISCOVERY_ACROSS_FILESYSTEM GIT_LFS_SKIP_SMUDGE GIT_DEFAULT_HASH",
        Variable::Harmless,
    ),
    (
        "GH_PROMPT_DISABLED GH_NO_UPDATE_NOTIFIER GH_PAGER_OFF HOMEBREW_NO_AUTO_UPDATE DEBIAN_FRONTEND SYSTEMD_COLORS SYSTEMD_LESS LESS MORE DOCKER_BUILDKIT BUILDKIT_PROGRESS COMPOSE_DOCKER_CLI_BUILD AWS_REGION AWS_DEFAULT_REGION AWS_DEFAULT_OUTPUT AWS_MAX_ATTEMPTS",
        Variable::Harmless,
    ),
    (
        "npm_config_loglevel npm_config_audit npm_config_fund npm_config_offline npm_config_color npm_config_yes NPM_CONFIG_LOGLEVEL NPM_CONFIG_AUDIT NPM_CONFIG_FUND PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INPUT PIP_QUIET UV_OFFLINE UV_NO_PROGRESS",
        Variable::Harmless,
    ),
    (
        "PYTEST_CURRENT_TEST PY_COLORS HYPOTHESIS_PROFILE TEST TEST_* CTEST_OUTPUT_ON_FAILURE CTEST_PARALLEL_LEVEL CMAKE_BUILD_PARALLEL_LEVEL GTEST_* CMAKE_BUILD_TYPE SKIP OMP_NUM_THREADS MKL_NUM_THREADS TOKENIZERS_PARALLELISM CUDA_VISIBLE_DEVICES SOURCE_DATE_EPOCH MALLOC_ARENA_MAX",
        Variable::Harmless,
    ),
    (
        "CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR GOCACHE GOTMPDIR PYTHONPYCACHEPREFIX COVERAGE_FILE TMPDIR TMP TEMP RUFF_CACHE_DIR MYPY_CACHE_DIR PIP_CACHE_DIR npm_config_cache LLVM_PROFILE_FILE XDG_CACHE_HOME XDG_RUNTIME_DIR",
        Variable::Written,
    ),
    ("PYTEST_ADDOPTS", Variable::Options("pytest")),
    ("CFLAGS CXXFLAGS CPPFLAGS LDFLAGS", Variable::Options("gcc")),
    ("GOFLAGS", Variable::Options("go")),
    (
        "GIT_TRACE GIT_TRACE_* GIT_TRACE2 GIT_CURL_VERBOSE NODE_DEBUG_NATIVE",
        Variable::Only(&["0", "1", "2", "true", "false", ""]),
    ),
    (
        "RUSTFLAGS RUSTDOCFLAGS CARGO_BUILD_RUSTFLAGS CARGO_ENCODED_RUSTFLAGS",
        Variable::Only(&[
            "",
            "-D",
            "-W",
            "-A",
            "-F",
            "-D*",
            "-W*",
            "-A*",
            "warnings",
            "-C",
            "-Cdebuginfo=*",
            "-Copt-level=*",
            "-Ctarget-cpu=*",
            "debuginfo=*",
            "opt-level=*",
            "target-cpu=*",
            "instrument-coverage",
            "-Cinstrument-coverage",
            "--cfg",
            "tokio_unstable",
            "unused*",
            "dead_code",
            "clippy::*",
            "missing_docs",
            "rustdoc::*",
            "--cap-lints",
            "warn",
            "allow",
            "overflow-checks=*",
        ]),
    ),
    (
        "NODE_OPTIONS",
        Variable::Only(&[
            "",
            "--max-old-space-size=*",
            "--max_old_space_size=*",
            "--max-http-header-size=*",
            "--experimental-vm-modules",
            "--no-warnings",
            "--trace-warnings",
            "--unhandled-rejections=*",
            "--openssl-legacy-provider",
            "--enable-source-maps",
            "--stack-trace-limit=*",
            "--trace-deprecation",
            "--no-deprecation",
            "--experimental-strip-types",
            "--dns-result-order=*",
            "--disable-warning=*",
            "--trace-uncaught",
            "--no-experimental-fetch",
        ]),
    ),
    (
        "CC CXX LD AR CPP FC HOSTCC",
        Variable::Only(&[
            "",
            "cc",
            "c++",
            "gcc",
            "gcc-*",
            "g++",
            "g++-*",
            "clang",
            "clang-*",
            "clang++",
            "clang++-*",
            "ld",
            "ld.*",
            "lld",
            "ar",
            "llvm-ar",
            "gcc-ar",
            "cpp",
            "gfortran",
            "tcc",
            "ccache",
        ]),
    ),
    (
        "http_proxy https_proxy ftp_proxy all_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY RSYNC_PROXY DOCKER_HOST",
        Variable::Address,
    ),
    (
        "PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL UV_DEFAULT_INDEX GOPROXY NPM_CONFIG_REGISTRY npm_config_registry AWS_ENDPOINT_URL* GH_HOST GITHUB_API_URL KUBERNETES_MASTER VAULT_ADDR",
        Variable::Address,
    ),
    (
        "LD_* DYLD_* GIT_* BASH_* ZDOTDIR PERL5* PERLLIB PERL_* RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_* PYTHONPATH PYTHONHTTPSVERIFY HUSKY* PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONBREAKPOINT PYTHONEXECUTABLE PYTHONPLATLIBDIR PYTHONCASEOK PYTHONWARNINGS PYTHONUSERBASE",
        Variable::Steering,
    ),
    ("NODE_* npm_config_* NPM_CONFIG_* YARN_* PNPM_* COREPACK_* BUN_* DENO_*", Variable::Steering),
    (
        "RUSTC* RUSTDOC CARGO_* RUSTUP_* GOROOT GOPATH GOBIN GOENV GOTOOLCHAIN GONOSUMDB GONOSUMCHECK GOPRIVATE GOINSECURE GOSUMDB GOMODCACHE GODEBUG GOTOOLDIR GOVCS GOAUTH GOCACHEPROG GCCGO GOEXE GOWORK CGO_* AS CMAKE_* MAKEFLAGS MAKEFILES GNUMAKEFLAGS MFLAGS SHELL CONFIG_SHELL NINJA* MESON*",
        Variable::Steering,
    ),
    (
        "JAVA_* _JAVA_OPTIONS JDK_* MAVEN_* MVN_* GRADLE_* ANT_* KOTLIN_* SBT_* CLASSPATH DOTNET_* COREHOST* CORECLR_* COMPlus_* MSBUILD*",
        Variable::Steering,
    ),
    (
        "PAGER MANPAGER *_PAGER EDITOR VISUAL *_EDITOR BROWSER LESSOPEN LESSCLOSE LESSKEY* LESSHISTFILE MANOPT MANPATH MANROFFOPT GROFF_* TERMINFO* TERMCAP",
        Variable::Steering,
    ),
    ("*_ASKPASS SSH_* *_RSH RSYNC_* CVS_* SVN_* HGRCPATH HGPLAIN P4PORT P4CONFIG", Variable::Steering),
    (
        "PATH HOME USER LOGNAME CDPATH ENV FPATH XDG_* PS1 PS2 PS4 PROMPT PROMPT_COMMAND SHELLOPTS BASHOPTS HIST* GLOBIGNORE EXECIGNORE INPUTRC FCEDIT MAIL* TMOUT",
        Variable::Steering,
    ),
    (
        "TAR_OPTIONS GZIP GZIP_OPT BZIP* XZ_* ZSTD_* ZIPOPT UNZIP* ZIPINFO* GREP_OPTIONS RIPGREP_CONFIG_PATH FZF_* BAT_* ACKRC ACK_* WGETRC CURL_HOME CURL_* SSL* REQUESTS_CA_BUNDLE NETRC OPENSSL_*",
        Variable::Steering,
    ),
    (
        "DOCKER_* CONTAINER_* KUBE* HELM_* AWS_* GOOGLE_* CLOUDSDK_* AZURE_* TF_* VAULT_* GH_* GITHUB_* GITLAB_*",
        Variable::Steering,
    ),
    (
        "PIP_* UV_* POETRY_* PIPENV_* VIRTUAL_ENV CONDA_* TOX_* PYTEST_* COVERAGE_* MYPY* RUFF_* BLACK_* PYLINT* FLAKE8* NOX* PYENV_* PRE_COMMIT_*",
        Variable::Steering,
    ),
    (
        "GCONV_PATH LOCPATH NLSPATH HOSTALIASES LOCALDOMAIN RES_OPTIONS MALLOC_* GLIBC_* LOCALE_ARCHIVE GETCONF_DIR NIX_* AUTOCONF AUTOMAKE AUTOM4TE ACLOCAL* LIBTOOL* PKG_CONFIG* M4 YACC LEX",
        Variable::Steering,
    ),
    (
        "PGHOST PGPORT PGSERVICE* PGSYSCONFDIR PGPASSFILE PGSSL* PSQL* MYSQL_* SQLITE_* REDISCLI_* MONGO_*",
        Variable::Steering,
    ),
    ("MARVIN_* CLAUDE_* CODEX_* GEMINI_* ANTHROPIC_* OPENAI_*", Variable::Steering),
];

/// What is known of a variable.
pub(super) fn classify(name: &str) -> Variable {
    let fits = |names: &str| {
        names.split_ascii_whitespace().any(|own| match own.split_once('*') {
            None => own == name,
            Some((start, "")) => name.starts_with(start),
            Some(_) => pattern::matches(own, name),
        })
    };
    TABLE.iter().find(|(names, _)| fits(names)).map_or(Variable::Unknown, |row| row.1)
}

/// Does the variable make programs run, load or reach something else, also when it was exported before?
pub(crate) fn steers(name: &str) -> bool {
    matches!(
        classify(name),
        Variable::Steering | Variable::Address | Variable::Only(_) | Variable::Options(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_that_matches_counts() {
        for (name, expected) in [
            ("LC_ALL", Variable::Harmless),
            ("RUST_LOG", Variable::Harmless),
            ("GIT_AUTHOR_NAME", Variable::Harmless),
            ("GIT_EXTERNAL_DIFF", Variable::Steering),
            ("CARGO_TARGET_DIR", Variable::Written),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", Variable::Steering),
            ("LD_PRELOAD", Variable::Steering),
            ("https_proxy", Variable::Address),
            ("SYSTEMD_PAGER", Variable::Steering),
            ("DATABASE_URL", Variable::Unknown),
        ] {
            assert_eq!(classify(name), expected, "{name}");
        }
    }
}
