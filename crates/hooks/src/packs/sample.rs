//! Sample packs for benchmarks.

use super::LessonLine;
use std::path::Path;

/// Writes `packs` packs with `lessons` lessons in all into a directory.
pub fn write(directory: &Path, packs: usize, lessons: usize) -> std::io::Result<()> {
    let guardrails: String =
        (1..=25).map(|n| format!("- Rule {n}: handle every error where it can be fixed.\n")).collect();
    for number in 0..packs {
        let name = format!("pack-{number}");
        let directory = directory.join(&name);
        std::fs::create_dir_all(&directory)?;
        let facts = serde_json::json!({
            "name": name, "version": "1.0.0", "owner": "bench", "description": format!("What team {number} knows"),
            "categories": [format!("area-{number}"), "testing", "security"],
            "applies_to": {"extensions": [".ts", ".rs", format!(".x{number}")]},
            "depends_on": [format!("pack-{}", (number + 1) % packs)],
            "sensitive_paths": [format!("**/secret-{number}/**"), "**/.env*"],
            "excludes_paths": ["node_modules/", "dist/", "target/"],
            "references": {"code_paths": [format!("src/area{number}/"), format!("apps/*/area{number}/**")]},
        });
        std::fs::write(directory.join("pack.json"), facts.to_string())?;
        std::fs::write(directory.join("guardrails.md"), format!("# Area {number}\n{guardrails}"))?;
        let own = lessons / packs + usize::from(number < lessons % packs);
        let lines: String = (0..own)
            .map(|n| {
                let lesson = LessonLine {
                    timestamp: "2026-02-03T04:05:06.789Z".into(),
                    category: format!("area-{number}"),
                    title: format!("Lesson {n} about the order of writes in area {number}"),
                    description: "Two writers raced for the same row, and the slower one won.".into(),
                    actionable: format!("Take the lock of area {number} before reading the row, and keep it until the write of step {n} is through."),
                    utility_score: Some(f64::from(u32::try_from(n % 100).unwrap_or(0)) / 100.0),
                    ..LessonLine::default()
                };
                serde_json::to_string(&lesson).unwrap_or_default() + "\n"
            })
            .collect();
        std::fs::write(directory.join("lessons.jsonl"), lines)?;
    }
    Ok(())
}
