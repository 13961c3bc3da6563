//! TURBOTIME: four tools about games and news that a person switches on, one by one, for a session.
//!
//! A [`Selection`] is the person's choice: without it none of these tools is offered. A selected tool passes the same gate as
//! every other; only its own service may be reached because it was selected. Replies are cached ([`crate::service`]).

mod hops;
mod knowledge;
mod news;
mod scryfall;
mod service;
mod steam;

use crate::tool::DynTool;
use marvin_base::settings::nearest_of;
use marvin_base::truncate;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Begins the error of a call of a tool that was not selected.
pub const NOT_ENABLED: &str = "Tool not enabled.";
/// Every tool and its short name.
pub const TOOLS: [(&str, &str); 4] = [
    (scryfall::NAME, "scryfall"),
    (steam::NAME, "steam"),
    (knowledge::NAME, "knowledge"),
    (news::NAME, "news"),
];

/// The tools that a person switched on for a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(BTreeSet<&'static str>);

impl Selection {
    /// Parses names or short names, separated by commas; `all` is all of them, `on` none yet.
    ///
    /// # Errors
    /// Names the nearest tool and all tools.
    pub fn read(text: &str) -> Result<Self, UnknownTool> {
        let mut selected = BTreeSet::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "all" => selected.extend(TOOLS.map(|(name, _)| name)),
                "on" | "none" => {}
                _ => {
                    selected.insert(find(word).ok_or_else(|| UnknownTool(word.to_string()))?);
                }
            }
        }
        Ok(Selection(selected))
    }

    /// The names, in a stable order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().copied().collect()
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn DynTool>> {
        let all: [Arc<dyn DynTool>; 4] = [
            Arc::new(scryfall::Lookup),
            Arc::new(steam::GameLookup),
            Arc::new(knowledge::KnowledgeSearch),
            Arc::new(news::HeadlineSearch),
        ];
        all.into_iter().filter(|tool| self.0.contains(tool.name())).collect()
    }
}

/// The tool of this name, short name, or name as a vendor's wire spells it.
pub(crate) fn find(word: &str) -> Option<&'static str> {
    let same = |(name, short): &&(&'static str, &str)| {
        *name == word || *short == word || name.replace('.', "_") == word
    };
    TOOLS.iter().find(same).map(|(name, _)| *name)
}

/// A name that is not that of a TURBOTIME tool.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not a TURBOTIME tool{}\n  hint: {}", truncate::line(.0, 60), self.nearest(), UnknownTool::hint())]
pub struct UnknownTool(String);

impl UnknownTool {
    fn nearest(&self) -> String {
        let near = nearest_of(&self.0, TOOLS.iter().flat_map(|(name, short)| [*name, *short]));
        near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
    }

    fn hint() -> String {
        format!("{}, or all", TOOLS.map(|(name, short)| format!("{name} ({short})")).join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_what_was_named() {
        assert_eq!(
            Selection::read("news, scryfall.lookup").unwrap().names(),
            ["news.headline_search", "scryfall.lookup"]
        );
        assert_eq!(Selection::read("all").unwrap().tools().len(), 4);
        assert!(Selection::read("on").unwrap().tools().is_empty());
        let wrong = Selection::read("scryfal").unwrap_err().to_string();
        assert!(wrong.contains("did you mean `scryfall`?") && wrong.contains("hint"), "{wrong}");
        assert_eq!(find("game_knowledge_search"), Some("game.knowledge_search"));
    }
}
