//! The names of ids and texts, for fields, columns and header cells alike.

use super::options::CorpusOptions;

/// The default names of the id; the first one present is taken.
pub(super) const IDS: [&str; 3] = ["id", "_id", "docno"];
/// The default names of the text: the first alone, or else the others together.
pub(super) const TEXTS: [&str; 3] = ["contents", "title", "text"];

/// The most names in an error.
const LISTED: usize = 20;
/// No name is added to an error beyond this number of characters.
const LISTED_CHARACTERS: usize = 120;
/// The most characters of a name in an error.
const CHARACTERS: usize = 60;

/// The remedy for a kept field without a column.
pub(super) const KEEP: &str = "keep one of these";
const NAME_ID: &str = "name the id's column";
const NAME_TEXT: &str = "name the text's column";

/// The columns of a table with the id and the text.
pub(super) struct Columns {
    pub id: usize,
    pub texts: Vec<usize>,
}

/// Finds the columns of the id and the text among `names`. The error tells which one is missing.
pub(super) fn find(names: &[String], options: &CorpusOptions) -> Result<Columns, String> {
    let find = |name: &str| names.iter().position(|known| known == name);
    let id = match &options.id_field {
        Some(name) => {
            find(name).ok_or_else(|| missing(&format!("column `{name}`"), names, NAME_ID))?
        }
        None => IDS
            .iter()
            .find_map(|name| find(name))
            .ok_or_else(|| missing("column `id`", names, NAME_ID))?,
    };
    let [contents, title, text] = TEXTS.map(find);
    let texts = match (&options.text_fields[..], contents) {
        ([], Some(contents)) => vec![contents],
        ([], None) => {
            let wanted = "column `contents` or `text`";
            let text = text.ok_or_else(|| missing(wanted, names, NAME_TEXT))?;
            title.into_iter().chain([text]).collect()
        }
        (asked, _) => {
            let columns = asked.iter().map(|name| {
                let wanted = || format!("column `{name}`");
                find(name).ok_or_else(|| missing(&wanted(), names, NAME_TEXT))
            });
            columns.collect::<Result<_, _>>()?
        }
    };
    Ok(Columns { id, texts })
}

/// The error for a field or column `wanted` that is not among `names`.
pub(super) fn missing(wanted: &str, names: &[String], remedy: &str) -> String {
    match names {
        [] => format!("no {wanted}: {remedy}"),
        [name] => format!("no {wanted}; there is only {}: {remedy}", cut(name)),
        _ => format!("no {wanted}; there are {}: {remedy}", listed(names)),
    }
}

/// Some names, and the number of the others.
fn listed(names: &[String]) -> String {
    let (mut shown, mut characters) = (Vec::new(), 0);
    for name in names.iter().take(LISTED) {
        if characters > LISTED_CHARACTERS {
            break;
        }
        characters += name.chars().count().min(CHARACTERS);
        shown.push(cut(name));
    }
    if shown.len() < names.len() {
        shown.push(format!("and {} more", names.len() - shown.len()));
    }
    shown.join(", ")
}

/// The beginning of a name, for an error.
pub(super) fn cut(name: &str) -> String {
    match name.char_indices().nth(CHARACTERS) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}
