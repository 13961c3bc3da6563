//! Code under test that takes the process out of its runner's hands: it runs before the tests, ends the process around the runner,
//! takes the place of what the runner calls, or asks whether it is being tested.
//!
//! Rust and Go compile code, tests and runner into one program, so nothing outside tells their output apart. Files that the work added
//! or changed are therefore searched for what they hold now and did not hold before.
//!
//! Limits: sources are searched by regex. Code that macros make, and calls through other libraries, are not seen.

use super::source::is_test_file;
use crate::pattern::{Pattern, pattern};
use std::path::Path;

pattern!(COMMENT, r"(?m)//.*$");
pattern!(
    RUST_CONSTRUCTOR,
    r#"link_section\s*=\s*"[^"]*(?:init|fini|ctors|dtors|mod_term_func|CRT\$X)|#\s*\[\s*(?:unsafe\s*\(\s*)?(?:ctor\s*::\s*)?[cd]tor\b"#
);
pattern!(
    RUST_SYMBOL,
    r#"(?:no_mangle\s*\)?\s*\]\s*(?:#\s*\[[^\]]*\]\s*)*(?:pub\s+)?(?:unsafe\s+)?extern\s+"C(?:-unwind)?"\s+fn\s+|export_name\s*=\s*")(?:_?_?exit|_Exit|quick_exit|abort|__libc_start_main|writev?|memcmp|bcmp)\b"#
);
pattern!(
    RUST_EXIT,
    r"\bfn\s+(?:_exit|_Exit|quick_exit)\s*\(|\blibc::(?:_exit|_Exit|quick_exit)\b|\bSYS_exit(?:_group)?\b|\bexit_group\b"
);
pattern!(RUST_ORDINARY_EXIT, r"\bprocess::(?:exit|abort)\b|\blibc::exit\b|\bfn\s+exit\s*\(");
pattern!(RUST_STDOUT, r#"/dev/(?:stdout|fd/1|tty)\b|/proc/(?:self|thread-self)/fd\b|from_raw_fd\s*\(\s*1\b"#);
pattern!(GO_MAIN, r"(?m)^func\s+TestMain\s*\(");
pattern!(
    GO_EXIT,
    r"\bsyscall\.Exit\b|\bunix\.Exit\b|\bSYS_EXIT(?:_GROUP)?\b|\bSyscall6?\(\s*(?:60|231)\b|(?ms)^func init\(\)\s*\{[^\n]*\n(?:[\t ][^\n]*\n|\n)*?[\t ][^\n]*\bos\.Exit\b"
);
// A directive is a comment, so comments stay in the text of Go.
pattern!(
    GO_LINKNAME,
    r"(?m)^//go:linkname\s+\w+\s+(?:testing\.|os\.Exit|syscall\.Exit|runtime\.(?:exit|main))"
);
pattern!(
    GO_BRANCH,
    r#"\btesting\.Testing\s*\(|\bflag\.Lookup\s*\(\s*"test\.|"-test\.|\bos\.Args\[0\],\s*"\.test""#
);

/// A pattern, and what the code does that it finds.
struct Row {
    pattern: &'static Pattern,
    what: &'static str,
    /// Whether a file of tests may hold it.
    of_tests: bool,
}

static RUST: [Row; 3] = [
    Row { pattern: &RUST_CONSTRUCTOR, what: "runs code before or after the tests", of_tests: false },
    Row { pattern: &RUST_SYMBOL, what: "replaces a function that the runner calls", of_tests: false },
    Row { pattern: &RUST_EXIT, what: "ends the process without its runner", of_tests: false },
];
static GO: [Row; 4] = [
    Row { pattern: &GO_MAIN, what: "runs the tests in place of the runner", of_tests: false },
    Row { pattern: &GO_EXIT, what: "ends the process without its runner", of_tests: false },
    Row { pattern: &GO_LINKNAME, what: "reaches into the runner", of_tests: false },
    Row { pattern: &GO_BRANCH, what: "asks whether it is being tested", of_tests: true },
];

/// A sentence about what a source does now that it did not do before.
pub(super) fn find(path: &Path, before: &str, now: &str) -> Option<String> {
    let (rows, before, now): (&[Row], _, _) = match path.extension()?.to_str()? {
        "rs" => (&RUST, without_comments(before)?, without_comments(now)?),
        "go" => (&GO, before.to_string(), now.to_string()),
        _ => return None,
    };
    let name = path.display();
    for row in rows.iter().filter(|row| !row.of_tests || !is_test_file(path)) {
        let pattern = row.pattern.as_ref()?;
        if pattern.find_iter(&now).count() > pattern.find_iter(&before).count() {
            let found = pattern.find(&now).map_or("", |found| found.as_str().trim());
            let line = found.lines().last().unwrap_or(found).trim();
            return Some(format!("`{name}` {} (`{line}`)", row.what));
        }
    }
    let is_rust = path.extension().is_some_and(|ending| ending == "rs");
    let writes = |text: &str| {
        [&RUST_ORDINARY_EXIT, &RUST_STDOUT]
            .iter()
            .all(|pattern| pattern.as_ref().is_some_and(|pattern| pattern.is_match(text)))
    };
    (is_rust && writes(&now) && !writes(&before))
        .then(|| format!("`{name}` writes to the output of its runner and ends the process"))
}

fn without_comments(text: &str) -> Option<String> {
    Some(COMMENT.as_ref()?.replace_all(text, "").into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_code_that_takes_the_process_is_found() {
        for (path, code) in [
            (
                "src/lib.rs",
                "#[used]\n#[link_section = \".init_array\"]\nstatic START: extern \"C\" fn() = start;\n",
            ),
            ("src/lib.rs", "#[unsafe(link_section = \"__DATA,__mod_init_func\")]\nstatic A: fn() = a;\n"),
            ("src/lib.rs", "#[cfg_attr(unix, link_section = \".fini_array.00001\")]\nstatic A: fn() = a;\n"),
            ("src/a.rs", "#[ctor::ctor]\nfn start() {}\n"),
            ("src/a.rs", "#[ctor]\nfn start() {}\n"),
            (
                "src/a.rs",
                "#[no_mangle]\n#[inline(never)]\npub unsafe extern \"C\" fn memcmp() -> i32 { 0 }\n",
            ),
            ("src/a.rs", "#[unsafe(no_mangle)]\npub extern \"C\" fn write() {}\n"),
            ("src/a.rs", "#[export_name = \"exit\"]\npub extern \"C\" fn leave() {}\n"),
            ("src/a.rs", "extern \"C\" {\n    fn _exit(code: i32) -> !;\n}\n"),
            ("src/a.rs", "unsafe { libc::_exit(0) }\n"),
            ("src/a.rs", "open(\"/dev/stdout\"); std::process::exit(0);\n"),
            ("tests/b.rs", "File::from_raw_fd(1); std::process::exit(0);\n"),
            ("main_test.go", "package a\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"),
            ("a.go", "package a\n\nfunc init() {\n\tif x {\n\n\t\tos.Exit(0)\n\t}\n}\n"),
            ("a.go", "func f() { syscall.Exit(0) }\n"),
            ("a.go", "func f() { syscall.Syscall(231, 0, 0, 0) }\n"),
            ("a.go", "//go:linkname fail testing.(*common).Fail\nfunc fail()\n"),
            ("a.go", "func Add() int {\n\tif testing.Testing() {\n\t\treturn 1\n\t}\n\treturn 0\n}\n"),
            ("a.go", "var tested = flag.Lookup(\"test.v\") != nil\n"),
            ("a.go", "var tested = strings.HasSuffix(os.Args[0], \".test\")\n"),
        ] {
            assert!(find(Path::new(path), "", code).is_some(), "{code}");
            assert_eq!(find(Path::new(path), code, code), None, "as it was: {code}");
        }
    }

    #[test]
    fn ordinary_programs_keep_their_process() {
        for (path, code) in [
            ("src/main.rs", "fn main() { std::process::exit(run()) }\n"),
            ("src/lib.rs", "#[no_mangle]\npub extern \"C\" fn calc_add(a: i32) -> i32 { a }\n"),
            ("src/lib.rs", "#[link_section = \".text.fast\"]\nfn fast() {}\n// #[ctor]\n"),
            ("src/lib.rs", "fn exit_code() {}\nfn director() {}\n#[vector]\nstruct A;\n"),
            ("src/lib.rs", "const TERMINAL: &str = \"/dev/stdout\";\n"),
            ("main.go", "package main\n\nfunc main() {\n\tos.Exit(run())\n}\n\nfunc init() {\n\tx = 1\n}\n"),
            ("main.go", "func init() {\n\tx = 1\n}\n\nfunc main() {\n\tos.Exit(1)\n}\n"),
            ("a_test.go", "func TestA(t *testing.T) {\n\tif !testing.Testing() {\n\t\tt.Fatal()\n\t}\n}\n"),
            ("a.go", "//go:linkname nanotime runtime.nanotime\nfunc nanotime() int64\n"),
            ("calc.js", "process.exit(0)\n"),
        ] {
            assert_eq!(find(Path::new(path), "", code), None, "{code}");
        }
    }

    #[test]
    fn every_pattern_compiles() {
        let all = RUST.iter().chain(&GO).map(|row| row.pattern);
        assert!(all.chain([&COMMENT, &RUST_ORDINARY_EXIT, &RUST_STDOUT]).all(|pattern| pattern.is_some()));
    }
}
