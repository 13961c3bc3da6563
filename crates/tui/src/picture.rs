//! Pictures that a tool saved, shown in terminals that can show them.
//!
//! Two protocols take a PNG as it is: kitty's (kitty, Ghostty, Konsole) and iTerm2's (iTerm2, WezTerm, mintty). The terminal is
//! known by variables of the environment, since a question to it could be answered into the person's next line.
//!
//! Limits: sixel needs the pixels, and so a decoder of PNG that nothing else here needs. tmux and screen pass no pictures on. In
//! all of these the path of the picture is shown, as everywhere.

use crate::terminal::base64;
use marvin_base::environment::Environment;
use marvin_base::files::{self, Links};
use serde_json::Value;
use std::path::Path;

/// Tools whose result names a picture.
const PICTURE_TOOLS: [&str; 1] = ["blender_screenshot"];
const MAX_PICTURE_BYTES: u64 = 8 * 1024 * 1024;
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Bytes of base64 in one message of kitty's protocol.
const KITTY_CHUNK_BYTES: usize = 4_096;
const MAX_COLUMNS: u16 = 60;

/// A protocol by which a terminal takes pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureProtocol {
    Kitty,
    Iterm,
}

impl PictureProtocol {
    /// The protocol of the terminal that these variables describe.
    #[must_use]
    pub fn detect(environment: &Environment) -> Option<Self> {
        let value = |name: &str| environment.get(name).unwrap_or_default();
        if ["TMUX", "STY"].iter().any(|name| !value(name).is_empty()) {
            return None;
        }
        let is_kitty = ["KITTY_WINDOW_ID", "KONSOLE_VERSION"].iter().any(|name| !value(name).is_empty())
            || matches!(value("TERM"), "xterm-kitty" | "xterm-ghostty")
            || value("TERM_PROGRAM") == "ghostty";
        let is_iterm = matches!(value("TERM_PROGRAM"), "iTerm.app" | "WezTerm" | "mintty")
            || value("LC_TERMINAL") == "iTerm2";
        match (is_kitty, is_iterm) {
            (true, _) => Some(PictureProtocol::Kitty),
            (false, true) => Some(PictureProtocol::Iterm),
            (false, false) => None,
        }
    }

    /// The sequence that shows a PNG at the cursor, at most this many columns wide.
    #[must_use]
    pub fn encode(self, png: &[u8], columns: u16) -> String {
        let columns = columns.clamp(1, MAX_COLUMNS);
        let text = base64(png);
        match self {
            PictureProtocol::Iterm => format!(
                "\u{1b}]1337;File=inline=1;size={};width={columns};preserveAspectRatio=1:{text}\u{7}",
                png.len()
            ),
            PictureProtocol::Kitty => {
                let mut sequence = String::with_capacity(text.len() + text.len() / 64);
                let mut rest = text.as_str();
                // Without an answer of the terminal, which would be read as keys.
                let mut keys = format!("a=T,f=100,q=2,c={columns},");
                while !rest.is_empty() {
                    let (chunk, after) = rest.split_at(rest.len().min(KITTY_CHUNK_BYTES));
                    let more = u8::from(!after.is_empty());
                    sequence.push_str(&format!("\u{1b}_G{keys}m={more};{chunk}\u{1b}\\"));
                    keys.clear();
                    rest = after;
                }
                sequence
            }
        }
    }

    /// The sequence that removes all pictures; what is below them has to be drawn again.
    #[must_use]
    pub(crate) fn remove_all(self) -> &'static str {
        match self {
            PictureProtocol::Kitty => "\u{1b}_Ga=d,d=A,q=2\u{1b}\\",
            PictureProtocol::Iterm => "",
        }
    }
}

/// The PNG that a completed tool call of an event saved.
#[must_use]
pub fn picture_of_event(kind: &str, data: &Value) -> Option<Vec<u8>> {
    let text = |path: &str| data.pointer(path).and_then(Value::as_str);
    let is_picture = kind == "item.completed"
        && text("/item/type") == Some("tool_call")
        && text("/item/tool").or(text("/item/name")).is_some_and(|name| PICTURE_TOOLS.contains(&name));
    is_picture.then(|| read_png(Path::new(text("/item/result/data/path")?)))?
}

/// The PNG that a tool's result names.
#[must_use]
pub fn picture_of_result(tool: &str, result: &Value) -> Option<Vec<u8>> {
    let path = result.pointer("/data/path").and_then(Value::as_str)?;
    PICTURE_TOOLS.contains(&tool).then(|| read_png(Path::new(path)))?
}

fn read_png(path: &Path) -> Option<Vec<u8>> {
    let bytes = files::read(path, MAX_PICTURE_BYTES, Links::Refuse).ok()?;
    bytes.starts_with(PNG_SIGNATURE).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn terminals_are_known_by_their_variables() {
        let detect = |variables: &[(&str, &str)]| {
            PictureProtocol::detect(&variables.iter().copied().collect::<Environment>())
        };
        assert_eq!(detect(&[("TERM", "xterm-kitty")]), Some(PictureProtocol::Kitty));
        assert_eq!(detect(&[("KITTY_WINDOW_ID", "1")]), Some(PictureProtocol::Kitty));
        assert_eq!(detect(&[("TERM_PROGRAM", "ghostty")]), Some(PictureProtocol::Kitty));
        assert_eq!(detect(&[("TERM_PROGRAM", "WezTerm")]), Some(PictureProtocol::Iterm));
        assert_eq!(detect(&[("LC_TERMINAL", "iTerm2")]), Some(PictureProtocol::Iterm));
        assert_eq!(detect(&[("TERM", "xterm-256color")]), None);
        assert_eq!(detect(&[("KITTY_WINDOW_ID", "1"), ("TMUX", "/tmp/tmux-0/default,1,0")]), None);
    }

    #[test]
    fn long_pictures_are_sent_in_chunks() {
        let png = [PNG_SIGNATURE, &[0; 6_000]].concat();
        let sequence = PictureProtocol::Kitty.encode(&png, 500);
        let messages: Vec<&str> = sequence.split_terminator("\u{1b}\\").collect();
        assert!(messages[0].starts_with("\u{1b}_Ga=T,f=100,q=2,c=60,m=1;iVBORw0KGgo"), "{}", messages[0]);
        assert!(messages[1].starts_with("\u{1b}_Gm=0;"), "{}", messages[1]);
        assert_eq!(messages.len(), 2);
        let sequence = PictureProtocol::Iterm.encode(PNG_SIGNATURE, 40);
        assert_eq!(
            sequence,
            "\u{1b}]1337;File=inline=1;size=8;width=40;preserveAspectRatio=1:iVBORw0KGgo=\u{7}"
        );
    }

    #[test]
    fn only_pictures_of_known_tools_are_shown() {
        let directory = tempfile::tempdir().unwrap();
        let (png, text) = (directory.path().join("a.png"), directory.path().join("b.png"));
        std::fs::write(&png, PNG_SIGNATURE).unwrap();
        std::fs::write(&text, "\u{1b}]0;title\u{7}").unwrap();
        let event = |tool: &str, path: &Path| json!({"item": {"type": "tool_call", "name": tool, "result": {"data": {"path": path}}}});
        let shown = |tool, path| picture_of_event("item.completed", &event(tool, path));
        assert_eq!(shown("blender_screenshot", &png).as_deref(), Some(PNG_SIGNATURE));
        assert_eq!(shown("download_file", &png), None);
        assert_eq!(shown("blender_screenshot", &text), None);
        assert_eq!(picture_of_event("item.started", &event("blender_screenshot", &png)), None);
        let result = json!({"data": {"path": png}});
        assert_eq!(picture_of_result("blender_screenshot", &result).as_deref(), Some(PNG_SIGNATURE));
    }
}
