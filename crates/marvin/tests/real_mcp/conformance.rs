//! The official suite.

use crate::fixture;
use crate::place::{MARVIN, World, tools, words};
use marvin_agent::ProjectContext;
use marvin_base::environment::Environment;
use marvin_mcp::serve::{Handler, serve_http, toolbox};
use std::os::unix::fs::PermissionsExt;
use tokio_util::sync::CancellationToken;

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real_mcp/expected-failures-");

/// Marvin's own tools and the suite's, over HTTP, with the token in the URL.
#[test]
fn the_server_passes_what_it_declares() {
    let Some(tools) = tools() else { return };
    let world = World::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let environment = Environment::from_iter([("HOME", world.place("home").display().to_string())]);
    let project = world.place("project");
    let context =
        ProjectContext::find(environment, project.clone(), Some(&project), true, Vec::new()).unwrap();
    let cancel = CancellationToken::new();
    let server = runtime.block_on(async {
        let mut offer = toolbox(&context, &[]).unwrap();
        for tool in fixture::tools() {
            offer.toolbox.add(tool);
        }
        let handler = Handler::new(&context, offer, cancel.child_token());
        serve_http(handler, "127.0.0.1:0".parse().unwrap(), "t0ken", &cancel).await.unwrap()
    });
    let url = format!("{}/t0ken", server.url());
    let mut failed = String::new();
    for revision in ["2025-11-25", "2026-07-28"] {
        let expected = format!("{EXPECTED}{revision}.yml");
        let out = world.place("out").join(revision).display().to_string();
        let output = world.node(
            &tools,
            "conformance",
            &[
                "server",
                "--url",
                &url,
                "--requirements",
                revision,
                "--expected-failures",
                &expected,
                "-o",
                &out,
            ],
        );
        println!("{revision}:\n{}", summary(&words(&output)));
        if !output.status.success() {
            failed.push_str(&format!("{revision}:\n{}\n", words(&output)));
        }
    }
    runtime.block_on(async { server.stop().await.unwrap() });
    assert!(failed.is_empty(), "{failed}");
}

fn summary(text: &str) -> &str {
    text.split_once("=== SUMMARY ===").map_or("", |(_, summary)| summary)
}

/// An agent reaches the suite's servers through the settings and calls their tools.
#[test]
fn the_client_passes_what_it_declares() {
    let Some(tools) = tools() else { return };
    let world = World::new();
    // The suite appends the address. Its tools are called whatever their names are.
    let call = |tool: &str, arguments: &str| {
        format!(r#"{{"reply":{{"tool_calls":[{{"name":"mcp__suite__{tool}","arguments":{arguments}}}]}}}}"#)
    };
    let script = [
        call("add_numbers", r#"{"a":5,"b":3}"#),
        call("test_reconnection", "{}"),
        call("test_headers", "{}"),
        r#"{"reply":{"text":"done"}}"#.to_string(),
    ];
    std::fs::write(world.place("script.jsonl"), script.join("\n")).unwrap();
    let client = world.place("client.sh");
    let text = format!(
        "#!/bin/sh\nexport HOME=$(mktemp -d {root}/home-XXXXXX)\nmkdir -p $HOME/.config/marvin $HOME/project\ncd $HOME/project\n\
         printf '[mcp.servers.suite]\\nurl = \"%s\"\\n' \"$1\" > $HOME/.config/marvin/config.toml\n\
         exec {MARVIN} --non-interactive --prompt go --script {root}/script.jsonl\n",
        root = world.root.path().display()
    );
    std::fs::write(&client, text).unwrap();
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = client.display().to_string();
    let scenes = [
        ("initialize", "2025-11-25"),
        ("tools_call", "2025-11-25"),
        ("tools_call", "2026-07-28"),
        ("sse-retry", "2025-11-25"),
        ("request-metadata", "2026-07-28"),
        ("json-schema-ref-no-deref", "2026-07-28"),
    ];
    let mut failed = String::new();
    for (scenario, revision) in scenes {
        let out = world.place("out").join(format!("{scenario}-{revision}")).display().to_string();
        let output = world.node(
            &tools,
            "conformance",
            &[
                "client",
                "--command",
                &command,
                "--scenario",
                scenario,
                "--spec-version",
                revision,
                "-o",
                &out,
            ],
        );
        let passed = output.status.success();
        println!("{scenario} {revision}: {}", if passed { "passed" } else { "failed" });
        if !passed {
            failed.push_str(&format!("{scenario} {revision}:\n{}\n", words(&output)));
        }
    }
    assert!(failed.is_empty(), "{failed}");
}
