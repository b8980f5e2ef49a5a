//! A query and its parts: terms, filters and phrases.

/// A query: the terms, values and phrases that documents must, should or must not have.
///
/// ```
/// # use tokapi_index::query::{Filter, Occur, Query};
/// let query = Query::any(["wing", "flow"]).filters([Filter::new("year", "1959")]);
/// assert_eq!((query.clauses[1].term.as_str(), query.clauses[1].occur), ("flow", Occur::Should));
/// assert!(!Query::phrase(["boundary", "layer"]).phrases[0].not);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// The terms, in order.
    pub clauses: Vec<Clause>,
    /// Conditions on fields. Documents must meet all of them. They do not change scores. Without
    /// required or optional terms, the filters alone decide which documents match.
    pub filters: Vec<Filter>,
    /// Phrases that documents must have, or must not have. They do not change scores.
    pub phrases: Vec<Phrase>,
    /// Whether all documents that pass the filters match if no term is required or optional.
    everything: bool,
}

/// A phrase of a [`Query`], which has an example: at least two terms, one directly after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phrase {
    /// The terms, as the index has them.
    pub terms: Vec<String>,
    /// Whether documents with the phrase are excluded.
    pub not: bool,
}

/// A condition on the value of a field: a part of a [`Query`], which has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// The field, one of [`Index::keep`](crate::Index::keep).
    pub field: String,
    /// The value, matched exactly.
    pub value: String,
    /// Whether documents with the value are excluded.
    pub not: bool,
}

/// A term of a [`Query`], which has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clause {
    /// The term, as the index has it.
    pub term: String,
    /// Whether the term is required, optional or excluded.
    pub occur: Occur,
}

/// The role of a term in a [`Query`], which has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occur {
    /// Every match has the term.
    Must,
    /// The term adds to the score. Without required terms, a match has at least one optional term.
    Should,
    /// No match has the term.
    Not,
}

impl Query {
    /// Documents with any of `terms`.
    pub fn any(terms: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Query::of(terms, Occur::Should)
    }

    /// Documents with all of `terms`.
    pub fn all(terms: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Query::of(terms, Occur::Must)
    }

    /// All documents, with the score 0; filters and excluded terms may leave some out.
    ///
    /// ```
    /// # use tokapi_index::query::{Query, SearchOptions};
    /// # use tokapi_index::{Index, IndexBuilder};
    /// # use tokapi_text::corpus::{Corpus, CorpusOptions, Document};
    /// # fn main() -> tokapi_storage::error::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("index");
    /// let documents = [Document::new("a", "Boundary layers"), Document::new("b", "")];
    /// let corpus = Corpus::from_documents(documents, CorpusOptions::default());
    /// IndexBuilder::new(&path).build(corpus)?;
    /// assert_eq!(Index::open(&path)?.count(&Query::everything())?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn everything() -> Self {
        Query {
            everything: true,
            ..Query::default()
        }
    }

    /// Documents that have `terms` one directly after the other.
    pub fn phrase(terms: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut query = Query::default();
        query.add_phrase(terms.into_iter().map(Into::into).collect(), false);
        query
    }

    tokapi_storage::setters! { clauses: each Clause, filters: each Filter, phrases: each Phrase }

    /// Adds a phrase that documents must have, or must not have.
    pub(super) fn add_phrase(&mut self, terms: Vec<String>, not: bool) {
        let occur = match not {
            true => Occur::Not,
            false => Occur::Must,
        };
        // An excluded phrase of several terms excludes none of its single terms.
        if !not || terms.len() == 1 {
            let clause = |term: &String| Clause::new(term, occur);
            self.clauses.extend(terms.iter().map(clause));
        }
        if terms.len() > 1 {
            self.phrases.push(Phrase { terms, not });
        }
    }

    /// Whether the filters alone decide which documents match.
    #[doc(hidden)]
    pub fn is_filters_alone(&self) -> bool {
        let no_term = self.clauses.iter().all(|clause| clause.occur == Occur::Not);
        no_term && (self.everything || !self.filters.is_empty())
    }

    fn of(terms: impl IntoIterator<Item = impl Into<String>>, occur: Occur) -> Self {
        let clauses = terms.into_iter().map(|term| Clause::new(term, occur));
        Query::default().clauses(clauses)
    }
}

impl Clause {
    /// A term with its role.
    pub fn new(term: impl Into<String>, occur: Occur) -> Self {
        Clause {
            term: term.into(),
            occur,
        }
    }
}

impl Filter {
    /// Documents with the value.
    pub fn new(field: impl Into<String>, value: impl Into<String>) -> Self {
        Filter {
            field: field.into(),
            value: value.into(),
            not: false,
        }
    }

    tokapi_storage::setters! { not: bool }
}

impl Phrase {
    /// Documents with the phrase.
    pub fn new(terms: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Phrase {
            terms: terms.into_iter().map(Into::into).collect(),
            not: false,
        }
    }

    tokapi_storage::setters! { not: bool }
}
