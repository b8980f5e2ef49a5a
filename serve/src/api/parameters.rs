//! The parameters of a URL. Each must be known, and one that takes no list comes once.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use tokapi::Bm25;

use crate::model::FormulaName;
use crate::problem::Problem;

/// The parameters of a URL that have not been taken yet.
pub struct Parameters<'a> {
    left: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    known: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    /// The parameters of the part of a URL behind `?`.
    pub fn new(query: Option<&'a str>) -> Self {
        Parameters {
            left: form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect(),
            known: Vec::new(),
        }
    }

    /// Takes all values of a parameter.
    pub fn all(&mut self, name: &'static str) -> Vec<String> {
        self.known.push(name);
        let is_it = |(key, _): &mut (Cow<'a, str>, Cow<'a, str>)| key == name;
        let taken = self.left.extract_if(.., is_it);
        taken.map(|(_, value)| value.into_owned()).collect()
    }

    /// Takes a text.
    ///
    /// # Errors
    /// It comes twice.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>, Problem> {
        let mut values = self.all(name);
        match values.len() {
            0 | 1 => Ok(values.pop()),
            count => Err(Problem::invalid(format!(
                "{name}: the URL has it {count} times: give it once"
            ))),
        }
    }

    /// Takes a number or `true` or `false`.
    ///
    /// # Errors
    /// It comes twice, or has no such value.
    pub fn value<T: FromStr<Err: Display>>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(Problem::invalid(format!(
                "{name}: `{}` is no valid value: {error}",
                text.escape_debug()
            ))),
        }
    }

    /// Takes one of the names that serde knows for `T`.
    ///
    /// # Errors
    /// It comes twice, or has none of these names.
    pub fn name<T: for<'de> Deserialize<'de>>(
        &mut self,
        name: &'static str,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let deserializer: StrDeserializer<'_, ValueError> = text.as_str().into_deserializer();
        match T::deserialize(deserializer) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(Problem::invalid(format!("{name}: {error}"))),
        }
    }

    /// Takes a formula and its parameters.
    ///
    /// # Errors
    /// A parameter is no number, or out of range.
    pub fn bm25(&mut self) -> Result<Bm25, Problem> {
        let usual = Bm25::default();
        let formula: Option<FormulaName> = self.name("formula")?;
        let bm25 = usual
            .formula(formula.map_or(usual.formula, Into::into))
            .k1(self.value("k1")?.unwrap_or(usual.k1))
            .b(self.value("b")?.unwrap_or(usual.b))
            .delta(self.value::<f64>("delta")?)
            .avdl(self.value::<f64>("avdl")?);
        bm25.check()?;
        Ok(bm25)
    }

    /// Ends the taking.
    ///
    /// # Errors
    /// A parameter is left, which the route does not know.
    pub fn finish(self) -> Result<(), Problem> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(Problem::invalid(format!(
                "`{}` is no parameter of this route; {}",
                name.escape_debug(),
                match &self.known[..] {
                    [] => "it has none".to_owned(),
                    known => format!("it has {}", known.join(", ")),
                }
            ))),
        }
    }
}
