//! Services that the person agreed to tell where they are or what they own.
//!
//! `tools.private` decides; with `ask` a person is asked once per service, and a yes is kept in the state directory, which no agent
//! writes. A second service is never told as a fall-back without its own yes.

use crate::context::ToolContext;
use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
use marvin_base::settings::{Settings, table};
use marvin_base::{atomic, clock};
use marvin_gate::{Decision, Intent};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;

const MAX_FILE_BYTES: u64 = 64 * 1024;

/// The file of consents.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Consents {
    version: u32,
    /// Moments of the answers, by the name of the service.
    services: BTreeMap<String, String>,
}

fn read(layout: &Layout) -> Consents {
    let text =
        files::read_text(&layout.service_consents(), MAX_FILE_BYTES, Links::Refuse).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// May this service be told something about the person?
pub(super) fn decision(service: &str, settings: &Settings, layout: &Layout) -> Decision {
    match settings.text(&table::TOOLS_PRIVATE) {
        "allow" => Decision::Allow,
        "deny" => Decision::Deny,
        _ if read(layout).services.contains_key(service) => Decision::Allow,
        _ => Decision::Ask,
    }
}

/// The intent of telling services something about the person. It names only those that need an answer, if any does.
pub(crate) fn share(services: &[&'static str], what: &'static str, context: &ToolContext) -> Intent {
    let judged = services.iter().map(|name| (decision(name, &context.settings, &context.layout), *name));
    let judged: Vec<(Decision, &'static str)> = judged.collect();
    let setting = judged.iter().map(|(decision, _)| *decision).max().unwrap_or(Decision::Allow);
    let named = judged.into_iter().filter(|(decision, _)| *decision == setting).map(|(_, name)| name);
    Intent::Share { services: named.collect(), what, setting }
}

/// Keeps the yes of a person to what a call tells services. One that cannot be kept is asked for again.
pub(crate) fn remember(intents: &[Intent], context: &ToolContext) {
    let shared = intents.iter().flat_map(|intent| match intent {
        Intent::Share { services, setting: Decision::Ask, .. } => services.clone(),
        _ => Vec::new(),
    });
    let shared: Vec<&'static str> = shared.collect();
    if shared.is_empty() {
        return;
    }
    let path = context.layout.service_consents();
    let write = || -> std::io::Result<()> {
        if let Some(directory) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let lock = File::options().create(true).append(true).open(path.with_extension("lock"))?;
        lock.lock()?;
        let mut consents = read(&context.layout);
        consents.version = 1;
        for service in shared {
            consents.services.insert(service.to_string(), clock::now_stamp());
        }
        let text = serde_json::to_string_pretty(&consents)? + "\n";
        atomic::replace_private(&path, text.as_bytes()).map_err(|error| error.source)
    };
    if let Err(error) = write() {
        tracing::warn!(%error, "cannot keep the consent to a service");
    }
}
