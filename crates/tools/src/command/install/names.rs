//! Validation of package names: no flags, no URLs, no paths, no aliases.

use super::Ecosystem;
use crate::pattern::pattern;
use crate::result::ToolError;

/// Extensions that make managers take a name for a file.
const ARCHIVES: [&str; 15] = [
    ".tgz",
    ".tar",
    ".tar.gz",
    ".tar.bz2",
    ".tar.xz",
    ".tar.lz",
    ".tar.lzma",
    ".tar.zst",
    ".tbz",
    ".txz",
    ".tlz",
    ".zip",
    ".whl",
    ".egg",
    ".crate",
];
const MAX_PACKAGE_NAME_BYTES: usize = 200;

// A name, extras in brackets, versions after comparisons.
pattern!(
    PYTHON,
    r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*\])?(?:(?:===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9.*+!_-]+(?:,(?:==|~=|!=|<=|>=|<|>)[A-Za-z0-9.*+!_-]+)*)?$"
);
// A name, perhaps of a group, and a version or a tag.
pattern!(
    NODE,
    r"^(?:@[a-z0-9][a-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*(?:@[~^]?[A-Za-z0-9][A-Za-z0-9.+_-]*)?$"
);
pattern!(RUST, r"^[A-Za-z][A-Za-z0-9_-]*(?:@[~^=]?[0-9][A-Za-z0-9.*+-]*)?$");
// A host with a dot, a path without dots at the beginning of its parts, and a version.
pattern!(
    GO,
    r"^[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*(?:@[A-Za-z0-9][A-Za-z0-9.+_-]*)?$"
);

/// Checks that each of these is the name of a package.
///
/// # Errors
/// Names the first that is not.
pub(super) fn check(packages: &[String], ecosystem: Ecosystem) -> Result<(), ToolError> {
    let wrong = |problem: &str| Err(ToolError::Usage(problem.to_string()));
    if packages.is_empty() {
        return wrong("install_packages needs `packages`: a list of names.");
    }
    if packages.len() > 100 {
        return wrong("more than a hundred packages at once; install them in smaller steps.");
    }
    let pattern = match ecosystem {
        Ecosystem::Python | Ecosystem::Auto => &PYTHON,
        Ecosystem::Node => &NODE,
        Ecosystem::Rust => &RUST,
        Ecosystem::Go => &GO,
    };
    // pip takes `a.zip[extra]` for the file `a.zip`, npm `a.tgz@1` for a file too.
    let is_file = |name: &str| {
        let name = name.to_ascii_lowercase();
        let mut parts = name.split(['[', ']', ',', '@', '=', '<', '>', '!', '~']);
        parts.any(|part| ARCHIVES.iter().any(|ending| part.ends_with(ending)))
    };
    let matches = |name: &str| pattern.as_ref().is_some_and(|pattern| pattern.is_match(name));
    let fits = |name: &str| name.len() <= MAX_PACKAGE_NAME_BYTES && matches(name) && !is_file(name);
    match packages.iter().find(|name| !fits(name)) {
        None => Ok(()),
        Some(name) => wrong(&format!(
            "`{}` is not the name of a package: a name with a version at most (no flags, addresses or paths).",
            marvin_base::truncate::line(name, 80)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_name(name: &str, ecosystem: Ecosystem) -> bool {
        check(&[name.to_string()], ecosystem).is_ok()
    }

    #[test]
    fn names_are_names() {
        for name in [
            "requests",
            "requests==2.32.0",
            "uvicorn[standard]>=0.30,<1",
            "zope.interface",
            "a",
            "Django~=5.0",
            "x==1!2.0",
        ] {
            assert!(is_name(name, Ecosystem::Python), "{name}");
        }
        for name in
            ["left-pad", "left-pad@1.3.0", "@types/node", "@types/node@^20.1.0", "react@latest", "lodash.get"]
        {
            assert!(is_name(name, Ecosystem::Node), "{name}");
        }
        for name in ["serde", "serde_json@1.0", "tokio@^1.40.0", "x@=1.2.3-rc.1"] {
            assert!(is_name(name, Ecosystem::Rust), "{name}");
        }
        for name in ["golang.org/x/net", "github.com/stretchr/testify@v1.9.0", "example.com/a/v2@latest"] {
            assert!(is_name(name, Ecosystem::Go), "{name}");
        }
    }

    #[test]
    fn other_names_are_refused() {
        let everywhere = [
            "",
            " ",
            "-r",
            "--index-url=http://x",
            "-e .",
            ".",
            "..",
            "./a",
            "../a",
            "/etc/passwd",
            "a b",
            "a;b",
            "a&b",
            "$(a)",
            "`a`",
            "a|b",
            "a\nb",
            "a\0b",
            "http://x/a.tgz",
            "https://x",
            "git+https://x/y",
            "file:a",
            "file:///a",
            "a@http://x",
            "a @ http://x",
            "a/../b",
            "a'b",
            "a\"b",
            "a*",
            "a?",
            "~",
            "a=b",
            "é",
            "npm:a@1",
            "a@npm:b",
            "workspace:a",
            "a@../b",
            "github:a/b",
            "a#b",
            "@a",
            "@a/",
            "a@",
            "a==",
            "[x]",
            "a[]",
            "a,b",
            "a.tgz",
            "a-1.0.WHL",
            "a.zip",
            "a.zip[x]",
            "a-1.0-py3-none-any.whl[x,y]",
            "a.txz",
            "a.tar.lzma",
            "a.tlz>=1",
            "a.tgz@1",
            "a@1.0.tgz",
            "-",
            "-e",
            "--",
            "a;python_version<'3'",
            "a@git+https://x/y",
            "a@file:b",
            "a --pre",
            "@",
        ];
        for name in everywhere {
            for ecosystem in [Ecosystem::Python, Ecosystem::Node, Ecosystem::Rust, Ecosystem::Go] {
                assert!(!is_name(name, ecosystem), "{name:?} {ecosystem:?}");
            }
        }
        assert!(
            !is_name("a/b", Ecosystem::Node)
                && !is_name("a/b", Ecosystem::Python)
                && !is_name("a/b", Ecosystem::Go)
        );
        assert!(!is_name("example.com/../x", Ecosystem::Go) && !is_name("example.com/.git", Ecosystem::Go));
        assert!(!is_name(&"a".repeat(201), Ecosystem::Rust));
        assert!(check(&[], Ecosystem::Python).is_err());
    }
}
