//! The person's own settings about deciding: `person.unattended` and `person.terminals`.
//!
//! They are read from the home directory that the user database names: a process chooses its `HOME`, but not its user.

use super::Refusal;
use crate::environment::Environment;
#[cfg(debug_assertions)]
use crate::layout::Layout;
use crate::settings::{Settings, Sources, table};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The settings that count.
#[derive(Debug, Default)]
pub(super) struct PersonSettings {
    /// Name of the person who decides without a terminal.
    pub(super) unattended: Option<String>,
    /// Further terminal programs.
    pub(super) terminals: Vec<String>,
}

/// A row of the user database.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UserRow {
    pub(super) name: String,
    pub(super) home: PathBuf,
}

/// The row of a user in `/etc/passwd`.
pub(super) fn user_row(user: u32) -> Option<UserRow> {
    find_user(&std::fs::read_to_string("/etc/passwd").ok()?, user)
}

fn find_user(text: &str, user: u32) -> Option<UserRow> {
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        match fields.as_slice() {
            [name, _, number, _, _, home, ..] if number.parse() == Ok(user) && home.starts_with('/') => {
                Some(UserRow { name: (*name).to_string(), home: PathBuf::from(home) })
            }
            _ => None,
        }
    })
}

#[cfg(not(debug_assertions))]
fn config_path(_: &Environment) -> Option<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    user_row(user).map(|row| row.home.join(".config/marvin/config.toml"))
}

/// Tests have homes of their own.
#[cfg(debug_assertions)]
fn config_path(environment: &Environment) -> Option<PathBuf> {
    environment.get("HOME")?;
    Some(Layout::new(environment, None).user_config())
}

/// Reads what counts; a file that another user could have written does not.
pub(super) fn read(environment: &Environment) -> Result<PersonSettings, Refusal> {
    let Some(path) = config_path(environment) else { return Ok(PersonSettings::default()) };
    if !is_own(&path) {
        return Ok(PersonSettings::default());
    }
    let sources = Sources { user: Some(path.clone()), ..Sources::default() };
    let settings = Settings::load(&sources)
        .map_err(|error| Refusal::Undecided(format!("{} cannot be read: {error}", path.display())))?;
    Ok(PersonSettings {
        unattended: settings.given(&table::PERSON_UNATTENDED).map(str::to_string),
        terminals: settings.list(&table::PERSON_TERMINALS),
    })
}

fn is_own(path: &Path) -> bool {
    let user = rustix::process::getuid().as_raw();
    std::fs::metadata(path)
        .is_ok_and(|facts| (facts.uid() == user || facts.uid() == 0) && facts.mode() & 0o022 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_found_by_number() {
        let text = "root:x:0:0:root:/root:/bin/bash\nann:x:1000:1000:Ann,,,:/home/ann:/bin/zsh\nbad:x:1001\n";
        assert_eq!(find_user(text, 1000), Some(UserRow { name: "ann".into(), home: "/home/ann".into() }));
        assert_eq!(find_user(text, 1001), None);
    }
}
