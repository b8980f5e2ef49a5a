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

#[test]
fn a_cancelled_build_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let error = stream::run(&folder.path().join("index"), 100).unwrap_err();
    assert!(matches!(error, tokapi::Error::Cancelled), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
