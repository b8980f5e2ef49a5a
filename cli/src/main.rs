//! tokapi
fn main() {}
