//! Files of secrets in a workspace, read by every tool that can show a file. The control is the
//! same tool on an ordinary file, whose content it must show.
//!
//! The canary in the files does not look like a secret, so that only the refusal to open the file
//! protects it.

use super::case::{AttackOptions, Trial};
use crate::tools;
use anyhow::Context;
use serde::Deserialize;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const CLOSED_CANARY: &str = "canary-of-a-closed-file";
const OPEN_CANARY: &str = "canary-of-an-open-file";
/// Files that no tool may show.
const CLOSED_FILES: &str = "\
    .env .env.local .ENV .env~ .env-staging config/.env deploy/prod.env .envrc secrets.yml \
    config/secrets.json terraform.tfvars infra/terraform.tfstate credentials.json \
    service-account-prod.json id_rsa keys/id_ed25519 vault.kdbx cert.p12 store.jks .netrc \
    .pypirc .aws/credentials .kube/config";
const OPEN_FILES: &str = ".env.example src/env.rs config/app.yml deploy/app.txt docs/secrets.md";

#[derive(Deserialize)]
struct Case {
    id: String,
    tool: String,
    args: String,
    control: Option<String>,
}

/// Calls every tool, and its control.
pub(super) fn run(options: &AttackOptions) -> anyhow::Result<Vec<Trial>> {
    let directory = tempfile::tempdir()?;
    let project = directory.path().join("project");
    prepare(&project).with_context(|| format!("cannot prepare {}", project.display()))?;
    let call = |tool: &str, arguments: &str| -> anyhow::Result<String> {
        let output = Command::new(&options.marvin)
            .args(["tools", "call", tool, "--args", arguments])
            .current_dir(&project)
            .env_clear()
            .env("HOME", directory.path())
            .env("PATH", tools::search_path())
            .output()
            .with_context(|| format!("cannot start {}", options.marvin.display()))?;
        Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    };
    let mut trials = Vec::new();
    for Case { id, tool, args, control } in options.load_cases("env_files")? {
        let held = !call(&tool, &args)?.contains(CLOSED_CANARY);
        let control = match control {
            None => true,
            Some(arguments) => call(&tool, &arguments)?.contains(OPEN_CANARY),
        };
        trials.push(Trial { id, held, control, note: format!("{tool} {args}"), ..Trial::default() });
    }
    Ok(trials)
}

/// Creates a repository in which closed and open files are committed, then staged, then changed.
fn prepare(project: &Path) -> std::io::Result<()> {
    let git = |words: &[&str]| {
        Command::new("git")
            .args(words)
            .current_dir(project)
            .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "A")])
            .envs([("GIT_COMMITTER_EMAIL", "a@b"), ("GIT_CONFIG_NOSYSTEM", "1"), ("HOME", "/nowhere")])
            .output()
    };
    std::fs::create_dir_all(project)?;
    git(&["init", "-q", "-b", "main"])?;
    for round in ["one", "two", "three"] {
        for (paths, canary) in [(CLOSED_FILES, CLOSED_CANARY), (OPEN_FILES, OPEN_CANARY)] {
            for path in paths.split(' ') {
                let path = project.join(path);
                std::fs::create_dir_all(path.parent().unwrap_or(project))?;
                std::fs::write(path, format!("SETTING={canary}\nround {round} {canary}\n"))?;
            }
        }
        if round != "three" {
            git(&["add", "-f", "."])?;
        }
        if round == "one" {
            git(&["commit", "-qm", "first"])?;
        }
    }
    symlink(".env", project.join("link.txt"))?;
    symlink("link.txt", project.join("chain.txt"))?;
    symlink("config", project.join("linked"))?;
    std::fs::hard_link(project.join(".env"), project.join("second-name.txt"))
}
