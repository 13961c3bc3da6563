//! Names that other houses use for the same tools. `{"tool": "file", "action": "read"}` arrives as `file.read`.

use crate::{command, files, patch, search, web};
use marvin_model::Arguments;
use serde_json::Value;
use std::borrow::Cow;

/// (other name, our name).
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

/// Our name for a tool; any other name comes back as it is.
pub(super) fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, tool)| tool)
}

/// Fields that a name settles: (other name, field, value).
const SETTLED: [(&str, &str, &str); 1] = [("pytest.run", "runner", "pytest")];

/// The arguments with what the name settles; what the call says itself stays.
pub(super) fn settled<'a>(name: &str, arguments: &'a Arguments) -> Cow<'a, Arguments> {
    let Some((_, field, value)) = SETTLED.iter().find(|(alias, ..)| *alias == name.trim()) else {
        return Cow::Borrowed(arguments);
    };
    let mut arguments = arguments.clone();
    if let Arguments::Object(map) = &mut arguments {
        map.entry(*field).or_insert_with(|| Value::from(*value));
    }
    Cow::Owned(arguments)
}
