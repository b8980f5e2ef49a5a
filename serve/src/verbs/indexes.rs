//! The server and its indexes: described, created, removed.

use std::sync::Arc;

use tokapi::{Analyzer, AnalyzerOptions, Cut, Keep, StopWords};

use super::changes::blocking;
use crate::model::{
    EpochAnswer, IndexAnswer, IndexRequest, IndexesAnswer, ServerAnswer, StatisticsAnswer,
};
use crate::problem::Problem;
use crate::served::Snapshot;
use crate::service::{Service, Shared};
use crate::write::NewIndex;

/// Describes the server.
pub fn server(service: &Service) -> ServerAnswer {
    ServerAnswer {
        name: "tokapi",
        version: env!("CARGO_PKG_VERSION"),
        indexes: service.catalog.names(),
        openapi: "/v1/openapi.json",
    }
}

/// Describes all indexes.
pub fn indexes(service: &Service) -> IndexesAnswer {
    let snapshots = service.catalog.snapshots();
    let indexes = snapshots.iter().map(|snapshot| described(snapshot));
    IndexesAnswer {
        indexes: indexes.collect(),
    }
}

/// Describes an index.
pub fn described(snapshot: &Snapshot) -> IndexAnswer {
    let info = snapshot.info();
    IndexAnswer {
        state: snapshot.state(),
        documents: info.statistics.documents,
        deleted: info.deleted,
        parts: info.parts,
        bytes: info.files.iter().map(|(_, bytes)| bytes).sum(),
        analyzer: snapshot.index().analyzer().to_string(),
        keeps_text: info.keep.text,
        keeps_positions: info.keep.positions,
        fields: info.keep.fields.clone(),
        impacts: info
            .impacts
            .as_ref()
            .map(|impacts| impacts.bm25.to_string()),
    }
}

/// The statistics that weights depend on, and sizes.
pub fn statistics(snapshot: &Snapshot) -> StatisticsAnswer {
    let info = snapshot.info();
    let statistics = info.statistics;
    let average_length = statistics.average_length();
    StatisticsAnswer {
        state: snapshot.state(),
        documents: statistics.documents,
        total_length: statistics.total_length,
        average_length: average_length.is_finite().then_some(average_length),
        deleted: info.deleted,
        postings: info.postings,
        terms: info.terms,
        parts: info.parts,
    }
}

/// Creates an index without documents.
///
/// # Errors
/// The server takes no changes; the name is taken or is none; the analyzer is unknown; files cannot be written.
pub async fn create(
    service: &Shared,
    index: String,
    request: IndexRequest,
) -> Result<EpochAnswer, Problem> {
    let new = NewIndex {
        analyzer: analyzer_of(&request)?,
        keep: Keep::default()
            .text(request.text.unwrap_or(true))
            .positions(request.positions.unwrap_or(true))
            .fields(request.fields),
        attachment: None,
    };
    let service = Arc::clone(service);
    blocking(move || {
        service.writers.create(&service.catalog, &index, new)?;
        let epoch = service.catalog.snapshot(&index)?.epoch();
        Ok(EpochAnswer { index, epoch })
    })
    .await
}

/// Removes an index that a client created, and gives its last state.
///
/// # Errors
/// The server takes no changes; there is no such index, or it was named at the start; files cannot be removed.
pub async fn remove(service: &Shared, index: String) -> Result<EpochAnswer, Problem> {
    let service = Arc::clone(service);
    blocking(move || {
        let epoch = service.catalog.snapshot(&index)?.epoch();
        service.writers.remove(&service.catalog, &index)?;
        Ok(EpochAnswer { index, epoch })
    })
    .await
}

fn analyzer_of(request: &IndexRequest) -> Result<Analyzer, Problem> {
    let mut options = AnalyzerOptions::default();
    options = options.cut(match request.analyzer.as_deref() {
        None | Some("unicode") => Cut::Unicode,
        Some("plain") => Cut::Plain,
        Some("python") => Cut::Python,
        Some("whitespace") => Cut::Whitespace,
        Some(other) => {
            return Err(Problem::invalid(format!(
                "no analyzer is named `{}`: there are unicode, plain, python and whitespace",
                other.escape_debug()
            )));
        }
    });
    match request.stop_words.as_deref() {
        None | Some("none") => {}
        Some("english") => options = options.stop_words(StopWords::English),
        Some(other) => {
            return Err(Problem::invalid(format!(
                "no stop words are named `{}`: there are english and none",
                other.escape_debug()
            )));
        }
    }
    options = options.stemmer(request.stemmer.clone());
    Ok(Analyzer::new(&options)?)
}
