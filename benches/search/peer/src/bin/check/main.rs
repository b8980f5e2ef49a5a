//! Checks answers against exhaustive scoring of the text itself, by the peer's own formula.
//!
//! `check TEXT JOBS`: JOBS is a TSV file of `queries<TAB>answers<TAB>task<TAB>formula`. Prints for
//! every job `wrong<TAB>first`: how many answers are wrong, and the number of the first such query.
//!
//! A count is right if it is the number of matching documents. A ranking is right if it has as
//! many distinct documents as it should and the score of each, computed here, is the score that
//! belongs at its rank: documents of equal score may change places.

mod formula;
mod text;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use formula::Formula;
use search_peer::{Kind, Outcome, Query, Task, read_queries};
use text::Text;

/// How far scores may be apart and still count as equal: peers compute in 32 bits.
const RELATIVE_TOLERANCE: f64 = 1e-4;

struct Job {
    queries: String,
    task: Task,
    formula: Formula,
    answers: HashMap<u64, String>,
    wrong: Vec<u64>,
}

fn read_jobs(path: &str) -> Outcome<Vec<Job>> {
    let mut jobs = Vec::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let [queries, answers, task, formula] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("{path}: four columns are needed: {line}").into());
        };
        let mut by_number = HashMap::new();
        for line in std::fs::read_to_string(answers)?.lines() {
            let (number, answer) = line.split_once('\t').ok_or("an answer without a tab")?;
            by_number.insert(number.parse()?, answer.to_string());
        }
        jobs.push(Job {
            queries: queries.into(),
            task: task.parse()?,
            formula: formula.parse()?,
            answers: by_number,
            wrong: Vec::new(),
        });
    }
    Ok(jobs)
}

/// The scores of all documents; those that do not match have none.
fn score(query: &Query, text: &Text, formula: Formula, mean_length: f64) -> Vec<Option<f64>> {
    let mut scores = vec![0.0; text.lengths.len()];
    let mut occurring = vec![0u32; text.lengths.len()];
    for (at, term) in query.terms.iter().enumerate() {
        let postings = &text.postings[term];
        let idf = formula.idf(text.lengths.len(), postings.len());
        // Whatever terms are needed leave their mark.
        let mark = u32::from(query.kind != Kind::Mix || at == 0);
        for &(document, frequency) in postings {
            let length = text.lengths[document];
            scores[document] += idf * formula.saturated(frequency, length, mean_length);
            occurring[document] += mark;
        }
    }
    let needed = match query.kind {
        Kind::And | Kind::Phrase => u32::try_from(query.terms.len()).expect("a query is short"),
        Kind::Or | Kind::Mix => 1,
    };
    let matching = occurring.iter().map(|&marks| marks >= needed);
    let scores = scores.into_iter().zip(matching);
    scores
        .map(|(score, matches)| matches.then_some(score))
        .collect()
}

/// The best `k` scores, best first.
fn best(scores: &[Option<f64>], k: usize) -> Vec<f64> {
    let mut best: Vec<f64> = scores.iter().flatten().copied().collect();
    if best.len() > k {
        best.select_nth_unstable_by(k, |a, b| b.total_cmp(a));
        best.truncate(k);
    }
    best.sort_unstable_by(|a, b| b.total_cmp(a));
    best
}

fn is_right(answer: &str, task: Task, scores: &[Option<f64>]) -> Outcome<bool> {
    let Task::Top(k) = task else {
        let count: usize = answer.parse()?;
        return Ok(count == scores.iter().flatten().count());
    };
    let best = best(scores, k);
    let mut documents = Vec::new();
    for pair in answer.split_whitespace() {
        let (document, _) = pair.split_once(':').ok_or("a document without score")?;
        documents.push(document.parse::<usize>()?);
    }
    let distinct: HashSet<_> = documents.iter().collect();
    let close = |(&document, &best): (&usize, &f64)| {
        let score = scores.get(document).copied().flatten();
        score.is_some_and(|score| (score - best).abs() <= RELATIVE_TOLERANCE * best.abs())
    };
    Ok(documents.len() == best.len()
        && distinct.len() == best.len()
        && documents.iter().zip(&best).all(close))
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [text, jobs] = &arguments[..] else {
        return Err("usage: check TEXT JOBS".into());
    };
    let mut jobs = read_jobs(jobs)?;
    let mut queries: HashMap<String, Vec<Query>> = HashMap::new();
    for job in &jobs {
        if !queries.contains_key(&job.queries) {
            queries.insert(job.queries.clone(), read_queries(Path::new(&job.queries))?);
        }
    }
    let mut all = queries.values().flatten();
    if all.any(|query| query.kind == Kind::Phrase) {
        return Err("phrases are not checked here: the order of terms is not kept".into());
    }
    let terms = queries.values().flatten().flat_map(|query| &query.terms);
    let text = Text::read(Path::new(text), terms.map(String::as_str))?;

    for formula in Formula::ALL {
        let mean_length = formula.mean_length(&text.lengths);
        for (path, queries) in &queries {
            let mut jobs: Vec<_> = jobs
                .iter_mut()
                .filter(|job| job.queries == *path && job.formula == formula)
                .collect();
            if jobs.is_empty() {
                continue;
            }
            for query in queries {
                let scores = score(query, &text, formula, mean_length);
                for job in &mut jobs {
                    let answer = job.answers.get(&query.number);
                    let answer = answer.ok_or_else(|| format!("no answer to {}", query.number))?;
                    if !is_right(answer, job.task, &scores)? {
                        job.wrong.push(query.number);
                    }
                }
            }
        }
    }
    for job in &jobs {
        let first = job.wrong.first().map_or(String::new(), u64::to_string);
        println!("{}\t{first}", job.wrong.len());
    }
    Ok(())
}
