//! Licences of the dependencies. `check` is quick and part of the tests: it holds what cargo knows against the list in
//! `deny.toml`. `deny` installs cargo-deny and checks bans, sources and advisories too.

use crate::tools;
use serde_json::Value;
use std::process::Command;

/// Every dependency's licence must be on the list of `deny.toml`.
pub(crate) fn check() -> Result<(), String> {
    let allowed = allowed()?;
    let output = tools::cargo()
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .output()
        .map_err(|error| error.to_string())?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)))?;
    let packages = metadata.get("packages").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut wrong = Vec::new();
    for package in &packages {
        let text = |key: &str| package.get(key).and_then(Value::as_str).unwrap_or_default();
        if !fits(text("license"), &allowed) {
            wrong.push(format!("{} {}: `{}`", text("name"), text("version"), text("license")));
        }
    }
    if !wrong.is_empty() {
        return Err(format!("licences that deny.toml does not allow:\n  {}", wrong.join("\n  ")));
    }
    crate::say(&format!("licences: {} packages, all allowed by deny.toml", packages.len()));
    Ok(())
}

fn allowed() -> Result<Vec<String>, String> {
    let path = tools::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| error.to_string())?;
    let list =
        table.get("licenses").and_then(|licenses| licenses.get("allow")).and_then(toml::Value::as_array);
    let list = list.ok_or("deny.toml has no licenses.allow")?;
    Ok(list.iter().filter_map(|entry| entry.as_str().map(str::to_string)).collect())
}

/// An SPDX expression of the simple kind: alternatives, each of which is a conjunction.
fn fits(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace(['(', ')'], " ").replace('/', " OR ");
    let known = |licence: &str| allowed.iter().any(|entry| entry == licence.trim());
    expression.split(" OR ").any(|part| !part.trim().is_empty() && part.split(" AND ").all(known))
        || expression.split(" AND ").all(|part| part.split(" OR ").any(known))
}

/// The whole check, by cargo-deny.
pub(crate) fn deny() -> Result<(), String> {
    let directory = tools::directory();
    let program = directory.join("bin/cargo-deny");
    if !program.exists() {
        crate::say("installing cargo-deny (a few minutes, once) …");
        tools::run(
            tools::cargo()
                .args(["install", "--locked", "--quiet", "cargo-deny@0.20.2", "--root"])
                .arg(&directory),
        )?;
    }
    let deny = || {
        let mut command = Command::new(&program);
        command.current_dir(tools::root());
        command
    };
    tools::run(deny().args(["check", "licenses", "bans", "sources"]))?;
    // Advisories need a database from the network; where it cannot be had, that is said and is no verdict.
    if let Err(error) = tools::run(deny().args(["check", "advisories"])) {
        return Err(format!(
            "advisories: {error}\n  hint: without a network there is no advisory database to check against"
        ));
    }
    Ok(())
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
