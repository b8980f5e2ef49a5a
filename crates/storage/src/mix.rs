//! The mixing step of hashes.

/// The two halves of the product of `a` and `b`, folded into one.
#[inline]
pub fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
