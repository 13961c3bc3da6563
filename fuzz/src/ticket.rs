//! Tickets: any bytes are a ticket or named damage; parsing keeps every byte, and an edit changes
//! only its own field.

use marvin_tools::tickets::Ticket;

/// Parses the input as the file of a ticket, and edits it.
pub fn ticket(data: &[u8]) {
    let Ok(mut ticket) = Ticket::parse(data) else { return };
    assert_eq!(ticket.bytes(), data, "parsing changed the bytes");
    for (key, _) in ticket.fields() {
        drop((ticket.value(key), ticket.list(key)));
    }
    assert!(!ticket.title().contains('\n'), "a title of several lines");
    drop(ticket.body());
    ticket.set("status", "in_progress");
    ticket.add("deps", "fuzz-a1b2");
    let again =
        Ticket::parse(ticket.bytes()).unwrap_or_else(|damage| panic!("an edit did damage: {damage:?}"));
    assert_eq!(again.bytes(), ticket.bytes());
    assert_eq!(again.status(), "in_progress");
    assert!(again.list("deps").iter().any(|id| id == "fuzz-a1b2"), "{:?}", again.list("deps"));
    ticket.remove("deps", "fuzz-a1b2");
    assert!(!ticket.list("deps").iter().any(|id| id == "fuzz-a1b2"));
    let before = ticket.bytes().to_vec();
    ticket.add_note("2026-01-02T03:04:05Z", "a note");
    assert!(ticket.bytes().starts_with(&before), "a note is added at the end");
    assert!(Ticket::parse(ticket.bytes()).is_ok());
}
