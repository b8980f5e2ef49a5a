//! A memory budget is kept, by the figure of the operating system, also by the text that takes the
//! most: terms none of which occurs twice, in documents of very different lengths.

#![cfg(target_os = "linux")]

mod folder;

use std::fmt::Write;

use folder::Folder;

#[test]
fn terms_that_never_repeat_stay_within_the_least_budget() {
    let folder = Folder::new();
    let lengths = [1, 10, 100, 1_000, 200_000];
    let mut text = String::new();
    let mut term = 0u32;
    for document in 0..160 {
        write!(text, "d{document}\t").unwrap();
        for _ in 0..lengths[document % lengths.len()] {
            // Multiplied by an odd number, no two are the same.
            write!(text, "{:x} ", term.wrapping_mul(2_654_435_761)).unwrap();
            term += 1;
        }
        text.push('\n');
    }
    folder.put("docs.tsv", text);
    for order in ["term", "document"] {
        let (summary, _) =
            folder.weighs(&["docs.tsv", "--memory", "300MB", "--spill", "--order", order]);
        assert_eq!(summary["terms"], term, "{order}");
        let peak = summary["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak < 300_000_000, "by {order}: {peak} bytes of memory");
    }
}
