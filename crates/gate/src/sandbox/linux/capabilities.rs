//! Capabilities of a sandboxed program: none.

use std::path::Path;

/// The capabilities that the child keeps: none; only where root works in another user's directory (a container with a
/// mounted project) the one that lets it write there.
pub(super) fn kept(workspace: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    const DAC_OVERRIDE: u64 = 1 << 1;
    let foreign = std::fs::metadata(workspace).is_ok_and(|facts| facts.uid() != 0);
    if rustix::process::geteuid().is_root() && foreign { DAC_OVERRIDE } else { 0 }
}

/// Arguments of `capset`: version and process, then two halves of the three sets.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: i32,
}

#[repr(C)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up every capability but `keep`, for the programs that follow too. Makes system calls only.
#[expect(unsafe_code, reason = "libc has no safe form of these calls; they read only what is handed to them")]
pub(super) fn drop_all_but(keep: u64) -> std::io::Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = CapabilityHeader { version: VERSION_3, process: 0 };
    let half = |bits: u64| {
        let bits = u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
        CapabilitySets { effective: bits, permitted: bits, inheritable: 0 }
    };
    let sets = [half(keep), half(keep >> 32)];
    // SAFETY: the numbers are passed by value, and the structures have the layout that the kernel documents.
    unsafe {
        for capability in (0..64u64).filter(|capability| keep & (1 << capability) == 0) {
            // Fails past the last capability, and where there is none to drop: then there is nothing to lose either.
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}
