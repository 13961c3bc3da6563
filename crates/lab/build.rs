//! Packs the benchmark tasks into one file for the binary: every file below `tasks` with its path, compressed, so that a text
//! search through the binary finds no hidden test. This is not secrecy: the source contains them.

use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const MAX_TASKS_BYTES: usize = 1024 * 1024;

fn files_below(directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            // Caches of test runs by hand.
            if !name.starts_with(['.', '_']) {
                files_below(&path, found)?;
            }
        } else if !name.ends_with(".pyc") {
            found.push(path);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new("tasks");
    println!("cargo:rerun-if-changed=tasks");
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    files_below(root, &mut files)?;
    files.sort();
    let mut packed = Vec::new();
    for file in files {
        let path = file.strip_prefix(root)?.to_string_lossy().into_owned();
        let text = fs::read_to_string(&file)?;
        for part in [&path, &text] {
            packed.extend(u32::try_from(part.len())?.to_le_bytes());
            packed.extend(part.as_bytes());
        }
    }
    if packed.len() > MAX_TASKS_BYTES {
        return Err(
            format!("the tasks have {} bytes, and {MAX_TASKS_BYTES} are allowed", packed.len()).into()
        );
    }
    let out = fs::File::create(Path::new(&env::var("OUT_DIR")?).join("tasks.pack.gz"))?;
    let mut encoder = GzEncoder::new(out, Compression::best());
    encoder.write_all(&packed)?;
    encoder.finish()?;
    Ok(())
}
