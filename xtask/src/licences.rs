//! Licences of the dependencies. `check` is quick and part of the tests: it compares cargo's
//! metadata with the list in `deny.toml`. `deny` installs cargo-deny and checks bans, sources and
//! advisories too.

use crate::output::say;
use crate::tools;
use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use std::process::Command;

/// The part of `cargo metadata` that is read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
}

/// The part of `deny.toml` that is read.
#[derive(Deserialize)]
struct DenyFile {
    licenses: LicenceRules,
}

#[derive(Deserialize)]
struct LicenceRules {
    allow: Vec<String>,
}

/// Checks that every dependency's licence is on the list of `deny.toml`.
pub(crate) fn check() -> anyhow::Result<()> {
    let allowed = allowed()?;
    let target = ["--filter-platform", "x86_64-unknown-linux-gnu"];
    let Metadata { packages } =
        tools::json(tools::cargo().args(["metadata", "--format-version", "1", "--locked"]).args(target))?;
    let wrong: Vec<String> = packages
        .iter()
        .filter(|package| !fits(package.license.as_deref().unwrap_or_default(), &allowed))
        .map(|Package { name, version, license }| {
            format!("{name} {version}: `{}`", license.as_deref().unwrap_or_default())
        })
        .collect();
    if !wrong.is_empty() {
        bail!("licences that deny.toml does not allow:\n  {}", wrong.join("\n  "));
    }
    say(format_args!("licences: {} packages, all allowed by deny.toml", packages.len()))
}

fn allowed() -> anyhow::Result<Vec<String>> {
    let path = tools::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let file: DenyFile = toml::from_str(&text).with_context(|| format!("cannot parse {}", path.display()))?;
    Ok(file.licenses.allow)
}

/// Whether a simple SPDX expression (alternatives, each of which is a conjunction) is allowed.
fn fits(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace(['(', ')'], " ").replace('/', " OR ");
    let known = |licence: &str| allowed.iter().any(|entry| entry == licence.trim());
    expression.split(" OR ").any(|part| !part.trim().is_empty() && part.split(" AND ").all(known))
        || expression.split(" AND ").all(|part| part.split(" OR ").any(known))
}

/// Runs all checks of cargo-deny.
pub(crate) fn deny() -> anyhow::Result<()> {
    let program = tools::cargo_install("cargo-deny@0.20.2", "cargo-deny", &[])?;
    let check = |kinds: &[&str]| {
        tools::run(Command::new(&program).current_dir(tools::root()).arg("check").args(kinds))
    };
    check(&["licenses", "bans", "sources"])?;
    check(&["advisories"]).map_err(|error| {
        anyhow!("{error:#}\n  hint: the check of advisories needs a network for their database")
    })
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn expressions_are_understood() {
        let allowed =
            ["MIT".to_string(), "Apache-2.0".to_string(), "ISC".to_string(), "Unicode-3.0".to_string()];
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "Apache-2.0 AND ISC",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
        ] {
            assert!(fits(good, &allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0"] {
            assert!(!fits(bad, &allowed), "{bad}");
        }
    }
}
