//! What is shown of a hit: parts of its document, and marked words.

use std::collections::BTreeMap;

use crate::elastic::error::{Refusal, Result};
use crate::elastic::mapping::{Mapping, Target};
use crate::elastic::reader::{Members, Place, names, texts, wrong};
use crate::elastic::tree::Tree;

/// Characters of a fragment, if the request does not say.
const FRAGMENT: usize = 100;
/// Characters of a fragment at most.
const MOST_FRAGMENT: usize = 10_000;

/// The parts of documents that are shown. Names may have `*`, and a name stands for all that is inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// Whether anything is shown.
    pub enabled: bool,
    /// The parts that are shown; all if there are none.
    pub includes: Vec<String>,
    /// The parts that are not shown.
    pub excludes: Vec<String>,
}

impl Default for Sources {
    fn default() -> Self {
        Sources {
            enabled: true,
            includes: Vec::new(),
            excludes: Vec::new(),
        }
    }
}

impl Sources {
    /// Parses the member `_source`.
    pub fn parse(tree: Option<&Tree>) -> Result<Self> {
        let place = Place::default().member("_source");
        let mut sources = Sources::default();
        match tree {
            None => {}
            Some(Tree::Bool(enabled)) => sources.enabled = *enabled,
            Some(object @ Tree::Object(_)) => {
                let mut members = Members::of(object, place)?;
                for name in ["includes", "include"] {
                    sources
                        .includes
                        .extend(members.texts(name)?.unwrap_or_default());
                }
                for name in ["excludes", "exclude"] {
                    sources
                        .excludes
                        .extend(members.texts(name)?.unwrap_or_default());
                }
                members.finish("_source")?;
            }
            Some(names) => sources.includes = texts(names, &place)?,
        }
        Ok(sources)
    }

    /// Sets it from the parameter `_source`: `true`, `false` or names.
    pub fn set(&mut self, value: &str) {
        match value {
            "" | "true" => self.enabled = true,
            "false" => self.enabled = false,
            names => {
                self.enabled = true;
                self.includes = names.split(',').map(str::to_owned).collect();
            }
        }
    }

    /// Whether documents are shown as they are.
    pub fn is_all(&self) -> bool {
        self.enabled && self.includes.is_empty() && self.excludes.is_empty()
    }
}

/// The marking of words in texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highlight {
    /// The fields, with the number of characters of a fragment of each.
    pub fields: BTreeMap<String, usize>,
    /// The mark before a word.
    pub before: String,
    /// The mark after a word.
    pub after: String,
    /// Whether texts are escaped for HTML.
    pub html: bool,
}

impl Highlight {
    /// Parses the member `highlight`.
    pub fn parse(tree: Option<&Tree>) -> Result<Option<Self>> {
        let Some(tree) = tree else {
            return Ok(None);
        };
        let place = Place::default().member("highlight");
        let mut members = Members::of(tree, place.clone())?;
        let mark = |texts: Option<Vec<String>>, usual: &str| {
            let first = texts.and_then(|texts| texts.into_iter().next());
            first.unwrap_or_else(|| usual.to_owned())
        };
        let before = mark(members.texts("pre_tags")?, "<em>");
        let after = mark(members.texts("post_tags")?, "</em>");
        let html = members.text("encoder")? == Some("html");
        members.only("tags_schema", &[], "use pre_tags and post_tags")?;
        let size = common(&mut members)?.unwrap_or(FRAGMENT);
        let fields_place = place.member("fields");
        let named = match members.take("fields") {
            Some(Tree::Object(fields)) => fields.iter().collect::<Vec<_>>(),
            Some(Tree::List(items)) => {
                let items = items.iter();
                items
                    .map(|item| one(item, &fields_place))
                    .collect::<Result<_>>()?
            }
            Some(other) => return Err(wrong(&fields_place, other, "an object")),
            None => {
                return Err(Refusal::parsing(format!(
                    "{place} needs the member `fields`, such as {{\"fields\": {{\"title\": {{}}}}}}"
                )));
            }
        };
        members.finish("highlight")?;
        let mut fields = BTreeMap::new();
        for (name, options) in named {
            let mut members = Members::of(options, fields_place.member(name))?;
            let own = common(&mut members)?;
            members.finish("highlight")?;
            fields.insert(name.clone(), own.unwrap_or(size));
        }
        Ok(Some(Highlight {
            fields,
            before,
            after,
            html,
        }))
    }

    /// Notes the fields that no document has.
    pub fn check(&self, mapping: &Mapping, warnings: &mut Vec<String>) {
        let fields = self.fields.keys().filter(|name| !name.contains('*'));
        for name in fields.filter(|name| mapping.target(name) == Target::Missing) {
            warnings.push(format!(
                "no document has the field `{name}` at `highlight.fields`"
            ));
        }
    }
}

/// The one field of an object.
fn one<'a>(item: &'a Tree, place: &Place) -> Result<&'a (String, Tree)> {
    match item {
        Tree::Object(fields) if fields.len() == 1 => Ok(&fields[0]),
        Tree::Object(fields) => Err(Refusal::parsing(format!(
            "an item of {place} has {} fields: {}; give each field an item",
            fields.len(),
            names(fields)
        ))),
        other => Err(wrong(place, other, "an object with one field")),
    }
}

/// Takes the members that all fields and each field have; gives the size of a fragment.
fn common(members: &mut Members<'_>) -> Result<Option<usize>> {
    let place = members.place.member("fragment_size");
    let size = members.whole("fragment_size")?;
    let size = size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    if size.is_some_and(|size| !(1..=MOST_FRAGMENT).contains(&size)) {
        return Err(Refusal::illegal(format!(
            "{place} must be from 1 to {MOST_FRAGMENT} characters"
        )));
    }
    let place = members.place.member("number_of_fragments");
    if members.whole("number_of_fragments")? == Some(0) {
        return Err(Refusal::illegal(format!(
            "{place} is 0, whole texts, which are not marked; ask for 1 fragment with a larger fragment_size"
        )));
    }
    members.only("type", &["unified", "plain"], "use unified")?;
    members.only("order", &["score", "none"], "use score")?;
    members.only("no_match_size", &["0"], "read the text in `_source`")?;
    members.only("require_field_match", &["true", "false"], "")?;
    members.only(
        "boundary_scanner",
        &["sentence", "word", "chars"],
        "leave it out",
    )?;
    members.only("highlight_query", &[], "words of the query are marked")?;
    members.only("matched_fields", &[], "words of the query are marked")?;
    Ok(size)
}
