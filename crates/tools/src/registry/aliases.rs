//! Names that other agent programs use for the same tools. `{"tool": "file", "action": "read"}` arrives as `file.read`.

use crate::{command, files, patch, search, web};
use marvin_model::Arguments;
use serde_json::Value;
use std::borrow::Cow;

/// (alias, Marvin's name).
const ALIASES: [(&str, &str); 8] = [
    ("file.read", files::READ_FILE),
    ("file.write", files::CREATE_FILE),
    ("patch.apply", patch::APPLY_PATCH),
    ("grep.search", search::CODE_GREP),
    ("pytest.run", command::RUN_TESTS),
    ("web.fetch", web::WEB_FETCH),
    ("web.search", web::WEB_SEARCH),
    ("game.knowledge_search", web::WEB_SEARCH),
];

/// Resolves an alias of a tool; returns any other name unchanged.
#[must_use]
pub fn canonical_name(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, tool)| tool)
}

/// Fields that an alias implies: (alias, field, value).
const IMPLIED: [(&str, &str, &str); 1] = [("pytest.run", "runner", "pytest")];

/// The arguments with the fields that an alias implies; the call's own fields win.
pub(super) fn with_implied<'a>(name: &str, arguments: &'a Arguments) -> Cow<'a, Arguments> {
    let Some((_, field, value)) = IMPLIED.iter().find(|(alias, ..)| *alias == name.trim()) else {
        return Cow::Borrowed(arguments);
    };
    let mut arguments = arguments.clone();
    if let Arguments::Object(map) = &mut arguments {
        map.entry(*field).or_insert_with(|| Value::from(*value));
    }
    Cow::Owned(arguments)
}
