//! Lines of a `--script` file: the replies of the scripted model.

use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Default, Serialize)]
pub(crate) struct ScriptEntry<'a> {
    pub(crate) reply: ScriptReply<'a>,
    /// Pieces in which the text is streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chunks: Option<usize>,
    /// Whether the entry stays after its use.
    pub(crate) repeat: bool,
}

#[derive(Default, Serialize)]
pub(crate) struct ScriptReply<'a> {
    pub(crate) text: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<ScriptCall<'a>>,
}

#[derive(Serialize)]
pub(crate) struct ScriptCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) arguments: BTreeMap<&'a str, &'a str>,
}

impl<'a> ScriptEntry<'a> {
    /// An entry that answers once with a text.
    pub(crate) fn with_text(text: &'a str) -> Self {
        ScriptEntry { reply: ScriptReply { text, ..ScriptReply::default() }, ..ScriptEntry::default() }
    }

    /// The entry as a line of the file.
    pub(crate) fn to_line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self).map(|line| line + "\n")
    }
}
