//! `GET` of documents: `_doc`, `_source` and `_mget`.

use axum::extract::State;
use serde_json::Value;

use super::{Answer, Ask, Asked, of_error};
use crate::elastic::answer;
use crate::elastic::dsl::{Sources, unknown_param};
use crate::elastic::error::{Refusal, Result};
use crate::elastic::reader::{Members, Place, texts, wrong};
use crate::elastic::source;
use crate::elastic::store::Definition;
use crate::elastic::tree::Tree;
use crate::served::Snapshot;

/// Documents of one request.
const MOST_DOCUMENTS: usize = 10_000;

/// `GET /{index}/_doc/{id}`.
pub async fn get(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    let sources = of_params(&ask)?;
    let snapshot = elastic.one(ask.place("index"))?;
    let id = ask.place("id").to_owned();
    let definition = elastic.definition(&snapshot);
    let work = move |snapshot: &Snapshot| found(snapshot, &definition, &id, &sources);
    let (found, json) = elastic.work(&snapshot, None, ask.started, work).await?;
    elastic.room().take(json.len()).map_err(of_error)?;
    Ok(Answer {
        status: if found { 200 } else { 404 },
        ..Answer::ok(json)
    })
}

/// `GET /{index}/_source/{id}`.
pub async fn source(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    let sources = of_params(&ask)?;
    let snapshot = elastic.one(ask.place("index"))?;
    let (index, id) = (snapshot.name().to_owned(), ask.place("id").to_owned());
    let missing = Refusal::new(
        404,
        "resource_not_found_exception",
        format!("Document not found [{index}]/[{id}]"),
    );
    let definition = elastic.definition(&snapshot);
    let work = move |snapshot: &Snapshot| read(snapshot, &definition, &id);
    let found = elastic.work(&snapshot, None, ask.started, work).await?;
    let shown = found.and_then(|text| source::shown(&text, &sources));
    let length = shown.as_ref().map_or(0, String::len);
    elastic.room().take(length).map_err(of_error)?;
    shown.map(Answer::ok).ok_or(missing)
}

/// `_mget`.
pub async fn several(State(elastic): Asked, ask: Ask) -> Result<Answer> {
    let usual = of_params(&ask)?;
    let tree = ask.json()?;
    let mut members = Members::of(&tree, Place::default())?;
    let mut asked: Vec<(String, String, Sources)> = Vec::new();
    let index = ask.place("index");
    if let Some(docs) = members.take("docs") {
        let place = Place::default().member("docs");
        let Tree::List(docs) = docs else {
            return Err(wrong(&place, docs, "a list"));
        };
        for (at, doc) in docs.iter().enumerate() {
            let place = place.item(at);
            let mut members = Members::of(doc, place.clone())?;
            let index = members.text("_index")?.unwrap_or(index).to_owned();
            let id = members.take("_id").and_then(Tree::as_value);
            let id =
                id.ok_or_else(|| Refusal::illegal(format!("{place} needs the member `_id`")))?;
            let sources = match members.take("_source") {
                Some(sources) => Sources::parse(Some(sources))?,
                None => usual.clone(),
            };
            members.finish("mget")?;
            asked.push((index, id, sources));
        }
    }
    if let Some(ids) = members.take("ids") {
        let ids = texts(ids, &Place::default().member("ids"))?;
        asked.extend(
            ids.into_iter()
                .map(|id| (index.to_owned(), id, usual.clone())),
        );
    }
    members.finish("mget")?;
    if asked.is_empty() || asked.len() > MOST_DOCUMENTS {
        return Err(Refusal::illegal(format!(
            "the request asks for {} documents; ask for 1 to {MOST_DOCUMENTS} with `ids` or `docs`",
            asked.len()
        )));
    }
    let mut room = elastic.room();
    let mut json = b"{\"docs\":[".to_vec();
    for (at, (index, id, sources)) in asked.into_iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        let snapshot = match elastic.one(&index) {
            Ok(snapshot) => snapshot,
            Err(refusal) => {
                let item: Value =
                    serde_json::json!({"_index": index, "_id": id, "error": refusal.cause()});
                json.extend_from_slice(item.to_string().as_bytes());
                continue;
            }
        };
        let definition = elastic.definition(&snapshot);
        let work = move |snapshot: &Snapshot| found(snapshot, &definition, &id, &sources);
        let (_, item) = elastic.work(&snapshot, None, ask.started, work).await?;
        room.take(item.len()).map_err(of_error)?;
        json.extend(item);
    }
    json.extend_from_slice(b"]}");
    Ok(Answer::ok(json))
}

/// The document of an id, as it was sent.
fn read(snapshot: &Snapshot, definition: &Definition, id: &str) -> Result<Option<String>> {
    let found = snapshot.find(id).map_err(of_error)?;
    let read = found.map(|document| source::read(snapshot.index(), document, definition.text()));
    read.transpose().map_err(of_error)
}

/// Whether there is a document of an id, and the answer that says so and shows it.
fn found(
    snapshot: &Snapshot,
    definition: &Definition,
    id: &str,
    sources: &Sources,
) -> Result<(bool, Vec<u8>)> {
    let text = read(snapshot, definition, id)?;
    let shown = text
        .as_deref()
        .and_then(|text| source::shown(text, sources));
    let json = answer::found(snapshot.name(), id, text.is_some(), shown.as_deref());
    Ok((text.is_some(), json))
}

fn of_params(ask: &Ask) -> Result<Sources> {
    let mut sources = Sources::default();
    let names = |value: &str| value.split(',').map(str::to_owned).collect();
    for (name, value) in &ask.params {
        match &**name {
            "_source" => sources.set(value),
            "_source_includes" | "_source_include" => sources.includes = names(value),
            "_source_excludes" | "_source_exclude" => sources.excludes = names(value),
            "realtime" | "refresh" | "preference" | "pretty" | "human" | "error_trace"
            | "filter_path" => {}
            _ => return Err(unknown_param(name, value)),
        }
    }
    Ok(sources)
}
