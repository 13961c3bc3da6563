//! `marvin list-skills` and `marvin skills`: ways of working that agents load.

use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::project::{current_directory, project_context};
use crate::runtime::{cancel_on_signal, runtime};
use crate::{deciding, output};
use clap::{Args, Subcommand};
use marvin_agent::ProjectContext;
use marvin_agent::skills::{
    self, KnownSkill, Origin, RefusedSkill, SKILL_FILE, SkillEvent, Skills, read_directory,
};
use marvin_base::files::{Links, read_text};
use marvin_base::printable::count;
use marvin_base::{Exit, truncate};
use marvin_lab::skills::proof::{SkillProof, prove};
use marvin_lab::skills::{Candidate, candidates, remove_candidate};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a draft's text.
const MAX_DRAFT_BYTES: u64 = 256 * 1024;

/// List the skills in effect here, and those that are refused
#[derive(Debug, Args)]
#[command(
    after_help = "Skills are in .marvin/skills, .agents/skills and .claude/skills of the project, in the directory skills of your own settings, and built in. Of two with one name the trusted one counts, then this order.\n\nExamples:\n  marvin list-skills\n  marvin list-skills --json | jq -r '.refused[] | .name + \": \" + .reason'"
)]
pub(crate) struct ListSkillsArguments {
    #[command(flatten)]
    project: ProjectArguments,
}

/// A skill, by its name.
#[derive(Debug, Args)]
pub(crate) struct NamedSkill {
    /// Its name, or the path of its directory
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    project: ProjectArguments,
}

/// Show, test, trust and remove skills
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Examples:\n  marvin skills show planner\n  marvin skills test deploy\n  marvin skills trust deploy"
)]
pub(crate) enum SkillsCommand {
    /// Show a skill: where it comes from, its status, its files and its text
    #[command(
        after_help = "Examples:\n  marvin skills show planner\n  marvin skills show deploy --json | jq .uses"
    )]
    Show(NamedSkill),
    /// Run the tests of a skill in the sandbox, with its code and without
    #[command(
        after_help = "They run in a copy of the skill alone. Tests that pass without its code prove nothing, and do not count (exit code 3).\n\nExample:\n  marvin skills test deploy"
    )]
    Test(NamedSkill),
    /// Trust a skill in its current version
    #[command(
        after_help = "Agents are told the text of a trusted skill as yours. After a change of any of its files it is refused until you trust it again.\n\nExamples:\n  marvin skills trust deploy\n  marvin skills trust .claude/skills/deploy\n  marvin skills trust deploy --remove"
    )]
    Trust {
        #[command(flatten)]
        skill: NamedSkill,
        /// Remove the trust
        #[arg(long)]
        remove: bool,
    },
    /// Delete a skill of the project or of your own
    #[command(
        after_help = "Skills in .agents/skills and .claude/skills belong to other programs and are left alone.\n\nExample:\n  marvin skills remove deploy"
    )]
    Remove(NamedSkill),
}

#[derive(Serialize)]
struct SkillList<'a> {
    #[serde(flatten)]
    skills: &'a Skills,
    candidates: Vec<Candidate>,
}

#[derive(Serialize)]
struct ShownSkill<'a> {
    #[serde(flatten)]
    known: &'a KnownSkill,
    files: Vec<PathBuf>,
    text: &'a str,
}

#[derive(Serialize)]
struct DecidedSkill<'a> {
    skill: &'a str,
    directory: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    state: &'static str,
}

#[derive(Serialize)]
struct TestedSkill<'a> {
    skill: &'a str,
    #[serde(flatten)]
    proof: &'a SkillProof,
}

pub(crate) fn run(command: SkillsCommand) -> Result<Exit, Failure> {
    match command {
        SkillsCommand::Show(skill) => show(&skill),
        SkillsCommand::Test(skill) => test(&skill),
        SkillsCommand::Trust { skill, remove } => trust(&skill, remove),
        SkillsCommand::Remove(skill) => remove(&skill),
    }
}

fn open(project: &ProjectArguments) -> Result<ProjectContext, Failure> {
    project_context(project.working_dir.as_deref(), true, Vec::new())
}

fn state(known: &KnownSkill) -> &'static str {
    match () {
        () if known.is_trusted => "trusted",
        () if known.status.has_failed() => "failed in use",
        () if known.status.registration.is_some() => "registered",
        () => "not trusted",
    }
}

pub(crate) fn list(arguments: &ListSkillsArguments) -> Result<Exit, Failure> {
    let context = open(&arguments.project)?;
    let skills = context.skills.refresh();
    let candidates = candidates(&context.layout);
    if arguments.project.json {
        return output::json(&SkillList { skills: &skills, candidates });
    }
    let mut text = String::new();
    for known in &skills.skills {
        let skill = &known.skill;
        let (origin, state) = (skill.origin.word(), state(known));
        let description = truncate::line(&skill.description, 100);
        text.push_str(&format!("{:24} {origin:9} {state:13} {description}\n", skill.name));
    }
    if let Some(problem) = &skills.problem {
        text.push_str(&format!("PROBLEM nothing is trusted by the record: {problem}\n"));
    }
    skills.refused.iter().for_each(|refused| text.push_str(&describe_refused(refused)));
    for candidate in candidates {
        let reason = truncate::line(&candidate.reason, 200);
        let place = candidate.directory.map(|path| path.display().to_string());
        let place = place.unwrap_or_else(|| format!("nothing was written by {}", candidate.run));
        text.push_str(&format!("CANDIDATE {} ({place}): {reason}\n", candidate.skill));
    }
    output::line(&text)
}

fn describe_refused(refused: &RefusedSkill) -> String {
    let hint = refused.hint.map(|hint| format!("  hint: {hint}\n")).unwrap_or_default();
    format!("REFUSED {} ({}): {}\n{hint}", refused.name, refused.origin.word(), refused.reason)
}

/// The failure of a name that no usable skill has.
fn unknown(name: &str, skills: &Skills) -> Failure {
    if let Some(refused) = skills.refused.iter().find(|refused| refused.name == name) {
        let failure = Failure::failed(format!("the skill `{name}` is refused: {}", refused.reason));
        return refused.hint.into_iter().fold(failure, Failure::hint);
    }
    let names = skills.skills.iter().map(|known| known.skill.name.as_str());
    let near = marvin_base::settings::nearest_of(name, names);
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Failure::usage(format!("no skill is called `{name}`{near}"))
        .hint("`marvin list-skills` shows all of them")
}

/// Candidates of this name, or of this run, newest first; none where a skill has the name.
fn find_candidates(context: &ProjectContext, name: &str) -> Result<Vec<Candidate>, Failure> {
    let is_skill = !context.skills.locate(name, &current_directory()?).is_empty()
        || context.skills.refresh().find(name).is_some();
    let is_meant = |one: &Candidate| !is_skill && (one.skill == name || one.run == name);
    Ok(candidates(&context.layout).into_iter().filter(is_meant).collect())
}

/// Shows a draft that was not registered. Its text is of an agent, so that nothing in it moves the cursor.
fn show_candidate(arguments: &NamedSkill, candidate: &Candidate) -> Result<Exit, Failure> {
    if arguments.project.json {
        return output::json(candidate);
    }
    let mut text = format!("{}: a candidate, not registered: {}\n", candidate.skill, candidate.reason);
    text.push_str(&format!("  {:14} {}\n  {:14} {}\n", "built by", candidate.run, "at", candidate.timestamp));
    let mut instructions = None;
    if let Some(directory) = &candidate.directory {
        text.push_str(&format!("  {:14} {}\n", "directory", directory.display()));
        for file in skills::list_files(directory).unwrap_or_default() {
            text.push_str(&format!("  {:14} {}\n", "file", file.display()));
        }
        instructions = read_text(&directory.join(SKILL_FILE), MAX_DRAFT_BYTES, Links::Refuse).ok();
    }
    if let Some(instructions) = instructions {
        text.push_str(&format!("\n{instructions}"));
    }
    output::line(&output::visible(&text))
}

/// The skill in effect of a name, or of the path of its directory.
fn find_known<'a>(
    context: &ProjectContext,
    skills: &'a Skills,
    name: &str,
) -> Result<Option<&'a KnownSkill>, Failure> {
    if !name.contains('/') {
        return Ok(skills.find(name));
    }
    let located = context.skills.locate(name, &current_directory()?);
    let Some((_, own, directory)) = located.first() else { return Ok(None) };
    match skills.find(own) {
        Some(known) if known.skill.directory.as_ref() == Some(directory) => Ok(Some(known)),
        Some(known) => Err(Failure::failed(format!(
            "the skill in {} is not in effect: the one of the same name ({}) takes precedence",
            directory.display(),
            known.skill.origin.word()
        ))
        .hint("read it, then trust it with `marvin skills trust PATH`")),
        None => Err(unknown(own, skills)),
    }
}

fn show(arguments: &NamedSkill) -> Result<Exit, Failure> {
    let context = open(&arguments.project)?;
    let skills = context.skills.refresh();
    let candidates = find_candidates(&context, &arguments.name)?;
    let known = match (find_known(&context, &skills, &arguments.name)?, candidates.first()) {
        (Some(known), _) => known,
        (None, Some(candidate)) => return show_candidate(arguments, candidate),
        (None, None) => return Err(unknown(&arguments.name, &skills)),
    };
    let skill = &known.skill;
    let files = skill.directory.as_deref().map(skills::list_files);
    let unlisted = |error: skills::SkillError| {
        Failure::failed(format!("cannot list the files of the skill `{}`: {error}", skill.name))
    };
    let files = files.transpose().map_err(unlisted)?.unwrap_or_default();
    if arguments.project.json {
        return output::json(&ShownSkill { known, files, text: &skill.text });
    }
    let mut text = format!("{}: {}\n", skill.name, skill.description);
    let mut row = |key: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {key:14} {value}\n"));
        }
    };
    let place = skill.directory.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    row("origin", &format!("{} {place}", skill.origin.word()));
    row("status", state(known));
    row("version", &skill.version);
    row("purpose", &skill.facts.purpose);
    row("contract", &skill.facts.contract);
    row("tools", &skill.facts.tools.join(", "));
    row("lessons about", &skill.facts.retrieval.join(", "));
    row("entry", &skill.facts.entry);
    row("justification", &skill.facts.justification);
    if let Some(registration) = &known.status.registration {
        row("built by", &registration.run);
        row("gap shown by", registration.from_run.as_deref().unwrap_or_default());
        row("hash", &registration.hash);
        row("tests", &format!("{} passed, and failed without its code", registration.tests_passed));
        row("lesson", &registration.lesson);
    }
    if let Some(trust) = &known.status.trusted {
        row("trusted by", &format!("{}, as {}", trust.by, trust.hash));
    }
    if known.status.uses > 0 {
        let utility = known.status.utility.unwrap_or_default();
        row(
            "uses",
            &format!("{}, {} failed, utility {utility:.2}", known.status.uses, known.status.failures),
        );
    }
    for file in files {
        row("file", &file.display().to_string());
    }
    output::line(&format!("{text}\n{}", skill.text))
}

/// The one directory that a name stands for, among those that a person can decide about.
fn locate(context: &ProjectContext, name: &str) -> Result<(Origin, String, PathBuf), Failure> {
    let mut found = context.skills.locate(name, &current_directory()?);
    // Copies for other programs are named by their path.
    if found.iter().filter(|(origin, ..)| origin.is_writable()).count() == 1 {
        found.retain(|(origin, ..)| origin.is_writable());
    }
    match (found.len(), found.pop()) {
        (1, Some(one)) => Ok(one),
        (0, _) | (_, None) => {
            let skills = context.skills.refresh();
            match skills.find(name) {
                Some(_) => Err(Failure::usage(format!("the skill `{name}` is built in"))
                    .hint("a skill of your own with this name, once it is trusted, takes its place")),
                None => Err(unknown(name, &skills)),
            }
        }
        (_, Some(last)) => {
            let all: Vec<String> =
                found.iter().chain([&last]).map(|(.., path)| path.display().to_string()).collect();
            Err(Failure::usage(format!("there are several skills `{name}`: {}", all.join(", ")))
                .hint("name one by the path of its directory"))
        }
    }
}

/// The name and directory of the newest candidate of this name that has a draft.
fn locate_draft(context: &ProjectContext, name: &str) -> Result<Option<(String, PathBuf)>, Failure> {
    let mut drafts = find_candidates(context, name)?.into_iter();
    Ok(drafts.find_map(|candidate| Some((candidate.skill, candidate.directory?))))
}

fn test(arguments: &NamedSkill) -> Result<Exit, Failure> {
    let context = open(&arguments.project)?;
    let (name, directory) = match locate_draft(&context, &arguments.name)? {
        Some(draft) => draft,
        None => locate(&context, &arguments.name).map(|(_, name, directory)| (name, directory))?,
    };
    let skill = read_directory(&directory)
        .map_err(|error| Failure::failed(format!("cannot test the skill `{name}`: {error}")))?;
    let project = Arc::new(context);
    let proof = runtime()?.block_on(async {
        let cancel = cancel_on_signal();
        prove(&project, &skill, &directory, &cancel).await
    })?;
    let exit = if proof.ok { Exit::Success } else { Exit::NotVerified };
    if arguments.project.json {
        output::json(&TestedSkill { skill: &name, proof: &proof })?;
        return Ok(exit);
    }
    match &proof.reason {
        None => output::line(&format!(
            "{name}: {} passed, and failed without its code ({})",
            count(proof.passed, "test"),
            proof.command
        ))?,
        Some(reason) => output::line(&format!("{name}: not proved: {reason}"))?,
    };
    Ok(exit)
}

fn trust(arguments: &NamedSkill, remove: bool) -> Result<Exit, Failure> {
    let context = open(&arguments.project)?;
    let (_, name, directory) = locate(&context, &arguments.name)?;
    let hash = match remove {
        true => None,
        false => {
            read_directory(&directory)
                .map_err(|error| Failure::failed(format!("a broken skill is not trusted: {error}")))?;
            Some(skills::hash(&directory).map_err(Failure::failed)?)
        }
    };
    let command = if remove { "skills trust --remove" } else { "skills trust" };
    let subject = format!("{} {}", directory.display(), hash.as_deref().unwrap_or_default());
    let by = deciding::decide(command, subject.trim_end())?.name().to_string();
    let event = match &hash {
        Some(hash) => SkillEvent::Trusted { hash: hash.clone(), by },
        None => SkillEvent::Distrusted { by },
    };
    skills::append(&context.layout, &context.redactor, &name, Some(&directory), event)
        .map_err(Failure::failed)?;
    let state = if remove { "no longer trusted" } else { "trusted" };
    report(arguments, &name, &directory, hash.as_deref(), state)
}

fn remove(arguments: &NamedSkill) -> Result<Exit, Failure> {
    let context = open(&arguments.project)?;
    let drafts = find_candidates(&context, &arguments.name)?;
    if !drafts.is_empty() {
        return remove_candidates(arguments, &context, &drafts);
    }
    let (origin, name, directory) = locate(&context, &arguments.name)?;
    if !origin.is_writable() {
        return Err(Failure::usage(format!("{} belongs to another program", directory.display()))
            .hint("delete it there, or take the trust away with `marvin skills trust --remove NAME`"));
    }
    let by = deciding::decide("skills remove", &directory.display().to_string())?.name().to_string();
    let event = SkillEvent::Removed { by };
    skills::append(&context.layout, &context.redactor, &name, Some(&directory), event)
        .map_err(Failure::failed)?;
    // Of a skill that is linked only the link is removed.
    let places = [context.layout.project_skills(), Some(context.layout.user_skills())];
    let link = places.into_iter().flatten().map(|place| place.join(&name)).find(|path| path.is_symlink());
    let removed = match &link {
        Some(link) => std::fs::remove_file(link),
        None => std::fs::remove_dir_all(&directory),
    };
    removed.map_err(|error| Failure::failed(format!("cannot remove {}: {error}", directory.display())))?;
    report(arguments, &name, &directory, None, "removed")
}

/// Removes the candidates of a name, which no skill has.
fn remove_candidates(
    arguments: &NamedSkill,
    context: &ProjectContext,
    found: &[Candidate],
) -> Result<Exit, Failure> {
    let runs: Vec<&str> = found.iter().map(|candidate| candidate.run.as_str()).collect();
    deciding::decide("skills remove", &format!("candidates of {}", runs.join(", ")))?;
    for candidate in found {
        remove_candidate(&context.layout, candidate)?;
    }
    let (name, place) =
        (found.first().map_or("", |one| one.skill.as_str()), context.layout.skill_candidates());
    report(arguments, name, &place, None, "removed")
}

fn report(
    arguments: &NamedSkill,
    name: &str,
    directory: &Path,
    hash: Option<&str>,
    state: &'static str,
) -> Result<Exit, Failure> {
    if arguments.project.json {
        return output::json(&DecidedSkill { skill: name, directory, hash, state });
    }
    output::line(&format!("{name} ({}): {state}", directory.display()))
}
