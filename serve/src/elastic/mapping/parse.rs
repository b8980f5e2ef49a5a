//! Definitions of fields become a [`Mapping`].

use super::field::{Field, Kind};
use super::template::Template;
use super::{Dynamic, MOST_DEPTH, MOST_FIELDS, Mapping, inside};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place, check_depth, wrong};
use crate::elastic::tree::Tree;

impl Mapping {
    /// Parses a mapping such as `{"properties": {"title": {"type": "text"}}}`. Notes in `warnings` what is kept and has
    /// no effect.
    pub fn parse(tree: &Tree, warnings: &mut Vec<String>) -> Result<Self> {
        let mut mapping = Mapping::default();
        mapping.merge(tree, warnings)?;
        Ok(mapping)
    }

    /// Adds the definitions of `tree`. A field keeps its type.
    pub fn merge(&mut self, tree: &Tree, warnings: &mut Vec<String>) -> Result<()> {
        let place = Place::default().member("mappings");
        check_depth(tree, MOST_DEPTH, &place)?;
        let mut members = Members::of(tree, place.clone())?;
        if let Some(dynamic) = members.take("dynamic") {
            self.dynamic = match dynamic.as_value().as_deref() {
                Some("true") => Dynamic::True,
                Some("false") => Dynamic::False,
                Some("strict") => Dynamic::Strict,
                _ => {
                    return Err(Refusal::illegal(format!(
                        "{} must be true, false or strict",
                        place.member("dynamic")
                    )));
                }
            };
        }
        match members.take("dynamic_templates") {
            None => {}
            Some(Tree::List(items)) => {
                let place = place.member("dynamic_templates");
                let templates = items.iter().enumerate();
                let templates =
                    templates.map(|(at, item)| Template::parse(item, &place.item(at), warnings));
                self.templates = templates.collect::<Result<_>>()?;
            }
            Some(other) => return Err(wrong(&place.member("dynamic_templates"), other, "a list")),
        }
        for name in ["_meta", "date_detection", "numeric_detection"] {
            if let Some(value) = members.take(name) {
                if name == "numeric_detection" && *value == Tree::Bool(true) {
                    return Err(Refusal::illegal(format!(
                        "{} is not supported; declare the fields with numbers",
                        place.member(name)
                    )));
                }
                self.other.insert(name.to_owned(), value.to_json());
            }
        }
        if let Some(source) = members.take("_source") {
            let mut source = Members::of(source, place.member("_source"))?;
            source.only("enabled", &["true"], "documents are always kept")?;
            source.finish("_source")?;
        }
        if let Some(properties) = members.take("properties") {
            self.properties(properties, "", &place.member("properties"), warnings)?;
        }
        members.finish("mappings")
    }

    fn properties(
        &mut self,
        tree: &Tree,
        prefix: &str,
        place: &Place,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let Tree::Object(members) = tree else {
            return Err(wrong(place, tree, "an object"));
        };
        for (name, definition) in members {
            let path = inside(prefix, name)
                .map_err(|reason| Refusal::new(400, "mapper_parsing_exception", reason))?;
            let place = place.member(name);
            if let Some(inner) = object(definition, &place)? {
                if self.fields.contains_key(&path) {
                    return Err(conflict(&path, "an object"));
                }
                let prefix = format!("{path}.");
                self.properties(inner, &prefix, &place.member("properties"), warnings)?;
                continue;
            }
            self.add(&path, Field::parse(definition, &place, warnings)?)?;
        }
        Ok(())
    }

    /// Adds a field. A field that is there keeps its kind.
    pub(super) fn add(&mut self, path: &str, field: Field) -> Result<()> {
        let kind = self.fields.get(path).map(|known| known.kind);
        if kind.is_some_and(|kind| kind != field.kind) {
            let as_type = field.definition["type"].as_str().unwrap_or_default();
            return Err(conflict(path, as_type));
        }
        let inside = format!("{path}.");
        let mut after = self.fields.range(inside.clone()..);
        if after
            .next()
            .is_some_and(|(name, _)| name.starts_with(&inside))
        {
            return Err(conflict(path, "a field with a value"));
        }
        if kind.is_none() && self.fields.len() == MOST_FIELDS {
            return Err(Refusal::illegal(format!(
                "the index has {MOST_FIELDS} fields, and `{path}` is one more; put such data under a field with \"enabled\": false"
            )));
        }
        self.fields.insert(path.to_owned(), field);
        Ok(())
    }
}

/// The fields inside an object; none if `definition` is one field.
fn object<'a>(definition: &'a Tree, place: &Place) -> Result<Option<&'a Tree>> {
    const EMPTY: &Tree = &Tree::Object(Vec::new());
    let mut members = Members::of(definition, place.clone())?;
    let kind = members.text("type")?;
    let inner = members.take("properties");
    if !matches!(kind, None | Some("object")) || members.boolean("enabled")? == Some(false) {
        return Ok(None);
    }
    if kind.is_none() && inner.is_none() {
        let reason = format!("no type is given at {place}; use one of: {}", Kind::types());
        return Err(Refusal::new(400, "mapper_parsing_exception", reason));
    }
    members.only("dynamic", &["true"], "set `dynamic` for the whole mapping")?;
    members.finish("object")?;
    Ok(Some(inner.unwrap_or(EMPTY)))
}

fn conflict(path: &str, kind: &str) -> Refusal {
    Refusal::illegal(format!(
        "the field `{path}` is in the mapping already and cannot become {kind}; create another index"
    ))
}
