//! How the program is linked, where the linker is that of GNU systems: so that it starts quickly, because hooks start it before
//! and after everything that an agent does.
//!
//! At a fixed address nothing has to be relocated before `main` (50,000 places in a megabyte of tables otherwise, more than
//! half of the time of a hook); stack, heap and libraries still lie at random ones. And each library that is not shared is
//! one that need not be looked for. Where a static one is not installed, the shared one is taken.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let own = std::env::var("HOST") == std::env::var("TARGET");
    if !own || !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    println!("cargo::rustc-link-arg-bins=-no-pie");
    // Functions that came out the same for several types are kept once. On this processor the linker is the one that comes with
    // the compiler and can do it.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    for library in ["gcc_eh"] {
        if is_installed(library) {
            println!("cargo::rustc-link-lib=static:-bundle={library}");
        }
    }
}

/// Does the linker have the static form of a library?
fn is_installed(library: &str) -> bool {
    let name = format!("lib{library}.a");
    let found = Command::new("cc").arg(format!("-print-file-name={name}")).output();
    // It gives the bare name back where it finds none.
    found.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute())
}
