//! The directory of the tickets, and the command line over it.

use super::*;
use std::path::Path;

/// A project with tickets.
struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("new-world-").tempdir().unwrap();
        std::fs::create_dir(directory.path().join(".tickets")).unwrap();
        Project { directory }
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    fn file(&self, id: &str) -> std::path::PathBuf {
        self.root().join(format!(".tickets/{id}.md"))
    }

    fn read(&self, id: &str) -> String {
        std::fs::read_to_string(self.file(id)).unwrap()
    }

    /// Writes a ticket as the original does.
    fn put(&self, id: &str, more: &str) {
        let text = format!("---\nid: {id}\n{more}---\n# Title of {id}\n\nBody.\n");
        std::fs::write(self.file(id), text).unwrap();
    }

    fn usual(&self, id: &str, status: &str, deps: &str, more: &str) {
        self.put(id, &format!("status: {status}\ndeps: [{deps}]\nlinks: []\npriority: 2\n{more}"));
    }

    fn run(&self, line: &str) -> Result<Reply, TicketError> {
        let words = words(line).unwrap();
        let open = |make| Store::find(self.root(), None, Path::new("/nowhere"), make);
        run(parse(&words)?.command, &Surroundings::default(), &open)
    }

    #[track_caller]
    fn say(&self, line: &str) -> String {
        self.run(line).unwrap_or_else(|error| panic!("{line}: {error}")).text
    }

    #[track_caller]
    fn fail(&self, line: &str) -> String {
        match self.run(line) {
            Err(error) => error.to_string(),
            Ok(reply) => panic!("{line}: {}", reply.text),
        }
    }
}

#[test]
fn a_ticket_is_written_as_the_original_writes_it() {
    let project = Project::new();
    let id = project.say(
        "create 'Two words' -d 'What and why' --design how --acceptance 'it works' -t bug -p 0 -a 'Ann Other' \
         --external-ref gh-1 --tags 'ui, backend,,x'",
    );
    let id = id.trim_end();
    assert!(regular(id), "{id}");
    let created = Ticket::parse(project.read(id).as_bytes()).unwrap().value("created");
    assert!(created.len() == 20 && created.ends_with('Z'), "{created}");
    assert_eq!(
        project.read(id),
        format!(
            "---\nid: {id}\nstatus: open\ndeps: []\nlinks: []\ncreated: {created}\ntype: bug\npriority: 0\n\
             assignee: Ann Other\nexternal-ref: gh-1\ntags: [ui, backend, x]\n---\n# Two words\n\nWhat and why\n\n\
             ## Design\n\nhow\n\n## Acceptance Criteria\n\nit works\n\n"
        )
    );
    let child = project.say(&format!("create --parent {id} several words"));
    let child = project.read(child.trim_end());
    assert!(
        child.contains(&format!("type: task\npriority: 2\nparent: {id}\n---\n# several words\n\n")),
        "{child}"
    );
    let nameless = project.say("create");
    assert!(project.read(nameless.trim_end()).ends_with("---\n# Untitled\n\n"));
}

/// `nw` and a random letter of the directory's name, a dash, four letters or digits.
fn regular(id: &str) -> bool {
    let (prefix, rest) = id.split_once('-').unwrap();
    prefix.starts_with("nw")
        && rest.len() == 4
        && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

#[test]
fn text_that_would_break_a_file_is_refused_or_folded() {
    let project = Project::new();
    for (line, part) in [
        ("create x -t story", "invalid type 'story'. Must be one of: bug feature task epic chore"),
        ("create x -p 5", "invalid priority '5'"),
        ("create x -p high", "invalid priority 'high'"),
        ("create x -p", "-p needs a value"),
        ("create x --parent nothing", "ticket 'nothing' not found"),
        ("create x --parent ../../etc/passwd", "is not a ticket id"),
        ("create x -a 'a\nstatus: closed'", "assignee must be one line"),
        ("create x --external-ref 'a\r\nb'", "external reference must be one line"),
        ("create x --tags 'a]\nb'", "is not a tag"),
        ("create x --tags 'two words'", "is not a tag"),
        ("create x --colour red", "Unknown option: --colour"),
        ("create -x", "Unknown option: -x"),
    ] {
        let error = project.fail(line);
        assert!(error.contains(part), "{line}: {error}");
    }
    assert_eq!(std::fs::read_dir(project.root().join(".tickets")).unwrap().count(), 0, "nothing was made");
    let id = project.say("create 'one\n---\nstatus: closed\ttwo'");
    let text = project.read(id.trim_end());
    assert!(text.ends_with("---\n# one --- status: closed two\n\n"), "{text}");
    // A description may hold anything; the frontmatter above it counts.
    let id = project.say("create x -d '---\nstatus: closed\n---'");
    assert_eq!(Ticket::parse(project.read(id.trim_end()).as_bytes()).unwrap().status(), "open");
}

#[test]
fn only_create_makes_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let find = |make| Store::find(directory.path(), None, Path::new("/nowhere"), make);
    assert!(find(false).unwrap_err().to_string().contains("no .tickets directory found"));
    assert!(!directory.path().join(".tickets").exists());
    let inner = directory.path().join("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    find(true).unwrap();
    let below = Store::find(&inner, None, Path::new("/nowhere"), false).unwrap();
    assert_eq!(below.place(), directory.path().canonicalize().unwrap().join(".tickets"));
    let named = Store::find(&inner, Some("elsewhere"), Path::new("/nowhere"), false).unwrap_err();
    assert!(named.to_string().contains("does not exist"), "{named}");
    Store::find(&inner, Some("elsewhere"), Path::new("/nowhere"), true).unwrap();
    assert!(inner.join("elsewhere").is_dir());
    let wrong = "create x -p 9";
    let words = words(wrong).unwrap();
    let other = tempfile::tempdir().unwrap();
    let open = |make| Store::find(other.path(), None, Path::new("/nowhere"), make);
    run(parse(&words).unwrap().command, &Surroundings::default(), &open).unwrap_err();
    assert!(!other.path().join(".tickets").exists(), "a wrong draft leaves nothing");
}

#[test]
fn status_and_lists_change_one_line_and_say_so() {
    let project = Project::new();
    project.usual("nw-1111", "open", "", "x-custom:  kept   # so\n");
    project.usual("nw-2222", "open", "", "");
    let before = project.read("nw-1111");
    assert_eq!(project.say("start 11"), "Updated nw-1111 -> in_progress\n");
    assert_eq!(project.read("nw-1111"), before.replace("status: open", "status: in_progress"));
    assert_eq!(project.say("close -1111"), "Updated nw-1111 -> closed\n");
    assert_eq!(project.say("reopen nw-1111"), "Updated nw-1111 -> open\n");
    assert_eq!(project.read("nw-1111"), before);
    assert!(project.fail("status 11 done").contains("Must be one of: open in_progress closed"));
    assert!(project.fail("start nw").contains("nw-1111, nw-2222"));
    assert_eq!(project.say("dep 11 22"), "Added dependency: nw-1111 -> nw-2222\n");
    assert_eq!(project.say("dep 11 22"), "Dependency already exists\n");
    assert_eq!(project.read("nw-1111"), before.replace("deps: []", "deps: [nw-2222]"));
    assert!(project.fail("dep 11 11").contains("cannot depend on itself"));
    assert_eq!(project.say("undep 11 22"), "Removed dependency: nw-1111 -/-> nw-2222\n");
    assert!(project.fail("undep 11 22").contains("Dependency not found"));
    assert_eq!(project.say("link 11 22"), "Added 2 link(s) between 2 tickets\n");
    assert_eq!(project.say("link 11 22"), "All links already exist\n");
    assert!(project.fail("link 11 11").contains("two different"));
    assert_eq!(project.say("unlink 22 11"), "Removed link: nw-2222 <-> nw-1111\n");
    assert!(project.fail("unlink 22 11").contains("Link not found"));
    assert_eq!(project.read("nw-1111"), before);
    assert_eq!(project.say("add-note 11 a note --json"), "Note added to nw-1111\n");
    assert!(project.read("nw-1111").starts_with(&before));
    assert!(project.read("nw-1111").ends_with("**\n\na note --json\n"));
    assert!(project.fail("add-note 11 ' '").contains("no note provided"));
    // A dependency whose file is gone can still be ended.
    project.say("dep 22 11");
    std::fs::remove_file(project.file("nw-1111")).unwrap();
    assert_eq!(project.say("undep 22 1111"), "Removed dependency: nw-2222 -/-> nw-1111\n");
}

#[test]
fn lists_are_those_of_the_original() {
    let project = Project::new();
    project.usual("nw-a", "open", "nw-b, nw-c", "assignee: Ann\ntags: [x]\n");
    project.usual("nw-b", "closed", "", "");
    project.put("nw-c", "status: in_progress\npriority: 0\ntags: [x, y]\n");
    project.usual("nw-long-name", "open", "gone", "");
    let title = "Title of";
    assert_eq!(
        project.say("ls"),
        format!(
            "nw-a     [open] - {title} nw-a <- [nw-b, nw-c]\nnw-b     [closed] - {title} nw-b\n\
             nw-c     [in_progress] - {title} nw-c\nnw-long-name [open] - {title} nw-long-name <- [gone]\n"
        )
    );
    assert_eq!(project.say("list --status closed"), format!("nw-b     [closed] - {title} nw-b\n"));
    assert_eq!(project.say("ls -T x -a Ann").lines().count(), 1);
    assert_eq!(project.say("ls --tag=x").lines().count(), 2);
    assert_eq!(project.say("ls -T x -T y").lines().count(), 1);
    assert_eq!(project.say("ls --assignee=Absent"), "");
    assert!(project.fail("ls --status=opne").contains("invalid status 'opne'"));
    assert!(project.fail("ls extra").contains("Usage: tk ls"));
    assert!(project.fail("ready --status=open").contains("Unknown option"));
    assert_eq!(project.say("ready"), format!("nw-c     [P0][in_progress] - {title} nw-c\n"));
    assert_eq!(
        project.say("blocked"),
        format!(
            "nw-a     [P2][open] - {title} nw-a <- [nw-c]\n\
             nw-long-name [P2][open] - {title} nw-long-name <- [gone]\n"
        )
    );
    assert_eq!(project.say("closed"), format!("nw-b     [closed] - {title} nw-b\n"));
    assert_eq!(project.say("closed --limit=0"), "");
    assert!(project.fail("closed --limit many").contains("whole number"));
}

#[test]
fn show_adds_what_follows_from_the_others() {
    let project = Project::new();
    project.usual("nw-a", "open", "nw-b, nw-c", "parent: nw-p\n");
    project.usual("nw-b", "closed", "", "");
    project.usual("nw-c", "open", "", "parent: nw-a\n");
    project.usual("nw-d", "open", "nw-a", "");
    project.usual("nw-p", "open", "", "");
    project.say("link nw-a nw-d");
    let file = project.read("nw-a");
    assert_eq!(
        project.say("show nw-a"),
        format!(
            "{}\n## Blockers\n\n- nw-c [open] Title of nw-c\n\n## Blocking\n\n- nw-d [open] Title of nw-d\n\n\
             ## Children\n\n- nw-c [open] Title of nw-c\n\n## Linked\n\n- nw-d [open] Title of nw-d\n",
            file.replace("parent: nw-p", "parent: nw-p  # Title of nw-p")
        )
    );
    let reply = project.run("show nw-a").unwrap();
    let data = serde_json::to_value(&reply.data).unwrap();
    assert_eq!(data["id"], "nw-a");
    assert_eq!(data["relations"]["blocking"], serde_json::json!(["nw-d"]));
    assert_eq!(data["body"], "# Title of nw-a\n\nBody.\n");
}

#[test]
fn damaged_files_are_named_and_the_others_work() {
    let project = Project::new();
    project.usual("nw-good", "open", "", "");
    std::fs::write(project.file("nw-torn"), "---\nid: nw-torn\nstatus: op").unwrap();
    std::fs::write(project.file("README"), "# Tickets\n").unwrap();
    std::fs::write(project.file("nw-liar"), "---\nid: other\nstatus: open\n---\n# x\n").unwrap();
    std::fs::create_dir(project.file("directory")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", project.file("link")).unwrap();
    assert!(
        std::process::Command::new("mkfifo").arg(project.file("pipe")).status().unwrap().success(),
        "a pipe is not waited for"
    );
    let reply = project.run("ls").unwrap();
    assert_eq!(reply.text.lines().count(), 2, "{}", reply.text);
    assert!(reply.text.contains("nw-good") && reply.text.contains("nw-liar"));
    let notices = reply.notices.join("\n");
    for name in [
        "nw-torn.md: its frontmatter has no closing",
        "README.md",
        "nw-liar.md: it says `id: other`",
        "directory.md",
        "link.md",
        "pipe.md",
    ] {
        assert!(notices.contains(name), "{name}: {notices}");
    }
    assert!(project.fail("start torn").contains("nw-torn.md is damaged"));
    assert!(project.fail("close link").contains("leads out"), "{}", project.fail("close link"));
    assert_eq!(project.say("close nw-good"), "Updated nw-good -> closed\n");
    assert!(project.fail("link nw-good nw-torn").contains("damaged"));
    assert!(project.read("nw-good").contains("links: []"), "nothing is half done");
}

#[test]
fn a_ticket_never_grows_beyond_what_is_read() {
    let project = Project::new();
    project.usual("nw-1", "open", "", "");
    let note = "x".repeat(5_000_000);
    project.say(&format!("add-note nw-1 {note}"));
    let before = project.read("nw-1");
    assert!(project.fail(&format!("add-note nw-1 {note}")).contains("larger than"));
    assert_eq!(project.read("nw-1"), before);
    assert!(project.fail(&format!("create x -d {note}{note}")).contains("larger than"));
    assert_eq!(project.say("close nw-1"), "Updated nw-1 -> closed\n");
    assert_eq!(project.say("ls").lines().count(), 1);
}

#[test]
fn trees_and_circles() {
    let project = Project::new();
    project.usual("a", "open", "b, c", "");
    project.usual("b", "open", "d", "");
    project.usual("c", "closed", "b, gone", "");
    project.usual("d", "open", "", "");
    let title = |id: &str, status: &str| format!("{id} [{status}] Title of {id}");
    assert_eq!(
        project.say("dep tree a"),
        format!(
            "{}\n└── {}\n    └── {}\n        └── {}\n",
            title("a", "open"),
            title("c", "closed"),
            title("b", "open"),
            title("d", "open")
        ),
        "each once, where it is deepest"
    );
    assert_eq!(project.say("dep tree --full a").lines().count(), 6);
    assert_eq!(project.say("dep cycle"), "No dependency cycles found\n");
    project.say("dep d a");
    assert_eq!(project.say("dep tree a").lines().count(), 4);
    assert_eq!(
        project.say("dep cycle"),
        format!(
            "Cycle 1: a -> b -> d -> a\n  a        [open] Title of a\n  b        [open] Title of b\n  d        [open] Title of d\n"
        )
    );
    project.usual("y", "open", "z", "");
    project.usual("z", "open", "y", "");
    let cycles = project.run("dep cycle").unwrap();
    assert_eq!(cycles.text.matches("Cycle ").count(), 2, "{}", cycles.text);
    project.say("close a");
    project.say("close z");
    assert_eq!(project.say("dep cycle"), "No dependency cycles found\n");
}

#[test]
fn long_chains_and_many_ways_have_an_end() {
    let project = Project::new();
    // Twenty diamonds on top of each other: a million ways.
    for at in 0..20 {
        project.usual(&format!("x{at:02}"), "open", &format!("l{at:02}, r{at:02}"), "");
        for side in ["l", "r"] {
            project.usual(&format!("{side}{at:02}"), "open", &format!("x{:02}", at + 1), "");
        }
    }
    project.usual("x20", "open", "", "");
    assert_eq!(project.say("dep tree x00").lines().count(), 61);
    let full = project.say("dep tree --full x00");
    assert!(full.ends_with("… (more)\n") && full.lines().count() < 11_000);
    assert_eq!(project.say("dep cycle"), "No dependency cycles found\n");
    let long = Project::new();
    for at in 0..3000 {
        long.usual(&format!("c{at:04}"), "open", &format!("c{:04}", at + 1), "");
    }
    assert!(long.say("dep tree c0000").starts_with("c0000 [open]"));
    assert!(long.say("dep tree --full c0000").ends_with("… (more)\n"));
    assert_eq!(long.say("dep cycle"), "No dependency cycles found\n");
}

#[test]
fn queries_are_json_whatever_the_files_hold() {
    let project = Project::new();
    project.put("nw-a", "status: open\ndeps: [x, y]\nassignee: \"A\\b\" # \u{1}\nempty:\n");
    let text = project.say("query");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["deps"], serde_json::json!(["x", "y"]));
    assert_eq!(value["assignee"], "\"A\\b\" # \u{1}");
    assert_eq!(value["empty"], "");
    assert!(project.fail("query '.a'").contains("jq"));
    assert!(project.fail("edit nw-a").contains("add-note"));
}

#[test]
fn invalid_words_are_explained() {
    let project = Project::new();
    for (line, part) in [
        ("crate x", "did you mean `create`?"),
        ("ready-set-go", "Unknown command"),
        ("start", "Usage: tk start ID"),
        ("show a b", "one word is expected, not 2"),
        ("dep a", "Usage: tk dep ID OTHER"),
        ("dep tree", "Usage: tk dep tree [--full] ID"),
        ("dep tree --deep a", "Unknown option: --deep"),
        ("dep tree --full=yes a", "--full takes no value"),
        ("link a", "at least two"),
        ("add-note", "the ticket is missing"),
        ("query a b", "one filter"),
        ("status a", "2 words are expected"),
    ] {
        let error = project.fail(line);
        assert!(error.contains(part), "{line}: {error}");
    }
    for line in ["", "help", "--help", "-h", "super", "super help", "create --help", "ls -h"] {
        assert_eq!(project.say(line), HELP, "{line}");
    }
}

#[test]
fn every_command_of_the_help_is_known() {
    for name in super::help::names().filter(|name| *name != "help") {
        assert!(!usage(name).is_empty(), "{name}");
        assert!(HELP.contains(&format!("  {name}")) || name == "list", "{name}");
    }
}

#[test]
fn leftovers_of_killed_writers_are_cleared() {
    let project = Project::new();
    project.usual("nw-a", "open", "", "");
    let left = project.root().join(".tickets/.marvin-0123456789ab");
    std::fs::write(&left, "half").unwrap();
    assert_eq!(project.say("ls").lines().count(), 1);
    project.say("start nw-a");
    assert!(!left.exists());
}

#[test]
fn a_ticket_changed_meanwhile_is_not_overwritten() {
    let project = Project::new();
    project.usual("nw-a", "open", "", "");
    let store = Store::find(project.root(), None, Path::new("/nowhere"), false).unwrap();
    let before = store.read("nw-a").unwrap();
    let edited = project.read("nw-a").replace("Body.", "Edited.");
    assert!(store.replace("nw-a", &before, b"no ticket").unwrap_err().to_string().contains("damaged"));
    project.say("add-note nw-a meanwhile");
    let error = store.replace("nw-a", &before, edited.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("changed by another process"), "{error}");
    let now = store.read("nw-a").unwrap();
    store.replace("nw-a", &now, edited.as_bytes()).unwrap();
    assert_eq!(project.read("nw-a"), edited);
}
