//! Help of the rules engine for Magic.

use super::help;
use insta::assert_snapshot;

#[test]
fn cards() {
    assert_snapshot!(help("mtg"), @"
    Cards, decks and games of the rules engine for Magic (unofficial fan content)

    Usage: marvin mtg <COMMAND>

    Commands:
      cards       List supported cards and import facts of cards
      decks       List, show, import and export decks
      play        Play a game of Magic against another player
      watch       Watch a game between two players without a person
      tournament  Let players without a person play a round robin
      review      Review a game: turning points by search, with their severity and rule
      serve       Serve a game of two people on this machine
      join        Join a game that `marvin mtg serve` serves
      scenario    Run the rules scenarios of a file, one line for each
      simulate    Let players without a model play games
      replay      Replay the journal of a game and check the state after each line

    Options:
      -h, --help  Print help

    Examples:
      marvin mtg play --deck boundless_elves --against dark_sacrifice --tutor
      marvin mtg watch --players heuristic,random
      marvin mtg decks list
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

    Examples:
      marvin mtg cards support boundless_elves
      marvin mtg cards import cards.jsonl.gz
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
          --supported      Keep only cards for tournaments on paper that are supported, and those of the
                           shipped decks
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

    Examples:
      marvin mtg decks list
      marvin mtg decks show boundless_elves
      marvin mtg decks import deck.txt
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

#[test]
fn games() {
    assert_snapshot!(help("mtg simulate"), @"
    Let players without a model play games

    Usage: marvin mtg simulate [OPTIONS]

    Options:
          --players <PLAYER,PLAYER>  The two players [default: heuristic,random] [possible values:
                                     random, heuristic, mcts]
          --decks <DECK,DECK>        The two decks [default: boundless_elves,dark_sacrifice]
          --games <N>                Number of games [default: 10]
          --seed <SEED>              The seed of the first game; the others count on from it [default:
                                     1]
          --think-ms <MS>            How long `mcts` thinks about one decision [default: 500]
          --iterations <N>           Iterations of `mcts` for one decision, in place of a time
          --journals <DIR>           Write the journal of each game to this directory
          --continue <FILE>          Play on from the last line of a journal
          --json                     As JSON
      -h, --help                     Print help

    The players change seats after each game. Each knows only what its seat may know. With the same
    seed, decks and players the games are the same, except for `mcts` with a time.

    Examples:
      marvin mtg simulate --players heuristic,random --decks boundless_elves,dark_sacrifice --games 100
      marvin mtg simulate --players mcts,heuristic --iterations 200 --games 4 --journals games/
      marvin mtg simulate --continue games/0.jsonl --players heuristic,heuristic
    ");
    assert_snapshot!(help("mtg replay"), @"
    Replay the journal of a game and check the state after each line

    Usage: marvin mtg replay [OPTIONS] <FILE>

    Arguments:
      <FILE>  The journal

    Options:
          --until <LINE>  Replay only up to this line of the file; line 1 is the header
          --undo <N>      Leave off so many answers of the end
          --fork <PATH>   Write the journal of the replayed lines to this file
          --view <SEAT>   Show the game at the end as this seat sees it (0 or 1)
          --json          As JSON
      -h, --help          Print help

    The first line that differs is named; the exit code is 1 then. A fork is a journal of the first
    lines, from which `marvin mtg simulate --continue` plays on.

    Examples:
      marvin mtg replay game.jsonl
      marvin mtg replay game.jsonl --until 40 --fork what-if.jsonl
      marvin mtg replay game.jsonl --undo 1 --fork game.jsonl
      marvin mtg replay game.jsonl --until 40 --view 0 --json | jq .view.battlefield
    ");
}

#[test]
fn games_at_the_table() {
    assert_snapshot!(help("mtg play"), @r"
    Play a game of Magic against another player

    Usage: marvin mtg play [OPTIONS]

    Options:
          --deck <DECK>          Your deck: the id or name of a shipped deck, or a deck file [default:
                                 boundless_elves]
          --against <DECK>       The other deck [default: dark_sacrifice]
          --opponent <OPPONENT>  Who plays the other deck; `person` is a second person at the same
                                 keyboard [default: heuristic] [possible values: person, random,
                                 heuristic, mcts, model]
          --tutor                Hints, warnings before a pass, and a review at the end
          --training             Answers can be taken back
          --seed <N>             The seed; random if there is none
          --best-of <N>          Games of the match [default: 1]
          --think-ms <MS>        How long `mcts` thinks about one decision [default: 500]
          --iterations <N>       Iterations of `mcts` for one decision, in place of a time
          --plain                Line by line, also on a terminal
          --resume [<GAME>]      Continue a game: the one with this id, or the last that is open
          --list                 List the games of this project; outside projects, those of the person
          --working-dir <PATH>   The project's directory (default: the project around this directory)
          --json                 As JSON
      -h, --help                 Print help

    Every answer is recorded before the next question: a game that was left or interrupted is continued
    with --resume at the same question. `help` at a question lists the commands.

    Examples:
      marvin mtg play --deck boundless_elves --against dark_sacrifice --tutor
      marvin mtg play --opponent mcts --think-ms 2000 --best-of 3
      marvin mtg play --resume
      printf '1\n' | marvin mtg play --plain --seed 7
    ");
    assert_snapshot!(help("mtg watch"), @"
    Watch a game between two players without a person

    Usage: marvin mtg watch [OPTIONS]

    Options:
          --players <PLAYER,PLAYER>  The two players [default: model,heuristic] [possible values:
                                     person, random, heuristic, mcts, model]
          --decks <DECK,DECK>        The two decks [default: boundless_elves,dark_sacrifice]
          --seed <N>                 The seed; random if there is none
          --pace-ms <MS>             Pause after each event [default: 400]
          --think-ms <MS>            How long `mcts` thinks about one decision [default: 500]
          --iterations <N>           Iterations of `mcts` for one decision, in place of a time
          --working-dir <PATH>       The project's directory (default: the project around this
                                     directory)
          --json                     As JSON
      -h, --help                     Print help

    What is shown is what seat 0 sees.

    Examples:
      marvin mtg watch --players model,heuristic --pace-ms 1000
      marvin mtg watch --players heuristic,random --seed 7 --pace-ms 0
    ");
    assert_snapshot!(help("mtg tournament"), @"
    Let players without a person play a round robin

    Usage: marvin mtg tournament [OPTIONS]

    Options:
          --players <PLAYER,…>  The players [default: heuristic,random] [possible values: person,
                                random, heuristic, mcts, model]
          --decks <DECK,DECK>   The two decks [default: boundless_elves,dark_sacrifice]
          --games <N>           Games of each pair [default: 20]
          --seed <SEED>         The seed of the first game; the others count on from it [default: 1]
          --think-ms <MS>       How long `mcts` thinks about one decision [default: 500]
          --iterations <N>      Iterations of `mcts` for one decision, in place of a time
          --records <DIR>       Keep the records of the games in this directory
          --plot <FILE>         Write the standings as an SVG plot
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Each pair of players plays the same number of games; they change seats after each game and decks
    after two. The interval is Wilson's with 95 %, a draw counts half.

    Examples:
      marvin mtg tournament --players heuristic,random --games 40
      marvin mtg tournament --players heuristic,mcts,random --think-ms 50 --plot standings.svg
    ");
    assert_snapshot!(help("mtg review"), @"
    Review a game: turning points by search, with their severity and rule

    Usage: marvin mtg review [OPTIONS] [GAME]

    Arguments:
      [GAME]  The game; the last one if there is none

    Options:
          --seat <SEAT>         The seat whose answers are looked at [default: 0]
          --iterations <N>      Iterations of the search for one answer [default: 96]
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    Each answer that differs from the heuristic player's is compared with the best one that a search
    finds, from what the seat could know. A loss of 5 % of the chances is an inaccuracy, of 12 % a
    mistake, of 25 % a blunder.

    Examples:
      marvin mtg review
      marvin mtg review game_20260101_120000_1a2b --seat 1 --json
    ");
    assert_snapshot!(help("mtg serve"), @"
    Serve a game of two people on this machine

    Usage: marvin mtg serve [OPTIONS]

    Options:
          --decks <DECK,DECK>   The two decks [default: boundless_elves,dark_sacrifice]
          --seed <N>            The seed; random if there is none
          --browser             Print one link per seat for browsers, in place of commands for terminals
          --port <PORT>         The port; a free one if there is none [default: 0]
          --resume <GAME>       Continue this game of two people
          --working-dir <PATH>  The project's directory (default: the project around this directory)
          --json                As JSON
      -h, --help                Print help

    The server listens on loopback only and prints one command for each person. Each sees only the own
    board. A connection that is lost can be made again.

    Examples:
      marvin mtg serve --decks boundless_elves,dark_sacrifice
      marvin mtg serve --browser
    ");
    assert_snapshot!(help("mtg join"), @"
    Join a game that `marvin mtg serve` serves

    Usage: marvin mtg join <ADDRESS> <TOKEN>

    Arguments:
      <ADDRESS>  The address that the server printed
      <TOKEN>    The token of the seat

    Options:
      -h, --help  Print help

    Example:
      marvin mtg join 127.0.0.1:40123 0123456789abcdef01234567
    ");
}
