//! Strict reading of objects: every member is taken, or named in an error with its place.

use std::fmt;
use std::time::Duration;

use super::error::{Refusal, Result};
use super::tree::Tree;

/// A place in a body, such as `query.bool.must[2]`.
#[derive(Debug, Clone, Default)]
pub struct Place(String);

impl Place {
    /// The place of a member.
    pub fn member(&self, name: &str) -> Place {
        match self.0.is_empty() {
            true => Place(name.to_owned()),
            false => Place(format!("{}.{name}", self.0)),
        }
    }

    /// The place of an item.
    pub fn item(&self, number: usize) -> Place {
        Place(format!("{}[{number}]", self.0))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_empty() {
            true => f.write_str("the body"),
            false => write!(f, "`{}`", self.0),
        }
    }
}

/// The members of an object that have not been read yet.
pub struct Members<'a> {
    /// The place of the object.
    pub place: Place,
    left: Vec<(&'a str, &'a Tree)>,
    known: Vec<&'static str>,
}

impl<'a> Members<'a> {
    /// The members of the object `tree`.
    pub fn of(tree: &'a Tree, place: Place) -> Result<Self> {
        match tree {
            Tree::Object(members) => Ok(Members {
                place,
                left: members
                    .iter()
                    .map(|(name, value)| (&**name, value))
                    .collect(),
                known: Vec::new(),
            }),
            other => Err(wrong(&place, other, "an object")),
        }
    }

    /// Takes a member; `null` stands for no member.
    pub fn take(&mut self, name: &'static str) -> Option<&'a Tree> {
        self.known.push(name);
        let at = self.left.iter().position(|(other, _)| *other == name)?;
        let (_, value) = self.left.remove(at);
        (*value != Tree::Null).then_some(value)
    }

    /// Takes a text.
    pub fn text(&mut self, name: &'static str) -> Result<Option<&'a str>> {
        match self.take(name) {
            None => Ok(None),
            Some(Tree::Text(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(&self.place.member(name), other, "a string")),
        }
    }

    /// Takes `true` or `false`, which may be strings, as in Elasticsearch.
    pub fn boolean(&mut self, name: &'static str) -> Result<Option<bool>> {
        match self.take(name) {
            None => Ok(None),
            Some(Tree::Bool(value)) => Ok(Some(*value)),
            Some(Tree::Text(text)) if text == "true" => Ok(Some(true)),
            Some(Tree::Text(text)) if text == "false" => Ok(Some(false)),
            Some(other) => Err(wrong(&self.place.member(name), other, "true or false")),
        }
    }

    /// Takes a whole number of at least 0, which may be a string of digits.
    pub fn whole(&mut self, name: &'static str) -> Result<Option<u64>> {
        let number = match self.take(name) {
            None => return Ok(None),
            Some(Tree::Number(number)) => number.as_u64(),
            Some(Tree::Text(text)) => text.parse().ok(),
            Some(other) => return Err(wrong(&self.place.member(name), other, "a whole number")),
        };
        let place = self.place.member(name);
        let reason = || Refusal::illegal(format!("{place} must be a whole number of at least 0"));
        number.map(Some).ok_or_else(reason)
    }

    /// Takes a number.
    pub fn number(&mut self, name: &'static str) -> Result<Option<f64>> {
        match self.take(name) {
            None => Ok(None),
            Some(Tree::Number(number)) => Ok(number.as_f64()),
            Some(other) => Err(wrong(&self.place.member(name), other, "a number")),
        }
    }

    /// Takes a text, or a list of texts.
    pub fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>> {
        let place = self.place.member(name);
        self.take(name).map(|tree| texts(tree, &place)).transpose()
    }

    /// Takes a member that changes nothing here if it has this value.
    pub fn only(&mut self, name: &'static str, allowed: &[&str], advice: &str) -> Result<()> {
        match self.take(name) {
            None => Ok(()),
            Some(tree) => match tree.as_value() {
                Some(value) if allowed.contains(&&*value.to_lowercase()) => Ok(()),
                _ => Err(Refusal::illegal(format!(
                    "{} is not supported; {advice}",
                    self.place.member(name)
                ))),
            },
        }
    }

    /// Takes all members that are left.
    pub fn rest(&mut self) -> Vec<(&'a str, &'a Tree)> {
        std::mem::take(&mut self.left)
    }

    /// Ends the reading: a member that was not taken is an error.
    pub fn finish(self, what: &str) -> Result<()> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(Refusal::parsing(format!(
                "[{what}] does not support [{name}], at {}; supported are: {}",
                self.place,
                self.known.join(", ")
            ))),
        }
    }
}

/// The error for a value of another kind.
pub fn wrong(place: &Place, found: &Tree, expected: &str) -> Refusal {
    Refusal::parsing(format!(
        "{place} must be {expected}, and is {}",
        found.kind()
    ))
}

/// The names of members, for an error.
pub fn names(members: &[(String, Tree)]) -> String {
    let names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// Checks the levels of objects and lists in a value.
///
/// # Errors
/// They are more than `most`.
pub fn check_depth(tree: &Tree, most: usize, place: &Place) -> Result<()> {
    fn fits(tree: &Tree, most: usize) -> bool {
        match tree {
            Tree::List(_) | Tree::Object(_) if most == 0 => false,
            Tree::List(items) => items.iter().all(|item| fits(item, most - 1)),
            Tree::Object(members) => members.iter().all(|(_, value)| fits(value, most - 1)),
            _ => true,
        }
    }
    match fits(tree, most) {
        true => Ok(()),
        false => Err(Refusal::illegal(format!(
            "{place} has more than {most} levels of objects and lists; nest fewer"
        ))),
    }
}

/// A text, or a list of texts.
pub fn texts(tree: &Tree, place: &Place) -> Result<Vec<String>> {
    let one = |tree: &Tree, place: &Place| match tree {
        Tree::Text(text) => Ok(text.clone()),
        other => Err(wrong(place, other, "a string")),
    };
    match tree {
        Tree::List(items) => {
            let items = items.iter().enumerate();
            items.map(|(at, item)| one(item, &place.item(at))).collect()
        }
        other => Ok(vec![one(other, place)?]),
    }
}

/// A duration in Elasticsearch's units, such as `500ms`. `-1` is no limit.
pub fn duration(text: &str, place: &Place) -> Result<Option<Duration>> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '-');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let fault = || {
        Refusal::illegal(format!(
            "{place} is `{text}`; write a number with a unit, such as 500ms, 2s or 1m"
        ))
    };
    if number == "-1" {
        return Ok(None);
    }
    let number: u64 = number.parse().map_err(|_| fault())?;
    let duration = match unit {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.saturating_mul(60)),
        "h" => Duration::from_secs(number.saturating_mul(3600)),
        "d" => Duration::from_secs(number.saturating_mul(86_400)),
        "micros" => Duration::from_micros(number),
        "nanos" => Duration::from_nanos(number),
        "" if number == 0 => Duration::ZERO,
        _ => return Err(fault()),
    };
    Ok(Some(duration))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_left_over_is_named_with_its_place() {
        let tree = Tree::parse(br#"{"a": 1, "b": 2}"#).unwrap();
        let place = Place::default().member("query").member("match").item(2);
        let mut members = Members::of(&tree, place).unwrap();
        assert_eq!(members.whole("a").unwrap(), Some(1));
        let reason = members.finish("match").unwrap_err().reason;
        let expected = "[match] does not support [b], at `query.match[2]`; supported are: a";
        assert_eq!(reason, expected);
    }

    #[test]
    fn durations() {
        let place = Place::default();
        let of = |text| duration(text, &place);
        assert_eq!(of("2s").unwrap(), Some(Duration::from_secs(2)));
        assert_eq!(of("-1").unwrap(), None);
        for text in ["", "s", "2", "2 s", "1.5s", "2y", "--1"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
