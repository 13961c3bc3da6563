//! The process environment, read once and passed on as a value.
//!
//! Reading `std::env` in the middle of a function makes that function depend on the world; a map does not. Variables
//! whose name or value is not UTF-8 are kept out (and listed), since no setting of ours can be one.

use std::collections::BTreeMap;

/// A snapshot of environment variables, in order of their names.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    unreadable: Vec<String>,
}

impl Environment {
    /// The variables of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let mut environment = Environment::default();
        for (name, value) in std::env::vars_os() {
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) => {
                    environment.variables.insert(name, value);
                }
                (Ok(name), Err(_)) => environment.unreadable.push(name),
                (Err(name), _) => environment.unreadable.push(name.to_string_lossy().into_owned()),
            }
        }
        environment
    }

    /// The value of a variable; an empty value counts as unset.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every variable, in order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Names of variables that are not UTF-8.
    #[must_use]
    pub fn unreadable(&self) -> &[String] {
        &self.unreadable
    }

    /// The same environment with one variable set.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(pairs: T) -> Self {
        let variables = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment { variables, unreadable: Vec::new() }
    }
}
