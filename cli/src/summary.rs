//! The summary of a run, for people and for programs.

use std::io::Write;
use std::time::Instant;

use serde_json::{Value, json};
use tokapi::Error;
use tokapi::Skipped;
use tokapi::Stored;
use tokapi::{Built, IndexInfo};

/// The figures of a collection, and of the run that read it.
pub struct Summary {
    started: Instant,
    documents: u64,
    tokens: u64,
    /// Distinct terms.
    pub terms: u64,
    /// Whether these are the terms of the index to which the collection was added.
    pub terms_of_index: bool,
    postings: u64,
    bytes: u64,
    skipped: Skipped,
}

impl Summary {
    /// Of a collection. Its terms are not counted yet.
    pub fn new(started: Instant, collection: &Stored) -> Self {
        let statistics = collection.statistics();
        Summary {
            started,
            documents: statistics.documents,
            tokens: statistics.total_length,
            terms: 0,
            terms_of_index: false,
            postings: collection.postings_count(),
            bytes: collection.bytes(),
            skipped: collection.skipped().clone(),
        }
    }

    /// Of the documents that an index was made of; its terms are not counted yet.
    pub fn of_built(started: Instant, built: &Built) -> Self {
        Summary {
            started,
            documents: built.statistics.documents,
            tokens: built.statistics.total_length,
            terms: 0,
            terms_of_index: false,
            postings: built.postings,
            bytes: built.bytes,
            skipped: built.skipped.clone(),
        }
    }

    /// Of an index that was made from a file of `bytes`.
    pub fn of_index(started: Instant, info: &IndexInfo, bytes: u64) -> Self {
        Summary {
            started,
            documents: info.statistics.documents,
            tokens: info.statistics.total_length,
            terms: info.terms,
            terms_of_index: false,
            postings: info.postings,
            bytes,
            skipped: Skipped::default(),
        }
    }

    /// As one JSON object, with `more` added.
    pub fn json(&self, more: Value) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        let mut object = json!({
            "documents": self.documents,
            "tokens": self.tokens,
            self.terms_name("terms", "index_terms"): self.terms,
            "postings": self.postings,
            "bytes": self.bytes,
            "seconds": seconds,
            "megabytes_per_second": self.bytes as f64 / 1e6 / seconds,
            "peak_memory_bytes": peak_memory_bytes(),
            "skipped": self.skipped.count,
            "skipped_reasons": self.skipped.reasons,
        });
        if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
            object.extend(more);
        }
        object.to_string()
    }

    fn terms_name(&self, of_collection: &'static str, of_index: &'static str) -> &'static str {
        match self.terms_of_index {
            true => of_index,
            false => of_collection,
        }
    }

    /// As lines of text.
    pub fn text(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        let mut text = format!(
            "documents       {:>15}\ntokens          {:>15}\n{:<16}{:>15}\npostings        {:>15}\n",
            grouped(self.documents),
            grouped(self.tokens),
            self.terms_name("distinct terms", "terms of index"),
            grouped(self.terms),
            grouped(self.postings)
        );
        text += &format!(
            "bytes           {:>15}\nseconds         {seconds:>15.3}\nMB/s            {:>15.1}\n",
            grouped(self.bytes),
            self.bytes as f64 / 1e6 / seconds
        );
        if let Some(bytes) = peak_memory_bytes() {
            text += &format!("peak memory     {:>12.0} MB\n", bytes as f64 / 1e6);
        }
        text + &skipped_text(&self.skipped)
    }
}

/// The documents that were left out, if any, as lines of text.
pub fn skipped_text(skipped: &Skipped) -> String {
    if skipped.count == 0 {
        return String::new();
    }
    let shown = skipped.reasons.len() as u64;
    let mut text = format!("skipped         {:>15}\n", grouped(skipped.count));
    for reason in &skipped.reasons {
        text += &format!("  {reason}\n");
    }
    if skipped.count > shown {
        text += &format!("  and {} more\n", skipped.count - shown);
    }
    text
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things: `1 document`, `1,234 documents`.
pub fn counted(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(count))
}

/// Prints to standard output; a reader that has closed it wants no more.
pub fn print(bytes: &[u8]) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(source) if source.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Write {
            path: "-".into(),
            source,
        }),
        _ => Ok(()),
    }
}

/// Prints an object on one line of standard output.
pub fn print_json(object: &Value) -> Result<(), Error> {
    print(format!("{object}\n").as_bytes())
}

/// Prints a text to standard error; if that fails, the work goes on.
pub fn note(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The most memory that this process has had resident, if the system reports it.
pub fn peak_memory_bytes() -> Option<u64> {
    use nix::sys::resource::{UsageWho, getrusage};
    let peak = u64::try_from(getrusage(UsageWho::RUSAGE_SELF).ok()?.max_rss()).ok()?;
    // Linux counts in units of 1024 bytes, macOS in bytes.
    Some(if cfg!(target_os = "macos") {
        peak
    } else {
        peak * 1024
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands() {
        assert_eq!(
            [0, 999, 1000, 1234567].map(super::grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
