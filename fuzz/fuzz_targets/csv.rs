#![no_main]

use tokapi::corpus::Format;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tokapi_fuzz::records(Format::Csv, bytes));
