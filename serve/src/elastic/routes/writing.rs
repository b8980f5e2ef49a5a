//! The store over the server's writers: a definition is attached to its index, and changes with the documents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokapi::{Analyzer, AnalyzerOptions, Cut, Document, Index, Keep, StopWords, Value};
use tokapi_text::corpus::ValueType;

use super::ask::{of_error, of_problem};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::mapping::{AnalyzerName, Kind, Mapping};
use crate::elastic::source::SOURCE;
use crate::elastic::store::{Definition, Store};
use crate::elastic::write::{Action, Change, Operation, Prepared, Written};
use crate::service::Service;
use crate::write::{NewIndex, Outcome, Write, Writer};

/// Indexes that clients create and change.
pub struct Writing {
    service: Arc<Service>,
    /// The name of the text of an index that no client created.
    text: String,
    /// The definitions by the names of indexes, with the attached texts that they were read from.
    known: Mutex<BTreeMap<String, (String, Arc<Definition>)>>,
    /// The definitions of indexes that are written, by name, each with the writer of its index: another index may get the
    /// name.
    written: Mutex<BTreeMap<String, (Weak<Writer>, Changing)>>,
}

/// The definition of an index that is written, perhaps of changes under way.
type Changing = Arc<Mutex<Option<Definition>>>;

impl Writing {
    /// A store of the indexes of `service`; the text of an index that no client created is the field `text`.
    pub fn new(service: Arc<Service>, text: impl Into<String>) -> Self {
        Writing {
            service,
            text: text.into(),
            known: Mutex::default(),
            written: Mutex::default(),
        }
    }

    fn writer(&self, name: &str) -> Result<Arc<Writer>> {
        let writer = self.service.writers.get(&self.service.catalog, name);
        writer.map_err(of_problem)
    }

    /// The definition of an index that is being written, locked.
    fn lock(&self, name: &str, writer: &Arc<Writer>) -> Changing {
        let mut written = locked(&self.written);
        let of = Arc::downgrade(writer);
        match written.get(name) {
            Some((known, changing)) if known.ptr_eq(&of) => Arc::clone(changing),
            _ => {
                let changing = Changing::default();
                written.insert(name.to_owned(), (of, Arc::clone(&changing)));
                changing
            }
        }
    }

    /// Changes the definition and documents of an index; gives the results of the operations.
    fn change(
        &self,
        name: &str,
        change: impl FnOnce(&mut Definition) -> Result<Vec<crate::write::Operation>>,
    ) -> Result<Vec<Outcome>> {
        let writer = self.writer(name)?;
        let lock = self.lock(name, &writer);
        let mut current = locked(&lock);
        let snapshot = self.service.catalog.snapshot(name).map_err(of_problem)?;
        let before = match current.take() {
            Some(definition) => definition,
            None => (*self.definition(name, snapshot.index())).clone(),
        };
        let mut next = before.clone();
        let operations = change(&mut next)?;
        let has_changed = next != before || snapshot.index().attachment().is_none();
        let write = Write {
            operations,
            fields: next.mapping.exact().map(str::to_owned).collect(),
            attachment: has_changed.then(|| next.to_text()),
            key: None,
        };
        // The order of definitions is the order of changes.
        let queued = writer.queue(write).map_err(of_problem)?;
        *current = Some(next);
        drop(current);
        match queued.wait() {
            Ok(applied) => Ok(applied.outcomes),
            Err(problem) => {
                // It is read again from the index.
                *locked(&lock) = None;
                Err(of_problem(problem))
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The content is only replaced as a whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for Writing {
    fn definition(&self, name: &str, index: &Index) -> Arc<Definition> {
        let Some(text) = index.attachment() else {
            return Arc::new(Definition::of_index(index, &self.text));
        };
        let mut known = locked(&self.known);
        if let Some((of, definition)) = known.get(name)
            && of == text
        {
            return Arc::clone(definition);
        }
        let definition = Arc::new(Definition::of_index(index, &self.text));
        known.insert(name.to_owned(), (text.to_owned(), Arc::clone(&definition)));
        definition
    }

    fn create(&self, name: &str, definition: Definition) -> Result<()> {
        if self.service.catalog.get(name).is_ok() {
            return Err(Refusal::index_exists(name));
        }
        let exact = definition.mapping.exact();
        let new = NewIndex {
            analyzer: analyzer(&definition)?,
            keep: Keep::default()
                .text(true)
                .positions(true)
                .fields([SOURCE].into_iter().chain(exact)),
            attachment: Some(definition.to_text()),
        };
        let created = self
            .service
            .writers
            .create(&self.service.catalog, name, new);
        created.map_err(of_problem)
    }

    fn remove(&self, name: &str) -> Result<()> {
        if self.service.catalog.get(name).is_err() {
            return Err(Refusal::no_index(name));
        }
        let removed = self.service.writers.remove(&self.service.catalog, name);
        removed.map_err(of_problem)?;
        locked(&self.known).remove(name);
        locked(&self.written).remove(name);
        Ok(())
    }

    fn change_mapping(
        &self,
        name: &str,
        change: &mut dyn FnMut(&mut Mapping) -> Result<()>,
    ) -> Result<()> {
        self.change(name, |definition| {
            change(&mut definition.mapping)?;
            Ok(Vec::new())
        })
        .map(drop)
    }

    fn apply(&self, name: &str, operations: Vec<Operation>) -> Result<Vec<Written>> {
        // The place of each operation among those that reach the index, or why it does not.
        let mut places = Vec::with_capacity(operations.len());
        let outcomes = self.change(name, |definition| {
            let mut reach = Vec::with_capacity(operations.len());
            for operation in &operations {
                let prepared = prepared(operation, &mut definition.mapping);
                places.push(prepared.map(|operation| {
                    reach.push(operation);
                    reach.len() - 1
                }));
            }
            Ok(reach)
        })?;
        let answers = operations.into_iter().zip(places);
        let answers = answers.map(|(operation, place)| {
            let outcome = place.map(|place| outcomes.get(place).copied());
            let result = outcome.and_then(|outcome| match outcome {
                Some(Outcome::Created) => Ok(Change::Created),
                Some(Outcome::Replaced) => Ok(Change::Replaced),
                Some(Outcome::Deleted) => Ok(Change::Deleted),
                Some(Outcome::Conflict) => Err(Refusal::conflict(&operation.id)),
                Some(Outcome::NotFound) | None => Ok(Change::NotFound),
            });
            operation.answered(result)
        });
        Ok(answers.collect())
    }
}

/// An operation as the index takes it.
fn prepared(operation: &Operation, mapping: &mut Mapping) -> Result<crate::write::Operation> {
    use crate::write::Operation as Of;
    Ok(match operation.action {
        Action::Delete => Of::Delete(operation.id.clone()),
        Action::Index => Of::Put(document(operation, operation.prepare(mapping)?)),
        Action::Create => Of::Create(document(operation, operation.prepare(mapping)?)),
    })
}

fn document(operation: &Operation, prepared: Prepared) -> Document {
    let Prepared { parsed, source } = prepared;
    let document = Document::new(operation.id.clone(), parsed.text).field(SOURCE, source);
    parsed.values.into_iter().fold(document, |document, value| {
        let number = match value.kind {
            Kind::Number => Value::of_text(ValueType::Number, &value.text),
            _ => None,
        };
        let kept = number.unwrap_or_else(|| value.text.into());
        document.field(value.field, kept)
    })
}

fn analyzer(definition: &Definition) -> Result<Analyzer> {
    let options = AnalyzerOptions::default();
    let options = match &definition.settings.analyzer {
        AnalyzerName::Standard => options,
        AnalyzerName::Simple => options.cut(Cut::Plain),
        AnalyzerName::Whitespace => options.cut(Cut::Whitespace),
        AnalyzerName::Language(language) => {
            let stop_words = match &**language {
                "english" => StopWords::English,
                _ => StopWords::None,
            };
            options.stemmer(language.clone()).stop_words(stop_words)
        }
    };
    Analyzer::new(&options).map_err(of_error)
}
