//! Links GCC's unwinder into the programs, as `gcc -static-libgcc` does: `libgcc_s` would be a second library that the
//! loader maps at the start of every hook.

use std::env;
use std::path::Path;
use std::process::Command;

const ARCHIVE: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_gnu = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    // The compiler of another target has another name; its programs load the library.
    if !is_gnu || variable("HOST") != variable("TARGET") {
        return;
    }
    let output = Command::new("cc").arg(format!("-print-file-name={ARCHIVE}")).output();
    let path = output.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    // A compiler without the archive prints its bare name.
    if let Some(directory) = Path::new(path.trim()).parent().filter(|directory| directory.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", directory.display());
        println!("cargo:rustc-link-lib=static:+whole-archive,-bundle=gcc_eh");
    }
}
