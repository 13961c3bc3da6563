//! What holds for every settings file.

use super::*;

fn plain() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~äß€\\n\"\\\\]{0,12}".prop_map(Value::from)
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    plain().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\ ]{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn groups() -> impl Strategy<Value = Value> {
    let handler = ("[a-z /.]{1,12}", prop::option::of(1..100u32)).prop_map(|(command, timeout)| {
        let mut handler = json!({"type": "command", "command": command});
        if let Some(timeout) = timeout {
            handler["timeout"] = timeout.into();
        }
        handler
    });
    let group = (prop::option::of("[A-Za-z|*]{0,8}"), prop::collection::vec(handler, 0..3)).prop_map(
        |(matcher, hooks)| {
            let mut group = json!({});
            if let Some(matcher) = matcher {
                group["matcher"] = matcher.into();
            }
            group["hooks"] = hooks.into();
            group
        },
    );
    prop::collection::vec(group, 0..3).prop_map(Value::from)
}

fn a_settings_file() -> impl Strategy<Value = String> {
    let events = prop::sample::select(
        ["Stop", "PreToolUse", "PostToolUse", "FileChanged", "SessionStart", "Unknown"].to_vec(),
    );
    let hooks = prop::option::of(prop::collection::btree_map(events, groups(), 0..4));
    let keys = prop::collection::btree_map("[a-g]{1,3}", any_value(), 0..4);
    (keys, hooks, any::<bool>(), 0..5usize, any::<bool>()).prop_map(|(keys, hooks, first, layout, end)| {
        let mut map = serde_json::Map::new();
        let hooks =
            hooks.map(|hooks| hooks.into_iter().map(|(event, groups)| (event.to_string(), groups)).collect());
        let hooks: Option<serde_json::Map<String, Value>> = hooks;
        if let (Some(hooks), true) = (&hooks, first) {
            map.insert("hooks".into(), Value::Object(hooks.clone()));
        }
        map.extend(keys);
        if let (Some(hooks), false) = (hooks, first) {
            map.insert("hooks".into(), Value::Object(hooks));
        }
        let value = Value::Object(map);
        let indented = |indent: &[u8]| {
            let mut bytes = Vec::new();
            let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
            serde::Serialize::serialize(
                &value,
                &mut serde_json::Serializer::with_formatter(&mut bytes, formatter),
            )
            .unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let text = match layout {
            0 => value.to_string(),
            1 => indented(b"  "),
            2 => indented(b"\t"),
            3 => indented(b"    ").replace('\n', "\r\n"),
            _ => format!(" {} ", indented(b" ")),
        };
        if end { format!("{text}\n") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn taking_back_gives_the_very_bytes(text in a_settings_file(), program in any::<bool>()) {
        let program = if program { Program::on_path(false) } else { Program::at("/a b/marvin", false) };
        for client in Client::ALL {
            let merged = settings::merge(&text, client, &program).unwrap();
            let before: Value = serde_json::from_str(&text).unwrap();
            let after: Value = serde_json::from_str(&merged.text).unwrap();
            // Nothing of theirs changed, everything of ours is there, and only once.
            for (key, value) in before.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
                prop_assert_eq!(&after[key], value);
            }
            for event in client.events() {
                let theirs = before["hooks"][event].as_array().cloned().unwrap_or_default();
                let now = after["hooks"][event].as_array().unwrap();
                prop_assert_eq!(now.get(..theirs.len()).unwrap(), theirs.as_slice());
                prop_assert_eq!(now.len(), theirs.len() + 1);
            }
            // A second time changes nothing; undone, it is the very text; taken out without a receipt, it says the same.
            let again = settings::merge(&merged.text, client, &program).unwrap();
            prop_assert_eq!(&again.text, &merged.text);
            prop_assert!(again.edits.is_empty() && again.changed.is_empty());
            prop_assert_eq!(super::text::undo(merged.text.as_bytes(), &merged.edits).unwrap(), text.as_bytes());
            let out = settings::take_out(&merged.text, client).unwrap();
            prop_assert!(settings::same(&out, &text), "{}\n{}", out, text);
        }
    }

    #[test]
    fn no_text_brings_it_down(text in "[\\[\\]{}\",:/\\\\ a\\n0-9hoks]{0,60}") {
        for client in Client::ALL {
            settings::merge(&text, client, &Program::on_path(false)).ok();
            settings::take_out(&text, client).ok();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_project_taken_back_is_the_project_that_was(text in a_settings_file(), ignored in "[a-z/\\n#]{0,20}", notes in "[A-Za-z#\\n ]{0,30}") {
        let project = Project::new();
        project.put(places::CLAUDE_SETTINGS, &text);
        project.put(places::CODEX_HOOKS, &text);
        project.put(".gitignore", &ignored);
        project.put("CLAUDE.md", &notes);
        let before = project.everything();
        project.init();
        let after = project.everything();
        prop_assert!(!project.init().changes_anything());
        prop_assert_eq!(project.everything(), after);
        project.remove();
        prop_assert_eq!(project.everything(), before);
    }
}
