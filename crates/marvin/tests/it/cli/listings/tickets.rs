//! Tickets.

use crate::cli::screen;
use crate::support::World;
use insta::assert_snapshot;

fn world_with_tickets() -> World {
    let world = World::new();
    let ticket = |id: &str, status: &str, deps: &str, kind: &str, priority: u8, more: &str, body: &str| {
        let text = format!(
            "---\nid: {id}\nstatus: {status}\ndeps: [{deps}]\nlinks: []\ncreated: 2026-02-03T04:05:06Z\ntype: {kind}\npriority: {priority}\n{more}---\n{body}\n"
        );
        world.write(&format!(".tickets/{id}.md"), &text);
    };
    ticket(
        "pro-1111",
        "open",
        "pro-2222, pro-3333",
        "bug",
        1,
        "assignee: ann\ntags: [auth]\n",
        "# Login fails\n\nError 500 after a wrong password.",
    );
    ticket("pro-2222", "in_progress", "", "task", 2, "parent: pro-1111\n", "# Log the cause");
    ticket("pro-3333", "closed", "", "chore", 3, "", "# Update the library");
    ticket("pro-4444", "open", "pro-5555", "feature", 0, "", "# Export as CSV");
    ticket("pro-5555", "open", "pro-4444", "task", 2, "", "# Write CSV");
    world
}

#[test]
fn tickets() {
    let world = world_with_tickets();
    assert_snapshot!(screen(&world, "tk ls"), @"
    pro-1111 [open] - Login fails <- [pro-2222, pro-3333]
    pro-2222 [in_progress] - Log the cause
    pro-3333 [closed] - Update the library
    pro-4444 [open] - Export as CSV <- [pro-5555]
    pro-5555 [open] - Write CSV <- [pro-4444]
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk ls --status open -T auth"), @"
    pro-1111 [open] - Login fails <- [pro-2222, pro-3333]
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk ready"), @"
    pro-2222 [P2][in_progress] - Log the cause
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk blocked"), @"
    pro-4444 [P0][open] - Export as CSV <- [pro-5555]
    pro-1111 [P1][open] - Login fails <- [pro-2222]
    pro-5555 [P2][open] - Write CSV <- [pro-4444]
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk closed"), @"
    pro-3333 [closed] - Update the library
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk show 1111"), @"
    ---
    id: pro-1111
    status: open
    deps: [pro-2222, pro-3333]
    links: []
    created: [TIME]
    type: bug
    priority: 1
    assignee: ann
    tags: [auth]
    ---
    # Login fails

    Error 500 after a wrong password.

    ## Blockers

    - pro-2222 [in_progress] Log the cause

    ## Children

    - pro-2222 [in_progress] Log the cause
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk show 1111 --json"), @r##"
    {"id":"pro-1111","title":"Login fails","status":"open","type":"bug","priority":"1","assignee":"ann","tags":["auth"],"deps":["pro-2222","pro-3333"],"links":[],"created":"[TIME]","relations":{"blockers":["pro-2222"],"blocking":[],"children":["pro-2222"],"linked":[]},"body":"# Login fails\n\nError 500 after a wrong password.\n"}
    [exit code 0]
    "##);
    assert_snapshot!(screen(&world, "tk dep tree 1111"), @"
    pro-1111 [open] Login fails
    ├── pro-2222 [in_progress] Log the cause
    └── pro-3333 [closed] Update the library
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk dep cycle"), @"
    Cycle 1: pro-4444 -> pro-5555 -> pro-4444
      pro-4444 [open] Export as CSV
      pro-5555 [open] Write CSV
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk query"), @r#"
    {"id":"pro-1111","status":"open","deps":["pro-2222","pro-3333"],"links":[],"created":"[TIME]","type":"bug","priority":"1","assignee":"ann","tags":["auth"]}
    {"id":"pro-2222","status":"in_progress","deps":[],"links":[],"created":"[TIME]","type":"task","priority":"2","parent":"pro-1111"}
    {"id":"pro-3333","status":"closed","deps":[],"links":[],"created":"[TIME]","type":"chore","priority":"3"}
    {"id":"pro-4444","status":"open","deps":["pro-5555"],"links":[],"created":"[TIME]","type":"feature","priority":"0"}
    {"id":"pro-5555","status":"open","deps":["pro-4444"],"links":[],"created":"[TIME]","type":"task","priority":"2"}
    [exit code 0]
    "#);
}

#[test]
fn changes_of_tickets() {
    let world = world_with_tickets();
    assert_snapshot!(screen(&world, "tk start 4444"), @"
    Updated pro-4444 -> in_progress
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk undep 4444 5555"), @"
    Removed dependency: pro-4444 -/-> pro-5555
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk undep 4444 5555"), @"
    --- stderr ---
    marvin: Dependency not found: pro-4444 does not depend on pro-5555
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "tk dep 4444 1111"), @"
    Added dependency: pro-4444 -> pro-1111
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk dep 4444 1111"), @"
    Dependency already exists
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk link 1111 2222 3333"), @"
    Added 6 link(s) between 3 tickets
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk unlink 1111 3333"), @"
    Removed link: pro-1111 <-> pro-3333
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk add-note 1111 'seen again'"), @"
    Note added to pro-1111
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk close 2222"), @"
    Updated pro-2222 -> closed
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk reopen 3333"), @"
    Updated pro-3333 -> open
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk status 5555 closed"), @"
    Updated pro-5555 -> closed
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tk show pro"), @"
    --- stderr ---
    marvin: ambiguous ID 'pro' matches multiple tickets: pro-1111, pro-2222, pro-3333, pro-4444, pro-5555; give more of the id
    [exit code 1]
    ");
    assert_snapshot!(screen(&world, "tk ls"), @"
    pro-1111 [open] - Login fails <- [pro-2222, pro-3333]
    pro-2222 [closed] - Log the cause
    pro-3333 [open] - Update the library
    pro-4444 [in_progress] - Export as CSV <- [pro-1111]
    pro-5555 [closed] - Write CSV <- [pro-4444]
    [exit code 0]
    ");
}
