//! The web pages in a real browser: headless Chromium, driven by `suite.mjs`, in a network namespace with only a
//! loopback.
//!
//! The browser and its driver are found through `MARVIN_TEST_BROWSER`, which `cargo xtask test` sets. Screenshots of every
//! page are stored in `screenshots` in cargo's target directory.

#[cfg(test)]
mod tests {
    use marvin_testing::namespace::isolated;
    use std::path::{Path, PathBuf};

    /// Seconds after which the suite counts as stuck.
    const SUITE_TIMEOUT_SECONDS: u32 = 300;

    /// Directory of the screenshots, next to the one that the program was built into.
    fn pictures(marvin: &Path) -> PathBuf {
        marvin.parent().unwrap().parent().unwrap().join("screenshots")
    }

    #[test]
    fn the_page_in_a_browser() {
        let Some(tools) = std::env::var_os("MARVIN_TEST_BROWSER").map(PathBuf::from) else {
            marvin_testing::skip("run through `cargo xtask test`, which installs the browser");
            return;
        };
        let marvin = Path::new(env!("CARGO_BIN_EXE_marvin"));
        let pictures = pictures(marvin);
        std::fs::create_dir_all(&pictures).unwrap();
        let directory = tempfile::Builder::new().prefix("marvin-browser-").tempdir().unwrap();
        let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_browser/suite.mjs");
        let (node, directory) = (marvin_testing::node::program(), directory.path());
        let output = isolated(node.as_os_str(), SUITE_TIMEOUT_SECONDS, directory, directory)
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
