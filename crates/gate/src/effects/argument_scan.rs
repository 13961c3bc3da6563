//! What words give away whatever the program is: credentials, start-up files and shells that hide in arguments.

use super::arguments::tail;
use super::facts::Class;
use super::{Act, Look, Place};
use crate::shell::{self, Word};

/// Programs whose words are text or names, never files that are opened.
pub(super) fn is_text(base: &str) -> bool {
    matches!(
        base,
        "echo"
            | "printf"
            | "cd"
            | "pushd"
            | "popd"
            | "test"
            | "["
            | "true"
            | "false"
            | ":"
            | "basename"
            | "dirname"
            | "export"
            | "local"
            | "declare"
            | "typeset"
            | "readonly"
            | "unset"
            | "alias"
            | "type"
            | "which"
            | "whereis"
            | "command"
            | "man"
            | "help"
            | "apropos"
            | "whatis"
            | "pgrep"
            | "pidof"
            | "ps"
            | "expr"
            | "let"
            | "set"
            | "shift"
            | "return"
            | "exit"
            | "trap"
            | "read"
            | "mapfile"
            | "readarray"
            | "seq"
            | "sleep"
            | "figlet"
            | "cowsay"
            | "toilet"
            | "cowthink"
            | "mktemp"
            | "hash"
            | "umask"
            | "complete"
            | "compgen"
            | "tput"
            | "yes"
            | "shopt"
            | "ulimit"
            | "logger"
            | "notify-send"
    )
}

/// What any word may give away: credentials, disks, start-up files. `strict` is for programs that may write what they name.
pub(super) fn generic(look: &mut Look<'_>, strict: bool) {
    let words: Vec<Word> = look.rest().to_vec();
    let network = look.fetched
        && strict
        && words.iter().any(|word| word.beginning().starts_with("/dev/fd/6"))
        && !look.segment.words.first().is_some_and(|word| word.is("diff") || word.is("cat"));
    if network {
        look.deny("code.network", "it takes what came from the network as its own");
    }
    // What a program is told through a pipe.
    let told = look.segment.input.as_ref().filter(|_| strict).and_then(|stream| stream.text.clone());
    let told = told.filter(|text| text.len() < 4_000 && text.contains('/')).map(Word::known);
    for word in words.iter().chain(told.iter()) {
        for candidate in candidates(word) {
            match look.place(&candidate) {
                Place::Secret => look.act(Act::Read, &candidate),
                Place::ProjectSecret if strict => look.act(Act::Read, &candidate),
                Place::StartUp if strict => look.deny(
                    "word.start-up",
                    format!(
                        "it names what is run or trusted without being asked for: `{}`",
                        candidate.shown()
                    ),
                ),
                Place::History if strict => look.act(Act::Read, &candidate),
                Place::Vital
                    if !["/etc", "/boot", "/proc", "/sys"]
                        .iter()
                        .any(|root| candidate.beginning().starts_with(root)) => {}
                Place::Vital | Place::Device | Place::Root if strict => {
                    let place = look.place(&candidate).describe();
                    look.ask("word.path", format!("it names {place}: `{}`", candidate.shown()));
                }
                _ => {}
            }
        }
    }
}

/// The paths that a word may hold: itself, behind `=`, `@`, `:`, a flag's letter, or among other text.
pub(super) fn candidates(word: &Word) -> Vec<Word> {
    let text = word.beginning();
    let mut found = Vec::new();
    let looks_like_path = |text: &str| text.starts_with(['/', '~', '.']) || text.contains('/');
    if !looks_like_path(&text) && !text.contains([':', '=', '@']) {
        return found;
    }
    if looks_like_path(&text) && !text.starts_with('-') {
        found.push(word.clone());
    }
    for (at, mark) in text.match_indices(['=', '@', ':', ',']) {
        let rest = tail(word, at + mark.len());
        if looks_like_path(&rest.beginning()) && !rest.beginning().starts_with("//") {
            found.push(rest);
        }
    }
    if let Some(path) = text.strip_prefix("file://") {
        found.push(Word::known(path));
    }
    let text = text.replace(['"', '\''], " ");
    if text.starts_with('-') && !text.starts_with("--") && text.len() > 2 {
        let rest = tail(word, 2);
        if looks_like_path(&rest.beginning()) {
            found.push(rest);
        }
    }
    // A program, a command or a list inside one word.
    if text.contains(|char: char| char.is_whitespace() || "'\"(){}[]<>|;`".contains(char)) {
        let parts = text.split(|char: char| char.is_whitespace() || "'\"(){}[]<>|;,=`".contains(char));
        for part in
            parts.filter(|part| part.len() > 4 && (part.starts_with('/') || part.starts_with("~/"))).take(32)
        {
            found.push(Word::known(part));
        }
    }
    found
}

/// The same for a word that may also be a bare name: `.tickets`.
pub(super) fn candidates_of_name(word: &Word, disk: bool) -> Vec<Word> {
    let text = word.beginning();
    if text.contains(".tickets") || disk && !text.starts_with('-') && text.len() < 256 {
        let mut found = candidates(word);
        if found.is_empty() && !text.starts_with('-') {
            found.push(word.clone());
        }
        found
    } else {
        Vec::new()
    }
}

/// A shell that hides in the words of another program.
pub(super) fn hidden_shell(look: &mut Look<'_>, base: &str, class: Option<Class>) {
    if is_text(base) || shell::is_shell(base) || look.starts {
        return;
    }
    // Where a shell's name is a file to look at, or what a user gets.
    if matches!(class, Some(Class::List | Class::Write | Class::Directory))
        || matches!(
            base,
            "cp" | "mv"
                | "ln"
                | "chmod"
                | "chown"
                | "rm"
                | "find"
                | "sed"
                | "git"
                | "awk"
                | "gawk"
                | "install"
                | "grep"
                | "rg"
                | "ag"
                | "egrep"
                | "fgrep"
                | "ack"
        )
    {
        return;
    }
    let is_viewer = matches!(
        base,
        "cat"
            | "tac"
            | "head"
            | "tail"
            | "less"
            | "more"
            | "most"
            | "bat"
            | "batcat"
            | "strings"
            | "xxd"
            | "od"
            | "hexdump"
            | "hd"
            | "hexyl"
            | "wc"
            | "diff"
            | "cmp"
            | "ldd"
            | "readelf"
            | "objdump"
            | "nm"
            | "size"
            | "md5sum"
            | "sha1sum"
            | "sha224sum"
            | "sha256sum"
            | "sha384sum"
            | "sha512sum"
            | "shasum"
            | "b2sum"
            | "b3sum"
            | "cksum"
            | "sum"
            | "touch"
            | "strip"
            | "tar"
            | "dd"
            | "gzip"
            | "xz"
            | "zstd"
            | "base64"
            | "identify"
    );
    let reads = matches!(class, Some(Class::Read | Class::Change)) || base == "tar" || base == "dd";
    let shells = |word: &Word| {
        let text = word.shown();
        // A shell alone is a file to look at; with more around it, it is a command.
        let file = reads && is_viewer && text.starts_with('/') && !text.contains(' ');
        !text.contains("#!") && !file && (names_shell(&text) || escapes(&text))
    };
    if !look.rest().iter().any(shells) {
        return;
    }
    if look.privileged() {
        look.deny("root.shell", format!("`{base}` would open a shell with root's rights"));
    } else {
        look.ask("shell.hidden", format!("a word of `{base}` names a shell to run"));
    }
}

/// `/bin/sh` anywhere in the text.
fn names_shell(text: &str) -> bool {
    if !text.contains("sh") {
        return false;
    }
    text.split(|char: char| !(char.is_ascii_alphanumeric() || "/_-.".contains(char)))
        .any(|part| part.contains("bin/") && shell::is_shell(shell::base_name(part)))
}

/// How programs with a prompt of their own are told to open a shell.
fn escapes(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(":!")
        || text.starts_with(":shell")
        || text.starts_with(":term")
        || text.starts_with('!') && shell::is_shell(shell::base_name(text.trim_start_matches('!').trim()))
        || ["system(", "exec(", "os.execute", "shell_exec", "write18", "unixexec:", "%("]
            .iter()
            .any(|call| text.contains(call))
            && text.contains("sh")
}

/// Programs with a prompt of their own, from which a shell is one key away.
pub(super) fn is_interactive(base: &str) -> bool {
    matches!(
        base,
        "vi" | "vim"
            | "nvim"
            | "view"
            | "rvim"
            | "rview"
            | "vimdiff"
            | "gvim"
            | "ex"
            | "ed"
            | "red"
            | "nano"
            | "pico"
            | "emacs"
            | "joe"
            | "jed"
            | "mg"
            | "micro"
            | "ne"
            | "kak"
            | "hx"
            | "mcedit"
            | "mc"
            | "less"
            | "more"
            | "most"
            | "pg"
            | "man"
            | "gdb"
            | "lldb"
            | "r2"
            | "screen"
            | "tmux"
            | "tmate"
            | "zellij"
            | "minicom"
            | "picocom"
            | "ftp"
            | "sftp"
            | "telnet"
            | "psql"
            | "mysql"
            | "sqlite3"
            | "mongosh"
            | "mongo"
            | "irb"
            | "pry"
            | "ipython"
            | "node"
            | "python"
            | "python3"
            | "perl"
            | "ruby"
            | "lua"
            | "php"
            | "tclsh"
            | "wish"
            | "expect"
            | "scapy"
            | "msfconsole"
            | "ranger"
            | "nnn"
            | "lf"
            | "vifm"
            | "mutt"
            | "alpine"
            | "mail"
            | "lynx"
            | "w3m"
            | "links"
            | "elinks"
            | "nmap"
            | "bconsole"
            | "byebug"
            | "check_by_ssh"
            | "dosbox"
            | "genie"
            | "ghci"
            | "gimp"
            | "ginsh"
            | "jjs"
            | "knife"
            | "ksshell"
            | "octave"
            | "octave-cli"
            | "rlwrap"
            | "sash"
            | "scanmem"
            | "slsh"
            | "sqlmap"
            | "tasksh"
            | "tdbtool"
            | "torify"
            | "xdg-open"
            | "yash"
            | "elvish"
            | "posh"
            | "iftop"
            | "aspell"
            | "ncdu"
            | "top"
            | "htop"
            | "crash"
            | "debugfs"
            | "dmsetup"
            | "iex"
            | "julia"
            | "R"
            | "gcore"
            | "virsh"
            | "vipw"
            | "vigr"
            | "visudo"
            | "xterm"
            | "watch"
            | "ksu"
            | "systemd-run"
            | "run-parts"
            | "perlbug"
            | "journalctl"
            | "systemctl"
            | "loginctl"
            | "hg"
            | "dialog"
            | "whiptail"
            | "msgfilter"
            | "multitime"
    )
}
