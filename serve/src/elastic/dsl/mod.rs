//! The language of queries: a body becomes a checked form, and that becomes a search of the engine.
//!
//! Nothing is ignored: a member that has no answer is an error with its name, its place and the way out.

mod body;
mod compound;
mod condition;
mod fields;
mod leaf;
mod lower;
mod node;
mod plan;
mod shown;
mod simple;
mod sort;

pub use body::{MOST_HITS, Params, SearchBody, has_no_effect, parse_query, unknown_param};
pub use condition::Select;
pub use lower::lower;
pub use node::Node;
pub use plan::{Matching, Plan};
pub use shown::{Highlight, Sources};
pub use sort::{After, Sort};

#[cfg(test)]
mod tests;
