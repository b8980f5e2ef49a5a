//! The answer to a query as text, as JSON, and as lines of a run.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tokapi::Error;
use tokapi::{Hit, Occur, Query};

use super::Search;
use crate::hits::{self, Shower};
use crate::queries::NumberedQuery;
use crate::summary::note;

/// The texts that are shown with a result.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Output")]
pub struct Args {
    /// With --json, add the whole text of every document, if the index keeps it
    #[arg(long, requires = "json", conflicts_with = "count")]
    pub text: bool,

    /// Show no snippets: the parts of the texts with most words of the query
    #[arg(long)]
    pub no_snippets: bool,
}

/// A query as the user wrote it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Its id, if it is from a file of queries.
    pub id: Option<&'a str>,
    pub text: &'a str,
}

impl Asked<'_> {
    /// A line of JSON with the query and one more member.
    fn json(&self, name: &str, value: Value) -> String {
        let mut object = json!({ "query": self.text, name: value });
        if let Some(id) = self.id {
            object["id"] = id.into();
        }
        format!("{object}\n")
    }
}

impl Search<'_> {
    /// The answer to one query, as text. Without `hits`, the query is answered here.
    pub fn answer(
        &self,
        asked: Asked<'_>,
        query: &Query,
        hits: Option<Vec<Hit>>,
    ) -> Result<String, Error> {
        if self.args.count {
            let count = self.index.count(query)?;
            return Ok(match (self.args.json, asked.id) {
                (true, _) => asked.json("count", count.into()),
                (false, None) => format!("{count}\n"),
                (false, Some(id)) => format!("{id}\t{count}\n"),
            });
        }
        let hits = self.hits(query, hits)?;
        let shower = Shower::new(self.index, query, !self.args.shown.no_snippets)?;
        if self.args.json {
            let hits = hits.iter().map(|hit| {
                let mut object = self.hit_json(query, hit)?;
                shower.push_json(hit.document, self.args.shown.text, &mut object)?;
                Ok(object)
            });
            let hits: Vec<Value> = hits.collect::<Result<_, Error>>()?;
            return Ok(asked.json("hits", hits.into()));
        }
        let mut answer = String::new();
        if hits.is_empty() {
            note(self.why_nothing(query));
        }
        for (rank, hit) in (1..).zip(&hits) {
            let id = hits::clean(&self.index.id(hit.document)?);
            // Writing to a string does not fail.
            let _ = writeln!(answer, "{rank:>4}  {:<9.4}  {id}", hit.score);
            shower.push_text(hit.document, &mut answer)?;
            if self.args.explain {
                let explained = self.index.explain(query, &self.options, hit.document)?;
                let _ = writeln!(answer, "      length {}", explained.length);
                for term in explained.terms {
                    let why = match self.index.impacts() {
                        None => format!("tf {}, df {}, idf {:.4}", term.tf, term.df, term.idf),
                        Some(impacts) => {
                            format!(
                                "impact {} times {:.6}, df {}",
                                term.tf, impacts.scale, term.df
                            )
                        }
                    };
                    let _ = writeln!(
                        answer,
                        "      {:.4}  {}  {why}{}",
                        f64::from(term.weight) * term.times,
                        term.term,
                        match term.times {
                            1.0 => String::new(),
                            times => format!(", {times} times in the query"),
                        }
                    );
                }
            }
        }
        Ok(answer)
    }

    fn hit_json(&self, query: &Query, hit: &Hit) -> Result<Value, Error> {
        let mut object = json!({
            "id": self.index.id(hit.document)?,
            "score": hit.score,
        });
        if self.args.explain {
            let explained = self.index.explain(query, &self.options, hit.document)?;
            let terms = explained.terms.iter().map(|term| {
                let (number, factor) = match self.index.impacts() {
                    None => ("tf", "idf"),
                    Some(_) => ("impact", "scale"),
                };
                json!({
                    "term": term.term,
                    "times": term.times,
                    number: term.tf,
                    "df": term.df,
                    factor: term.idf,
                    "weight": term.weight,
                })
            });
            object["length"] = explained.length.into();
            object["terms"] = terms.collect();
        }
        Ok(object)
    }

    fn hits(&self, query: &Query, hits: Option<Vec<Hit>>) -> Result<Vec<Hit>, Error> {
        hits.map_or_else(|| self.index.search(query, &self.options), Ok)
    }

    /// The lines of a TREC run for a query.
    pub fn run_lines(
        &self,
        numbered: &NumberedQuery,
        query: &Query,
        hits: Option<Vec<Hit>>,
    ) -> Result<String, Error> {
        if numbered.id.contains(char::is_whitespace) || numbered.id.is_empty() {
            return Err(Error::Usage(
                "a run needs query ids without white space: use --json".into(),
            ));
        }
        let tag = self.args.of_file.tag.as_deref().unwrap_or("tokapi");
        let mut lines = String::new();
        for (rank, hit) in (1..).zip(&self.hits(query, hits)?) {
            let id = self.index.id(hit.document)?;
            if id.contains(char::is_whitespace) {
                return Err(Error::Usage(format!(
                    "the id {id:?} has white space, which separates the columns of a run: use --json"
                )));
            }
            // Writing to a string does not fail.
            let _ = writeln!(lines, "{} Q0 {id} {rank} {} {tag}", numbered.id, hit.score);
        }
        Ok(lines)
    }

    /// The line for a query without results.
    fn why_nothing(&self, query: &Query) -> &'static str {
        let is_sought = |occur: Occur| occur != Occur::Not;
        let seeks = query.clauses.iter().any(|clause| is_sought(clause.occur))
            || query.phrases.iter().any(|phrase| !phrase.not);
        let excludes = !query.clauses.is_empty() || !query.phrases.is_empty();
        match (seeks || !query.filters.is_empty(), excludes) {
            (true, _) => "no document matches\n",
            (false, true) => "the query only excludes words: add a word to look for, or a filter\n",
            (false, false) => "the query has no term of this index's analyzer: add a word\n",
        }
    }
}
