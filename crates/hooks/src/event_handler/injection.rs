//! Injection of pack knowledge about the files of a call, and its record.

use super::{EventHandler, lock};
use crate::event::{Deed, Input};
use crate::lessons::record::{InjectionRecord, LessonRef};
use crate::packs::{self, PackInjection, RecentGuidance};
use crate::session::{ActivityFacts, Session};
use marvin_base::clock;
use marvin_base::run_record::LastInjection;
use marvin_base::settings::table;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const MAX_FILES_PER_CALL: usize = 4;
/// Tokens of the digest at the start of a session.
const MAX_DIGEST_TOKENS: usize = 1_800;
/// How long the list of a project's file extensions is cached.
const EXTENSIONS_TTL: Duration = Duration::from_secs(300);

impl EventHandler {
    /// The knowledge of the packs about the files of a call.
    pub(super) fn inject_for_call(&self, input: &Input, session: &mut Session) -> Option<String> {
        let call = input.call.as_ref()?;
        let paths: Vec<String> = match call.deed() {
            Deed::Read(path) | Deed::Search(path) | Deed::Write(path) => vec![path.to_string()],
            Deed::Patch(text) => super::permission::patched(text)?.into_iter().map(str::to_string).collect(),
            Deed::Command(line) => return self.inject_for_command(line, input, session),
            Deed::Foreign(_) | Deed::Unreadable | Deed::Other => return None,
        };
        let files: Vec<String> =
            paths.iter().filter_map(|path| self.relative(path, input)).take(MAX_FILES_PER_CALL).collect();
        if let (Some(file), Deed::Write(_) | Deed::Patch(_)) = (files.first(), call.deed()) {
            session.last = Some((file.clone(), call.tool.clone()));
        }
        let texts: Vec<String> =
            files.iter().filter_map(|file| self.inject_for_file(file, input, session)).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    pub(super) fn inject_for_file(&self, file: &str, input: &Input, session: &mut Session) -> Option<String> {
        let recent = RecentGuidance {
            corrections: session.corrections.clone(),
            categories: session.directions.iter().cloned().collect(),
        };
        self.inject(file, &recent, input, session)
    }

    pub(super) fn inject_for_category(
        &self,
        category: &str,
        input: &Input,
        session: &mut Session,
    ) -> Option<String> {
        let corrections = vec![(category.to_string(), clock::now())];
        self.inject("", &RecentGuidance { corrections, ..RecentGuidance::default() }, input, session)
    }

    fn inject(
        &self,
        file: &str,
        recent: &RecentGuidance,
        input: &Input,
        session: &mut Session,
    ) -> Option<String> {
        let scored = self.packs().score(file, recent);
        let history = session.injections_for(input.agent.as_deref());
        let injection = packs::inject(&scored, file, history, self.max_tokens())?;
        self.record_injection(file, &injection, input, session);
        Some(injection.text)
    }

    /// The knowledge of the packs about git, for a command that changes the history.
    fn inject_for_command(&self, line: &str, input: &Input, session: &mut Session) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        let changes_history = matches!(
            words.as_slice(),
            ["git", "commit" | "push" | "merge" | "rebase" | "tag", ..] | ["gh", "pr" | "release", ..]
        );
        // Not a correction, so what was told in this session is not repeated.
        let recent = RecentGuidance { categories: vec!["git".into()], ..RecentGuidance::default() };
        if changes_history { self.inject("", &recent, input, session) } else { None }
    }

    /// The knowledge of all packs that apply to the project.
    pub(super) fn digest(&self, input: &Input, session: &mut Session) -> Option<String> {
        let extensions = self.extensions();
        let history = session.injections_for(input.agent.as_deref());
        let injection = self.packs().digest(&extensions, history, MAX_DIGEST_TOKENS)?;
        self.record_injection("", &injection, input, session);
        Some(injection.text)
    }

    fn record_injection(&self, file: &str, injection: &PackInjection, input: &Input, session: &mut Session) {
        let titles: Vec<String> = injection.lessons.iter().map(|(_, title)| title.clone()).collect();
        let reference =
            |(pack, title): &(String, String)| LessonRef { pack: pack.clone(), title: title.clone() };
        let line = InjectionRecord {
            timestamp: clock::now(),
            file: file.to_string(),
            packs_injected: injection.packs.clone(),
            lessons_injected: titles.clone(),
            lessons: injection.lessons.iter().map(reference).collect(),
            guardrails: injection.guardrails.clone(),
            tool_use_id: input.call.as_ref().and_then(|call| call.id.clone()),
            agent_id: input.agent.clone(),
        };
        session.append("injections.jsonl", &line).ok();
        for pack in &injection.packs {
            *session.hooks.pack_injection_counts.entry(pack.clone()).or_default() += 1;
        }
        session.hooks.last_injection = Some(LastInjection {
            file: file.to_string(),
            packs: injection.packs.clone(),
            relevance_scores: injection.scores.clone(),
            lessons: titles,
        });
        session.activity("injection", &ActivityFacts::Injection { file, packs: &injection.packs });
    }

    /// The extensions of the project's files, found by a bounded search and cached.
    fn extensions(&self) -> BTreeSet<String> {
        let mut known = lock(&self.extensions);
        if let Some((since, found)) = known.as_ref()
            && since.elapsed() < EXTENSIONS_TTL
        {
            return found.clone();
        }
        let found = packs::extensions_below(&self.project);
        *known = Some((Instant::now(), found.clone()));
        found
    }

    /// The token limit of one injection.
    fn max_tokens(&self) -> usize {
        self.context.settings.count(&table::PACKS_TOKENS)
    }
}
