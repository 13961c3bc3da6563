//! Alarms that ring, messages of topics, and notices about cost, while a conversation is open.
//!
//! They are shown to the person and are not part of the conversation: no model reads them.

use super::events::NotificationEvent;
use super::{Chat, Inner};
use crate::ProjectContext;
use marvin_base::file_stamp::FileStamp;
use marvin_base::settings::table;
use marvin_model::cost::Totals;
use marvin_model::price::{dollars, nanos};
use marvin_tools::alarms::{RingWatcher, ensure_scheduler};
use marvin_tools::ntfy::{Follower, Subscriptions};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How often it is looked what rang.
const RING_INTERVAL: Duration = Duration::from_millis(500);
/// How often it is looked whether a scheduler is there that rings when this process is closed.
const ARM_INTERVAL: Duration = Duration::from_secs(60);

/// Where a notification comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Alarm,
    Topic,
    Cost,
}

impl Source {
    fn word(self) -> &'static str {
        match self {
            Source::Alarm => "alarm",
            Source::Topic => "ntfy",
            Source::Cost => "cost",
        }
    }
}

impl Chat {
    /// Shows a notification, which is not stored.
    pub(super) fn notify(&self, source: Source, text: &str) {
        let text = self.project().redactor.text(text).into_owned();
        self.inner.log.push("notice", &NotificationEvent { text: &text, source: source.word() });
        if source == Source::Topic {
            self.state().unread += 1;
        }
        self.tell_status();
    }

    /// Follows the topics of the active profile.
    pub(super) fn follow_topics(&self) {
        let (project, profile) = {
            let state = self.state();
            (state.project.clone(), state.profile.clone())
        };
        let subscriptions = Subscriptions::new(project.layout.ntfy_subscriptions(&profile));
        let inner = Arc::downgrade(&self.inner);
        let sink = Arc::new(move |message: marvin_tools::ntfy::TopicMessage| {
            if let Some(inner) = inner.upgrade() {
                Chat { inner }.notify(Source::Topic, &message.to_string());
            }
        });
        let _entered = self.inner.handle.enter();
        let follower = Follower::start(project.settings.clone(), subscriptions, sink);
        self.state().follower = Some(follower);
    }

    /// Shows what rings, and rings what is due. Ends with the conversation.
    pub(super) fn watch_alarms(&self) {
        self.inner.handle.spawn(watch(Arc::downgrade(&self.inner)));
    }

    /// Adds the cost of a turn, and tells when a limit of the settings is passed.
    pub(super) fn add_cost(&self, totals: &Totals) {
        let (settings, before, after, calls_before, calls) = {
            let mut state = self.state();
            let (before, calls_before) = (state.spent, state.paid_calls);
            state.spent = before.saturating_add(totals.cost);
            if totals.cost > 0 {
                state.paid_calls = calls_before.saturating_add(totals.turns);
            }
            (state.project.settings.clone(), before, state.spent, calls_before, state.paid_calls)
        };
        let crosses = |before: u64, after: u64, step: u64| step > 0 && before / step < after / step;
        let step = settings.amount(&table::COST_NOTICE).map(nanos).unwrap_or(0);
        let sum = format!("{:.2} USD for {calls} paid model calls", dollars(after));
        if crosses(before, after, step) {
            self.notify(Source::Cost, &format!("This conversation has cost {sum}."));
        } else if crosses(calls_before, calls, settings.count(&table::COST_SUMMARY) as u64) {
            self.notify(Source::Cost, &format!("Cost so far: {sum}."));
        }
    }
}

/// Ensures that what waits rings although this process ends. Front ends call it when they are closed: the scheduler may have
/// died since it was last looked for.
pub async fn arm_alarms(project: &ProjectContext) {
    if let Err(error) = ensure_scheduler(&project.layout, &project.settings, &project.environment).await {
        tracing::warn!(%error, "no scheduler");
    }
}

async fn watch(inner: Weak<Inner>) {
    let project = |inner: &Weak<Inner>| Some(Chat { inner: inner.upgrade()? }.project());
    let Some(opened) = project(&inner) else { return };
    let mut watcher = match RingWatcher::new(&opened.layout) {
        Ok(watcher) => watcher,
        Err(error) => {
            if let Some(inner) = inner.upgrade() {
                Chat { inner }.say(&format!("alarms do not ring: {error}"));
            }
            return;
        }
    };
    let (mut told, mut stamp, mut armed) = (String::new(), None, None::<Instant>);
    loop {
        let Some(project) = project(&inner) else { return };
        // After a reboot, or when the scheduler was killed, no process is left that rings when this one is closed.
        if armed.is_none_or(|armed| armed.elapsed() >= ARM_INTERVAL) {
            armed = Some(Instant::now());
            arm_alarms(&project).await;
        }
        let rings = watcher.poll(&project.settings, &project.environment);
        let Some(upgraded) = inner.upgrade() else { return };
        let chat = Chat { inner: upgraded };
        match rings {
            Ok(lines) => lines.iter().for_each(|line| chat.notify(Source::Alarm, line)),
            // Told once, not twice a second.
            Err(error) if error.to_string() != told => {
                told = error.to_string();
                chat.say(&format!("alarms do not ring: {told}"));
            }
            Err(_) => {}
        }
        chat.count_topics(&mut stamp);
        drop(chat);
        if let Err(error) = watcher.deliver(&project.settings, &project.environment).await {
            tracing::warn!(%error, "an alarm is not delivered");
        }
        tokio::time::sleep(RING_INTERVAL).await;
    }
}

impl Chat {
    /// Counts the topics that are followed, when their file changed.
    fn count_topics(&self, stamp: &mut Option<FileStamp>) {
        let (layout, profile) = {
            let state = self.state();
            (state.project.layout.clone(), state.profile.clone())
        };
        let subscriptions = Subscriptions::new(layout.ntfy_subscriptions(&profile));
        let now = FileStamp::from_path(subscriptions.path());
        if FileStamp::still(*stamp, now) {
            return;
        }
        *stamp = now;
        let topics = subscriptions.read().map_or(0, |all| all.len());
        let changed = {
            let mut state = self.state();
            std::mem::replace(&mut state.topics, topics) != topics
        };
        if changed {
            self.tell_status();
        }
    }
}
