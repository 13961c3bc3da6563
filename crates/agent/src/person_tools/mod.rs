//! Tools about the conversation itself: profile, preferences, chat log, working directory, and its end.
//!
//! A tool changes files at once. What the front end holds (messages, profile, working directory) changes after the turn: the tool
//! leaves a [`SessionChange`], and the conversation applies it.

mod changes;
mod history;
mod leave;
mod preferences;
mod profile;

pub use changes::{SessionChange, SessionChanges};
pub(crate) use preferences::NEW_FILE as NEW_PREFERENCES;

use marvin_gate::Access;
use marvin_tools::{DynTool, Toolbox};
use std::sync::Arc;

/// The tools, which leave their changes here.
pub(crate) fn all(changes: &Arc<SessionChanges>) -> [Arc<dyn DynTool>; 6] {
    let changes = || changes.clone();
    [
        Arc::new(leave::SetWorkingDir(changes())),
        Arc::new(profile::SwitchProfile(changes())),
        Arc::new(preferences::UpdatePreferences),
        Arc::new(history::CompactHistory(changes())),
        Arc::new(history::SearchHistoryBackups),
        Arc::new(leave::ExitApp(changes())),
    ]
}

/// Adds the tools that the access allows.
pub(crate) fn add(toolbox: &mut Toolbox, access: &Access, changes: &Arc<SessionChanges>) {
    all(changes).into_iter().filter(|tool| access.offers(tool.touches())).for_each(|tool| toolbox.add(tool));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::project_context::ProjectContext;
    use marvin_base::environment::Environment;
    use marvin_model::Arguments;
    use marvin_tools::{Mode, ToolContext};
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    async fn call(toolbox: &Toolbox, context: &ToolContext, tool: &str, arguments: Value) -> (bool, String) {
        let outcome = toolbox.call(tool, &Arguments::from_value(arguments), context).await;
        (outcome.result.ok, outcome.result.for_model())
    }

    #[tokio::test]
    async fn files_change_at_once_and_the_conversation_after_the_turn() {
        let place = tempfile::tempdir().unwrap();
        let (home, root) = (place.path().join("home"), place.path().join("project"));
        for directory in [&home, &root] {
            std::fs::create_dir(directory).unwrap();
        }
        let environment = Environment::from_iter([("HOME", home.to_str().unwrap())]);
        let project = ProjectContext::find(environment, root.clone(), Some(&root), true, Vec::new()).unwrap();
        let context = project.tool_context(CancellationToken::new(), None);
        let layout = &project.layout;
        let changes: Arc<SessionChanges> = Arc::default();
        let mut toolbox = Toolbox::new(Mode::Coding, &Access::Full);
        toolbox.keep(&[]);
        add(&mut toolbox, &Access::Full, &changes);

        let (ok, text) =
            call(&toolbox, &context, "switch_profile", json!({"profile_name": "My Friend"})).await;
        assert!(ok, "{text}");
        assert_eq!(std::fs::read_to_string(layout.last_profile()).unwrap(), "my_friend\n");
        assert_eq!(changes.take(), [SessionChange::Profile("my_friend".into())]);
        for name in ["../..", "../x", "a\\b"] {
            assert!(!call(&toolbox, &context, "switch_profile", json!({"profile_name": name})).await.0);
        }

        let preference = json!({"key": "dietary", "action": "add", "value": "vegan"});
        assert!(call(&toolbox, &context, "update_preferences", preference).await.0);
        let file = std::fs::read_to_string(layout.preferences("my_friend")).unwrap();
        assert!(file.contains("dietary: [vegan]  # for example"), "{file}");

        let log = layout.chat_log("my_friend");
        let long = "a visa for the journey ".repeat(400);
        History::record(&log, &[("you", &long), ("assistant", "yes")], 1_000_000, 1_000_000).unwrap();
        assert!(call(&toolbox, &context, "compact_history", json!({"target_tokens": 600})).await.0);
        assert_eq!(changes.take(), [SessionChange::ChatLog]);
        assert!(History::read(&log).unwrap().tokens() <= 600);
        let (_, found) = call(&toolbox, &context, "search_history_backups", json!({"query": "VISA"})).await;
        assert!(found.contains("you: a visa for the journey"), "{found}");

        let other = tempfile::tempdir().unwrap();
        let other = other.path().canonicalize().unwrap();
        let (ok, text) = call(&toolbox, &context, "set_working_dir", json!({"path": other})).await;
        assert!(!ok && text.contains("workspace.change"), "{text}");
        let (ok, text) = call(&toolbox, &context, "set_working_dir", json!({"path": "src"})).await;
        assert!(!ok && text.contains("is not the absolute path of a directory"), "not asked about: {text}");
        let link = root.join("harmless");
        std::os::unix::fs::symlink(&other, &link).unwrap();
        let (ok, text) = call(&toolbox, &context, "set_working_dir", json!({"path": link})).await;
        let target = format!("leads to {}", other.display());
        assert!(!ok && text.contains(&target), "the person sees where it leads: {text}");
        let (ok, text) = call(&toolbox, &context, "set_working_dir", json!({"path": "/"})).await;
        assert!(!ok && !text.contains("workspace.change"), "refused without a question: {text}");
        assert!(changes.take().is_empty());
        assert!(call(&toolbox, &context, "exit_app", json!({})).await.0);
        assert_eq!(changes.take(), [SessionChange::Exit("Goodbye!".into())]);
    }
}
