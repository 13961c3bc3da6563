//! The official inspector, as a program.

use crate::place::{MARVIN, World, tools, words};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// The first JSON object of its output.
fn answer(text: &str) -> Value {
    let (_, rest) = text.split_once('{').unwrap_or_else(|| panic!("no JSON: {text}"));
    let text = format!("{{{rest}");
    serde_json::Deserializer::from_str(&text).into_iter::<Value>().next().unwrap().unwrap()
}

/// Lists and calls over one transport; `target` tells the inspector how to reach it.
fn inspects(world: &World, tools: &std::path::Path, target: &[&str]) {
    let ask = |more: &[&str]| {
        let arguments: Vec<&str> = ["--cli"].iter().chain(target).chain(more).copied().collect();
        let output = world.node(tools, "mcp-inspector", &arguments);
        assert!(output.status.success(), "{}", words(&output));
        (answer(&String::from_utf8_lossy(&output.stdout)), words(&output))
    };
    let (listed, log) = ask(&["--method", "tools/list", "--strict"]);
    assert!(listed["tools"].as_array().unwrap().len() >= 4, "{listed}");
    assert!(!log.contains("Warning:") && !log.contains("Error:"), "{log}");
    let (called, _) = ask(&[
        "--method",
        "tools/call",
        "--tool-name",
        "gate_explain",
        "--tool-arg",
        "command_line=rm -rf /",
    ]);
    assert_eq!(called["structuredContent"]["verdict"], "deny", "{called}");
}

#[test]
fn over_pipes() {
    let Some(tools) = tools() else { return };
    inspects(&World::new(), &tools, &[MARVIN, "mcp"]);
}

#[test]
fn over_http() {
    let Some(tools) = tools() else { return };
    let world = World::new();
    let mut command = Command::new(MARVIN);
    command.args(["mcp", "--http"]);
    world.bare(&mut command);
    let mut server = command
        .env("MARVIN_MCP_TOKEN", "t0ken")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = answer(&line)["url"].as_str().unwrap().to_string();
    let header = "Authorization: Bearer t0ken";
    let inspected = std::panic::catch_unwind(|| {
        inspects(&world, &tools, &[&url, "--transport", "http", "--header", header]);
    });
    server.kill().ok();
    server.wait().ok();
    inspected.unwrap();
}
