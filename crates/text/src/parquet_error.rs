//! Errors of the Parquet writer, as errors of the system.

use parquet::errors::ParquetError;

/// The system's error behind an error of the Parquet writer, if any.
pub fn into_io(error: ParquetError) -> std::io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => *source,
            Err(source) => std::io::Error::other(source),
        },
        other => std::io::Error::other(other),
    }
}
