//! Stub.
pub(super) fn write(
    _w: &crate::collection::Weights,
    _o: &super::Output,
) -> crate::Result<Vec<super::Staged>> {
    todo!()
}
