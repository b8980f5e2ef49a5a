#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokapi_fuzz::elastic(bytes));
