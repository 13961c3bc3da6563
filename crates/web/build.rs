//! Lists the files of `assets` for `src/assets.rs`, so that a new file of the page needs no row in a table.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// Content types by ending. The page itself, `index.html`, has an address of its own.
const TYPES: [(&str, &str); 3] =
    [("css", "text/css; charset=utf-8"), ("js", "text/javascript; charset=utf-8"), ("svg", "image/svg+xml")];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=assets");
    println!("cargo:rerun-if-changed=build.rs");
    let directory = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("assets");
    let mut paths = fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    let mut list = String::from("&[\n");
    for path in paths {
        let (name, ending) = (path.file_name().unwrap_or_default(), path.extension().unwrap_or_default());
        if let Some((_, kind)) = TYPES.iter().find(|(known, _)| ending == *known) {
            // Not the path of this checkout: one target directory may serve several.
            let path = format!("/assets/{}", name.display());
            let bytes = format!("include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))");
            writeln!(list, "Asset {{ name: {name:?}, kind: {kind:?}, bytes: {bytes} }},")?;
        }
    }
    list.push(']');
    fs::write(Path::new(&env::var("OUT_DIR")?).join("assets.rs"), list)?;
    Ok(())
}
