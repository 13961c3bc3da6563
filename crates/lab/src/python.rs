//! The Python with pytest that grades tasks and that solvers use.

use crate::error::LabError;
use marvin_base::child::{self, Child, Ending};
use marvin_base::environment::Environment;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The exit code of [`VERSIONS`] where pytest is missing.
const NO_PYTEST: i32 = 3;
/// Prints the versions of Python and of pytest.
const VERSIONS: &str = "import sys, importlib.util
if importlib.util.find_spec('pytest') is None: sys.exit(3)
import pytest
print(sys.version.split()[0], pytest.__version__)";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    pub program: String,
    /// `3.13.1, pytest 8.4.2`.
    pub version: String,
}

impl Python {
    /// Finds a program, or the Python of a virtual environment.
    ///
    /// # Errors
    /// When it does not exist, or has no pytest.
    pub async fn find(named: &str, directory: &Path, cancel: &CancellationToken) -> Result<Python, LabError> {
        let place = directory.join(named);
        let program = match named.contains('/') {
            true if place.is_dir() => place.join("bin/python3").display().to_string(),
            true => place.display().to_string(),
            false => named.to_string(),
        };
        let wrong = |problem: &str| LabError::Python { program: program.clone(), problem: problem.into() };
        let mut child = Child::new(&program).args(["-I", "-c", VERSIONS]);
        child.deadline = Duration::from_secs(60);
        let outcome = child::run(child, cancel).await.map_err(|_| wrong("does not exist"))?;
        let text = outcome.stdout.text();
        match (outcome.ending, text.trim().split_once(' ')) {
            (Ending::Exited(0), Some((python, pytest))) => {
                Ok(Python { version: format!("{python}, pytest {pytest}"), program: program.clone() })
            }
            (Ending::Cancelled, _) => Err(LabError::Interrupted),
            (Ending::Exited(NO_PYTEST), _) => Err(wrong("has no pytest")),
            _ => Err(wrong("does not run")),
        }
    }

    /// Variables by which programs of solvers find this Python first and write no bytecode.
    #[must_use]
    pub fn variables(&self, environment: &Environment) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::from([("PYTHONDONTWRITEBYTECODE".to_string(), "1".to_string())]);
        if let Some(directory) = Path::new(&self.program).parent().filter(|_| self.program.contains('/')) {
            let path = environment.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
            variables.insert("PATH".into(), format!("{}:{path}", directory.display()));
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_missing_python_is_reported() {
        let cancel = CancellationToken::new();
        let missing = Python::find("no-such-python", Path::new("/"), &cancel).await.unwrap_err().to_string();
        assert!(
            missing.contains("`no-such-python` does not exist") && missing.contains("hint:"),
            "{missing}"
        );
        for no_python in ["/bin/true", "/bin/false"] {
            let wrong = Python::find(no_python, Path::new("/"), &cancel).await.unwrap_err().to_string();
            assert!(wrong.contains("does not run"), "{wrong}");
        }
    }

    #[test]
    fn a_virtual_environment_goes_first() {
        let environment = Environment::from_iter([("PATH", "/bin")]);
        let python = Python { program: "/v/bin/python3".into(), version: String::new() };
        assert_eq!(python.variables(&environment)["PATH"], "/v/bin:/bin");
        let python = Python { program: "python3".into(), version: String::new() };
        assert!(!python.variables(&environment).contains_key("PATH"));
    }
}
