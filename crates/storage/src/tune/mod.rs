//! The best chunk size: measured on a sample, fitted to a cost model, predicted.
//!
//! Small chunks have a large overhead. Large chunks exceed the caches, and stages wait for each other. The best size
//! depends on the machine, its disks and the engine. So a few sizes are measured on the real job ([`Plan`]), the
//! constants of a model ([`Model`]) are fitted to the times of the stages, and the constants are stored ([`Store`]).

mod fit;
mod load;
mod measure;
mod model;
mod store;
#[cfg(test)]
mod tests;

pub use load::Load;
pub use measure::{Measured, Plan, Size, fastest};
pub use model::{Growth, Model, PassModel, PassPrediction, Prediction, Shape, Stage};
pub use store::Store;
