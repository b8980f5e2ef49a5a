#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(
    init: {
        // libFuzzer's hook aborts on every panic, also on one that becomes an error.
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !tokapi::catches_panic() {
                report(panic);
            }
        }));
    },
    |bytes: &[u8]| -> Corpus {
        tokapi_fuzz::parquet(bytes);
        Corpus::Keep
    }
);
