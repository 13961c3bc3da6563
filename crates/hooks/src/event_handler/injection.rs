//! Tells an agent what the packs know of the file at hand, and writes down that it was told.

use super::{EventHandler, lock};
use crate::event::{Deed, Input};
use crate::packs::{self, PackInjection, RecentGuidance};
use crate::session::Session;
use marvin_base::clock;
use marvin_base::settings::table;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Files of one call that are looked at.
const MAX_FILES_PER_CALL: usize = 4;
/// Tokens of what is told when a session begins.
const DIGEST: usize = 1_800;
/// How long it is known which kinds of files a project has.
const LOOK: Duration = Duration::from_secs(300);

impl EventHandler {
    /// What the packs know of the files of a call.
    pub(super) fn tell_of_call(&self, input: &Input, session: &mut Session) -> Option<String> {
        let call = input.call.as_ref()?;
        let paths: Vec<String> = match call.deed() {
            Deed::Read(path) | Deed::Search(path) | Deed::Write(path) => vec![path.to_string()],
            Deed::Patch(text) => super::permission::patched(text)?.into_iter().map(str::to_string).collect(),
            Deed::Command(line) => return self.tell_of_command(line, input, session),
            Deed::Foreign(_) | Deed::Unreadable | Deed::Other => return None,
        };
        let files: Vec<String> =
            paths.iter().filter_map(|path| self.relative(path, input)).take(MAX_FILES_PER_CALL).collect();
        if let (Some(file), Deed::Write(_) | Deed::Patch(_)) = (files.first(), call.deed()) {
            session.last = Some((file.clone(), call.tool.clone()));
        }
        let texts: Vec<String> =
            files.iter().filter_map(|file| self.tell_of_file(file, input, session)).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// What the packs know of a file.
    pub(super) fn tell_of_file(&self, file: &str, input: &Input, session: &mut Session) -> Option<String> {
        let recent = RecentGuidance { corrections: session.corrections.clone(), ..RecentGuidance::default() };
        self.tell(file, &recent, input, session)
    }

    /// What the packs of a category know.
    pub(super) fn tell_of_category(
        &self,
        category: &str,
        input: &Input,
        session: &mut Session,
    ) -> Option<String> {
        let corrections = vec![(category.to_string(), clock::now())];
        self.tell("", &RecentGuidance { corrections, ..RecentGuidance::default() }, input, session)
    }

    fn tell(
        &self,
        file: &str,
        recent: &RecentGuidance,
        input: &Input,
        session: &mut Session,
    ) -> Option<String> {
        let scored = self.packs().score(file, recent);
        let telling = packs::tell(&scored, file, session.told(input.agent.as_deref()), self.cap())?;
        self.told(file, &telling, input, session);
        Some(telling.text)
    }

    /// A command that makes history brings up the packs about it.
    fn tell_of_command(&self, line: &str, input: &Input, session: &mut Session) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        let makes_history = matches!(
            words.as_slice(),
            ["git", "commit" | "push" | "merge" | "rebase" | "tag", ..] | ["gh", "pr" | "release", ..]
        );
        if makes_history { self.tell_of_category("git", input, session) } else { None }
    }

    /// What all packs know that fit the project at all.
    pub(super) fn digest(&self, input: &Input, session: &mut Session) -> Option<String> {
        let extensions = self.extensions();
        let told = session.told(input.agent.as_deref());
        let telling = self.packs().digest(&extensions, told, DIGEST)?;
        self.told("", &telling, input, session);
        Some(telling.text)
    }

    /// Writes down that something was told.
    fn told(&self, file: &str, telling: &PackInjection, input: &Input, session: &mut Session) {
        let lessons: Vec<Value> =
            telling.lessons.iter().map(|(pack, title)| json!({"pack": pack, "title": title})).collect();
        let titles: Vec<&String> = telling.lessons.iter().map(|(_, title)| title).collect();
        let mut line = json!({
            "timestamp": clock::now_stamp(), "file": file, "packs_injected": telling.packs,
            "lessons_injected": titles, "lessons": lessons, "guardrails": telling.guardrails,
        });
        let call = input.call.as_ref().and_then(|call| call.id.clone());
        for (key, value) in [("tool_use_id", call), ("agent_id", input.agent.clone())] {
            if let (Some(value), Some(map)) = (value, line.as_object_mut()) {
                map.insert(key.into(), value.into());
            }
        }
        session.append("injections.jsonl", &line).ok();
        for pack in &telling.packs {
            *session.hooks.pack_injection_counts.entry(pack.clone()).or_default() += 1;
        }
        session.hooks.last_injection = Some(json!({
            "file": file, "packs": telling.packs, "relevanceScores": telling.scores, "lessons": titles,
        }));
        session.activity("injection", &json!({"file": file, "packs": telling.packs}));
    }

    /// How the names of the project's files end; looked for now and then, and not everywhere.
    fn extensions(&self) -> BTreeSet<String> {
        let mut known = lock(&self.extensions);
        if let Some((since, found)) = known.as_ref()
            && since.elapsed() < LOOK
        {
            return found.clone();
        }
        let found = packs::extensions_below(&self.project);
        *known = Some((Instant::now(), found.clone()));
        found
    }

    /// Tokens that one telling may take.
    pub(super) fn cap(&self) -> usize {
        self.ground.settings.count(&table::PACKS_TOKENS)
    }
}
