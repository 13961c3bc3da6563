//! Failures of the connection to Blender.

/// Why Blender could not be asked, or did not do it.
#[derive(Debug, thiserror::Error)]
pub enum BlenderError {
    #[error("cannot use the address `{0}` of `blender.address`: it is not a port of this machine")]
    Address(String),
    #[error(
        "cannot reach Blender at {address}: {reason}\n  hint: open Blender and switch its add-on Marvin on; `marvin blender \
         install` writes it"
    )]
    Unreachable { address: String, reason: String },
    #[error("cannot wait any longer for Blender: no answer within {0} s")]
    Late(u64),
    #[error("cannot read Blender's answer: it has more than {0} bytes")]
    TooLarge(usize),
    #[error("cannot understand Blender's answer: {0}")]
    Malformed(String),
    /// Blender's own words.
    #[error("Blender says: {0}")]
    Refused(String),
    #[error("cannot save the picture as {path}: {reason}")]
    Picture { path: String, reason: String },
    #[error("cannot ask Blender: interrupted")]
    Interrupted,
}
