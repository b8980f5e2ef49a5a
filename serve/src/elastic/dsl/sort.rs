//! The order of hits, and the place in it where a page begins.

use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Place, names, wrong};
use crate::elastic::tree::Tree;

/// The order of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// By score, without values in hits.
    #[default]
    Default,
    /// By score, the best first; a hit has the value of its score.
    Score,
    /// By score, and then in the order of addition; a hit has the values of both.
    ScoreAndAge,
    /// In the order of addition.
    Age,
}

/// The values of the hit before the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum After {
    /// A score, or a sequence number.
    One(f64),
    /// A score and a sequence number.
    Two(f64, u64),
}

/// A key of the order.
#[derive(PartialEq)]
enum Key {
    Score,
    Age,
}

impl Sort {
    /// Parses the member `sort`.
    pub fn parse(tree: Option<&Tree>) -> Result<Self> {
        let place = Place::default().member("sort");
        let keys = match tree {
            None => return Ok(Sort::Default),
            Some(Tree::List(items)) => {
                let items = items.iter().enumerate();
                items
                    .map(|(at, item)| key(item, &place.item(at)))
                    .collect::<Result<Vec<_>>>()?
            }
            Some(one) => vec![key(one, &place)?],
        };
        Sort::of(&keys)
    }

    /// Parses the parameter `sort`: `_score`, `_score:desc,_doc`.
    pub fn of_param(text: &str) -> Result<Self> {
        let place = Place::default().member("sort");
        let keys = text.split(',').map(|part| {
            let (name, order) = match part.split_once(':') {
                Some((name, order)) => (name, Some(order)),
                None => (part, None),
            };
            checked(name, order, &place)
        });
        Sort::of(&keys.collect::<Result<Vec<_>>>()?)
    }

    fn of(keys: &[Key]) -> Result<Self> {
        match keys {
            [] => Ok(Sort::Default),
            [Key::Score] => Ok(Sort::Score),
            [Key::Score, Key::Age] => Ok(Sort::ScoreAndAge),
            [Key::Age] => Ok(Sort::Age),
            _ => Err(Refusal::illegal(
                "`sort` must be `_score`, `_score` and `_doc`, or `_doc`",
            )),
        }
    }

    /// The number of values that a hit has.
    pub fn values(self) -> usize {
        match self {
            Sort::Default => 0,
            Sort::Score | Sort::Age => 1,
            Sort::ScoreAndAge => 2,
        }
    }

    /// Whether the order is by score.
    pub fn by_score(self) -> bool {
        self != Sort::Age
    }
}

fn key(tree: &Tree, place: &Place) -> Result<Key> {
    match tree {
        Tree::Text(name) => checked(name, None, place),
        Tree::Object(members) if members.len() == 1 => {
            let (name, value) = &members[0];
            let order = match value {
                Tree::Text(order) => Some(&**order),
                Tree::Object(members) => match &members[..] {
                    [] => None,
                    [(member, Tree::Text(order))] if member == "order" => Some(&**order),
                    _ => {
                        return Err(Refusal::illegal(format!(
                            "{place} takes `order`, and has {}; leave the rest out",
                            names(members)
                        )));
                    }
                },
                other => return Err(wrong(place, other, "`asc` or `desc`")),
            };
            checked(name, order, place)
        }
        Tree::Object(members) => Err(Refusal::parsing(format!(
            "{place} must have one field, and has {}: {}; give each field an item of the list",
            members.len(),
            names(members)
        ))),
        other => Err(wrong(place, other, "the name of a field")),
    }
}

fn checked(name: &str, order: Option<&str>, place: &Place) -> Result<Key> {
    match (name, order) {
        ("_score", None | Some("desc")) => Ok(Key::Score),
        ("_doc" | "_shard_doc" | "_seq_no", None | Some("asc")) => Ok(Key::Age),
        (name, order) => Err(Refusal::illegal(format!(
            "the order by `{name}`{} at {place} is not supported; sort by `_score`, then by `_doc`",
            order.map_or(String::new(), |order| format!(" {order}"))
        ))),
    }
}

impl After {
    /// Parses the member `search_after`.
    pub fn parse(tree: Option<&Tree>) -> Result<Option<Self>> {
        let fault = || {
            Refusal::parsing(
                "`search_after` must be the list of the `sort` values of the last hit: a score, or a score and a sequence number",
            )
        };
        let number = |tree: &Tree| match tree {
            Tree::Number(number) => number.as_f64().ok_or_else(fault),
            _ => Err(fault()),
        };
        match tree {
            None => Ok(None),
            Some(Tree::List(values)) => match &values[..] {
                [one] => Ok(Some(After::One(number(one)?))),
                [score, Tree::Number(age)] => {
                    let age = age.as_u64().ok_or_else(fault)?;
                    Ok(Some(After::Two(number(score)?, age)))
                }
                _ => Err(fault()),
            },
            Some(_) => Err(fault()),
        }
    }

    /// The number of values.
    pub fn values(self) -> usize {
        match self {
            After::One(_) => 1,
            After::Two(..) => 2,
        }
    }
}
