//! The official test suite and inspector of the Model Context Protocol against Marvin, as a server and as a client.
//!
//! They are found through `MARVIN_TEST_MCP`, which `cargo xtask test` sets. Checks of capabilities that Marvin
//! does not declare are listed in `expected-failures.yml`, with reasons; the suite fails on a new failure and on an entry that
//! passes.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod inspector;

#[cfg(test)]
mod place {
    use std::path::PathBuf;
    use std::process::{Command, Output, Stdio};

    pub(crate) const MARVIN: &str = env!("CARGO_BIN_EXE_marvin");

    /// The directory with the programs; none where they are not installed.
    pub(crate) fn tools() -> Option<PathBuf> {
        let tools = std::env::var_os("MARVIN_TEST_MCP").map(PathBuf::from);
        if tools.is_none() {
            marvin_testing::skip("run through `cargo xtask test`, which installs the programs");
        }
        tools
    }

    /// A home and a project in a temporary directory.
    pub(crate) struct World {
        pub(crate) root: tempfile::TempDir,
    }

    impl World {
        pub(crate) fn new() -> Self {
            let root = tempfile::Builder::new().prefix("marvin-mcp-").tempdir().unwrap();
            for name in ["home/.config/marvin", "project/.marvin", "out"] {
                std::fs::create_dir_all(root.path().join(name)).unwrap();
            }
            World { root }
        }

        pub(crate) fn place(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        pub(crate) fn bare(&self, command: &mut Command) {
            command
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("HOME", self.place("home"))
                .env("LANG", "C.UTF-8")
                .current_dir(self.place("project"))
                .stdin(Stdio::null());
        }

        /// Runs one of the programs with the Node.js that was installed for them.
        pub(crate) fn node(&self, tools: &std::path::Path, program: &str, arguments: &[&str]) -> Output {
            let modules = tools.join("node_modules");
            let mut command = Command::new(marvin_testing::node::program());
            command.arg(modules.join(".bin").join(program)).args(arguments);
            self.bare(&mut command);
            command.output().unwrap()
        }
    }

    pub(crate) fn words(output: &Output) -> String {
        format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}
