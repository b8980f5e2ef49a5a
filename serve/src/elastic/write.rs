//! Writes: the lines of `_bulk` become operations, and an operation becomes a document of an index.

use super::error::{Refusal, Result};
use super::mapping::{Mapping, Parsed};
use super::reader::{Members, Place, names, wrong};
use super::source::SOURCE;
use super::tree::Tree;

/// Bytes of an id.
const MOST_ID_BYTES: usize = 512;

/// The actions of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Adds a document, or replaces the one of the same id.
    Index,
    /// Adds a document; a conflict if the id is there.
    Create,
    /// Removes a document.
    Delete,
}

impl Action {
    /// Its name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Action::Index => "index",
            Action::Create => "create",
            Action::Delete => "delete",
        }
    }
}

/// The change that an operation made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The document is new.
    Created,
    /// It replaced another.
    Replaced,
    /// It was removed.
    Deleted,
    /// There was no document to remove.
    NotFound,
}

impl Change {
    /// The status of HTTP and the name of the change.
    pub fn status(self) -> (u16, &'static str) {
        match self {
            Change::Created => (201, "created"),
            Change::Replaced => (200, "updated"),
            Change::Deleted => (200, "deleted"),
            Change::NotFound => (404, "not_found"),
        }
    }
}

/// A write of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The action.
    pub action: Action,
    /// The id of the document. [`Operation::new_id`] gives one if the client gave none.
    pub id: String,
    /// The document as it was sent: a JSON object, not checked. Empty for a deletion.
    pub source: String,
}

/// An operation that was applied, or why it was not.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The action.
    pub action: Action,
    /// The id of the document; empty if a refused operation has none.
    pub id: String,
    /// The result.
    pub result: Result<Change>,
}

/// A document as an index takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The text and the exact values.
    pub parsed: Parsed,
    /// The document as it was sent, to be kept under [`SOURCE`].
    pub source: String,
}

impl Operation {
    /// The answer to this operation.
    pub fn answered(&self, result: Result<Change>) -> Written {
        Written {
            action: self.action,
            id: self.id.clone(),
            result,
        }
    }

    /// An id for a document without one: unique on this machine and hard to guess, in 20 characters.
    pub fn new_id() -> String {
        use std::hash::{BuildHasher, Hasher, RandomState};
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        const DIGITS: &[u8; 64] =
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-";
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let time = time.map_or(0, |time| time.as_micros() as u64);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(number);
        let mut bits = (u128::from(time) << 68) | (u128::from(number & 0xf_ffff) << 48);
        bits |= u128::from(hasher.finish() & 0xffff_ffff_ffff);
        let digit = |at: u32| DIGITS[(bits >> (120 - 6 * at) & 63) as usize] as char;
        (0..20).map(|at| digit(at + 1)).collect()
    }

    /// Reads the document, and adds the fields that `mapping` does not have.
    ///
    /// # Errors
    /// It is no JSON object; a value does not fit its field. Then the mapping is as before.
    pub fn prepare(&self, mapping: &mut Mapping) -> Result<Prepared> {
        let fault = |reason| Refusal::new(400, "document_parsing_exception", reason);
        if self.source.is_empty() {
            return Err(fault("the document is missing; send a JSON object".into()));
        }
        let tree = Tree::parse(self.source.as_bytes()).map_err(|refusal| fault(refusal.reason))?;
        if tree.get(SOURCE).is_some() {
            return Err(fault(format!(
                "the field `{SOURCE}` is reserved; name it otherwise"
            )));
        }
        Ok(Prepared {
            parsed: mapping.read(&tree)?,
            source: self.source.clone(),
        })
    }
}

/// An operation of a bulk request, with its index, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The name of the index.
    pub index: String,
    /// The action.
    pub action: Action,
    /// The id, if one is known.
    pub id: String,
    /// The operation.
    pub operation: Result<Operation>,
}

/// Parses the lines of `_bulk`; `index` is that of the URL.
///
/// # Errors
/// A line of an action is broken: the lines after it cannot be told apart.
pub fn parse_bulk(body: &[u8], index: Option<&str>) -> Result<Vec<Line>> {
    let mut lines = body.split(|&byte| byte == b'\n').enumerate();
    let mut parsed = Vec::new();
    while let Some((number, line)) = lines.next() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let place = Place::default().member(&format!("line {}", number + 1));
        let head = Head::parse(line, &place, index)?;
        let source = match head.action {
            Some(Action::Delete) => None,
            _ => Some(lines.next().ok_or_else(|| {
                Refusal::illegal(format!(
                    "the action at {place} has no document after it; send the document on the next line"
                ))
            })?),
        };
        parsed.push(head.with(source.map(|(_, source)| source)));
    }
    match parsed.is_empty() {
        true => Err(Refusal::parsing(
            "the request has no action; send one JSON object on a line for each action and document",
        )),
        false => Ok(parsed),
    }
}

/// The line of an action.
struct Head {
    /// None for `update`, which is refused.
    action: Option<Action>,
    index: String,
    id: Option<String>,
    refusal: Option<Refusal>,
}

impl Head {
    fn parse(line: &[u8], place: &Place, index: Option<&str>) -> Result<Self> {
        let tree = Tree::parse(line).map_err(|refusal| {
            Refusal::illegal(format!(
                "the action at {place} is broken: {}",
                refusal.reason
            ))
        })?;
        let (name, value) = match &tree {
            Tree::Object(members) if members.len() == 1 => (&*members[0].0, &members[0].1),
            Tree::Object(members) => {
                return Err(Refusal::illegal(format!(
                    "the action at {place} must have one member, index, create or delete, and has {}: {}",
                    members.len(),
                    names(members)
                )));
            }
            other => return Err(wrong(place, other, "an object with an action")),
        };
        let action = match name {
            "index" => Some(Action::Index),
            "create" => Some(Action::Create),
            "delete" => Some(Action::Delete),
            "update" => None,
            other => {
                return Err(Refusal::illegal(format!(
                    "the action `{other}` at {place} is not supported; use index, create or delete"
                )));
            }
        };
        let mut members = Members::of(value, place.member(name))?;
        let named = members.text("_index")?;
        let named = named.or(index).ok_or_else(|| {
            Refusal::illegal(format!(
                "the action at {place} names no index; add `_index`"
            ))
        })?;
        let id = match members.take("_id") {
            None => None,
            Some(tree) => tree.as_value(),
        };
        // One machine has the whole index, and every document has a version of its own.
        for name in [
            "_type",
            "require_alias",
            "dynamic_templates",
            "retry_on_conflict",
            "list_executed_pipelines",
        ] {
            members.take(name);
        }
        let mut refusal = members.finish(name).err();
        if action.is_none() {
            refusal = Some(Refusal::illegal(
                "the action `update` is not supported; send the whole document with `index`",
            ));
        }
        Ok(Head {
            action,
            index: named.to_owned(),
            id,
            refusal,
        })
    }

    fn with(self, source: Option<&[u8]>) -> Line {
        let action = self.action.unwrap_or(Action::Index);
        let operation = match self.refusal {
            Some(refusal) => Err(refusal),
            None => operation(action, self.id.clone(), source.unwrap_or_default()),
        };
        let id = match &operation {
            Ok(operation) => operation.id.clone(),
            Err(_) => self.id.unwrap_or_default(),
        };
        Line {
            index: self.index,
            action,
            id,
            operation,
        }
    }
}

/// One write of a document.
///
/// # Errors
/// The id is missing for a deletion, empty or too long; the document is not UTF-8.
pub fn operation(action: Action, id: Option<String>, source: &[u8]) -> Result<Operation> {
    let id = match (id, action) {
        (Some(id), _) if id.is_empty() => {
            return Err(Refusal::illegal("the id is empty; leave it out to get one"));
        }
        (Some(id), _) if id.len() > MOST_ID_BYTES => {
            return Err(Refusal::illegal(format!(
                "the id has {} bytes; it has at most {MOST_ID_BYTES}",
                id.len()
            )));
        }
        (Some(id), _) => id,
        (None, Action::Delete) => {
            return Err(Refusal::illegal("a deletion names no document; add `_id`"));
        }
        (None, _) => Operation::new_id(),
    };
    let source = std::str::from_utf8(source).map_err(|error| {
        Refusal::new(
            400,
            "document_parsing_exception",
            format!("the document is not UTF-8 at byte {}", error.valid_up_to()),
        )
    })?;
    Ok(Operation {
        action,
        id,
        source: source.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_operations() {
        let body = b"{\"index\": {\"_id\": \"1\"}}\n{\"a\": 1}\n\n{\"create\": {\"_index\": \"other\", \"_id\": 2}}\n\
            {\"a\": 2}\n{\"delete\": {\"_id\": \"1\"}}\n{\"index\": {}}\n{\"a\": 3}";
        let lines = parse_bulk(body, Some("books")).unwrap();
        let shown: Vec<_> = lines
            .iter()
            .map(|line| (&*line.index, line.action.name(), &*line.id))
            .collect();
        assert_eq!(
            shown[..3],
            [
                ("books", "index", "1"),
                ("other", "create", "2"),
                ("books", "delete", "1")
            ]
        );
        assert_eq!(lines[3].id.len(), 20);
        assert_eq!(lines[1].operation.as_ref().unwrap().source, "{\"a\": 2}");
        assert_eq!(lines[2].operation.as_ref().unwrap().source, "");
    }

    #[test]
    fn broken_lines() {
        for (body, part) in [
            ("", "no action"),
            ("{\"index\": {\"_index\": \"a\"}}", "no document after it"),
            ("{\"index\": {}, \"delete\": {}}\n", "one member"),
            ("{\"remove\": {}}\n", "`remove`"),
            ("{\"index\": \n", "`line 1` is broken"),
            ("\n{\"index\": {\"_id\": \"1\"}}\n{}", "names no index"),
        ] {
            let reason = parse_bulk(body.as_bytes(), None).unwrap_err().reason;
            assert!(reason.contains(part), "{body}: {reason}");
        }
        let update = b"{\"update\": {\"_id\": \"1\"}}\n{\"doc\": {}}\n{\"index\": {\"_id\": \"2\", \"routing\": \"x\"}}\n{}\n{\"delete\": {}}\n";
        let lines = parse_bulk(update, Some("books")).unwrap();
        let reasons: Vec<_> = lines
            .iter()
            .map(|line| line.operation.clone().unwrap_err().reason)
            .collect();
        assert!(reasons[0].contains("`update` is not supported"));
        assert!(reasons[1].contains("[routing]"));
        assert!(reasons[2].contains("names no document"));
    }

    #[test]
    fn ids_differ() {
        let ids: std::collections::HashSet<String> =
            (0..10_000).map(|_| Operation::new_id()).collect();
        assert_eq!(ids.len(), 10_000);
    }

    #[test]
    fn documents_are_checked() {
        let mut mapping = Mapping::default();
        let of = |source: &str| operation(Action::Index, None, source.as_bytes()).unwrap();
        let prepared = of(r#"{"title": "A wing", "year": 1959}"#)
            .prepare(&mut mapping)
            .unwrap();
        assert_eq!(prepared.parsed.text, "A wing");
        for bad in ["", "[]", "{", r#"{"year": "x"}"#, r#"{"_source": 1}"#] {
            assert!(of(bad).prepare(&mut mapping).is_err(), "{bad}");
        }
    }
}
