//! The body of `_search`: a query, a page, and what is shown of each hit.

use std::time::Duration;

use super::compound::{self, Budget};
use super::node::{Fields, Kind, Node};
use super::shown::{Highlight, Sources};
use super::simple;
use super::sort::{After, Sort};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place, duration};
use crate::elastic::tree::Tree;

/// The last hit that a page may show, as in Elasticsearch.
pub const MOST_HITS: usize = 10_000;

/// A search request.
#[derive(Debug, Clone)]
pub struct SearchBody {
    /// The query.
    pub query: Node,
    /// The number of hits before the page.
    pub from: usize,
    /// The number of hits of the page.
    pub size: usize,
    /// The order of hits.
    pub sort: Sort,
    /// The hit before the page.
    pub after: Option<After>,
    /// Whether the number of all matches is told.
    pub total: bool,
    /// The parts of documents that are shown.
    pub sources: Sources,
    /// The marked words of texts.
    pub highlight: Option<Highlight>,
    /// Whether scores are explained.
    pub explain: bool,
    /// The time limit.
    pub timeout: Option<Duration>,
    /// The lowest score of a hit.
    pub min_score: Option<f32>,
    /// Whether `hits.total` is a number, not an object.
    pub plain_total: bool,
    /// What is answered otherwise than Elasticsearch would.
    pub warnings: Vec<String>,
}

/// Members of the body that have no answer here, each with advice.
const UNSUPPORTED: [(&str, &str); 22] = [
    (
        "aggs",
        "count the values of a field with /v1/indexes/{index}/search and `facets`",
    ),
    (
        "aggregations",
        "count the values of a field with /v1/indexes/{index}/search and `facets`",
    ),
    ("knn", "vectors are kept in `_source` and are not searched"),
    ("rank", "there is one ranking: leave it out"),
    ("retriever", "use `query`"),
    ("suggest", "use `match`"),
    ("rescore", "rank again in the client"),
    ("collapse", "group hits in the client"),
    ("post_filter", "use `filter` in a `bool` query"),
    ("script_fields", "compute in the client, from `_source`"),
    ("runtime_mappings", "compute in the client, from `_source`"),
    ("fields", "use `_source` with the names of the fields"),
    (
        "docvalue_fields",
        "use `_source` with the names of the fields",
    ),
    (
        "pit",
        "use `search_after`; each answer is of one state of the index",
    ),
    ("slice", "use `search_after`"),
    ("indices_boost", "search the indexes one by one"),
    ("profile", "use `explain`"),
    ("stats", "leave it out"),
    ("ext", "leave it out"),
    ("scroll", "use `search_after`"),
    ("min_children", "leave it out"),
    ("inner_hits", "leave it out"),
];

/// The parameters of a URL: names and values.
pub type Params = [(String, String)];

/// Parameters that change nothing where an index has one shard on one machine.
const WITHOUT_EFFECT: [&str; 14] = [
    "allow_partial_search_results",
    "batched_reduce_size",
    "ccs_minimize_roundtrips",
    "max_concurrent_shard_requests",
    "max_concurrent_searches",
    "pre_filter_shard_size",
    "preference",
    "request_cache",
    "typed_keys",
    "pretty",
    "human",
    "error_trace",
    "ignore_unavailable",
    "allow_no_indices",
];

impl SearchBody {
    /// Parses the body and the parameters of `_search`. A parameter wins over a member of the same name.
    pub fn parse(body: &Tree, params: &Params) -> Result<Self> {
        let mut members = Members::of(body, Place::default())?;
        let mut budget = Budget::default();
        let query = match members.take("query") {
            Some(query) => compound::query(query, Place::default().member("query"), &mut budget)?,
            None => everything(),
        };
        let mut search = SearchBody {
            query,
            from: whole(&mut members, "from")?.unwrap_or(0),
            size: whole(&mut members, "size")?.unwrap_or(10),
            sort: Sort::parse(members.take("sort"))?,
            after: After::parse(members.take("search_after"))?,
            total: total(members.take("track_total_hits"))?,
            sources: Sources::parse(members.take("_source"))?,
            highlight: Highlight::parse(members.take("highlight"))?,
            explain: members.boolean("explain")?.unwrap_or(false),
            timeout: limit(members.text("timeout")?, "timeout")?,
            min_score: members.number("min_score")?.map(|score| score as f32),
            plain_total: false,
            warnings: Vec::new(),
        };
        let advice = "versions and sequence numbers of documents are not shown";
        members.only("version", &["false"], advice)?;
        members.only("seq_no_primary_term", &["false"], advice)?;
        members.only("track_scores", &["false", "true"], "")?;
        members.only(
            "terminate_after",
            &["0"],
            "use `timeout` or a smaller `size`",
        )?;
        members.only("stored_fields", &["_none_"], "use `_source`")?;
        for (name, advice) in UNSUPPORTED {
            if members.take(name).is_some() {
                return Err(Refusal::parsing(format!(
                    "the member [{name}] of a search is not supported; {advice}"
                )));
            }
        }
        members.finish("search")?;
        search.params(params)?;
        search.warnings = budget.warnings;
        search.check()?;
        Ok(search)
    }

    fn params(&mut self, params: &Params) -> Result<()> {
        let flag = |name: &str, value: &str| match value {
            "" | "true" => Ok(true),
            "false" => Ok(false),
            other => Err(Refusal::illegal(format!(
                "the parameter `{name}` is `{other}`; it must be true or false"
            ))),
        };
        let number = |name: &str, value: &str| {
            value.parse().map_err(|_| {
                Refusal::illegal(format!(
                    "the parameter `{name}` is `{value}`; it must be a whole number of at least 0"
                ))
            })
        };
        let names = |value: &str| value.split(',').map(str::to_owned).collect::<Vec<_>>();
        let (mut text, mut fields, mut all) = (None, Fields::Default, false);
        for (name, value) in params {
            match &**name {
                "from" => self.from = number(name, value)?,
                "size" => self.size = number(name, value)?,
                "sort" => self.sort = Sort::of_param(value)?,
                "track_total_hits" => self.total = value != "false",
                "rest_total_hits_as_int" => self.plain_total = flag(name, value)?,
                "explain" => self.explain = flag(name, value)?,
                "timeout" => self.timeout = limit(Some(value), "timeout")?,
                "_source" => self.sources.set(value),
                "_source_includes" | "_source_include" => self.sources.includes = names(value),
                "_source_excludes" | "_source_exclude" => self.sources.excludes = names(value),
                "q" => text = Some(value.clone()),
                "df" => fields = Fields::One(value.clone()),
                "default_operator" => all = value.eq_ignore_ascii_case("and"),
                "search_type"
                    if matches!(&**value, "query_then_fetch" | "dfs_query_then_fetch") => {}
                "version" | "seq_no_primary_term" if value == "false" => {}
                "expand_wildcards" if value == "open" || value == "all" => {}
                "scroll" => {
                    return Err(Refusal::illegal(
                        "the parameter `scroll` is not supported; page with `search_after` and the `sort` values of the last hit",
                    ));
                }
                // It is applied to the answer.
                "filter_path" => {}
                name if WITHOUT_EFFECT.contains(&name) => {}
                _ => return Err(unknown_param(name, value)),
            }
        }
        if let Some(text) = text {
            self.query = simple::parse(&text, &fields, all, Place::default().member("q"))?;
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.from.saturating_add(self.size) > MOST_HITS {
            return Err(Refusal::illegal(format!(
                "Result window is too large: from + size is {}, and must be at most {MOST_HITS}; page with `search_after`",
                self.from.saturating_add(self.size)
            )));
        }
        let Some(after) = &self.after else {
            return Ok(());
        };
        if self.from > 0 {
            return Err(Refusal::illegal(
                "`from` must be 0 with `search_after`; leave it out",
            ));
        }
        if after.values() != self.sort.values() {
            return Err(Refusal::illegal(format!(
                "`search_after` has {} values and `sort` has {}; send the `sort` values of the last hit",
                after.values(),
                self.sort.values()
            )));
        }
        Ok(())
    }
}

/// The query of `_count` and `_delete_by_query`: all documents without one.
pub fn parse_query(body: &Tree, params: &Params) -> Result<(Node, Vec<String>)> {
    let mut members = Members::of(body, Place::default())?;
    let mut budget = Budget::default();
    let query = members.take("query");
    members.finish("query")?;
    let mut node = match query {
        Some(query) => compound::query(query, Place::default().member("query"), &mut budget)?,
        None => everything(),
    };
    let get = |name: &str| {
        params
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value)
    };
    if let Some(text) = get("q") {
        let fields = get("df").map_or(Fields::Default, |field| Fields::One(field.clone()));
        let all = get("default_operator").is_some_and(|value| value.eq_ignore_ascii_case("and"));
        node = simple::parse(text, &fields, all, Place::default().member("q"))?;
    }
    Ok((node, budget.warnings))
}

/// The error for a parameter that is not known, or that has a value without an answer.
pub fn unknown_param(name: &str, value: &str) -> Refusal {
    Refusal::illegal(format!(
        "the parameter `{name}` with the value `{value}` is not supported; leave it out"
    ))
}

/// Whether a parameter changes nothing here.
pub fn has_no_effect(name: &str) -> bool {
    WITHOUT_EFFECT.contains(&name)
}

fn everything() -> Node {
    Node {
        place: Place::default().member("query"),
        kind: Kind::All,
        boost: 1.0,
    }
}

fn whole(members: &mut Members<'_>, name: &'static str) -> Result<Option<usize>> {
    let number = members.whole(name)?;
    Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
}

fn limit(text: Option<&str>, name: &'static str) -> Result<Option<Duration>> {
    match text {
        None => Ok(None),
        Some(text) => duration(text, &Place::default().member(name)),
    }
}

/// `track_total_hits`: a number asks for an exact count up to it, and counts are always exact here.
fn total(tree: Option<&Tree>) -> Result<bool> {
    match tree {
        None | Some(Tree::Bool(true)) => Ok(true),
        Some(Tree::Bool(false)) => Ok(false),
        Some(Tree::Number(number)) if number.as_i64().is_some_and(|number| number >= -1) => {
            Ok(number.as_i64() != Some(-1))
        }
        Some(_) => Err(Refusal::parsing(
            "`track_total_hits` must be true, false or a whole number",
        )),
    }
}
