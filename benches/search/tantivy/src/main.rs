//! tantivy as a peer: one text field with frequencies and field norms, positions only for phrases, the id
//! stored, all threads index and their segments are merged into one.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

use search_peer::{Answer, Built, Engine, Kind, Outcome, Query, Task};
use tantivy::collector::{Collector, Count, TopDocs};
use tantivy::indexer::NoMergePolicy;
use tantivy::query::{BooleanQuery, Occur, PhraseQuery, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{
    DocAddress, Index, IndexWriter, ReloadPolicy, Score, Searcher, TantivyDocument, Term,
};

/// What each indexing thread may hold before it writes a segment.
const MEMORY_BYTES_PER_THREAD: usize = 1_000_000_000;

struct Tantivy {
    searcher: Searcher,
    id: Field,
    text: Field,
}

struct Prepared {
    query: Box<dyn tantivy::query::Query>,
    task: Task,
}

enum Found {
    Count(usize),
    Top(Vec<(Score, DocAddress)>),
}

fn schema(positions: bool) -> Schema {
    let option = match positions {
        true => IndexRecordOption::WithFreqsAndPositions,
        false => IndexRecordOption::WithFreqs,
    };
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("whitespace")
        .set_index_option(option);
    let mut schema = Schema::builder();
    schema.add_u64_field("id", STORED);
    schema.add_text_field(
        "text",
        TextOptions::default().set_indexing_options(indexing),
    );
    schema.build()
}

impl Engine for Tantivy {
    type Prepared = Prepared;
    type Found = Found;

    fn build(text: &Path, folder: &Path, positions: bool) -> Outcome<Built> {
        let clock = Instant::now();
        let index = Index::create_in_dir(folder, schema(positions))?;
        let (id_field, text_field) = fields(&index)?;
        let threads = std::thread::available_parallelism()?.get();
        let mut writer: IndexWriter =
            index.writer_with_num_threads(threads, threads * MEMORY_BYTES_PER_THREAD)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for line in BufReader::new(File::open(text)?).lines() {
            let line = line?;
            let (id, contents) = line.split_once('\t').ok_or("a line without a tab")?;
            let mut document = TantivyDocument::default();
            document.add_u64(id_field, id.parse()?);
            document.add_text(text_field, contents);
            writer.add_document(document)?;
        }
        writer.commit()?;
        let segments = index.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.garbage_collect_files().wait()?;
        writer.wait_merging_threads()?;
        let seconds = clock.elapsed().as_secs_f64();

        let usage = index.reader()?.searcher().space_usage()?;
        let postings = usage.segments().iter().map(|s| s.postings().total());
        Ok(Built {
            seconds,
            postings_bytes: Some(postings.map(|bytes| bytes.get_bytes()).sum()),
        })
    }

    fn open(folder: &Path) -> Outcome<Self> {
        let index = Index::open_in_dir(folder)?;
        let (id, text) = fields(&index)?;
        let reader = index.reader_builder();
        let reader = reader.reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self {
            searcher: reader.searcher(),
            id,
            text,
        })
    }

    fn unsupported(_: Kind, _: Task) -> Option<String> {
        None
    }

    fn prepare(&self, query: &Query, task: Task) -> Prepared {
        let terms = query.terms.iter();
        let terms = terms.map(|term| Term::from_field_text(self.text, term));
        if query.kind == Kind::Phrase {
            let query = Box::new(PhraseQuery::new(terms.collect()));
            return Prepared { query, task };
        }
        let clauses = terms.enumerate().map(|(at, term)| {
            let occur = match query.kind {
                Kind::And | Kind::Phrase => Occur::Must,
                Kind::Or => Occur::Should,
                Kind::Mix if at == 0 => Occur::Must,
                Kind::Mix => Occur::Should,
            };
            let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
            (occur, Box::new(query) as Box<dyn tantivy::query::Query>)
        });
        let mut clauses: Vec<_> = clauses.collect();
        let query = if clauses.len() == 1 {
            clauses.remove(0).1
        } else {
            Box::new(BooleanQuery::new(clauses))
        };
        Prepared { query, task }
    }

    fn search(&self, prepared: &Prepared) -> Outcome<Found> {
        Ok(match prepared.task {
            Task::Count => Found::Count(self.collect(prepared, &Count)?),
            Task::Top(k) => {
                Found::Top(self.collect(prepared, &TopDocs::with_limit(k).order_by_score())?)
            }
        })
    }

    fn answer(&self, found: Found) -> Outcome<Answer> {
        let documents = match found {
            Found::Count(count) => return Ok(Answer::Count(count.try_into()?)),
            Found::Top(documents) => documents,
        };
        let named = documents.into_iter().map(|(score, address)| {
            let document: TantivyDocument = self.searcher.doc(address)?;
            let id = document.get_first(self.id).and_then(|id| id.as_u64());
            Ok((id.ok_or("a document without id")?, score))
        });
        Ok(Answer::Top(named.collect::<Outcome<_>>()?))
    }
}

impl Tantivy {
    fn collect<C: Collector>(&self, prepared: &Prepared, collector: &C) -> Outcome<C::Fruit> {
        Ok(self.searcher.search(&prepared.query, collector)?)
    }
}

fn fields(index: &Index) -> Outcome<(Field, Field)> {
    let schema = index.schema();
    Ok((schema.get_field("id")?, schema.get_field("text")?))
}

fn main() -> Outcome<()> {
    search_peer::run::<Tantivy>()
}
