//! Duplicate documents: identical ones by their terms, near-identical ones by MinHash signatures
//! that agree in a band (Broder, 1997).

mod distinct;

pub(super) use distinct::Distinct;

use serde::{Deserialize, Serialize};

use super::super::functors::push_terms;
use super::super::{
    Document, DocumentPlace, Documents, Emitter, Functors, Items, Job, ListJob, MapFunction,
    Portable, Records, ReduceFunction, Report, Room, Runner, Text, prefix,
};
use super::table::{DocumentNotes, DocumentSet, DocumentTable, push_noted};
use super::tsv::{decimal, tab};
use tokapi_storage::error::{Error, Result};
use tokapi_storage::strings::Strings;
use tokapi_text::corpus::OnError;
use tokapi_weigh::output::push_field;

/// Hashes in a signature.
const HASHES: usize = 64;
/// Number of hashes in a band.
const ROWS: usize = 4;
/// Terms in a shingle.
const SHINGLE: usize = 3;
/// Number of pairs a map task.
const SPLIT: usize = 1 << 16;

/// Stands for the number of equal hashes if documents are identical.
const IDENTICAL: u32 = u32::MAX;
/// Number of pairs whose ids are looked up together.
const FETCHED: usize = 1 << 12;

type Signature = Vec<u32>;

/// A document, an earlier one, and their number of equal hashes.
type Pair = (DocumentPlace, DocumentPlace, u32);

/// Finds documents that repeat earlier ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplicates {
    /// The minimum estimated similarity of near-identical documents, 0 to 1.
    pub similarity: f64,
    /// The treatment of two documents with the same id.
    pub on_error: OnError,
}

impl Default for Duplicates {
    fn default() -> Self {
        Duplicates {
            similarity: 0.8,
            on_error: OnError::Stop,
        }
    }
}

/// A document that repeats an earlier one.
#[derive(Debug, Clone, PartialEq)]
pub struct Duplicate {
    /// Its id.
    pub id: Vec<u8>,
    /// The id of the earlier one.
    pub of: Vec<u8>,
    /// Whether all terms are the same, in the same order.
    pub identical: bool,
    /// The estimated share of common shingles; 1 if the documents are identical.
    pub similarity: f64,
}

/// Document, the earlier one, `identical` or `near`, similarity.
impl Text for Duplicate {
    fn push(&self, text: &mut Vec<u8>) {
        push_field(text, &self.id);
        tab(text);
        push_field(text, &self.of);
        tab(text);
        let kind: &[u8] = if self.identical {
            b"identical"
        } else {
            b"near"
        };
        text.extend_from_slice(kind);
        tab(text);
        decimal(self.similarity, text);
        text.push(b'\n');
    }
}

impl Duplicates {
    /// Finds the documents whose terms are those of an earlier one, each with the first such
    /// document; and among the other documents all near-identical pairs. Results are in the order
    /// of the input. `documents` is called twice to read the input.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tokapi_mapreduce::{Documents, Threads};
    /// use tokapi_mapreduce::jobs::Duplicates;
    /// use tokapi_text::corpus::{Corpus, CorpusOptions};
    /// use tokapi_text::analyze::Analyzer;
    ///
    /// # fn main() -> tokapi_storage::error::Result<()> {
    /// let text = "1\tTo be, or not\n2\tnothing\n3\tto be or not!\n";
    /// let corpus = || Corpus::from_bytes("a.tsv", text, CorpusOptions::default());
    /// let documents = || Ok(Documents::new(corpus(), Arc::new(Analyzer::default()), 2));
    /// let (found, _) = Duplicates::default().run(&Threads::default(), documents)?;
    /// assert_eq!((&found[0].id[..], &found[0].of[..]), (&b"3"[..], &b"1"[..]));
    /// assert!(found[0].identical && found.len() == 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An error of `documents` or the runner; two documents with the same id, if that is an error.
    pub fn run(
        &self,
        runner: &impl Runner,
        mut documents: impl FnMut() -> Result<Documents>,
    ) -> Result<(Vec<Duplicate>, Report)> {
        let mut found = Vec::new();
        let report = self.each(runner, &mut documents, |duplicate| {
            found.push(duplicate);
            Ok(())
        })?;
        Ok((found, report))
    }

    /// Finds duplicates as [`Duplicates::run`] does, and passes them to `each`. Their number may
    /// exceed the memory.
    ///
    /// # Errors
    /// As [`Duplicates::run`]; an error of `each`.
    pub fn each(
        &self,
        runner: &impl Runner,
        mut documents: impl FnMut() -> Result<Documents>,
        mut each: impl FnMut(Duplicate) -> Result<()>,
    ) -> Result<Report> {
        if !(0.0..=1.0).contains(&self.similarity) {
            let given = self.similarity;
            return Err(Error::Usage(format!(
                "the similarity is {given}; it must be from 0 to 1"
            )));
        }
        let mut identical = Identical {
            table: DocumentTable::new(self.on_error),
        };
        let (mut pairs, mut report) = runner.records(&mut identical, documents()?)?;
        let table = identical.table;
        report.skipped.append(table.skipped.clone());
        let mut near = Near {
            similarity: self.similarity,
            copies: table.set(pairs.iter().map(|pair| Ok(pair?.0)))?,
        };
        let (near, step) = runner.records(&mut near, documents()?)?;
        report.append(step);
        pairs.append(near);
        // A near-identical pair arrives once for every band that both documents share.
        let input = Items::of(pairs, SPLIT);
        let (pairs, step) = runner.records(&mut Distinct, input)?;
        report.append(step);
        let mut some = Vec::with_capacity(FETCHED);
        for pair in &pairs {
            some.push(pair?);
            if some.len() == FETCHED {
                self::each(&table, &some, &mut each)?;
                some.clear();
            }
        }
        self::each(&table, &some, &mut each)?;
        Ok(report)
    }
}

/// Passes pairs with their ids to `each`, except those with a document that is left out.
fn each(
    table: &DocumentTable,
    pairs: &[Pair],
    each: &mut impl FnMut(Duplicate) -> Result<()>,
) -> Result<()> {
    let numbers: Vec<(u32, u32, u32)> = pairs
        .iter()
        .filter_map(|&(copy, of, agree)| {
            Some((table.input_number(copy)?, table.input_number(of)?, agree))
        })
        .collect();
    let (mut ids, mut of_ids) = (Strings::default(), Strings::default());
    table.fetch(numbers.iter().map(|pair| pair.0), |id, _| {
        ids.push(id);
        Ok(())
    })?;
    table.fetch(numbers.iter().map(|pair| pair.1), |id, _| {
        of_ids.push(id);
        Ok(())
    })?;
    let ids = ids.iter().zip(of_ids.iter());
    numbers.iter().zip(ids).try_for_each(|(pair, (id, of))| {
        let agree = pair.2;
        each(Duplicate {
            id: id.to_vec(),
            of: of.to_vec(),
            identical: agree == IDENTICAL,
            similarity: if agree == IDENTICAL {
                1.0
            } else {
                similarity(agree)
            },
        })
    })
}

fn similarity(agree: u32) -> f64 {
    f64::from(agree) / HASHES as f64
}

/// Groups documents by all their terms: exact, independent of hashes.
#[derive(Serialize, Deserialize)]
pub(super) struct Identical {
    table: DocumentTable,
}

impl Job for Identical {
    type Input = Documents;
    /// The terms, each followed by a blank.
    type Key<'a> = &'a str;
    type Value = DocumentPlace;
    type Note = DocumentNotes;
    /// A document, the first one with the same terms, and [`IDENTICAL`].
    type Output<'a> = Pair;

    fn map(&self, document: Document<'_>, emit: &mut Emitter<Self>) {
        let (mut text, mut length) = (String::with_capacity(document.text.len() + 1), 0);
        for term in document.terms() {
            text += term;
            text.push(' ');
            length += 1;
        }
        emit.pair(&text, document.place);
        emit.note().push(&document, length);
    }

    fn all_mapped(&mut self, notes: &Records<DocumentNotes>, room: &Room) -> Result<()> {
        self.table.fill(notes, room)
    }

    fn reduce(
        &self,
        _: &str,
        places: impl Iterator<Item = DocumentPlace>,
        write: &mut impl FnMut(Pair),
    ) -> Result<()> {
        let mut places = places.filter(|&place| self.table.input_number(place).is_some());
        if let Some(first) = places.next() {
            places.for_each(|place| write((place, first, IDENTICAL)));
        }
        Ok(())
    }

    fn prefix(text: &&str) -> u64 {
        prefix(text)
    }
}

/// Groups documents whose signatures agree in a band.
#[derive(Serialize, Deserialize)]
pub(super) struct Near {
    similarity: f64,
    /// Documents identical to an earlier one; they are skipped.
    copies: DocumentSet,
}

impl Job for Near {
    type Input = Documents;
    /// A band: its number and its hashes.
    type Key<'a> = (u32, [u32; ROWS]);
    type Value = (DocumentPlace, Signature);
    type Note = ();
    type Output<'a> = Pair;

    fn map(&self, document: Document<'_>, emit: &mut Emitter<Self>) {
        if self.copies.contains(document.place) {
            return;
        }
        let terms: Vec<&str> = document.terms().collect();
        if let Some(signature) = signature(&terms) {
            let (bands, _) = signature.as_chunks::<ROWS>();
            for (number, &band) in (0..).zip(bands) {
                emit.pair((number, band), (document.place, signature.clone()));
            }
        }
    }

    fn reduce(
        &self,
        _: (u32, [u32; ROWS]),
        documents: impl Iterator<Item = (DocumentPlace, Signature)>,
        write: &mut impl FnMut(Pair),
    ) -> Result<()> {
        let mut earlier: Vec<(DocumentPlace, Signature)> = Vec::new();
        for (place, signature) in documents {
            for (of, other) in &earlier {
                let agree = signature.iter().zip(other).filter(|(a, b)| a == b).count() as u32;
                if similarity(agree) >= self.similarity {
                    write((place, *of, agree));
                }
            }
            earlier.push((place, signature));
        }
        Ok(())
    }

    fn prefix((number, band): &(u32, [u32; ROWS])) -> u64 {
        u64::from(*number) << 32 | u64::from(band[0])
    }
}

/// The minimum of every hash over all shingles of a document; none if it has no terms.
fn signature(terms: &[&str]) -> Option<Signature> {
    let shingles = terms.windows(SHINGLE.min(terms.len()).max(1));
    let mut least = vec![u32::MAX; HASHES];
    let mut any = false;
    let mut bytes = Vec::new();
    for shingle in shingles {
        any = true;
        bytes.clear();
        for term in shingle {
            bytes.extend_from_slice(term.as_bytes());
            bytes.push(b' ');
        }
        let hash = super::super::codec::hash(&bytes);
        for (number, least) in (0_u64..).zip(&mut least) {
            // A separate hash function for every place: odd multipliers, high bits.
            let multiplier = (2 * number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mixed = (hash ^ hash >> 29 ^ number << 40).wrapping_mul(multiplier);
            *least = (*least).min((mixed >> 32) as u32);
        }
    }
    any.then_some(least)
}

impl Portable for Identical {
    const NAME: &'static str = "duplicates-identical";

    const FUNCTORS: Option<Functors<Self>> = Some(Functors::<Self>::groups(
        MapFunction::Whole,
        push_noted,
        // A chunk has fewer than 2^32 records.
        |_, record| Ok((record.place(record.word as u32), 1)),
    ));
}

impl ListJob for Identical {
    type Owned = Pair;

    fn own(copy: Self::Output<'_>) -> Self::Owned {
        copy
    }
}

impl Portable for Near {
    const NAME: &'static str = "duplicates-near";

    const FUNCTORS: Option<Functors<Self>> = Some(Functors {
        map: MapFunction::Bands,
        reduce: ReduceFunction::Nothing,
        record: |job, document, bytes, ()| {
            if !job.copies.contains(document.place) {
                push_terms(document.terms(), bytes);
            }
        },
        key: |key| {
            let halves = |word: u64| [(word >> 32) as u32, word as u32];
            let [number, a] = halves(key.words[0]);
            let [b, c] = halves(key.words[1]);
            (number, [a, b, c, halves(key.value)[0]])
        },
        value: |_, band| {
            let record = band.word as u32;
            let hashes = band.note(record).iter();
            let signature = hashes.flat_map(|&two| [two as u32, (two >> 32) as u32]);
            Ok(((band.place(record), signature.collect()), 1))
        },
    });
}

impl ListJob for Near {
    type Owned = Pair;

    fn own(pair: Self::Output<'_>) -> Self::Owned {
        pair
    }
}
