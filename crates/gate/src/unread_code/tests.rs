use super::*;
use crate::Layers;
use crate::layers;

struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = directory.path().join("p");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(directory.path().join("home/.ssh")).unwrap();
        std::fs::write(root.join("README.md"), "x\n").unwrap();
        std::fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
        std::fs::write(root.join("list"), "x\n").unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(root.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
        Project { directory }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("p")
    }

    fn is_harmless_in(&self, line: &str, directory: &Path) -> bool {
        let (root, home) = (self.root(), self.directory.path().join("home"));
        let (directory, root, home) =
            (directory.to_str().unwrap(), root.to_str().unwrap(), home.to_str().unwrap());
        let grounds = Grounds { workspace: root, home };
        let place = layers::Place { directory, grounds };
        is_harmless(line, directory, grounds, &Layers::none().look(line, place))
    }

    fn is_harmless(&self, line: &str) -> bool {
        self.is_harmless_in(line, &self.root())
    }
}

#[test]
fn every_row_holds_its_example_and_not_the_others() {
    let project = Project::new();
    assert!(TABLE.len() >= 30, "{}", TABLE.len());
    for row in TABLE.iter() {
        assert!(project.is_harmless(&row.example), "{}", row.example);
        for line in &row.not {
            assert!(!project.is_harmless(line), "{line}");
        }
    }
}

#[test]
fn a1_lines_that_run_unread_code_are_never_harmless() {
    let project = Project::new();
    for line in [
        "bash x.sh",
        "sh x.sh",
        "./run.sh",
        "source x.sh",
        ". x.sh",
        "python3 x.py",
        "python3 -m pytest",
        "node x.js",
        "make",
        "make test",
        "npm test",
        "npm run build",
        "npx tsc",
        "yarn test",
        "pnpm test",
        "cargo run",
        "cargo test",
        "cargo build",
        "go test ./...",
        "go run .",
        "pytest",
        "tox",
        "mvn test",
        "gradle build",
        "./gradlew build",
        "bundle exec rspec",
        "rake",
        "perl x.pl",
        "ruby x.rb",
        "php x.php",
        "deno run x.ts",
        "bun test",
        "just test",
        "awk -f x.awk README.md",
        "sed -f x.sed README.md",
        "git commit -m x",
        "git diff --ext-diff",
        "git x",
        "less README.md",
        "env ls",
        "xargs ls",
        "time make",
        "nice make",
        "timeout 5 ./x",
        "cat x | bash",
        "eval ls",
        "exec ls",
        "watch ls",
        "script -c ls",
        "find . -exec ls {} +",
        "rg --pre ./x y",
        "sort --compress-program=./x README.md",
        "man ls",
        "target/debug/app",
        "src/../run.sh",
        "ls; ./x",
        "ls && make",
        "ls || make",
        "ls\nmake",
        "ls | ./x",
        "alias ls=./x; ls",
        "ls() { ./x; }; ls",
        "PATH=. ls",
        "export PATH=.; ls",
        "cd src; ./x",
        "trap ./x EXIT; ls",
        "vim README.md",
    ] {
        assert!(!project.is_harmless(line), "{line}");
    }
}

#[test]
fn harmless_lines_of_several_commands_stay_harmless() {
    let project = Project::new();
    for line in [
        "ls -la && pwd",
        "cd src && ls",
        "cat README.md | head -5 | wc -l",
        "grep -rn main src | sort | uniq -c",
        "git status --short && git diff --stat",
        "git --no-pager log --oneline -5",
        "ls missing 2>/dev/null || true",
        "ls src/*.rs",
        "find . \\( -name a -o -name b \\) -type f",
    ] {
        assert!(project.is_harmless(line), "{line}");
    }
    assert!(!project.is_harmless_in("ls", &project.directory.path().join("home")));
}

#[test]
fn a1_git_reads_are_no_opinion_where_the_repository_names_programs() {
    let lines = ["git status", "git diff", "git log -p", "git show HEAD"];
    let all = |project: &Project, harmless: bool| {
        for line in lines {
            assert_eq!(project.is_harmless(line), harmless, "{line}");
        }
    };
    let project = Project::new();
    all(&project, true);
    let git = project.root().join(".git");
    for config in [
        "[core]\n\tfsmonitor = ./x\n",
        "[diff]\n\texternal = ./x\n",
        "[diff \"a\"]\n\ttextconv = ./x\n",
        "[core]\n\tpager = ./x\n",
        "[include]\n\tpath = ../x\n",
    ] {
        std::fs::write(git.join("config"), config).unwrap();
        all(&project, false);
    }
    std::fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
    for file in ["commondir", "config.worktree", "hooks/post-index-change"] {
        std::fs::create_dir_all(git.join("hooks")).unwrap();
        std::fs::write(git.join(file), "x").unwrap();
        all(&project, false);
        std::fs::remove_file(git.join(file)).unwrap();
    }
    all(&project, true);
    // A directory that looks like a bare repository, and a nested one.
    let nested = project.root().join("nested");
    std::fs::create_dir_all(nested.join("objects")).unwrap();
    std::fs::write(nested.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    assert!(!project.is_harmless_in("git status", &nested));
    assert!(!project.is_harmless("cd nested && git status"));
    std::fs::rename(&git, project.root().join("moved")).unwrap();
    std::fs::write(&git, "gitdir: moved\n").unwrap();
    all(&project, false);
}
