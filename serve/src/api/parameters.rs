//! The parameters of a URL. Each must be known, and one that takes no list comes once.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use tokapi::Bm25;
use utoipa::IntoParams;

use crate::limits::Limits;
use crate::model::Weighting;
use crate::problem::Problem;
use crate::service::Shared;
use crate::verbs::page_size;

/// The parameters of a URL, all of which are known.
pub struct Url<T>(pub T);

impl<T: FromUrl> FromRequestParts<Shared> for Url<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, service: &Shared) -> Result<Self, Problem> {
        let mut from = Parameters::new(parts.uri.query());
        let taken = T::take(&mut from, &service.limits)?;
        from.finish()?;
        Ok(Url(taken))
    }
}

/// A type that is taken from the parameters of a URL.
pub trait FromUrl: Sized {
    /// Takes its parameters.
    ///
    /// # Errors
    /// One of them comes twice, has no valid value, or is beyond a limit.
    fn take(from: &mut Parameters<'_>, limits: &Limits) -> Result<Self, Problem>;
}

/// No parameters.
impl FromUrl for () {
    fn take(_: &mut Parameters<'_>, _: &Limits) -> Result<Self, Problem> {
        Ok(())
    }
}

impl<A: FromUrl, B: FromUrl> FromUrl for (A, B) {
    fn take(from: &mut Parameters<'_>, limits: &Limits) -> Result<Self, Problem> {
        Ok((A::take(from, limits)?, B::take(from, limits)?))
    }
}

/// The size of a page.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageSize {
    /// The most terms, postings or values of the answer; 100 unless given
    #[param(value_type = Option<usize>, minimum = 1, default = 100)]
    pub limit: usize,
}

impl FromUrl for PageSize {
    fn take(from: &mut Parameters<'_>, limits: &Limits) -> Result<Self, Problem> {
        let limit = page_size(limits, from.value("limit")?)?;
        Ok(PageSize { limit })
    }
}

impl FromUrl for Weighting {
    fn take(from: &mut Parameters<'_>, _: &Limits) -> Result<Self, Problem> {
        Ok(Weighting {
            formula: from.name("formula")?,
            k1: from.value("k1")?,
            b: from.value("b")?,
            delta: from.value("delta")?,
            avdl: from.value("avdl")?,
        })
    }
}

/// The formula, its parameters checked.
impl FromUrl for Bm25 {
    fn take(from: &mut Parameters<'_>, limits: &Limits) -> Result<Self, Problem> {
        let bm25 = Bm25::from(Weighting::take(from, limits)?);
        bm25.check()?;
        Ok(bm25)
    }
}

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
                "{name} is given {count} times: give it once"
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
                "{name}: `{}` is not a valid value: {error}",
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

    /// Ends the taking.
    ///
    /// # Errors
    /// A parameter is left, which the route does not know.
    pub fn finish(self) -> Result<(), Problem> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(Problem::invalid(format!(
                "unknown parameter `{}`: this route takes {}",
                name.escape_debug(),
                match &self.known[..] {
                    [] => "none".to_owned(),
                    known => known.join(", "),
                }
            ))),
        }
    }
}
