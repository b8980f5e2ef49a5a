//! Queries and tasks, as the files and the command line name them.

use std::path::Path;
use std::str::FromStr;

use crate::Outcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All terms occur.
    And,
    /// Any term occurs.
    Or,
    /// The first term occurs; the others add to the score.
    Mix,
    /// The terms occur one after the other.
    Phrase,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "and" => Ok(Self::And),
            "or" => Ok(Self::Or),
            "mix" => Ok(Self::Mix),
            "phrase" => Ok(Self::Phrase),
            _ => Err(format!("no kind `{name}`; there are and, or, mix, phrase")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// How many documents match.
    Count,
    /// The best documents and their scores.
    Top(usize),
}

impl FromStr for Task {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == "count" {
            return Ok(Self::Count);
        }
        let count = name.strip_prefix("top").and_then(|k| k.parse().ok());
        count
            .map(Self::Top)
            .ok_or_else(|| format!("no task `{name}`; there are count, top10, top100, top1000"))
    }
}

#[derive(Clone, Debug)]
pub struct Query {
    pub number: u64,
    pub kind: Kind,
    /// Distinct, but for those of a phrase.
    pub terms: Vec<String>,
}

/// The queries of a TSV file of `number<TAB>kind<TAB>terms`.
pub fn read_queries(path: &Path) -> Outcome<Vec<Query>> {
    let text = std::fs::read_to_string(path)?;
    let parse = |line: &str| -> Outcome<Query> {
        let mut columns = line.split('\t');
        let mut column = || columns.next().ok_or("three columns are needed");
        Ok(Query {
            number: column()?.parse()?,
            kind: column()?.parse()?,
            terms: column()?.split(' ').map(String::from).collect(),
        })
    };
    let queries = text.lines().enumerate().map(|(at, line)| {
        parse(line).map_err(|error| format!("{}:{}: {error}", path.display(), at + 1).into())
    });
    queries.collect()
}
