//! `cargo xtask blender`: the tests of Blender's tools against the real Blender, as the Python module `bpy`.
//!
//! Not a part of `cargo xtask test`: the download has about 400 MB, and it wants Python 3.11.

use crate::{python, tools};

const BPY: &str = "bpy==5.0.1";

pub(crate) fn run() -> anyhow::Result<()> {
    let python = python::environment("blender", &[BPY])?;
    let mut test = tools::cargo();
    test.args(["test", "--package", "marvin-tools", "--test", "it", "blender::"]);
    tools::run(test.env("MARVIN_TEST_BLENDER", python))
}
