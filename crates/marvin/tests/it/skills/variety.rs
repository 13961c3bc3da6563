//! Skills in the variety that public repositories have: each is usable, or refused with the reason.

use crate::support::World;
use std::collections::BTreeMap;

/// Directory, `SKILL.md`, and a part of the reason why it is refused; empty: it is usable.
const SKILLS: [(&str, &str, &str); 36] = [
    ("plain", "---\nname: plain\ndescription: Formats dates.\n---\n# Dates\nUse ISO.\n", ""),
    (
        "licensed",
        "---\nname: licensed\ndescription: Draws charts.\nlicense: Apache-2.0. See LICENSE.txt\n---\nDraw.\n",
        "",
    ),
    (
        "folded",
        "---\nname: folded\ndescription: >\n  Reviews SQL migrations\n  before they are applied.\n---\nReview.\n",
        "",
    ),
    ("literal", "---\nname: literal\ndescription: |\n  Line one.\n  Line two: with a colon.\n---\nGo.\n", ""),
    ("quoted", "---\nname: \"quoted\"\ndescription: 'Use when: a release is cut'\n---\nTag it.\n", ""),
    (
        "tools-string",
        "---\nname: tools-string\ndescription: Git work.\nallowed-tools: Bash(git:*) Read Grep\n---\nGit.\n",
        "",
    ),
    (
        "tools-list",
        "---\nname: tools-list\ndescription: Web work.\nallowed-tools:\n  - WebFetch\n  - Bash(curl:*)\n---\nFetch.\n",
        "",
    ),
    (
        "metadata-nested",
        "---\nname: metadata-nested\ndescription: Audits.\nmetadata:\n  author: {name: Ada, url: https://example.org}\n  tags: [audit, a11y]\n---\nAudit.\n",
        "",
    ),
    ("metadata-empty", "---\nname: metadata-empty\ndescription: Lints.\nmetadata:\n---\nLint.\n", ""),
    (
        "version-number",
        "---\nname: version-number\ndescription: Bumps versions.\nmetadata:\n  version: 1.10\n---\nBump.\n",
        "",
    ),
    (
        "other-keys",
        "---\nname: other-keys\ndescription: Deploys.\ndisable-model-invocation: true\nargument-hint: '[target]'\nhooks:\n  PreToolUse: []\nmodel: inherit\n---\nDeploy $ARGUMENTS.\n",
        "",
    ),
    (
        "compatible",
        "---\nname: compatible\ndescription: Edits PDF forms.\ncompatibility: Needs Python 3.11, qpdf and network access\n---\nEdit.\n",
        "",
    ),
    ("windows", "---\r\nname: windows\r\ndescription: Runs on Windows.\r\n---\r\nUse backslashes.\r\n", ""),
    ("marked", "\u{feff}---\nname: marked\ndescription: Saved by an editor with a mark.\n---\nText.\n", ""),
    ("emoji", "---\nname: emoji\ndescription: \"🎨 Brand colours — für jede Vorlage, 色も\"\n---\n🎨\n", ""),
    (
        "comments",
        "---\n# what it is called\nname: comments # the directory\ndescription: Writes commit messages.\n---\nWrite.\n",
        "",
    ),
    ("rules-inside", "---\nname: rules-inside\ndescription: Slides.\n---\n# One\n\n---\n\n# Two\n", ""),
    (
        "json-front",
        "---\n{\"name\": \"json-front\", \"description\": \"Front matter in JSON, which is YAML too.\"}\n---\nText.\n",
        "",
    ),
    (
        "marvins-own",
        "---\nname: marvins-own\ndescription: Counts lines.\nmetadata:\n  marvin-tools: read_file run_command\n  marvin-entry: scripts/count.sh\n---\nCount.\n",
        "",
    ),
    ("2024-report", "---\nname: 2024-report\ndescription: Yearly report.\n---\nReport.\n", ""),
    ("no-front", "# Just Markdown\n\nNo front matter at all.\n", "does not begin with front matter"),
    ("toml-front", "+++\nname = 'toml-front'\n+++\nText.\n", "does not begin with front matter"),
    (
        "not-closed",
        "---\nname: not-closed\ndescription: The second line of dashes is missing.\n\n# Text\n",
        "does not begin with front matter",
    ),
    (
        "blank-first",
        "\n---\nname: blank-first\ndescription: A blank line comes first.\n---\nText.\n",
        "does not begin with front matter",
    ),
    ("no-name", "---\ndescription: It has no name.\n---\nText.\n", "has no `name`"),
    ("no-description", "---\nname: no-description\n---\nText.\n", "has no `description`"),
    (
        "empty-description",
        "---\nname: empty-description\ndescription: ''\n---\nText.\n",
        "has no `description`",
    ),
    (
        "Capital",
        "---\nname: Capital\ndescription: A name in capitals.\n---\nText.\n",
        "`Capital` is not a name",
    ),
    (
        "under_score",
        "---\nname: under_score\ndescription: A name of another convention.\n---\nText.\n",
        "`under_score` is not a name",
    ),
    (
        "display-name",
        "---\nname: Display Name\ndescription: A title in place of a name.\n---\nText.\n",
        "`Display Name` is not a name",
    ),
    (
        "renamed",
        "---\nname: former-name\ndescription: The directory was renamed.\n---\nText.\n",
        "is not that of its directory `renamed`",
    ),
    ("colon", "---\nname: colon\ndescription: Use when: the user asks\n---\nText.\n", "cannot be parsed"),
    (
        "tabs",
        "---\nname: tabs\ndescription: Indented.\nmetadata:\n\tauthor: x\n---\nText.\n",
        "cannot be parsed",
    ),
    (
        "twice",
        "---\nname: twice\nname: twice\ndescription: A key that stands twice.\n---\nText.\n",
        "cannot be parsed",
    ),
    ("listed", "---\nname: listed\ndescription: [a, b]\n---\nText.\n", "cannot be parsed"),
    ("no-text", "---\nname: no-text\ndescription: Nothing follows.\n---\n\n", "no instructions"),
];

#[test]
fn skills_of_others_are_usable_or_refused_with_the_reason() {
    let world = World::new();
    for (name, text, _) in SKILLS {
        world.write(&format!(".agents/skills/{name}/SKILL.md"), text);
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
    for (name, _, reason) in SKILLS {
        assert_eq!(usable.contains(&name), reason.is_empty(), "{name}: {:?}", refused.get(name));
        assert!(
            refused.get(name).copied().unwrap_or_default().contains(reason),
            "{name}: {:?}",
            refused.get(name)
        );
    }
    let of = |name: &str| refused.get(name).copied().unwrap_or("usable");
    assert_eq!(of("long"), "its description is longer than 1024 characters");
    assert_eq!(of("huge"), "cannot read SKILL.md: it is larger than 262144 bytes");
    assert_eq!(of("empty"), "it has no SKILL.md");
    assert_eq!(of("latin"), "cannot read SKILL.md: it is not UTF-8 text");
    assert!(of("bomb").contains("cannot be parsed"), "{}", of("bomb"));
    assert_eq!(usable.len() + refused.len(), SKILLS.len() + 5 + 7);
}
