//! The registry: finds skills, refuses those that cannot be used with the reason, and reads again what changed.

use super::files::SkillFile;
use super::record::{self, SkillEvent, SkillStatus, Statuses};
use super::skill::{self, MAX_SKILL_FILE_BYTES, Origin, SKILL_FILE, Skill, SkillError};
use super::{BUILT_IN, files};
use crate::repository_text::{FROM_REPOSITORY, REPOSITORY};
use crate::session_tools::SESSION_TOOLS;
use marvin_base::file_stamp::FileStamp;
use marvin_base::files::{Links, read_text};
use marvin_base::layout::Layout;
use marvin_base::ledger::LedgerError;
use marvin_base::printable::{visible, visible_line};
use marvin_base::redact::Redactor;
use marvin_base::settings::nearest_of;
use marvin_base::signature::hash_bytes;
use marvin_gate::Access;
use marvin_tools::{Mode, Toolbox, canonical_name};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Skills in all directories together, and bytes of their texts.
const MAX_SKILLS: usize = 2_000;
const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;
/// Skills from which on several threads read them, and the number of threads.
const MIN_PARALLEL_SKILLS: usize = 128;
const MAX_READ_THREADS: usize = 4;
/// Beginning of the names of tools of other servers, which are known only while the server runs.
const EXTERNAL_TOOL: &str = "mcp__";

/// Skills of a project and of the person, kept between turns. Cheap to share.
#[derive(Debug)]
pub struct SkillRegistry {
    layout: Layout,
    state: Mutex<SkillCache>,
}

#[derive(Debug, Default)]
struct SkillCache {
    /// By directory.
    entries: BTreeMap<PathBuf, Entry>,
    record: Option<FileStamp>,
    statuses: Statuses,
    record_problem: Option<String>,
    /// Problems that the person was told of.
    told: BTreeSet<String>,
}

/// A directory, as it was when it was read last.
#[derive(Debug)]
struct Entry {
    stamp: Option<FileStamp>,
    /// The last good version.
    good: Option<Arc<Skill>>,
    problem: Option<SkillError>,
    /// Hash of the `SKILL.md` that was read, where the content counts.
    text_hash: Option<String>,
    /// Hashes of all files, with their stamps.
    hash: Option<(files::FileStamps, files::DirectoryHash)>,
    /// Its directories, when its files were listed without a problem.
    directories: Option<files::FileStamps>,
}

/// A skill that can be used, and how far it is trusted.
#[derive(Debug, Clone, Serialize)]
pub struct KnownSkill {
    #[serde(flatten)]
    pub skill: Arc<Skill>,
    #[serde(rename = "trusted")]
    pub is_trusted: bool,
    #[serde(flatten)]
    pub status: SkillStatus,
}

impl KnownSkill {
    /// Mark of a text that no person answers for.
    pub(super) fn mark(&self) -> String {
        if self.is_trusted { String::new() } else { format!("{FROM_REPOSITORY}\n{REPOSITORY}\n") }
    }

    /// A text of it as it is told: of one that no person answers for, characters that a terminal would interpret or that
    /// cannot be seen are spelled out.
    #[must_use]
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_trusted { Cow::Borrowed(text) } else { visible(text) }
    }

    /// Its files, without hidden ones.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub fn files(&self) -> Result<Vec<SkillFile>, SkillError> {
        let Some(directory) = &self.skill.directory else {
            let own = BUILT_IN.iter().filter(|(name, _)| *name == self.skill.name);
            let file = |(_, text): &(&str, &str)| SkillFile {
                path: SKILL_FILE.to_string(),
                content: text.as_bytes().to_vec(),
                is_executable: false,
            };
            return Ok(own.map(file).collect());
        };
        let paths = files::list(directory)?.into_iter().filter(|path| !files::is_hidden(path));
        let file = |path: PathBuf| {
            let content = files::read(directory, &path)?;
            let is_executable = files::is_executable(&directory.join(&path));
            Ok(SkillFile { path: path.display().to_string(), content, is_executable })
        };
        paths.map(file).collect()
    }

    /// Its instructions, as an agent is told them.
    #[must_use]
    pub fn told_text(&self) -> String {
        let skill = &self.skill;
        let mut text = format!("# Skill: {}\n{}", skill.name, self.mark());
        if !skill.facts.contract.is_empty() {
            text.push_str(&format!("Contract: {}\n", self.clean(&skill.facts.contract)));
        }
        text.push_str(&format!("\n{}\n", self.clean(&skill.text)));
        text
    }
}

/// A directory that is not used, or not as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedSkill {
    pub name: String,
    pub origin: Origin,
    pub directory: PathBuf,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
    /// Whether its last good version stays in use.
    pub last_good: bool,
}

impl RefusedSkill {
    /// The refusal as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let last_good = if self.last_good { "; its last good version stays in use" } else { "" };
        format!("the skill `{}` ({}) is refused: {}{last_good}", self.name, self.origin.word(), self.reason)
    }
}

/// Skills at one moment: those that can be used, by name, and the others.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Skills {
    pub skills: Vec<KnownSkill>,
    pub refused: Vec<RefusedSkill>,
    /// The reason why the record does not count, so that nothing is trusted by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Skills {
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&KnownSkill> {
        let name = name.trim();
        self.skills.iter().find(|known| known.skill.name == name)
    }

    /// The reason why no usable skill has this name, if one can be given: its refusal, or a name that is near.
    #[must_use]
    pub fn explain_missing(&self, name: &str) -> Option<String> {
        let name = name.trim();
        if let Some(refused) = self.refused.iter().find(|refused| refused.name == name) {
            return Some(refused.reason.clone());
        }
        let near = nearest_of(name, self.skills.iter().map(|known| known.skill.name.as_str()))?;
        Some(format!("did you mean `{near}`?"))
    }
}

/// Tools that a skill can need: those that agents have in any mode.
static KNOWN_TOOLS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let modes = [Mode::Coding, Mode::Assistant].map(|mode| Toolbox::new(mode, &Access::Full));
    modes.iter().flat_map(Toolbox::names).chain(SESSION_TOOLS).map(str::to_string).collect()
});

impl SkillRegistry {
    #[must_use]
    pub fn new(layout: &Layout) -> Arc<Self> {
        Arc::new(SkillRegistry { layout: layout.clone(), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, SkillCache> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Directories that hold skills.
    fn places(&self) -> Vec<(Origin, PathBuf)> {
        let [agents, claude] = self.layout.client_skills().map_or([None, None], |[a, b]| [Some(a), Some(b)]);
        let all = [
            (Origin::Project, self.layout.project_skills()),
            (Origin::User, Some(self.layout.user_skills())),
            (Origin::Agents, agents),
            (Origin::Claude, claude),
        ];
        all.into_iter().filter_map(|(origin, path)| Some((origin, path?))).collect()
    }

    /// Reads what changed; gives the skills as they are now.
    #[must_use]
    pub fn refresh(&self) -> Skills {
        let mut state = self.state();
        let state = &mut *state;
        state.read_record(&self.layout);
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        let mut present = BTreeSet::new();
        for (origin, place) in self.places() {
            self.look(origin, &place, &mut present, &mut found, &mut refused);
        }
        state.entries.retain(|directory, _| present.contains(directory));
        let mut skills: Vec<KnownSkill> =
            BUILT_IN.iter().filter_map(|(name, text)| state.built_in(name, text)).collect();
        let mut bytes = 0;
        for reading in state.read_all(found) {
            let SkillReading { origin, name, directory, status, entry, usable, listed } = reading;
            bytes += usable.as_ref().map_or(0, |skill| skill.text.len());
            let full = || SkillError::TooMany(format!("{MAX_TEXT_BYTES} bytes of skills"));
            // A changed skill has no last good version: its files would be those that were not registered.
            let problem = match listed {
                Err(error) => Some((error, false)),
                Ok(()) if bytes > MAX_TEXT_BYTES => Some((full(), false)),
                Ok(()) => entry.problem.clone().map(|error| (error, usable.is_some())),
            };
            state.entries.insert(directory.clone(), entry);
            let is_usable = problem.as_ref().is_none_or(|(_, last_good)| *last_good);
            if let Some((error, last_good)) = problem {
                refused.push(refusal(origin, &name, directory, &error, last_good));
            }
            if let Some(skill) = usable.filter(|_| is_usable) {
                let is_trusted = status.is_trusted(origin);
                skills.push(KnownSkill { skill, is_trusted, status });
            }
        }
        skills.sort_by(|a, b| {
            let key = |known: &KnownSkill| (known.skill.name.clone(), !known.is_trusted, known.skill.origin);
            key(a).cmp(&key(b))
        });
        skills.dedup_by(|later, first| later.skill.name == first.skill.name);
        Skills { skills, refused, problem: state.record_problem.clone() }
    }

    /// Directories of skills of this name, or the one at this path, whether they can be used or not.
    #[must_use]
    pub fn locate(&self, name: &str, here: &Path) -> Vec<(Origin, String, PathBuf)> {
        let (mut found, mut refused, mut present) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (origin, place) in self.places() {
            self.look(origin, &place, &mut present, &mut found, &mut refused);
        }
        let path = name.contains('/').then(|| here.join(name).canonicalize().ok()).flatten();
        found.retain(|(_, own, directory)| match &path {
            Some(path) => directory == path,
            None => own == name,
        });
        found
    }

    /// Skill directories of one place, sorted. A link that leads out of the project is refused.
    fn look(
        &self,
        origin: Origin,
        place: &Path,
        present: &mut BTreeSet<PathBuf>,
        found: &mut Vec<(Origin, String, PathBuf)>,
        refused: &mut Vec<RefusedSkill>,
    ) {
        let Ok(place) = place.canonicalize() else { return };
        let Ok(entries) = std::fs::read_dir(&place) else { return };
        let project = self.layout.project().and_then(|project| project.canonicalize().ok());
        let is_inside = |directory: &Path| {
            origin == Origin::User || project.as_ref().is_some_and(|project| directory.starts_with(project))
        };
        let mut all: Vec<(String, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if name.starts_with(['.', '_']) || kind.is_file() {
                continue;
            }
            let path = entry.path();
            let directory = if kind.is_dir() { Some(path) } else { path.canonicalize().ok() };
            all.extend(directory.filter(|path| kind.is_dir() || path.is_dir()).map(|path| (name, path)));
        }
        all.sort_unstable();
        for (name, directory) in all {
            let error = if !is_inside(&directory) {
                Some(SkillError::NotAFile(name.clone()))
            } else if found.len() >= MAX_SKILLS {
                Some(SkillError::TooMany(format!("{MAX_SKILLS} skills")))
            } else {
                None
            };
            match error {
                Some(error) => refused.push(refusal(origin, &name, directory, &error, false)),
                // A link to a directory that was found already adds nothing.
                None if !present.insert(directory.clone()) => {}
                // What a link leads to in the project can be written by its agents.
                None if origin == Origin::User
                    && project.as_ref().is_some_and(|at| directory.starts_with(at)) =>
                {
                    found.push((Origin::Project, name, directory));
                }
                None => found.push((origin, name, directory)),
            }
        }
    }

    /// Problems that the person was not told of yet, as sentences. Directories of other programs are only listed, unless a version
    /// that was in use no longer counts.
    #[must_use]
    pub fn news(&self, skills: &Skills) -> Vec<String> {
        let mut state = self.state();
        let concerns = |refused: &&RefusedSkill| refused.origin.is_writable() || refused.last_good;
        let problems: BTreeSet<String> = skills
            .refused
            .iter()
            .filter(concerns)
            .map(RefusedSkill::sentence)
            .chain(skills.problem.iter().map(|why| format!("no skill is trusted by the record: {why}")))
            .take(MAX_NEWS)
            .collect();
        // One that was repaired and broke again is told again.
        let new = problems.difference(&state.told).cloned().collect();
        state.told = problems;
        new
    }

    /// Counts uses of skills; gives a sentence for each that lost its trust by them.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn record_use(
        &self,
        names: &BTreeSet<String>,
        ok: bool,
        redactor: &Arc<Redactor>,
    ) -> Result<Vec<String>, LedgerError> {
        let before = self.refresh();
        let used: Vec<&KnownSkill> = names.iter().filter_map(|name| before.find(name)).collect();
        for known in &used {
            let directory = known.skill.directory.as_deref();
            record::append(&self.layout, redactor, &known.skill.name, directory, SkillEvent::Used { ok })?;
        }
        let after = self.refresh();
        let lost = |known: &&&KnownSkill| {
            known.is_trusted && after.find(&known.skill.name).is_none_or(|now| !now.is_trusted)
        };
        let sentence = |known: &&KnownSkill| {
            let name = &known.skill.name;
            format!(
                "the skill `{name}` is no longer trusted: too many turns that used it failed\n  hint: `marvin skills show {name}` shows its figures"
            )
        };
        Ok(used.iter().filter(lost).map(sentence).collect())
    }
}

/// Problems that are told at once.
const MAX_NEWS: usize = 10;

fn refusal(
    origin: Origin,
    name: &str,
    directory: PathBuf,
    error: &SkillError,
    last_good: bool,
) -> RefusedSkill {
    // A directory can have any name, also one that looks like further lines of a list.
    let (name, reason) = (visible_line(name), visible_line(&error.to_string()));
    RefusedSkill { name, origin, directory, reason, hint: error.hint(), last_good }
}

impl SkillCache {
    fn read_record(&mut self, layout: &Layout) {
        let stamp = FileStamp::from_path(&layout.skill_record());
        if FileStamp::still(self.record, stamp) && stamp.is_some() {
            return;
        }
        self.record = stamp;
        match record::read(layout) {
            Ok(statuses) => (self.statuses, self.record_problem) = (statuses, None),
            Err(error) => (self.statuses, self.record_problem) = (Statuses::new(), Some(error.to_string())),
        }
    }

    /// Reads the skills that were found. Many of them are read on several threads: most of the time goes to the file system.
    fn read_all(&mut self, found: Vec<(Origin, String, PathBuf)>) -> Vec<SkillReading> {
        let mut readings: Vec<SkillReading> = found
            .into_iter()
            .map(|(origin, name, directory)| {
                let status =
                    self.statuses.get(&record::key(&name, Some(&directory))).cloned().unwrap_or_default();
                let entry = self.entries.remove(&directory).unwrap_or_else(Entry::new);
                SkillReading { origin, name, directory, status, entry, usable: None, listed: Ok(()) }
            })
            .collect();
        let threads = match readings.len() {
            count if count < MIN_PARALLEL_SKILLS => 1,
            _ => std::thread::available_parallelism().map_or(1, usize::from).min(MAX_READ_THREADS),
        };
        if threads == 1 {
            readings.iter_mut().for_each(SkillReading::read);
            return readings;
        }
        let part_length = readings.len().div_ceil(threads);
        std::thread::scope(|scope| {
            for part in readings.chunks_mut(part_length) {
                scope.spawn(|| part.iter_mut().for_each(SkillReading::read));
            }
        });
        readings
    }

    /// A built-in skill. A test parses each of them.
    fn built_in(&self, name: &str, text: &str) -> Option<KnownSkill> {
        static PARSED: LazyLock<Mutex<BTreeMap<String, Arc<Skill>>>> = LazyLock::new(Mutex::default);
        let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
        let skill = match parsed.get(name) {
            Some(skill) => skill.clone(),
            None => {
                let skill = Arc::new(skill::parse(text, name, Origin::BuiltIn, None).ok()?);
                parsed.insert(name.to_string(), skill.clone());
                skill
            }
        };
        let status = self.statuses.get(&record::key(name, None)).cloned().unwrap_or_default();
        Some(KnownSkill { skill, is_trusted: true, status })
    }
}

/// A skill directory that is read, with the result.
struct SkillReading {
    origin: Origin,
    name: String,
    directory: PathBuf,
    status: SkillStatus,
    entry: Entry,
    /// Its last good version.
    usable: Option<Arc<Skill>>,
    /// The reason why its files cannot be used.
    listed: Result<(), SkillError>,
}

impl SkillReading {
    fn read(&mut self) {
        let SkillReading { origin, name, directory, status, entry, .. } = self;
        let usable = entry.read(*origin, name, directory, status.hash().is_some());
        self.listed = match status.hash() {
            Some(hash) => entry.check(hash, directory),
            // The reason why the skill is absent counts more than its files.
            None if usable.is_none() => Ok(()),
            None => entry.check_listing(directory),
        };
        self.usable = usable;
    }
}

impl Entry {
    fn new() -> Self {
        Entry { stamp: None, good: None, problem: None, text_hash: None, hash: None, directories: None }
    }

    /// Checks that its files can be listed, so that nothing is told of a skill that cannot be loaded.
    fn check_listing(&mut self, directory: &Path) -> Result<(), SkillError> {
        let is_same = |stamps: &files::FileStamps| {
            stamps.iter().all(|(path, stamp)| FileStamp::still(*stamp, FileStamp::from_path(path)))
        };
        if !self.directories.as_ref().is_some_and(is_same) {
            self.directories = None;
            self.directories = Some(files::directory_stamps(directory)?);
        }
        Ok(())
    }

    /// Reads it if it changed; gives its last good version. `is_pinned`: a hash of its content is on record.
    fn read(&mut self, origin: Origin, name: &str, directory: &Path, is_pinned: bool) -> Option<Arc<Skill>> {
        let path = directory.join(SKILL_FILE);
        let stamp = FileStamp::from_path(&path);
        let is_known = self.good.is_some() || self.problem.is_some();
        let has_hash = !is_pinned || self.text_hash.is_some();
        if !(is_known && has_hash && FileStamp::still(self.stamp, stamp)) {
            self.stamp = stamp;
            let read = read(origin, name, directory, &path);
            self.text_hash =
                read.as_ref().ok().filter(|_| is_pinned).map(|(_, text)| hash_bytes(text.as_bytes()));
            match read {
                Ok((skill, _)) => (self.good, self.problem) = (Some(Arc::new(skill)), None),
                Err(error) => self.problem = Some(error),
            }
        }
        self.good.clone()
    }

    /// Compares the content of the directory with a hash. The text that was read must be the one that was hashed: a process that
    /// swaps it in between gains nothing.
    fn check(&mut self, hash: &str, directory: &Path) -> Result<(), SkillError> {
        let stamps = files::stamps(directory)?;
        let is_same = |known: &[(PathBuf, Option<FileStamp>)]| {
            known.len() == stamps.len()
                && known
                    .iter()
                    .zip(&stamps)
                    .all(|(old, new)| old.0 == new.0 && FileStamp::still(old.1, new.1))
        };
        let now = match &self.hash {
            Some((known, now)) if is_same(known) => now.clone(),
            _ => {
                let now = files::DirectoryHash::take(directory)?;
                self.hash = Some((stamps, now.clone()));
                now
            }
        };
        let is_read = self.text_hash == now.skill_file;
        if now.all == hash && is_read { Ok(()) } else { Err(SkillError::Changed) }
    }
}

/// Reads and parses a skill; gives the text of its file, too.
fn read(origin: Origin, name: &str, directory: &Path, path: &Path) -> Result<(Skill, String), SkillError> {
    let text = read_text(path, MAX_SKILL_FILE_BYTES, Links::Refuse).map_err(|error| {
        match (error.kind(), path.symlink_metadata().is_ok_and(|facts| facts.is_symlink())) {
            (std::io::ErrorKind::NotFound, _) => SkillError::NoFile,
            (_, true) => SkillError::NotAFile(SKILL_FILE.into()),
            _ => SkillError::Unreadable(SKILL_FILE.into(), error.to_string()),
        }
    })?;
    let skill = skill::parse(&text, name, origin, Some(directory.to_path_buf()))?;
    check_tools(&skill.facts.tools)?;
    Ok((skill, text))
}

/// Refuses names that no tool has.
///
/// # Errors
/// When there are such names, with the first of them.
pub fn check_tools(tools: &[String]) -> Result<(), SkillError> {
    let is_unknown =
        |tool: &&String| !tool.starts_with(EXTERNAL_TOOL) && !KNOWN_TOOLS.contains(canonical_name(tool));
    let unknown: Vec<&str> = tools.iter().filter(is_unknown).map(String::as_str).take(5).collect();
    if unknown.is_empty() { Ok(()) } else { Err(SkillError::UnknownTools(unknown.join(", "))) }
}

/// Reads one directory as a skill, outside of a registry.
///
/// # Errors
/// When it is not a usable skill, with the reason.
pub fn read_directory(directory: &Path) -> Result<Skill, SkillError> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files::list(directory)?;
    read(Origin::Project, &name, directory, &directory.join(SKILL_FILE)).map(|(skill, _)| skill)
}

#[cfg(test)]
mod tests;
