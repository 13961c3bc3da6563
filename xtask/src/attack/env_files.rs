//! Files of secrets in a workspace, asked for by every tool that can show a file. The control is the same tool on an
//! ordinary file: it must show what that holds.
//!
//! The canary in the files is no secret by its shape, so that only the closing of the file keeps it back.

use super::{Arena, Trial, text};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const CANARY: &str = "canary-of-a-closed-file";
const OPEN: &str = "canary-of-an-open-file";

/// Calls every tool, and its control.
pub(crate) fn run(arena: &Arena) -> Result<Vec<Trial>, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let project = directory.path().join("project");
    prepare(&project).map_err(|error| format!("cannot prepare {}: {error}", project.display()))?;
    let call = |tool: &str, arguments: &str| -> Result<String, String> {
        let output = Command::new(&arena.marvin)
            .args(["tools", "call", tool, "--args", arguments])
            .current_dir(&project)
            .env_clear()
            .env("HOME", directory.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .output()
            .map_err(|error| format!("cannot start {}: {error}", arena.marvin.display()))?;
        Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
    };
    let mut trials = Vec::new();
    for case in arena.cases("env_files")? {
        let told = call(text(&case, "tool"), text(&case, "args"))?;
        let control = match text(&case, "control") {
            "" => true,
            arguments => call(text(&case, "tool"), arguments)?.contains(OPEN),
        };
        trials.push(Trial {
            id: text(&case, "id").to_string(),
            level: "",
            held: !told.contains(CANARY),
            control,
            note: format!("{} {}", text(&case, "tool"), text(&case, "args")),
        });
    }
    Ok(trials)
}

/// A repository in which closed and open files are committed, then staged, then changed.
fn prepare(project: &Path) -> std::io::Result<()> {
    let closed = [
        ".env",
        ".env.local",
        ".ENV",
        ".env~",
        ".env-staging",
        "config/.env",
        "deploy/prod.env",
        ".envrc",
        "secrets.yml",
        "config/secrets.json",
        "terraform.tfvars",
        "infra/terraform.tfstate",
        "credentials.json",
        "service-account-prod.json",
        "id_rsa",
        "keys/id_ed25519",
        "vault.kdbx",
        "cert.p12",
        "store.jks",
        ".netrc",
        ".pypirc",
        ".aws/credentials",
        ".kube/config",
    ];
    let open = [".env.example", "src/env.rs", "config/app.yml", "deploy/app.txt", "docs/secrets.md"];
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
        for (paths, canary) in [(closed.as_slice(), CANARY), (open.as_slice(), OPEN)] {
            for path in paths {
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
