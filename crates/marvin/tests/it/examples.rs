//! The directories of `examples/`, run as their pages show them.
//!
//! A page is a session: in its `console` blocks a line after `$ ` is a command (`> ` continues it), the lines below it are what it prints. All
//! commands of a page run in one shell, in a copy of the directory. `…` stands for any text, alone on a line for any lines. A command must
//! succeed, unless the next one is `echo $?`.

use crate::support::{HOOK_PROGRAM, PROGRAM, World, commands_run, files_below, json_file, put};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the shell prints around the exit code of a command.
const MARK: char = '\u{1e}';

/// A test for each directory, and the list of all of them.
macro_rules! examples {
    ($($test:ident in $directory:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            run($directory);
        })*

        const DIRECTORIES: &[&str] = &[$($directory),*];
    };
}

examples! {
    ci in "ci",
    claude_code in "claude-code",
    commitments in "commitments",
    fleet in "fleet",
    gate_rules in "gate-rules",
    mcp_client in "mcp-client",
    mcp_server in "mcp-server",
    model_server in "model-server",
    packs in "packs",
    script in "script",
    self_improve in "self-improve",
    servitors in "servitors",
    structured_output in "structured-output",
    workflow in "workflow",
    workflow_agents in "workflow-agents",
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

/// A command of a page, with the lines that it should print.
#[derive(Debug, PartialEq)]
struct Exchange {
    command: String,
    expected: Vec<String>,
}

fn exchanges(page: &str) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                exchanges.push(Exchange { command: command.to_string(), expected: Vec::new() });
                continue;
            }
            let last = exchanges.last_mut().expect("a block begins with a command");
            match line.strip_prefix("> ").filter(|_| last.expected.is_empty()) {
                Some(more) => last.command.extend(["\n", more]),
                None => last.expected.push(line.to_string()),
            }
        }
    }
    exchanges
}

/// Whether a line has the parts of a pattern between its `…`.
fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('…') else { return pattern == line };
    let Some(mut line) = line.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('…').unwrap_or(("", rest));
    for part in middle.split('…') {
        let Some((_, after)) = line.split_once(part) else { return false };
        line = after;
    }
    line.ends_with(last)
}

fn output_matches(patterns: &[String], lines: &[&str]) -> bool {
    match (patterns.split_first(), lines.split_first()) {
        (None, found) => found.is_none(),
        (Some((pattern, rest)), _) if pattern.trim() == "…" => {
            (0..=lines.len()).any(|skipped| output_matches(rest, &lines[skipped..]))
        }
        (Some(_), None) => false,
        (Some((pattern, rest)), Some((line, more))) => {
            line_matches(pattern, line) && output_matches(rest, more)
        }
    }
}

/// A world whose project is a copy of an example; `None` where examples cannot run.
fn copy(directory: &str) -> Option<World> {
    let world = World::new();
    if !commands_run(&world) {
        return None;
    }
    let python = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    if !python.is_ok_and(|status| status.success()) {
        marvin_testing::skip("python3 is not installed");
        return None;
    }
    let source = examples().join(directory);
    for file in files_below(&source) {
        let target = world.project().join(file.strip_prefix(&source).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        // Permissions are copied too.
        fs::copy(&file, target).unwrap();
    }
    fs::create_dir(world.root().join("bin")).unwrap();
    for (name, program) in [("marvin", PROGRAM), ("marvin-hook", HOOK_PROGRAM)] {
        symlink(program, world.root().join("bin").join(name)).unwrap();
    }
    Some(world)
}

/// Runs commands in one shell, as a person does at a terminal; returns output and exit code of each.
fn session<'a>(world: &World, commands: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    // The status is handed on to the next command, for `echo $?`.
    let line = |command| {
        format!("{{\n{command}\n}} </dev/null 2>&1\ncode=$?; printf '{MARK}%s{MARK}' $code; (exit $code)\n")
    };
    let input: String = commands.map(line).collect();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = world
        .start_program("bash", ["--norc", "--noprofile"])
        .env("PATH", format!("{}:{path}", world.root().join("bin").display()))
        .at_terminal()
        .input(input)
        .run();
    assert!(output.stderr.is_empty(), "{}", output.whole());
    let text = String::from_utf8(output.stdout).unwrap();
    let parts: Vec<&str> = text.split(MARK).collect();
    parts.chunks_exact(2).map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
}

/// Runs the session of an example's page and compares what it prints.
fn run(directory: &str) {
    let Some(world) = copy(directory) else { return };
    let exchanges = exchanges(&world.read("README.md"));
    let results = session(&world, exchanges.iter().map(|exchange| exchange.command.as_str()));
    assert_eq!(results.len(), exchanges.len(), "the shell ended early: {results:#?}");
    for (at, (Exchange { command, expected }, (output, code))) in exchanges.iter().zip(&results).enumerate() {
        let lines: Vec<&str> = output.lines().collect();
        assert!(
            output_matches(expected, &lines),
            "$ {command}\nshould print:\n{}\n\nbut prints:\n{output}",
            expected.join("\n")
        );
        let code_is_shown = exchanges.get(at + 1).is_some_and(|next| next.command == "echo $?");
        assert!(code == "0" || code_is_shown, "$ {command}\nexits with {code}:\n{output}");
    }
}

#[test]
fn every_example_is_run_and_listed() {
    let entries = fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    let found: BTreeSet<String> = entries
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_string())
        .collect();
    let tested: BTreeSet<String> = DIRECTORIES.iter().map(ToString::to_string).collect();
    assert_eq!(found, tested, "every directory has a test, and every test a directory");
    let table = fs::read_to_string(examples().join("README.md")).unwrap();
    for directory in DIRECTORIES {
        assert!(table.contains(&format!("\n| [{directory}]({directory}/README.md) |")), "{directory}");
        let page = fs::read_to_string(examples().join(directory).join("README.md")).unwrap();
        let shows_output = exchanges(&page).iter().any(|exchange| !exchange.expected.is_empty());
        assert!(shows_output, "{directory}/README.md shows no output");
    }
}

#[test]
fn sessions_in_pages_are_read_and_compared() {
    let page =
        "Text\n```console\n$ one \\\n>   more\na\n…\n> z\n```\n```sh\nnot run\n```\n```console\n$ two\n```\n";
    let expected = ["a", "…", "> z"].map(String::from).to_vec();
    let first = Exchange { command: "one \\\n  more".into(), expected: expected.clone() };
    assert_eq!(exchanges(page), [first, Exchange { command: "two".into(), expected: Vec::new() }]);
    for (lines, fits) in [
        (["a", "> z"].as_slice(), true),
        (&["a", "b", "c", "> z"], true),
        (&["a", "> z", "b"], false),
        (&["b", "> z"], false),
        (&["a"], false),
        (&[], false),
    ] {
        assert_eq!(output_matches(&expected, lines), fits, "{lines:?}");
    }
    assert!(!output_matches(&[], &["unexpected"]));
    for (pattern, line, fits) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a…", "a", true),
        ("a…c", "abc", true),
        ("a…c", "abcd", false),
        ("…b…", "abc", true),
        ("a…b…c", "axbyc", true),
        ("a…b…c", "ayc", false),
        ("a…a", "a", false),
    ] {
        assert_eq!(line_matches(pattern, line), fits, "{pattern} {line}");
    }
}

/// The scripted model costs nothing, unless the user's prices say otherwise.
#[test]
fn the_example_for_ci_stops_at_its_budget() {
    let Some(world) = copy("ci") else { return };
    let prices = "[[price]]\nprovider = \"mock\"\ninput = 1000.0\noutput = 1000.0\n";
    put(&world.user().join("prices.toml"), prices);
    let results = session(&world, ["MAX_COST=0.01 ./agent.sh --script fix.jsonl"].into_iter());
    assert_eq!(results[0].1, "6", "{results:?}");
    assert!(results[0].0.ends_with("\nthe budget is spent\n"), "{results:?}");
    let result = json_file(&world.project().join("result.json"));
    assert_eq!((&result["status"], &result["exit_code"]), (&json!("budget_spent"), &json!(6)));
}

/// The job for GitHub passes the linter that the project's own workflows pass, and pins its actions as they do.
#[test]
fn the_job_for_github_is_sound() {
    let file = examples().join("ci/github-workflow.yml");
    let text = fs::read_to_string(&file).unwrap();
    let pinned = regex::Regex::new(r"uses: [a-z/-]+@[0-9a-f]{40} # v[0-9.]+$").unwrap();
    let actions: Vec<&str> = text.lines().filter(|line| line.contains("uses: ")).collect();
    assert!(actions.len() == 2 && actions.iter().all(|line| pinned.is_match(line)), "{actions:?}");
    assert!(text.contains("run: ./agent.sh\n") && text.contains("\npermissions: {}\n"));
    let Some(program) = std::env::var_os("MARVIN_TEST_ACTIONLINT") else {
        marvin_testing::skip("actionlint is not installed; `cargo xtask workflows` installs it");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    fs::copy(&file, directory.path().join("agent.yml")).unwrap();
    let mut linter = Command::new(marvin_testing::node::program());
    let output = linter.arg(program).current_dir(&directory).arg("*.yml").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The documents of a YAML file.
fn yaml(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Lists of words below a value that start with `marvin`.
fn command_lines(value: &Value) -> Vec<Vec<String>> {
    let own = value
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_str).map(String::from).collect::<Vec<_>>());
    let own = own.into_iter().filter(|words| words.first().is_some_and(|word| word == "marvin"));
    let below: Vec<&Value> = match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    };
    own.chain(below.into_iter().flat_map(command_lines)).collect()
}

/// Every variable, setting and option in the files for containers exists, and has a value that is accepted.
#[test]
fn the_files_for_containers_name_what_exists() {
    let (directory, world) = (examples().join("fleet"), World::new());
    let known: BTreeSet<&str> = marvin_base::settings::table::TABLE
        .iter()
        .flat_map(|setting| setting.variables.iter().copied())
        .chain(["MARVIN_FLEET_KEY"])
        .collect();
    let variable = regex::Regex::new("MARVIN_[A-Z0-9_]+").unwrap();
    for file in files_below(&directory) {
        let text = fs::read_to_string(&file).unwrap();
        for name in variable.find_iter(&text).map(|found| found.as_str()) {
            let is_known = known.contains(name) || name.starts_with("MARVIN_INPUT_");
            assert!(is_known, "{}: {name}", file.display());
        }
        assert!(!text.contains(":latest") && !text.contains("privileged: true"), "{}", file.display());
    }
    let (compose, kubernetes) =
        (yaml(&directory.join("compose.yaml")), yaml(&directory.join("kubernetes/workers.yaml")));
    let dockerfile = fs::read_to_string(directory.join("Dockerfile")).unwrap();
    let start = dockerfile.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let start: Value = serde_json::from_str(start).unwrap();
    let mut lines: Vec<Vec<String>> =
        [&start].into_iter().chain(&compose).chain(&kubernetes).flat_map(command_lines).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let page = fs::read_to_string(directory.join("README.md")).unwrap();
    let shell = page.split("```sh\n").skip(1).flat_map(|block| block.split("```").next().unwrap().lines());
    let shell = shell.map(|line| line.split(" #").next().unwrap()).filter(|line| line.starts_with("marvin "));
    lines.extend(shell.map(|line| line.split_whitespace().map(String::from).collect()));
    assert!(lines.len() >= 6, "{lines:?}");
    for words in &lines {
        // Options before it are parsed, and one that does not exist is an error.
        world.marvin(words.iter().skip(1).map(String::as_str).chain(["--help"])).run().exits(0);
    }
    let worker = &compose[0]["services"]["worker"];
    for variables in [&worker["environment"], &kubernetes[0]["data"]] {
        let variables = variables.as_object().unwrap().iter();
        let mut variables = variables.filter(|(name, _)| name.starts_with("MARVIN_"));
        let config = variables.try_fold(world.marvin(["config"]), |program, (name, value)| {
            value.as_str().map(|value| program.env(name, value))
        });
        config.expect("values are texts").run().exits(0);
    }
}

/// A worker is given more time to end than it takes, is asked whether it is ready where it answers, and takes keys from a Secret.
#[test]
fn the_files_for_containers_agree_with_themselves() {
    let directory = examples().join("fleet");
    let (compose, kubernetes) =
        (yaml(&directory.join("compose.yaml")), yaml(&directory.join("kubernetes/workers.yaml")));
    let worker = &compose[0]["services"]["worker"];
    let (map, spec) = (&kubernetes[0], &kubernetes[1]["spec"]);
    let (pod, container) = (&spec["template"]["spec"], &spec["template"]["spec"]["containers"][0]);
    let seconds = |text: &Value| text.as_str().unwrap().parse::<u64>().unwrap();
    let drain = seconds(&map["data"]["MARVIN_FLEET_DRAIN_S"]);
    assert!(pod["terminationGracePeriodSeconds"].as_u64().unwrap() > drain);
    let minutes = worker["stop_grace_period"].as_str().unwrap().strip_suffix('m').unwrap();
    assert!(minutes.parse::<u64>().unwrap() * 60 > seconds(&worker["environment"]["MARVIN_FLEET_DRAIN_S"]));
    let port = |address: &Value| address.as_str().unwrap().rsplit_once(':').unwrap().1.to_string();
    assert_eq!(worker["expose"][0], port(&worker["environment"]["MARVIN_FLEET_METRICS"]));
    let metrics = port(&map["data"]["MARVIN_FLEET_METRICS"]);
    assert_eq!(container["ports"][0]["containerPort"].to_string(), metrics);
    assert_eq!(spec["template"]["metadata"]["annotations"]["prometheus.io/port"], metrics);
    assert_eq!(
        container["readinessProbe"]["httpGet"],
        json!({"path": "/ready", "port": container["ports"][0]["name"]})
    );
    let names: Vec<&Value> = container["envFrom"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|one| one.as_object().unwrap().values())
        .collect();
    assert_eq!(names[0]["name"], map["metadata"]["name"]);
    // Keys are in the Secret alone.
    let text = fs::read_to_string(directory.join("kubernetes/workers.yaml")).unwrap();
    assert!(text.contains(&format!("secret generic {}", names[1]["name"].as_str().unwrap())));
    for key in ["AWS_SECRET_ACCESS_KEY", "TEMPORAL_API_KEY", "MARVIN_FLEET_KEY"] {
        assert!(!map["data"].as_object().unwrap().contains_key(key), "{key}");
    }
    assert_eq!(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]);
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
}

/// Both clients start the same server.
#[test]
fn the_settings_for_mcp_clients_agree() {
    let directory = examples().join("mcp-server");
    let codex = fs::read_to_string(directory.join("codex.toml")).unwrap();
    let codex: Value = toml::from_str(&codex).unwrap();
    assert_eq!(codex["mcp_servers"]["marvin"], json!({"command": "marvin", "args": ["mcp"]}));
    assert_eq!(json_file(&directory.join(".mcp.json"))["mcpServers"], codex["mcp_servers"]);
}
