//! The functions of the C library's mathematics that the program uses, under the names that compiled code calls.
//!
//! They lie in a library of their own, and finding and binding it would take a tenth of the time of a hook. These give the same
//! results on every system. Where one is missing here, the system's library is linked as always.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(unsafe_code, reason = "the names are what compiled code calls")]

macro_rules! of_one {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(x: f64) -> f64 {
            libm::$name(x)
        }
    )*};
}

macro_rules! of_two {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(x: f64, y: f64) -> f64 {
            libm::$name(x, y)
        }
    )*};
}

#[unsafe(no_mangle)]
extern "C" fn expf(x: f32) -> f32 {
    libm::expf(x)
}

of_one! { acos asin atan cos cosh exp log log1p log2 sin sinh tan tanh }
of_two! { atan2 hypot pow }
