//! The options and commands that help after an error. The library does not know them.

use std::path::PathBuf;

use tokapi::{Error, Kept, Position};

/// The flag that avoids an error, to be added to its message.
pub fn flag(error: &Error) -> String {
    match error {
        Error::NotKept(Kept::Positions) => " (--positions)".into(),
        Error::NotKept(Kept::Texts) => " (--store)".into(),
        Error::NotKept(Kept::Field { name, known }) => {
            let fields: Vec<&str> = known.iter().chain([name]).map(String::as_str).collect();
            format!(" (--field {})", fields.join(","))
        }
        Error::Interrupted { .. } => " (--resume)".into(),
        Error::Memory { bytes, .. } => format!(" (--memory {}MB)", bytes.div_ceil(1_000_000)),
        Error::NoDevice(_) => " (--engine cpu)".into(),
        _ => String::new(),
    }
}

/// Says of a file that it is no index, and names the command that makes one.
pub fn of_index(error: Error) -> Error {
    match error {
        Error::Damaged { path, what } if what.starts_with("there is no index here") => {
            let what = match path.is_file() {
                true => "this is not an index; make one with `tokapi index INPUT -o DIR`".into(),
                false => format!(
                    "there is no index here; make one with `tokapi index INPUT -o {}`",
                    path.display()
                ),
            };
            Error::Damaged { path, what }
        }
        other => other,
    }
}

/// Adds the options that help to an error of one of `inputs`.
pub fn of_input(error: Error, inputs: &[PathBuf]) -> Error {
    let Error::Input { place, mut what } = error else {
        return error;
    };
    // An input that changed is read again, and not left out; a repeated id in an index has its own hint.
    if what.contains("begin again") || what.ends_with(')') {
        return Error::Input { place, what };
    }
    let flag = match what.rsplit_once("name the ") {
        Some((_, name)) if name.starts_with("id's") => " (--id-field)",
        Some((_, name)) if name.starts_with("text's") => " (--text-field)",
        Some((_, "format")) => " (--format)",
        Some((_, name)) if name.starts_with("format `text`") => " (--format text)",
        _ => "",
    };
    // It helps nobody to leave out all that there is. If the first record lacks a field, the others do.
    let is_alone = *inputs == [place.path.clone()];
    let is_all = match place.position {
        Position::Whole => is_alone && !what.ends_with("ids must differ"),
        Position::Line(1) if what.starts_with("the first row") => is_alone,
        Position::Line(1) => !flag.is_empty(),
        _ => false,
    };
    what += flag;
    what += match (is_all, flag) {
        (true, _) => "",
        (false, "") => " (or leave it out: --on-error skip)",
        (false, _) => ", or leave it out (--on-error skip)",
    };
    Error::Input { place, what }
}
