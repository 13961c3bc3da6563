//! The system message, built by code from durable state on every call (never from what the model said it would
//! remember), in a fixed order: rules, preferences, profile, places, history, coding rules, project instructions,
//! documents. Every piece has a size cap; what was cut is said in the text and counted in the record.

use crate::profile::Profile;
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::truncate;
use marvin_gate::{Access, Duty, Workspace};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Characters of preferences, places and history.
const CAP_SMALL: usize = 8_000;
/// Characters of one instructions file.
const CAP_INSTRUCTIONS: usize = 32_000;
/// Characters of one document.
const CAP_DOCUMENT: usize = 120_000;

/// A piece of text and where it came from.
#[derive(Debug, Clone, Serialize)]
pub struct Piece {
    /// Where from.
    pub source: String,
    /// The text, within its cap.
    pub text: String,
}

/// The coding part.
#[derive(Debug, Clone, Serialize)]
pub struct Coding {
    /// The working directory.
    pub working_dir: String,
    /// A sentence on what this agent may not do; empty when it may do all.
    pub access: String,
}

/// Everything the system message is made of.
#[derive(Debug, Clone, Default, Serialize)]
pub struct State {
    /// The day, as the run sees it.
    pub date: String,
    /// The person's preferences.
    pub preferences: String,
    /// The profile's name.
    pub profile: String,
    /// Saved places, one a line.
    pub places: String,
    /// Earlier conversation, one entry a line.
    pub history: String,
    /// Present while coding.
    pub coding: Option<Coding>,
    /// Project instructions.
    pub instructions: Vec<Piece>,
    /// `spec.md`, `ux.md`, `design.md`.
    pub documents: Vec<Piece>,
}

impl State {
    /// Reads what lies on the disk.
    #[must_use]
    pub fn read(
        layout: &Layout,
        workspace: Option<&Workspace>,
        profile: &Profile,
        history: &[String],
        coding: Option<Coding>,
        date: &str,
    ) -> Self {
        let (instructions, documents) = if coding.is_some() {
            let read = |path: &PathBuf, cap| piece(path, workspace, cap);
            let first = layout.instructions().iter().find_map(|path| read(path, CAP_INSTRUCTIONS));
            let common = layout.common_instructions();
            let common = common.iter().filter_map(|path| read(path, CAP_INSTRUCTIONS));
            let documents = layout.documents();
            let documents = documents.iter().filter_map(|(_, path)| read(path, CAP_DOCUMENT));
            (first.into_iter().chain(common).collect(), documents.collect())
        } else {
            (Vec::new(), Vec::new())
        };
        State {
            date: date.to_string(),
            preferences: truncate::head(&profile.preferences, CAP_SMALL),
            profile: profile.name.clone(),
            places: truncate::head(&profile.places.join("\n"), CAP_SMALL),
            history: truncate::head(&history.join("\n"), CAP_SMALL),
            coding,
            instructions,
            documents,
        }
    }

    /// The system message. The same state gives the same bytes.
    #[must_use]
    pub fn compose(&self) -> String {
        render("system.md", include_str!("../prompts/system.md"), self)
    }
}

/// A project's file is read beneath the workspace's handle, so that no link leads it elsewhere; the person's own directly.
fn piece(path: &Path, workspace: Option<&Workspace>, cap: usize) -> Option<Piece> {
    // Characters are at most four bytes; one more than the cap shows that something was cut.
    let limit = cap as u64 * 4;
    let inside = workspace.and_then(|workspace| Some((workspace, path.strip_prefix(workspace.root()).ok()?)));
    let (source, bytes) = match inside {
        Some((workspace, relative)) => {
            let name = relative.to_str()?;
            let mut bytes = Vec::new();
            let file = workspace.open_read(&workspace.path(name).ok()?).ok()?;
            file.take(limit).read_to_end(&mut bytes).ok()?;
            (name.to_string(), bytes)
        }
        None => (path.display().to_string(), files::read(path, limit, Links::Follow).ok()?),
    };
    let text = truncate::head(String::from_utf8_lossy(&bytes).trim(), cap);
    (!text.is_empty()).then_some(Piece { source, text })
}

/// Renders a template of ours. Templates are part of the program: one that fails renders as its error, and a test
/// renders each of them.
pub(crate) fn render(name: &str, template: &str, context: &impl Serialize) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment
        .render_named_str(name, template, Serde(context))
        .unwrap_or_else(|error| format!("[the template {name} failed: {error}]"))
}

/// What the model is told of its access, and of the ticket that it works on.
pub(crate) fn access_sentence(access: &Access, duty: &Duty) -> String {
    match access {
        Access::Full => duty.parent().map_or_else(String::new, |parent| {
            format!(
                "You work on ticket {parent}. Before you may change anything, make a ticket of your own for it: `tk` with \
                 `create 'title' -d 'what, acceptance criteria, files, dependencies' -t task --tags area --parent {parent}`."
            )
        }),
        Access::Readonly => "You may look at everything and change nothing.".to_string(),
        Access::WritableFiles(files) => {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            format!("The only files you may write: {}.", files.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> State {
        State {
            date: "2026-02-03".into(),
            preferences: "budget: any\ndietary: [vegan]".into(),
            profile: "main".into(),
            places: "home: Home: 1 Road".into(),
            history: "you: hello\nassistant: hi".into(),
            coding: Some(Coding { working_dir: "/work".into(), access: "You may not write.".into() }),
            instructions: vec![Piece { source: "AGENTS.md".into(), text: "Be kind.".into() }],
            documents: vec![Piece { source: ".marvin/spec.md".into(), text: "# Spec".into() }],
        }
    }

    #[test]
    fn the_whole_message() {
        insta::assert_snapshot!(whole().compose());
    }

    #[test]
    fn the_least_message() {
        insta::assert_snapshot!(State { profile: "default".into(), ..State::default() }.compose());
    }

    #[test]
    fn order_is_the_contracts() {
        let text = whole().compose();
        let places = [
            "You are Marvin",
            "budget: any",
            "Active profile: main",
            "home: Home",
            "you: hello",
            "Working directory: /work",
            "Be kind.",
            "# Spec",
        ]
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part} is missing")));
        assert!(places.is_sorted(), "{places:?}");
    }
}
