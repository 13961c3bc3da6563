//! Help of the tickets' command line.

/// The help of all commands.
pub const HELP: &str = "\
Tickets: one Markdown file each, in .tickets here or above (or the directory TICKETS_DIR).

Usage: marvin tk COMMAND [WORDS …]

  create [TITLE] [OPTIONS]        create a ticket; prints its id
    -d, --description TEXT          what is to be done, and why
    --design TEXT                   how
    --acceptance TEXT               how to see that it is done
    -t, --type TYPE                 bug, feature, task (default), epic or chore
    -p, --priority N                0 (highest) to 4; default 2
    -a, --assignee NAME             who does it
    --external-ref NAME             its name elsewhere, such as gh-123
    --parent ID                     the ticket that it is a part of
    --tags A,B                      tags
  start ID                        in progress
  close ID                        done
  reopen ID                       open again
  status ID STATUS                open, in_progress or closed
  dep ID OTHER                    ID needs OTHER to be closed first
  dep tree [--full] ID            what ID needs; --full: each as often as it is needed
  dep cycle                       cycles among the tickets that are not closed
  undep ID OTHER                  ID no longer needs OTHER
  link ID ID [ID …]               link related tickets
  unlink ID OTHER                 remove the link
  ls [--status S] [-a NAME] [-T TAG]      list tickets (also: list)
  ready [-a NAME] [-T TAG]        what can be worked on
  blocked [-a NAME] [-T TAG]      what waits, and for what
  closed [--limit N] [-a NAME] [-T TAG]   closed last (20)
  show ID                         the ticket and its relations to others
  add-note ID [TEXT]              append a note; without TEXT from standard input
  edit ID                         open it in $EDITOR (people only)
  query [FILTER]                  one JSON object per line; FILTER as for `select` of jq, which must be installed
  super COMMAND …                 the same as COMMAND
  help                            this text

A part of an id is enough, when only one ticket contains it. --json prints the result as JSON.

Examples:
  marvin tk create 'Login fails' -t bug -p 1 -d 'Error 500 after a wrong password' --tags auth
  marvin tk dep nw-5c46 nw-77aa
  marvin tk ready --json
  echo 'seen again on Monday' | marvin tk add-note 5c46
";

/// Commands with their usage.
const USAGE: [(&str, &str); 20] = [
    (
        "create",
        "create [TITLE] [-d TEXT] [--design TEXT] [--acceptance TEXT] [-t TYPE] [-p 0-4] [-a NAME] \
         [--external-ref NAME] [--parent ID] [--tags A,B]",
    ),
    ("start", "start ID"),
    ("close", "close ID"),
    ("reopen", "reopen ID"),
    ("status", "status ID open|in_progress|closed"),
    ("dep", "dep ID OTHER | dep tree [--full] ID | dep cycle"),
    ("dep tree", "dep tree [--full] ID"),
    ("dep cycle", "dep cycle"),
    ("undep", "undep ID OTHER"),
    ("link", "link ID ID [ID …]"),
    ("unlink", "unlink ID OTHER"),
    ("ls", "ls [--status STATUS] [-a NAME] [-T TAG]"),
    ("list", "ls [--status STATUS] [-a NAME] [-T TAG]"),
    ("ready", "ready [-a NAME] [-T TAG]"),
    ("blocked", "blocked [-a NAME] [-T TAG]"),
    ("closed", "closed [--limit N] [-a NAME] [-T TAG]"),
    ("show", "show ID"),
    ("add-note", "add-note ID [TEXT]"),
    ("edit", "edit ID"),
    ("query", "query [FILTER]"),
];

/// The usage of a command; empty for an unknown one.
#[must_use]
pub fn usage(command: &str) -> &'static str {
    USAGE.iter().find(|(name, _)| *name == command).map_or("", |(_, usage)| usage)
}

/// Every command, to suggest the nearest one.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    USAGE.iter().map(|(name, _)| *name).filter(|name| !name.contains(' ')).chain(["help"])
}
