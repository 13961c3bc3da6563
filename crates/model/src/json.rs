//! The one thing that `serde_json` offers only with a panic: setting a field.

use serde_json::Value;

/// Sets a field of an object; anything else is left alone.
pub(crate) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.to_string(), value.into());
    }
}
