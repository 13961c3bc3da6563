//! Findings about safety and truth (A).

use crate::support::{World, call, say};
use serde_json::json;

#[test]
fn a14_options_beside_words_are_used_or_refused() {
    let world = World::new();
    let script = world.script(&[say("It is 4."), say("It is 4."), say("It is 4."), say("It is 4.")]);
    let question = ["what", "is", "2+2"];
    let asked = |options: &[&str]| world.marvin(["--script", &script]).args(options).args(question).run();
    asked(&["--commitment", "shell:false"]).exits(3);
    asked(&["--commitment", "shell:test 1 = 1"]).exits(0);
    for option in [&["--prompt", "hello"][..], &["--design-first"], &["--resume", "run_x"], &["--ntfy", "t"]]
    {
        let refused = asked(option).exits(2);
        assert!(
            refused.message().contains(&format!("{} needs --non-interactive", option[0])),
            "{}",
            refused.whole()
        );
    }
    let none = world.marvin(["--commitment", "shell:true"]).run().exits(2);
    assert!(none.message().contains("--commitment is for one answer"), "{}", none.whole());
}

#[test]
fn a12_a_servitor_of_the_action_protocol_has_tools_and_a_status() {
    let world = World::new();
    let summon = json!({"message": "On it.", "spawn": {"assignment": "write ann.txt", "name": "Ann"}});
    let mut works = call("create_file", json!({"path": "ann.txt", "content": "x\n"}));
    works["when"] = json!({"step": "ann", "contains": "write ann.txt"});
    let script = [
        works,
        json!({"when": {"step": "ann", "contains": "Created"}, "reply": {"text": "Written.\nSTATUS: DONE"}, "repeat": true}),
        json!({"reply": {"json": summon}}),
        json!({"reply": {"json": {"message": "Ann works on it."}}, "repeat": true}),
    ];
    world.play(&script, &[]).env("MARVIN_PROTOCOL", "action").run().exits(0);
    let listed = world.marvin(["servitors", "list", "--json"]).run().exits(0).json();
    assert_eq!(listed[0]["state"], "done", "{listed:#}");
    assert_eq!(world.read("ann.txt"), "x\n");
}
