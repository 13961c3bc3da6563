use super::*;
use proptest::prelude::*;

/// As the original writes it, with everything that it can say.
const WHOLE: &str = "---
id: nw-5c46
status: in_progress
deps: [nw-77aa, nw-1b2c]
links: []
created: 2026-01-18T09:30:00Z
type: feature
priority: 1
assignee: Ann Other
external-ref: gh-123
parent: nw-0001
tags: [ui, backend]
---
# Server-sent events

Keep the connection open.

## Design

One task a connection.

## Acceptance Criteria

- a client sees each event once

## Notes

**2026-01-19T10:00:00Z**

Proxies cut idle connections.
";

/// As a person left it: another order, unknown keys, comments, odd spaces, a rule in the body, no final newline.
const ODD: &str = "---
# this ticket is special
title: not the title
status:   open   # since Monday
x-points: 5
deps: [a-1,b-2 ,  c-3] # three
id: 'odd-1'
links:
assignee: Team #7
nested:
  - kept
---

text before the heading
---
status: closed
---
# The title
# Another heading
no newline at the end";

fn ticket(text: &str) -> Ticket {
    Ticket::parse(text.as_bytes()).unwrap()
}

fn text(ticket: &Ticket) -> &str {
    std::str::from_utf8(ticket.bytes()).unwrap()
}

#[test]
fn the_original_format_is_read() {
    let ticket = ticket(WHOLE);
    assert_eq!(text(&ticket), WHOLE);
    assert_eq!((ticket.id(), ticket.status()), ("nw-5c46".into(), "in_progress".into()));
    assert_eq!(ticket.title(), "Server-sent events");
    assert_eq!(ticket.list("deps"), ["nw-77aa", "nw-1b2c"]);
    assert!(ticket.list("links").is_empty());
    assert_eq!(ticket.list("tags"), ["ui", "backend"]);
    for (key, value) in [
        ("created", "2026-01-18T09:30:00Z"),
        ("type", "feature"),
        ("priority", "1"),
        ("assignee", "Ann Other"),
        ("external-ref", "gh-123"),
        ("parent", "nw-0001"),
        ("none", ""),
    ] {
        assert_eq!(ticket.value(key), value, "{key}");
    }
    assert!(ticket.body().starts_with("# Server-sent events\n"));
    let keys: Vec<String> = ticket.fields().map(|(key, _)| key.to_string()).collect();
    assert_eq!(
        keys.join(" "),
        "id status deps links created type priority assignee external-ref parent tags"
    );
}

#[test]
fn hand_written_text_is_read_and_kept() {
    let mut odd = ticket(ODD);
    assert_eq!(
        (odd.id().as_str(), odd.status().as_str(), odd.title().as_str()),
        ("odd-1", "open", "The title")
    );
    assert_eq!(odd.list("deps"), ["a-1", "b-2", "c-3"]);
    assert_eq!(odd.value("assignee"), "Team #7", "free text has no comments");
    odd.set("status", "closed");
    assert_eq!(text(&odd), ODD.replace("open   # since", "closed   # since"));
    odd.set("status", "open");
    assert!(odd.add("links", "z-9"));
    assert_eq!(text(&odd), ODD.replace("links:\n", "links: [z-9]\n"));
    assert!(odd.remove("links", "z-9"));
    assert_eq!(text(&odd), ODD.replace("links:\n", "links: []\n"));
}

#[test]
fn lists_change_as_the_original_changes_them() {
    let with = |deps: &str| format!("---\nid: a\ndeps: {deps}\n---\n# t\n");
    for (before, word, after) in [
        ("[]", "x", "[x]"),
        ("[a]", "x", "[a, x]"),
        ("[a,b]", "x", "[a,b, x]"),
        ("[a, b] # why", "x", "[a, b, x] # why"),
        ("a, b", "x", "[a, b, x]"),
        ("[a, b", "x", "[a, b, x]"),
        ("[ab]", "a", "[ab, a]"),
    ] {
        let mut changed = ticket(&with(before));
        assert!(changed.add("deps", word), "{before}");
        assert_eq!(text(&changed), with(after));
        assert!(!changed.add("deps", word), "{before}: only once");
    }
    for (before, word, after) in [
        ("[x]", "x", "[]"),
        ("[x, a]", "x", "[a]"),
        ("[a, x]", "x", "[a]"),
        ("[a,x,b]", "x", "[a,b]"),
        ("[a, x, b, x] # why", "x", "[a, b] # why"),
        ("[xx, x]", "x", "[xx]"),
        ("x", "x", "[]"),
        ("x, x # why", "x", "[] # why"),
        // The next line must not become a part of the list.
        ("x\n- y", "x", "[]\n- y"),
    ] {
        let mut changed = ticket(&with(before));
        assert!(changed.remove("deps", word), "{before}");
        assert_eq!(text(&changed), with(after));
        assert!(!changed.remove("deps", word));
        assert_eq!(text(&changed), with(after));
    }
}

#[test]
fn a_missing_field_is_added_at_the_top_and_the_last_of_two_counts() {
    let mut bare = ticket("---\nid: a\n---\n# t\n");
    bare.set("status", "closed");
    assert_eq!(text(&bare), "---\nstatus: closed\nid: a\n---\n# t\n");
    let mut twice = ticket("---\nid: a\nstatus: open\nstatus: closed\n---\n");
    assert_eq!(twice.status(), "closed");
    twice.set("status", "in_progress");
    assert_eq!(text(&twice), "---\nid: a\nstatus: open\nstatus: in_progress\n---\n");
}

#[test]
fn windows_line_endings_stay() {
    let text_of = |text: &str| text.replace('\n', "\r\n");
    let mut windows = ticket(&text_of(WHOLE));
    assert_eq!((windows.id().as_str(), windows.title().as_str()), ("nw-5c46", "Server-sent events"));
    windows.set("status", "closed");
    assert_eq!(text(&windows), text_of(&WHOLE.replace("in_progress", "closed")));
    windows.set("extra", "1");
    windows.add_note("S", "two\nlines");
    let expected = WHOLE.replace("in_progress", "closed").replacen("---\n", "---\nextra: 1\n", 1);
    assert_eq!(text(&windows), text_of(&format!("{expected}\n**S**\n\ntwo\nlines\n")));
}

#[test]
fn notes_are_appended_below_one_heading() {
    let mut first = ticket("---\nid: a\n---\n# t\n");
    first.add_note("2026-01-01T00:00:00Z", "one");
    first.add_note("2026-01-02T00:00:00Z", "two");
    assert_eq!(
        text(&first),
        "---\nid: a\n---\n# t\n\n## Notes\n\n**2026-01-01T00:00:00Z**\n\none\n\n**2026-01-02T00:00:00Z**\n\ntwo\n"
    );
    let mut unended = ticket("---\nid: a\n---\n# t");
    unended.add_note("S", "one");
    assert_eq!(text(&unended), "---\nid: a\n---\n# t\n\n## Notes\n\n**S**\n\none\n");
}

#[test]
fn damage_is_named() {
    for (text, damage) in [
        ("", Damage::NoFrontmatter),
        ("# a heading\n", Damage::NoFrontmatter),
        ("\n---\nid: a\n---\n", Damage::NoFrontmatter),
        ("---", Damage::Unclosed),
        ("---\nid: a\n", Damage::Unclosed),
        ("---\nid: a\n----\n", Damage::Unclosed),
        ("---\n---\n", Damage::NoId),
        ("---\n id: a\n---\n", Damage::NoId),
        ("---\nid: a\ndeps:\n  - b\n---\n", Damage::Block("deps".into())),
        ("---\nid: a\ntags:\n- b\n---\n", Damage::Block("tags".into())),
    ] {
        assert_eq!(Ticket::parse(text.as_bytes()), Err(damage), "{text:?}");
    }
    for text in ["---\nid: a\n---", "\u{feff}---\nid: a\n---\n", "--- \nid: a\n---\t\nx"] {
        assert_eq!(ticket(text).id(), "a", "{text:?}");
    }
}

#[test]
fn bytes_that_are_not_text_stay() {
    let bytes = b"---\nid: a\nstatus: open\nx: \xff\xfe\n---\n# t \xff\x1b[2J\n\0\n";
    let mut ticket = Ticket::parse(bytes).unwrap();
    assert_eq!(ticket.title(), "t \u{fffd} [2J");
    ticket.set("status", "closed");
    assert_eq!(ticket.bytes(), b"---\nid: a\nstatus: closed\nx: \xff\xfe\n---\n# t \xff\x1b[2J\n\0\n");
}

/// Lines of frontmatter and body such as people and programs write.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        "(id|status|deps|links|tags|assignee|parent|priority|x-y|a_b): ?[a-z0-9#, \\[\\]'\"-]{0,14}",
        Just("---".to_string()),
        Just("# title".to_string()),
        "[ -~]{0,16}",
        "\\PC{0,6}",
    ];
    let ending = prop_oneof![Just("\n"), Just("\n"), Just("\r\n")];
    (proptest::collection::vec((line, ending), 0..14), any::<bool>(), 0..8_u8).prop_map(
        |(lines, cut, wild)| {
            let mut text = String::from("---\nid: a\n");
            for (line, ending) in lines {
                text.push_str(&line);
                text.push_str(ending);
            }
            text.push_str("---\n# end");
            let mut bytes = text.into_bytes();
            if cut {
                bytes.truncate(bytes.len() / 2);
            }
            if wild == 0 {
                bytes.push(0xff);
            }
            bytes
        },
    )
}

/// Where two texts differ: the part of each between what they have in common at both ends.
fn difference<'a>(before: &'a [u8], after: &'a [u8]) -> (&'a [u8], &'a [u8], usize) {
    let start = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let room = before.len().min(after.len()) - start;
    let end = before.iter().rev().zip(after.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    (&before[start..before.len() - end], &after[start..after.len() - end], start)
}

proptest! {
    #[test]
    fn any_bytes_are_a_ticket_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(ticket) = Ticket::parse(&bytes) {
            prop_assert_eq!(ticket.bytes(), bytes.as_slice());
        }
    }

    #[test]
    fn a_change_touches_one_line(bytes in lines(), key in "(status|parent|assignee|priority|x-y)", value in "[a-z0-9_-]{1,8}") {
        if let Ok(before) = Ticket::parse(&bytes) {
            prop_assert_eq!(before.bytes(), bytes.as_slice());
            let mut after = before.clone();
            after.set(&key, &value);
            prop_assert_eq!(after.value(&key), value.clone());
            let (out, new, _) = difference(before.bytes(), after.bytes());
            prop_assert!(!out.contains(&b'\n'), "{:?} became {:?}", out, new);
            let added = before.fields().all(|(known, _)| known != key);
            let breaks = new.iter().filter(|byte| **byte == b'\n').count();
            prop_assert!(breaks <= usize::from(added), "{:?} became {:?}", out, new);
            // Every other field and the body read as before.
            prop_assert_eq!(before.body(), after.body());
            let others = |ticket: &Ticket| -> Vec<(String, String)> {
                let others = ticket.fields().filter(|(known, _)| *known != key);
                others.map(|(key, value)| (key.to_string(), value.into_owned())).collect()
            };
            prop_assert_eq!(others(&before), others(&after));
        }
    }

    #[test]
    fn adding_and_removing_a_word_restores_the_list(bytes in lines(), key in "(deps|links|tags)") {
        if let Ok(before) = Ticket::parse(&bytes) {
            let mut ticket = before.clone();
            if ticket.add(&key, "zz-9") {
                let mut expected = before.list(&key);
                expected.push("zz-9".into());
                prop_assert_eq!(ticket.list(&key), expected);
                prop_assert!(ticket.remove(&key, "zz-9"));
            }
            prop_assert!(!ticket.list(&key).contains(&"zz-9".to_string()));
            if !before.list(&key).contains(&"zz-9".to_string()) {
                prop_assert_eq!(ticket.list(&key), before.list(&key));
            }
            prop_assert_eq!(before.body(), ticket.body());
        }
    }

    #[test]
    fn notes_only_append(bytes in lines(), note in "[ -~\n]{1,40}") {
        if let Ok(mut ticket) = Ticket::parse(&bytes) {
            ticket.add_note("2026-01-01T00:00:00Z", &note);
            prop_assert!(ticket.bytes().starts_with(&bytes));
            prop_assert!(ticket.bytes().len() > bytes.len() + note.len());
        }
    }
}
