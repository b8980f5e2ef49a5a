//! `tokapi tune INDEX --queries FILE`: the router that predicts which processor answers a query sooner.

use std::path::Path;

use tokapi::Error;

use super::How;

#[cfg(not(feature = "cuda"))]
pub fn run(_: &Path, _: &Path, _: &How, _: usize) -> Result<(), Error> {
    Err(crate::engine::without_cuda())
}

/// Measures the queries of a file over an index on both processors, fits the difference, and keeps the line.
#[cfg(feature = "cuda")]
pub fn run(index: &Path, queries: &Path, how: &How, threads: usize) -> Result<(), Error> {
    use std::sync::Arc;

    use tokapi::Index;
    use tokapi::{Occur, Query, SearchOptions};
    use tokapi_device::gpu::{GpuIndex, GpuIndexOptions};
    use tokapi_kernels::Build;
    use tokapi_storage::tune::Store;

    use crate::routing;
    use crate::summary::{note, print};

    let index = Arc::new(Index::open(index)?);
    let queries: Vec<Query> = crate::queries::read(queries)?
        .iter()
        .map(|query| Query::parse(&query.text, index.analyzer(), Occur::Should))
        .take(routing::MOST_QUERIES)
        .collect();
    let options = GpuIndexOptions::new(Build::Cuda);
    let on_device = GpuIndex::new(index, &options, &queries)?;
    let queries: Vec<&Query> = queries.iter().collect();
    let timed = routing::measure(&on_device, &queries, &SearchOptions::default())?;
    let routed = routing::fit(&timed, threads as u64);
    let Some(router) = routed.router else {
        return Err(Error::Usage(
            "the queries are too few to fit a router: give more, with terms of different frequency"
                .into(),
        ));
    };
    if let Some(store) = Store::of_user() {
        router.save(&store, threads as u64)?;
        note(&format!(
            "the router is in {}; `tokapi search --engine auto` uses it\n",
            store.path().display()
        ));
    }
    match how.json {
        true => print(format!("{}\n", routed.json).as_bytes()),
        false => print(routed.text.as_bytes()),
    }
}
