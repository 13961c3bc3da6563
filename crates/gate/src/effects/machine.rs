//! The machine: processes, services, users, schedules, firewall, kernel, keys.

use super::argument_scan::generic;
use super::security_tools::{is_attack, is_defence};
use super::{Act, Look, keys};
use crate::shell::Word;

/// Judges programs that are about the machine.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    let words: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let has = |word: &str| words.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    match base {
        "just" | "task" | "mage" | "inv" | "invoke" | "doit" | "nox" if !recipe(first) => {
            look.ask("build.recipe", format!("what the recipe `{first}` does is not known"));
        }
        "kill" | "pkill" | "killall" | "skill" | "killall5" | "xkill" => processes(look, base, &words),
        "init" | "telinit" => look.deny("machine", "it changes what the machine runs, or stops it"),
        "history" | "fc" => history(look, base, &words),
        "unset" | "set" | "shopt"
            if words.iter().any(|word| word.starts_with("HIST") || word == "history") =>
        {
            look.deny("history", "it keeps commands out of the history");
        }
        "env" | "printenv" | "set" | "export" | "declare" | "typeset" => {
            return shows_environment(look, base, &words);
        }
        "crontab" => match first {
            "-l" if !has("-u") => {}
            "-l" => look.ask("schedule", "it shows what another user has scheduled"),
            "-r" => look.deny("schedule", "it deletes everything that is scheduled"),
            "-u" if has("-l") => look.ask("schedule", "it shows what another user has scheduled"),
            _ => look.deny("schedule", "it makes something run later, without anybody asking"),
        },
        "at" | "batch" => match first {
            "-l" => {}
            _ => look.ask("schedule", "it makes something run later"),
        },
        "atq" => {}
        "passwd" | "chpasswd" | "useradd" | "adduser" | "usermod" | "userdel" | "deluser" | "groupadd"
        | "addgroup" | "groupdel" | "delgroup" | "groupmod" | "gpasswd" | "visudo" | "vipw" | "vigr"
        | "chsh" | "newusers" | "pwconv" | "pwunconv" | "pw" | "chage" | "sysadminctl" | "dsimport"
        | "faillock" | "pam_tally2" => {
            let looks = base == "chage" && has("-l")
                || base == "visudo" && has("-c")
                || base == "passwd" && (has("-S") || has("--status"))
                || base == "faillock" && !has("--reset");
            let own = matches!(base, "groupadd" | "addgroup") && !look.privileged() && words.len() < 2
                || matches!(base, "passwd" | "chsh") && words.is_empty();
            if looks {
            } else if own {
                look.ask("user", "it changes a user or a group");
            } else {
                look.deny("user", "it changes who may do what on this machine");
            }
        }
        "dscl" | "dseditgroup" | "net"
            if words.iter().any(|word| {
                matches!(word.as_str(), "-create" | "-append" | "-passwd" | "/add" | "-delete" | "edit")
                    || word.starts_with("/active")
            }) =>
        {
            look.deny("user", "it changes who may do what on this machine");
        }
        "mount" if words.is_empty() || words == ["-l"] => {}
        "umount" | "mount" | "swapoff" => {
            if words.iter().any(|word| word.contains("remount")) {
                look.deny("mount", "it changes how a disk is mounted");
            } else if base == "mount"
                && words.iter().any(|word| word.contains("suid") && !word.contains("nosuid"))
                || has("--bind") && has("/")
            {
                look.deny("mount", "it mounts with rights that a disk should not give");
            } else {
                generic(look, false);
                look.ask("mount", "it changes what is mounted");
            }
        }
        "iptables" | "ip6tables" | "nft" | "ufw" | "firewall-cmd" | "pfctl" | "ipset" | "ebtables"
        | "iptables-restore" | "esxcli" => firewall(look, base, &words),
        "getent" => {
            if has("shadow") || has("gshadow") {
                look.deny("secret", "it shows password hashes");
            }
        }
        "security" | "secret-tool" | "op" | "bw" | "pass" | "gopass" | "lpass" | "keyring"
        | "kwallet-query" | "gnome-keyring" | "chainbreaker" | "cmdkey" => {
            let looks = matches!(
                (base, first),
                ("op", "whoami" | "account")
                    | ("pass" | "gopass", "ls" | "list" | "find" | "git")
                    | ("bw", "status")
            );
            if looks {
                look.ask("secret", "it shows what credentials are stored");
            } else {
                look.deny("secret", "it shows or changes stored credentials");
            }
        }
        "ssh-keygen" => {
            generic(look, false);
            let shows =
                words.iter().any(|word| matches!(word.as_str(), "-l" | "-lf" | "-F" | "-lv" | "-B" | "-lvf"));
            if words.iter().any(|word| word == "-D") {
                look.ask("run.flag", "it loads a library");
            }
            if !shows {
                look.ask("key", "it makes or changes keys");
            }
        }
        "ssh-add" | "ssh-agent" if matches!(first, "-l" | "-L" | "-V") => {}
        "ssh-add" | "ssh-copy-id" | "ssh-agent" => look.ask("key", "it makes or uses keys"),
        "gpg" | "gpg2" | "age" | "sops" | "rage" | "keytool" | "easyrsa" | "certtool" => {
            keys::keys(look, base, &words);
        }
        "openssl" => keys::openssl(look, &words),
        "logger" | "wall" | "write" => {
            generic(look, true);
            look.ask("message", "it writes to logs or to people");
        }
        "nsenter" | "unshare" | "chroot" | "pivot_root" => {
            let host = base == "nsenter" && words.windows(2).any(|pair| matches!(pair, [flag, one] if flag.starts_with('-') && flag.ends_with('t') && one == "1" || flag == "--target" && one == "1"));
            if host || base == "nsenter" && words.iter().any(|word| word == "-t1" || word == "--target=1") {
                look.deny("container.host", "it enters the machine itself");
            } else {
                look.ask("namespace", "it leaves or changes the surroundings of the process");
            }
        }
        "screen" | "tmux" | "zellij" | "byobu" => {
            generic(look, true);
            let shows = words.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "ls" | "list-sessions"
                        | "-ls"
                        | "-list"
                        | "-V"
                        | "list-windows"
                        | "list-panes"
                        | "show-options"
                        | "show"
                        | "list-keys"
                        | "lsk"
                        | "list-commands"
                        | "list-clients"
                        | "info"
                        | "display-message"
                        | "capture-pane"
                        | "has-session"
                        | "show-environment"
                        | "list-buffers"
                )
            });
            if !shows {
                look.ask("detached", "it runs something that goes on behind");
            }
        }
        "mimikatz"
        | "laZagne"
        | "lazagne"
        | "laZagne.py"
        | "mimipenguin"
        | "mimipenguin.sh"
        | "linpeas"
        | "linpeas.sh"
        | "linenum.sh"
        | "LinEnum.sh"
        | "pspy"
        | "pspy64"
        | "linux-exploit-suggester.sh"
        | "hashcat"
        | "john"
        | "hydra"
        | "medusa"
        | "ncrack"
        | "patator"
        | "crackmapexec"
        | "netexec"
        | "nxc"
        | "evil-winrm"
        | "psexec.py"
        | "wmiexec.py"
        | "smbexec.py"
        | "atexec.py"
        | "dcomexec.py"
        | "secretsdump.py"
        | "GetUserSPNs.py"
        | "GetNPUsers.py"
        | "ticketer.py"
        | "kerbrute"
        | "responder"
        | "Responder.py"
        | "bloodhound-python"
        | "rubeus"
        | "impacket-secretsdump"
        | "impacket-psexec"
        | "msfconsole"
        | "msfvenom"
        | "sliver"
        | "sliver-client"
        | "empire"
        | "cobaltstrike"
        | "bettercap"
        | "aircrack-ng"
        | "aireplay-ng"
        | "unshadow"
        | "sqlmap"
        | "gsocket"
        | "gs-netcat"
        | "merlin"
        | "poshc2"
        | "havoc"
        | "sharphound"
        | "certipy"
        | "mitm6"
        | "ettercap"
        | "arpspoof"
        | "dnschef"
        | "pwncat"
        | "pwncat-cs"
        | "weevely"
        | "xspy"
        | "sshspray"
        | "brutespray"
        | "gcore" => {
            generic(look, true);
            if base == "gcore" {
                look.deny("secret", "it dumps the memory of a process");
            } else {
                look.deny("attack", format!("`{base}` is made to attack or to take credentials"));
            }
        }
        name if is_attack(name) && name != "lse" => {
            look.deny("attack", format!("`{base}` is made to attack or to take credentials"));
        }
        "xmrig" | "minerd" | "cpuminer" | "ethminer" | "cgminer" | "bfgminer" | "t-rex" | "nbminer"
        | "phoenixminer" | "xmr-stak" | "lolMiner" => {
            look.deny("availability", "it digs for coins with this machine");
        }
        "systemd-run" => {
            let later = words.iter().any(|word| word.starts_with("--on-") || word.starts_with("--timer"));
            if later {
                look.deny("schedule", "it makes something run later, without anybody asking");
            } else if look.privileged() || has("-S") || has("--shell") {
                look.deny("root.shell", "it starts something outside of the box");
            } else {
                look.ask("service", "it starts something as a service");
            }
        }
        "marvin" => {
            let named: Vec<&str> =
                words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).take(2).collect();
            let looks = matches!(
                named.as_slice(),
                ["verify" | "doctor" | "inspect-run" | "config" | "completions" | "man", ..]
                    | ["packs", "list" | "check" | "why"]
                    | ["lessons", "reflect" | "health"]
                    | ["commitments", "list" | "verify"]
                    | ["servitors", "list" | "show"]
                    | ["memory", "list" | "query" | "why" | "eval"]
                    | ["gate", "explain" | "judge" | "eval" | "stats"]
                    | ["daemon", "status" | "list" | "log"]
                    | ["tools", "list" | "schema"]
                    | ["tk", ..]
            );
            if !looks && !matches!(first, "--version" | "-V" | "--help" | "-h") {
                look.ask("marvin", "it starts an agent, or changes what Marvin keeps");
            }
        }
        "claude" | "codex" | "gemini" | "aider" | "cursor-agent" | "copilot" | "opencode" | "goose"
        | "amp" | "qwen" | "cline" => agent(look, &words),
        "exec" if has("-a") => look.ask("masquerade", "it gives a process another name"),
        "tshark" | "dumpcap" | "tcpdump" | "ngrep" => {
            generic(look, true);
            if !words.iter().any(|word| word.starts_with("-r"))
                || words.iter().any(|word| word == "-z" || word == "-w")
            {
                look.ask("network.sniff", "it listens to what goes over the network");
            }
        }
        "xwd" | "import" if base == "xwd" || has("-window") || words.len() < 2 => {
            look.ask("screen", "it takes a picture of the screen");
        }
        "fio" | "stress" | "stress-ng" => look.ask("availability", "it loads the machine"),
        _ => return false,
    }
    true
}

/// Another agent: it has a gate of its own only where its hooks run.
fn agent(look: &mut Look<'_>, words: &[String]) {
    let has = |word: &str| words.iter().any(|own| own == word);
    let free = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "--yolo"
                | "-y"
                | "--yes-always"
                | "--allow-all-tools"
                | "--full-auto"
                | "--trust-all-tools"
                | "--force"
                | "--auto-approve"
                | "--bare"
        ) || word.starts_with("--dangerously")
            || word.contains("danger-full-access")
            || word.contains("bypassPermissions")
            || word.starts_with("--approval-mode=yolo")
            || word.contains("approval_policy=never")
            || word.contains("disableAllHooks")
            || word.contains("hooks=false")
    });
    // Its tools for whoever speaks its protocol: no hook is asked about these calls.
    let serves = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "mcp-server" | "app-server" | "exec-server" | "serve" | "acp" | "--acp" | "--experimental-acp"
        )
    });
    let unhooked = words
        .windows(2)
        .any(|pair| matches!(pair, [flag, what] if flag == "--disable" && what.contains("hooks")))
        || has("--disable=hooks");
    if free || serves || unhooked {
        return look.deny("agent", "it starts another agent without a gate");
    }
    let named: Vec<&str> = words.iter().map(String::as_str).collect();
    let looks = matches!(
        named.as_slice(),
        ["--version" | "-v" | "-V" | "--help" | "-h"]
            | ["mcp"]
            | ["mcp", "list" | "help" | "--help" | "-h"]
            | ["mcp", "list", "--json"]
            | ["mcp", "get", _]
    );
    if !looks {
        look.ask("agent", "it starts another agent, or changes what one may do");
    }
}

/// Recipes that stay in the project, by their names.
fn recipe(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    !super::program::reaching(name)
        && !["version", "bump", "tag", "push", "release", "login", "reset"]
            .iter()
            .any(|word| lower.contains(word))
}

fn processes(look: &mut Look<'_>, base: &str, words: &[String]) {
    let has = |word: &str| words.iter().any(|own| own == word);
    if words.iter().any(|word| matches!(word.as_str(), "-l" | "-L" | "--list" | "-0")) {
        return;
    }
    let everything = base == "kill"
        && has("-1")
        && (words.last().is_some_and(|last| last == "-1") && words.len() > 1 || has("--"))
        || base == "killall5"
        || base == "pkill" && words.iter().any(|word| word == "." || word == ".*");
    let root = words.windows(2).any(|pair| matches!(pair, [flag, user] if matches!(flag.as_str(), "-u" | "-U" | "--user" | "--euid") && user == "root"));
    let first_process = base == "kill" && (words.iter().skip(1).any(|word| word == "1") || words == ["1"]);
    let watched = words.iter().any(|word| {
        is_defence(word)
            || matches!(
                word.as_str(),
                "init" | "systemd" | "sshd" | "dockerd" | "containerd" | "Xorg" | "gnome-shell" | "launchd"
            )
    });
    let found = look.rest().iter().any(|word| word.text().is_none());
    if everything || root || first_process || watched && base != "kill" {
        return look.deny("process", "it stops what the machine needs");
    }
    if found && look.privileged() {
        return look.deny("process", "with root's rights it stops processes that cannot be known");
    }
    look.ask("process", "it stops other processes");
}

fn history(look: &mut Look<'_>, base: &str, words: &[String]) {
    if base == "history"
        && words
            .iter()
            .any(|word| word.starts_with('-') && word.contains(['c', 'd', 'w', 'r', 'a', 's', 'n']))
    {
        let target = words.iter().find(|word| !word.starts_with('-')).map(|word| Word::known(word.as_str()));
        if let Some(target) = target {
            look.act(Act::Write, &target);
        }
        look.deny("history", "it changes the shell's history");
    } else {
        look.ask("history", "it shows the shell's history");
    }
}

fn shows_environment(look: &mut Look<'_>, base: &str, words: &[String]) -> bool {
    let bare = words.is_empty()
        || words == ["-p"]
        || base == "env" && words.iter().all(|word| word.starts_with('-'));
    let named = base == "printenv" && !words.is_empty();
    if look.starts || !(bare || named) {
        return false;
    }
    if matches!(base, "set" | "export" | "declare" | "typeset") && words.is_empty() && !look.segment.piped {
        return true;
    }
    let key = |word: &String| {
        let upper = word.to_ascii_uppercase();
        ["KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"].iter().any(|part| upper.contains(part))
    };
    if named && !words.iter().any(key) {
        return true;
    }
    look.ask("environment.show", "it shows the environment, which may hold keys");
    true
}

fn firewall(look: &mut Look<'_>, base: &str, words: &[String]) {
    let any = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let shows = any(&[
        "-L",
        "-S",
        "--list",
        "list",
        "status",
        "--list-all",
        "--state",
        "--get-zones",
        "--list-ports",
        "--get-default-zone",
        "-s",
        "-nvL",
        "-nL",
        "-vnL",
        "--list-services",
        "--list-rules",
    ]) || words.iter().any(|word| word.starts_with("--get-") || word.starts_with("--query"));
    let opens = any(&[
        "-F",
        "--flush",
        "-X",
        "disable",
        "reset",
        "flush",
        "ACCEPT",
        "--panic-off",
        "delete",
        "-D",
        "--delete",
        "-d",
        "destroy",
    ]) || words.iter().any(|word| word.starts_with("--remove-"));
    generic(look, true);
    if opens && !(shows && base == "nft") {
        look.deny("firewall", "it takes the firewall's rules away");
    } else if !shows {
        look.ask("firewall", "it changes the firewall's rules");
    }
}
