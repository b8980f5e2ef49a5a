//! How large chunks should be: measured on a sample, fitted to a cost model, predicted.
//!
//! Small chunks cost their overhead often, large ones leave the caches and let stages wait for each
//! other. Where the best size lies depends on the machine, its disks and the engine, so a few sizes
//! are tried on the real job ([`Plan`]), the constants of the model ([`Model`]) are fitted to what each
//! stage took, and kept ([`Store`]).

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
