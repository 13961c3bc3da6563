//! Packs the relative relocations of the programs (DT_RELR): a table of 24 bytes per address that the loader fills becomes one of a few
//! bits, so the programs are smaller and start with fewer page faults.
//!
//! Loaders before glibc 2.36 refuse such a program. It is linked so only where the C library of the building machine is new enough;
//! programs need the C library of that machine, or a newer one, anyway.

use std::env;
use std::process::Command;

/// The first glibc whose loader reads packed relocations.
const MIN_GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let is_gnu = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_gnu && variable("HOST") == variable("TARGET") && glibc().is_some_and(|version| version >= MIN_GLIBC)
    {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's C library.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
