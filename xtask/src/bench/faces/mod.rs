//! `faces`: what a person feels. The terminal's part is in [`terminal`], the browser's in [`web`].

mod terminal;
mod web;

use serde_json::{Value, json};

/// Measures.
pub(crate) fn run() -> Result<Value, String> {
    let terminal = terminal::run()?;
    let web = web::run()?;
    let ok = [&terminal, &web].iter().all(|part| part.get("ok").and_then(Value::as_bool) == Some(true));
    Ok(json!({"bench": "faces", "terminal": terminal, "web": web, "ok": ok}))
}
