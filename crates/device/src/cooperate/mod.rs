//! Queries by CPU and GPU together.
//!
//! A [`Router`] predicts which processor answers a query faster, from the lengths of its lists
//! alone: `tokapi tune --queries` measures some queries on both and fits the difference. A
//! [`Scheduler`] takes queries as they arrive, and switches to GPU batches when queries begin to
//! wait. [`InOrder`] passes it many queries, and returns the answers in order. (Ao et al.:
//! Efficient Lists Intersection by CPU-GPU Cooperative Computing.)

mod accelerator;
mod help;
mod in_order;
mod intake;
mod lanes;
mod load;
mod metric;
mod options;
mod pace;
mod queue;
mod regression;
mod report;
mod request;
mod router;
mod scheduler;
mod waiting;

pub use accelerator::{Accelerator, BatchLane};
pub use in_order::{Answers, InOrder, Shares};
pub use intake::Refused;
pub use metric::{Complexity, Metric};
pub use options::{Policy, SchedulerOptions};
pub use regression::Regression;
pub use report::{BatchTime, SchedulerReport};
pub use request::{Outcome, Processor, Search};
pub use router::{Router, Rule, Timed};
pub use scheduler::Scheduler;
