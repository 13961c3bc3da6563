//! The hooks of a project as they are, for `marvin doctor`.

use super::clients::{Client, Program};
use super::settings::{self, Trouble};
use super::{Place, place};
use marvin_base::layout::clients as places;

/// A settings file with hooks of Marvin, or one that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFile {
    pub client: Client,
    /// Relative to the project.
    pub file: &'static str,
    /// The program that hooks in this file start.
    pub program: Program,
    /// Events without a hook.
    pub missing: Vec<&'static str>,
    /// Events whose hook differs from the one that `marvin init` writes: of another version, program or person.
    pub changed: Vec<&'static str>,
    /// Whether the file disables all hooks.
    pub is_off: bool,
    /// The reason why it cannot be read.
    pub problem: Option<String>,
}

/// The settings files of a project that have hooks of Marvin or cannot be read.
#[must_use]
pub fn hook_files(place: &Place, program: &Program) -> Vec<HookFile> {
    let shared = if place.git.is_some() { &place.top } else { &place.directory };
    let all = [
        (Client::Claude, &place.directory, places::CLAUDE_SETTINGS, program.by_name()),
        (Client::Claude, &place.directory, places::CLAUDE_LOCAL_SETTINGS, program.clone()),
        (Client::Codex, shared, places::CODEX_HOOKS, program.clone()),
    ];
    let within = place.git.as_deref().unwrap_or(&place.top);
    let mut files = Vec::new();
    for (client, root, file, program) in all {
        let empty = HookFile {
            client,
            file,
            program: program.clone(),
            missing: Vec::new(),
            changed: Vec::new(),
            is_off: false,
            problem: None,
        };
        let found = place::open(within, root, file).map_err(|refusal| refusal.to_string());
        let text = found.and_then(|found| {
            String::from_utf8(found.content.unwrap_or_default()).map_err(|_| "it is not UTF-8 text".into())
        });
        let merged = text.as_ref().map(|text| settings::merge(text, client, &program));
        match (merged, &text) {
            (Ok(Ok(merged)), Ok(text)) if settings::holds(text, client) => files.push(HookFile {
                missing: merged.added,
                changed: merged.changed,
                is_off: settings::switched_off(text),
                ..empty
            }),
            (Ok(Ok(_)), _) => {}
            (Ok(Err(Trouble::Broken(reason) | Trouble::Odd(reason))), _) => {
                files.push(HookFile { problem: Some(reason), ..empty });
            }
            (Err(reason), _) => files.push(HookFile { problem: Some(reason.clone()), ..empty }),
        }
    }
    files
}
