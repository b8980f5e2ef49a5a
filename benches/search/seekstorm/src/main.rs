//! seekstorm as a peer: one field with positions (it has no index without), no n-grams, no
//! spelling correction, the id stored, in one shard, which one thread indexes and searches.
//!
//! Its search takes a string, so that cutting the query into terms is timed too.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

use search_peer::{Answer, Built, Engine, Kind, Outcome, Query, Task};
use seekstorm::commit::Commit;
use seekstorm::index::{
    AccessType, Close, Clustering, Document, DocumentCompression, FileType, FrequentwordType,
    IndexArc, IndexDocument, IndexMetaObject, LexicalSimilarity, NgramSet, SchemaField,
    StemmerType, StopwordType, TokenizerType, create_index, open_index,
};
use seekstorm::search::{QueryRewriting, QueryType, ResultObject, ResultType, Search, SearchMode};
use seekstorm::vector::Inference;
use serde_json::Value;
use tokio::runtime::Runtime;

const SCHEMA: &str = r#"[
    {"field": "id", "field_type": "Text", "store": true, "index_lexical": false},
    {"field": "text", "field_type": "Text", "store": false, "index_lexical": true}
]"#;
/// A query runs on one thread if there is but one shard.
const SHARDS: usize = 1;

struct SeekStorm {
    runtime: Runtime,
    index: IndexArc,
}

struct Prepared {
    terms: String,
    query_type: QueryType,
    task: Task,
}

struct Found {
    result: ResultObject,
    task: Task,
}

fn meta() -> IndexMetaObject {
    IndexMetaObject {
        id: 0,
        name: "peer".into(),
        lexical_similarity: LexicalSimilarity::Bm25f,
        tokenizer: TokenizerType::Whitespace,
        stemmer: StemmerType::None,
        stop_words: StopwordType::None,
        frequent_words: FrequentwordType::None,
        ngram_indexing: NgramSet::SingleTerm as u8,
        document_compression: DocumentCompression::None,
        access_type: AccessType::Mmap,
        spelling_correction: None,
        query_completion: None,
        clustering: Clustering::None,
        inference: Inference::None,
        segment_number_bits: 11,
    }
}

async fn index_all(text: &Path, folder: &Path) -> Outcome<()> {
    let schema: Vec<SchemaField> = serde_json::from_str(SCHEMA)?;
    let index = create_index(folder, meta(), &schema, &Vec::new(), true, Some(SHARDS)).await?;
    for line in BufReader::new(File::open(text)?).lines() {
        let line = line?;
        let (id, contents) = line.split_once('\t').ok_or("a line without a tab")?;
        let document = Document::from([
            ("id".to_string(), Value::String(id.into())),
            ("text".to_string(), Value::String(contents.into())),
        ]);
        index.index_document(document, FileType::None).await;
    }
    index.commit().await;
    index.close().await;
    Ok(())
}

impl Engine for SeekStorm {
    type Prepared = Prepared;
    type Found = Found;

    fn build(text: &Path, folder: &Path, _positions: bool) -> Outcome<Built> {
        let clock = Instant::now();
        Runtime::new()?.block_on(index_all(text, folder))?;
        Ok(Built {
            seconds: clock.elapsed().as_secs_f64(),
            postings_bytes: None,
        })
    }

    fn open(folder: &Path) -> Outcome<Self> {
        let runtime = Runtime::new()?;
        let index = runtime.block_on(open_index(folder))?;
        Ok(Self { runtime, index })
    }

    fn unsupported(kind: Kind, _: Task) -> Option<String> {
        match kind {
            Kind::And | Kind::Or => None,
            Kind::Mix => Some("seekstorm has no query with required and optional terms".into()),
            Kind::Phrase => Some("seekstorm is not compared by phrases".into()),
        }
    }

    fn prepare(&self, query: &Query, task: Task) -> Prepared {
        Prepared {
            terms: query.terms.join(" "),
            query_type: match query.kind {
                Kind::And => QueryType::Intersection,
                Kind::Or | Kind::Mix | Kind::Phrase => QueryType::Union,
            },
            task,
        }
    }

    fn search(&self, prepared: &Prepared) -> Outcome<Found> {
        let (result_type, length) = match prepared.task {
            Task::Count => (ResultType::Count, 0),
            Task::Top(k) => (ResultType::Topk, k),
        };
        let result = self.runtime.block_on(self.index.search(
            prepared.terms.clone(),
            None,
            prepared.query_type.clone(),
            SearchMode::Lexical,
            false,
            0,
            length,
            result_type,
            false,
            Vec::new(),
            Vec::new(),
            Vec::new(),
            Vec::new(),
            QueryRewriting::SearchOnly,
        ));
        Ok(Found {
            result,
            task: prepared.task,
        })
    }

    fn answer(&self, found: Found) -> Outcome<Answer> {
        if found.task == Task::Count {
            let count = found.result.result_count_total;
            return Ok(Answer::Count(count.try_into()?));
        }
        let index = self.runtime.block_on(self.index.read());
        let fields = HashSet::new();
        let mut documents = Vec::new();
        for result in &found.result.results {
            let document = index.get_document(result.doc_id, false, &None, &fields, &[]);
            let document = self.runtime.block_on(document)?;
            let id = document.get("id").and_then(Value::as_str);
            documents.push((id.ok_or("a document without id")?.parse()?, result.score));
        }
        Ok(Answer::Top(documents))
    }
}

fn main() -> Outcome<()> {
    search_peer::run::<SeekStorm>()
}
