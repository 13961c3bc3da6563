//! Paths of Marvin's files: the only module that knows them.

pub mod clients;
pub mod migrate;
mod moved;
pub mod state;

use crate::environment::Environment;
use std::path::{Path, PathBuf};

/// The directory of a project's tickets.
pub const TICKETS: &str = ".tickets";
/// The directory of worktrees, below `.marvin`.
const WORKTREES: &str = "worktrees";

/// The directories of one invocation.
#[derive(Debug, Clone)]
pub struct Layout {
    home: PathBuf,
    user: PathBuf,
    state: PathBuf,
    cache: PathBuf,
    project: Option<PathBuf>,
    /// The id of the project in the state directory.
    project_id: Option<String>,
}

impl Layout {
    /// The layout for a project directory (or none), from the environment: `MARVIN_HOME`, else `XDG_CONFIG_HOME/marvin`,
    /// else `~/.config/marvin`.
    #[must_use]
    pub fn new(environment: &Environment, project: Option<&Path>) -> Self {
        let home = environment.get("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let user = if let Some(directory) = environment.get("MARVIN_HOME") {
            PathBuf::from(directory)
        } else if let Some(directory) = environment.get("XDG_CONFIG_HOME").filter(|p| p.starts_with('/')) {
            Path::new(directory).join("marvin")
        } else {
            home.join(".config/marvin")
        };
        let state = state::find(environment, &home);
        let cache = environment
            .get("XDG_CACHE_HOME")
            .filter(|path| path.starts_with('/'))
            .map_or_else(|| home.join(".cache"), PathBuf::from)
            .join("marvin");
        let project_id = project.map(state::project_id);
        Layout { home, user, state, cache, project: project.map(Path::to_path_buf), project_id }
    }

    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    #[must_use]
    pub fn user(&self) -> &Path {
        &self.user
    }

    /// The project directory, if this invocation has one.
    #[must_use]
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// `.marvin` in the project, if there is a project.
    #[must_use]
    pub fn record(&self) -> Option<PathBuf> {
        self.project.as_ref().map(|project| project.join(".marvin"))
    }

    /// The person's state directory: `MARVIN_STATE_DIR`, else `$XDG_STATE_HOME/marvin`, else `~/.local/state/marvin`.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The person's cache directory: `$XDG_CACHE_HOME/marvin`, else `~/.cache/marvin`.
    #[must_use]
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Replies and rate limits of the services that tools ask.
    #[must_use]
    pub fn services_cache(&self) -> PathBuf {
        self.cache.join("services")
    }

    /// Services that the person agreed to tell where they are or what they own.
    #[must_use]
    pub fn service_consents(&self) -> PathBuf {
        self.state.join("service_consents.json")
    }

    /// The authority of the project, `state()/projects/<id>`: whatever decides lies here, and no agent writes it.
    /// Without a project it is the user directory.
    #[must_use]
    pub fn project_state(&self) -> PathBuf {
        match &self.project_id {
            Some(id) => self.state.join("projects").join(id),
            None => self.user.clone(),
        }
    }

    /// Directory of the runs: in the project's state directory, else in the user directory.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.project_state().join("runs")
    }

    /// Directory of runs without a project, or whose project cannot keep them.
    #[must_use]
    pub fn user_runs(&self) -> PathBuf {
        self.user.join("runs")
    }

    /// The directories in which the runs of a project are looked for: its own, and that of runs without a project.
    #[must_use]
    pub fn run_directories(&self) -> Vec<PathBuf> {
        let mut all = vec![self.runs(), self.user_runs()];
        all.dedup();
        all
    }

    /// Worktrees of a run's steps, relative to the project.
    #[must_use]
    pub fn worktree(run_id: &str, step_id: &str, attempt: u32) -> PathBuf {
        Path::new(".marvin").join(WORKTREES).join(run_id).join(format!("{step_id}-{attempt}"))
    }

    /// Directories with packs of knowledge: the project's, then the person's own.
    #[must_use]
    pub fn packs(&self) -> Vec<PathBuf> {
        self.record()
            .into_iter()
            .chain([self.user.clone()])
            .map(|directory| directory.join("packs"))
            .collect()
    }

    /// Skills of the project that Marvin writes.
    #[must_use]
    pub fn project_skills(&self) -> Option<PathBuf> {
        self.record().map(|record| record.join("skills"))
    }

    /// The person's own skills.
    #[must_use]
    pub fn user_skills(&self) -> PathBuf {
        self.user.join("skills")
    }

    /// Skills of the project for any agent, and for Claude Code.
    #[must_use]
    pub fn client_skills(&self) -> Option<[PathBuf; 2]> {
        let project = self.project.as_ref()?;
        Some([clients::AGENTS_SKILLS, clients::CLAUDE_SKILLS].map(|directory| project.join(directory)))
    }

    /// Registrations, trust and uses of skills: in the project's state directory, else in the user directory.
    #[must_use]
    pub fn skill_record(&self) -> PathBuf {
        self.project_state().join("skill-record/skills.jsonl")
    }

    /// Drafts of skills that were not registered.
    #[must_use]
    pub fn skill_candidates(&self) -> PathBuf {
        self.project_state().join("skill-record/candidates")
    }

    /// The person's settings.
    #[must_use]
    pub fn user_config(&self) -> PathBuf {
        self.user.join("config.toml")
    }

    /// The project's settings.
    #[must_use]
    pub fn project_config(&self) -> Option<PathBuf> {
        self.record().map(|record| record.join("config.toml"))
    }

    /// The person's own prices.
    #[must_use]
    pub fn prices(&self) -> PathBuf {
        self.user.join("prices.toml")
    }

    /// The card pack that was imported for the rules engine of Magic.
    #[must_use]
    pub fn card_pack(&self) -> PathBuf {
        self.user.join("mtg").join("cards.jsonl.gz")
    }

    #[must_use]
    pub fn usage(&self) -> PathBuf {
        self.user.join("usage.json")
    }

    /// The name of the profile that was used last.
    #[must_use]
    pub fn last_profile(&self) -> PathBuf {
        self.user.join("last_profile")
    }

    #[must_use]
    pub fn profile(&self, name: &str) -> PathBuf {
        self.user.join("profiles").join(name)
    }

    /// The calendar of a profile.
    #[must_use]
    pub fn calendar(&self, profile: &str) -> PathBuf {
        self.profile(profile).join("calendar.ics")
    }

    /// Topics of ntfy that a profile follows.
    #[must_use]
    pub fn ntfy_subscriptions(&self, profile: &str) -> PathBuf {
        self.profile(profile).join("ntfy_subscriptions.json")
    }

    /// Directory of alarms, timers and what rang, which all profiles share.
    #[must_use]
    pub fn alarms(&self) -> PathBuf {
        self.state.join("alarms")
    }

    #[must_use]
    pub fn chat_log(&self, profile: &str) -> PathBuf {
        self.profile(profile).join("chat_log.json")
    }

    /// The input history of a profile.
    #[must_use]
    pub fn typed(&self, profile: &str) -> PathBuf {
        self.profile(profile).join("history")
    }

    /// Questions of a profile that are being answered; those left there were interrupted.
    #[must_use]
    pub fn open_turns(&self, profile: &str) -> PathBuf {
        self.profile(profile).join("open_turns")
    }

    #[must_use]
    pub fn preferences(&self, profile: &str) -> PathBuf {
        self.profile(profile).join("preferences.yaml")
    }

    #[must_use]
    pub fn saved_places(&self, profile: &str) -> PathBuf {
        self.profile(profile).join("saved_places.json")
    }

    /// OAuth tokens of a profile.
    #[must_use]
    pub fn tokens(&self, profile: &str) -> PathBuf {
        self.profile(profile).join("tokens.json")
    }

    /// The token that Blender's add-on wants.
    #[must_use]
    pub fn blender_token(&self) -> PathBuf {
        self.user.join("blender_token")
    }

    /// Bookmarks, which all profiles share.
    #[must_use]
    pub fn bookmarks(&self) -> PathBuf {
        self.user.join("bookmarks.json")
    }

    #[must_use]
    pub fn profiles(&self) -> PathBuf {
        self.user.join("profiles")
    }

    /// Copies of tickets while a person edits them.
    #[must_use]
    pub fn drafts(&self) -> PathBuf {
        self.user.join("drafts")
    }

    /// Notes: in the project while coding, else the person's own.
    #[must_use]
    pub fn notes(&self, coding: bool) -> PathBuf {
        match (coding, self.record()) {
            (true, Some(record)) => record.join("notes"),
            _ => self.home.join("Notes"),
        }
    }

    /// Directory for downloads outside of a coding session.
    #[must_use]
    pub fn downloads(&self) -> PathBuf {
        self.home.join("Downloads")
    }

    /// Data of tools: in the project, else in the user directory.
    #[must_use]
    pub fn tools_cache(&self) -> PathBuf {
        self.record().unwrap_or_else(|| self.user.clone()).join("tools_cache")
    }

    /// Copies of long tool results that agents may read, relative to the project.
    #[must_use]
    pub fn tool_outputs() -> PathBuf {
        Path::new(".marvin/tools_cache/outputs").to_path_buf()
    }

    /// The project's rule files (`config.json`, `allowlist.json`, `denylist.json`, `programs.toml`), which are data
    /// of the repository until a person trusts them; without a project, the person's own.
    #[must_use]
    pub fn rules(&self) -> PathBuf {
        self.record().unwrap_or_else(|| self.user.clone()).join("security")
    }

    /// Decisions, learned rules and open questions of the gate: in the project's state directory, else the person's.
    #[must_use]
    pub fn security(&self) -> PathBuf {
        self.project_state().join("security")
    }

    /// The directory of the user's own rules, which are trusted.
    #[must_use]
    pub fn user_security(&self) -> PathBuf {
        self.user.join("security")
    }

    /// Which files of projects the person trusts, by their content.
    #[must_use]
    pub fn trusted(&self) -> PathBuf {
        self.user_security().join("trusted.json")
    }

    /// The documents of agents, and the project's own with its commitments; none without a project.
    #[must_use]
    pub fn agents(&self) -> Option<PathBuf> {
        self.project.is_some().then(|| self.project_state().join("agents"))
    }

    /// Records of agents, one file each; none without a project.
    #[must_use]
    pub fn agent_records(&self) -> Option<PathBuf> {
        self.agents().map(|agents| agents.join("records"))
    }

    /// Memory: in the project's state directory, else in the user directory.
    #[must_use]
    pub fn memory(&self) -> PathBuf {
        self.project_state().join("memory")
    }

    /// Seal of a memory, outside of everything that a sandboxed program can write to.
    #[must_use]
    pub fn memory_seal(&self, directory: &Path) -> PathBuf {
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
        let name = crate::signature::hash_bytes(directory.as_os_str().as_encoded_bytes());
        self.user.join("seals").join(format!("{}.json", name.get(..16).unwrap_or(&name)))
    }

    /// Files with project instructions, in order of precedence; the first that exists wins.
    #[must_use]
    pub fn instructions(&self) -> Vec<PathBuf> {
        let Some(project) = &self.project else { return Vec::new() };
        let flat = project.display().to_string().replace('/', "_");
        vec![
            self.home.join(".marvin/instructions").join(format!("{flat}.md")),
            project.join(".marvin-instructions"),
            project.join(".marvin/instructions.md"),
        ]
    }

    /// Instructions that other agents use too; each that exists is added.
    #[must_use]
    pub fn common_instructions(&self) -> Vec<PathBuf> {
        let Some(project) = &self.project else { return Vec::new() };
        vec![project.join("AGENTS.md"), project.join("CLAUDE.md")]
    }

    /// The project's documents (`spec.md`, `ux.md`, `design.md`), as (heading, file).
    #[must_use]
    pub fn documents(&self) -> Vec<(&'static str, PathBuf)> {
        let Some(record) = self.record() else { return Vec::new() };
        ["spec.md", "ux.md", "design.md"].into_iter().map(|name| (name, record.join(name))).collect()
    }

    /// Files of the project whose text agents are told: instructions, documents, packs. They are data of the
    /// repository until a person trusts them.
    #[must_use]
    pub fn steering_files(&self) -> Vec<PathBuf> {
        let Some(project) = &self.project else { return Vec::new() };
        let instructions = self.instructions().into_iter().filter(|path| path.starts_with(project));
        let documents = self.documents().into_iter().map(|(_, path)| path);
        let texts = instructions.chain(self.common_instructions()).chain(documents);
        let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|facts| facts.is_file());
        texts.chain(self.pack_files()).filter(is_file).collect()
    }

    /// Files of the project's packs whose text agents are told.
    #[must_use]
    pub fn pack_files(&self) -> Vec<PathBuf> {
        const FILES: [&str; 3] = ["pack.json", "guardrails.md", "lessons.jsonl"];
        let Some(packs) = self.record().map(|record| record.join("packs")) else { return Vec::new() };
        let entries = std::fs::read_dir(packs).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut packs: Vec<PathBuf> = entries.filter(|path| path.is_dir() && !path.is_symlink()).collect();
        packs.sort();
        let files = packs.iter().flat_map(|pack| FILES.map(|name| pack.join(name)));
        files.filter(|path| path.symlink_metadata().is_ok_and(|facts| facts.is_file())).collect()
    }

    /// How far the pipeline of the project is.
    #[must_use]
    pub fn pipeline_state(&self) -> Option<PathBuf> {
        self.record().map(|record| record.join("pipeline_state"))
    }

    /// Documents of the project around this one, for reading only.
    #[must_use]
    pub fn upstream(&self) -> Option<PathBuf> {
        self.record().map(|record| record.join("upstream"))
    }

    /// Findings of the reviews of a document or a phase.
    #[must_use]
    pub fn review_history(&self, of: &str) -> Option<PathBuf> {
        self.record().map(|record| record.join(format!("review-history-{of}.md")))
    }

    /// How the application is started, and what it must answer.
    #[must_use]
    pub fn end_to_end(&self) -> Option<PathBuf> {
        self.record().map(|record| record.join("e2e.json"))
    }

    /// Scratch space for programs that Marvin drives, inside the project.
    #[must_use]
    pub fn scratch(project: &Path) -> PathBuf {
        project.join(".tokimon-tmp")
    }
}

/// The project that a directory belongs to: the nearest directory upwards that holds `.marvin`, short of the home directory.
/// A directory without one is not turned into a project by a question asked in it.
#[must_use]
pub fn find_project(from: &Path, home: &Path) -> Option<PathBuf> {
    from.ancestors()
        .take_while(|directory| *directory != home && directory.parent().is_some())
        .find(|directory| directory.join(".marvin").is_dir())
        .map(Path::to_path_buf)
}

/// The tickets that a directory belongs to: in it, or in the nearest directory upwards that has some.
#[must_use]
pub fn find_tickets(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|directory| directory.join(TICKETS)).find(|directory| directory.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_found_upwards() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(directory.path().join(TICKETS)).unwrap();
        assert_eq!(find_tickets(&inner), Some(directory.path().join(TICKETS)));
    }

    #[test]
    fn the_user_directory_follows_the_environment() {
        let plain = Environment::from_iter([("HOME", "/home/a")]);
        assert_eq!(Layout::new(&plain, None).user(), Path::new("/home/a/.config/marvin"));
        let xdg = plain.clone().with("XDG_CONFIG_HOME", "/x");
        assert_eq!(Layout::new(&xdg, None).user(), Path::new("/x/marvin"));
        let own = xdg.with("MARVIN_HOME", "/m");
        assert_eq!(Layout::new(&own, None).user(), Path::new("/m"));
    }

    #[test]
    fn a_project_is_found_upwards_but_never_the_home_directory() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join("home");
        let inner = home.join("work/deep");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(home.join(".marvin")).unwrap();
        assert_eq!(find_project(&inner, &home), None);
        std::fs::create_dir(home.join("work/.marvin")).unwrap();
        assert_eq!(find_project(&inner, &home), Some(home.join("work")));
    }

    #[test]
    fn notes_depend_on_the_mode() {
        let environment = Environment::from_iter([("HOME", "/h")]);
        let layout = Layout::new(&environment, Some(Path::new("/p")));
        assert_eq!(layout.notes(true), Path::new("/p/.marvin/notes"));
        assert_eq!(layout.notes(false), Path::new("/h/Notes"));
    }
}
