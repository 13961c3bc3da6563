//! Trees on a real disk: what is unpacked into them, and what is packed, copied and printed of them.

use super::*;

#[test]
fn what_steers_agents_does_not_come_in_with_other_files() {
    let disk = Disk::new();
    let work = &disk.context.workspace;
    for made in ["x/.claude", "y/src", "z"] {
        std::fs::create_dir_all(work.join(made)).unwrap();
    }
    for file in ["x/.claude/settings.json", "y/src/a.rs", "z/CLAUDE.md", "z/b.txt"] {
        std::fs::write(work.join(file), "x").unwrap();
    }
    for line in ["tar xf a.tar -C y", "unzip -o a.zip -d y", "cp -r y/. .", "cp -rT y .", "mv z/*.txt ."] {
        assert_eq!(disk.rule(line).0, Decision::Allow, "{line}");
    }
    std::fs::create_dir_all(work.join(".codex")).unwrap();
    for (line, rule) in [
        ("cp -r x/. .", "effect.write"),
        ("cp -aT x .", "effect.write"),
        ("cp -r x/.claude src/..", "effect.write"),
        ("cp z/* .", "effect.write"),
        ("cp z/*.md src", "effect.write"),
        // A nested directory steers agents that are started there.
        ("cp -r x/. z", "effect.write"),
        ("cp -r made/. .", "copy.unseen"),
        ("tar xf a.tar", "archive.hooks"),
        ("tar --extract --file=a.tar --strip-components=1", "archive.hooks"),
        ("unzip -o a.zip", "archive.hooks"),
        ("7z x a.7z", "archive.hooks"),
        ("cd src && tar xf ../a.tar -C ..", "archive.hooks"),
        // What stands there is kept, but a hook that is not there yet comes in.
        ("tar xkf a.tar", "archive.hooks"),
        ("unzip -n a.zip", "archive.hooks"),
        ("tar xf a.tar -C z", "archive.hooks"),
        ("tar xf a.tar --wildcards '*.rs'", "archive.hooks"),
        ("tar --extr -f a.tar", "archive.hooks"),
        ("tar xf a.tar x", "archive.hooks"),
        ("tar xf a.tar -C y --one-top-level=../x", "archive.hooks"),
        ("unrar x a.rar", "archive.hooks"),
        ("ouch d a.zip", "archive.hooks"),
        ("jar xf a.jar", "archive.hooks"),
        ("jar -x -f a.jar", "archive.hooks"),
        ("ar x a.a", "archive.hooks"),
        ("python3 -m zipfile -e a.zip .", "archive.hooks"),
        ("python3 -m tarfile -e a.tar", "archive.hooks"),
        ("gunzip -r x", "compress.tree"),
    ] {
        assert_eq!(disk.rule(line), (Decision::Ask, rule.to_string()), "{line}");
    }
    for line in [
        "cp -r y/. .",
        "tar xf a.tar -C y",
        "tar xf a.tar -C out --strip-components=1",
        "tar xOf a.tar README.md",
        "tar tf a.tar",
        "tar xf a.tar src/a.rs",
        "unzip -l a.zip",
        "unzip a.zip -d y",
        "ouch d a.zip -d out",
        "unrar x a.rar y/",
        "unrar l a.rar",
        "jar tf a.jar",
        "ar t a.a",
        "python3 -m zipfile -e a.zip out",
        "gunzip y/src/a.rs.gz",
    ] {
        assert_eq!(disk.rule(line).0, Decision::Allow, "{line}");
    }
}

#[test]
fn secrets_in_a_tree_are_not_packed_copied_or_handed_over() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().canonicalize().unwrap();
    for path in ["src/a.rs", "out/b.txt", "app/.env", "a.txt"] {
        let path = workspace.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let context = CommandContext { workspace, home: "/home/a".into() };
    let decide = |line: &str| judge_command(line, &context).verdict.decision;
    let allowed: Vec<&str> = [
        "gzip -rc .",
        "gzip -rc app > x.gz",
        "zstd -rc app",
        "tar cf - .",
        "tar czf x.tgz app",
        "tar cf x.tar -C app .",
        "tar cf x.tar *",
        "zip -r x.zip .",
        "7z a x.7z",
        "jar cf x.jar app",
        "python3 -m zipfile -c x.zip app",
        "pax -w .",
        "cp -r . /tmp/x",
        "cp -a app out/app",
        "ditto app out/app",
        "mksquashfs app x.img",
        "cp -r . /tmp/x && grep -r KEY /tmp/x",
        "diff -r app out",
        "diff -N app out",
        "colordiff -r app out",
        "git diff --no-index /dev/null .",
        "git grep --no-index KEY",
        "git grep --untracked KEY -- app",
        "grep -d recurse KEY .",
        "grep --directories=recurse KEY app",
        "zstdgrep -r KEY .",
        "grep -r KEY -- app",
        "rg --type-add 'x:*' -tx --hidden KEY",
        "find . -type f -exec cat {} +",
        "find app -maxdepth 1 -type f -exec grep -H '' {} \\;",
        "find . -type f | xargs cat",
        "find . -type f -print0 | xargs -0 grep x",
        "find . -type f | while read f; do cat \"$f\"; done",
        "find . | tar cf - -T -",
        "find . -type f | zip x.zip -@",
        "find . | cpio -o",
        "cat $(find . -type f)",
        "for f in $(ls -A app); do cat app/$f; done",
        "ls -A app | xargs cat",
        "git ls-files -o | xargs cat",
        "git status --short --ignored | awk '{print $2}' | xargs cat",
        "git clean -ndX | awk '{print $3}' | xargs head",
        "tree -afi app | xargs cat",
        "du -a app | cut -f2 | xargs cat",
        "ls -A app | while read f; do sort app/$f; done",
        "fd -H -t f -X cat",
        "rg --files --hidden | xargs head",
    ]
    .into_iter()
    .filter(|line| decide(line) == Decision::Allow)
    .collect();
    assert!(allowed.is_empty(), "{allowed:#?}");
    for line in [
        "tar czf x.tgz src",
        "tar cf x.tar --exclude=.env .",
        "zip -r x.zip src out",
        "zip -r x.zip . -x .env",
        "cp -r src out/src",
        "diff -r src out",
        "git diff --no-index src out",
        "git grep KEY",
        "find src -type f -exec cat {} +",
        "find . -name '*.rs' -exec cat {} +",
        "find . -name '*.rs' | xargs grep x",
        "find . -type f | wc -l",
        "find . -type f -exec ls -l {} +",
        "find . -type d | while read d; do cat \"$d\"/a.txt; done",
        "for f in $(ls src); do cat src/$f; done",
        "ls -A app | wc -l",
        "ls -A app | sort | uniq -c",
        "du -a app | sort -n | tail -3",
        "git status --short | awk '{print $2}' | xargs cat",
        "git ls-files | xargs wc -l",
        "rg --files | xargs head",
    ] {
        assert_eq!(decide(line), Decision::Allow, "{line}: {:?}", judge_command(line, &context).verdict);
    }
}
