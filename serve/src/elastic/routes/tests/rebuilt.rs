//! A store that builds an index anew for every change: slow and simple.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;
use tokapi::{
    Analyzer, AnalyzerOptions, Corpus, CorpusOptions, Document, Index, IndexBuilder, StopWords,
    Value,
};

use crate::elastic::error::{Refusal, Result};
use crate::elastic::mapping::{AnalyzerName, Kind, Mapping};
use crate::elastic::source::SOURCE;
use crate::elastic::store::{Definition, Store};
use crate::elastic::write::{Action, Change, Operation, Prepared, Written};
use crate::served::Snapshot;
use crate::service::Service;

/// The indexes of a test.
pub struct Rebuilt {
    service: Arc<Service>,
    folder: TempDir,
    indexes: Mutex<BTreeMap<String, State>>,
    builds: AtomicUsize,
}

struct State {
    definition: Arc<Definition>,
    documents: Vec<(String, Prepared)>,
}

impl Rebuilt {
    pub fn new(service: Arc<Service>) -> Self {
        Rebuilt {
            service,
            folder: tempfile::tempdir().unwrap(),
            indexes: Mutex::default(),
            builds: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, State>> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, name: &str, state: &State) {
        let number = self.builds.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("{name}-{number}"));
        let documents = state.documents.iter().map(|(id, prepared)| {
            let parsed = &prepared.parsed;
            let document = Document::new(id, &parsed.text).field(SOURCE, prepared.source.as_str());
            parsed.values.iter().fold(document, |document, value| {
                let number = value
                    .text
                    .parse::<f64>()
                    .ok()
                    .filter(|_| value.kind == Kind::Number);
                let kept = number.map_or_else(|| Value::from(&*value.text), Value::from);
                document.field(&value.field, kept)
            })
        });
        let documents: Vec<Document> = documents.collect();
        let mapping = &state.definition.mapping;
        let builder = IndexBuilder::new(&path)
            .threads(1)
            .store(true)
            .positions(true);
        let builder = builder.analyzer(analyzer(&state.definition)).field(SOURCE);
        let builder = mapping
            .exact()
            .fold(builder, |builder, field| builder.field(field));
        let corpus = Corpus::from_documents(documents, CorpusOptions::default());
        builder.build(corpus).unwrap();
        let snapshot = Snapshot::open(name, &path).unwrap();
        match self.service.catalog.get(name) {
            Ok(served) => served.replace(snapshot),
            Err(_) => drop(self.service.catalog.add(snapshot).unwrap()),
        }
    }
}

fn analyzer(definition: &Definition) -> Analyzer {
    let options = AnalyzerOptions::default();
    let options = match &definition.settings.analyzer {
        AnalyzerName::Language(language) => {
            let stop_words = match &**language {
                "english" => StopWords::English,
                _ => StopWords::None,
            };
            options.stemmer(language.clone()).stop_words(stop_words)
        }
        _ => options,
    };
    Analyzer::new(&options).unwrap()
}

impl Store for Rebuilt {
    fn definition(&self, name: &str, index: &Index) -> Arc<Definition> {
        match self.lock().get(name) {
            Some(state) => Arc::clone(&state.definition),
            None => Arc::new(Definition::of_index(index, "contents")),
        }
    }

    fn create(&self, name: &str, definition: Definition) -> Result<()> {
        let mut indexes = self.lock();
        if indexes.contains_key(name) {
            return Err(Refusal::index_exists(name));
        }
        let state = State {
            definition: Arc::new(definition),
            documents: Vec::new(),
        };
        self.serve(name, &state);
        indexes.insert(name.to_owned(), state);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let removed = self.lock().remove(name);
        self.service.catalog.remove(name);
        removed.map(drop).ok_or_else(|| Refusal::no_index(name))
    }

    fn change_mapping(
        &self,
        name: &str,
        change: &mut dyn FnMut(&mut Mapping) -> Result<()>,
    ) -> Result<()> {
        let mut indexes = self.lock();
        let state = indexes
            .get_mut(name)
            .ok_or_else(|| Refusal::no_index(name))?;
        let mut definition = (*state.definition).clone();
        change(&mut definition.mapping)?;
        state.definition = Arc::new(definition);
        self.serve(name, state);
        Ok(())
    }

    fn apply(&self, name: &str, operations: Vec<Operation>) -> Result<Vec<Written>> {
        let mut indexes = self.lock();
        let state = indexes
            .get_mut(name)
            .ok_or_else(|| Refusal::no_index(name))?;
        let mut definition = (*state.definition).clone();
        let mut written = Vec::new();
        for operation in operations {
            let place = state
                .documents
                .iter()
                .position(|(id, _)| *id == operation.id);
            let result = match (operation.action, place) {
                (Action::Create, Some(_)) => Err(Refusal::conflict(&operation.id)),
                (Action::Delete, None) => Ok(Change::NotFound),
                (Action::Delete, Some(place)) => {
                    state.documents.remove(place);
                    Ok(Change::Deleted)
                }
                (Action::Create | Action::Index, place) => {
                    operation.prepare(&mut definition.mapping).map(|prepared| {
                        let change = place.map_or(Change::Created, |place| {
                            state.documents.remove(place);
                            Change::Replaced
                        });
                        state.documents.push((operation.id.clone(), prepared));
                        change
                    })
                }
            };
            written.push(operation.answered(result));
        }
        state.definition = Arc::new(definition);
        self.serve(name, state);
        Ok(written)
    }
}
