//! The functions of libm that the program uses, under the names that compiled code calls.
//!
//! The system's libm is a library of its own, and to find and bind it would take a tenth of the time of a hook. These
//! functions give the same results on every system. Where one is missing here, the system's library is linked.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![expect(unsafe_code, reason = "the names are what compiled code calls")]

macro_rules! unary {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(x: f64) -> f64 {
            libm::$name(x)
        }
    )*};
}

macro_rules! binary {
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

unary! { acos asin atan cos cosh exp log log1p log2 sin sinh tan tanh }
binary! { atan2 hypot pow }
