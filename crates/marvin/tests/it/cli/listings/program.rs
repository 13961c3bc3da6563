//! Tools, tasks of the benchmark suite, and phases of the pipeline.

use crate::cli::{screen, show};
use crate::support::World;
use insta::assert_snapshot;

#[test]
fn tools() {
    let world = World::new();
    assert_snapshot!(screen(&world, "tools list"), @"
    add_commitment                  Promise something that must hold before the work is done
    append_file                     Append text to the end of a file that exists in the working directory
    apply_patch                     Change a file: replace old_str, which must occur exactly once, by new_str
    blender_create_object           Create an object in the scene of Blender
    blender_delete_object           Delete an object of the scene in Blender
    blender_execute_code            Run Python in the person's Blender, for what the other Blender tools cannot do
    blender_get_object              Show an object of the scene in Blender: place, size, mesh, materials
    blender_get_scene               List the objects of the scene that is open in the person's Blender (3D)
    blender_modify_object           Move, scale or rotate an object of the scene in Blender
    blender_screenshot              Save a picture of Blender's 3D view for the person: of its window, or rendered where it has none
    blender_set_material            Give an object of the scene in Blender a material of this color
    bookmark_list                   List bookmarks, newest first, all or those with a tag
    bookmark_save                   Save a web address as a bookmark, with title, tags and notes
    bookmark_search                 Search the bookmarks by words
    browse_web                      Read the main part of a page as text, with the addresses of its links
    calendar_add_event              Add an event to the person's calendar
    calendar_delete_event           Delete an event (all of a series) from the calendar by uid or by a part of its title
    calendar_list_upcoming          List the events of the next days, with their uids
    calendar_view                   Show a month of the calendar with its events
    cancel_alarm                    Cancel an alarm by its label
    code_grep                       Search the files of the working directory for a case-insensitive regular expression
    compact_history                 Compact the chat log to a number of tokens, after a backup
    convert_units                   Convert a value between units of measure (length, mass, temperature, data, …) or currencies (USD, EUR, …)
    create_file                     Create a new text file in the working directory, with its directories
    create_ticket                   Make a ticket in the project; gives its id
    dictionary_lookup               Look an English word up: meanings, examples, pronunciation, synonyms
    dismiss_servitor                Dismiss a servitor that you summoned, and all below it
    download_file                   Download an address into a new file: in the working directory while coding, else in the person's downloads
    estimate_traffic_adjusted_time  Travel time between two points now: typical traffic of the hour and the weather are taken into account
    estimate_travel_time            Travel time and distance between two points, without traffic
    exit_app                        End the conversation after this answer, when the person says goodbye
    file_apply_patch                Change lines of a note, by a unified diff or by blocks: REPLACE n, INSERT n, DELETE n [count], with a line `---` between blocks
    file_read_lines                 Read lines of a note, with their numbers
    generate_ntfy_topic             Make a new topic for push notifications, of five random words, and follow it
    get_directions                  Turn-by-turn directions between two points, over points on the way if wanted
    get_game_details                Details of a video game by its game_id: description, makers, platforms
    get_movie_details               Details of a film or series: plot, cast, ratings, runtime
    get_my_location                 Find where the person is: coordinates by the machine's sensors, or the city by the IP address
    get_usage                       Show turns, tokens and estimated cost of this session
    get_working_dir                 Show the working directory
    git_checkout                    Check out a branch, tag or commit, or make a new branch
    git_commit                      Commit the changes of the working directory
    git_diff                        Show changes that are not committed, line by line: of files against the index, or with staged=true of the index against the last commit
    git_log                         Show the last commits of the checked out branch, newest first
    git_status                      Show the branch and the changed files of the working directory's git repository
    github_clone                    Clone a GitHub repository into the tools' own directory, to be searched with github_grep
    github_grep                     Search the files of a repository that github_clone cloned
    github_read_file                Read a file of a GitHub repository, whole or a range of lines, or list a directory of it
    github_search                   Search GitHub for repositories, code, issues, commits or users
    install_packages                Install packages with the project's own package manager (uv or pip, npm, pnpm, yarn, bun, cargo, go), which also writes them into the project's list of dependencies
    launch_agent                    Start a sub-agent in a process of its own to work on a ticket, and wait for its result
    launch_research_agent           Start a sub-agent that answers a question by looking: it reads, searches and browses, and changes nothing
    list_alarms                     List the alarms that are set
    list_commitments                List the commitments of this project with their status at the last verification
    list_places                     List the places that the person saved
    list_servitors                  Show the servitors of this project and how each of them stands
    load_skill                      Load a skill: its instructions and the list of its files; with `file`, the text of that file
    message_servitor                Send word to a servitor: an answer, news, or something to do
    music_lookup                    Details of an artist, release or recording by its mbid: albums, tracks, dates
    music_search                    Search artists, releases (albums) or recordings (songs) in MusicBrainz
    notes_ls                        List the notes and directories in the notes directory
    notes_mkdir                     Create a directory of notes, with its parents
    ntfy_list                       List the topics of push notifications (ntfy) that are followed
    ntfy_publish                    Send a push notification to a topic of ntfy
    ntfy_subscribe                  Follow a topic of push notifications (ntfy): its messages are shown to the person while Marvin is open
    ntfy_unsubscribe                Stop following a topic of push notifications (ntfy)
    places_nearby_search            Find places of some kinds (cafe, pharmacy, gas_station, park, …) around a point
    places_text_search              Find places (restaurants, shops, addresses, sights) by words, anywhere or around a point
    read_file                       Read a text file of the working directory, with line numbers
    read_note                       Read a note from the notes directory
    read_rss                        Read the newest entries of a feed (RSS, Atom or JSON Feed)
    recipe_lookup                   The whole recipe of a meal_id: ingredients and instructions
    recipe_search                   Search recipes by name or by one ingredient
    remove_place                    Remove a saved place by its label
    run_command                     Run a shell command in the working directory: reading, git, builds and tests
    run_tests                       Run the project's tests and get counts and the names of failing tests
    save_place                      Save a place under a label (home, work, …), or add facts to one that is saved
    scrape_page                     Take text, links or lines with prices from a page, from all of it or from the elements of a CSS selector
    search_arxiv                    Search preprints on arXiv (physics, mathematics, computer science, …)
    search_games                    Search video games of all platforms by name
    search_history_backups          Search the backups of the chat log: older conversations with this person
    search_movies                   Search films and series by title
    search_news                     Search the news of the last two days, or of the last day, week, month or year
    search_papers                   Search scientific papers of all fields, with abstracts, citations and free PDFs
    set_alarm                       Set an alarm: at a time or after a duration the person gets a notification with the message
    set_working_dir                 Work in another directory from the next message on; the person is asked first
    setup_google_auth               Say whether Google Places has its key, and how the person sets it
    spotify_add_tracks              Find tracks on Spotify and add them to one of the person's playlists
    spotify_auth                    Sign the person in at Spotify: without a code it gives the address to open, with the code (or the address that the browser ended at) it finishes
    spotify_create_playlist         Create a playlist in the person's Spotify account; private unless public is true
    spotify_search                  Search tracks, artists, albums or playlists on Spotify
    stack_answers                   Read the answers to a question of a Stack Exchange site, best first
    stack_search                    Search questions on Stack Overflow or another Stack Exchange site; stack_answers reads the answers
    steam_app_details               Details of a game in the Steam store by its app_id
    steam_featured                  Games that the Steam store features now, with discounts
    steam_player_stats              How many people play a game on Steam now
    steam_search                    Search the Steam store for games, with prices
    steam_user_games                Games that a Steam account owns, most played first
    steam_user_summary              Name, state and current game of a Steam account
    summon_servitor                 Summon a servitor: an agent that works on an assignment beside you, at once
    switch_profile                  Switch to another person's profile (preferences, saved places, chat log); creates it if it does not exist
    system_info                     Facts about this machine: system, processors, memory, disk, load, uptime, local time
    ticket_add_dep                  Make a ticket depend on another, which must be closed first
    ticket_add_note                 Append a note, with the time, to a ticket
    ticket_close                    Close a ticket
    ticket_dep_tree                 Show the tree of what a ticket depends on
    ticket_list                     List the project's tickets with their status and dependencies
    ticket_show                     Show a ticket with its notes, what blocks it, what it blocks, its children and links
    ticket_start                    Set a ticket to in_progress
    timer_check                     Show how far a timer or stopwatch is, or all of them
    timer_start                     Start a timer, or a stopwatch without a duration
    timer_stop                      Stop a timer or stopwatch and say how far it was
    tk                              Work with the project's tickets: create, start, close, dep, link, ls, ready, blocked, show, add-note and more (`help` explains them all)
    translate_text                  Translate a text by MyMemory, which gets the text; for a public text in a language that you do not know well
    tree                            List files and directories of the working directory as a tree
    update_preferences              Change a preference of the person: diet, cuisines, spice, car, distance, budget, accessibility, notes
    verify                          Verify what was promised here, from scratch, by commands outside your session
    wait_for_servitor               Wait until a servitor is done, failed or waits for an answer, or until the time is up; tells how it stands
    weather_forecast                Weather at a point: now and for the next 1 to [N] days
    web_fetch                       Fetch an address (http or https) and read it as text
    web_search                      Search the web; gives titles, addresses and a few words of each result
    wiki_full                       Fetch a whole Wikipedia page to the disk; shows its beginning
    wiki_grep                       Search the text of a Wikipedia page with a regular expression
    wiki_search                     Search Wikipedia for pages
    wiki_summary                    The first paragraph of a Wikipedia page
    write_note                      Write a note (Markdown) into the notes directory; replaces the note unless append is true
    yt_dlp_download                 Download the video or the sound of a page (YouTube and many other sites) with yt-dlp into new files among the person's downloads, or in the working directory while coding
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tools schema read_file"), @r#"
    {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "path": {
          "type": "string",
          "description": "Path relative to the working directory."
        },
        "start_line": {
          "type": "integer",
          "description": "First line to show, from 1.",
          "minimum": 0
        },
        "end_line": {
          "type": "integer",
          "description": "Last line to show, inclusive.",
          "minimum": 0
        }
      },
      "required": [
        "path"
      ]
    }
    [exit code 0]
    "#);
    assert_snapshot!(show(&world, world.marvin(["tools", "list"]).env("MARVIN_READONLY", "1")), @"
    blender_get_object              Show an object of the scene in Blender: place, size, mesh, materials
    blender_get_scene               List the objects of the scene that is open in the person's Blender (3D)
    bookmark_list                   List bookmarks, newest first, all or those with a tag
    bookmark_search                 Search the bookmarks by words
    browse_web                      Read the main part of a page as text, with the addresses of its links
    calendar_list_upcoming          List the events of the next days, with their uids
    calendar_view                   Show a month of the calendar with its events
    code_grep                       Search the files of the working directory for a case-insensitive regular expression
    convert_units                   Convert a value between units of measure (length, mass, temperature, data, …) or currencies (USD, EUR, …)
    dictionary_lookup               Look an English word up: meanings, examples, pronunciation, synonyms
    estimate_traffic_adjusted_time  Travel time between two points now: typical traffic of the hour and the weather are taken into account
    estimate_travel_time            Travel time and distance between two points, without traffic
    file_read_lines                 Read lines of a note, with their numbers
    get_directions                  Turn-by-turn directions between two points, over points on the way if wanted
    get_game_details                Details of a video game by its game_id: description, makers, platforms
    get_movie_details               Details of a film or series: plot, cast, ratings, runtime
    get_my_location                 Find where the person is: coordinates by the machine's sensors, or the city by the IP address
    get_usage                       Show turns, tokens and estimated cost of this session
    get_working_dir                 Show the working directory
    git_diff                        Show changes that are not committed, line by line: of files against the index, or with staged=true of the index against the last commit
    git_log                         Show the last commits of the checked out branch, newest first
    git_status                      Show the branch and the changed files of the working directory's git repository
    github_grep                     Search the files of a repository that github_clone cloned
    github_read_file                Read a file of a GitHub repository, whole or a range of lines, or list a directory of it
    github_search                   Search GitHub for repositories, code, issues, commits or users
    launch_research_agent           Start a sub-agent that answers a question by looking: it reads, searches and browses, and changes nothing
    list_alarms                     List the alarms that are set
    list_commitments                List the commitments of this project with their status at the last verification
    list_places                     List the places that the person saved
    list_servitors                  Show the servitors of this project and how each of them stands
    load_skill                      Load a skill: its instructions and the list of its files; with `file`, the text of that file
    music_lookup                    Details of an artist, release or recording by its mbid: albums, tracks, dates
    music_search                    Search artists, releases (albums) or recordings (songs) in MusicBrainz
    notes_ls                        List the notes and directories in the notes directory
    ntfy_list                       List the topics of push notifications (ntfy) that are followed
    places_nearby_search            Find places of some kinds (cafe, pharmacy, gas_station, park, …) around a point
    places_text_search              Find places (restaurants, shops, addresses, sights) by words, anywhere or around a point
    read_file                       Read a text file of the working directory, with line numbers
    read_note                       Read a note from the notes directory
    read_rss                        Read the newest entries of a feed (RSS, Atom or JSON Feed)
    recipe_lookup                   The whole recipe of a meal_id: ingredients and instructions
    recipe_search                   Search recipes by name or by one ingredient
    scrape_page                     Take text, links or lines with prices from a page, from all of it or from the elements of a CSS selector
    search_arxiv                    Search preprints on arXiv (physics, mathematics, computer science, …)
    search_games                    Search video games of all platforms by name
    search_history_backups          Search the backups of the chat log: older conversations with this person
    search_movies                   Search films and series by title
    search_news                     Search the news of the last two days, or of the last day, week, month or year
    search_papers                   Search scientific papers of all fields, with abstracts, citations and free PDFs
    setup_google_auth               Say whether Google Places has its key, and how the person sets it
    spotify_search                  Search tracks, artists, albums or playlists on Spotify
    stack_answers                   Read the answers to a question of a Stack Exchange site, best first
    stack_search                    Search questions on Stack Overflow or another Stack Exchange site; stack_answers reads the answers
    steam_app_details               Details of a game in the Steam store by its app_id
    steam_featured                  Games that the Steam store features now, with discounts
    steam_player_stats              How many people play a game on Steam now
    steam_search                    Search the Steam store for games, with prices
    steam_user_games                Games that a Steam account owns, most played first
    steam_user_summary              Name, state and current game of a Steam account
    system_info                     Facts about this machine: system, processors, memory, disk, load, uptime, local time
    ticket_dep_tree                 Show the tree of what a ticket depends on
    ticket_list                     List the project's tickets with their status and dependencies
    ticket_show                     Show a ticket with its notes, what blocks it, what it blocks, its children and links
    timer_check                     Show how far a timer or stopwatch is, or all of them
    translate_text                  Translate a text by MyMemory, which gets the text; for a public text in a language that you do not know well
    tree                            List files and directories of the working directory as a tree
    wait_for_servitor               Wait until a servitor is done, failed or waits for an answer, or until the time is up; tells how it stands
    weather_forecast                Weather at a point: now and for the next 1 to [N] days
    web_fetch                       Fetch an address (http or https) and read it as text
    web_search                      Search the web; gives titles, addresses and a few words of each result
    wiki_full                       Fetch a whole Wikipedia page to the disk; shows its beginning
    wiki_grep                       Search the text of a Wikipedia page with a regular expression
    wiki_search                     Search Wikipedia for pages
    wiki_summary                    The first paragraph of a Wikipedia page
    --- stderr ---
    note: tools that this process may not use are not listed, because an agent started it
    [exit code 0]
    ");
}

#[test]
fn calls_of_tools() {
    let world = World::new();
    world.write("src/a.rs", "fn main() {\n    work()\n}\n");
    assert_snapshot!(screen(&world, "tools call convert_units --args '{\"value\": 3, \"from_unit\": \"km\", \"to_unit\": \"miles\"}'"), @"
    3 km = 1.8641135767 miles
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tools call read_file --args '{\"path\": \"src/a.rs\"}'"), @"
    src/a.rs (3 lines)
    1 | fn main() {
    2 |     work()
    3 | }
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tools call code_grep --args '{\"pattern\": \"work\"}'"), @"
    src/a.rs-1- fn main() {
    src/a.rs:2:     work()
    src/a.rs-3- }
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tools call tree"), @"
    ./
      .marvin/
      src/
        a.rs
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tools call create_file --args '{\"path\": \"b.txt\", \"content\": \"x\"}'"), @"
    Created b.txt (1 byte)
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "tools call append_file --args '{\"path\": \"b.txt\", \"content\": \"y\"}' --json"), @r#"
    {"tool":"append_file","verdict":{"decision":"allow","reason":"the path lies inside the working directory","rule":"path.inside","how_to_fix":""},"ok":true,"summary":"Appended 1 byte to b.txt","data":{"path":"b.txt","bytes":[N]},"error":null,"elapsed_ms":[N],"source":"tool_output","confidence":"verbatim"}
    [exit code 0]
    "#);
}

#[test]
fn tasks_of_the_benchmark() {
    let world = World::new();
    assert_snapshot!(screen(&world, "list-tasks"), @"
    config-precedence       stateful      2  Defaults, a file and the environment, each stronger than the one before, with types and errors that name the place.
    dedupe-sorted           performance   1  Remove duplicates from sorted items with about one comparison an item.
    expression-eval         parsing       2  Evaluate arithmetic with the usual precedence, parentheses and signs, and refuse everything else.
    http-client-refactor    refactor      2  A client makes requests in four places, each a little differently; bring them together without changing what callers se…
    incremental-sheet       performance   4  Formulas over formulas are computed again and again; compute each at most once a change, and only where something chang…
    interval-merge          algorithms    1  Merge closed intervals that share a point, whatever their order.
    lru-cache               stateful      2  Make a bounded cache forget the right entry, without looking through all of them.
    shop-refactor           refactor      4  Untangle a package of five modules with import cycles and shared state, and keep everything that callers use.
    single-flight           concurrency   4  A cache that loads in the background is wrong only when callers meet: duplicated loads, poisoned entries, lost callers.
    stats-summary           debugging     1  A summary of numbers gives wrong figures; find out which and fix them.
    threadsafe-counter      concurrency   2  Counts by key must not be lost when many threads add at the same time.
    tolerant-parser         parsing       4  Parse a small language and report every mistake once, at its place, instead of stopping at the first.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "list-tasks --show dedupe-sorted"), @"
    # Duplicates out of sorted data

    Write `dedupe(items)` in `dedupe.py`. The items come *sorted*, so that equal ones stand beside each other. It gives a list with one of each, in the same order:
    the first of every group of equal ones.

    - At most `n + 5` comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`) for `n` items.
    - Items need not be hashable, and none may be hashed. All that is known of them is that they can be compared.
    - `items` is any iterable, also a generator, and is read once. A list that is given is not changed.
    - No items: an empty list.

    Only the standard library. The tests in `tests/` show some of it; they are not all that will be checked.
    [exit code 0]
    ");
}

#[test]
fn pipeline() {
    let world = World::new();
    assert_snapshot!(screen(&world, "pipeline explain"), @"
    1a  Specification and user experience
      One agent writes .marvin/spec.md, then another one .marvin/ux.md; each may write only its own file, with create_file and append_file. Over when both have 1,000 bytes and the required headings; else the file is deleted and written again, three times at most.

    1a_review  Review of the specification
      Reviewers that may only read look at each document, three at once in the first round. Their findings become typed records in .marvin/review-history-<document>.md, and a fixer that may write only that document fixes them. Over when no critical or major finding is left; four rounds at most. A review that does not say what was checked is an error.

    1b  Architecture and test plan
      One agent writes .marvin/design.md from both documents, with the test plan. Checked like the specification.

    1b_review  Review of the design
      Reviewers that may only read look at each document, three at once in the first round. Their findings become typed records in .marvin/review-history-<document>.md, and a fixer that may write only that document fixes them. Over when no critical or major finding is left; four rounds at most. A review that does not say what was checked is an error.

    2a  Functional tests, red
      An agent that may write only tests and manifests writes the tests of the test plan. Over when the project's own test runner knows them, each fails because what it needs does not exist yet, none uses a mock, and reviewers have no critical or major finding.

    2b  Integration tests, red
      As 2a for tests of the whole; then .marvin/e2e.json says how the application is started and what it must answer. After this phase all tests, that file and the configuration of the test runners are closed: they are the oracle.

    3  Implementation
      An agent writes the code. Its claim is checked by the tests before it counts; changed tests are restored, and that is a failed attempt. Reviewers look at the code.

    4a  Debugging until the tests are green
      The pipeline runs the project's tests itself. If tests fail, an agent fixes the code and they are run again, MARVIN_DEBUG_ROUNDS times at most. Over when the runner's own report counts at least one test and no failure.

    4b  The application, started and asked
      The application is started as .marvin/e2e.json says, in the sandbox, with one port to listen on, and gets HTTP requests; a program is run with its arguments. Over when every answer is as that file says, and the tests still pass; MARVIN_E2E_ROUNDS rounds at most.

    4c  What it serves to a browser
      Every page is fetched, and every script, style and image that it references. Skipped, with the reason, where nothing is served; MARVIN_FE_ROUNDS rounds at most.

    5  Adversarial testing
      Four testers that may only read look for mistakes and give each with a command or a request that shows it. The pipeline runs it: what it cannot reproduce does not count. What it can is fixed and run again, MARVIN_QA_ROUNDS rounds at most. At the end everything is verified once more.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "pipeline explain 4b"), @"
    4b  The application, started and asked
      The application is started as .marvin/e2e.json says, in the sandbox, with one port to listen on, and gets HTTP requests; a program is run with its arguments. Over when every answer is as that file says, and the tests still pass; MARVIN_E2E_ROUNDS rounds at most.
    [exit code 0]
    ");
    assert_snapshot!(screen(&world, "pipeline status"), @"
    no pipeline was started in this directory
      hint: marvin --non-interactive --working-dir . --design-first --prompt 'what to build'
    [exit code 0]
    ");
}
