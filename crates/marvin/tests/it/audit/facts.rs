//! Findings about wrong facts (B).

use crate::support::{World, say};

#[test]
fn b8_a_misspelt_command_is_not_sent_to_the_model() {
    let world = World::new();
    for (words, meant) in [
        (&["memry", "list"][..], "marvin memory list"),
        (&["docter"], "marvin doctor"),
        (&["list-run"], "marvin list-runs"),
        (&["comitments", "list"], "marvin commitments list"),
    ] {
        let refused = world.marvin(words).run().exits(2);
        assert!(refused.message().contains(&format!("did you mean `{meant}`?")), "{}", refused.whole());
    }
    assert!(world.runs().is_empty());
    let script = world.script(&[say("Nothing hurts."), say("Nothing hurts."), say("Nothing hurts.")]);
    for words in [&["--", "docter"][..], &["docter what hurts"], &["docter", "what", "hurts", "me"]] {
        let asked = world.marvin(["--script", &script]).args(words).run().exits(0);
        assert!(asked.text().contains("Nothing hurts."), "{}", asked.whole());
    }
}

#[test]
fn b10_a_daemon_outlives_the_question_whether_it_runs() {
    let world = World::new();
    world.person(["init"]).run();
    world.marvin(["daemon", "start"]).run().exits(0);
    for _ in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(400));
        let status = world.marvin(["daemon", "status", "--json"]).run().exits(0).json();
        assert_eq!(status["state"], "alive", "{status}");
    }
    world.person(["daemon", "stop"]).run().exits(0);
}
