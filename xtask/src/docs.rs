//! `docs`: the pages of `docs/` as a site, by mdBook at a fixed version, with every link between its pages checked.

use crate::output::say;
use crate::tools;
use anyhow::{Context, bail};
use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Installed without its web server, which would be a third of the build.
const MDBOOK: &str = "mdbook@0.5.4";

/// Pages that repeat the others, with links that only a browser resolves.
const REPEATED: [&str; 3] = ["print.html", "404.html", "toc.html"];

/// Builds the site below the target directory.
pub(crate) fn build() -> anyhow::Result<()> {
    let program = tools::cargo_install(MDBOOK, "mdbook", &["--no-default-features", "--features", "search"])?;
    let site = tools::target().join("book");
    if site.exists() {
        std::fs::remove_dir_all(&site).with_context(|| format!("cannot empty {}", site.display()))?;
    }
    tools::run(
        Command::new(program).current_dir(tools::root()).args(["build", "docs", "--dest-dir"]).arg(&site),
    )?;
    let pages = read_pages(&site)?;
    let broken = broken_links(&pages)?;
    if !broken.is_empty() {
        bail!(
            "links of the site that lead nowhere:\n  {}\n  hint: a page in docs/ links only to pages in docs/",
            broken.join("\n  ")
        );
    }
    say(format_args!("{} pages: {}", pages.len(), site.join("index.html").display()))
}

/// Text of every page, by its path below the site.
fn read_pages(site: &Path) -> anyhow::Result<BTreeMap<PathBuf, String>> {
    let mut pages = BTreeMap::new();
    for entry in ignore::WalkBuilder::new(site).standard_filters(false).build() {
        let entry = entry?;
        if entry.path().extension().is_some_and(|kind| kind == "html") {
            let text = std::fs::read_to_string(entry.path())
                .with_context(|| format!("cannot read {}", entry.path().display()))?;
            pages.insert(entry.path().strip_prefix(site)?.to_path_buf(), text);
        }
    }
    Ok(pages)
}

/// Links whose page or anchor does not exist.
fn broken_links(pages: &BTreeMap<PathBuf, String>) -> anyhow::Result<Vec<String>> {
    let link = Regex::new(r#"<a [^>]*?href="([^"]+)""#)?;
    let mut broken = Vec::new();
    let checked = pages.iter().filter(|(page, _)| !REPEATED.iter().any(|name| **page == Path::new(name)));
    for (page, text) in checked {
        for link in link.captures_iter(text).filter_map(|found| found.get(1)).map(|found| found.as_str()) {
            if link.contains("://") {
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if target.is_empty() { Some(page.clone()) } else { resolve(page, target) };
            let found = target.and_then(|target| pages.get(&target));
            let has_anchor = |text: &String| anchor.is_empty() || text.contains(&format!("id=\"{anchor}\""));
            if !found.is_some_and(has_anchor) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    Ok(broken)
}

/// A relative path from a page, as a path below the site; `None` where it leaves the site.
fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
    let mut path = page.parent()?.to_path_buf();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let pages = [
            (
                "a.html",
                "<a href=\"b.html\">1</a> <a class=\"x\" href=\"design/c.html#top\">2</a> <a href=\"#here\">3</a>",
            ),
            (
                "b.html",
                "<a href=\"d.html\">1</a> <a href=\"a.html#there\">2</a> <a href=\"print.html\">3</a>",
            ),
            (
                "design/c.html",
                "<h1 id=\"top\">x</h1> <a href=\"../b.html\">1</a> <a href=\"../../b.html\">2</a>",
            ),
            ("print.html", "<a id=\"here\" href=\"d.html\">1</a> <a href=\"https://example.com/x\">2</a>"),
        ];
        let pages = pages.map(|(page, text)| (PathBuf::from(page), text.to_string()));
        assert_eq!(
            broken_links(&BTreeMap::from(pages)).unwrap(),
            ["a.html: #here", "b.html: d.html", "b.html: a.html#there", "design/c.html: ../../b.html"]
        );
    }
}
