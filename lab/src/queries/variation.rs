//! Batches one after the other, from small to large: throughput, time of a batch, and variation of that time. Batches of
//! PART have equal numbers of queries, those of PARA equal work.

use std::time::Instant;

use serde_json::json;
use tokapi::Error;
use tokapi::Query;
use tokapi_device::gpu::GpuLane;
use tokapi_kernels::Scheme;

use super::{Bench, Report};
use tokapi_cli::table::Table;

/// The queries of a batch, on average.
const SIZES: [usize; 5] = [64, 256, 1024, 4096, 16384];

/// Minimum and maximum number of batches measured for each size.
const LEAST_BATCHES: usize = 4;
const MOST_BATCHES: usize = 256;

/// Number of turns; the median by variation counts.
const TURNS: usize = 9;

/// The results of a scheme with batches of a size.
pub struct OfSize {
    pub scheme: &'static str,
    pub size: usize,
    /// Queries a second.
    pub rate: f64,
    /// Seconds of each batch, in turn.
    pub times: Vec<f64>,
}

impl OfSize {
    pub fn mean(&self) -> f64 {
        self.times.iter().sum::<f64>() / self.times.len() as f64
    }

    /// The standard deviation of times divided by their mean.
    pub fn variation(&self) -> f64 {
        variation(&self.times)
    }
}

impl Bench<'_> {
    pub fn variation(&self, report: &mut Report) -> Result<Vec<OfSize>, Error> {
        let mut table = Table::new(&[
            "batch",
            "scheme",
            "closed by",
            "batches",
            "q/s",
            "ms",
            "variation",
        ]);
        let (mut json, mut all) = (Vec::new(), Vec::new());
        for size in SIZES {
            if size * LEAST_BATCHES > self.and.len() {
                break;
            }
            for (scheme, name, by_work) in
                [(Scheme::Part, "PART", false), (Scheme::Para, "PARA", true)]
            {
                let batches = self.closed(size, by_work);
                let times = self.times(&batches, scheme)?;
                let queries: usize = batches.iter().map(Vec::len).sum();
                let of_size = OfSize {
                    scheme: name,
                    size,
                    rate: queries as f64 / times.iter().sum::<f64>(),
                    times,
                };
                table.push(vec![
                    size.to_string(),
                    name.into(),
                    if by_work { "work" } else { "number" }.into(),
                    batches.len().to_string(),
                    format!("{:.0}", of_size.rate),
                    format!("{:.3}", of_size.mean() * 1e3),
                    format!("{:.1}%", of_size.variation() * 100.0),
                ]);
                let work = batches.iter().map(|batch| self.work_of(batch));
                json.push(json!({
                    "size": size, "scheme": name, "per_second": of_size.rate, "variation": of_size.variation(),
                    "queries": batches.iter().map(Vec::len).collect::<Vec<_>>(),
                    "work": work.collect::<Vec<_>>(), "seconds": of_size.times,
                }));
                all.push(of_size);
            }
        }
        let title = "AND, documents: batches one after the other, on one lane";
        report.add("variation", title, &table.text(), json.into());
        Ok(all)
    }

    fn work_of(&self, queries: &[&Query]) -> f64 {
        let complexity = queries
            .iter()
            .filter_map(|query| self.on_device.complexity_of(query, &self.search));
        complexity.map(|of| of.work()).sum()
    }

    /// Whole batches of `size` queries, or of the work of `size` average queries.
    fn closed(&self, size: usize, by_work: bool) -> Vec<Vec<&Query>> {
        let full = match by_work {
            true => {
                let all: Vec<&Query> = self.and.iter().collect();
                self.work_of(&all) / all.len() as f64 * size as f64
            }
            false => size as f64,
        };
        let (mut batches, mut batch, mut sum) = (Vec::new(), Vec::new(), 0.0);
        for query in &self.and {
            batch.push(query);
            sum += match by_work {
                true => self.work_of(&[query]),
                false => 1.0,
            };
            if sum >= full {
                batches.push(std::mem::take(&mut batch));
                // The excess counts for the next batch, so batches are not larger on average.
                sum -= full;
            }
            if batches.len() == MOST_BATCHES {
                break;
            }
        }
        batches
    }

    /// The seconds of each batch in one turn. The first turn allocates memory.
    fn times(&self, batches: &[Vec<&Query>], scheme: Scheme) -> Result<Vec<f64>, Error> {
        let mut lane = GpuLane::new(&self.on_device)?;
        let mut turns = Vec::new();
        for turn in 0..=TURNS {
            let mut times = Vec::with_capacity(batches.len());
            for batch in batches {
                let started = Instant::now();
                lane.documents(&self.on_device, batch, scheme, |_, _| {})?;
                times.push(started.elapsed().as_secs_f64());
            }
            if turn > 0 {
                turns.push(times);
            }
        }
        turns.sort_by(|a, b| variation(a).total_cmp(&variation(b)));
        Ok(turns.swap_remove(turns.len() / 2))
    }
}

fn variation(times: &[f64]) -> f64 {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let squares = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>();
    (squares / times.len() as f64).sqrt() / mean
}
