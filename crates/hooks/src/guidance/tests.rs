//! Prompts with their class, and the precision and recall of the classifier.
//!
//! Over [`TABLE`], whose prompts shaped the rules, what is kept (corrections and directions) has a precision of 1.00 and a
//! recall of 0.95; its last rows are known errors, which stay so that the figures are not overstated. Over
//! [`FRESH`], 60 prompts that were written and labelled after the rules, and for which no rule was changed, precision is 0.92
//! and recall 0.85. Both were written by the same hand: real prompts may be further away.

use super::*;
use crate::packs::starter;

const CORRECTION: Option<Kind> = Some(Kind::Correction);
const DIRECTION: Option<Kind> = Some(Kind::Direction);
const START: Option<Kind> = Some(Kind::TaskStart);
const END: Option<Kind> = Some(Kind::TaskEnd);
const YES: Option<Kind> = Some(Kind::Approval);
const NO: Option<Kind> = Some(Kind::Rejection);

#[rustfmt::skip]
const TABLE: &[(&str, Option<Kind>)] = &[
    // Corrections.
    ("No, use pnpm instead of npm", CORRECTION),
    ("no, that's the wrong file", CORRECTION),
    ("Nope, keep the old name", CORRECTION),
    ("no don't do that", CORRECTION),
    ("No. The tests belong into tests/, not src/", CORRECTION),
    ("Don't use any", CORRECTION),
    ("don’t mock the database", CORRECTION),
    ("do not commit without asking me", CORRECTION),
    ("please don't add comments everywhere", CORRECTION),
    ("Instead, return a Result", CORRECTION),
    ("Actually, put it into utils.ts", CORRECTION),
    ("actually we don't need the cache", CORRECTION),
    ("Not like that, do it with a reducer", CORRECTION),
    ("not what I asked for", CORRECTION),
    ("Wrong file, it's src/api/users.ts", CORRECTION),
    ("wrong, the timeout is in seconds", CORRECTION),
    ("That's not how we do it here", CORRECTION),
    ("That is not what I meant", CORRECTION),
    ("thats not right", CORRECTION),
    ("use unknown instead of any", CORRECTION),
    ("Use pnpm", CORRECTION),
    ("use tabs, not spaces", CORRECTION),
    ("You should not touch the migrations", CORRECTION),
    ("This shouldn't be exported", CORRECTION),
    ("the controller should never talk to the database directly", CORRECTION),
    ("that won't work, the server has no such endpoint", CORRECTION),
    ("This is the wrong approach", CORRECTION),
    ("Your analysis is too shallow", CORRECTION),
    ("this needs to be more robust", CORRECTION),
    ("Make it more robust", CORRECTION),
    ("You misunderstood me: I want one file per command", CORRECTION),
    ("the regex is wrong", CORRECTION),
    ("This is incorrect, prices are net", CORRECTION),
    ("that's wrong", CORRECTION),
    ("Looks good, but use a BTreeMap instead of a HashMap", CORRECTION),
    ("ok but don't log the token", CORRECTION),
    ("Hmm, no, I wanted the list sorted by date", CORRECTION),
    ("Stop adding docstrings", CORRECTION),
    ("revert that, I only wanted the type changed", CORRECTION),
    ("undo your last change", CORRECTION),
    ("you forgot the error handling", CORRECTION),
    ("You broke the build again", CORRECTION),
    ("I said no new dependencies", CORRECTION),
    ("I told you to run clippy first", CORRECTION),
    ("I didn't ask for a refactoring", CORRECTION),
    ("wait, don't push yet", CORRECTION),
    ("Almost. Don't catch the exception there, let it bubble up.", CORRECTION),
    ("it should be a POST, not a GET", CORRECTION),
    ("call the service rather than the repository", CORRECTION),
    ("sorry, I meant the other branch", CORRECTION),
    ("You still import lodash", CORRECTION),
    ("Good start. But the handler shouldn't swallow errors.", CORRECTION),
    // Directions.
    ("Always run the linter before you commit", DIRECTION),
    ("never commit directly to main", DIRECTION),
    ("From now on, write tests first", DIRECTION),
    ("going forward use conventional commits", DIRECTION),
    ("Remember to update the changelog", DIRECTION),
    ("make sure every endpoint validates its input", DIRECTION),
    ("Don't forget to run cargo fmt", DIRECTION),
    ("yes, and always add a test", DIRECTION),
    ("Please always ask before you add a dependency", DIRECTION),
    ("you should always check the return code", DIRECTION),
    ("In this project we use vitest", DIRECTION),
    ("We use uv here", DIRECTION),
    ("we never mock the database", DIRECTION),
    ("Prefer composition over inheritance", DIRECTION),
    ("Avoid default exports", DIRECTION),
    ("Add a login page. Never store the password in plain text.", DIRECTION),
    ("be sure to close the file handles", DIRECTION),
    ("Thanks! From now on put fixtures into tests/fixtures.", DIRECTION),
    ("our convention is snake_case for columns", DIRECTION),
    // The beginning of a task.
    ("Add a dark mode to the settings page", START),
    ("please fix the failing test in auth.rs", START),
    ("can you add a retry to the client?", START),
    ("Could you please implement pagination?", START),
    ("help me to understand the scheduler", START),
    ("Implement the parser and make sure it passes the tests", START),
    ("Fix the bug where the label is wrong", START),
    ("fix this: login should not return 500 on a wrong password", START),
    ("Thanks, now fix the tests", START),
    ("Let's refactor the store", START),
    ("I want you to write a migration", START),
    ("Perfect. Now add the same for the admin.", START),
    ("write a function that never returns null", START),
    ("create a rule that is always on", START),
    ("Remove the old flag everywhere", START),
    ("ok, run the tests", START),
    ("Add a page. Don't use any framework.", START),
    // The end of one.
    ("thanks", END),
    ("Thanks a lot!", END),
    ("perfect", END),
    ("looks good to me", END),
    ("ship it", END),
    ("LGTM", END),
    ("Great, thank you", END),
    ("Perfect, that works", END),
    ("done", END),
    ("Well done!", END),
    // Yes and no.
    ("yes", YES),
    ("yes please", YES),
    ("Exactly", YES),
    ("go ahead", YES),
    ("sounds good", YES),
    ("ok", None),
    ("okay", YES),
    ("Yeah, that one", YES),
    ("no", NO),
    ("nope", NO),
    ("no thanks", NO),
    ("No, thanks", NO),
    ("wrong", NO),
    // Nothing of it.
    ("no problem, thanks", None),
    ("No worries", None),
    ("No idea", None),
    ("No tests are failing now", None),
    ("no need to hurry", None),
    ("Why did you use npm?", None),
    ("don't you think this is wrong?", None),
    ("shouldn't we use a set here?", None),
    ("Is this the wrong approach?", None),
    ("what should never happen here?", None),
    ("I don't know what that means", None),
    ("don't worry about it", None),
    ("never mind", None),
    ("The build always fails on CI", None),
    ("it never returns", None),
    ("The API returns 500 instead of 404", None),
    ("that's not a problem", None),
    ("It's not working", None),
    ("that should not be a problem", None),
    ("Use the explorer agent to find every caller of parse and report them", None),
    ("right click on the row does nothing", None),
    ("how does the cache work?", None),
    ("The error is in the log", None),
    ("What about user sessions?", None),
    ("```\nno, use this instead\n```", None),
    ("> don't use any\nI read this in the docs", None),
    ("error: wrong number of arguments", None),
    ("hm", None),
    ("", None),
    // What the client writes in the person's name.
    ("<task-notification>\n<task-id>1</task-id>\n<result>No, use the other one. That's wrong.</result>\n</task-notification>", None),
    ("<system-reminder>never do that</system-reminder>", None),
    ("<local-command-stdout>wrong</local-command-stdout>", None),
    ("<command-name>/clear</command-name>", None),
    ("<ide_selection>don't use any</ide_selection>", None),
    ("<environment_context>always</environment_context>", None),
    ("[Request interrupted by user]", None),
    ("/review don't use any", None),
    ("/compact", None),
    ("Stop hook feedback:\nNo, the tests fail", None),
    ("This session is being continued from a previous conversation. Never use npm.", None),
    // What real prompts look like.
    ("i don't think that's right, the id comes from the header", CORRECTION),
    ("hold on, you're editing the generated file", CORRECTION),
    ("why is there a TODO in there? remove it", START),
    ("you're overcomplicating this", CORRECTION),
    ("too much code, simplify", CORRECTION),
    ("keep it simple, no new classes", CORRECTION),
    ("we already have a helper for that in utils/date.ts", CORRECTION),
    ("the tests don't pass", None),
    ("please stop using console.log", CORRECTION),
    ("never use console.log in production code, use the logger", DIRECTION),
    ("not quite, the total should include tax", CORRECTION),
    ("nice, but the function name is misleading", CORRECTION),
    ("can you not add emojis to commit messages", CORRECTION),
    ("no emojis in commit messages", DIRECTION),
    ("Commit messages must follow conventional commits", DIRECTION),
    ("you must not edit files under vendor/", CORRECTION),
    ("tests go in tests/, not next to the source", CORRECTION),
    ("do it like in src/orders.ts", CORRECTION),
    ("I'd rather have one query", CORRECTION),
    ("don't", NO),
    ("continue", START),
    ("what does this function do", None),
    ("good, now the same for orders", None),
    ("the login page crashes when the password is empty", None),
    ("it's the wrong port, should be 8080", CORRECTION),
    ("use the existing Button component", CORRECTION),
    ("again: no default exports!", DIRECTION),
    ("yes but without the cache", CORRECTION),
    ("is it possible to never block here?", None),
    ("Our API should never return null", CORRECTION),
    ("Write a blog post about why you should never use eval", START),
    ("Refactor this. Use a map instead of a switch.", START),
    ("Please make sure to always run the tests before committing.", DIRECTION),
    ("ok stop", NO),
    ("cancel that", NO),
    ("I don't want you to touch CI", CORRECTION),
    ("ok thanks but the file is still missing", None),
    ("Actually, can you explain how it works first?", None),
    ("Instead of a class, a function would do", CORRECTION),
    ("Remember: we deploy on Fridays", DIRECTION),
    ("Also don't forget the docs", DIRECTION),
    ("The date format is off. Use ISO 8601.", CORRECTION),
    ("please don't reformat the whole file", CORRECTION),
    ("that was not part of the task", CORRECTION),
    ("stop. you are changing the wrong package", CORRECTION),
    ("No need for a class here, a function is enough", CORRECTION),
    ("why not just use a Set", None),
    ("it still fails with the same error", None),
    ("you can't use async here, the trait is sync", CORRECTION),
    ("I prefer early returns", DIRECTION),
    ("always use the logger, never print", DIRECTION),
    ("When you write migrations, always add a down step", DIRECTION),
    ("Keep functions below 40 lines", DIRECTION),
    ("All public functions need doc comments", DIRECTION),
    ("from now on answer in German", DIRECTION),
    ("Never ever push to main", DIRECTION),
    ("Whenever you touch the API, update openapi.yaml", DIRECTION),
    ("remember that prices are in cents", DIRECTION),
    ("implement the export as CSV", START),
    ("could you check why the build is red?", START),
    ("I need a script that cleans old logs", None),
    ("next: the settings dialog", None),
    ("fix the flaky test, it should not depend on the clock", START),
    ("update the readme and don't forget the badge", START),
    ("let's add metrics to the worker", START),
    ("please explain the difference between these two", START),
    ("thanks, that was quick", END),
    ("great!", END),
    ("awesome work", END),
    ("yes, do that", YES),
    ("sure, go ahead", YES),
    ("correct", YES),
    ("nah", NO),
    ("no, leave it", CORRECTION),
    ("what happens if the queue is full?", None),
    ("Does this never time out?", None),
    ("I always get a 403 on staging", None),
    ("the job never finishes", None),
    ("The docs say you should never call this twice", None),
    ("there is no error in the log", None),
    ("No such file or directory", None),
    ("not sure what you mean", None),
    ("Not yet", None),
    ("actually that looks fine", None),
    ("wrong password gives a 500", None),
    ("don't we have a test for that?", None),
    ("Using rust 1.95 here", None),
    ("Instead of 3 I get 4 when I run it", None),
    ("use case 2 fails as well", None),
    ("is the cache wrong or the key?", None),
    ("use serde_json, we have it already", CORRECTION),
    ("rename it to user_id, not userId", CORRECTION),
    ("that's too slow, do it in one query", CORRECTION),
    ("put that into the config instead", CORRECTION),
    ("you're using the old API", CORRECTION),
    ("don't touch the lock file", CORRECTION),
    // Hard: read wrongly, and known to be.
    ("you added a dependency, remove it again", CORRECTION),
    ("we do it differently in the other services, look at orders-service", CORRECTION),
    ("error handling is missing", CORRECTION),
    ("the second argument should be optional", CORRECTION),
    ("wait, that deletes user data!", CORRECTION),
    ("hmm the naming is off, we say customer everywhere", CORRECTION),
    ("tabs please", CORRECTION),
];

/// Prompts that no rule was changed for. A prompt that a rule is changed for moves to the other table, and is replaced.
#[rustfmt::skip]
const FRESH: &[(&str, Option<Kind>)] = &[
    ("hey, the helper already exists in lib/format.go, use that", CORRECTION),
    ("please revert the changes in package.json", CORRECTION),
    ("no tailwind please", DIRECTION),
    ("Don't hardcode the URL", CORRECTION),
    ("this function should return a Result, not an Option", CORRECTION),
    ("you put it in the wrong directory", CORRECTION),
    ("that's a breaking change, make it optional", CORRECTION),
    ("we never use var in this codebase", DIRECTION),
    ("always write the commit message in English", DIRECTION),
    ("Make sure that every new table has an index on tenant_id", DIRECTION),
    ("prefer async/await over then", DIRECTION),
    ("never edit generated files", DIRECTION),
    ("I told you not to change the schema", CORRECTION),
    ("no, the other one", CORRECTION),
    ("Don't use lodash, we removed it last year", CORRECTION),
    ("use the factory instead of new", CORRECTION),
    ("you forgot to await the promise", CORRECTION),
    ("this is not what I asked for", CORRECTION),
    ("instead of mocking the clock pass it as an argument", CORRECTION),
    ("ok but please don't change the public API", CORRECTION),
    ("wrong branch", CORRECTION),
    ("actually let's keep the old endpoint", CORRECTION),
    ("In future please ask before deleting files", DIRECTION),
    ("remember to bump the version", DIRECTION),
    ("going forward, one test per bug", DIRECTION),
    ("the API must stay backwards compatible", DIRECTION),
    ("add a button to the toolbar", START),
    ("can you write the tests for it?", START),
    ("make the header sticky", START),
    ("please review my last commit", START),
    ("run clippy and fix what it finds", START),
    ("remove the feature flag and its tests", START),
    ("find out why memory grows", START),
    ("show me the diff", START),
    ("write docs for the new flags", START),
    ("perfect, thanks!", END),
    ("thank you", END),
    ("lgtm, ship it", END),
    ("yes", YES),
    ("yep, go ahead", YES),
    ("ok, sounds good", YES),
    ("nope", NO),
    ("how do I run this locally?", None),
    ("what is the difference to the other handler?", None),
    ("I get a 404 instead of the page", None),
    ("the server does not start", None),
    ("TypeError: x is not a function", None),
    ("it says that the port is already in use", None),
    ("Here is the log:\n```\nERROR: never do this, use x instead\n```", None),
    ("My colleague thinks we should never cache this", None),
    ("the user is not found although it exists", None),
    ("npm ERR! no matching version found", None),
    ("No error this time", None),
    ("maybe we should use a queue here?", None),
    ("I don't understand the second point", None),
    ("does it make sense to always retry?", None),
    ("there are 3 tests that never ran", None),
    ("The old code was wrong too", None),
    ("Wrong credentials are rejected with 401", None),
    ("don't know, you decide", None),
];

fn packs() -> (tempfile::TempDir, Packs) {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in starter::all() {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let packs = Packs::load(&[directory.path().to_path_buf()]);
    (directory, packs)
}

/// Precision and recall of what is kept, and what was read wrongly.
fn figures(table: &[(&str, Option<Kind>)]) -> (f64, f64, Vec<String>) {
    let (_directory, packs) = packs();
    let kept = |kind: Option<Kind>| kind.filter(|kind| kind.is_kept());
    let (mut right, mut claimed, mut wanted, mut wrong) = (0, 0, 0, Vec::new());
    for (prompt, expected) in table {
        let found = classify(prompt, &packs, false).map(|guidance| guidance.kind);
        if found != *expected {
            wrong.push(format!("{prompt:?}: {found:?} and not {expected:?}"));
        }
        claimed += usize::from(kept(found).is_some());
        wanted += usize::from(kept(*expected).is_some());
        right += usize::from(kept(found).is_some() && kept(*expected).is_some());
    }
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let figures = (right as f64 / claimed as f64, right as f64 / wanted as f64);
    println!(
        "{} prompts: precision {:.3}, recall {:.3}\n{}",
        table.len(),
        figures.0,
        figures.1,
        wrong.join("\n")
    );
    (figures.0, figures.1, wrong)
}

#[test]
fn prompts_are_read_as_a_person_would_read_them() {
    let (precision, recall, wrong) = figures(TABLE);
    assert!(TABLE.len() >= 250);
    assert!(precision > 0.999 && recall >= 0.95, "{precision} {recall}");
    assert_eq!(wrong.len(), 6, "only the hard ones:\n{}", wrong.join("\n"));
}

#[test]
fn unseen_prompts_are_classified_well_enough() {
    let (precision, recall, _) = figures(FRESH);
    assert!(precision >= 0.9 && recall >= 0.8, "{precision} {recall}");
}

#[test]
fn a_category_is_one_that_a_pack_has() {
    let (_directory, packs) = packs();
    let of = |prompt: &str| classify(prompt, &packs, false).unwrap().category;
    for (prompt, expected) in [
        ("No, use unknown instead of any", Some("typescript")),
        ("don't mock the database in the tests", Some("testing")),
        ("never push to a shared branch", Some("git")),
        ("no, squash the commits first", Some("git")),
        ("Don't log the password", Some("security")),
        ("never use unwrap, clippy complains", Some("rust")),
        ("no, install it with uv and not pip", Some("python")),
        ("wrong, the goroutine is never stopped", Some("go")),
        ("no, go back to the other page", None),
        ("don't make the button blue", None),
        ("always follow the git-workflow", Some("git-workflow")),
        ("don't write to the latest file", None),
    ] {
        assert_eq!(of(prompt).as_deref(), expected, "{prompt}");
    }
    for (prompt, _) in TABLE {
        let found = classify(prompt, &packs, true).and_then(|guidance| guidance.category);
        let Some(category) = found else { continue };
        assert!(packs.all().iter().any(|pack| pack.has_category(&category)), "{prompt}: {category}");
    }
    let empty = Packs::load(&[]);
    assert_eq!(classify("no, squash the commits", &empty, false).unwrap().category, None);
}

#[test]
fn a_short_correction_after_an_injection_is_the_surest() {
    let (_directory, packs) = packs();
    let sure = |prompt: &str, injected: bool| classify(prompt, &packs, injected).unwrap().confidence;
    assert_eq!((sure("no, use tabs", true), sure("no, use tabs", false)), (0.9, 0.8));
    assert_eq!(sure(&format!("no, use tabs {}", "and so on ".repeat(10)), true), 0.8);
    assert_eq!(sure("always use tabs", true), 0.6);
}

#[test]
fn no_prompt_is_too_large_or_too_strange() {
    let (_directory, packs) = packs();
    let start = marvin_testing::CpuTimer::start();
    for text in
        ["a".repeat(5_000_000), "no, ".repeat(1_000_000), "\n".repeat(1_000_000), "é?’`".repeat(500_000)]
    {
        drop(classify(&text, &packs, false));
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
}

proptest::proptest! {
    #[test]
    fn any_text_is_survived(text in "\\PC{0,80}|[`'<>/a-zA-Z ,.?!\n]{0,80}") {
        let packs = Packs::load(&[]);
        drop(classify(&text, &packs, true));
    }
}
