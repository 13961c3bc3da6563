//! Help of the rules engine for Magic.

use super::help;
use insta::assert_snapshot;

#[test]
fn cards() {
    assert_snapshot!(help("mtg"), @"
    Cards and decks of the rules engine for Magic (unofficial fan content)

    Usage: marvin mtg <COMMAND>

    Commands:
      cards     List supported cards and import facts of cards
      decks     List, show, import and export decks
      scenario  Run the rules scenarios of a file, one line for each

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(help("mtg cards"), @"
    List supported cards and import facts of cards

    Usage: marvin mtg cards <COMMAND>

    Commands:
      support  List which cards of a deck or set are supported, and the line that was declined of the
               others
      import   Build the local card pack from a file of facts

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(help("mtg cards support"), @r#"
    List which cards of a deck or set are supported, and the line that was declined of the others

    Usage: marvin mtg cards support [OPTIONS] [DECK|SET]

    Arguments:
      [DECK|SET]  The id of a shipped deck, a deck file, or the code of a set

    Options:
          --all   All cards of the pool
          --json  As JSON
      -h, --help  Print help

    A card is supported when every line of its text is read, and the same text is printed back.

    Examples:
      marvin mtg cards support boundless_elves
      marvin mtg cards support M19
      marvin mtg cards support --all --json | jq -r '.declined[] | .name + ": " + .line'
    "#);
    assert_snapshot!(help("mtg cards import"), @"
    Build the local card pack from a file of facts

    Usage: marvin mtg cards import [OPTIONS] <FILE>

    Arguments:
      <FILE>  The facts file

    Options:
          --supported      Keep only cards that are supported, and those of the shipped decks
          --output <PATH>  Write the pack to this file (default: the pack of this user)
          --json           As JSON
      -h, --help           Print help

    The file has one JSON object per line (name, mana_cost, type_line, oracle_text, power, toughness,
    loyalty, printings), compressed with gzip or not. The pack adds to the shipped pool.

    Examples:
      marvin mtg cards import cards.jsonl.gz
      marvin mtg cards import cards.jsonl --supported --output pool.jsonl.gz
    ");
    assert_snapshot!(help("mtg scenario"), @"
    Run the rules scenarios of a file, one line for each

    Usage: marvin mtg scenario [OPTIONS] <FILE>

    Arguments:
      <FILE>  The file of scenarios (mtg-scenarios/1)

    Options:
          --json  As JSON, one object per line
      -h, --help  Print help

    Exit code 1 if a scenario fails.

    Examples:
      marvin mtg scenario scenarios.json
      marvin mtg scenario scenarios.json --json | jq -r 'select(.ok | not).id'
    ");
}

#[test]
fn decks() {
    assert_snapshot!(help("mtg decks"), @"
    List, show, import and export decks

    Usage: marvin mtg decks <COMMAND>

    Commands:
      list    List the shipped decks
      show    Show a deck: its cards, which of them are supported, and whether it is legal
      import  Read a deck file of Arena, MTGO, Forge or Cockatrice, and check it
      export  Print a deck in the format of another program

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(help("mtg decks list"), @"
    List the shipped decks

    Usage: marvin mtg decks list [OPTIONS]

    Options:
          --json  As JSON
      -h, --help  Print help

    Example:
      marvin mtg decks list --json | jq -r '.[].id'
    ");
    assert_snapshot!(help("mtg decks show"), @"
    Show a deck: its cards, which of them are supported, and whether it is legal

    Usage: marvin mtg decks show [OPTIONS] <DECK>

    Arguments:
      <DECK>  The id or name of a shipped deck, or a deck file

    Options:
          --json  As JSON
      -h, --help  Print help

    Example:
      marvin mtg decks show boundless_elves
    ");
    assert_snapshot!(help("mtg decks import"), @"
    Read a deck file of Arena, MTGO, Forge or Cockatrice, and check it

    Usage: marvin mtg decks import [OPTIONS] <FILE>

    Arguments:
      <FILE>  The deck file

    Options:
          --output <PATH>  Write the deck to this file, in Forge's format
          --json           As JSON
      -h, --help           Print help

    The format is recognised. Cards that are not supported are named with the declined line and with
    substitutes; with one of them the exit code is 1.

    Examples:
      marvin mtg decks import deck.txt
      marvin mtg decks import deck.cod --output deck.dck
    ");
    assert_snapshot!(help("mtg decks export"), @"
    Print a deck in the format of another program

    Usage: marvin mtg decks export [OPTIONS] <DECK>

    Arguments:
      <DECK>  The id or name of a shipped deck, or a deck file

    Options:
          --format <FORMAT>  The format [default: arena] [possible values: arena, mtgo, mtgo-xml, forge,
                             cockatrice]
      -h, --help             Print help

    Example:
      marvin mtg decks export dark_sacrifice --format cockatrice > deck.cod
    ");
}
