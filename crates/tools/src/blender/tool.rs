//! The tools of Blender.

use super::connection::{Blender, Command};
use super::error::BlenderError;
use super::scene::{CodeResult, Scene, SceneObject};
use crate::artifact;
use crate::context::ToolContext;
use crate::function_tool::ToolFacts;
use crate::result::{Confidence, FROM_SERVER, Output, ToolError};
use crate::service::{Listing, mark, needs};
use crate::tool::{DynTool, NoInput, Tool};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use marvin_base::clock;
use marvin_base::printable::count;
use marvin_base::settings::table;
use marvin_gate::{Decision, Intent, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The first bytes of every PNG.
const PNG_SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];
const MAX_CODE_CHARS: usize = 100_000;
/// The service that the marks name.
const NAME: &str = "Blender";
/// Changes the person's scene, through a socket.
const CHANGES_SCENE: Touches = Touches { network: true, ..Touches::STORES };

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        GET_SCENE.with(get_scene),
        GET_OBJECT.with(get_object),
        CREATE_OBJECT.with(create_object),
        MODIFY_OBJECT.with(modify_object),
        DELETE_OBJECT.with(delete_object),
        SET_MATERIAL.with(set_material),
        Arc::new(BlenderExecuteCode),
        SCREENSHOT.with(screenshot),
    ]
}

impl From<BlenderError> for ToolError {
    fn from(error: BlenderError) -> Self {
        ToolError::from_reason(&error, None, false)
    }
}

/// A result of the add-on for the model, marked as foreign.
fn output<D>(summary: String, listing: Listing, data: D) -> Output<D> {
    let text = mark(NAME, None) + &listing.into_text();
    Output { source: FROM_SERVER, confidence: Confidence::Summarized, ..Output::new(summary, text, data) }
}

/// Asks for something that is answered with one object.
async fn ask_object(
    command: Command<'_>,
    verb: &str,
    context: &ToolContext,
) -> Result<Output<SceneObject>, ToolError> {
    let blender = Blender::from_settings(&context.settings, &context.layout)?;
    let object: SceneObject = blender.ask(&command, &context.cancel).await?;
    let mut listing = Listing::default();
    object.show(&mut listing);
    Ok(output(format!("{verb} {}", object.name), listing, object))
}

/// The name of an object, as the model gave it.
fn object_name<'a>(name: &'a str, tool: &str) -> Result<&'a str, ToolError> {
    if name.trim().is_empty() {
        return Err(needs(tool, "object_name", "the name of an object, as blender_get_scene shows it"));
    }
    Ok(name)
}

/// Checks the length of a list of finite numbers.
fn check_numbers(numbers: &[f64], length: usize, field: &str, tool: &str) -> Result<(), ToolError> {
    if numbers.len() == length && numbers.iter().all(|number| number.is_finite()) {
        return Ok(());
    }
    Err(needs(tool, field, &format!("a list of {length} numbers")))
}

const GET_SCENE: ToolFacts = ToolFacts {
    name: "blender_get_scene",
    description: "List the objects of the scene that is open in the person's Blender (3D).",
    example: "{}",
    touches: Touches::NETWORK,
};

async fn get_scene(_input: NoInput, context: ToolContext) -> Result<Output<Scene>, ToolError> {
    let blender = Blender::from_settings(&context.settings, &context.layout)?;
    let scene: Scene = blender.ask(&Command::GetScene {}, &context.cancel).await?;
    let mut listing = Listing::default();
    listing.entry(&format!("scene {}", scene.name));
    listing.fact("objects", &scene.object_count.to_string());
    listing.fact("materials", &scene.material_count.to_string());
    scene.objects.iter().for_each(|object| object.show(&mut listing));
    let left_out = scene.object_count.saturating_sub(scene.objects.len());
    if left_out > 0 {
        listing.entry(&format!("({left_out} further objects are left out)"));
    }
    Ok(output(format!("{} in {}", count(scene.object_count, "object"), scene.name), listing, scene))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ObjectInput {
    /// Name of the object, as blender_get_scene shows it.
    object_name: String,
}

const GET_OBJECT: ToolFacts = ToolFacts {
    name: "blender_get_object",
    description: "Show an object of the scene in Blender: place, size, mesh, materials.",
    example: r#"{"object_name": "Cube"}"#,
    touches: Touches::NETWORK,
};

async fn get_object(input: ObjectInput, context: ToolContext) -> Result<Output<SceneObject>, ToolError> {
    let name = object_name(&input.object_name, GET_OBJECT.name)?;
    ask_object(Command::GetObject { name }, "Object", &context).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateInput {
    /// CUBE, SPHERE, ICO_SPHERE, CYLINDER, CONE, PLANE, CIRCLE, GRID, TORUS, MONKEY, EMPTY, CAMERA, LIGHT, SUN, SPOT or AREA.
    object_type: String,
    #[serde(default)]
    name: String,
    #[serde(default = "zeros")]
    location: Vec<f64>,
    #[serde(default = "ones")]
    scale: Vec<f64>,
    /// Euler angles in radians.
    #[serde(default = "zeros")]
    rotation: Vec<f64>,
}

fn zeros() -> Vec<f64> {
    vec![0.0; 3]
}

fn ones() -> Vec<f64> {
    vec![1.0; 3]
}

const CREATE_OBJECT: ToolFacts = ToolFacts {
    name: "blender_create_object",
    description: "Create an object in the scene of Blender.",
    example: r#"{"object_type": "SPHERE", "name": "Ball", "location": [0, 0, 2], "scale": [1, 1, 1]}"#,
    touches: CHANGES_SCENE,
};

async fn create_object(input: CreateInput, context: ToolContext) -> Result<Output<SceneObject>, ToolError> {
    let CreateInput { object_type, name, location, scale, rotation } = &input;
    if object_type.trim().is_empty() {
        return Err(needs(CREATE_OBJECT.name, "object_type", "such as CUBE"));
    }
    for (numbers, field) in [(location, "location"), (scale, "scale"), (rotation, "rotation")] {
        check_numbers(numbers, 3, field, CREATE_OBJECT.name)?;
    }
    ask_object(
        Command::CreateObject { kind: object_type, name, location, scale, rotation },
        "Created",
        &context,
    )
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ModifyInput {
    /// Name of the object, as blender_get_scene shows it.
    object_name: String,
    location: Option<Vec<f64>>,
    scale: Option<Vec<f64>>,
    /// Euler angles in radians.
    rotation: Option<Vec<f64>>,
}

const MODIFY_OBJECT: ToolFacts = ToolFacts {
    name: "blender_modify_object",
    description: "Move, scale or rotate an object of the scene in Blender.",
    example: r#"{"object_name": "Cube", "location": [1, 0, 0]}"#,
    touches: CHANGES_SCENE,
};

async fn modify_object(input: ModifyInput, context: ToolContext) -> Result<Output<SceneObject>, ToolError> {
    let name = object_name(&input.object_name, MODIFY_OBJECT.name)?;
    let fields = [(&input.location, "location"), (&input.scale, "scale"), (&input.rotation, "rotation")];
    if fields.iter().all(|(numbers, _)| numbers.is_none()) {
        return Err(needs(MODIFY_OBJECT.name, "location", "that, `scale` or `rotation`"));
    }
    for (numbers, field) in fields {
        numbers.iter().try_for_each(|numbers| check_numbers(numbers, 3, field, MODIFY_OBJECT.name))?;
    }
    let command = Command::ModifyObject {
        name,
        location: input.location.as_deref(),
        scale: input.scale.as_deref(),
        rotation: input.rotation.as_deref(),
    };
    ask_object(command, "Changed", &context).await
}

const DELETE_OBJECT: ToolFacts = ToolFacts {
    name: "blender_delete_object",
    description: "Delete an object of the scene in Blender.",
    example: r#"{"object_name": "Cube"}"#,
    touches: CHANGES_SCENE,
};

async fn delete_object(input: ObjectInput, context: ToolContext) -> Result<Output<SceneObject>, ToolError> {
    let name = object_name(&input.object_name, DELETE_OBJECT.name)?;
    ask_object(Command::DeleteObject { name }, "Deleted", &context).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MaterialInput {
    /// Name of the object, as blender_get_scene shows it.
    object_name: String,
    /// Name of the material; empty: one for this object.
    #[serde(default)]
    material_name: String,
    /// Red, green, blue and alpha, from 0 to 1.
    #[serde(default = "grey")]
    color: Vec<f64>,
}

fn grey() -> Vec<f64> {
    vec![0.8, 0.8, 0.8, 1.0]
}

const SET_MATERIAL: ToolFacts = ToolFacts {
    name: "blender_set_material",
    description: "Give an object of the scene in Blender a material of this color.",
    example: r#"{"object_name": "Cube", "material_name": "Red", "color": [0.8, 0.1, 0.1, 1]}"#,
    touches: CHANGES_SCENE,
};

async fn set_material(input: MaterialInput, context: ToolContext) -> Result<Output<SceneObject>, ToolError> {
    let name = object_name(&input.object_name, SET_MATERIAL.name)?;
    check_numbers(&input.color, 4, "color", SET_MATERIAL.name)?;
    let command = Command::SetMaterial { name, material_name: &input.material_name, color: &input.color };
    ask_object(command, "Coloured", &context).await
}

/// Runs Python in Blender, after the gate judged it as code.
#[derive(Debug, Clone, Copy)]
struct BlenderExecuteCode;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CodeInput {
    /// Python for Blender's interpreter; `bpy` is there. What it prints is the result.
    code: String,
}

#[async_trait]
impl Tool for BlenderExecuteCode {
    type Input = CodeInput;
    type Data = CodeResult;
    const NAME: &'static str = "blender_execute_code";
    const DESCRIPTION: &'static str = "Run Python in the person's Blender, for what the other Blender tools cannot do. A person is asked first.";
    const EXAMPLE: &'static str = r#"{"code": "print(len(bpy.data.objects))"}"#;
    const TOUCHES: Touches = Touches { network: true, stores: true, ..Touches::EXECUTES };

    fn intents(input: &CodeInput, context: &ToolContext) -> Vec<Intent> {
        let setting = match context.settings.text(&table::BLENDER_CODE) {
            "allow" => Decision::Allow,
            "deny" => Decision::Deny,
            _ => Decision::Ask,
        };
        vec![Intent::Code { code: input.code.clone(), program: NAME, setting }]
    }

    async fn call(&self, input: CodeInput, context: &ToolContext) -> Result<Output<CodeResult>, ToolError> {
        if input.code.trim().is_empty() || input.code.chars().count() > MAX_CODE_CHARS {
            let what = format!("Python of at most {MAX_CODE_CHARS} characters");
            return Err(needs(Self::NAME, "code", &what));
        }
        let blender = Blender::from_settings(&context.settings, &context.layout)?;
        let result: CodeResult =
            blender.ask(&Command::ExecuteCode { code: &input.code }, &context.cancel).await?;
        let mut listing = Listing::default();
        listing.entry("printed");
        listing.lines(if result.output.is_empty() { "(nothing)" } else { &result.output });
        Ok(output("Ran code in Blender".into(), listing, result))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ScreenshotInput {
    /// Pixels of the longer side, 64 to 2048.
    #[serde(default = "default_size")]
    max_size: u32,
}

fn default_size() -> u32 {
    512
}

/// A picture that was saved.
#[derive(Debug, Serialize, JsonSchema)]
struct ScreenshotData {
    /// The PNG.
    path: String,
    width: u32,
    height: u32,
    bytes: usize,
}

const SCREENSHOT: ToolFacts = ToolFacts {
    name: "blender_screenshot",
    description: "Save a picture of Blender's 3D view for the person: of its window, or rendered where it has none.",
    example: r#"{"max_size": 512}"#,
    touches: CHANGES_SCENE,
};

async fn screenshot(
    input: ScreenshotInput,
    context: ToolContext,
) -> Result<Output<ScreenshotData>, ToolError> {
    let blender = Blender::from_settings(&context.settings, &context.layout)?;
    let picture = blender.ask_picture(input.max_size.clamp(64, 2_048), &context.cancel).await?;
    let wrong = |what: &str| BlenderError::Malformed(what.to_string());
    let png = STANDARD.decode(picture.data.trim()).map_err(|_| wrong("its picture is not base64"))?;
    if !png.starts_with(&PNG_SIGNATURE) {
        return Err(wrong("its picture is not a PNG").into());
    }
    let path = match &context.artifacts {
        Some(directory) => artifact::write(&directory.place(), SCREENSHOT.name, "png", &[&png])
            .map(|name| directory.path().join(name)),
        None => {
            let name = format!("blender-{}.png", clock::now().strftime("%Y%m%d-%H%M%S%.3f"));
            let path = context.layout.downloads().join(name);
            std::fs::create_dir_all(context.layout.downloads())
                .and_then(|()| std::fs::File::create_new(&path))
                .and_then(|mut file| std::io::Write::write_all(&mut file, &png))
                .map(|()| path)
        }
    };
    let path = path.map_err(|error| BlenderError::Picture {
        path: context.layout.downloads().display().to_string(),
        reason: error.to_string(),
    })?;
    let (width, height) = (picture.width, picture.height);
    let data = ScreenshotData { path: path.display().to_string(), width, height, bytes: png.len() };
    Ok(Output::line(format!("Saved a picture of {width}×{height} pixels as {}", data.path), data))
}
