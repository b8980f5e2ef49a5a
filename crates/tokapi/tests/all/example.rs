//! The example of the guide does what the guide says.

#[path = "../../examples/stream.rs"]
#[allow(dead_code, reason = "its `main` is for people")]
mod stream;

#[test]
fn documents_from_a_channel_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let found = stream::run(&folder.path().join("index"), u64::MAX).unwrap();
    assert_eq!(found, ["d777"]);
}
