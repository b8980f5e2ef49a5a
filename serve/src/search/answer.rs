//! The answer to a search: ids, snippets, fields, parts of scores, counts of values.
//!
//! Runs on the thread that found the hits.

use std::collections::BTreeMap;

use tokapi::{Explained, Highlighter, Hit, Index, Result};

use super::cursor::print_cursor;
use super::plan::{Planned, Shown};
use super::values::fields_json;
use crate::limits::Room;
use crate::model::{HitAnswer, SearchAnswer, TermAnswer, ValueCount};
use crate::served::most_frequent;

/// The answer to a search that found `hits`.
///
/// # Errors
/// It is larger than the limit of answers; the index is damaged; the deadline passed before all hits were shown.
pub fn answer(planned: &Planned, hits: &[Hit]) -> Result<SearchAnswer> {
    let snapshot = &planned.snapshot;
    let index = &**snapshot.index();
    let mut shower = Shower::new(index, planned)?;
    // Ten thousand hits with snippets take longer than any search.
    let page = &hits[..hits.len().min(planned.k)];
    let answers = page.iter().map(|hit| {
        planned.deadline.check()?;
        shower.hit(hit)
    });
    let answers = answers.collect::<Result<_>>()?;
    let last = page.last().filter(|_| page.len() < hits.len());
    let (count, facets) = counted(planned, &mut shower.room)?;
    Ok(SearchAnswer {
        took_us: None,
        index: snapshot.name().to_owned(),
        epoch: snapshot.epoch(),
        complete: true,
        hits: answers,
        next: last.map(|hit| print_cursor(hit.rank())),
        count,
        facets,
    })
}

/// The parts of a score, as an index of this kind names them.
pub fn explain_terms(index: &Index, explained: Explained) -> Vec<TermAnswer> {
    let has_impacts = index.impacts().is_some();
    let terms = explained.terms.into_iter().map(|term| TermAnswer {
        term: term.term,
        times: term.times,
        tf: (!has_impacts).then_some(term.tf),
        impact: has_impacts.then_some(term.tf),
        df: term.df,
        idf: (!has_impacts).then_some(term.idf),
        scale: has_impacts.then_some(term.idf),
        weight: term.weight,
    });
    terms.collect()
}

/// The values of fields, each with the number of documents.
type Facets = BTreeMap<String, Vec<ValueCount>>;

/// The number of all documents that match, and the values of fields in them, as far as they were asked for.
fn counted(planned: &Planned, room: &mut Room) -> Result<(Option<u64>, Option<Facets>)> {
    let Planned {
        snapshot, shown, ..
    } = planned;
    if shown.facets.is_empty() {
        let count = shown.count.then(|| snapshot.index().count(planned.query()));
        return Ok((count.transpose()?, None));
    }
    let (count, counts) = snapshot.count_values(planned.query(), &shown.facets)?;
    let facets = shown.facets.iter().zip(&counts).map(|(field, counts)| {
        let (_, values) = most_frequent(counts, planned.facet_values, room)?;
        Ok((field.clone(), values))
    });
    let facets = facets.collect::<Result<_>>()?;
    Ok((shown.count.then_some(count), Some(facets)))
}

/// Shows the documents that a query found.
struct Shower<'a> {
    index: &'a Index,
    planned: &'a Planned,
    /// None if the index keeps no texts, or no snippets are wanted.
    highlighter: Option<Highlighter<'a>>,
    /// The room that is left.
    room: Room,
}

impl<'a> Shower<'a> {
    fn new(index: &'a Index, planned: &'a Planned) -> Result<Self> {
        let wants = planned.shown.snippet_characters.is_some();
        Ok(Shower {
            index,
            planned,
            highlighter: match wants && index.keep().text {
                true => Some(index.highlighter(planned.query())?),
                false => None,
            },
            room: Room::new(planned.answer_bytes),
        })
    }

    fn hit(&mut self, hit: &Hit) -> Result<HitAnswer> {
        let mut answer = HitAnswer {
            id: self.index.id(hit.document)?.into_owned(),
            score: hit.score,
            sequence: hit.sequence,
            snippet: None,
            highlights: None,
            fields: None,
            text: None,
            length: None,
            terms: None,
        };
        self.room.take_part(&answer.id)?;
        let Planned { search, shown, .. } = self.planned;
        self.stored(hit, shown, &mut answer)?;
        if shown.explain {
            let explained = self
                .index
                .explain(&search.query, &search.options, hit.document)?;
            for term in &explained.terms {
                self.room.take_part(&term.term)?;
            }
            answer.length = Some(explained.length);
            answer.terms = Some(explain_terms(self.index, explained));
        }
        Ok(answer)
    }

    /// Adds the stored content of a document.
    fn stored(&mut self, hit: &Hit, shown: &Shown, answer: &mut HitAnswer) -> Result<()> {
        let fields = shown.fields.as_deref();
        let shows_fields = !self.index.keep().fields.is_empty() && fields != Some(&[]);
        let mut stored = match self.highlighter.is_some() || shown.text {
            true => self.index.document(hit.document)?,
            false if shows_fields => self.index.fields(hit.document)?,
            false => return Ok(()),
        };
        if let (Some(highlighter), Some(characters), Some(text)) =
            (&self.highlighter, shown.snippet_characters, &stored.text)
        {
            let snippet = highlighter.snippet(text, characters);
            self.room.take(snippet.text.len())?;
            let place = |at: usize| snippet.text[..at].chars().count();
            let highlights = snippet.highlights.iter();
            let highlights = highlights.map(|range| [place(range.start), place(range.end)]);
            answer.highlights = Some(highlights.collect());
            answer.snippet = Some(snippet.text);
        }
        if shows_fields {
            let is_shown =
                |name: &str| fields.is_none_or(|fields| fields.iter().any(|f| f == name));
            for (name, values) in &stored.fields {
                for value in values.iter().filter(|_| is_shown(name)) {
                    self.room.take(value.text.len())?;
                }
            }
            answer.fields = fields_json(&mut stored, is_shown);
        }
        if shown.text {
            self.room
                .take(stored.text.as_ref().map_or(0, String::len))?;
            answer.text = stored.text;
        }
        Ok(())
    }
}
