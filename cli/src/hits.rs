//! Stored fields and snippets of the documents that a query found, for people and for programs.

use std::fmt::Write as _;
use std::io::IsTerminal;

use serde_json::{Value, json};
use tokapi::StoredDocument;
use tokapi::{Error, Index};
use tokapi::{Highlighter, Query, Snippet};
use tokapi_serve::search::fields_json;

/// Characters of a snippet.
const SNIPPET_CHARACTERS: usize = 200;
/// Characters of a field's value that are shown.
const VALUE_CHARACTERS: usize = 80;

/// Shows the stored content of the documents that a query found.
pub struct Shower<'a> {
    index: &'a Index,
    /// None if the index keeps no texts, or no snippets are wanted.
    highlighter: Option<Highlighter<'a>>,
    bold: bool,
}

impl<'a> Shower<'a> {
    /// For the documents that `query` found.
    pub fn new(index: &'a Index, query: &Query, snippets: bool) -> Result<Self, Error> {
        let highlighter = match snippets && index.keep().text {
            true => Some(index.highlighter(query)?),
            false => None,
        };
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Ok(Shower {
            index,
            highlighter,
            bold: !no_colour && std::io::stdout().is_terminal(),
        })
    }

    /// The fields of a document, with its text if that or a snippet is wanted.
    fn document(&self, document: u64, text: bool) -> Result<Option<StoredDocument>, Error> {
        match (
            self.highlighter.is_some() || text,
            &self.index.keep().fields[..],
        ) {
            (true, _) => self.index.document(document).map(Some),
            (false, []) => Ok(None),
            (false, _) => self.index.fields(document).map(Some),
        }
    }

    fn snippet(&self, document: &StoredDocument) -> Option<Snippet> {
        let highlighter = self.highlighter.as_ref()?;
        Some(highlighter.snippet(document.text.as_deref()?, SNIPPET_CHARACTERS))
    }

    /// Adds lines with the fields and the snippet of a document.
    pub fn push_text(&self, document: u64, text: &mut String) -> Result<(), Error> {
        let Some(document) = self.document(document, false)? else {
            return Ok(());
        };
        let fields = document.fields.iter();
        let fields = fields.filter(|(_, values)| !values.is_empty());
        let fields = fields.map(|(name, values)| {
            let values: Vec<String> = values.iter().map(|value| short(&value.text)).collect();
            format!("{}: {}", clean(name), values.join(", "))
        });
        let fields: Vec<String> = fields.collect();
        // Writing to a string does not fail.
        if !fields.is_empty() {
            let _ = writeln!(text, "      {}", fields.join("; "));
        }
        if let Some(snippet) = self
            .snippet(&document)
            .filter(|found| !found.text.is_empty())
        {
            let _ = writeln!(text, "      {}", self.marked(&snippet));
        }
        Ok(())
    }

    /// A snippet, with the terms in bold on a terminal.
    fn marked(&self, snippet: &Snippet) -> String {
        let mut marked = String::new();
        let mut from = 0;
        for range in snippet.highlights.iter().filter(|_| self.bold) {
            marked += &snippet.text[from..range.start];
            let _ = write!(marked, "\x1b[1m{}\x1b[0m", &snippet.text[range.clone()]);
            from = range.end;
        }
        marked + &snippet.text[from..]
    }

    /// Adds the stored content of a document to its object; with `text`, the whole text too.
    pub fn push_json(&self, document: u64, text: bool, object: &mut Value) -> Result<(), Error> {
        let Some(mut stored) = self.document(document, text)? else {
            return Ok(());
        };
        if let Some(snippet) = self.snippet(&stored) {
            let place = |at: usize| snippet.text[..at].chars().count();
            let highlights = snippet.highlights.iter();
            let highlights = highlights.map(|range| json!([place(range.start), place(range.end)]));
            object["highlights"] = highlights.collect();
            object["snippet"] = snippet.text.clone().into();
        }
        if let Some(fields) = fields_json(&mut stored, |_| true) {
            object["fields"] = fields.into();
        }
        if text {
            object["text"] = stored.text.into();
        }
        Ok(())
    }
}

/// A value without control characters, cut if it is long.
fn short(value: &str) -> String {
    let value = clean(value);
    match value.char_indices().nth(VALUE_CHARACTERS) {
        None => value,
        Some((end, _)) => format!("{}…", &value[..end]),
    }
}

/// A text that is safe on a terminal: control characters become spaces.
pub fn clean(text: &str) -> String {
    let visible = |character: char| match character.is_control() {
        true => ' ',
        false => character,
    };
    text.chars().map(visible).collect()
}
