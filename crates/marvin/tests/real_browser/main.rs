//! The page in a real browser: headless Chromium, driven by `suite.mjs`, in a network namespace that has a loopback and
//! nothing else.
//!
//! The browser and what drives it are found through `MARVIN_TEST_BROWSER`, which `cargo xtask test` sets. Pictures of every
//! page are kept beside what cargo builds, in `screenshots`.

#[cfg(test)]
mod tests {
    use marvin_testing::namespace::isolated;
    use std::ffi::OsStr;
    use std::path::{Path, PathBuf};

    /// Seconds after which the suite counts as stuck.
    const SUITE_TIMEOUT_SECONDS: u32 = 300;

    /// Where pictures are kept: beside the directory that the program was built into.
    fn pictures(marvin: &Path) -> PathBuf {
        marvin.parent().unwrap().parent().unwrap().join("screenshots")
    }

    #[test]
    fn the_page_in_a_browser() {
        let Some(tools) = std::env::var_os("MARVIN_TEST_BROWSER").map(PathBuf::from) else {
            println!("skipped: run through `cargo xtask test`, which installs the browser");
            return;
        };
        let marvin = Path::new(env!("CARGO_BIN_EXE_marvin"));
        let pictures = pictures(marvin);
        std::fs::create_dir_all(&pictures).unwrap();
        let directory = tempfile::Builder::new().prefix("marvin-browser-").tempdir().unwrap();
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_browser/suite.mjs");
        let (node, directory) = (OsStr::new("node"), directory.path());
        let output = isolated(node, SUITE_TIMEOUT_SECONDS, directory, directory)
            .arg(suite)
            .env("MARVIN_TEST_BROWSER", tools)
            .env("MARVIN", marvin)
            .env("PICTURES", pictures)
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        println!("{out}");
        assert!(
            output.status.success() && out.contains("all scenes were played"),
            "{}\n{out}\n{err}",
            output.status
        );
    }
}
