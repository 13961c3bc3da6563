//! The census as a table, as lists of places, and as JSON.

use super::counts::{Count, Place};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) fn print_table(counts: &[Count]) -> String {
    let mut text = format!("{:<22} {:>7} {:>8} {:>7}  counts", "figure", "count", "limit", "target");
    for count in counts {
        let row = &count.figure.row;
        let target = row.target.map_or_else(|| "-".to_owned(), |target| target.to_string());
        let mark = if count.is_exceeded() { "!" } else { " " };
        let (name, total, limit) = (&row.name, count.total, count.limit());
        text.push_str(&format!("\n{name:<22} {total:>7} {limit:>8} {target:>7}{mark} {}", row.counts));
    }
    text
}

/// A figure with every place.
pub(super) fn print_all_places(count: &Count) -> String {
    let mut text = heading(count);
    for place in &count.places {
        push_place(&mut text, place, &place.note);
    }
    text
}

/// A figure with its heaviest places, or, where all weigh the same, with the first place of the
/// files that have most.
pub(super) fn print_worst_places(count: &Count, max_places: usize) -> String {
    let mut text = heading(count);
    if count.places.iter().any(|place| place.weight > 1) {
        for place in count.places.iter().filter(|place| place.weight > 0).take(max_places) {
            push_place(&mut text, place, &place.note);
        }
        return text;
    }
    let mut by_file: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
    for place in &count.places {
        by_file.entry(&place.path).or_default().push(place);
    }
    let mut files: Vec<Vec<&Place>> = by_file.into_values().collect();
    files.sort_by_key(|places| Reverse(places.len()));
    for places in files.iter().take(max_places) {
        if let [first, ..] = places.as_slice() {
            push_place(&mut text, first, &format!("{} in this file; first: {}", places.len(), first.note));
        }
    }
    text
}

fn heading(count: &Count) -> String {
    let row = &count.figure.row;
    format!("{}: {} (limit {}): {}", row.name, count.total, count.limit(), row.counts)
}

fn push_place(text: &mut String, place: &Place, note: &str) {
    let size = if place.weight > 1 { format!("{} ", place.weight) } else { String::new() };
    text.push_str(&format!("\n  {}:{}  {size}{note}", place.path, place.line));
}

#[derive(Serialize)]
struct FigureReport<'a> {
    name: &'a str,
    counts: &'a str,
    count: u64,
    limit: Option<u64>,
    at_least: Option<u64>,
    target: Option<u64>,
    is_exceeded: bool,
    places: &'a [Place],
}

pub(super) fn print_json(counts: &[Count]) -> Result<String, serde_json::Error> {
    let report: Vec<FigureReport<'_>> = counts.iter().map(to_report).collect();
    serde_json::to_string_pretty(&report)
}

fn to_report(count: &Count) -> FigureReport<'_> {
    let row = &count.figure.row;
    FigureReport {
        name: &row.name,
        counts: &row.counts,
        count: count.total,
        limit: row.limit,
        at_least: row.at_least,
        target: row.target,
        is_exceeded: count.is_exceeded(),
        places: &count.places,
    }
}
