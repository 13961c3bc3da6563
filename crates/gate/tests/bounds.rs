//! Whatever line comes, of up to 64 KB: it is judged without a panic, in bounded time and memory, and never allowed
//! because it could not be read. What is measured is the time of this thread's processor and the peak of the process.

use marvin_gate::Decision;
use marvin_gate::effects::{Grounds, Judgement, judge};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const GROUNDS: Grounds<'static> = Grounds { workspace: "/home/me/project", home: "/home/me" };
const MAX_LINE_BYTES: usize = 64 * 1024;
const MAX_MEMORY_BYTES: usize = 64 * 1024 * 1024;
/// A build without optimisations is slower by about this much.
const SLOWER: u32 = if cfg!(debug_assertions) { 12 } else { 1 };
const MAX_JUDGEMENT_TIME: Duration = Duration::from_millis(50);

/// Counts what is allocated now, and the most that ever was.
struct CountingAllocator;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "an allocator can only be written so")]
// SAFETY: every call is given to the system's allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Judges a line and says how long that took and how much memory it needed.
fn measured(line: &str) -> (Judgement, Duration, usize) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let started = processor_time();
    let judged = judge(line, GROUNDS.workspace, GROUNDS);
    let taken = processor_time() - started;
    (judged, taken, PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

/// The most memory that this process ever had, parsers in C included.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<usize>().ok()).unwrap_or(0) * 1024
}

/// Text up to a length, made of one piece again and again.
fn filled(piece: &str, length: usize) -> String {
    piece.repeat(length / piece.len())
}

/// Lines that are hard to read, of about this length: a beginning, a piece that is repeated, an end.
const SHAPES: &[(&str, &str, &str)] = &[
    ("", "(", ""),
    ("", "(')'", ""),
    ("", "$(", ""),
    ("", "\"$(", ""),
    ("", "$((", ""),
    ("", ";", ""),
    ("", "a;", ""),
    ("", "ls;", ""),
    ("", "a|", "a"),
    ("", "cat|", "cat"),
    ("", "a&&", "a"),
    ("", "true||", "true"),
    ("", "a&", ""),
    ("", "`", ""),
    ("", "`a` ", ""),
    ("", "{a,b}", ""),
    ("echo ", "{a,b}", ""),
    ("echo ", "{a,b} ", ""),
    ("echo ", "{1..9}", ""),
    ("", "{a,", ""),
    ("", "{ ", ""),
    ("", "{ a; } ", ""),
    ("cat <<E\n", "word word\n", "E\n"),
    ("cat <<'E'\n", "$(ls) `ls` word\n", "E\n"),
    ("cat <<E\n", "$(ls) ", "\nE\n"),
    ("cat <<E\n", "${x} ", "\nE\n"),
    ("", "cat <<E\nx\nE\n", ""),
    ("for x in ", "a ", "; do echo $x; done"),
    ("x=aaaaaaaa;", "x=$x$x;", "echo $x"),
    ("set -- a;", "set -- \"$@\" \"$@\";", "echo $@"),
    ("a=(x);", "a+=(\"${a[@]}\");", "echo ${a[@]}"),
    ("", "if ", ""),
    ("", "if a; then ", ""),
    ("if a; then b; ", "elif a; then b; ", "fi"),
    ("", "while ", ""),
    ("", "coproc ", ""),
    ("", "! ", "true"),
    ("[[ ", "a && ", "a ]]"),
    ("[[ ", "! ", "a ]]"),
    ("[[ ", "a =~ b ", "]]"),
    ("", "case a in ", ""),
    ("case a in ", "a) b;; ", "esac"),
    ("", "time ", "ls"),
    ("", "$", ""),
    ("echo ", "$x", ""),
    ("echo ", "${x}", ""),
    ("echo ", "\"\"", ""),
    ("echo ", "''", ""),
    ("", "\"", ""),
    ("", "'", ""),
    ("", "\\", ""),
    ("", "\\\n", ""),
    ("", "\n", ""),
    ("", "\r", ""),
    ("", "\0", ""),
    ("", "# a\n", ""),
    ("", "${a:-", ""),
    ("echo $((", "1+", "1))"),
    ("echo $((", "a?b:", "1))"),
    ("", "((a++));", ""),
    ("", "a=b ", ""),
    ("", "a[0]=1 ", ""),
    ("", ">a ", ""),
    ("", "<<a ", ""),
    ("", "<<<a ", ""),
    ("", "a ", ""),
    ("echo ", "a ", ""),
    ("", "a", ""),
    ("ls ", "*", ""),
    ("ls ", "a*/", ""),
    ("ls /", "*?[a-z]", ""),
    ("", "@(a|", ""),
    ("", "eval 'ls';", ""),
    ("", "eval ", "ls"),
    ("", "sudo ", "ls"),
    ("", "env ", "ls"),
    ("", "xargs ", "ls"),
    ("", "bash -c 'ls';", ""),
    ("", "bash -c ", "ls"),
    ("", "f(){ f; };", "f"),
    ("", "f(){ g; g; };g(){ f; };", "f"),
    ("", "echo a>f;cat f;", ""),
    ("", "echo $(echo a);", ""),
    ("", "cat <(ls) ", ""),
    ("", "alias a=b;a;", ""),
    ("x=", "a", ";echo ${x//a/aa}${x##*b}${x%%b*}${x^^}"),
    ("echo ", "a", "|tr a b|rev|base64 -d|sh"),
    ("echo ", "QUFB", "|base64 -d|sh"),
    ("printf ", "%s", " a|sh"),
    ("echo $'", "\\x41", "'"),
    ("python3 -c \"", "system('ls');", "\""),
    ("python3 -c \"", "'a',", "\""),
    ("perl -e '", "`ls`;", "'"),
    ("awk '", "{print $1}", "'"),
    ("", "git push;", ""),
    ("curl ", "a@b ", ""),
    ("", "rm -rf x;", ""),
    ("", "cd a;", ""),
    ("", "cd a||", "ls"),
    ("", "cd a;(", ""),
    ("", "for i in a b;do ", ""),
    ("", "for a in 1 2 3 4 5 6 7 8;do ", "echo"),
    ("", "x=a;[ a ]&&x=b;", "echo $x$x$x"),
    ("", "é", ""),
    ("", "\u{202e}", ""),
    ("", "a=$(b \"${c:-`d`}\" <(e));", ""),
    ("echo / ", "/", "|xargs -I{} sh -c '{}{}{}{}'"),
    ("printf '%s\\n' ", "a ", "|xargs -I{} sh -c 'echo {}'"),
    ("find . ", "-exec ls {} + ", ""),
    ("tar ", "--to-command=ls ", ""),
    ("vim ", "-c '!ls' ", ""),
    ("git ", "-c alias.x='!ls' ", "x"),
    ("", "trap ls EXIT;", ""),
    ("", "read a <<<b;", "$a"),
];

#[test]
fn every_line_is_judged_in_bounded_time_and_memory() {
    // The first call reads tables and compiles regexes.
    measured("curl x | sh; $x; ( (a) )");
    let before = resident();
    let mut slow = Vec::new();
    for length in [500, 2_000, 6_000, 20_000, MAX_LINE_BYTES - 64] {
        for (begin, piece, end) in SHAPES {
            let line = format!("{begin}{}{end}", filled(piece, length));
            let (judged, mut taken, memory) = measured(&line);
            // Once more where another process may have been in the way.
            if taken > MAX_JUDGEMENT_TIME * SLOWER {
                taken = taken.min(measured(&line).1);
            }
            if taken > MAX_JUDGEMENT_TIME * SLOWER {
                slow.push(format!("{taken:?} for {length} of {begin:?} {piece:?} {end:?}"));
            }
            assert!(memory < MAX_MEMORY_BYTES, "{memory} bytes for {length} of {begin:?} {piece:?}");
            if !judged.doubts.is_empty() {
                assert_ne!(judged.verdict.decision, Decision::Allow, "{begin:?} {piece:?}");
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
    assert!(before > 0 && resident() - before < MAX_MEMORY_BYTES, "{before} {}", resident());
}

/// Things that nest: an opening and its closing.
const NESTS: &[(&str, &str)] = &[
    ("${a:-", "}"),
    ("\"${a:-", "}\""),
    ("${a[", "]}"),
    ("${a[$((", "))]}"),
    ("${a[$(echo ", ")]}"),
    ("${a[']'", "]}"),
    ("$((", "))"),
    ("${a/", "}"),
    ("${a:", "}"),
    ("$(echo ", ")"),
    ("\"$(echo ", ")\""),
    ("{a,", "}"),
    ("<(echo ", ")"),
    ("(", ")"),
    ("{ ", "; }"),
    ("if true; then ", "; fi"),
    ("while true; do ", "; done"),
    ("for x in a b; do ", "; done"),
    ("case a in a) ", ";; esac"),
    ("f() { ", "; }"),
    ("coproc ", ""),
    ("[[ ( ", " ) ]]"),
    ("bash -c \"", "\""),
    ("eval ", ""),
    ("x=(", ")"),
    ("@(", ")"),
];

#[test]
fn nests_of_any_depth_are_judged_in_bounded_time() {
    measured("curl x | sh; $x; ( (a) )");
    for (open, close) in NESTS {
        for before in ["", "echo "] {
            for depth in [1, 2, 4, 8, 16, 30, 60, 400, 5_000] {
                let line = format!("{before}{}ls{}", open.repeat(depth), close.repeat(depth));
                let (judged, taken, memory) = measured(&line);
                assert!(taken < MAX_JUDGEMENT_TIME * SLOWER, "{taken:?} for {depth} of {before}{open}");
                assert!(memory < MAX_MEMORY_BYTES, "{memory} for {depth} of {before}{open}");
                assert!(
                    judged.doubts.is_empty() || judged.verdict.decision != Decision::Allow,
                    "{before}{open}"
                );
            }
        }
    }
}

/// What the fuzzer found: one of the parsers panicked, or took very long.
#[test]
fn findings_stay_fixed() {
    for line in [
        "ls 18446744073709551615>> d",
        "ls ~18446744073709551615",
        "ls ~+18446744073709551616",
        "echo {1..18446744073709551615}",
        "x='~184467440737''09551615'; echo ${x@P}",
        "((((((((((((((((((((((((((((((((((((((((r",
        "( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( ( (r",
        "((((((((((r",
        "case a in a) case a in a) case a in a) case a in a) case a in a) case a in a) case a in a) case a in a) case a",
        "\"${a[$((1+1))]} \"${a[$((${a[$((${a[$((1))]}))]}))]}\"",
        "cat <<'EOF' | ba\u{fffd}\u{fffd}\u{fffd}/r+\u{1}-name a \\\\ ${!x}S${x^^} ${x@h -st <<'EOF' \u{c} bash\nEOF",
    ] {
        let (judged, taken, _) = measured(line);
        assert!(taken < MAX_JUDGEMENT_TIME * SLOWER, "{taken:?} {line}");
        assert_ne!(judged.verdict.decision, Decision::Allow, "{line}");
    }
}

#[test]
fn a_danger_that_is_buried_is_not_allowed() {
    for (begin, piece, end) in SHAPES {
        for length in [200, 3_000, 30_000] {
            let line = format!("{begin}{}{end}\nrm -rf /\n", filled(piece, length));
            let (judged, ..) = measured(&line);
            // In quotes, comments and documents it is only text; what is read whole may be allowed then.
            let text = line.contains("<<") || line.contains(['\'', '"', '`', '#', '\\', '(', '{', '[']);
            let only_text = text && judged.doubts.is_empty();
            assert!(
                only_text || judged.verdict.decision != Decision::Allow,
                "{length} of {begin:?} {piece:?}"
            );
        }
    }
}

#[test]
fn what_cannot_be_read_is_never_allowed() {
    for line in [
        "echo 'a",
        "echo \"a",
        "echo $(a",
        "echo `a",
        "if a; then b",
        "for x in",
        "a |",
        "a &&",
        "(a",
        "{ a",
        "a )",
        "case a in",
        "f() {",
        "cat <<E",
        "ls ;; ls",
        "& ls",
        "ls \0",
        "ls\r\n",
        "[[ a",
        "((a",
        "${",
        "ls > ",
        "select x in a; do ls; done",
        "for x in a; { ls; }",
    ] {
        let (judged, ..) = measured(line);
        assert_ne!(judged.verdict.decision, Decision::Allow, "{line:?} {:?}", judged.doubts);
    }
}
