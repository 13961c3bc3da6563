//! The ticket tools, and the limits of an agent that works on a ticket before it has its own.

use crate::support::Fixture;
use marvin_base::settings::table;
use marvin_gate::{Access, Decision, Touches};
use marvin_model::Arguments;
use marvin_tools::{Mode, Toolbox};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::sync::Arc;

fn tk(line: &str) -> Value {
    json!({ "args": line })
}

impl Fixture {
    fn ticket(&self, id: &str) {
        let text =
            format!("---\nid: {id}\nstatus: open\ndeps: []\nlinks: []\npriority: 2\n---\n# Title of {id}\n");
        self.write(&format!(".tickets/{id}.md"), &text);
    }

    /// The rule that decides about a call.
    async fn rule(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).await.verdict.rule
    }
}

#[tokio::test]
async fn every_ticket_tool_works() {
    let fixture = Fixture::new();
    let first = fixture
        .good("create_ticket", json!({"title": "First", "description": "what", "ticket_type": "bug", "priority": "1", "tags": "ui,db"}))
        .await;
    let second = fixture.good("tk", tk("create 'Second one' -d 'see #12' --tags ui")).await;
    assert!(
        fixture.read(&format!(".tickets/{first}.md")).contains("type: bug\npriority: 1\ntags: [ui, db]\n")
    );
    assert!(fixture.read(&format!(".tickets/{second}.md")).contains("# Second one\n\nsee #12\n"));
    let added = fixture.good("ticket_add_dep", json!({"ticket_id": first, "depends_on": second})).await;
    assert_eq!(added, format!("Added dependency: {first} -> {second}"));
    assert!(fixture.good("ticket_start", json!({"id": second})).await.ends_with("-> in_progress"));
    fixture.good("ticket_add_note", json!({"ticket_id": second, "note": "a **note**\nof two lines"})).await;
    let shown = fixture.good("ticket_show", json!({"ticket_id": second})).await;
    assert!(shown.contains("of two lines") && shown.contains("## Blocking"), "{shown}");
    let tree = fixture.good("ticket_dep_tree", json!({"ticket_id": first})).await;
    assert_eq!(tree, format!("{first} [open] First\n└── {second} [in_progress] Second one"));
    assert_eq!(fixture.good("ticket_list", json!({"tags": "ui, db"})).await.lines().count(), 1);
    assert_eq!(fixture.good("ticket_list", json!({"status": "closed"})).await, "no tickets");
    assert!(fixture.good("ticket_close", json!({"ticket_id": second})).await.ends_with("-> closed"));
    assert!(fixture.good("tk", tk("tk ready")).await.starts_with(&first), "the word tk itself does no harm");
    assert!(fixture.good("tk", tk("help")).await.contains("add-note"));
    assert_eq!(fixture.good("tk", tk("query")).await.lines().count(), 2);
    assert_eq!(fixture.context.ticket_id(), None, "no duty, no ticket of one's own");
}

#[tokio::test]
async fn invalid_calls_are_explained() {
    let fixture = Fixture::new();
    assert!(fixture.bad("ticket_list", json!({})).await.contains("no tickets here yet"));
    assert!(!fixture.root.join(".tickets").exists());
    fixture.ticket("nw-1");
    for (line, part) in [
        ("create 'open", "a quote in `args` is not closed"),
        ("crate x", "did you mean `create`?"),
        ("start", "Usage: tk start ID"),
        ("show ../../etc/passwd", "is not a ticket id"),
        ("add-note nw-1", "no note provided"),
        ("edit nw-1", "for a person"),
        ("query '.status'", "jq"),
        ("create x -t story", "invalid type"),
    ] {
        let error = fixture.bad("tk", tk(line)).await;
        assert!(error.contains(part) && error.contains("A correct call of tk"), "{line}: {error}");
    }
    assert!(fixture.bad("create_ticket", json!({"title": " "})).await.contains("title"));
    assert!(
        fixture
            .bad("create_ticket", json!({"title": "x", "priority": 7}))
            .await
            .contains("invalid priority '7'")
    );
    assert!(fixture.bad("ticket_show", json!({"ticket_id": "zz"})).await.contains("not found"));
}

#[tokio::test]
async fn tools_stay_in_the_workspaces_own_directory() {
    let fixture = Fixture::with(Mode::Coding, &Access::Full, &[("TICKETS_DIR", "/var/elsewhere")]);
    assert!(fixture.context.settings.given(&table::TICKETS_DIR).is_some());
    // The parent directory has tickets too; they are not used.
    std::fs::create_dir(fixture.home.join(".tickets")).unwrap();
    std::fs::write(fixture.home.join(".tickets/up-1.md"), "---\nid: up-1\n---\n# up\n").unwrap();
    assert!(fixture.bad("ticket_show", json!({"ticket_id": "up-1"})).await.contains("no tickets here"));
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), fixture.root.join(".tickets")).unwrap();
    for (tool, arguments) in
        [("tk", tk("create x")), ("create_ticket", json!({"title": "x"})), ("ticket_list", json!({}))]
    {
        let error = fixture.bad(tool, arguments).await;
        assert!(error.contains("it is a link or a file, not a directory"), "{error}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    std::fs::remove_file(fixture.root.join(".tickets")).unwrap();
    // A symlink in the place of a ticket is not followed.
    fixture.ticket("nw-1");
    std::fs::write(outside.path().join("secret"), "---\nid: nw-2\n---\n# SECRET\n").unwrap();
    symlink(outside.path().join("secret"), fixture.root.join(".tickets/nw-2.md")).unwrap();
    assert!(fixture.bad("ticket_show", json!({"ticket_id": "nw-2"})).await.contains("leads out"));
    assert!(!fixture.good("ticket_list", json!({})).await.contains("SECRET"));
    fixture.bad("ticket_close", json!({"ticket_id": "nw-2"})).await;
    assert!(!std::fs::read_to_string(outside.path().join("secret")).unwrap().contains("closed"));
}

#[tokio::test]
async fn read_only_agents_keep_the_reading_tools() {
    let some = Access::writable(["a".to_string()]);
    for access in [Access::Readonly, some] {
        for mode in [Mode::Assistant, Mode::Coding] {
            let toolbox = Toolbox::new(mode, &access);
            let tickets: Vec<&str> =
                toolbox.names().into_iter().filter(|name| name.contains("ticket") || *name == "tk").collect();
            assert_eq!(tickets, ["ticket_dep_tree", "ticket_list", "ticket_show"], "{access:?}");
        }
    }
    let assistant = Toolbox::new(Mode::Assistant, &Access::Full);
    let assistant = assistant.names();
    assert!(assistant.contains(&"create_ticket") && !assistant.contains(&"tk"));
    assert!(Toolbox::new(Mode::Coding, &Access::Full).names().contains(&"tk"));
}

#[tokio::test]
async fn an_agent_with_a_ticket_creates_its_own_first() {
    let fixture = Fixture::with(Mode::Coding, &Access::Full, &[("MARVIN_TICKET", "nw-5c46")]);
    fixture.ticket("nw-5c46");
    fixture.ticket("nw-77aa");
    assert_eq!(fixture.context.ticket_id().as_deref(), Some("nw-5c46"));
    // Every tool that writes, stores or executes waits, by its declared effects and not by its name.
    let waiting: Vec<&str> = fixture
        .toolbox
        .names()
        .into_iter()
        .filter(|name| {
            let touches = fixture.toolbox.find(name).unwrap().touches();
            !touches.changes_nothing() && touches != Touches::TICKETS
        })
        .collect();
    for name in ["create_file", "append_file", "apply_patch", "run_command", "write_note"] {
        assert!(waiting.contains(&name), "{name} of {waiting:?}");
    }
    for name in waiting {
        let arguments: Value = serde_json::from_str(fixture.toolbox.find(name).unwrap().example()).unwrap();
        let verdict = fixture.toolbox.judge(name, &Arguments::from_value(arguments), &fixture.context);
        assert_eq!((verdict.decision, verdict.rule.as_str()), (Decision::Deny, "ticket.needed"), "{name}");
        assert!(verdict.how_to_fix.contains("--parent nw-5c46"), "{verdict:?}");
    }
    let file = json!({"path": "a.txt", "content": "x"});
    assert!(fixture.bad("create_file", file.clone()).await.contains("[ticket.needed]"));
    fixture.good("tree", json!({})).await;
    fixture.good("tk", tk("show nw-77aa")).await;
    // No parent, a wrong parent, an invalid draft: refused, and not counted as the attempt.
    assert_eq!(fixture.rule("tk", tk("create 'My part'")).await, "ticket.parent");
    assert_eq!(
        fixture.rule("create_ticket", json!({"title": "x", "parent": "nw-77aa"})).await,
        "ticket.parent"
    );
    assert_eq!(fixture.rule("create_ticket", json!({"title": "x", "parent": "nw"})).await, "ticket.parent");
    assert!(fixture.bad("tk", tk("create x -t story --parent nw-5c46")).await.contains("invalid type"));
    let right = tk("create 'My part' -d 'all of it' --parent 5c46");
    let judged = fixture.toolbox.judge("tk", &Arguments::from_value(right.clone()), &fixture.context);
    assert_eq!(judged.rule, "ticket.first");
    // The first valid attempt is sent back, whichever tool makes it; judging alone did not use it up.
    let first = fixture.bad("create_ticket", json!({"title": "x", "parent": "nw-5c46"})).await;
    assert!(first.contains("[ticket.first]") && first.contains("5. Tags"), "{first}");
    assert!(fixture.bad("create_file", file.clone()).await.contains("[ticket.needed]"));
    assert_eq!(std::fs::read_dir(fixture.root.join(".tickets")).unwrap().count(), 2, "nothing was made yet");
    // The second succeeds, with a part of the id as parent.
    let own = fixture.good("tk", right).await;
    assert!(fixture.read(&format!(".tickets/{own}.md")).contains("parent: nw-5c46\n"));
    assert_eq!(fixture.context.ticket_id(), Some(own.clone()));
    fixture.good("create_file", file).await;
    assert_eq!(fixture.read("a.txt"), "x");
    // From now on tickets are unrestricted, and the first stays the agent's own.
    fixture.good("tk", tk("create 'Something else'")).await;
    fixture.good("tk", tk("create 'More' --parent nw-5c46")).await;
    assert_eq!(fixture.context.ticket_id(), Some(own));
}

#[tokio::test]
async fn without_its_own_ticket_an_agent_changes_no_other() {
    let fixture = Fixture::with(Mode::Coding, &Access::Full, &[("MARVIN_TICKET", "nw-5c46")]);
    fixture.ticket("nw-5c46");
    fixture.ticket("nw-77aa");
    fixture.ticket("nw-9999");
    let before: Vec<String> = ["nw-5c46", "nw-77aa", "nw-9999"]
        .iter()
        .map(|id| fixture.read(&format!(".tickets/{id}.md")))
        .collect();
    let lines = [
        "close nw-5c46",
        "tk super close 5c46",
        "start nw-77aa",
        "reopen nw-77aa",
        "status nw-77aa closed --json",
        "dep nw-5c46 nw-77aa",
        "undep nw-5c46 nw-77aa",
        "link nw-5c46 nw-77aa nw-9999",
        "unlink nw-5c46 nw-77aa",
        "add-note nw-5c46 'all is done'",
        "edit nw-5c46",
    ];
    let calls = lines.map(|line| ("tk", tk(line))).into_iter().chain([
        ("ticket_close", json!({"ticket_id": "nw-5c46"})),
        ("ticket_start", json!({"id": "nw-77aa"})),
        ("ticket_add_dep", json!({"ticket_id": "nw-5c46", "depends_on": "nw-77aa"})),
        ("ticket_add_note", json!({"ticket_id": "nw-77aa", "note": "x"})),
    ]);
    for (tool, arguments) in calls {
        let called = fixture.call(tool, arguments.clone()).await;
        assert_eq!(called.verdict.rule, "ticket.needed", "{tool} {arguments}: {}", called.result.for_model());
        assert!(called.result.for_model().contains("--parent nw-5c46"), "{}", called.result.for_model());
    }
    // Nor through commands, before and after.
    let commands = [
        "marvin tk close nw-5c46",
        "tk close nw-5c46",
        "marvin tools call ticket_close --args '{\"id\": \"nw-5c46\"}'",
    ];
    for line in commands {
        assert_eq!(fixture.rule("run_command", json!({"command": line})).await, "ticket.needed", "{line}");
    }
    let after: Vec<String> = ["nw-5c46", "nw-77aa", "nw-9999"]
        .iter()
        .map(|id| fixture.read(&format!(".tickets/{id}.md")))
        .collect();
    assert_eq!(before, after);
    for line in
        ["ls", "ready", "blocked", "closed", "show 5c46", "dep tree 5c46", "dep cycle", "query", "help"]
    {
        fixture.good("tk", tk(line)).await;
    }
    // None of that was the attempt; with its own ticket the agent continues, and closes it.
    assert_eq!(fixture.rule("tk", tk("create 'My part' --parent nw-5c46")).await, "ticket.first");
    assert_eq!(fixture.rule("tk", tk("close nw-5c46")).await, "ticket.needed");
    let own = fixture.good("tk", tk("create 'My part' --parent nw-5c46")).await;
    for line in commands {
        assert_eq!(fixture.rule("run_command", json!({"command": line})).await, "command.tk", "{line}");
    }
    fixture.good("ticket_start", json!({"ticket_id": own})).await;
    fixture.good("tk", tk(&format!("add-note {own} 'half of it'"))).await;
    assert!(fixture.good("tk", tk(&format!("close {own}"))).await.ends_with("-> closed"));
}

#[tokio::test]
async fn a_failed_ticket_creation_does_not_count() {
    let fixture = Fixture::with(Mode::Coding, &Access::Full, &[("MARVIN_TICKET", "gone-1")]);
    fixture.ticket("nw-1");
    let create = tk("create 'My part' --parent gone-1");
    assert_eq!(fixture.rule("tk", create.clone()).await, "ticket.first");
    let error = fixture.bad("tk", create).await;
    assert!(error.contains("ticket 'gone-1' not found") && error.contains("report that"), "{error}");
    assert!(
        fixture.bad("create_file", json!({"path": "a", "content": "x"})).await.contains("[ticket.needed]")
    );
    assert_eq!(fixture.context.ticket_id().as_deref(), Some("gone-1"));
}

#[tokio::test]
async fn agents_with_writable_files_need_no_ticket() {
    let list = Access::writable(["a.txt".to_string()]);
    let fixture = Fixture::with(Mode::Coding, &list, &[("MARVIN_TICKET", "nw-1")]);
    fixture.good("create_file", json!({"path": "a.txt", "content": "x"})).await;
    assert_eq!(fixture.context.ticket_id().as_deref(), Some("nw-1"));
    let reader = Fixture::with(Mode::Coding, &Access::Readonly, &[("MARVIN_TICKET", "nw-1")]);
    reader.ticket("nw-1");
    reader.good("ticket_show", json!({"ticket_id": "nw-1"})).await;
    // Without MARVIN_TICKET the first ticket is created at once.
    let free = Fixture::new();
    free.good("tk", tk("create 'At once'")).await;
}

#[tokio::test]
async fn concurrent_calls_lose_nothing() {
    let fixture = Arc::new(Fixture::new());
    fixture.ticket("nw-1");
    let calls = (0..40).map(|at| {
        let fixture = Arc::clone(&fixture);
        tokio::spawn(async move {
            match at % 2 {
                0 => fixture.good("tk", tk(&format!("create 'Ticket {at}'"))).await,
                _ => {
                    fixture
                        .good("ticket_add_note", json!({"ticket_id": "nw-1", "note": format!("note {at}.")}))
                        .await
                }
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    assert_eq!(fixture.good("ticket_list", json!({})).await.lines().count(), 21);
    let text = fixture.read(".tickets/nw-1.md");
    assert!((0..40).filter(|at| at % 2 == 1).all(|at| text.contains(&format!("note {at}."))), "{text}");
}
