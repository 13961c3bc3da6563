#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| marvin_fuzz::command(data));
