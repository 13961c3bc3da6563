//! Blender: its scene through a socket add-on of Marvin's own, `data/marvin_socket.py`.
//!
//! The add-on listens on this machine only and answers lines of JSON; `install.rs` writes it into Blender's directories with a
//! token that every request carries. Names and texts of a scene are information from others: cleaned and marked.
//!
//! Limits: Blender itself is not in a sandbox. Code that it runs has the rights of the person, which is why they are asked.

mod connection;
mod error;
mod install;
mod scene;
mod tool;

pub use connection::Blender;
pub use error::BlenderError;
pub use install::{InstallError, Installation, install};
pub(crate) use tool::tools;
