//! TURBOTIME: four tools about games and news that a person switches on, one by one, for a session.
//!
//! A [`Selection`] is the person's choice: without it none of these tools is offered. A selected tool passes the same gate as
//! every other; only its own service may be reached because it was selected. Replies are cached ([`cache`]).

mod cache;
mod hops;
mod knowledge;
mod news;
mod scryfall;
mod service;
mod steam;

use crate::tool::DynTool;
use marvin_base::settings::nearest_of;
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
    pub fn read(text: &str) -> Result<Self, String> {
        let mut selected = BTreeSet::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "all" => selected.extend(TOOLS.map(|(name, _)| name)),
                "on" | "none" => {}
                _ => {
                    selected.insert(find(word).ok_or_else(|| unknown(word))?);
                }
            }
        }
        Ok(Selection(selected))
    }

    /// Toggles one tool; returns whether it is on now.
    ///
    /// # Errors
    /// Names the nearest tool and all tools.
    pub fn toggle(&mut self, word: &str) -> Result<bool, String> {
        let name = find(word.trim()).ok_or_else(|| unknown(word))?;
        let on = !self.0.remove(name);
        if on {
            self.0.insert(name);
        }
        Ok(on)
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

fn unknown(word: &str) -> String {
    let near = nearest_of(word, TOOLS.iter().flat_map(|(name, short)| [*name, *short]))
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    let all = TOOLS.map(|(name, short)| format!("{name} ({short})")).join(", ");
    format!(
        "`{}` is not a TURBOTIME tool{near}\n  hint: {all}, or all",
        marvin_base::truncate::line(word, 60)
    )
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
        let wrong = Selection::read("scryfal").unwrap_err();
        assert!(wrong.contains("did you mean `scryfall`?") && wrong.contains("hint"), "{wrong}");
        let mut selection = Selection::default();
        assert!(selection.toggle("steam").unwrap() && !selection.toggle("steam.game_lookup").unwrap());
        assert_eq!(find("game_knowledge_search"), Some("game.knowledge_search"));
    }
}
