use super::*;
use marvin_base::environment::Environment;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// A home, a project, and a script.
struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn new(script: &[Value]) -> Self {
        let world = World { directory: tempfile::tempdir().unwrap() };
        for name in ["home", "project"] {
            std::fs::create_dir(world.path().join(name)).unwrap();
        }
        world.script(script);
        world
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn script(&self, script: &[Value]) {
        let text: String = script.iter().map(|entry| format!("{entry}\n")).collect();
        std::fs::write(self.path().join("script.jsonl"), text).unwrap();
    }

    async fn chat(&self, coding: bool, more: &[(&'static str, &str)]) -> Chat {
        let person = marvin_base::person::testing::person("ann", &self.path().join("home")).ok();
        self.chat_with(person, coding, more).await
    }

    async fn chat_with(&self, person: Option<Person>, coding: bool, more: &[(&'static str, &str)]) -> Chat {
        let home = self.path().join("home").display().to_string();
        let environment =
            Environment::from_iter([("HOME", home.as_str()), ("USER", "ann"), ("PATH", "/usr/bin:/bin")]);
        let mut flags = vec![("model.script", self.path().join("script.jsonl").display().to_string())];
        flags.extend(more.iter().map(|(key, value)| (*key, (*value).to_string())));
        let project =
            ProjectContext::find(environment, self.path().join("project"), None, coding, flags).unwrap();
        Chat::open(ChatOptions { project, person, brings: None, steps: None, games: None }).await.unwrap()
    }

    fn log(&self) -> Value {
        let path = self.path().join("home/.config/marvin/profiles/default/chat_log.json");
        std::fs::read_to_string(path).map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }
}

fn say(text: &str) -> Value {
    json!({"reply": {"text": text}})
}

/// Waits until nothing is being answered.
async fn idle(chat: &Chat) {
    wait(chat, |chat| !chat.status().busy).await;
}

async fn wait(chat: &Chat, until: impl Fn(&Chat) -> bool) {
    for _ in 0..3_000 {
        if until(chat) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not happen: {:?}", chat.status());
}

fn kinds(events: &mut Events) -> Vec<String> {
    events.ready(usize::MAX).iter().map(|event| event.kind.clone()).collect()
}

fn texts(chat: &Chat) -> Vec<String> {
    chat.messages().iter().map(|message| format!("{}: {}", message.role, message.text)).collect()
}

#[tokio::test]
async fn a_conversation_is_stored_and_resumed() {
    let world = World::new(&[
        json!({"reply": {"text": "one two three"}, "chunks": 3, "delay_ms": 5}),
        json!({"when": {"contains": "second"}, "reply": {"text": "two"}}),
    ]);
    let chat = world.chat(false, &[]).await;
    let mut events = chat.events(Some(0));
    assert_eq!(chat.send("  "), Err(Refusal::Empty));
    assert_eq!(chat.send("first"), Ok(Submission::Started("turn_1".into())));
    assert_eq!(chat.send("second"), Ok(Submission::Queued));
    assert_eq!(chat.send("third"), Err(Refusal::Full));
    idle(&chat).await;
    assert_eq!(texts(&chat), ["you: first", "assistant: one two three", "you: second", "assistant: two"]);
    let received = events.ready(usize::MAX);
    assert!(received.windows(2).all(|two| two[0].seq + 1 == two[1].seq), "in order, none missing");
    let pieces: String = received.iter().filter_map(|event| event.data["item"]["delta"].as_str()).collect();
    assert_eq!(pieces, "one two threetwo");
    let kinds: Vec<&str> = received.iter().map(|event| event.kind.as_str()).collect();
    for kind in ["queued", "run.started", "turn.started", "message", "result", "status"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    // What is stored is what is shown, and another process sees the same.
    let log = world.log();
    let stored: Vec<String> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{}: {}", entry["role"].as_str().unwrap(), entry["text"].as_str().unwrap()))
        .collect();
    assert_eq!(stored, texts(&chat));
    let other = world.chat(false, &[]).await;
    assert_eq!(texts(&other), texts(&chat));
    let numbers: Vec<u64> = other.messages().iter().map(|message| message.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
}

#[tokio::test]
async fn an_answer_is_interrupted() {
    let world = World::new(&[json!({"reply": {"text": "slow answer"}, "delay_ms": 60_000}), say("quick")]);
    let chat = world.chat(false, &[]).await;
    assert!(!chat.cancel().cancelled, "there is nothing to interrupt");
    chat.send("wait").unwrap();
    chat.send("never").unwrap();
    wait(&chat, |chat| chat.inner.log.last() > 6).await;
    assert_eq!(chat.cancel(), Interruption { cancelled: true, queued: Some("never".into()) });
    idle(&chat).await;
    assert_eq!(texts(&chat), ["you: wait", "system: interrupted"], "the one that waited is not sent");
    chat.send("now").unwrap();
    idle(&chat).await;
    assert_eq!(chat.messages().last().unwrap().text, "quick");
}

#[tokio::test]
async fn a_command_waits_for_the_person() {
    let call = |line: &str| json!({"reply": {"tool_calls": [{"name": "run_command", "arguments": {"command": line}}]}});
    let world = World::new(&[call("xyzzy || echo 42"), call("xyzzy no"), call("rm -rf /"), say("done")]);
    let chat = world.chat(true, &[]).await;
    let mut events = chat.events(Some(0));
    chat.send("go").unwrap();
    wait(&chat, |chat| !chat.approvals().is_empty()).await;
    let first = chat.approvals().remove(0);
    assert_eq!((first.kind, first.text.as_str()), (Kind::Command, "xyzzy || echo 42"));
    assert_eq!(chat.status().approvals, 1);
    chat.answer(&first.id, &Answer::Yes).unwrap();
    wait(&chat, |chat| chat.approvals().first().is_some_and(|one| one.id != first.id)).await;
    chat.answer(&chat.approvals()[0].id, &Answer::Edit("not this way".into())).unwrap();
    idle(&chat).await;
    assert!(chat.approvals().is_empty());
    let received = events.ready(usize::MAX);
    let calls: Vec<&Value> = received
        .iter()
        .filter(|event| event.kind == "item.completed" && event.data["item"]["type"] == "tool_call")
        .map(|event| &event.data["item"])
        .collect();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls[0]["ok"] == true && calls[0]["result"].to_string().contains("42"), "{}", calls[0]);
    assert!(calls[0]["verdict"]["reason"].as_str().unwrap().ends_with("a person said yes"), "{}", calls[0]);
    assert!(
        calls[1]["ok"] == false && calls[1]["why"].as_str().unwrap().contains("not this way"),
        "{}",
        calls[1]
    );
    assert_eq!(calls[2]["verdict"]["decision"], "deny", "no person is asked about that");
    let asked = received.iter().filter(|event| event.kind == "approval.asked").count();
    assert_eq!(asked, 2);
}

#[tokio::test]
async fn a_working_directory_comes_with_the_tools_for_its_files() {
    let world = World::new(&[]);
    let project = world.path().join("project");
    let call = |name: &str, arguments: Value| json!({"reply": {"tool_calls": [{"name": name, "arguments": arguments}]}});
    world.script(&[
        call("set_working_dir", json!({"path": project.display().to_string()})),
        say("from the next message on"),
        call("create_file", json!({"path": "a.txt", "content": "a"})),
        say("done"),
    ]);
    let chat = world.chat(false, &[]).await;
    chat.send("work in my project").unwrap();
    wait(&chat, |chat| !chat.approvals().is_empty()).await;
    chat.answer(&chat.approvals()[0].id, &Answer::Yes).unwrap();
    idle(&chat).await;
    chat.send("write a file").unwrap();
    idle(&chat).await;
    assert_eq!(std::fs::read_to_string(project.join("a.txt")).unwrap(), "a");
}

#[tokio::test]
async fn an_interrupted_turn_is_offered_once() {
    let world = World::new(&[
        json!({"when": {"contains": "look"}, "reply": {"tool_calls": [{"name": "write_note", "arguments": {"title": "n", "content": "once"}}]}}),
        json!({"reply": {"text": "slow"}, "delay_ms": 60_000}),
        say("after all"),
    ]);
    // A process that ends in the middle of an answer: its runtime goes, its lock goes.
    let before = std::thread::scope(|scope| {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let chat = world.chat(false, &[]).await;
                chat.send("look at it").unwrap();
                wait(&chat, |chat| {
                    let started =
                        |event: &Arc<Event>| event.kind == "item.started" && event.data["item"]["round"] == 2;
                    chat.events(Some(0)).ready(usize::MAX).iter().any(started)
                })
                .await;
                chat.inner.log.last()
            })
        };
        scope.spawn(run).join().unwrap()
    });
    assert!(before > 0);
    let chat = world.chat(false, &[]).await;
    let waiting = chat.approvals();
    assert_eq!((waiting.len(), waiting[0].text.as_str()), (1, "look at it"), "{waiting:?}");
    assert!(chat.messages().is_empty(), "nothing of it is in the log yet");
    let mut events = chat.events(None);
    chat.answer(&waiting[0].id, &Answer::Yes).unwrap();
    idle(&chat).await;
    let received = kinds(&mut events);
    assert!(received.contains(&"run.resumed".to_string()), "{received:?}");
    assert_eq!(texts(&chat), ["you: look at it", "assistant: after all"]);
    assert!(chat.approvals().is_empty());
    assert!(world.chat(false, &[]).await.approvals().is_empty(), "it is not offered again");
    assert_eq!(chat.runs(10).len(), 1, "the same run went on");
}

#[tokio::test]
async fn a_budget_is_one_for_the_conversation() {
    let world = World::new(&[say("a"), say("b")]);
    let chat = world.chat(false, &[("limits.cost_usd", "1")]).await;
    chat.state().spent = 1_000_000_000;
    assert_eq!(chat.send("x"), Err(Refusal::Spent("1".into())));
}

#[tokio::test]
async fn commands_are_the_same_for_every_front_end() {
    let world = World::new(&[say("an answer")]);
    let chat = world.chat(false, &[]).await;
    for (line, part) in [
        ("/help", "remove the last exchange"),
        ("usage", "This conversation: 0 messages"),
        ("saved", "no saved places"),
        ("profiles", "* default"),
        ("/tools", "convert_units"),
        ("/model", "mock mock answers"),
        ("/modle", "did you mean `/model`"),
        ("/turbotime", "TURBOTIME is off"),
        ("/turbotime scryfal", "did you mean `scryfall`"),
        ("/turbotime scryfall,news", "TURBOTIME is on: news.headline_search, scryfall.lookup"),
        ("/turbotime off", "TURBOTIME is off"),
        ("/runs", "no runs"),
        ("/servitors", "no servitors"),
        ("/approvals", "nothing waits"),
        ("/yes", "nothing waits"),
        ("/undo", "nothing to take back"),
        ("/compact", "within 50000"),
        ("/compact x", "how many tokens"),
        ("/search ", "which words"),
        ("/status", "who answers"),
        ("/cancel", "nothing is being answered"),
        ("!v 900", "how many seconds"),
        ("!pro", "say what to ask"),
        ("!", "say which command"),
        ("!echo hi", "hi"),
        ("!rm -rf /", "refused"),
        ("!code", "coding: files and commands in"),
        ("!code", "no files, no commands"),
        ("!shell", "every line is a command"),
        ("echo from the shell", "from the shell"),
        ("!sh", "prompts again"),
        ("/model nobody:x", "answers from now on"),
        ("/model anthropc:x", "did you mean `anthropic`?"),
        ("profiles typo", "no profile is called `typo`; `profiles new typo` creates one"),
    ] {
        let reply = chat.command(line).await.map_or("a prompt".to_string(), |reply| format!("{reply:?}"));
        assert!(reply.contains(part), "{line}: {reply}");
    }
    for prompt in ["hello", " /help", "/etc/passwd is what?", "quit smoking", "usage of water", "two\nlines"]
    {
        assert_eq!(chat.command(prompt).await, None, "{prompt}");
    }
    assert_eq!(chat.command("quit").await, Some(Reply::Quit));
    assert_eq!(chat.command("!v 9").await, Some(Reply::Voice(9)));
    let Some(Reply::Edit { path, .. }) = chat.command("preferences").await else { panic!() };
    assert!(std::fs::read_to_string(path).unwrap().contains("spice_tolerance: medium"));
    assert!(texts(&chat).contains(&"you: !echo hi".to_string()), "{:?}", texts(&chat));
    let Some(Reply::Again(_)) =
        chat.command("profiles Second One").await.or(chat.command("profiles new second").await)
    else {
        panic!()
    };
    assert_eq!((chat.status().profile.as_str(), chat.messages().len()), ("second", 0));
    chat.send("a question").unwrap();
    idle(&chat).await;
    assert_eq!(chat.command("/undo").await, Some(Reply::Input("a question".into())));
    assert!(chat.messages().is_empty());
    let Some(Reply::Text(found)) = chat.command("/search ANSWER").await else { panic!() };
    assert!(found.contains("assistant: an answer"), "{found}");
    std::fs::write(world.path().join("project/notes.md"), "x").unwrap();
    std::fs::write(world.path().join("project/.hidden"), "x").unwrap();
    for (line, wanted) in [
        ("/und", "/undo"),
        ("look at notes.", "notes.md"),
        ("see @no", "@notes.md"),
        ("use conv", "convert_units"),
    ] {
        assert_eq!(chat.complete(line, line.len()).candidates, [wanted], "{line}");
    }
    for line in ["../", "/etc/pass", "see .."] {
        assert!(chat.complete(line, line.len()).candidates.iter().all(|one| one.starts_with('.')), "{line}");
    }
}

#[tokio::test]
async fn memory_is_decided_by_the_person() {
    let world = World::new(&[say("x")]);
    let chat = world.chat(true, &[]).await;
    let project = chat.project();
    let mut memory = marvin_memory::Memory::open(
        marvin_memory::Places::from_settings(&project.layout, &project.settings),
        project.redactor.clone(),
    );
    let candidate = |text: &str| {
        use marvin_memory::candidate::{Candidate, Source, Type};
        Candidate::new(text, Type::Fact, Source::AssistantInferred, "test")
    };
    let all = ["the build takes a minute", "tests need a database", "no reader needs this"].map(candidate);
    let from = marvin_memory::memory::CandidateOrigin::default();
    memory.propose(all.to_vec(), marvin_memory::proposal::Origin::Think, &from).unwrap();
    chat.state().waiting = None;
    let waiting = chat.approvals();
    assert_eq!(waiting.len(), 3, "{waiting:?}");
    chat.answer(&waiting[0].id, &Answer::Yes).unwrap();
    chat.answer(&waiting[1].id, &Answer::Edit("tests need no database".into())).unwrap();
    chat.answer(&waiting[2].id, &Answer::No).unwrap();
    assert!(chat.answer(&waiting[2].id, &Answer::Yes).is_err(), "once");
    assert!(chat.approvals().is_empty());
    let texts: Vec<String> = memory.list().unwrap().into_iter().map(|one| one.entry.candidate.text).collect();
    assert_eq!(texts, ["the build takes a minute", "tests need no database"]);
}

#[tokio::test]
async fn no_decision_without_a_person() {
    let world = World::new(&[
        json!({"reply": {"tool_calls": [{"name": "run_command", "arguments": {"command": "xyzzy"}}]}}),
        say("done"),
    ]);
    let chat = world.chat_with(None, true, &[]).await;
    let mut events = chat.events(Some(0));
    chat.send("go").unwrap();
    idle(&chat).await;
    let received = events.ready(usize::MAX);
    let call = received.iter().find(|event| event.data["item"]["verdict"].is_object()).unwrap();
    assert_eq!(call.data["item"]["verdict"]["decision"], "deny", "{}", call.data);
    assert!(matches!(chat.answer("memory:x", &Answer::Yes), Err(ChatError::Refused(_))));
}

#[tokio::test]
async fn shell_mode_keeps_the_directory_and_ends_with_exit() {
    let world = World::new(&[say("an answer")]);
    let project = world.path().join("project");
    std::fs::create_dir_all(project.join("src/it's deep")).unwrap();
    std::fs::write(project.join("src/here.txt"), "found").unwrap();
    let chat = world.chat(false, &[]).await;
    let run =
        async |line: &str| chat.command(line).await.map_or("a prompt".into(), |reply| format!("{reply:?}"));
    run("!shell").await;
    for (line, part) in [
        ("cd src", "exit code: 0"),
        ("cat here.txt", "found"),
        ("cd \"it's deep\" && pwd", "it's deep"),
        ("false", "exit code: 1"),
        ("pwd", "src/it's deep"),
        ("cd ../..", "exit code: 0"),
        ("ls", "src"),
        ("cd src; cat here.txt", "found"),
        ("cat here.txt", "found"),
        ("cd /", "stays where it was"),
        ("cat here.txt", "found"),
        ("cd no-such-directory", "exit code: 1"),
        ("cat here.txt", "found"),
    ] {
        let shown = run(line).await;
        assert!(shown.contains(part) && !shown.contains("marvin-directory"), "{line}: {shown}");
    }
    assert!(texts(&chat).iter().all(|text| !text.contains("marvin_status")), "{:?}", texts(&chat));
    // A directory that is gone runs nothing elsewhere.
    run("cd \"it's deep\"").await;
    std::fs::remove_dir(project.join("src/it's deep")).unwrap();
    assert!(!run("echo ran > mark").await.contains("exit code: 0"));
    assert!(!project.join("mark").exists() && !project.join("src/mark").exists());
    assert!(run("exit").await.contains("prompts again"));
    assert_eq!(chat.command("hello").await, None);
    // The next shell begins in the root.
    run("!shell").await;
    assert!(run("ls").await.contains("src"));
    assert!(run("exit 3").await.contains("prompts again"));
    assert_eq!(chat.command("exit").await, Some(Reply::Quit));
}

/// Answers one transcription, and gives the request.
fn transcribe_once(answer: &'static str) -> (String, std::thread::JoinHandle<Vec<u8>>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
        while !request.ends_with(b"--\r\n") {
            let length = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..length]);
        }
        let head = "HTTP/1.1 200 OK\r\nconnection: close";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len()).unwrap();
        request
    });
    (url, server)
}

#[tokio::test]
async fn voice_is_recorded_until_it_is_said_again() {
    let world = World::new(&[say("an answer")]);
    let recorder = world.path().join("recorder");
    // It writes at once and then records silence until it is ended, as a recorder does.
    std::fs::write(&recorder, "#!/bin/sh\nhead -c 3200 /dev/zero > \"$1\"\nsleep 600\n").unwrap();
    std::fs::set_permissions(&recorder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let command = format!("{} FILE", recorder.display());
    let (url, server) = transcribe_once(r#"{"text": " remind me to water the plants "}"#);
    let settings =
        [("voice.recorder", command.as_str()), ("voice.url", url.as_str()), ("voice.model", "whisper-x")];
    let chat = world.chat(false, &settings).await;
    let Some(Reply::Changed(text)) = chat.command("!voice").await else { panic!() };
    assert!(text.contains("recording"), "{text}");
    let is_recorded = |chat: &Chat| chat.state().recording.as_ref().is_some_and(Recording::has_sound);
    wait(&chat, is_recorded).await;
    // The text is for the input; nothing was sent.
    assert_eq!(chat.command("!voice").await, Some(Reply::Speech("remind me to water the plants".into())));
    assert!(chat.messages().is_empty());
    let request = server.join().unwrap();
    let at = request.windows(4).position(|four| four == b"RIFF").unwrap();
    assert_eq!(&request[at + 8..at + 16], b"WAVEfmt ");
    assert_eq!(request[at + 40..at + 44], 3_200u32.to_le_bytes());
    assert!(String::from_utf8_lossy(&request).contains("whisper-x"));
}

#[tokio::test]
async fn synthesised_speech_is_understood_by_a_program_of_this_machine() {
    const GRAMMAR: &str = "#JSGF V1.0;\ngrammar commands;\n\
        public <command> = what is the weather today | play some music | open the door;\n";
    for (program, package) in
        [("espeak-ng", "espeak-ng"), ("pocketsphinx_continuous", "pocketsphinx and pocketsphinx-en-us")]
    {
        if marvin_model::choose::find_program(program, &Environment::of_process()).is_none() {
            marvin_testing::skip(&format!("{program} is not installed (Debian: {package})"));
            return;
        }
    }
    let world = World::new(&[say("an answer")]);
    let (words, grammar) = (world.path().join("words.txt"), world.path().join("commands.gram"));
    std::fs::write(&grammar, GRAMMAR).unwrap();
    // The recorder speaks into the file, at 22,050 samples per second.
    let recorder = format!("espeak-ng -v en-us -s 140 -w FILE -f {}", words.display());
    let program = format!(
        "pocketsphinx_continuous -infile FILE -logfn /dev/null -samprate 22050 -nfft 1024 -jsgf {}",
        grammar.display()
    );
    let chat = world.chat(false, &[("voice.recorder", &recorder), ("voice.program", &program)]).await;
    for sentence in ["play some music", "what is the weather today"] {
        std::fs::write(&words, sentence).unwrap();
        let mut begun = false;
        assert_eq!(chat.listen(60, || begun = true).await.unwrap(), sentence);
        assert!(begun);
    }
}

#[tokio::test]
async fn voice_says_what_is_missing_and_takes_a_program() {
    let world = World::new(&[say("an answer")]);
    let sound = world.path().join("speech.wav");
    std::fs::write(&sound, b"RIFF\0\0\0\0WAVEfmt sound").unwrap();
    let copies = format!("cp {} FILE", sound.display());
    let program =
        world.chat(false, &[("voice.recorder", &copies), ("voice.program", "tail -c 5 FILE")]).await;
    assert_eq!(program.listen(5, || {}).await.unwrap(), "sound");
    for (settings, expected) in [
        (vec![("voice.recorder", copies.as_str())], "GROQ_API_KEY"),
        (vec![("voice.recorder", "true"), ("voice.program", "cat FILE")], "put FILE into voice.recorder"),
        (
            vec![("voice.recorder", "no-such-recorder FILE"), ("voice.program", "cat FILE")],
            "is not installed",
        ),
        (vec![("voice.recorder", "false FILE"), ("voice.program", "cat FILE")], "did not record"),
        (vec![("voice.recorder", "true FILE"), ("voice.program", "cat FILE")], "recorded nothing"),
        (vec![("voice.recorder", copies.as_str()), ("voice.program", "false FILE")], "`false` failed"),
    ] {
        let chat = world.chat(false, &settings).await;
        let error = chat.listen(5, || {}).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{settings:?}: {error}");
    }
}

#[tokio::test]
async fn blender_is_offered_in_every_request_until_it_is_switched_off() {
    let world = World::new(&[say("an answer")]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let chat = world.chat(false, &[("blender.address", &closed)]).await;
    let Some(Reply::Changed(on)) = chat.command("!blender").await else { panic!() };
    assert!(on.contains("every request offers") && on.contains(&closed), "{on}");
    assert_eq!(chat.project().settings.list(&table::TOOLS_ALWAYS), ["blender_"]);
    let Some(Reply::Changed(off)) = chat.command("!blender").await else { panic!() };
    assert!(off.contains("only where they are meant"), "{off}");
    assert!(chat.project().settings.list(&table::TOOLS_ALWAYS).is_empty());
}
