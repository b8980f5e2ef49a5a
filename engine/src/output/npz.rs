//! Stub.
pub(super) fn write(
    _c: &crate::collection::Collection,
    _b: &crate::weigh::Bm25,
    _o: &super::Output,
) -> crate::Result<Vec<super::Staged>> {
    todo!()
}
