//! The log: a line an event, on standard error.

use tracing_subscriber::fmt;

use crate::options::LogFormat;

/// Begins to write the log of this process, unless another part of the program has begun already.
pub fn start_log(format: LogFormat) {
    let lines = fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::INFO)
        .with_target(false);
    // An error means that there is a log.
    let _ = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(lines.with_ansi(false).finish()),
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false);
            tracing::subscriber::set_global_default(lines.with_span_list(false).finish())
        }
    };
}
