//! Searches: planned from requests, answered by one scheduler, cached.

mod admission;
mod answer;
mod cache;
mod cursor;
mod deadline;
mod engine;
mod plan;
mod values;

pub use answer::{answer, explain_terms};
pub use cache::CacheUse;
pub use cursor::{CURSORS, parse_cursor, print_cursor};
pub use deadline::Deadline;
pub use engine::{Engine, EngineOptions, Load};
pub use plan::{Planned, Shown, plan, plan_count};
pub use values::fields_json;
