//! Queries from a file, or drawn from an index: terms in proportion to their df.

use std::path::Path;

use tokapi::{Clause, Occur, Query};
use tokapi::{Error, Index};

use super::Args;
use crate::arrivals::Random;
use tokapi_cli::queries;

/// The terms of each query.
pub fn queries(index: &Index, args: &Args) -> Result<Vec<Vec<String>>, Error> {
    let queries = match &args.queries {
        Some(path) => of_file(index, path)?,
        None => drawn(index, args)?,
    };
    match queries.is_empty() {
        true => Err(Error::Usage("there are no queries".into())),
        false => Ok(queries),
    }
}

/// A query of `terms`, all with the same role.
pub fn query(terms: &[String], occur: Occur) -> Query {
    let clauses = terms.iter().map(|term| Clause::new(term, occur));
    Query::default().clauses(clauses)
}

fn of_file(index: &Index, path: &Path) -> Result<Vec<Vec<String>>, Error> {
    let terms = |text: &str| index.analyzer().terms(text).collect::<Vec<String>>();
    let queries = queries::read(path)?.into_iter();
    let queries = queries.map(|query| terms(&query.text));
    Ok(queries.filter(|terms| !terms.is_empty()).collect())
}

fn drawn(index: &Index, args: &Args) -> Result<Vec<Vec<String>>, Error> {
    let most = (args.largest_share * index.statistics().documents as f64) as u64;
    let (mut terms, mut sums, mut sum) = (Vec::new(), Vec::new(), 0);
    index.each_term(|term, df| {
        if df <= most
            && let Ok(term) = std::str::from_utf8(term)
        {
            sum += df;
            sums.push(sum);
            terms.push(term.to_owned());
        }
    })?;
    let (least, most) = (args.terms[0], args.terms[1]);
    if terms.len() < most || least == 0 || least > most {
        return Err(Error::Usage(format!(
            "of {} terms of at most {} of the documents no queries of {least} to {most} can be drawn",
            terms.len(),
            args.largest_share
        )));
    }
    let mut random = Random(args.seed);
    let mut queries = Vec::with_capacity(args.count);
    for _ in 0..args.count {
        let count = least + random.next() as usize % (most - least + 1);
        let mut query: Vec<String> = Vec::with_capacity(count);
        while query.len() < count {
            let drawn = random.next() % sum;
            let term = &terms[sums.partition_point(|&end| end <= drawn)];
            if !query.contains(term) {
                query.push(term.clone());
            }
        }
        queries.push(query);
    }
    Ok(queries)
}
