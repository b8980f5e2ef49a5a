//! The indexes that clients create and write: a trait, which the server implements.

use std::sync::Arc;

use serde_json::json;
use tokapi::Index;

use super::error::{Refusal, Result};
use super::mapping::{Mapping, Settings};
use super::reader::{Members, Place};
use super::tree::Tree;
use super::write::{Operation, Written};

/// The definition of an index: its fields and settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Definition {
    /// The fields.
    pub mapping: Mapping,
    /// The settings.
    pub settings: Settings,
    /// A name that no other index ever has.
    pub uuid: String,
    /// Milliseconds since 1970 at its creation.
    pub created_ms: u64,
}

impl Definition {
    /// The definition of a new index without fields.
    pub fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Definition {
            uuid: Operation::new_id(),
            // Fewer than 2^64 milliseconds.
            created_ms: now.map_or(0, |now| now.as_millis() as u64),
            ..Definition::default()
        }
    }

    /// The definition as text, to be kept with an index: [`Definition::of_text`] reads it.
    pub fn to_text(&self) -> String {
        let found: Vec<&str> = self.mapping.found().collect();
        let definition = json!({
            "mappings": self.mapping.to_json(),
            "settings": self.settings.source,
            "found": found,
            "uuid": self.uuid,
            "created_ms": self.created_ms,
        });
        definition.to_string()
    }

    /// The definition in a text that [`Definition::to_text`] wrote.
    ///
    /// # Errors
    /// It is not of this version, or is damaged.
    pub fn of_text(text: &str) -> Result<Self> {
        let tree = Tree::parse(text.as_bytes())?;
        let mut members = Members::of(&tree, Place::default())?;
        let empty = Tree::Object(Vec::new());
        let mut warnings = Vec::new();
        let mapping = members.take("mappings").unwrap_or(&empty);
        let mut mapping = Mapping::parse(mapping, &mut warnings)?;
        let settings = members.take("settings").unwrap_or(&empty);
        let settings = Settings::parse(settings, &mapping, &mut warnings)?;
        mapping.mark_found(&members.texts("found")?.unwrap_or_default());
        let definition = Definition {
            mapping,
            settings,
            uuid: members.text("uuid")?.unwrap_or_default().to_owned(),
            created_ms: members.whole("created_ms")?.unwrap_or_default(),
        };
        members.finish("definition")?;
        Ok(definition)
    }

    /// The name under which the text of a document is shown, if the document was not sent by a client.
    pub fn text(&self) -> &str {
        self.mapping.texts().next().unwrap_or("text")
    }

    /// The definition that is kept with an index. An index that no client created has none: its text is the field `text`,
    /// and its kept fields have exact values.
    pub fn of_index(index: &Index, text: &str) -> Self {
        match index.attachment().map(Definition::of_text) {
            Some(Ok(definition)) => return definition,
            Some(Err(refusal)) => {
                let path = index.path().display();
                tracing::warn!(%path, reason = refusal.reason, "the definition of an index cannot be read");
            }
            None => {}
        }
        let keep = index.keep();
        let exact = keep.fields.iter().map(String::as_str);
        let exact = exact.filter(|name| *name != super::source::SOURCE);
        Definition {
            mapping: Mapping::of_index(text, exact),
            ..Definition::default()
        }
    }
}

/// The indexes that clients create and write. Calls block: they are made outside of the async runtime's threads.
///
/// A write is durable and visible to new searches when the call returns.
pub trait Store: Send + Sync + 'static {
    /// The definition of an index; `index` is its current state.
    fn definition(&self, name: &str, index: &Index) -> Arc<Definition>;

    /// Creates an empty index and serves it.
    ///
    /// # Errors
    /// The name is taken; the server is read-only; the analyzer is not known.
    fn create(&self, name: &str, definition: Definition) -> Result<()>;

    /// Deletes an index.
    ///
    /// # Errors
    /// There is none; the server is read-only.
    fn remove(&self, name: &str) -> Result<()>;

    /// Changes the mapping of an index under its lock.
    ///
    /// # Errors
    /// Those of `change`; the server is read-only.
    fn change_mapping(
        &self,
        name: &str,
        change: &mut dyn FnMut(&mut Mapping) -> Result<()>,
    ) -> Result<()>;

    /// Applies operations in their order, as one change. Documents are read with [`Operation::prepare`] under the lock
    /// of the index. There is an answer for every operation.
    ///
    /// # Errors
    /// None was applied: there is no such index; the server is read-only; the disk is full.
    fn apply(&self, name: &str, operations: Vec<Operation>) -> Result<Vec<Written>>;
}

/// A store whose indexes cannot be changed.
#[derive(Debug, Clone)]
pub struct ReadOnly {
    /// The name of the text of documents, as a field.
    pub text: String,
}

impl Default for ReadOnly {
    fn default() -> Self {
        ReadOnly {
            text: "contents".to_owned(),
        }
    }
}

impl ReadOnly {
    fn refuse<T>() -> Result<T> {
        Err(Refusal::new(
            403,
            "cluster_block_exception",
            "the server is read-only; change its indexes with the program `tokapi`",
        ))
    }
}

impl Store for ReadOnly {
    fn definition(&self, _: &str, index: &Index) -> Arc<Definition> {
        Arc::new(Definition::of_index(index, &self.text))
    }

    fn create(&self, _: &str, _: Definition) -> Result<()> {
        ReadOnly::refuse()
    }

    fn remove(&self, _: &str) -> Result<()> {
        ReadOnly::refuse()
    }

    fn change_mapping(&self, _: &str, _: &mut dyn FnMut(&mut Mapping) -> Result<()>) -> Result<()> {
        ReadOnly::refuse()
    }

    fn apply(&self, _: &str, _: Vec<Operation>) -> Result<Vec<Written>> {
        ReadOnly::refuse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_survives_as_text() {
        let tree = |text: &str| Tree::parse(text.as_bytes()).unwrap();
        let mapping = r#"{"dynamic_templates": [{"s": {"match_mapping_type": "string", "mapping": {"type": "keyword"}}}],
            "_meta": {"a": 1}, "properties": {"a": {"properties": {"b": {"type": "text", "similarity": "mine"}}},
            "v": {"type": "dense_vector", "dims": 3}, "o": {"type": "object", "enabled": false}}}"#;
        let mut mapping = Mapping::parse(&tree(mapping), &mut Vec::new()).unwrap();
        let settings = tree(r#"{"index": {"similarity": {"mine": {"type": "BM25", "k1": 2}}}}"#);
        let settings = Settings::parse(&settings, &mapping, &mut Vec::new()).unwrap();
        mapping
            .read(&tree(r#"{"n": 1, "tag": "x", "o": {"y": [1]}}"#))
            .unwrap();
        let definition = Definition {
            mapping,
            settings,
            ..Definition::new()
        };
        assert_eq!(
            Definition::of_text(&definition.to_text()).unwrap(),
            definition
        );
        let mut dynamic = Definition::new();
        dynamic
            .mapping
            .read(&tree(r#"{"title": "A wing"}"#))
            .unwrap();
        let mut again = Definition::of_text(&dynamic.to_text()).unwrap();
        again.mapping.read(&tree(r#"{"other": "text"}"#)).unwrap();
        assert_eq!(again.mapping.texts().count(), 2);
        assert!(Definition::of_text("{\"x\": 1}").is_err());
    }
}
