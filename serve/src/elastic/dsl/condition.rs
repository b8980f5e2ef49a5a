//! The condition that documents meet: a boolean expression, and its simplest form.

use hashbrown::HashSet;
use tokapi::{Filter, Query};
