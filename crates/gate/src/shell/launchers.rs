//! Programs whose words, after their own flags, are another command.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// How a launcher's own words end and its command begins.
#[derive(Debug)]
pub(super) struct Launcher {
    names: &'static str,
    /// Flags that take the next word.
    values: &'static str,
    /// Words that are not flags and come before the command.
    pub(super) before: usize,
    /// Whether `NAME=value` words come before it too.
    pub(super) assigns: bool,
    /// Whether the command runs on another machine or in a container.
    pub(super) elsewhere: bool,
    /// Whether its words are joined and read by a shell.
    pub(super) joins: bool,
}

const fn launcher(names: &'static str, values: &'static str, before: usize) -> Launcher {
    Launcher { names, values, before, assigns: false, elsewhere: false, joins: false }
}

const LAUNCHERS: &[Launcher] = &[
    Launcher {
        assigns: true,
        ..launcher(
            "sudo doas sudo-rs",
            "-u -g -h -p -C -T -U -r -t -D -R -a -c --user --group --host --prompt --chdir --chroot --close-from \
             --other-user --role --type --command-timeout",
            0,
        )
    },
    Launcher { assigns: true, ..launcher("env genv", "-u -C -a --unset --chdir --argv0", 0) },
    launcher(
        "command builtin nohup setsid eatmydata catchsegv unbuffer noglob nocorrect busybox toybox",
        "",
        0,
    ),
    launcher("linux32 linux64 i386 x86_64 uname26 primusrun optirun prime-run gamemoderun mangohud", "", 0),
    launcher("exec", "-a", 0),
    launcher("nice", "-n --adjustment", 0),
    launcher("ionice", "-c -n -p -P -u --class --classdata", 0),
    launcher("stdbuf", "-i -o -e --input --output --error", 0),
    launcher("timeout gtimeout", "-s -k --signal --kill-after", 1),
    launcher("taskset", "-p", 1),
    launcher("chrt", "-T -P -D", 1),
    launcher("setarch", "", 0),
    launcher("time gtime", "-f -o --format --output", 0),
    launcher("faketime", "-f", 1),
    launcher("chroot", "--userspec --groups", 1),
    launcher("nsenter", "-t -S -G --target --setuid --setgid", 0),
    launcher("unshare", "-S -G -R -w --setuid --setgid --root --wd --map-user --map-group --propagation", 0),
    launcher(
        "systemd-run",
        "-u -p -M -H -E --unit --property --description --slice --uid --gid --nice --setenv --working-directory \
         --machine --host --on-active --on-boot --on-calendar --timer-property",
        0,
    ),
    launcher("systemd-inhibit", "--what --who --why --mode", 0),
    launcher("strace", "-a -b -e -E -I -o -O -p -P -s -S -u -U -X --output --trace --attach --env --user", 0),
    launcher("ltrace", "-a -A -D -e -F -l -n -o -p -s -u -w -x --output", 0),
    launcher("gdb", "-ex -x -iex -p -c -d -s -e", 0),
    launcher("valgrind", "--tool --log-file", 0),
    launcher("perf", "-e -o -F -g -p -t -C", 1),
    launcher("heaptrack", "-o -p", 0),
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
    Launcher { joins: true, ..launcher("watch", "-n -q --interval --equexit", 0) },
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
    pub(super) fn takes_next(&self, flag: &str) -> bool {
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

    /// Is it `setarch`, which may be told a machine before its command?
    pub(super) fn is_machine(&self) -> bool {
        self.names == "setarch"
    }

    /// Is it `env`, which splits a word itself when it is told to?
    pub(super) fn is_env(&self) -> bool {
        self.names.starts_with("env ")
    }
}

/// The launcher of this name.
pub(super) fn find(name: &str) -> Option<&'static Launcher> {
    TABLE.get(name).copied()
}

/// Is this a program whose only work is to start another?
pub(super) fn is_launcher(name: &str) -> bool {
    matches!(name, "xargs" | "gxargs" | "parallel" | "eval" | "trap") || find(name).is_some()
}

/// Launchers that change nothing by themselves, so that only what they start is noted.
pub(super) fn is_plain(name: &str) -> bool {
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
