//! Services, networks, settings of the machine and other machines, by the verbs of their programs.

use super::arguments::Arguments;
use super::security_tools::is_defence;
use super::{Look, Place};
use crate::shell::Word;

/// Services and network settings by their verbs; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    let words: Vec<String> = arguments.operands.iter().map(Word::shown).collect();
    let all: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    match base {
        "systemctl" | "service" | "launchctl" | "rc-service" | "rc-update" | "sv" | "supervisorctl"
        | "pm2" | "chkconfig" | "sc" => {
            services(look, base, &words, &has);
            true
        }
        "ip" | "nmcli" | "networksetup" | "resolvectl" | "iw" | "iwctl" | "bluetoothctl" | "rfkill"
        | "hostnamectl" | "timedatectl" | "localectl" | "loginctl" => {
            let changes = words.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "add" | "del" | "delete" | "set" | "flush" | "change" | "replace" | "exec" | "up" | "down" | "restore" | "attach" | "append"
                        | "connect" | "disconnect" | "modify" | "reload" | "block" | "unblock" | "kill-session" | "terminate-user" | "kill-user"
                        | "terminate-session" | "edit" | "off" | "on" | "enable-linger" | "hostname" if !(word == "hostname" && words.len() < 2)
                ) || word.starts_with("set-") || word.starts_with("-set")
            }) || has("-batch") || has("-b") && base == "ip";
            let cuts = base == "ip" && (words.iter().any(|word| word == "down" || word == "flush"))
                || base == "loginctl"
                    && words.iter().any(|word| word.starts_with("terminate") || word.starts_with("kill"));
            if words.iter().any(|word| word == "exec") {
                look.ask("network.run", "it runs something in another network");
            } else if cuts && look.privileged() {
                look.deny("network.cut", "it cuts the machine off");
            } else if changes {
                look.ask("network", "it changes the network or the machine's settings");
            } else if matches!(base, "ip") {
                super::argument_scan::generic(look, true);
            }
            true
        }
        "ifconfig" | "route" | "iwconfig" => {
            if has("down") && look.privileged() {
                look.deny("network.cut", "it cuts the machine off");
            } else if words.len() > 1 {
                look.ask("network", "it changes the network");
            }
            true
        }
        "sysctl" => {
            let changes = all.iter().any(|word| {
                matches!(word.as_str(), "-w" | "--write" | "-p" | "--load" | "--system") || word.contains('=')
            });
            let guards = all.iter().any(|word| {
                [
                    "core_pattern",
                    "randomize_va_space",
                    "kptr_restrict",
                    "dmesg_restrict",
                    "ptrace_scope",
                    "sysrq",
                    "modules_disabled",
                    "unprivileged",
                    "mmap_min_addr",
                    "suid_dumpable",
                    "perf_event_paranoid",
                    "panic",
                ]
                .iter()
                .any(|name| word.contains(name))
            });
            if changes && guards {
                look.deny("kernel", "it switches off a guard of the kernel");
            } else if changes {
                look.ask("kernel", "it changes settings of the kernel");
            }
            true
        }
        "defaults" => {
            if matches!(first, "write" | "delete" | "import" | "rename") {
                look.ask("machine", "it changes settings of the machine");
            }
            true
        }
        "kmod" => {
            if first != "list" {
                look.deny("kernel", "it changes the kernel");
            }
            true
        }
        "ansible" | "ansible-playbook" | "puppet" | "chef" | "salt" | "salt-call" | "knife" | "cdist" => {
            super::argument_scan::generic(look, true);
            if !(has("--check")
                || has("--syntax-check")
                || has("--list-hosts")
                || has("--list-tasks")
                || has("--noop")
                || matches!(first, "parser" | "config" | "facts" | "--version"))
            {
                look.ask("fleet", "it changes other machines");
            }
            for word in &all {
                if word.contains(' ') && base == "ansible" {
                    look.nested(word);
                }
            }
            true
        }
        "vagrant" | "virsh" | "multipass" | "lxc" | "incus" | "minikube" | "kind" | "k3d" | "colima"
        | "limactl" | "lima" | "vboxmanage" | "VBoxManage" => {
            let looks = matches!(first, "help" | "version" | "--version" | "")
                || first == "status" && second.is_empty();
            if !looks {
                look.ask("machine.virtual", "it works with virtual machines");
            }
            true
        }
        _ => false,
    }
}

fn services(look: &mut Look<'_>, base: &str, words: &[String], has: &dyn Fn(&str) -> bool) {
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    let verb = if matches!(base, "service" | "rc-service") { second } else { first };
    let defence = words
        .iter()
        .any(|name| is_defence(name) || matches!(name.trim_end_matches(".service"), "sshd" | "ssh"));
    super::argument_scan::generic(look, true);
    match verb {
        "stop" | "disable" | "mask" | "kill" | "off" | "bootout" | "unload" | "remove" | "delete"
            if defence =>
        {
            look.deny("defence", "it switches off what watches over the machine");
        }
        "poweroff" | "reboot" | "halt" | "kexec" | "emergency" | "rescue" | "suspend" | "hibernate"
        | "isolate" | "soft-reboot" | "hybrid-sleep" => look.deny("machine", "it stops the machine"),
        "status" | "show" | "cat" | "list-units" | "list-unit-files" | "list-timers" | "list-sockets"
        | "list-jobs" | "list-dependencies" | "is-active" | "is-enabled" | "is-failed"
        | "is-system-running" | "get-default" | "show-environment" | "help" | "list" | "print" | ""
        | "list-paths" | "avail" | "ls" | "jlist" | "describe" | "logs" | "query" => {
            if has("-H") || has("--host") {
                look.ask("service", "it looks at another machine");
            }
        }
        "link" | "edit" if look.privileged() && base == "systemctl" => {
            look.deny("service", "it makes something run by itself");
        }
        "enable" | "link" | "edit" | "preset" | "reenable" | "set-default" | "load" | "bootstrap"
        | "create" => look.ask("service", "it makes something run by itself"),
        _ => look.ask("service", "it changes services"),
    }
    if base == "service" && first.contains("..") {
        look.deny("root.shell", "it runs a program that is no service");
    }
    for word in look.rest().to_vec() {
        if look.place(&word) == Place::Temporary {
            look.deny("service.file", "it makes a file of a temporary directory a service");
        }
    }
}
