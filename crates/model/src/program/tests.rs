//! How programs fail, shown with small programs that fail so. What the real ones do is in `tests/real_programs`.

use super::*;
use crate::client::{Event, ModelClient, Reply, Request};
use crate::message::Message;
use marvin_base::settings::Sources;
use std::os::unix::fs::PermissionsExt;

/// A workspace and a program in it that runs a shell script.
struct Stage {
    directory: tempfile::TempDir,
    environment: Environment,
}

impl Stage {
    fn new(script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program");
        // Written by another process: a file that this one has open for writing while a test beside it forks would be
        // "text file busy".
        let status = std::process::Command::new("sh")
            .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$2\" > \"$1\"; chmod 755 \"$1\"", "sh"])
            .arg(&program)
            .arg(script)
            .status()
            .unwrap();
        assert!(status.success());
        std::fs::create_dir(directory.path().join("work")).unwrap();
        let environment = Environment::from_iter([
            ("PATH", std::env::var("PATH").unwrap()),
            ("HOME", directory.path().display().to_string()),
            ("TMPDIR", directory.path().display().to_string()),
            ("SHELL", "/bin/zsh".into()),
            ("GIT_DIR", "/elsewhere".into()),
            ("CODEX_CLI", program.display().to_string()),
            ("CLAUDE_CODE_CLI", program.display().to_string()),
        ]);
        Stage { directory, environment }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.environment = self.environment.with(name, value);
        self
    }

    fn workspace(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    fn settings(&self) -> Settings {
        Settings::load(&Sources { environment: self.environment.clone(), ..Sources::default() }).unwrap()
    }

    fn codex(&self) -> CodexProgram {
        CodexProgram::from_settings(&self.settings(), &self.workspace(), &self.environment, None).unwrap()
    }

    fn claude(&self) -> ClaudeProgram {
        ClaudeProgram::from_settings(&self.settings(), &self.workspace(), &self.environment, None).unwrap()
    }

    async fn both(&self) -> [Result<Reply, ModelError>; 2] {
        [ask(&self.codex()).await, ask(&self.claude()).await]
    }

    /// What a script left in the workspace.
    fn left(&self, name: &str) -> String {
        std::fs::read_to_string(self.workspace().join(name)).unwrap_or_default()
    }
}

fn request() -> Request {
    Request { messages: vec![Message::user("do it")], ..Request::default() }
}

async fn ask(client: &dyn ModelClient) -> Result<Reply, ModelError> {
    client.send(&request(), &mut |_| {}, &CancellationToken::new()).await
}

/// Checks kind and signature of an error of each program, and returns the messages.
fn failed(results: [Result<Reply, ModelError>; 2], failure: Failure, kind: &str) -> [String; 2] {
    let mut providers = ["codex", "claude"].into_iter();
    results.map(|result| {
        let error = result.unwrap_err();
        let provider = providers.next().unwrap();
        assert_eq!(error.provider, provider);
        assert_eq!(
            (error.failure, error.signature.as_str()),
            (failure, format!("llm-{provider}-{kind}").as_str())
        );
        assert!(error.message.len() < 1200, "unbounded: {}", error.message.len());
        // What was started read the prompt.
        let started = !matches!(kind, "cli-missing" | "exception");
        assert_eq!(error.spent().is_some_and(|spent| spent.input > 100), started, "{error:?}");
        error.message
    })
}

/// Writes its arguments, environment and input to the workspace, then answers in the way of either program.
const WITNESS: &str = r#"
printf '%s\n' "$@" > arguments; env > environment; cat > input; pwd > directory
case "$*" in *--settings*) for a in "$@"; do test "$b" = --settings && cat "$a" > settings; b=$a; done;; esac
case "$*" in
*--output-last-message*)
  for a in "$@"; do test "$b" = --output-last-message && file=$a; b=$a; done
  stat -c %a "$(dirname "$file")" > mode; printf '%s' '{ "status": "SUCCESS", "summary": "did it" }' > "$file";;
*) printf '%s' '{"result":"{ \"status\": \"SUCCESS\", \"summary\": \"did it\" }","is_error":false}';;
esac"#;

/// The setting that keeps Codex from trusting the workspace and what stands above it.
fn distrusted(stage: &Stage) -> String {
    let workspace = stage.workspace();
    let directories: Vec<String> = workspace
        .ancestors()
        .map(|directory| format!("\"{}\"={{\"trust_level\"=\"untrusted\"}}", directory.display()))
        .collect();
    format!("projects={{{}}}", directories.join(","))
}

#[tokio::test]
async fn codex_is_started_as_the_seed_says() {
    let stage = Stage::new(WITNESS);
    let client = stage.codex();
    assert!(!client.native_tools() && !client.repeatable());
    let mut streamed = Vec::new();
    let mut sink = |event: Event<'_>| {
        if let Event::Text(text) = event {
            streamed.push(text.to_string());
        }
    };
    let reply = client.send(&request(), &mut sink, &CancellationToken::new()).await.unwrap();
    assert_eq!(reply.text, r#"{"status":"SUCCESS","summary":"did it"}"#);
    assert_eq!(streamed, [reply.text.as_str()]);
    assert!(reply.usage.input > 100 && reply.usage.output > 5 && reply.cost.is_none(), "{reply:?}");
    let arguments = stage.left("arguments");
    let arguments: Vec<&str> = arguments.lines().collect();
    let workspace = stage.workspace().display().to_string();
    let start = ["--sandbox", "read-only", "--ask-for-approval", "never", "--cd", &workspace];
    let distrusted = distrusted(&stage);
    let start = [&start[..], &["--config", &distrusted, "exec"]].concat();
    assert_eq!(arguments[..9], start);
    assert_eq!(arguments[9..11], ["--skip-git-repo-check", "--output-last-message"]);
    assert_eq!(arguments[12..], ["-"]);
    assert!(!Path::new(arguments[11]).exists(), "the private directory is still there");
    assert_eq!(stage.left("mode").trim(), "700");
    assert_eq!(Path::new(stage.left("directory").trim()), stage.workspace());
    let input = stage.left("input");
    assert!(input.contains("<tokimon_context>\ndelegated: true\ndelegation_depth: 1\n"), "{input}");
    assert!(input.contains("shell: zsh\n") && input.contains("\ndo it\n"), "{input}");
}

#[tokio::test]
async fn every_codex_setting_reaches_the_program() {
    let stage = Stage::new(WITNESS)
        .with("TOKIMON_CODEX_MODEL", "m")
        .with("TOKIMON_CODEX_PROFILE", "p")
        .with("TOKIMON_CODEX_SANDBOX", "workspace-write")
        .with("TOKIMON_CODEX_APPROVAL", "on-request")
        .with("TOKIMON_CODEX_SEARCH", "1")
        .with("TOKIMON_CODEX_CONFIG_JSON", r#"{"b":"x","a":{"c":1}}"#);
    ask(&stage.codex()).await.unwrap();
    let workspace = stage.workspace().display().to_string();
    let start = format!(
        "--search\n--sandbox\nworkspace-write\n--ask-for-approval\non-request\n--cd\n{workspace}\n--model\nm\n\
         --profile\np\n--config\n{}\n--config\nb=\"x\"\n--config\na={{\"c\"=1}}\nexec\n",
        distrusted(&stage)
    );
    assert!(stage.left("arguments").starts_with(&start), "{}", stage.left("arguments"));
    let own = r#"{"projects":{"/p":{"trust_level":"trusted"}}}"#;
    let trusting = Stage::new(WITNESS).with("TOKIMON_CODEX_CONFIG_JSON", own);
    ask(&trusting.codex()).await.unwrap();
    assert_eq!(trusting.left("arguments").matches("trust_level").count(), 1);
    let other =
        CodexProgram::from_settings(&stage.settings(), &stage.workspace(), &stage.environment, Some("o"))
            .unwrap();
    assert_eq!(other.model(), "o");
}

#[tokio::test]
async fn every_claude_setting_reaches_the_program() {
    let stage = Stage::new(WITNESS);
    ask(&stage.claude()).await.unwrap();
    let guarded = "--setting-sources\nuser\n--strict-mcp-config\n";
    assert_eq!(
        stage.left("arguments"),
        format!("--print\n--input-format\ntext\n--output-format\njson\n{guarded}")
    );
    let stage = stage
        .with("TOKIMON_CLAUDE_MODEL", "m")
        .with("TOKIMON_CLAUDE_SETTINGS_JSON", r#"{"a":1}"#)
        .with("TOKIMON_CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS", "true")
        .with("TOKIMON_CLAUDE_ARGS", "--append 'two words'");
    ask(&stage.claude()).await.unwrap();
    let arguments = stage.left("arguments");
    let lines: Vec<&str> = arguments.lines().collect();
    assert_eq!(lines[5..8], ["--model", "m", "--settings"]);
    assert_eq!(lines[9..12], ["--setting-sources", "user", "--strict-mcp-config"]);
    assert_eq!(lines[12..], ["--dangerously-skip-permissions", "--append", "two words"]);
    assert_eq!(stage.left("settings"), r#"{"a":1}"#);
    assert!(!Path::new(lines[8]).exists(), "the private file is still there");
    let file = stage.directory.path().join("mine.json");
    std::fs::write(&file, "{\"mine\":true}").unwrap();
    let stage = stage.with("TOKIMON_CLAUDE_SETTINGS_PATH", &file.display().to_string());
    ask(&stage.claude()).await.unwrap();
    assert_eq!(stage.left("settings"), "{\"mine\":true}");
    for own in ["--setting-sources user,project", "--setting-sources=user,project"] {
        let stage = Stage::new(WITNESS).with("TOKIMON_CLAUDE_ARGS", own);
        ask(&stage.claude()).await.unwrap();
        let arguments = stage.left("arguments");
        assert_eq!(arguments.matches("--setting-sources").count(), 1, "{arguments}");
        assert!(
            arguments.contains("user,project") && arguments.contains("--strict-mcp-config"),
            "{arguments}"
        );
    }
    let stage = stage.with("TOKIMON_CLAUDE_ARGS", "'open");
    let error = ClaudeProgram::from_settings(&stage.settings(), &stage.workspace(), &stage.environment, None)
        .unwrap_err();
    assert!(error.message.contains("TOKIMON_CLAUDE_ARGS"), "{error}");
}

#[tokio::test]
async fn the_environment_gains_the_delegation_and_nothing_else() {
    for (incoming, depth) in [(None, "1"), (Some("2"), "3")] {
        let mut stage = Stage::new(WITNESS).with("TOKIMON_CODEX_RIPGREP_GUARD", "false");
        if let Some(incoming) = incoming {
            stage = stage.with("TOKIMON_DELEGATION_DEPTH", incoming);
        }
        for client in [&stage.codex() as &dyn ModelClient, &stage.claude()] {
            ask(client).await.unwrap();
            let environment = stage.left("environment");
            let mut seen: Vec<&str> = environment
                .lines()
                // Variables that the shell of the fake program sets by itself.
                .filter(|line| !["PWD=", "OLDPWD=", "SHLVL=", "_="].iter().any(|own| line.starts_with(own)))
                .collect();
            seen.sort_unstable();
            let added = [
                "MARVIN_DELEGATED=1".to_string(),
                format!("MARVIN_DELEGATION_DEPTH={depth}"),
                "TOKIMON_DELEGATED=1".into(),
                format!("TOKIMON_DELEGATION_DEPTH={depth}"),
            ];
            let mut expected: Vec<String> = stage
                .environment
                .iter()
                .filter(|(name, _)| *name != "GIT_DIR" && *name != "TOKIMON_DELEGATION_DEPTH")
                .map(|(name, value)| format!("{name}={value}"))
                .chain(added)
                .collect();
            expected.sort_unstable();
            assert_eq!(seen, expected);
            assert!(stage.left("input").contains(&format!("delegation_depth: {depth}\n")));
        }
    }
}

#[tokio::test]
async fn codex_gets_the_ripgrep_guard_and_claude_does_not() {
    let stage = Stage::new(WITNESS).with("TOKIMON_CODEX_RIPGREP_MAX_COLUMNS", "80");
    let path = stage.workspace().join(".tokimon-tmp/tokimon-codex.ripgreprc");
    ask(&stage.claude()).await.unwrap();
    assert!(!path.exists() && !stage.left("environment").contains(guard::VARIABLE));
    ask(&stage.codex()).await.unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("--max-columns=80\n"));
    assert!(stage.left("environment").contains(&format!("{}={}\n", guard::VARIABLE, path.display())));
    std::fs::remove_dir_all(stage.workspace().join(".tokimon-tmp")).unwrap();
    let stage = stage.with("TOKIMON_CODEX_RIPGREP_GUARD", "off");
    ask(&stage.codex()).await.unwrap();
    assert!(!path.exists() && !stage.left("environment").contains(guard::VARIABLE));
    let stage = stage.with("TOKIMON_CODEX_RIPGREP_GUARD", "on");
    std::fs::write(stage.workspace().join(".tokimon-tmp"), "in the way").unwrap();
    let error = ask(&stage.codex()).await.unwrap_err();
    assert_eq!(error.signature, "llm-codex-exception");
    assert!(error.message.contains("TOKIMON_CODEX_RIPGREP_GUARD"), "{error}");
}

#[tokio::test]
async fn a_missing_program_is_named_with_a_hint() {
    let stage = Stage::new("").with("CODEX_CLI", "no-such-codex").with("CLAUDE_CODE_CLI", "/no/such/claude");
    let [codex, claude] = failed(stage.both().await, Failure::Missing, "cli-missing");
    assert!(
        codex.contains("`no-such-codex`") && codex.contains("provider.codex.program (CODEX_CLI)"),
        "{codex}"
    );
    assert!(claude.contains("provider.claude.program (CLAUDE_CODE_CLI)"), "{claude}");
}

#[tokio::test]
async fn a_program_that_cannot_start_is_an_exception() {
    let stage = Stage::new("");
    let file = stage.directory.path().join("not-executable");
    std::fs::write(&file, "").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let file = file.display().to_string();
    let stage = stage.with("CODEX_CLI", &file).with("CLAUDE_CODE_CLI", &file);
    failed(stage.both().await, Failure::Program, "exception");
    let stage = Stage::new(WITNESS);
    std::fs::remove_dir(stage.workspace()).unwrap();
    let [codex, _] = failed(stage.both().await, Failure::Program, "exception");
    assert!(codex.contains("work is not a directory"), "{codex}");
}

#[tokio::test]
async fn a_late_program_is_ended() {
    let stage =
        Stage::new("sleep 300").with("TOKIMON_CODEX_TIMEOUT_S", "1").with("TOKIMON_CLAUDE_TIMEOUT_S", "1");
    let started = std::time::Instant::now();
    let [codex, _] = failed(stage.both().await, Failure::Timeout, "timeout");
    assert!(codex.contains("within 1 s") && codex.contains("TOKIMON_CODEX_TIMEOUT_S"), "{codex}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn cancelling_ends_the_program_and_its_children() {
    let stage = Stage::new("echo $$ > process; sleep 300 & echo $! > child; sleep 300");
    for client in [&stage.codex() as &dyn ModelClient, &stage.claude()] {
        std::fs::remove_file(stage.workspace().join("child")).ok();
        let cancel = CancellationToken::new();
        let stop = async {
            while stage.left("child").trim().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            cancel.cancel();
            std::time::Instant::now()
        };
        let request = request();
        let mut sink = |_: Event<'_>| {};
        let (result, stopped) = tokio::join!(client.send(&request, &mut sink, &cancel), stop);
        let error = result.unwrap_err();
        assert_eq!(error.failure, Failure::Cancelled);
        assert!(error.spent().is_some_and(|spent| spent.input > 100), "{error:?}");
        assert!(stopped.elapsed() < Duration::from_secs(20), "{:?}", stopped.elapsed());
        for name in ["process", "child"] {
            let id = stage.left(name).trim().to_string();
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            assert!(state.is_empty() || state.contains(") Z"), "{name} still runs: {state}");
        }
    }
}

#[tokio::test]
async fn a_code_other_than_zero_comes_with_the_programs_own_words() {
    let stage = Stage::new("echo banner; echo 'error: no such profile' >&2; exit 3");
    for message in failed(stage.both().await, Failure::Program, "nonzero-exit") {
        assert!(message.contains("code 3: error: no such profile"), "{message}");
    }
    let stage = Stage::new("kill -9 $$");
    for message in failed(stage.both().await, Failure::Program, "nonzero-exit") {
        assert!(message.contains("signal 9: it said nothing"), "{message}");
    }
    let stage = Stage::new("head -c 100000 /dev/zero | tr '\\0' x >&2; echo the reason >&2; exit 1");
    for message in failed(stage.both().await, Failure::Program, "nonzero-exit") {
        assert!(message.contains("the reason"), "{message}");
    }
}

#[tokio::test]
async fn claudes_own_error_flag_counts_even_with_code_zero() {
    let stage =
        Stage::new(r#"echo '{"subtype":"success","is_error":true,"result":"API Error: overloaded"}'"#);
    let error = ask(&stage.claude()).await.unwrap_err();
    assert_eq!((error.failure, error.signature.as_str()), (Failure::Program, "llm-claude-exception"));
    assert!(error.message.contains("API Error: overloaded"), "{error}");
    let stage = Stage::new(
        r#"echo '{"is_error":true,"subtype":"error_max_turns","usage":{"input_tokens":9,"output_tokens":2}}'; exit 1"#,
    );
    let error = ask(&stage.claude()).await.unwrap_err();
    assert_eq!(error.spent(), Some(crate::Usage { input: 9, output: 2, cached: 0 }), "as Claude Code says");
    assert_eq!(error.signature, "llm-claude-nonzero-exit");
    assert!(error.message.contains("error_max_turns"), "{error}");
}

/// A program that answers `said`, in the way of either.
fn saying(said: &str) -> Stage {
    let printed = serde_json::json!({"is_error": false, "result": said}).to_string();
    let script = r#"
case "$*" in
*--output-last-message*)
  for a in "$@"; do test "$b" = --output-last-message && cat ../said > "$a"; b=$a; done;;
*) cat ../printed;;
esac"#;
    let stage = Stage::new(script);
    std::fs::write(stage.directory.path().join("said"), said).unwrap();
    std::fs::write(stage.directory.path().join("printed"), printed).unwrap();
    stage
}

#[tokio::test]
async fn an_answer_that_is_not_one_object_is_refused() {
    for said in ["I am done.", "", "{\"status\":"] {
        for message in failed(saying(said).both().await, Failure::Garbage, "invalid-json") {
            let quoted = if said.is_empty() { "nothing" } else { said };
            assert!(message.ends_with(quoted), "{message}");
        }
    }
    for said in ["[1,2]", "\"SUCCESS\"", "null"] {
        failed(saying(said).both().await, Failure::Garbage, "non-object");
    }
    // Programs that do not even speak their own format.
    let stage = Stage::new("echo Hello");
    failed(stage.both().await, Failure::Garbage, "invalid-json");
    let stage = Stage::new("echo 7");
    assert_eq!(ask(&stage.claude()).await.unwrap_err().signature, "llm-claude-non-object");
}

#[tokio::test]
async fn a_fence_and_prose_around_the_object_are_forgiven() {
    for said in ["```json\n{\"tool_calls\": []}\n```", "Here: {\"tool_calls\": []} — as asked."] {
        for result in saying(said).both().await {
            assert_eq!(result.unwrap().text, r#"{"tool_calls":[]}"#);
        }
    }
}
