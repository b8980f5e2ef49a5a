#![no_main]

use tokapi::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokapi_fuzz::records(Format::Text, bytes));
