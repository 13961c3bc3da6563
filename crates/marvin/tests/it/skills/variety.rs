//! Skills in the variety that public repositories have: each is usable, or refused with the reason.

use crate::support::World;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A row of `variety.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillCase {
    directory: String,
    text: String,
    /// A part of the reason; empty: it is usable.
    #[serde(default)]
    refused: String,
}

fn cases() -> Vec<SkillCase> {
    let mut rows: BTreeMap<String, Vec<SkillCase>> = toml::from_str(include_str!("variety.toml")).unwrap();
    rows.remove("skill").unwrap()
}

#[test]
fn skills_of_others_are_usable_or_refused_with_the_reason() {
    let world = World::new();
    let cases = cases();
    assert!(cases.len() >= 30);
    for case in &cases {
        world.write(&format!(".agents/skills/{}/SKILL.md", case.directory), &case.text);
    }
    let long = "word ".repeat(300);
    world.write(
        ".agents/skills/long/SKILL.md",
        &format!("---\nname: long\ndescription: {long}\n---\nText.\n"),
    );
    world.write(
        ".agents/skills/huge/SKILL.md",
        &format!("---\nname: huge\ndescription: x\n---\n{}", "x".repeat(300_000)),
    );
    world.write(".agents/skills/empty/README.md", "no SKILL.md");
    std::fs::create_dir_all(world.project().join(".agents/skills/latin")).unwrap();
    std::fs::write(
        world.project().join(".agents/skills/latin/SKILL.md"),
        b"---\nname: latin\ndescription: caf\xe9\n---\nx",
    )
    .unwrap();
    let aliases = (0..9)
        .map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(if n == 0 { 0 } else { 9 })));
    let bomb = format!("---\nname: bomb\ndescription: x\n{}---\nText.\n", aliases.collect::<String>());
    world.write(".agents/skills/bomb/SKILL.md", &bomb);

    let found = world.marvin(["list-skills", "--json"]).run().exits(0).quiet().json();
    let usable: Vec<&str> =
        found["skills"].as_array().unwrap().iter().map(|skill| skill["name"].as_str().unwrap()).collect();
    let refused: BTreeMap<&str, &str> = found["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["reason"].as_str().unwrap()))
        .collect();
    for SkillCase { directory, refused: reason, .. } in &cases {
        let found = refused.get(directory.as_str()).copied();
        assert_eq!(usable.contains(&directory.as_str()), reason.is_empty(), "{directory}: {found:?}");
        assert!(found.unwrap_or_default().contains(reason), "{directory}: {found:?}");
    }
    let of = |name: &str| refused.get(name).copied().unwrap_or("usable");
    assert_eq!(of("long"), "its description is longer than 1024 characters");
    assert_eq!(of("huge"), "cannot read SKILL.md: it is larger than 262144 bytes");
    assert_eq!(of("empty"), "it has no SKILL.md");
    assert_eq!(of("latin"), "cannot read SKILL.md: it is not UTF-8 text");
    assert!(of("bomb").contains("cannot be parsed"), "{}", of("bomb"));
    assert_eq!(usable.len() + refused.len(), cases.len() + 5 + 7);
}
