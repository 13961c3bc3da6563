//! The sandbox of systems other than Linux: there is none, so commands are refused.
//!
//! `docs/design/macos.md` says how Seatbelt is to be used on macOS.

use super::{Level, Policy, SandboxError, Support};
use marvin_base::child::Child;

/// The name of a system as its users write it.
fn system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "macOS",
        other => other,
    }
}

/// No level.
pub(super) fn support() -> Support {
    let namespaces = format!("{} has no namespaces, Landlock and seccomp", system());
    Support { level: None, landlock: 0, namespaces: Some(namespaces) }
}

/// The reason why no level can be had.
pub(super) fn unavailable(_: &Support) -> SandboxError {
    SandboxError::System { system: system() }
}

/// Nothing: no level is ever given.
pub(super) fn missing(_: Level) -> Vec<&'static str> {
    Vec::new()
}

/// Refuses every child; a policy that is wrong on any system is refused for that.
pub(super) fn enter_level(_: &mut Child, policy: Policy, _: Level) -> Result<&'static str, SandboxError> {
    policy.resolved()?;
    Err(unavailable(&support()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_refused_with_what_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let policy = Policy::new(directory.path(), directory.path());
        let error = enter_level(&mut Child::new("true"), policy, Level::Landlock).unwrap_err();
        assert!(matches!(error, SandboxError::System { .. }));
        let text = error.to_string();
        assert!(text.contains("namespaces, Landlock and seccomp") && text.contains("hint: "), "{text}");
        assert!(support().level.is_none() && missing(Level::Landlock).is_empty());
    }
}
