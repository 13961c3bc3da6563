//! Errors of settings: files, variables, and what a project may not set.

use crate::cli::{screen, show};
use crate::support::{World, put};
use insta::assert_snapshot;
use std::fs;

#[test]
fn config() {
    let world = World::new();
    assert_snapshot!(screen(&world, "config no.such.key"), @"
    --- stderr ---
    marvin: unknown setting `no.such.key`
      hint: `marvin config` lists every key
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "config limits.round"), @"
    --- stderr ---
    marvin: unknown setting `limits.round`; did you mean `limits.rounds`?
      hint: `marvin config` lists every key
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "config --yaml"), @"
    --- stderr ---
    marvin: unexpected argument '--yaml' found

      tip: to pass '--yaml' as a value, use '-- --yaml'

    Usage: marvin config [OPTIONS] [KEY]

    For more information, try '--help'.
    [exit code 2]
    ");
    assert_snapshot!(screen(&world, "config --schema --markdown"), @"
    --- stderr ---
    marvin: the argument '--schema' cannot be used with '--markdown'

    Usage: marvin config --schema [KEY]

    For more information, try '--help'.
    [exit code 2]
    ");
}

#[test]
fn a_broken_file_of_the_user() {
    let world = World::new();
    let file = world.user().join("config.toml");
    let with = |text: &str| {
        put(&file, text);
        screen(&world, "config")
    };
    assert_snapshot!(with("this is not toml"), @"
    --- stderr ---
    marvin: [HOME]/.config/marvin/config.toml is not valid TOML: line 1, column 6: key with no value, expected `=`
    [exit code 2]
    ");
    assert_snapshot!(with("[limits]\nround = 3"), @"
    --- stderr ---
    marvin: unknown setting `limits.round` ([HOME]/.config/marvin/config.toml); did you mean `limits.rounds`?
      hint: `marvin config --markdown` lists every key
    [exit code 2]
    ");
    assert_snapshot!(with("limits.rounds = \"many\""), @"
    --- stderr ---
    marvin: setting `limits.rounds` ([HOME]/.config/marvin/config.toml) cannot be `many`: it takes a whole number from 1 to 10000
    [exit code 2]
    ");
    assert_snapshot!(with("limits.rounds = 0"), @"
    --- stderr ---
    marvin: setting `limits.rounds` ([HOME]/.config/marvin/config.toml) cannot be `0`: it takes a whole number from 1 to 10000
    [exit code 2]
    ");
    assert_snapshot!(with("record.durability = \"lime\""), @"
    --- stderr ---
    marvin: setting `record.durability` ([HOME]/.config/marvin/config.toml) cannot be `lime`: it takes one of line, turn, system; did you mean `line`?
    [exit code 2]
    ");
    assert_snapshot!(with("limits.rounds = 1\nlimits.rounds = 2"), @"
    --- stderr ---
    marvin: [HOME]/.config/marvin/config.toml is not valid TOML: line 2, column 8: duplicate key
    [exit code 2]
    ");
    fs::write(&file, b"profile = \"\xff\"").unwrap();
    assert_snapshot!(screen(&world, "config"), @"
    --- stderr ---
    marvin: cannot read [HOME]/.config/marvin/config.toml: it is not UTF-8 text
      hint: check that it is a readable file, or move it away
    [exit code 2]
    ");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_snapshot!(screen(&world, "config"), @"
    --- stderr ---
    marvin: cannot read [HOME]/.config/marvin/config.toml: it is not a regular file
      hint: check that it is a readable file, or move it away
    [exit code 2]
    ");
}

#[test]
fn what_a_project_may_not_set() {
    let world = World::new();
    let with = |text: &str| {
        world.write(".marvin/config.toml", text);
        screen(&world, "config limits.rounds")
    };
    assert_snapshot!(with("provider.openai.url = \"http://127.0.0.1:9/v1\""), @"
    --- stderr ---
    marvin: setting `provider.openai.url` in [PROJECT]/.marvin/config.toml is not a project's to set: it decides where keys, traffic or programs go
      hint: put it into [HOME]/.config/marvin/config.toml
    [exit code 2]
    ");
    assert_snapshot!(with("process.depth = 1"), @"
    --- stderr ---
    marvin: setting `process.depth` in [PROJECT]/.marvin/config.toml is not a project's to set: it decides where keys, traffic or programs go
      hint: put it into the environment variable MARVIN_DEPTH
    [exit code 2]
    ");
    assert_snapshot!(with("sandbox.commands = \"off\""), @"
    --- stderr ---
    marvin: setting `sandbox.commands` in [PROJECT]/.marvin/config.toml is not a project's to set: it decides where keys, traffic or programs go
      hint: put it into [HOME]/.config/marvin/config.toml
    [exit code 2]
    ");
}

#[test]
fn variables() {
    let world = World::new();
    let with =
        |name: &str, value: &str| show(&world, world.marvin(["config", "limits.rounds"]).env(name, value));
    assert_snapshot!(with("MARVIN_MAX_ROUNDS", "many"), @"
    --- stderr ---
    marvin: setting `limits.rounds` ($MARVIN_MAX_ROUNDS) cannot be `many`: it takes a whole number from 1 to 10000
    [exit code 2]
    ");
    assert_snapshot!(with("MARVIN_MAX_ROUNDS", "0"), @"
    --- stderr ---
    marvin: setting `limits.rounds` ($MARVIN_MAX_ROUNDS) cannot be `0`: it takes a whole number from 1 to 10000
    [exit code 2]
    ");
    assert_snapshot!(with("LLM_PROVIDER", "skynet"), @"
    --- stderr ---
    marvin: setting `model.provider` ($LLM_PROVIDER) cannot be `skynet`: it takes one of anthropic, openai, gemini, groq, kimi, copilot, ollama, local, codex, claude, mock
    [exit code 2]
    ");
}

#[test]
fn prices() {
    let world = World::new();
    put(&world.user().join("prices.toml"), "[[price]]\ninput = -1");
    assert_snapshot!(screen(&world, "--non-interactive --prompt hi"), @r#"
    --- stderr ---
    marvin: [HOME]/.config/marvin/prices.toml is not a price table: the price of `` is not 0 or more
      hint: a row is [[price]] with model, input and output in dollars per million tokens
    MARVIN_COST:{"session_cost":0.0,"llm_turns":0,"model_turns":{},"model_cost":{}}
    [exit code 2]
    "#);
}
