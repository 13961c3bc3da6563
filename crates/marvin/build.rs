//! How the program is linked, where the system is GNU's: so that it starts quickly, because hooks start it before and after
//! everything that an agent does.
//!
//! At a fixed address nothing has to be relocated before `main` (50,000 places in a megabyte of tables otherwise, more than
//! half of the time of a hook); stack and heap still lie at random ones. And with the system's own libraries inside, none has to
//! be looked for, read and bound, which was most of the rest. Where their static forms are not installed, the shared ones are
//! taken. What that means for the names of machines is in `marvin_base::names`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The system's libraries, by the name that the compiler asks for and the name of the static form.
const LIBRARIES: [(&str, &str); 7] = [
    ("c", "c"),
    ("m", "m"),
    ("rt", "rt"),
    ("pthread", "pthread"),
    ("util", "util"),
    ("dl", "dl"),
    ("gcc_s", "gcc_eh"),
];

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
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    if all_inside(&out) {
        println!("cargo::rustc-link-arg-bins=-L{}", out.display());
        println!("cargo::rustc-link-arg-bins=-static");
    } else if place_of("gcc_eh").is_some() {
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// The compiler asks for shared libraries by name. Each name leads to the static form, if there is one of every library.
fn all_inside(out: &Path) -> bool {
    LIBRARIES.iter().all(|(name, form)| {
        let leads = place_of(form).map(|place| format!("INPUT({})\n", place.display()));
        leads.is_some_and(|leads| std::fs::write(out.join(format!("lib{name}.so")), leads).is_ok())
    })
}

/// Where the linker has the static form of a library.
fn place_of(library: &str) -> Option<PathBuf> {
    let output = Command::new("cc").arg(format!("-print-file-name=lib{library}.a")).output().ok()?;
    let place = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    // It gives the bare name back where it finds none.
    place.is_absolute().then_some(place)
}
