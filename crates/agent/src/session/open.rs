//! Opening a session: everything that can be wrong is known before the first byte is written.

use super::options::{Manner, Replay, SessionOptions};
use super::resume::InterruptedRun;
use super::{Session, stages};
use crate::account::Account;
use crate::agent_toolbox::live_toolbox;
use crate::commitments::VettedCommitment;
use crate::compose::{self, access_sentence, tool_names};
use crate::error::SessionError;
use crate::launch::Launcher;
use crate::model_client::{check_budget, choose_client};
use crate::offering::{OfferedTools, Offering};
use crate::person_tools::SessionChanges;
use crate::profile::{self, Profile};
use crate::project_context::ProjectContext;
use crate::protocol;
use crate::roles::Role;
use crate::run_parts::{RunParts, RunScope, cost_limit, durability, script_state};
use crate::servitors::{self, CoordinatorInbox, Parts, Servitors};
use crate::skills::{LoadSkill, SkillSource};
use crate::tool_host::{LiveTools, RecordedTools, ToolHost};
use crate::trace::Trace;
use crate::turn::Turn;
use crate::turn_commitments::{self, TurnCommitments};
use marvin_base::ledger::Ledger;
use marvin_base::run::RunDirectory;
use marvin_base::settings::table;
use marvin_model::price::Prices;
use marvin_model::record::Recording;
use marvin_model::{ModelClient, ModelError};
use marvin_tools::turbotime::Selection;
use marvin_tools::{Tool, ToolContext};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

impl Session {
    /// Opens a session: chooses the model, makes the run's directory and writes its first lines.
    ///
    /// # Errors
    /// When anything that the session needs is missing, wrong or refused.
    pub fn open(options: SessionOptions) -> Result<Self, SessionError> {
        Session::open_run(options, None)
    }

    /// As [`Session::open`]; with the id of a run, resumes that run, which was interrupted.
    ///
    /// # Errors
    /// When anything that the session needs is missing, wrong or refused.
    pub fn open_run(options: SessionOptions, resume: Option<&str>) -> Result<Self, SessionError> {
        let request = Request::check(&options)?;
        let SessionOptions { manner, record, response_schema, cancel, replay, turbotime, .. } = options;
        let project = Arc::new(options.project);
        let settings = &project.settings;
        let interrupted = resume.map(|id| InterruptedRun::find(&project.layout, id)).transpose()?;
        let run = interrupted.as_ref().map(|interrupted| interrupted.run.clone());
        let run = run.map_or_else(|| RunDirectory::create_in(&project.layout), Ok)?;
        let client = client(&project, &run, replay.as_ref(), record.as_deref())?;
        let promised = match &replay {
            None if project.coding && project.workspace.is_some() => {
                Some(TurnCommitments::of_turn(&project, &run, &request.commitments)?)
            }
            _ => None,
        };
        let proof = turn_commitments::verifier(
            &project,
            promised.as_ref(),
            manner == Manner::Unattended,
            replay.as_ref().map(|replay| replay.verifications.as_slice()),
        );
        let ledger = Ledger::open_chained(&run.trace(), durability(settings), project.redactor.clone())?;
        let before = interrupted.as_ref().map(|interrupted| interrupted.events.as_slice());
        let trace = Arc::new(Trace::resume(ledger, options.listener, before.unwrap_or_default()));
        let parts = RunParts::open(&project, &run, RunScope::Tree, request.prices, &cancel)?;
        let context = ToolContext {
            attended: options.approver.is_some(),
            approver: options.approver,
            agent: promised.as_ref().map(|promised| promised.document().into()),
            ..parts.tool_context()
        };
        let servitors = options.servitors.unwrap_or_else(|| Servitors::new(project.clone(), "a turn"));
        let (usual, rounds) = match project.coding {
            true => (Role::Coder, &table::MAX_ROUNDS),
            false => (Role::Chat, &table::MAX_ROUNDS_CHAT),
        };
        let role = settings.given(&table::ROLE).and_then(|name| Role::find(name).ok()).unwrap_or(usual);
        let launcher =
            Launcher::new(&project, client.as_ref(), &parts.cost, &parts.script_state, parts.run.logs());
        let changes: Arc<SessionChanges> = Arc::default();
        let mut toolbox = live_toolbox(
            &project,
            &servitors,
            turbotime.as_ref(),
            launcher.as_ref(),
            &context.access,
            &changes,
        );
        let skills = match &replay {
            Some(replay) => SkillSource::Recorded(replay.skills.clone()),
            None => SkillSource::Registry(project.skills.clone()),
        };
        let has_skills = !skills.lines(role, &tool_names(&toolbox.specs())).is_empty();
        let offering = offering(&project, role, request.depth, turbotime.as_ref(), has_skills);
        offering.tool().into_iter().for_each(|tool| toolbox.add(Arc::new(tool)));
        let unknown_names = offering.unknown_names(&tool_names(&toolbox.specs()));
        let toolbox = Arc::new(toolbox);
        let tools: Arc<dyn ToolHost> = match &replay {
            Some(replay) => RecordedTools::new(&toolbox, replay.tape.tool_results()),
            None => Arc::new(LiveTools::new(toolbox.clone(), context.clone())),
        };
        let tools = OfferedTools::new(tools, offering);
        let resumed = interrupted
            .as_ref()
            .map(|interrupted| Account::from_events(&interrupted.events, &|tool| tools.changes(tool)));
        let (setting, native_tools) = (settings.text(&table::PROTOCOL), client.native_tools());
        let worker_protocol = protocol::choose_for_worker(setting, native_tools);
        let mut turn = parts.turn(client, trace.clone(), tools, role, rounds);
        turn.protocol = match request.depth {
            0 => protocol::choose(setting, native_tools),
            _ => worker_protocol.clone(),
        };
        turn.step = settings.given(&table::STEP).map(str::to_string);
        turn.response_schema = response_schema;
        turn.proof = proof;
        let date = day(replay.as_ref(), interrupted.as_ref(), &run);
        let access = access_sentence(&context.access, &context.duty);
        let lent = (replay.is_none() && request.depth == 0).then(|| Parts {
            turn: Turn { protocol: worker_protocol, ..turn.clone() },
            context,
            toolbox,
            servitor_tools: servitors::tools::all(&Arc::downgrade(&servitors)),
            date: date.clone(),
            // In a run that is recorded every servitor asks the same model.
            script_state: record.is_none().then(|| parts.script_state.clone()),
        });
        if lent.is_some() {
            turn.journal = Some(Arc::new(CoordinatorInbox(servitors.clone())));
        }
        let framing = stages::framing(turbotime.as_ref());
        turn.stages = stages::of_turn(&turn, manner, replay.as_ref(), request.depth, framing);
        let profile = profile::active(&project.layout, settings.given(&table::PROFILE));
        let mut session = Session {
            changes,
            servitors,
            skills,
            extras: interrupted.as_ref().map(|one| one.turn.extras.clone()).unwrap_or_default(),
            record: interrupted.map(|interrupted| interrupted.record).unwrap_or_default(),
            coding: project.coding,
            role,
            offers: Vec::new(),
            earlier: None,
            resumed,
            settings: settings.clone(),
            layout: project.layout.clone(),
            redactor: project.redactor.clone(),
            run,
            trace,
            cost: parts.cost,
            turn,
            profile: Profile::read(&project.layout, &profile),
            manner,
            workspace: project.workspace.clone(),
            access,
            date,
            replay,
            opened: Instant::now(),
            layers: parts.layers,
            promised,
        };
        if let Some(selection) = &turbotime {
            session.turn_record().turbotime =
                Some(selection.names().iter().map(ToString::to_string).collect());
        }
        session.begin(record.as_deref(), &project.directory, project.starting_settings())?;
        let notices = project.external_tools.notices.iter().cloned().chain(unknown_names);
        session.warn(parts.unjudged.into_iter().chain(notices))?;
        session.warn_of(&request.commitments)?;
        if let Some(lent) = lent {
            session.servitors.lend(lent);
        }
        Ok(session)
    }
}

/// A request that can be carried out, as far as that is known before anything is written.
struct Request {
    prices: Prices,
    depth: i64,
    commitments: Vec<VettedCommitment>,
}

impl Request {
    fn check(options: &SessionOptions) -> Result<Self, SessionError> {
        let project = &options.project;
        if let Some(schema) = &options.response_schema {
            jsonschema::validator_for(schema).map_err(|error| SessionError::Schema(error.to_string()))?;
        }
        let prices = Prices::load(Some(&project.layout.prices()))?;
        let depth = project.depth()?;
        let probe = replayed_or_chosen(project, options.replay.as_ref(), None)?;
        check_budget(cost_limit(&project.settings), probe.as_ref(), &prices, &project.layout)?;
        let commitments = turn_commitments::examine(project, &options.commitments)?;
        Ok(Request { prices, depth, commitments })
    }
}

/// Day that the prompts name: that of the recording, or of the run when it began.
fn day(replay: Option<&Replay>, interrupted: Option<&InterruptedRun>, run: &RunDirectory) -> String {
    let then = interrupted.map(|interrupted| interrupted.turn.date.clone());
    match (replay, then.filter(|date| !date.is_empty())) {
        (Some(replay), _) => replay.date.clone(),
        (None, Some(then)) => then,
        (None, None) => compose::day(run.started()),
    }
}

fn replayed_or_chosen(
    project: &ProjectContext,
    replay: Option<&Replay>,
    script_state: Option<PathBuf>,
) -> Result<Arc<dyn ModelClient>, ModelError> {
    match replay {
        Some(replay) => Ok(replay.tape.clone()),
        None => choose_client(project, script_state),
    }
}

/// Client of the session's model, recorded where `record` names a directory.
fn client(
    project: &ProjectContext,
    run: &RunDirectory,
    replay: Option<&Replay>,
    record: Option<&Path>,
) -> Result<Arc<dyn ModelClient>, SessionError> {
    let client = replayed_or_chosen(project, replay, Some(script_state(&project.settings, run)))?;
    let Some(directory) = record else { return Ok(client) };
    let directory = project.directory.join(directory);
    let recording =
        Recording::new(client, &directory, run.id(), project.redactor.clone()).inspect_err(|_| {
            // Nothing has happened yet: a run that cannot begin leaves no empty directory.
            std::fs::remove_dir_all(run.path()).ok();
        });
    Ok(Arc::new(recording?))
}

/// What the requests of a session offer. Sub-agents and agents with a role of their own have all their tools.
fn offering(
    project: &ProjectContext,
    role: Role,
    depth: i64,
    turbotime: Option<&Selection>,
    has_skills: bool,
) -> Arc<Offering> {
    if depth > 0 || !matches!(role, Role::Chat | Role::Coder) {
        return Arc::default();
    }
    let external = project.external_tools.tools.iter().map(|tool| tool.name().to_string());
    let switched_on = turbotime.map(Selection::tools).unwrap_or_default();
    let switched_on = switched_on.iter().map(|tool| tool.name().to_string());
    // A model sees these names without dots.
    let skills = has_skills.then(|| LoadSkill::NAME.to_string());
    let always: Vec<String> =
        external.chain(switched_on).chain(skills).map(|name| name.replace('.', "_")).collect();
    Offering::new(&project.settings, project.coding, always)
}
