//! Files and folders that appear under their final name whole, or not at all.

mod staged;
mod streamed;
mod temporary;

pub use staged::{Staged, StagedFolder, unless_closed};
pub use streamed::Streamed;
pub use temporary::{
    left_over, remove_folder, remove_left_over, remove_left_over_in, remove_unfinished, sync_folder,
};
