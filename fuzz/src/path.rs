//! Paths: no text opens a file outside the workspace, or a closed one.

use crate::fixture::{CANARY, fixture};
use std::io::Read;
use std::path::Path;

/// Opens, lists and resolves the input as a path.
pub fn path(data: &[u8]) {
    let workspace = &fixture().workspace;
    let text = String::from_utf8_lossy(data);
    let Ok(path) = workspace.path(&text) else { return };
    let parts: Vec<&str> = path.as_str().split('/').collect();
    let plain =
        path.as_str() == "." || parts.iter().all(|part| !part.is_empty() && *part != "." && *part != "..");
    assert!(plain, "{text:?} became {path}");
    if let Ok(file) = workspace.open_read(&path) {
        let mut found = Vec::new();
        file.take(1000).read_to_end(&mut found).ok();
        assert!(!String::from_utf8_lossy(&found).contains(CANARY), "{text:?} shows a file outside");
    }
    if let Ok(entries) = workspace.read_dir(&path) {
        assert!(
            !entries.iter().any(|entry| entry.name == "secret" || entry.name == "t.md"),
            "{text:?} lists outside"
        );
    }
    workspace.metadata(&path).ok();
    if workspace.writable(&path).is_ok() {
        let real = workspace.resolve(&path).unwrap_or_else(|refusal| panic!("{text:?}: {refusal}"));
        let closed = |place: &str| real.starts_with(place);
        assert!(
            !real.is_absolute() && real != Path::new(""),
            "{text:?} would be written at {}",
            real.display()
        );
        assert!(
            ![".tickets", ".git", ".marvin/runs"].iter().any(|place| closed(place)),
            "{text:?} is closed"
        );
    }
}
