//! `faces`: the front ends as the user experiences them. The terminal's part is in [`terminal`],
//! the browser's in [`web`].

mod terminal;
mod web;

use super::report::is_ok;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    terminal: Value,
    web: web::Report,
    ok: bool,
}

pub(super) fn run() -> anyhow::Result<Value> {
    let (terminal, web) = (terminal::run()?, web::run()?);
    let ok = is_ok(&terminal) && web.ok;
    Ok(serde_json::to_value(Report { bench: "faces", terminal, web, ok })?)
}
