//! Rules of the workspace: layers of crates, lengths of files, and documents that agree with the code.

use crate::support::{World, files_below};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Layers, lowest first. A crate may use only crates of lower layers.
const LAYERS: [(&str, u32); 20] = [
    ("base", 0),
    ("testing", 0),
    ("gate", 1),
    ("hook-client", 1),
    ("model", 1),
    ("mtg", 1),
    ("store", 1),
    ("memory", 2),
    ("tools", 3),
    ("agent", 4),
    ("flow", 5),
    ("table", 5),
    ("fleet", 6),
    ("pipeline", 6),
    ("lab", 6),
    ("hooks", 6),
    ("tui", 7),
    ("web", 7),
    ("mcp", 7),
    ("marvin", 8),
];

const MAX_FILE_LINES: usize = 600;

/// Names in the documents that look like settings but are not, each with its reason.
const NO_SETTINGS: [(&str, &str); 15] = [
    ("MARVIN_COST", "the last line on standard error"),
    ("MARVIN_API_SPEC", "the name of a document"),
    ("MARVIN_DESIGN", "the name of a document"),
    ("MARVIN_SPEC", "the name of a document"),
    ("BOB_LOCAL_", "the beginning of several names"),
    ("BOB_STM_", "the beginning of several names"),
    ("TOKIMON_CODEX_", "the beginning of several names"),
    ("BOB_TOOL_ROOTS", "--working-dir grants file tools"),
    ("BOB_TOOL_SANDBOX_ENABLED", "--working-dir grants file tools"),
    ("CLAUDE_CODE_SESSION_ID", "the event of a hook names its session"),
    ("CLAUDE_SESSION_ID", "the event of a hook names its session"),
    ("MARVEL_DAEMON_ID", "a hook finds the daemon by its project"),
    ("MARVEL_LOG_PATH", "the daemon logs to the state directory"),
    ("MARVEL_REQUEST_ID", "the event of a hook is its request"),
    ("MARVEL_SESSION_ID", "the event of a hook names its session"),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn layer(name: &str) -> u32 {
    let short = name.strip_prefix("marvin-").unwrap_or(name);
    let found = LAYERS.iter().find(|(known, _)| *known == short);
    found.unwrap_or_else(|| panic!("the crate `{name}` has no layer; give it one in the design and here")).1
}

#[test]
fn crates_use_only_crates_of_lower_layers() {
    let crates = workspace().join("crates");
    let mut seen = 0;
    for entry in fs::read_dir(&crates).unwrap() {
        let path = entry.unwrap().path().join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let manifest: toml::Table = toml::from_str(&text).unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_string();
        let directory = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            name == format!("marvin-{directory}") || (name == "marvin" && directory == "marvin"),
            "{name} in {directory}"
        );
        seen += 1;
        let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
        let tables = targets.filter_map(|(_, value)| value.as_table()).chain([&manifest]);
        let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
        let used = tables.flat_map(|table| kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()));
        for dependency in used.flat_map(|table| table.keys()).filter(|key| key.starts_with("marvin")) {
            assert!(
                layer(dependency) < layer(&name),
                "{name} (layer {}) uses {dependency} (layer {})",
                layer(&name),
                layer(dependency)
            );
        }
    }
    assert!(seen >= 6, "only {seen} manifests were found");
}

#[test]
fn files_stay_within_the_line_limit() {
    let sources = |directory: &str| files_below(&workspace().join(directory));
    let rust = sources("crates").into_iter().chain(sources("xtask")).filter(|path| {
        let text = path.to_string_lossy();
        text.ends_with(".rs") && !text.contains("/tests/") && !text.ends_with("/tests.rs")
    });
    let long: Vec<String> = rust
        .filter_map(|path| {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            (lines > MAX_FILE_LINES).then(|| format!("{}: {lines} lines", path.display()))
        })
        .collect();
    assert!(long.is_empty(), "longer than {MAX_FILE_LINES} lines:\n{}", long.join("\n"));
}

#[test]
fn the_constitution_has_its_required_headings() {
    let text = fs::read_to_string(workspace().join("docs/constitution.md")).unwrap();
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    for heading in
        ["Immutable Invariants", "Governance", "Red Lines", "Evaluation Plan (Required)", "Scoring Rubric"]
    {
        assert!(headings.contains(&heading), "{heading} is missing: {headings:?}");
    }
}

#[test]
fn every_documented_variable_is_a_setting() {
    let given = std::env::var_os("MARVIN_SHARED").map(PathBuf::from);
    let shared = given.unwrap_or_else(|| workspace().join("../shared"));
    let mut documents: Vec<PathBuf> = files_below(&shared.join("seeds"));
    documents.push(shared.join("contracts.md"));
    if !documents.iter().all(|path| path.is_file()) || documents.len() < 2 {
        marvin_testing::skip("the documents that name variables are not next to the workspace");
        return;
    }
    let vendors = "CODEX|CLAUDE|OPENAI|ANTHROPIC|GEMINI|GROQ|KIMI|OLLAMA|COPILOT|LLM|WHISPER|MOONSHOT|OPENROUTER|TICKETS";
    let name =
        regex::Regex::new(&format!(r"\b(?:MARVIN|TOKIMON|BOB|MARVEL|{vendors})_[A-Z][A-Z0-9_]*\b")).unwrap();
    let known: BTreeSet<&str> =
        marvin_base::settings::TABLE.iter().flat_map(|setting| setting.variables.iter().copied()).collect();
    let mut missing = BTreeSet::new();
    for document in documents.iter().filter(|path| path.extension().is_some_and(|kind| kind == "md")) {
        let text = fs::read_to_string(document).unwrap();
        for found in name.find_iter(&text).map(|found| found.as_str()) {
            let excused = NO_SETTINGS.iter().any(|(name, _)| *name == found);
            if !known.contains(found) && !excused {
                missing.insert(found.to_string());
            }
        }
    }
    assert!(missing.is_empty(), "documented, but not in the settings table: {missing:?}");
}

#[test]
fn every_setting_is_read() {
    let table = workspace().join("crates/base/src/settings/table.rs");
    let name = regex::Regex::new(r#"(?m)^    ([A-Z][A-Z0-9_]*) = "([a-z0-9_.]+)", "#).unwrap();
    let sources: String = files_below(&workspace().join("crates"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs") && *path != table)
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let text = fs::read_to_string(&table).unwrap();
    let unread: Vec<String> = name
        .captures_iter(&text)
        .filter(|row| {
            let variables = marvin_base::settings::find(&row[2]).unwrap().variables;
            !sources.contains(&format!("table::{}", &row[1]))
                && !variables.iter().any(|variable| sources.contains(&format!("\"{variable}\"")))
        })
        .map(|row| row[2].to_string())
        .collect();
    assert!(name.captures_iter(&text).count() > 100 && unread.is_empty(), "nothing reads {unread:?}");
}

#[test]
fn settings_reference_is_up_to_date() {
    let written = workspace().join("docs/settings.md");
    let Ok(written) = fs::read_to_string(&written) else {
        marvin_testing::skip("docs/settings.md is missing");
        return;
    };
    let generated = World::new().marvin(["config", "--markdown"]).run().exits(0);
    assert_eq!(written, generated.text(), "regenerate it: marvin config --markdown > docs/settings.md");
}

/// Markdown at the root of the repository and everywhere below these directories.
fn documents() -> Vec<PathBuf> {
    let root = workspace();
    let at_root = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    let below = ["docs", "examples", ".github"].into_iter().flat_map(|name| files_below(&root.join(name)));
    at_root.chain(below).filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect()
}

/// Targets of the links in a document that are not addresses: a path, an anchor, or both.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|link| !link.contains("://"))
}

/// Anchors of the headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) else { continue };
        let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        found.insert(words.chars().filter(|char| char.is_alphanumeric() || "-_".contains(*char)).collect());
    }
    found
}

#[test]
fn links_in_documents_resolve() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in documents() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if target.is_empty() { page.clone() } else { page.parent().unwrap().join(target) };
            let has_anchor = || anchors(&fs::read_to_string(&target).unwrap_or_default()).contains(anchor);
            if !target.exists() || !anchor.is_empty() && !has_anchor() {
                wrong.push(format!("{}: {link}", page.display()));
            }
            count += 1;
        }
    }
    assert!(count > 200 && wrong.is_empty(), "of {count} links, these lead nowhere:\n{}", wrong.join("\n"));
}

/// On the site of `docs/`, files outside of it do not exist.
#[test]
fn pages_of_docs_link_only_to_pages_of_docs() {
    let docs = workspace().join("docs");
    for page in files_below(&docs).iter().filter(|path| path.extension().is_some_and(|kind| kind == "md")) {
        let text = fs::read_to_string(page).unwrap();
        for link in links(&text).filter(|link| !link.starts_with('#')) {
            let target = page.parent().unwrap().join(link.split('#').next().unwrap());
            let target =
                target.canonicalize().unwrap_or_else(|error| panic!("{}: {link}: {error}", page.display()));
            assert!(
                target.starts_with(&docs),
                "{}: {link} is not a page of docs/; write its name as `code`",
                page.display()
            );
        }
    }
}

/// Both the index for readers and the table of contents of the book have every page.
#[test]
fn every_page_of_docs_is_listed() {
    let docs = workspace().join("docs");
    let pages: BTreeSet<String> = files_below(&docs)
        .iter()
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
        .map(|path| path.strip_prefix(&docs).unwrap().display().to_string())
        .filter(|page| page != "SUMMARY.md" && page != "README.md")
        .collect();
    for list in ["SUMMARY.md", "README.md"] {
        let text = fs::read_to_string(docs.join(list)).unwrap();
        let listed: BTreeSet<String> =
            links(&text).filter(|link| *link != "README.md").map(str::to_string).collect();
        let missing: Vec<&String> = pages.difference(&listed).collect();
        assert!(missing.is_empty(), "docs/{list} does not list {missing:?}");
    }
}

/// A heading of the page in backticks is a message of the program; `…` stands for its variable parts.
#[test]
fn messages_in_troubleshooting_are_printed_by_the_program() {
    let root = workspace();
    let sources: String = files_below(&root.join("crates"))
        .into_iter()
        .filter(|path| {
            path.extension().is_some_and(|kind| kind == "rs")
                && !path.starts_with(root.join("crates/marvin/tests"))
        })
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let continued = regex::Regex::new(r"\\\n\s*").unwrap();
    let sources = continued.replace_all(&sources, "").replace("\\\"", "\"");
    let page = fs::read_to_string(root.join("docs/troubleshooting.md")).unwrap();
    let headings: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    assert!(headings.len() > 20, "{headings:?}");
    let parts = headings.iter().flat_map(|heading| heading.split('…')).map(str::trim);
    let unknown: Vec<&str> = parts.filter(|part| !sources.contains(part)).collect();
    assert!(unknown.is_empty(), "the program prints none of {unknown:?}");
}

/// Paths in backticks that begin at the repository's root must exist; shorter ones must be the end of one that does.
#[test]
fn paths_in_architecture_md_exist() {
    let root = workspace();
    let below = ["crates", "xtask"].into_iter().flat_map(|top| files_below(&root.join(top)));
    let files: Vec<String> =
        below.map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let mut wrong = Vec::new();
    for name in text.split('`').skip(1).step_by(2) {
        let plain = name.chars().all(|char| char.is_ascii_alphanumeric() || "_./-".contains(char));
        let is_path = name.ends_with(".rs") || name.starts_with("crates/") || name.starts_with("xtask/");
        let inner = name.trim_end_matches('/');
        let known = |file: &String| {
            file == inner
                || file.ends_with(&format!("/{inner}"))
                || format!("/{file}").contains(&format!("/{inner}/"))
        };
        if plain && is_path && !files.iter().any(known) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Each of the twelve changes names one to five sources, by paths from the repository's root.
#[test]
fn every_change_of_the_architecture_touches_few_sources() {
    let root = workspace();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let section = text.split_once("\n## Twelve changes\n").unwrap().1.split("\n## ").next().unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 12, "{rows:#?}");
    for row in rows {
        let sources: BTreeSet<&str> =
            row.split('`').skip(1).step_by(2).filter(|name| name.starts_with("crates/")).collect();
        assert!((1..=5).contains(&sources.len()), "{} sources: {row}", sources.len());
        let missing: Vec<&&str> = sources.iter().filter(|path| !root.join(path).exists()).collect();
        assert!(missing.is_empty(), "{missing:?} do not exist: {row}");
    }
}

/// What a distribution's hardening check asks for: a position-independent program, relocations that are read-only once it
/// runs, no executable stack, and a stack protector in the C parts.
#[test]
#[cfg(target_os = "linux")]
fn the_programs_are_hardened_as_distributions_ask() {
    for program in [crate::support::PROGRAM, crate::support::HOOK_PROGRAM] {
        let output = std::process::Command::new("readelf").args(["-Whld", program]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line =
            |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
        assert!(line("Type:").contains("DYN (Position-Independent Executable file)"), "{program}: {text}");
        assert!(line("GNU_RELRO").contains(" R "), "{program}: {text}");
        assert!(line("GNU_STACK").contains(" RW "), "{program}: {text}");
        assert!(text.contains("BIND_NOW"), "{program}: {text}");
    }
    // The hook has no C parts.
    let output =
        std::process::Command::new("readelf").args(["-W", "--dyn-syms", crate::support::PROGRAM]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(text.contains("__stack_chk_fail"), "{text}");
}

/// The loader of glibc reads packed relocations since 2.36.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn relocations_are_packed_where_the_loader_can_read_them() {
    let output = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    let minor: u32 = version.trim().rsplit('.').next().unwrap().parse().unwrap();
    let output =
        std::process::Command::new("readelf").args(["-Wd", crate::support::PROGRAM]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.contains("(RELR)"), minor >= 36, "{version}: {text}");
}

/// Rights are granted per job, and actions of others are pinned by commit.
/// Cargo strips no program whose package has a row of its own: the row takes the profile's `strip` away.
#[test]
fn the_programs_that_are_shipped_are_stripped() {
    let text = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&text).unwrap();
    let profiles = &manifest["profile"];
    assert_eq!(profiles["dist"]["strip"].as_str(), Some("symbols"));
    for profile in ["release", "dist"] {
        assert!(profiles[profile]["package"].get("marvin").is_none(), "{profile}");
    }
}

#[test]
fn workflows_grant_little_and_pin_their_actions() {
    let hash = regex::Regex::new(r"uses: [A-Za-z0-9/_-]+@[0-9a-f]{40} # v[0-9.]+$").unwrap();
    let workflows = files_below(&workspace().join(".github/workflows"));
    assert!(!workflows.is_empty());
    for path in workflows {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("\npermissions: {}\n"), "{}: rights of the whole workflow", path.display());
        let unpinned: Vec<&str> =
            text.lines().filter(|line| line.contains("uses: ") && !hash.is_match(line)).collect();
        assert!(unpinned.is_empty(), "{}: {unpinned:?}", path.display());
    }
}

#[test]
fn workflows_pass_actionlint() {
    let Some(program) = std::env::var_os("MARVIN_TEST_ACTIONLINT") else {
        marvin_testing::skip("actionlint is not installed; `cargo xtask workflows` installs and runs it");
        return;
    };
    let mut linter = std::process::Command::new(marvin_testing::node::program());
    let output =
        linter.arg(program).current_dir(workspace()).arg(".github/workflows/*.yml").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
