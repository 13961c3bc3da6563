//! Names the sandbox as the likely cause of a failure, so that a program is not blamed for what it was not allowed.
//!
//! This is a hint beside the output, from the messages that the C library and common tools print for the errors that the sandbox
//! causes. No verdict depends on it.

/// Messages of programs, and their cause in the sandbox.
const SIGNS: [(&str, &str); 10] = [
    (
        "Read-only file system",
        "it wrote outside of what it may write, or to a protected file of the workspace",
    ),
    (
        "read-only file system",
        "it wrote outside of what it may write, or to a protected file of the workspace",
    ),
    ("EROFS", "it wrote outside of what it may write, or to a protected file of the workspace"),
    ("Device or resource busy", "it replaced a protected file of the workspace"),
    ("Network is unreachable", "commands have no network but their own loopback"),
    ("ENETUNREACH", "commands have no network but their own loopback"),
    ("Could not resolve host", "commands have no network but their own loopback"),
    ("Temporary failure in name resolution", "commands have no network but their own loopback"),
    ("EAI_AGAIN", "commands have no network but their own loopback"),
    ("listen EPERM", "this machine gives commands no loopback network (see `marvin doctor`)"),
];

/// A sentence that names the sandbox, when the output of a failed program looks like it.
pub(super) fn hint(sandbox: &str, output: &str) -> Option<String> {
    if sandbox == "off" {
        return None;
    }
    let (_, cause) = SIGNS.iter().find(|(sign, _)| output.contains(sign))?;
    Some(format!("[the sandbox may have caused this: {cause}]"))
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn a13_the_sandbox_is_named_only_where_it_was_on() {
        let text = "touch: cannot touch '/opt/x': Read-only file system";
        assert!(hint("namespaces+landlock+seccomp", text).is_some_and(|hint| hint.contains("may write")));
        assert_eq!(hint("off", text), None);
        assert_eq!(hint("namespaces+landlock+seccomp", "assertion failed"), None);
    }
}
