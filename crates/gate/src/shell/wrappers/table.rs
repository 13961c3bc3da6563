//! Programs whose words, after their own flags, are another command.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How a launcher's own words end and its command begins.
#[derive(Debug)]
pub(in crate::shell) struct Launcher {
    names: &'static str,
    /// Flags that take the next word.
    values: &'static str,
    /// Words that are not flags and come before the command.
    pub(in crate::shell) before: usize,
    /// Whether `NAME=value` words come before it too.
    pub(in crate::shell) assigns: bool,
    /// Whether the command runs on another machine or in a container.
    pub(in crate::shell) elsewhere: bool,
    /// Whether its words are joined and read by a shell.
    pub(in crate::shell) joins: bool,
    /// Flags without a value. Where none are listed, any flag is taken for one.
    flags: &'static str,
    /// Flags whose value is a file that it writes, or a command that reads what it writes.
    writes: &'static str,
    /// Flags whose value is the directory that the command runs in.
    enters: &'static str,
    /// Flags whose value is a variable for the command.
    sets: &'static str,
    /// Flags that change what is started, or how.
    doubts: &'static str,
}

/// What a flag of a launcher does to its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum FlagEffect {
    /// Its value is written.
    Writes,
    /// Its value is entered.
    Enters,
    /// Its value is a variable.
    Sets,
    /// It is not certain what starts.
    Doubts,
}

const fn launcher(names: &'static str, values: &'static str, before: usize) -> Launcher {
    Launcher {
        names,
        values,
        before,
        assigns: false,
        elsewhere: false,
        joins: false,
        flags: "",
        writes: "",
        enters: "",
        sets: "",
        doubts: "",
    }
}

const LAUNCHERS: &[Launcher] = &[
    Launcher {
        assigns: true,
        enters: "-D --chdir",
        doubts: "-R --chroot",
        ..launcher(
            "sudo doas sudo-rs",
            "-u -g -h -p -C -T -U -r -t -D -R -a -c --user --group --host --prompt --chdir --chroot --close-from \
             --other-user --role --type --command-timeout",
            0,
        )
    },
    Launcher {
        assigns: true,
        flags: "- -i -0 -v --ignore-environment --null --debug --list-signal-handling --block-signal --default-signal \
                --ignore-signal --help --version",
        enters: "-C --chdir",
        doubts: "-P -a --argv0",
        ..launcher("env genv", "-u -C -a -P --unset --chdir --argv0", 0)
    },
    Launcher { flags: "-p -v -V", ..launcher("command builtin", "", 0) },
    Launcher { flags: "-c -f -w --ctty --fork --wait", ..launcher("setsid", "", 0) },
    Launcher { flags: "-p", doubts: "--install --list --list-full", ..launcher("busybox toybox", "", 0) },
    launcher("nohup eatmydata catchsegv unbuffer noglob nocorrect", "", 0),
    launcher("linux32 linux64 i386 x86_64 uname26 primusrun optirun prime-run gamemoderun mangohud", "", 0),
    Launcher { flags: "-c -l", ..launcher("exec", "-a", 0) },
    Launcher { flags: "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9", ..launcher("nice", "-n --adjustment", 0) },
    Launcher {
        flags: "-t --ignore -1 -2 -3",
        ..launcher("ionice", "-c -n -p -P -u --class --classdata --pid --pgid --uid", 0)
    },
    Launcher { flags: "-L -0", ..launcher("stdbuf", "-i -o -e --input --output --error", 0) },
    Launcher {
        flags: "-v -p -f --foreground --preserve-status --verbose",
        ..launcher("timeout gtimeout", "-s -k --signal --kill-after", 1)
    },
    Launcher { flags: "-a -c --all-tasks --cpu-list", ..launcher("taskset", "-p --pid", 1) },
    Launcher {
        flags: "-b -f -i -o -r -v -a -d --batch --fifo --idle --other --rr --verbose --max --reset-on-fork -R",
        ..launcher("chrt", "-T -P -D", 1)
    },
    launcher("setarch", "", 0),
    Launcher {
        flags: "-p -v -a -q -V -h -l --portability --verbose --append --quiet",
        writes: "-o --output",
        ..launcher("time gtime", "-f -o --format --output", 0)
    },
    launcher("faketime", "-f", 1),
    launcher("chroot", "--userspec --groups", 1),
    Launcher {
        enters: "--wd",
        doubts: "-r --root",
        ..launcher("nsenter", "-t -S -G --target --setuid --setgid", 0)
    },
    Launcher {
        enters: "-w --wd",
        doubts: "-R --root",
        ..launcher(
            "unshare",
            "-S -G -R -w --setuid --setgid --root --wd --map-user --map-group --propagation",
            0,
        )
    },
    Launcher {
        enters: "--working-directory",
        sets: "-E --setenv",
        doubts: "-p --property -M --machine -H --host",
        ..launcher(
            "systemd-run",
            "-u -p -M -H -E --unit --property --description --slice --uid --gid --nice --setenv --working-directory \
         --machine --host --on-active --on-boot --on-calendar --timer-property",
            0,
        )
    },
    launcher("systemd-inhibit", "--what --who --why --mode", 0),
    Launcher {
        flags: "-f -ff -c -C -d -D -h -i -k -n -N -q -qq -r -t -tt -ttt -T -v -V -w -x -xx -y -yy -z -Z -A \
                --follow-forks --summary-only --summary --quiet --stack-traces --timestamps --absolute-timestamps \
                --relative-timestamps --syscall-times --decode-fds --failed-only --successful-only --no-abbrev",
        writes: "-o --output",
        sets: "-E --env",
        ..launcher(
            "strace",
            "-a -b -e -E -I -o -O -p -P -s -S -u -U -X --output --trace --attach --env --user --string-limit --columns",
            0,
        )
    },
    Launcher {
        flags: "-b -c -C -f -h -i -L -r -S -t -tt -ttt -T -V",
        writes: "-o --output",
        ..launcher("ltrace", "-a -A -D -e -F -l -n -o -p -s -u -w -x --output", 0)
    },
    launcher("gdb", "-ex -x -iex -p -c -d -s -e", 0),
    Launcher {
        writes: "--log-file --xml-file",
        doubts: "--db-command",
        ..launcher("valgrind", "--tool --log-file", 0)
    },
    Launcher { writes: "-o --output", ..launcher("perf", "-e -o -F -g -p -t -C --output", 1) },
    Launcher { writes: "-o --output", ..launcher("heaptrack", "-o -p", 0) },
    launcher("xvfb-run", "-e -f -n -s -p --error-file --server-args --server-num", 0),
    launcher("numactl", "-m -N -C -p -i --membind --cpunodebind --physcpubind --interleave", 0),
    launcher("cgexec", "-g", 0),
    launcher("cpulimit", "-l -p -e --limit --pid --exe", 0),
    launcher("prlimit", "-p -o --pid --output", 0),
    launcher("choom", "-n -p", 0),
    launcher("schedtool", "-p -n -a", 0),
    launcher("trickle", "-d -u -w -t -l -n", 0),
    launcher("flatpak-spawn", "", 0),
    launcher("pkexec", "-u --user", 0),
    launcher("fakeroot fakechroot", "-l -s -i -b -c -e -d --lib --faked", 0),
    launcher("firejail", "", 0),
    launcher("torsocks torify tsocks proxychains proxychains4", "-f -u -p -P -a", 0),
    launcher("caffeinate", "-t -w", 0),
    launcher("rlwrap", "-a -b -c -C -D -f -g -H -l -m -O -p -P -q -s -S -t -w -z", 0),
    launcher("runcon", "-t -u -r -l --type --user --role --range", 0),
    launcher(
        "setpriv",
        "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig",
        0,
    ),
    launcher("chpst", "-u -U -b -e -d -o -p -f -c -r -t -m -n -l -L", 0),
    launcher("softlimit", "-a -c -d -f -l -m -o -p -r -s -t", 0),
    launcher("envdir gosu su-exec setuidgid s6-setuidgid", "", 1),
    launcher("tini dumb-init catatonit", "-p -e -r", 0),
    launcher("dbus-run-session dbus-launch", "--config-file", 0),
    launcher(
        "bwrap",
        "--chdir --tmpfs --proc --dev --unsetenv --hostname --uid --gid --remount-ro --dir --lock-file --seccomp --perms",
        0,
    ),
    Launcher {
        joins: true,
        flags: "-b -c -C -d -e -g -p -t -w -x -r --beep --color --differences --errexit --chgexit --precise --no-title \
                --no-wrap --exec --no-rerun",
        ..launcher("watch", "-n -q --interval --equexit", 0)
    },
    Launcher {
        joins: true,
        ..launcher(
            "hyperfine",
            "-w -r -m -M -p -s -c -n -S --warmup --runs --min-runs --max-runs --prepare --setup --cleanup --export-json \
             --export-markdown --export-csv --shell",
            0,
        )
    },
    Launcher {
        joins: true,
        elsewhere: true,
        ..launcher(
            "ssh autossh mosh tsh",
            "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B -M",
            1,
        )
    },
    launcher("sshpass", "-p -f -d -P", 0),
];

static TABLE: LazyLock<BTreeMap<&'static str, &'static Launcher>> = LazyLock::new(|| {
    let rows = LAUNCHERS.iter().flat_map(|row| row.names.split_whitespace().map(move |name| (name, row)));
    rows.collect()
});

impl Launcher {
    /// Does this flag take the next word? The last of several letters may.
    pub(in crate::shell) fn takes_next(&self, flag: &str) -> bool {
        let known = |text: &str| self.values.split_whitespace().any(|value| value == text);
        if flag.starts_with("--") || flag.len() <= 2 {
            return known(flag);
        }
        if known(flag) {
            return true;
        }
        // `-fo FILE`: the first letter that takes a value ends the letters.
        let letters = flag.get(1..).unwrap_or_default();
        let taking = letters.char_indices().find(|(_, letter)| known(&format!("-{letter}")));
        taking.is_some_and(|(at, letter)| at + letter.len_utf8() == letters.len())
    }

    /// Is this flag known? The values of long ones may be attached.
    pub(in crate::shell) fn knows(&self, flag: &str) -> bool {
        if self.flags.is_empty() || flag.is_empty() {
            return true;
        }
        let lists = [self.flags, self.values, self.writes, self.enters, self.sets, self.doubts];
        let listed = |name: &str| lists.iter().any(|list| list.split_whitespace().any(|own| own == name));
        let name = flag.split('=').next().unwrap_or(flag);
        if listed(flag) || listed(name) {
            return true;
        }
        if flag.starts_with("--") {
            let begins =
                |list: &&str| list.split_whitespace().any(|own| own.starts_with(name) && name.len() > 3);
            return lists.iter().any(begins);
        }
        // Letters that stand together, up to one that takes a value; `nice -12` is a number.
        let mut letters = flag.chars().skip(1);
        let taking = |letter: char| self.values.split_whitespace().any(|own| own == format!("-{letter}"));
        loop {
            match letters.next() {
                None => return true,
                Some(letter) if taking(letter) => return true,
                Some(letter) if listed(&format!("-{letter}")) => {}
                Some(_) => return false,
            }
        }
    }

    /// What a flag does to the command, and where its value begins in its word.
    pub(in crate::shell) fn effect(&self, flag: &str) -> Option<(FlagEffect, usize)> {
        let kinds = [
            (self.writes, FlagEffect::Writes),
            (self.enters, FlagEffect::Enters),
            (self.sets, FlagEffect::Sets),
            (self.doubts, FlagEffect::Doubts),
        ];
        let find = |name: &str| {
            let listed = |list: &str| list.split_whitespace().any(|own| own == name);
            kinds.iter().find(|(list, _)| listed(list)).map(|(_, effect)| *effect)
        };
        if flag.starts_with("--") {
            let name = flag.split('=').next().unwrap_or(flag);
            return find(name).map(|effect| (effect, (name.len() + 1).min(flag.len())));
        }
        let taking = |letter: char| self.values.split_whitespace().any(|own| own == format!("-{letter}"));
        for (at, letter) in flag.char_indices().skip(1) {
            if let Some(effect) = find(&format!("-{letter}")) {
                return Some((effect, at + letter.len_utf8()));
            }
            if taking(letter) {
                return None;
            }
        }
        None
    }

    /// Is it `setarch`, which may be told a machine before its command?
    pub(in crate::shell) fn is_machine(&self) -> bool {
        self.names == "setarch"
    }

    /// Is it `env`, which splits a word itself when it is told to?
    pub(in crate::shell) fn is_env(&self) -> bool {
        self.names.starts_with("env ")
    }
}

/// The launcher of this name.
pub(in crate::shell) fn find(name: &str) -> Option<&'static Launcher> {
    TABLE.get(name).copied()
}

/// Is this a program whose only work is to start another?
pub(in crate::shell) fn is_launcher(name: &str) -> bool {
    matches!(name, "xargs" | "gxargs" | "parallel" | "eval" | "trap") || find(name).is_some()
}

/// Launchers that change nothing by themselves, so that only what they start is noted.
pub(in crate::shell) fn is_plain(name: &str) -> bool {
    matches!(
        name,
        "env"
            | "genv"
            | "command"
            | "builtin"
            | "exec"
            | "nohup"
            | "nice"
            | "ionice"
            | "stdbuf"
            | "timeout"
            | "gtimeout"
            | "time"
            | "gtime"
            | "setsid"
            | "taskset"
            | "chrt"
    )
}
