use super::*;
use marvin_testing::{git, write};
use std::os::unix::fs::symlink;

#[test]
fn s6_changes_are_undone_and_reported() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("work");
    let quarantine = directory.path().join("tampered");
    std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
    std::fs::write(root.join(".git/config"), "[core]\n").unwrap();
    std::fs::write(root.join(".git/hooks/pre-commit"), "true").unwrap();
    let places =
        [".git/config", ".git/hooks", ".git/commondir", ".marvin", ".envrc"].map(|place| root.join(place));

    let guard = Guard::begin(&root, &places, Vec::new(), NestedChanges::Undone);
    std::fs::write(root.join("a"), "a").unwrap();
    std::fs::write(root.join(".git/index"), "i").unwrap();
    assert_eq!(guard.finish(Some(&quarantine)), Vec::<String>::new());

    let guard = Guard::begin(&root, &places, Vec::new(), NestedChanges::Undone);
    std::fs::write(root.join(".git/config"), "[evil]\n").unwrap();
    std::fs::write(root.join(".git/hooks/post-commit"), "x").unwrap();
    std::fs::write(root.join(".git/commondir"), "..").unwrap();
    std::fs::write(root.join(".envrc"), "x").unwrap();
    std::fs::create_dir_all(root.join(".marvin/runs")).unwrap();
    std::fs::write(root.join(".marvin/config.toml"), "x").unwrap();
    std::fs::create_dir_all(root.join("sub/.git")).unwrap();
    std::fs::remove_file(root.join(".git/hooks/pre-commit")).unwrap();
    let expected = [
        ".envrc",
        ".git/commondir",
        ".git/config",
        ".git/hooks/post-commit",
        ".git/hooks/pre-commit",
        ".marvin/config.toml",
        "sub/.git",
    ];
    assert_eq!(guard.finish(Some(&quarantine)), expected);
    assert_eq!(std::fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n");
    assert_eq!(std::fs::read_to_string(root.join(".git/hooks/pre-commit")).unwrap(), "true");
    for gone in [".git/hooks/post-commit", ".git/commondir", ".envrc", ".marvin/config.toml"] {
        assert!(!root.join(gone).exists(), "{gone}");
    }
    assert_eq!(std::fs::read_dir(&quarantine).unwrap().count(), 5);
    assert_eq!(
        Guard::begin(&root, &places, Vec::new(), NestedChanges::Undone).finish(None),
        Vec::<String>::new()
    );
}

#[test]
fn s6_new_and_nested_files_that_steer_are_undone() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::create_dir_all(root.join("sub/deep")).unwrap();
    std::fs::write(root.join("sub/AGENTS.md"), "own").unwrap();
    let open = root.join("CLAUDE.md");
    let guard = Guard::begin(root, &[], vec![open.clone()], NestedChanges::Undone);
    std::fs::create_dir_all(root.join("sub/deep/.claude/skills/a")).unwrap();
    std::fs::create_dir_all(root.join("clone/.git")).unwrap();
    let written = [
        "AGENTS.md",
        "lefthook.yml",
        "sub/AGENTS.md",
        "sub/deep/.claude/skills/a/SKILL.md",
        "sub/deep/.cursorrules",
    ];
    for path in written.iter().chain(&["CLAUDE.md", "clone/AGENTS.md", "sub/deep/agents.rs"]) {
        std::fs::write(root.join(path), "obey").unwrap();
    }
    let expected: Vec<&str> =
        ["AGENTS.md", "clone/.git"].into_iter().chain(written[1..].iter().copied()).collect();
    assert_eq!(guard.finish(None), expected);
    assert_eq!(std::fs::read_to_string(root.join("sub/AGENTS.md")).unwrap(), "own");
    assert!(!root.join("AGENTS.md").exists() && !root.join("sub/deep/.cursorrules").exists());
    assert!(open.exists() && root.join("sub/deep/agents.rs").exists(), "opened, and not steering");
}

#[test]
fn a_git_file_in_a_directory_that_was_there_hides_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::create_dir_all(root.join("prepared")).unwrap();
    let guard = Guard::begin(root, &[], Vec::new(), NestedChanges::Undone);
    std::fs::write(root.join("src/.git"), "").unwrap();
    std::fs::write(root.join("src/AGENTS.md"), "obey").unwrap();
    std::os::unix::fs::symlink("../prepared", root.join("src/.claude")).unwrap();
    assert_eq!(guard.finish(None), ["src/.claude", "src/.git", "src/AGENTS.md"]);
    assert!(!root.join("src/AGENTS.md").exists());
    assert!(root.join("src/.claude").symlink_metadata().is_err());
}

#[test]
fn s6_no_number_of_files_and_no_depth_hides_a_file_that_steers() {
    let (_directory, root, _) = beside();
    let listed = [root.join(".git/hooks"), root.join(".claude"), root.join(".husky")];
    write(root.join(".husky/pre-commit"), "own");
    write(root.join("lib/a.rs"), "");
    std::fs::create_dir_all(root.join(".git")).unwrap();
    let guard = Guard::begin(&root, &listed, Vec::new(), NestedChanges::Undone);
    let (deep, wide) = ("d/".repeat(12), format!(".claude/skills/{}SKILL.md", "s/".repeat(9)));
    let steering = [wide.clone(), format!("{deep}AGENTS.md"), "lib/CLAUDE.md".to_string()];
    for path in &steering {
        write(root.join(path), "obey");
    }
    for number in 0..MAX_PLACE_ENTRIES {
        write(root.join(format!("lib/{number}.rs")), "");
        write(root.join(format!(".git/hooks/{number}")), "");
        write(root.join(format!(".husky/x/{number}")), "");
    }
    write(root.join(".git/hooks/pre-commit"), "evil");
    write(root.join(".husky/pre-commit"), "evil");
    let reported = guard.finish(None);
    assert!(steering.iter().all(|path| reported.contains(path)), "{reported:?}");
    assert!(
        [".git/hooks", ".husky"].iter().all(|place| reported.contains(&place.to_string())),
        "{reported:?}"
    );
    assert!(steering.iter().all(|path| !root.join(path).exists()));
    assert!(!root.join(".git/hooks").exists() && !root.join(".husky/x").exists());
    assert_eq!(std::fs::read_to_string(root.join(".husky/pre-commit")).unwrap(), "own");
    assert!(root.join("lib/7.rs").exists());
}

#[test]
fn a_place_that_held_too_much_before_keeps_what_is_not_known() {
    let (_directory, root, _) = beside();
    write(root.join(".claude/settings.json"), "own");
    for number in 0..=MAX_PLACE_ENTRIES {
        write(root.join(format!(".claude/worktrees/w/{number}")), "work");
    }
    let guard = Guard::begin(&root, &[root.join(".claude")], Vec::new(), NestedChanges::Undone);
    write(root.join(".claude/settings.json"), "evil");
    write(root.join(".claude/worktrees/w/new"), "work");
    assert_eq!(guard.finish(None), [".claude/settings.json"]);
    assert_eq!(std::fs::read_to_string(root.join(".claude/settings.json")).unwrap(), "own");
    assert!(root.join(".claude/worktrees/w/new").exists());
}

#[test]
fn s6_a_repository_in_the_place_of_a_submodule_has_no_settings() {
    let (_directory, root, _) = beside();
    git(&root, &["init", "-q"]);
    std::fs::create_dir(root.join("sub")).unwrap();
    git(
        &root,
        &["update-index", "--add", "--cacheinfo", "160000,4b825dc642cb6eb9a060e54bf8d69288fbee4904,sub"],
    );
    let guard = Guard::begin(&root, &[root.join(".git/config")], Vec::new(), NestedChanges::Undone);
    let marker = root.join("ran");
    git(&root.join("sub"), &["init", "-q"]);
    git(&root.join("sub"), &["config", "core.fsmonitor", &format!("touch {}; false", marker.display())]);
    assert!(guard.finish(None).contains(&"sub/.git/config".to_string()));
    git(&root, &["status", "--porcelain"]);
    assert!(!marker.exists());
}

#[test]
fn s6_repositories_without_a_working_tree_are_guarded_too() {
    let (_directory, root, _) = beside();
    git(&root, &["init", "-q", "--bare", "own.git"]);
    let config = std::fs::read_to_string(root.join("own.git/config")).unwrap();
    let guard = Guard::begin(&root, &[], Vec::new(), NestedChanges::Undone);
    write(root.join("own.git/config"), "[core]\nfsmonitor = evil\n");
    git(&root, &["init", "-q", "--bare", "docs"]);
    assert_eq!(guard.finish(None), ["docs/HEAD", "own.git/config"]);
    assert_eq!(std::fs::read_to_string(root.join("own.git/config")).unwrap(), config);
}

#[test]
fn s6_a_file_in_the_place_of_a_repository_gives_way() {
    let (_directory, root, _) = beside();
    git(&root, &["init", "-q", "pkg"]);
    let guard = Guard::begin(&root, &[], Vec::new(), NestedChanges::Undone);
    std::fs::rename(root.join("pkg/.git"), root.join("pkg/x")).unwrap();
    write(root.join("pkg/.git"), "gitdir: ../evil");
    assert!(guard.finish(None).contains(&"pkg/.git/config".to_string()));
    assert!(root.join("pkg/.git/config").is_file());
}

#[test]
fn s6_instructions_of_a_rebase_run_no_command_of_an_agent() {
    let (_directory, root, _) = beside();
    git(&root, &["init", "-q", "."]);
    git(&root, &["init", "-q", "pkg"]);
    std::fs::create_dir_all(root.join(".git/worktrees/w")).unwrap();
    let places = [".git", ".git/worktrees/w", "pkg/.git"];
    let todo = |place: &str| root.join(place).join("rebase-merge/git-rebase-todo");
    let begin = || Guard::begin(&root, &[], Vec::new(), NestedChanges::Undone);
    let guard = begin();
    places.iter().for_each(|place| write(todo(place), "pick 1 # a\n  x touch evil\n"));
    let expected = places.map(|place| format!("{place}/rebase-merge/git-rebase-todo"));
    assert_eq!(guard.finish(None), expected);
    places.iter().for_each(|place| assert!(!todo(place).exists(), "{place}"));
    // A conflict of an agent's rebase.
    let guard = begin();
    write(todo(".git"), "pick 1 # exec a\nfixup 2\n# x comment\n");
    assert_eq!(guard.finish(None), Vec::<String>::new());
    // Further steps of a rebase of the person's own.
    write(todo(".git"), "exec make\npick 1\nexec make\n");
    let guard = begin();
    write(todo(".git"), "pick 1\nexec make\n");
    assert_eq!(guard.finish(None), Vec::<String>::new());
    let guard = begin();
    write(todo(".git"), "exec make\nexec\tevil\n");
    assert_eq!(guard.finish(None), [".git/rebase-merge/git-rebase-todo"]);
    assert_eq!(std::fs::read_to_string(todo(".git")).unwrap(), "pick 1\nexec make\n");
    std::fs::remove_dir_all(root.join(".git/rebase-merge")).unwrap();
    let guard = begin();
    write(root.join("mine/git-rebase-todo"), "exec evil\n");
    symlink("../mine", root.join(".git/rebase-merge")).unwrap();
    assert_eq!(guard.finish(None), [".git/rebase-merge"]);
    assert!(root.join(".git/rebase-merge").symlink_metadata().is_err());
}

#[test]
fn what_git_and_the_shell_bring_in_stays() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::create_dir_all(root.join(".git")).unwrap();
    let own = [root.join(".git/config")];
    std::fs::write(&own[0], "[core]\n").unwrap();
    for (changes, expected) in [
        (NestedChanges::Reported, vec![".git/config", "AGENTS.md", "sub/AGENTS.md"]),
        (NestedChanges::Kept, vec![".git/config"]),
    ] {
        std::fs::write(root.join("AGENTS.md"), "old").unwrap();
        std::fs::remove_file(root.join("sub/AGENTS.md")).ok();
        let guard = Guard::begin(root, &own, Vec::new(), changes);
        std::fs::write(root.join("AGENTS.md"), "new").unwrap();
        std::fs::write(root.join("sub/AGENTS.md"), "new").unwrap();
        std::fs::write(&own[0], "[evil]\n").unwrap();
        assert_eq!(guard.finish(None), expected);
        assert_eq!(std::fs::read_to_string(root.join("AGENTS.md")).unwrap(), "new");
        assert!(root.join("sub/AGENTS.md").exists());
        assert_eq!(std::fs::read_to_string(&own[0]).unwrap(), "[core]\n");
    }
}

#[test]
fn an_opened_place_is_open_with_what_lies_in_it_and_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for own in [".github/workflows", ".husky"] {
        std::fs::create_dir_all(root.join(own)).unwrap();
    }
    std::fs::write(root.join(".husky/pre-commit"), "true").unwrap();
    let listed = [root.join(".github/workflows"), root.join(".husky")];
    let open = vec![root.join(".github/workflows/ci.yml"), root.join(".husky")];
    let guard = Guard::begin(root, &listed, open, NestedChanges::Undone);
    std::fs::write(root.join(".github/workflows/ci.yml"), "on: push").unwrap();
    std::fs::write(root.join(".github/workflows/evil.yml"), "on: push").unwrap();
    std::fs::remove_dir_all(root.join(".husky")).unwrap();
    assert_eq!(guard.finish(None), [".github/workflows/evil.yml"]);
    assert!(root.join(".github/workflows/ci.yml").exists() && !root.join(".husky").exists());
}

#[test]
fn worktrees_of_other_processes_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let own = |name: &str| root.join(".git/worktrees").join(name);
    for name in ["again", "gone", "robbed"] {
        std::fs::create_dir_all(own(name)).unwrap();
        std::fs::write(own(name).join("commondir"), "../..\n").unwrap();
    }
    let places = ["again", "gone", "robbed"].map(|name| own(name).join("commondir"));
    let guard = Guard::begin(root, &places, Vec::new(), NestedChanges::Undone);
    std::fs::remove_dir_all(own("gone")).unwrap();
    std::fs::remove_dir_all(own("again")).unwrap();
    std::fs::create_dir(own("again")).unwrap();
    std::fs::write(own("again").join("commondir"), "../..\n").unwrap();
    std::fs::remove_file(own("robbed").join("commondir")).unwrap();
    assert_eq!(guard.finish(None), [".git/worktrees/robbed/commondir"]);
    assert!(own("robbed").join("commondir").exists() && !own("gone").exists());
}

#[test]
fn a_comparison_is_cheap() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
    std::fs::write(root.join(".git/config"), "").unwrap();
    for number in 0..20 {
        std::fs::write(root.join(format!(".git/hooks/{number}.sample")), "").unwrap();
    }
    let places = [".git/config", ".git/hooks"].map(|place| root.join(place));
    let started = marvin_testing::CpuTimer::start();
    for _ in 0..20 {
        assert!(Guard::begin(root, &places, Vec::new(), NestedChanges::Undone).finish(None).is_empty());
    }
    // Below a millisecond each, but tests are built without optimisation.
    assert!(started.elapsed() < std::time::Duration::from_millis(800), "{:?}", started.elapsed());
}

/// A workspace and a directory of the person's beside it.
fn beside() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (root, own) = (directory.path().join("work"), directory.path().join("own"));
    for made in [&root, &own] {
        std::fs::create_dir(made).unwrap();
    }
    (directory, root, own)
}

#[test]
fn s6_nothing_is_undone_through_a_link() {
    let (_directory, root, own) = beside();
    write(root.join("nr/.claude/settings.json"), "agent's");
    write(own.join(".claude/settings.json"), "person's");
    let guard = Guard::begin(&root, &[], Vec::new(), NestedChanges::Undone);
    std::fs::remove_dir_all(root.join("nr")).unwrap();
    symlink(&own, root.join("nr")).unwrap();
    assert_eq!(guard.finish(None), ["nr", "nr/.claude/settings.json"]);
    assert_eq!(std::fs::read_to_string(own.join(".claude/settings.json")).unwrap(), "person's");
    assert_eq!(std::fs::read_to_string(root.join("nr/.claude/settings.json")).unwrap(), "agent's");
    assert!(root.join("nr").symlink_metadata().unwrap().is_dir());
}

#[test]
fn s6_nothing_is_removed_through_a_link() {
    let (_directory, root, own) = beside();
    write(own.join("config"), "Host x");
    write(own.join("hooks/pre-commit"), "true");
    let places = [".git/config", ".git/hooks"].map(|place| root.join(place));
    let guard = Guard::begin(&root, &places, Vec::new(), NestedChanges::Undone);
    symlink(&own, root.join(".git")).unwrap();
    assert_eq!(guard.finish(None), [".git"]);
    assert!(own.join("config").exists() && own.join("hooks/pre-commit").exists());
    assert!(root.join(".git").symlink_metadata().is_err());
}

#[test]
fn a_link_of_the_person_stays_and_what_it_leads_to_is_guarded() {
    let (_directory, root, _) = beside();
    write(root.join("ci/workflows/a.yml"), "on: push");
    symlink("ci", root.join(".github")).unwrap();
    let places = [root.join(".github/workflows")];
    let guard = Guard::begin(&root, &places, Vec::new(), NestedChanges::Undone);
    assert_eq!(guard.finish(None), Vec::<String>::new());
    std::fs::write(root.join("ci/workflows/a.yml"), "evil").unwrap();
    assert_eq!(guard.finish(None), ["ci/workflows/a.yml"]);
    assert_eq!(std::fs::read_to_string(root.join(".github/workflows/a.yml")).unwrap(), "on: push");
}

#[test]
fn s6_a_directory_in_the_place_of_a_file_gives_way() {
    let (_directory, root, _) = beside();
    write(root.join(".envrc"), "own");
    let guard = Guard::begin(&root, &[root.join(".envrc")], Vec::new(), NestedChanges::Undone);
    std::fs::remove_file(root.join(".envrc")).unwrap();
    write(root.join(".envrc/x"), "y");
    assert!(guard.finish(None).contains(&".envrc".to_string()));
    assert_eq!(std::fs::read_to_string(root.join(".envrc")).unwrap(), "own");
}

#[test]
fn s6_repositories_inside_are_guarded_like_the_workspace() {
    let (_directory, root, _) = beside();
    let repository = root.join("pkg/repo");
    std::fs::create_dir_all(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    let config = std::fs::read_to_string(repository.join(".git/config")).unwrap();
    let guard = Guard::begin(&root, &[], Vec::new(), NestedChanges::Undone);
    std::fs::write(repository.join(".git/config"), "[core]\nfsmonitor = evil\n").unwrap();
    write(repository.join(".git/hooks/pre-commit"), "evil");
    write(repository.join("a.txt"), "work");
    assert_eq!(guard.finish(None), ["pkg/repo/.git/config", "pkg/repo/.git/hooks/pre-commit"]);
    assert_eq!(std::fs::read_to_string(repository.join(".git/config")).unwrap(), config);
    assert!(!repository.join(".git/hooks/pre-commit").exists() && repository.join("a.txt").exists());
}

#[test]
fn s6_a_repository_that_the_index_comes_to_name_has_no_settings() {
    let (_directory, root, _) = beside();
    git(&root, &["init", "-q"]);
    let guard = Guard::begin(&root, &[root.join(".git/config")], Vec::new(), NestedChanges::Undone);
    let hidden = root.join("build/deep/r");
    std::fs::create_dir_all(&hidden).unwrap();
    git(&hidden, &["init", "-q"]);
    let marker = root.join("ran");
    git(&hidden, &["config", "core.fsmonitor", &format!("touch {}; false", marker.display())]);
    let link = "160000,4b825dc642cb6eb9a060e54bf8d69288fbee4904,build/deep/r";
    git(&root, &["update-index", "--add", "--cacheinfo", link]);
    assert!(guard.finish(None).contains(&"build/deep/r/.git/config".to_string()));
    git(&root, &["status", "--porcelain"]);
    assert!(!marker.exists());
}

#[test]
fn s6_tickets_are_not_made_by_a_command() {
    let (_directory, root, _) = beside();
    let guard = Guard::begin(&root, &[], Vec::new(), NestedChanges::Undone);
    write(root.join(".tickets/a.md"), "status: closed");
    assert_eq!(guard.finish(None), [".tickets"]);
    assert!(!root.join(".tickets").exists());
    let aside = std::fs::read_dir(root.join(".marvin/tampered")).unwrap().next().unwrap().unwrap();
    assert!(aside.path().join("a.md").exists());
}

#[test]
fn s6_two_commands_at_once_bring_nothing_back() {
    let (directory, root, _) = beside();
    let noted = directory.path().join("undone.jsonl");
    write(root.join("CLAUDE.md"), "own");
    let listed = [root.join(".envrc")];
    let begin = || Guard::begin(&root, &listed, Vec::new(), NestedChanges::Undone).noting_in(noted.clone());
    let first = begin();
    write(root.join(".envrc"), "evil");
    write(root.join("CLAUDE.md"), "evil");
    write(root.join("lib/.claude/settings.json"), "evil");
    let second = begin();
    assert_eq!(first.finish(None), [".envrc", "CLAUDE.md", "lib/.claude/settings.json"]);
    assert_eq!(second.finish(None), Vec::<String>::new());
    assert!(!root.join(".envrc").exists() && !root.join("lib/.claude/settings.json").exists());
    assert_eq!(std::fs::read_to_string(root.join("CLAUDE.md")).unwrap(), "own");
    // What a command deletes is still restored.
    let third = begin();
    std::fs::remove_file(root.join("CLAUDE.md")).unwrap();
    assert_eq!(third.finish(None), ["CLAUDE.md"]);
    assert_eq!(std::fs::read_to_string(root.join("CLAUDE.md")).unwrap(), "own");
}

#[test]
fn s6_a_large_file_is_not_read() {
    let (_directory, root, _) = beside();
    let guard = Guard::begin(&root, &[root.join("AGENTS.md")], Vec::new(), NestedChanges::Undone);
    std::fs::File::create(root.join("AGENTS.md")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(guard.finish(Some(&root.join("aside"))), ["AGENTS.md"]);
    assert!(!root.join("AGENTS.md").exists());
}

#[test]
fn very_many_files_are_reported_by_their_number() {
    let (_directory, root, _) = beside();
    let guard = Guard::begin(&root, &[root.join(".git/hooks")], Vec::new(), NestedChanges::Undone);
    for number in 0..=MAX_NAMED {
        write(root.join(format!(".git/hooks/{number}")), "");
    }
    write(root.join("AGENTS.md"), "obey");
    assert_eq!(guard.finish(None), [".git/hooks/* (51 files)", "AGENTS.md"]);
}
