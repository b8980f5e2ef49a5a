//! `tokapi eval`: the quality of a run.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tokapi::Error;
use tokapi::eval::{Evaluation, Judgments, Measures, Run};

use crate::summary::print;
use crate::table::Table;

/// Measure a run against judgments: nDCG@10, AP, P@10, R@100 and RR, as trec_eval does
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokapi eval bm25.run qrels.txt
  tokapi eval bm25.run qrels.txt --queries --json")]
pub struct Args {
    /// The run: lines of `query Q0 document rank score tag`; - is standard input
    run: PathBuf,

    /// The judgments: lines of `query 0 document relevance`, or of `query-id corpus-id score` as in BEIR
    qrels: PathBuf,

    /// Count queries without results as 0, as trec_eval -c does
    #[arg(long)]
    all: bool,

    /// Print the measures of each query too
    #[arg(long)]
    queries: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<(), Error> {
    let judgments = Judgments::read(&args.qrels)?;
    let run = Run::read(&args.run)?;
    let evaluation = Evaluation::new(&run, &judgments, args.all);
    if evaluation.queries.is_empty() {
        let (run, qrels) = (args.run.display(), args.qrels.display());
        return Err(Error::Usage(format!(
            "{run} has no query that {qrels} judges"
        )));
    }
    let text = match args.json {
        true => as_json(&evaluation, args.queries),
        false => as_table(&evaluation, args.queries),
    };
    print(text.as_bytes())
}

fn as_json(evaluation: &Evaluation, queries: bool) -> String {
    let object = |measures: &Measures| -> Value {
        let named = measures.named().into_iter();
        named
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect::<Map<_, _>>()
            .into()
    };
    let mut all = json!({
        "queries": evaluation.queries.len(),
        "mean": object(&evaluation.mean),
    });
    if queries {
        let each = evaluation.queries.iter();
        all["by_query"] = each
            .map(|(query, measures)| (query.clone(), object(measures)))
            .collect::<Map<_, _>>()
            .into();
    }
    format!("{all}\n")
}

fn as_table(evaluation: &Evaluation, queries: bool) -> String {
    let names = evaluation.mean.named().map(|(name, _)| name);
    let mut table = Table::new(&[&["query"][..], &names].concat());
    let mut push = |name: &str, measures: &Measures| {
        let values = measures.named().map(|(_, value)| format!("{value:.4}"));
        table.push([&[name.to_owned()][..], &values].concat());
    };
    if queries {
        for (query, measures) in &evaluation.queries {
            push(query, measures);
        }
    }
    let mean = format!("mean of {}", evaluation.queries.len());
    push(&mean, &evaluation.mean);
    table.text()
}
