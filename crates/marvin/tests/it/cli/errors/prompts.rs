//! Errors of prompts that cannot be read.

use crate::cli::{screen, show};
use crate::support::World;
use insta::assert_snapshot;
use std::fs;

#[test]
fn prompts() {
    let world = World::new();
    let bare = || world.marvin(["--non-interactive"]);
    fs::write(world.project().join("latin.md"), b"caf\xe9").unwrap();
    assert_snapshot!(screen(&world, "--non-interactive"), @r#"
    --- stderr ---
    marvin: the prompt (standard input) is empty
      hint: give --prompt TEXT, --prompt-file PATH, or pipe it in
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(show(&world, bare().input(" \n\t ")), @r#"
    --- stderr ---
    marvin: the prompt (standard input) is empty
      hint: give --prompt TEXT, --prompt-file PATH, or pipe it in
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "--non-interactive --prompt ''"), @r#"
    --- stderr ---
    marvin: the prompt (--prompt) is empty
      hint: give --prompt TEXT, --prompt-file PATH, or pipe it in
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "--non-interactive --prompt-file missing.md"), @r#"
    --- stderr ---
    marvin: cannot read --prompt-file missing.md: No such file or directory (os error 2)
      hint: give --prompt TEXT, --prompt-file PATH, or pipe it in
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "--non-interactive --prompt-file ."), @r#"
    --- stderr ---
    marvin: cannot read --prompt-file .: Is a directory (os error 21)
      hint: give --prompt TEXT, --prompt-file PATH, or pipe it in
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(screen(&world, "--non-interactive --prompt-file latin.md"), @r#"
    --- stderr ---
    marvin: --prompt-file latin.md is not UTF-8 text (the first wrong byte is number 4)
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert_snapshot!(show(&world, bare().input(b"fine until \xff here".to_vec())), @r#"
    --- stderr ---
    marvin: standard input is not UTF-8 text (the first wrong byte is number 12)
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
    assert!(world.runs().is_empty());
}
