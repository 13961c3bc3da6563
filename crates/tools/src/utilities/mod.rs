//! Utilities: rates of currencies, dictionary, translation, the machine, bookmarks.

mod bookmarks;
pub(crate) mod currency;
mod dictionary;
mod system;
mod translate;

use crate::service::tool;
use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        tool::<dictionary::DictionaryLookup>(),
        tool::<translate::TranslateText>(),
        Arc::new(system::SystemInfo),
        Arc::new(bookmarks::BookmarkSave),
        Arc::new(bookmarks::BookmarkList),
        Arc::new(bookmarks::BookmarkSearch),
    ]
}
