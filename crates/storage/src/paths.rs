//! Paths for serde, as bytes: file names need not be UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes a path as its bytes.
pub fn serialize<S: Serializer>(path: &impl AsRef<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: &[u8] = path.as_ref().as_os_str().as_bytes();
    bytes.serialize(serializer)
}

/// Reads a path from its bytes.
pub fn deserialize<'de, P: From<PathBuf>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<P, D::Error> {
    let bytes = Vec::<u8>::deserialize(deserializer)?;
    Ok(PathBuf::from(OsString::from_vec(bytes)).into())
}
