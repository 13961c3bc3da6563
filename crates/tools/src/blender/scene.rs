//! The add-on's answers: scene, objects, pictures.

use crate::service::Listing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The open scene.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct Scene {
    pub(super) name: String,
    /// Version of Blender.
    #[serde(default)]
    pub(super) blender: String,
    #[serde(default)]
    pub(super) frame: i64,
    pub(super) object_count: usize,
    #[serde(default)]
    pub(super) material_count: usize,
    /// The first objects.
    pub(super) objects: Vec<SceneObject>,
}

/// An object of the scene.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct SceneObject {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) location: [f64; 3],
    /// Euler angles in radians.
    #[serde(default)]
    pub(super) rotation: [f64; 3],
    #[serde(default)]
    pub(super) scale: [f64; 3],
    #[serde(default)]
    pub(super) visible: bool,
    #[serde(default)]
    pub(super) materials: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dimensions: Option<[f64; 3]>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) parent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) vertices: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) faces: Option<u64>,
}

impl SceneObject {
    pub(super) fn show(&self, listing: &mut Listing) {
        let vector = |[x, y, z]: [f64; 3]| format!("{x}, {y}, {z}");
        listing.entry(&format!("{} ({})", self.name, self.kind));
        listing.fact("location", &vector(self.location));
        listing.fact("rotation", &vector(self.rotation));
        listing.fact("scale", &vector(self.scale));
        listing.fact("dimensions", &self.dimensions.map(vector).unwrap_or_default());
        listing.fact("materials", &self.materials.join(", "));
        listing.fact("parent", &self.parent);
        listing.number("vertices", self.vertices, "");
        listing.number("faces", self.faces, "");
        if !self.visible {
            listing.fact("hidden", "yes");
        }
    }
}

/// Result of code.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct CodeResult {
    /// What it printed.
    #[serde(default)]
    pub(super) output: String,
}

/// A picture as the add-on sends it.
#[derive(Debug, Deserialize)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    /// A PNG in base64.
    pub(super) data: String,
}
