//! How the names of machines are looked up.
//!
//! A program that has the system's library inside must not load the system's services for names, which are made for the library
//! of the system and may be of another version. It then looks into `/etc/hosts` and asks DNS; names that only such services
//! know, like those in `.local`, are not found.

use std::sync::Once;

/// To be called before the first name is looked up. Does nothing where the library is shared.
pub fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(limit);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library cannot be asked otherwise")]
fn limit() {
    unsafe extern "C" {
        fn __nss_configure_lookup(
            database: *const libc::c_char,
            services: *const libc::c_char,
        ) -> libc::c_int;
    }
    // SAFETY: it only reads what the kernel handed over; zero means that no loader is in use.
    if unsafe { libc::getauxval(libc::AT_BASE) } != 0 {
        return;
    }
    for (database, services) in [(c"hosts", c"files dns"), (c"passwd", c"files"), (c"group", c"files")] {
        // SAFETY: both are texts that live for ever; no name has been looked up yet.
        unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn limit() {}

#[cfg(test)]
mod tests {
    use std::net::ToSocketAddrs;

    #[test]
    fn names_of_this_machine_are_found() {
        super::prepare();
        assert!(("localhost", 80).to_socket_addrs().unwrap().any(|address| address.ip().is_loopback()));
    }
}
