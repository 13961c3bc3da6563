//! The tool that brings the text of a skill, and its further files.

use super::copies::{self, PlacedFiles};
use super::files;
use super::registry::{KnownSkill, SkillRegistry};
use super::skill::SKILL_FILE;
use async_trait::async_trait;
use marvin_gate::{Intent, Touches, judge};
use marvin_memory::Places;
use marvin_memory::lessons::{Lessons, Query};
use marvin_tools::{Output, Tool, ToolContext, ToolError, run_blocking};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that are listed.
const MAX_LISTED_FILES: usize = 100;
/// Lessons that are told with a skill, and characters of one.
const MAX_LESSONS: usize = 3;
const MAX_LESSON_CHARS: usize = 600;

/// Loads a skill.
#[derive(Debug, Clone)]
pub struct LoadSkill(pub Arc<SkillRegistry>);

/// Input of [`LoadSkill`].
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadInput {
    /// Its name, as it was listed.
    name: String,
    /// One of its files, to read that instead of its instructions.
    #[serde(default)]
    file: Option<String>,
}

/// The skill that was loaded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LoadedSkill {
    name: String,
    /// Whether the person answers for it.
    trusted: bool,
    /// Where its files are, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    files: Vec<String>,
}

#[async_trait]
impl Tool for LoadSkill {
    type Input = LoadInput;
    type Data = LoadedSkill;
    const NAME: &'static str = "load_skill";
    const DESCRIPTION: &'static str =
        "Load a skill: its instructions and the list of its files; with `file`, the text of that file.";
    const EXAMPLE: &'static str = r#"{"name": "debugger"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("skill", "name"), ("path", "file")];
    const TOUCHES: Touches = Touches::READS;

    async fn call(&self, input: LoadInput, context: &ToolContext) -> Result<Output<LoadedSkill>, ToolError> {
        let (registry, context) = (self.0.clone(), context.clone());
        run_blocking(move || load(&registry, &input, &context)).await
    }
}

fn load(
    registry: &SkillRegistry,
    input: &LoadInput,
    context: &ToolContext,
) -> Result<Output<LoadedSkill>, ToolError> {
    let skills = registry.refresh();
    let Some(known) = skills.find(&input.name) else {
        let why = skills.explain_missing(&input.name).map(|why| format!(": {why}")).unwrap_or_default();
        let name = marvin_base::truncate::line(&input.name, 80);
        return Err(ToolError::Usage(format!("no usable skill is called `{name}`{why}")));
    };
    let skill = &known.skill;
    let listed = match &skill.directory {
        Some(directory) => files::list(directory).map_err(|error| ToolError::Failed(error.to_string()))?,
        None => Vec::new(),
    };
    let further: Vec<PathBuf> =
        listed.into_iter().filter(|path| path != Path::new(SKILL_FILE) && !files::is_hidden(path)).collect();
    if let Some(file) = &input.file {
        return read_file(known, file, &further, context);
    }
    let place = match (&skill.directory, further.is_empty()) {
        (Some(directory), false) => place(known, directory, &further, context),
        _ => None,
    };
    let mut text = known.told_text();
    if !further.is_empty() {
        text.push_str(&describe_files(&skill.name, &further, place.as_ref()));
    }
    if !skill.facts.entry.is_empty() {
        text.push_str(&format!("It is started with: {}\n", known.clean(&skill.facts.entry)));
    }
    text.push_str(&lessons(known, context));
    let data = LoadedSkill {
        name: skill.name.clone(),
        trusted: known.is_trusted,
        directory: place.map(|place| place.directory.display().to_string()),
        files: further.iter().take(MAX_LISTED_FILES).map(|path| path.display().to_string()).collect(),
    };
    Ok(Output::new(format!("loaded the skill {}", skill.name), text, data).of_file())
}

fn describe_files(name: &str, further: &[PathBuf], place: Option<&PlacedFiles>) -> String {
    let mut text = match place {
        Some(place) => {
            let changed = match place.changed_copies {
                0 => "",
                _ => "An earlier copy of its files was changed since it was made; use this one. ",
            };
            let directory = place.directory.display();
            format!("\n{changed}Its files are in `{directory}`; scripts run like any other command:\n")
        }
        None => format!("\nIts files, which `load_skill` reads with `name` \"{name}\" and `file`:\n"),
    };
    for path in further.iter().take(MAX_LISTED_FILES) {
        text.push_str(&format!("- {}\n", marvin_base::printable::visible(&path.display().to_string())));
    }
    if further.len() > MAX_LISTED_FILES {
        text.push_str(&format!("- … {} more\n", further.len() - MAX_LISTED_FILES));
    }
    text
}

/// The directory of the files, relative to the workspace. What the person has not confirmed stays where it is, and the gate asks before a script of
/// it is run; the rest is copied to where commands can read and run it.
fn place(
    known: &KnownSkill,
    directory: &Path,
    further: &[PathBuf],
    context: &ToolContext,
) -> Option<PlacedFiles> {
    let workspace = context.workspace.as_ref().filter(|_| context.coding)?;
    let inside = directory.strip_prefix(workspace.root()).ok();
    if let Some(inside) = inside.filter(|_| !known.status.is_proved(known.skill.origin)) {
        return Some(PlacedFiles { directory: inside.to_path_buf(), changed_copies: 0 });
    }
    let hash = files::hash(directory).ok()?;
    copies::place(workspace, directory, &format!("{}-{}", known.skill.name, hash.get(..12)?), further)
}

fn read_file(
    known: &KnownSkill,
    file: &str,
    further: &[PathBuf],
    context: &ToolContext,
) -> Result<Output<LoadedSkill>, ToolError> {
    let skill = &known.skill;
    let directory = skill.directory.as_deref().unwrap_or(Path::new(""));
    let Some(path) = further.iter().find(|path| path.as_path() == Path::new(file.trim())) else {
        let names: Vec<String> = further.iter().take(20).map(|path| path.display().to_string()).collect();
        return Err(ToolError::Usage(format!(
            "the skill `{}` has no file `{}`; it has: {}",
            skill.name,
            marvin_base::truncate::line(file, 80),
            if names.is_empty() { "none".to_string() } else { names.join(", ") }
        )));
    };
    let inside =
        context.workspace.as_ref().and_then(|workspace| directory.strip_prefix(workspace.root()).ok());
    if let Some(inside) = inside {
        let verdict = judge(&Intent::Read { path: inside.join(path).display().to_string() }, &context.gate());
        if !verdict.is_allowed() {
            return Err(ToolError::Failed(format!("{} [{}]", verdict.reason, verdict.rule)));
        }
    }
    let bytes = files::read(directory, path).map_err(|error| ToolError::Failed(error.to_string()))?;
    let text = format!("{}{}", known.mark(), known.clean(&String::from_utf8_lossy(&bytes)));
    let data = LoadedSkill {
        name: skill.name.clone(),
        trusted: known.is_trusted,
        directory: None,
        files: vec![path.display().to_string()],
    };
    Ok(Output::new(format!("read {} of the skill {}", path.display(), skill.name), text, data).of_file())
}

/// Lessons with the tags that the skill names. They are a help: without them the skill is told all the same.
fn lessons(known: &KnownSkill, context: &ToolContext) -> String {
    let tags = &known.skill.facts.retrieval;
    let places = Places::from_settings(&context.layout, &context.settings);
    if tags.is_empty() || !places.lessons.is_dir() {
        return String::new();
    }
    let query =
        Query { text: tags.join(" "), tags: tags.clone(), stage: 2, limit: MAX_LESSONS, ..Query::default() };
    let found = Lessons::open(&places.lessons, &places.index, context.redactor.clone()).retrieve(&query);
    let lines: String = found
        .unwrap_or_default()
        .iter()
        .map(|one| format!("- {}\n", marvin_base::truncate::line(&one.lesson.body, MAX_LESSON_CHARS)))
        .collect();
    if lines.is_empty() { lines } else { format!("\nLessons of earlier work (unverified):\n{lines}") }
}
