//! Names of environment variables that change what other programs do.

/// Variables that make other programs run or load something, or look for programs elsewhere.
const NOTABLE: [&str; 60] = [
    "PATH",
    "HOME",
    "CDPATH",
    "GLOBIGNORE",
    "XDG_CONFIG_HOME",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "NODE_OPTIONS",
    "NODE_PATH",
    "JAVA_TOOL_OPTIONS",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "BROWSER",
    "HISTFILE",
    "HISTSIZE",
    "HISTFILESIZE",
    "HISTCONTROL",
    "HISTIGNORE",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "PYTHONHTTPSVERIFY",
    "GIT_SSL_NO_VERIFY",
    "HUSKY",
];

/// Variables whose value is a command, or flags with which a program is started.
const COMMANDS: [&str; 49] = [
    "LESSEDIT",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "MAKEFILES",
    "PERLLIB",
    "PYTHONUSERBASE",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "AWKPATH",
    "AWKLIBPATH",
    "GCC_EXEC_PREFIX",
    "COMPILER_PATH",
    "LOCPATH",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
    "VIMINIT",
    "EXINIT",
    "AUTOM4TE",
    "AUTOCONF",
    "AUTOMAKE",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "RUSTDOC",
    "TAR_OPTIONS",
    "RSYNC_RSH",
    "CVS_RSH",
    "SVN_SSH",
    "SUDO_ASKPASS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAVEN_OPTS",
    "JAVA_OPTS",
    "_JAVA_OPTIONS",
    "GRADLE_OPTS",
    "JDK_JAVA_OPTIONS",
    "PIP_CONFIG_FILE",
    "NPM_CONFIG_SCRIPT_SHELL",
    "npm_config_script_shell",
    "YARN_RC_FILENAME",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PERL5SHELL",
    "GCONV_PATH",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "TERMINFO",
];

/// Does this variable change what later programs do?
#[must_use]
pub fn is_notable(name: &str) -> bool {
    NOTABLE.contains(&name)
        || is_command_variable(name)
        || name.starts_with("LD_")
        || name.starts_with("DYLD_")
        || name.starts_with("BASH_FUNC_")
        || name.starts_with("GIT_CONFIG_KEY")
        || crate::effects::steers(name)
}

/// Is the value of this variable a command, or flags of one?
#[must_use]
pub fn is_command_variable(name: &str) -> bool {
    const ENDS: [&str; 6] = ["_ASKPASS", "_RUNNER", "_LINKER", "_WRAPPER", "_BROWSER", "_SSH_COMMAND"];
    COMMANDS.contains(&name) || !NOTABLE.contains(&name) && ENDS.iter().any(|end| name.ends_with(end))
}
