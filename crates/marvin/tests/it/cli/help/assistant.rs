//! Help of the calendar, of alarms, of push notifications and of Blender.

use super::help;
use insta::assert_snapshot;

#[test]
fn calendar() {
    assert_snapshot!(help("calendar"), @"
    Show and change your calendar (calendar.ics of the active profile)

    Usage: marvin calendar <COMMAND>

    Commands:
      list    List the events of the next days
      view    Show a month with its events
      add     Add an event
      remove  Remove an event, or all of a series
      import  Add the events of another calendar file; those that are here already are updated
      export  Write the calendar to a file, or to standard output

    Options:
      -h, --help  Print help

    Examples:
      marvin calendar add Dentist 2026-11-20T15:00
      marvin calendar list --days 30
      marvin calendar import holidays.ics
    ");
    assert_snapshot!(help("calendar list"), @r#"
    List the events of the next days

    Usage: marvin calendar list [OPTIONS]

    Options:
          --days <DAYS>  Days to look ahead [default: 7]
          --json         As JSON
      -h, --help         Print help

    Examples:
      marvin calendar list
      marvin calendar list --days 30
      marvin calendar list --json | jq -r '.[] | .start + " " + .title'
    "#);
    assert_snapshot!(help("calendar view"), @"
    Show a month with its events

    Usage: marvin calendar view [MONTH] [YEAR]

    Arguments:
      [MONTH]  1 to 12 (default: this month)
      [YEAR]   The year (default: this year)

    Options:
      -h, --help  Print help

    Examples:
      marvin calendar view
      marvin calendar view 12 2026
    ");
    assert_snapshot!(help("calendar add"), @"
    Add an event

    Usage: marvin calendar add [OPTIONS] <TITLE> <START> [END]

    Arguments:
      <TITLE>
      <START>  Day or time
      [END]    Day or time

    Options:
          --location <TEXT>     Where it takes place
          --description <TEXT>  More about it
          --repeat <RULE>       How it recurs, as a rule of RFC 5545
      -h, --help                Print help

    START and END are a day or a time in ISO 8601; without a zone it is local time. Without END an event
    takes an hour, or a day. The end of whole days is the last of them.

    Examples:
      marvin calendar add Dentist 2026-11-20T15:00
      marvin calendar add Fair 2026-11-20 2026-11-22 --location Hannover
      marvin calendar add Call '2026-11-20T09:00[America/New_York]' --repeat 'FREQ=WEEKLY;COUNT=4'
    ");
    assert_snapshot!(help("calendar remove"), @"
    Remove an event, or all of a series

    Usage: marvin calendar remove [OPTIONS] [TITLE]

    Arguments:
      [TITLE]  A part of its title, or its whole uid

    Options:
          --uid <UID>  Its uid, as `list` shows it
      -h, --help       Print help

    Where a part of a title fits several events, they are listed, nothing is removed, and the exit code
    is 4.

    Examples:
      marvin calendar remove dentist
      marvin calendar remove --uid 0a1b2c3d-0000-4000-8000-000000000000@marvin
    ");
    assert_snapshot!(help("calendar import"), @"
    Add the events of another calendar file; those that are here already are updated

    Usage: marvin calendar import <FILE>

    Arguments:
      <FILE>  The file

    Options:
      -h, --help  Print help

    FILE is an iCalendar file (.ics); `-` reads standard input. An event is known by its uid; one that
    is newer here (by SEQUENCE) stays.

    Examples:
      marvin calendar import holidays.ics
      curl -s https://example.org/calendar.ics | marvin calendar import -
    ");
    assert_snapshot!(help("calendar export"), @"
    Write the calendar to a file, or to standard output

    Usage: marvin calendar export [FILE]

    Arguments:
      [FILE]  The file; it must not exist

    Options:
      -h, --help  Print help

    Examples:
      marvin calendar export backup.ics
      marvin calendar export | grep SUMMARY
    ");
}

#[test]
fn alarms() {
    assert_snapshot!(help("alarms"), @"
    Set, list and cancel alarms and timers

    Usage: marvin alarms <COMMAND>

    Commands:
      list         List alarms and timers
      set          Set an alarm
      cancel       Cancel an alarm
      start-timer  Start a timer, or a stopwatch
      stop-timer   Stop a timer or stopwatch
      deliver      Deliver everything that is due, once

    Options:
      -h, --help  Print help

    Examples:
      marvin alarms set 07:30 'Time to get up' --label wake-up
      marvin alarms list
      marvin alarms cancel wake-up
    ");
    assert_snapshot!(help("alarms list"), @"
    List alarms and timers

    Usage: marvin alarms list [OPTIONS]

    Options:
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin alarms list
      marvin alarms list --json | jq -r '.alarms[].label'
    ");
    assert_snapshot!(help("alarms set"), @"
    Set an alarm

    Usage: marvin alarms set [OPTIONS] <TIME> <MESSAGE>

    Arguments:
      <TIME>
      <MESSAGE>

    Options:
          --label <LABEL>  A name to cancel it by [default: alarm]
      -h, --help           Print help

    TIME is `07:30`, `2026-11-20 15:00`, or a duration: `30m`, `2h`, `1h30m`. An alarm rings on the
    desktop, in every open Marvin, and on the ntfy topic of the setting alarms.topic.

    Examples:
      marvin alarms set 07:30 'Time to get up' --label wake-up
      marvin alarms set 1h30m 'Take the bread out'
    ");
    assert_snapshot!(help("alarms cancel"), @"
    Cancel an alarm

    Usage: marvin alarms cancel <LABEL>

    Arguments:
      <LABEL>  Its label, as `list` shows it

    Options:
      -h, --help  Print help

    Example:
      marvin alarms cancel wake-up
    ");
    assert_snapshot!(help("alarms start-timer"), @"
    Start a timer, or a stopwatch

    Usage: marvin alarms start-timer <NAME> [SECONDS]

    Arguments:
      <NAME>
      [SECONDS]  Seconds (default: a stopwatch, which counts up)

    Options:
      -h, --help  Print help

    Examples:
      marvin alarms start-timer pasta 480
      marvin alarms start-timer run
    ");
    assert_snapshot!(help("alarms stop-timer"), @"
    Stop a timer or stopwatch

    Usage: marvin alarms stop-timer <NAME>

    Arguments:
      <NAME>

    Options:
      -h, --help  Print help

    Example:
      marvin alarms stop-timer pasta
    ");
    assert_snapshot!(help("alarms deliver"), @"
    Deliver everything that is due, once

    Usage: marvin alarms deliver

    Options:
      -h, --help  Print help

    A systemd user timer runs this command where systemd runs for you; elsewhere a small process of
    Marvin's own does the same (setting alarms.scheduler).

    Example:
      marvin alarms deliver
    ");
}

#[test]
fn ntfy() {
    assert_snapshot!(help("ntfy"), @"
    Follow topics of push notifications (ntfy), and send some

    Usage: marvin ntfy <COMMAND>

    Commands:
      list         List the topics that you follow
      new          Make a new topic of five random words, and follow it
      subscribe    Follow a topic: its messages are shown while Marvin is open
      unsubscribe  Stop following a topic
      publish      Send a message to a topic

    Options:
      -h, --help  Print help

    Examples:
      marvin ntfy new --label phone
      marvin ntfy list
    ");
    assert_snapshot!(help("ntfy list"), @"
    List the topics that you follow

    Usage: marvin ntfy list [OPTIONS]

    Options:
          --json  As JSON
      -h, --help  Print help

    Examples:
      marvin ntfy list
      marvin ntfy list --json | jq -r '.[].topic'
    ");
    assert_snapshot!(help("ntfy new"), @"
    Make a new topic of five random words, and follow it

    Usage: marvin ntfy new [OPTIONS]

    Options:
          --label <LABEL>  A name for you
      -h, --help           Print help

    Example:
      marvin ntfy new --label phone
    ");
    assert_snapshot!(help("ntfy subscribe"), @"
    Follow a topic: its messages are shown while Marvin is open

    Usage: marvin ntfy subscribe [OPTIONS] <TOPIC>

    Arguments:
      <TOPIC>

    Options:
          --label <LABEL>  A name for you
      -h, --help           Print help

    Example:
      marvin ntfy subscribe my-backups --label Backups
    ");
    assert_snapshot!(help("ntfy unsubscribe"), @"
    Stop following a topic

    Usage: marvin ntfy unsubscribe <TOPIC>

    Arguments:
      <TOPIC>

    Options:
      -h, --help  Print help

    Example:
      marvin ntfy unsubscribe my-backups
    ");
    assert_snapshot!(help("ntfy publish"), @"
    Send a message to a topic

    Usage: marvin ntfy publish [OPTIONS] <TOPIC> <MESSAGE>

    Arguments:
      <TOPIC>
      <MESSAGE>

    Options:
          --title <TITLE>
      -h, --help           Print help

    Example:
      marvin ntfy publish my-backups 'The backup is done' --title Backup
    ");
}

#[test]
fn blender() {
    assert_snapshot!(help("blender"), @"
    Connect Blender: install its add-on, see whether it answers

    Usage: marvin blender <COMMAND>

    Commands:
      install  Write the add-on into the add-on directories of your Blender
      status   Say whether Blender answers

    Options:
      -h, --help  Print help

    Examples:
      marvin blender install
      marvin blender status
    ");
    assert_snapshot!(help("blender install"), @"
    Write the add-on into the add-on directories of your Blender

    Usage: marvin blender install [OPTIONS]

    Options:
          --directory <DIRECTORY>  Directory of add-ons, where it is not below ~/.config/blender
      -h, --help                   Print help

    The add-on listens on 127.0.0.1:9876 and wants a token that only you can read. Switch it on in
    Blender under Preferences, Add-ons, Marvin; or without a window:
      blender --background scene.blend --python marvin_socket.py

    Examples:
      marvin blender install
      marvin blender install --directory ~/.config/blender/5.0/scripts/addons
    ");
    assert_snapshot!(help("blender status"), @"
    Say whether Blender answers

    Usage: marvin blender status

    Options:
      -h, --help  Print help

    Example:
      marvin blender status
    ");
}
