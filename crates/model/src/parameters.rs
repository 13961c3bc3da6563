//! JSON Schema of a tool's arguments, made when it is needed.
//!
//! An agent has more than a hundred tools, and a request offers some twenty of them. Making every schema at the start of a turn
//! costs time and memory for values that most turns never send.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

type MakeSchema = Box<dyn FnOnce() -> Value + Send>;

/// JSON Schema of the arguments of a tool. Clones share it.
#[derive(Clone)]
pub struct Parameters(Arc<LazyLock<Value, MakeSchema>>);

impl Parameters {
    /// The schema that this function makes at its first use.
    pub fn lazy(make: impl FnOnce() -> Value + Send + 'static) -> Self {
        Parameters(Arc::new(LazyLock::new(Box::new(make))))
    }
}

impl Deref for Parameters {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl From<Value> for Parameters {
    fn from(schema: Value) -> Self {
        Parameters::lazy(move || schema)
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters::from(Value::Null)
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Parameters::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_schema_is_made_once_and_only_when_it_is_used() {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = made.clone();
        let parameters = Parameters::lazy(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            json!({"type": "object"})
        });
        let clone = parameters.clone();
        assert_eq!(made.load(Ordering::SeqCst), 0);
        assert_eq!(serde_json::to_value(&clone).unwrap(), json!({"type": "object"}));
        assert_eq!(parameters.get("type"), Some(&json!("object")));
        assert_eq!(made.load(Ordering::SeqCst), 1);
        assert_eq!(parameters, Parameters::from(json!({"type": "object"})));
    }
}
