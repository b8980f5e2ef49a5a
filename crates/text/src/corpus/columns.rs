//! The names of ids and texts, for fields, columns and header cells alike.

use super::options::CorpusOptions;

/// The default names of the id; the first one present is taken.
pub(super) const IDS: [&str; 3] = ["id", "_id", "docno"];
/// The default names of the text: the first alone, or else the others together.
pub(super) const TEXTS: [&str; 3] = ["contents", "title", "text"];

/// The most names in an error.
const LISTED: usize = 20;

/// The columns of a table with the id and the text.
pub(super) struct Columns {
    pub id: usize,
    pub texts: Vec<usize>,
}

/// Finds the columns of the id and the text among `names`. The error tells which one is missing.
pub(super) fn find(names: &[String], options: &CorpusOptions) -> Result<Columns, String> {
    let find = |name: &str| names.iter().position(|known| known == name);
    let id = match &options.id_field {
        Some(name) => find(name).ok_or_else(|| missing(&format!("`{name}`"), names))?,
        None => IDS
            .iter()
            .find_map(|name| find(name))
            .ok_or_else(|| missing("`id`", names))?,
    };
    let [contents, title, text] = TEXTS.map(find);
    let texts = match (&options.text_fields[..], contents) {
        ([], Some(contents)) => vec![contents],
        ([], None) => {
            let text = text.ok_or_else(|| missing("`contents` or `text`", names))?;
            title.into_iter().chain([text]).collect()
        }
        (asked, _) => {
            let columns = asked
                .iter()
                .map(|name| find(name).ok_or_else(|| missing(&format!("`{name}`"), names)));
            columns.collect::<Result<_, _>>()?
        }
    };
    Ok(Columns { id, texts })
}

/// The error for a column `wanted` that is not among `names`.
pub(super) fn missing(wanted: &str, names: &[String]) -> String {
    /// The number of characters shown of a name.
    const SHOWN: usize = 60;
    let short = |name: &String| match name.char_indices().nth(SHOWN) {
        None => name.clone(),
        Some((end, _)) => format!("{}…", &name[..end]),
    };
    let mut listed: Vec<String> = names.iter().take(LISTED).map(short).collect();
    if let Some(more) = names.len().checked_sub(LISTED).filter(|&more| more > 0) {
        listed.push(format!("and {more} more"));
    }
    format!("no column {wanted}; there are {}", listed.join(", "))
}
