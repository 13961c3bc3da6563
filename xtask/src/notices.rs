//! `THIRD-PARTY.md`: packages that are part of the shipped programs, and the licences under which they are used.
//!
//! Where a package offers a choice, Apache 2.0 is taken, whose text is in `LICENSE-APACHE`. Other texts come from the packages; those that differ only in
//! their copyright lines appear once. Dependencies of builds and tests are not shipped and not listed.

use crate::tools;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const FILE: &str = "THIRD-PARTY.md";
/// The targets of releases.
const TARGETS: [&str; 3] =
    ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu"];
/// Licences in the order in which one is chosen; without any of them, the first that is offered.
const PREFERRED: [&str; 2] = ["Apache-2.0", "MIT"];
/// A sentence by which the text of a licence is recognised.
const MARKERS: [(&str, &str); 8] = [
    ("MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("MIT-0", "Permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("ISC", "distribute this software for any purpose with or without fee is hereby granted"),
    ("BSD-2-Clause", "Redistribution and use in source and binary forms"),
    ("BSD-3-Clause", "Redistribution and use in source and binary forms"),
    ("Unicode-3.0", "UNICODE LICENSE V3"),
    ("Zlib", "This software is provided 'as-is', without any express or implied warranty"),
    ("Apache-2.0", "Licensed under the Apache License, Version 2.0"),
];
const HEAD: &str = "\
# Third-party notices

Written by `cargo xtask notices`; do not edit by hand. The programs `marvin` and `marvin-hook` contain the packages below, the standard library of Rust
(Apache 2.0 or MIT), and SQLite, which is in the public domain.

| package | version | licence | used under |
|---|---|---|---|
";

/// The part of `cargo metadata` that is read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Graph,
}

#[derive(Deserialize)]
struct Graph {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    /// None for a dependency of the program itself.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    manifest_path: PathBuf,
    /// None for a package of the workspace.
    source: Option<String>,
}

/// A licence text with the packages that use it, by their copyright lines.
#[derive(Default)]
struct LicenceText {
    licence: String,
    body: String,
    copyrights: BTreeMap<String, BTreeSet<String>>,
}

/// Writes the notices.
pub(crate) fn write() -> anyhow::Result<()> {
    let packages = shipped_packages()?;
    let mut text = format!("{HEAD}{}", rows(&packages));
    for LicenceText { licence, body, copyrights } in licence_texts(&packages)? {
        write!(text, "\n## {licence}\n\n")?;
        for (copyright, packages) in copyrights {
            let packages: Vec<String> = packages.into_iter().collect();
            writeln!(text, "- {}: {copyright}", packages.join(", "))?;
        }
        write!(text, "\n```text\n{body}\n```\n")?;
    }
    let path = tools::root().join(FILE);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Packages that the programs contain, by name and version.
fn shipped_packages() -> anyhow::Result<Vec<Package>> {
    let targets = TARGETS.iter().flat_map(|target| ["--filter-platform", target]);
    let Metadata { packages, resolve } =
        tools::json(tools::cargo().args(["metadata", "--format-version", "1", "--locked"]).args(targets))?;
    let nodes: BTreeMap<&str, &Node> = resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let program = packages.iter().find(|package| package.name == "marvin").context("no package `marvin`")?;
    let mut found = BTreeSet::from([program.id.as_str()]);
    let mut open = vec![program.id.as_str()];
    while let Some(node) = open.pop().and_then(|id| nodes.get(id)) {
        let edges = node.deps.iter().filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
        open.extend(edges.map(|edge| edge.pkg.as_str()).filter(|id| found.insert(id)));
    }
    let found: BTreeSet<String> = found.into_iter().map(str::to_owned).collect();
    let mut shipped: Vec<Package> = packages
        .into_iter()
        .filter(|package| package.source.is_some() && found.contains(&package.id))
        .collect();
    shipped.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(shipped)
}

/// The table of the packages.
fn rows(packages: &[Package]) -> String {
    let row = |package: &Package| {
        let licence = package.license.as_deref().unwrap_or_default();
        format!(
            "| {} | {} | {licence} | {} |\n",
            package.name,
            package.version,
            chosen_licences(licence).join(", ")
        )
    };
    packages.iter().map(row).collect()
}

/// The licences that are chosen from a simple SPDX expression: a conjunction of alternatives.
fn chosen_licences(expression: &str) -> Vec<&str> {
    expression.split(" AND ").filter_map(choose_licence).collect()
}

fn choose_licence(alternatives: &str) -> Option<&str> {
    let plain = alternatives.trim().trim_start_matches('(').trim_end_matches(')');
    let offered: Vec<&str> = plain.split(" OR ").flat_map(|one| one.split('/')).map(str::trim).collect();
    let preferred = PREFERRED.iter().find_map(|wanted| offered.iter().find(|one| *one == wanted));
    preferred.or(offered.first()).copied()
}

/// The texts of all chosen licences but Apache 2.0, each once.
fn licence_texts(packages: &[Package]) -> anyhow::Result<Vec<LicenceText>> {
    let mut texts: BTreeMap<(&str, String), LicenceText> = BTreeMap::new();
    for package in packages {
        let files = licence_files(package)?;
        for licence in chosen_licences(package.license.as_deref().unwrap_or_default()) {
            for text in texts_of(package, licence, &files)? {
                let (body, copyrights) = split_copyright(&text);
                let key = body.split_whitespace().collect::<Vec<_>>().join(" ");
                let entry = texts.entry((licence, key)).or_default();
                if entry.body.is_empty() {
                    (entry.licence, entry.body) = (licence.to_owned(), body);
                }
                for copyright in copyrights {
                    entry.copyrights.entry(copyright).or_default().insert(package.name.clone());
                }
            }
        }
    }
    Ok(texts.into_values().collect())
}

/// The texts of one licence of a package. Of a package without a text, the usual one with its authors; of Apache 2.0 only notices, which must be
/// passed on.
fn texts_of(package: &Package, licence: &str, files: &[(String, String)]) -> anyhow::Result<Vec<String>> {
    if licence == "Apache-2.0" {
        let notices = files.iter().filter(|(name, _)| name.starts_with("NOTICE"));
        return Ok(notices.map(|(_, text)| text.clone()).collect());
    }
    let Some((_, marker)) = MARKERS.iter().find(|(name, _)| *name == licence) else {
        bail!("cannot recognise the text of {licence} ({})\n  hint: add a row to MARKERS", package.name);
    };
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(marker);
    let found: Vec<String> =
        files.iter().filter(|(_, text)| squeezed(text)).map(|(_, text)| text.clone()).collect();
    if found.is_empty() && licence == "MIT" {
        let own = std::fs::read_to_string(tools::root().join("LICENSE-MIT"))?;
        let authors = match package.authors.join(", ") {
            none if none.is_empty() => format!("the authors of {}", package.name),
            names => names,
        };
        return Ok(vec![format!("Copyright (c) {authors}\n\n{}", split_copyright(&own).0)]);
    }
    if found.is_empty() {
        bail!("cannot find the text of {licence} in {} {}", package.name, package.version);
    }
    Ok(found)
}

/// The files beside the manifest that hold licences and notices: names and texts.
fn licence_files(package: &Package) -> anyhow::Result<Vec<(String, String)>> {
    let directory = package.manifest_path.parent().unwrap_or(Path::new("."));
    let mut files = Vec::new();
    let entries =
        std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_wanted = ["LICEN", "COPYING", "NOTICE"].iter().any(|start| name.starts_with(start));
        if is_wanted && entry.path().is_file() {
            let text = std::fs::read_to_string(entry.path())?;
            // Some are written as comments.
            let lines: Vec<&str> =
                text.lines().map(|line| line.trim_start_matches("// ").trim_start_matches("//")).collect();
            files.push((name, lines.join("\n")));
        }
    }
    files.sort();
    Ok(files)
}

/// Parts a licence text into its body, without titles, and its copyright lines.
fn split_copyright(text: &str) -> (String, Vec<String>) {
    let (mut body, mut copyrights) = (Vec::new(), Vec::new());
    let text = text.replace("```", "");
    for line in text.lines().map(str::trim_end) {
        let plain = line.trim().trim_matches(['#', '*', '<', '>', '=', '-', ' ']);
        let is_title =
            ["MIT License", "The MIT License (MIT)", "The MIT License", "ISC License"].contains(&plain);
        match plain.starts_with("Copyright (")
            || plain.starts_with("Copyright ©")
            || plain.starts_with("Copyright 2")
        {
            true => copyrights.push(plain.to_owned()),
            false if is_title => {}
            false => body.push(line),
        }
    }
    if copyrights.is_empty() {
        copyrights.push("no copyright line".to_owned());
    }
    (body.join("\n").trim_matches('\n').to_owned(), copyrights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_current() {
        let written = std::fs::read_to_string(tools::root().join(FILE)).unwrap();
        let table = written.strip_prefix(HEAD).unwrap().split("\n\n## ").next().unwrap();
        let current = rows(&shipped_packages().unwrap());
        assert_eq!(table.trim_end(), current.trim_end(), "run `cargo xtask notices`");
    }

    #[test]
    fn one_licence_of_each_choice_is_taken() {
        for (expression, chosen) in [
            ("MIT", vec!["MIT"]),
            ("MIT OR Apache-2.0", vec!["Apache-2.0"]),
            ("Apache-2.0 / MIT", vec!["Apache-2.0"]),
            ("Unlicense OR MIT", vec!["MIT"]),
            ("Apache-2.0 AND ISC", vec!["Apache-2.0", "ISC"]),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", vec!["Apache-2.0", "Unicode-3.0"]),
        ] {
            assert_eq!(chosen_licences(expression), chosen, "{expression}");
        }
    }

    #[test]
    fn copyright_lines_are_parted_from_the_text() {
        let (body, lines) = split_copyright("# MIT License\n\nCopyright (c) 2020 Ada\n\nPermission …\n");
        assert_eq!((body.as_str(), lines), ("Permission …", vec!["Copyright (c) 2020 Ada".to_owned()]));
    }
}
