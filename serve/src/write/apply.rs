//! Operations as one change of an index.

use std::collections::HashMap;

use tokapi::{
    AddOptions, BuildOptions, Corpus, CorpusOptions, Document, Index, IndexWriter, Missing,
    Repeated, Result,
};

use super::operation::{Operation, Outcome, Write};

/// The document of an id after the operations so far.
#[derive(Clone, Copy, PartialEq)]
enum Now {
    /// The one of the index, if it has the id.
    AsBefore,
    /// One of the new ones, by its number.
    New(usize),
    /// None.
    Gone,
}

/// An id and the operations on it.
struct Touched {
    was_there: bool,
    now: Now,
}

impl Touched {
    fn is_there(&self) -> bool {
        match self.now {
            Now::AsBefore => self.was_there,
            Now::New(_) => true,
            Now::Gone => false,
        }
    }
}

/// Operations of several requests, resolved against one state of an index.
#[derive(Default)]
pub struct Resolved {
    /// The new documents, in the order of their operations; none in the place of one that another replaces.
    documents: Vec<Option<Document>>,
    touched: HashMap<String, Touched>,
    fields: Vec<String>,
    attachment: Option<String>,
}

impl Resolved {
    /// Adds the operations of a request, and gives their results.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn add(&mut self, index: &Index, write: Write) -> Result<Vec<Outcome>> {
        let operations = write.operations.into_iter();
        let outcomes = operations.map(|operation| self.resolve(index, operation));
        let outcomes = outcomes.collect::<Result<_>>()?;
        for field in write.fields {
            if !self.fields.contains(&field) {
                self.fields.push(field);
            }
        }
        self.attachment = write.attachment.or(self.attachment.take());
        Ok(outcomes)
    }

    fn resolve(&mut self, index: &Index, operation: Operation) -> Result<Outcome> {
        let id = operation.id();
        if !self.touched.contains_key(id) {
            let was_there = index.find(id)?.is_some();
            let now = Now::AsBefore;
            self.touched
                .insert(id.to_owned(), Touched { was_there, now });
        }
        let next = Now::New(self.documents.len());
        let Some(touched) = self.touched.get_mut(id) else {
            return Ok(Outcome::NotFound);
        };
        let is_there = touched.is_there();
        let (outcome, now, document) = match operation {
            Operation::Create(_) if is_there => return Ok(Outcome::Conflict),
            Operation::Put(document) | Operation::Create(document) => match is_there {
                true => (Outcome::Replaced, next, Some(document)),
                false => (Outcome::Created, next, Some(document)),
            },
            Operation::Delete(_) if !is_there => return Ok(Outcome::NotFound),
            Operation::Delete(_) => (Outcome::Deleted, Now::Gone, None),
        };
        if let Now::New(former) = std::mem::replace(&mut touched.now, now) {
            self.documents[former] = None;
        }
        if document.is_some() {
            self.documents.push(document);
        }
        Ok(outcome)
    }

    /// Applies everything as one epoch, and gives its number.
    ///
    /// # Errors
    /// Files cannot be written; the index is damaged.
    pub fn commit(self, writer: &mut IndexWriter, threads: usize) -> Result<u64> {
        let documents: Vec<Document> = self.documents.into_iter().flatten().collect();
        let prepared = match documents.is_empty() {
            true => None,
            false => {
                let corpus = Corpus::from_documents(documents, CorpusOptions::default());
                let options = AddOptions::default()
                    .build(BuildOptions::default().threads(threads))
                    .fields(self.fields.clone());
                Some(writer.prepare(corpus, &options)?)
            }
        };
        let gone = self.touched.into_iter();
        let gone = gone.filter(|(_, touched)| touched.was_there && touched.now == Now::Gone);
        let mut transaction = writer.begin()?;
        transaction.delete(gone.map(|(id, _)| id), Missing::Ignore)?;
        if let Some(prepared) = prepared {
            transaction.add(prepared, Repeated::Replace)?;
        }
        transaction.keep_fields(self.fields)?;
        if let Some(attachment) = self.attachment {
            transaction.attach(attachment);
        }
        transaction.commit()
    }
}
