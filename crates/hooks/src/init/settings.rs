//! Hooks in a settings file: added beside existing ones, and removed again.
//!
//! Only `hooks` is read. An undocumented structure (a group that is not an object, a matcher that is not a text, a
//! duplicate name) is reported and the file left unchanged: a guess could disable hooks that a person relies on.

use super::clients::{self, Client, Program};
use super::text::{self, Edit, Node};
use serde_json::{Map, Value};

/// The reason why a file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It is not JSON: where, and why.
    Broken(String),
    /// It is JSON with an undocumented structure.
    Odd(String),
}

/// A settings file with hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MergedSettings {
    pub(super) text: String,
    pub(super) edits: Vec<Edit>,
    /// Events with a new hook.
    pub(super) added: Vec<&'static str>,
    /// Events whose hook is Marvin's, but was changed.
    pub(super) changed: Vec<&'static str>,
}

/// The levels that are laid out over several lines: `hooks`, the event, and the list of its groups.
const LEVELS: usize = 2;

/// Adds a client's hooks to a text.
pub(super) fn merge(before: &str, client: Client, program: &Program) -> Result<MergedSettings, Trouble> {
    let mut merged = MergedSettings {
        text: before.to_string(),
        edits: Vec::new(),
        added: Vec::new(),
        changed: Vec::new(),
    };
    let mut missing: Vec<(&'static str, Value)> = Vec::new();
    let value = read(before)?;
    for event in client.events() {
        let group = clients::group(client, event, program);
        match ours(&value, client, event) {
            MarvinHookGroups::Nothing => missing.push((event, group)),
            MarvinHookGroups::Groups(groups) if groups == [&group] => {}
            MarvinHookGroups::Groups(groups)
                if groups == [&clients::group(client, event, &program.other())] => {}
            MarvinHookGroups::Groups(_) => merged.changed.push(event),
        }
    }
    merged.added = missing.iter().map(|(event, _)| *event).collect();
    if missing.is_empty() {
        return Ok(merged);
    }
    let lost = || Trouble::Odd("its layout cannot be followed".to_string());
    if before.trim().is_empty() {
        let hooks: Map<String, Value> = members(&missing);
        merged.text = text::whole(
            &Value::Object([("hooks".to_string(), Value::Object(hooks))].into_iter().collect()),
            LEVELS + 1,
        );
        merged.edits.push(Edit { at: 0, len: merged.text.len(), was: before.to_string() });
        return Ok(merged);
    }
    if value.get("hooks").is_none() {
        let hooks = Value::Object(members(&missing));
        let root = Node::read(before).ok_or_else(lost)?;
        let edit = root.append(&mut merged.text, Some("hooks"), &hooks, LEVELS).ok_or_else(lost)?;
        merged.edits.push(edit);
        return Ok(merged);
    }
    for (event, group) in missing {
        let root = Node::read(&merged.text).ok_or_else(lost)?;
        let hooks = root.member("hooks").ok_or_else(lost)?;
        let edit = match hooks.member(event) {
            Some(list) => list.append(&mut merged.text, None, &group, 0),
            None => hooks.append(&mut merged.text, Some(event), &Value::Array(vec![group]), LEVELS - 1),
        };
        merged.edits.push(edit.ok_or_else(lost)?);
    }
    Ok(merged)
}

fn members(missing: &[(&'static str, Value)]) -> Map<String, Value> {
    missing.iter().map(|(event, group)| ((*event).to_string(), Value::Array(vec![group.clone()]))).collect()
}

/// Removes a client's hooks from a text, with lists and objects that become empty.
pub(super) fn take_out(before: &str, client: Client) -> Result<String, Trouble> {
    let mut text = before.to_string();
    loop {
        let value = read(&text)?;
        let Some(place) = find(&value, client) else { return Ok(text) };
        let lost = || Trouble::Odd("its layout cannot be followed".to_string());
        let root = Node::read(&text).ok_or_else(lost)?;
        remove(&mut text, &root, &place).ok_or_else(lost)?;
    }
}

/// Whether a valid text has a hook of Marvin.
pub(super) fn holds(text: &str, client: Client) -> bool {
    read(text).is_ok_and(|value| find(&value, client).is_some())
}

/// Whether it has no content.
pub(super) fn is_empty(text: &str) -> bool {
    text.trim().is_empty() || read(text).is_ok_and(|value| value.as_object().is_some_and(Map::is_empty))
}

/// Whether two texts are equal, apart from empty lists and objects of hooks.
pub(super) fn same(one: &str, two: &str) -> bool {
    let pruned = |text: &str| {
        let mut value = read(text).ok()?;
        if let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) {
            hooks.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
        }
        if value.get("hooks").and_then(Value::as_object).is_some_and(Map::is_empty) {
            value.as_object_mut()?.shift_remove("hooks");
        }
        Some(value)
    };
    pruned(one).is_some_and(|one| pruned(two).is_some_and(|two| one == two))
}

/// Whether the file disables all hooks.
pub(super) fn switched_off(text: &str) -> bool {
    read(text).is_ok_and(|value| value.get("disableAllHooks") == Some(&Value::Bool(true)))
}

/// The position of one of Marvin's entries: event, group, entry.
struct Place {
    event: &'static str,
    group: usize,
    handler: usize,
}

fn find(value: &Value, client: Client) -> Option<Place> {
    client.events().into_iter().find_map(|event| {
        let groups = value.get("hooks")?.get(event)?.as_array()?;
        groups.iter().enumerate().find_map(|(group, value)| {
            let handlers = value.get("hooks")?.as_array()?;
            let handler = handlers.iter().position(|handler| clients::is_ours(handler, client, event))?;
            Some(Place { event, group, handler })
        })
    })
}

/// Removes the entry, or the largest value around it without other content.
fn remove(text: &mut String, root: &Node, place: &Place) -> Option<Edit> {
    let hooks = root.member("hooks")?;
    let groups = hooks.member(place.event)?;
    let handlers = groups.entry(place.group)?.member("hooks")?;
    match (handlers.len(), groups.len(), hooks.len()) {
        (1, 1, 1) => root.remove_member(text, "hooks"),
        (1, 1, _) => hooks.remove_member(text, place.event),
        (1, _, _) => groups.remove(text, place.group),
        _ => handlers.remove(text, place.handler),
    }
}

enum MarvinHookGroups<'a> {
    Nothing,
    /// Every group with one of Marvin's entries.
    Groups(Vec<&'a Value>),
}

fn ours<'a>(value: &'a Value, client: Client, event: &str) -> MarvinHookGroups<'a> {
    let groups = value.get("hooks").and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
    let has_ours = |group: &&Value| {
        let handlers = group.get("hooks").and_then(Value::as_array);
        handlers
            .is_some_and(|handlers| handlers.iter().any(|handler| clients::is_ours(handler, client, event)))
    };
    let found: Vec<&Value> = groups.into_iter().flatten().filter(has_ours).collect();
    if found.is_empty() { MarvinHookGroups::Nothing } else { MarvinHookGroups::Groups(found) }
}

/// Parses a settings file and checks the structure of its hooks.
fn read(text: &str) -> Result<Value, Trouble> {
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    if plain.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let value: Value = serde_json::from_str(plain).map_err(|error| Trouble::Broken(broken(plain, &error)))?;
    let odd = |what: String| Err(Trouble::Odd(what));
    if !value.is_object() {
        return odd("it is not a JSON object".to_string());
    }
    if let Some(name) = Node::read(text).as_ref().and_then(Node::twice) {
        return odd(format!("the name `{name}` stands twice in one object"));
    }
    let Some(hooks) = value.get("hooks") else { return Ok(value) };
    let Some(hooks) = hooks.as_object() else { return odd("`hooks` is not an object".to_string()) };
    for (event, groups) in hooks {
        let Some(groups) = groups.as_array() else {
            return odd(format!("`hooks.{event}` is not a list of groups"));
        };
        for (index, group) in groups.iter().enumerate() {
            let at = format!("hooks.{event}[{index}]");
            let Some(group) = group.as_object() else { return odd(format!("`{at}` is not an object")) };
            if group.get("matcher").is_some_and(|matcher| !matcher.is_string()) {
                return odd(format!("`{at}.matcher` is not a text"));
            }
            let Some(handlers) = group.get("hooks").and_then(Value::as_array) else {
                return odd(format!("`{at}.hooks` is not a list"));
            };
            if let Some(index) = handlers.iter().position(|handler| !handler.is_object()) {
                return odd(format!("`{at}.hooks[{index}]` is not an object"));
            }
        }
    }
    Ok(value)
}

/// The position and reason of a JSON error.
fn broken(text: &str, error: &serde_json::Error) -> String {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let beginning: String = line.chars().take(error.column()).collect();
    let comment = beginning.trim_start().starts_with('/') || beginning.trim_end().ends_with('/');
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    let reason = if comment { "JSON has no comments" } else { reason };
    if error.is_eof() {
        return format!("line {}: it ends too early", text.lines().count());
    }
    format!("line {}, column {}: {reason}", error.line(), error.column())
}
