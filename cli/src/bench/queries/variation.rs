//! How evenly batches take their time: PART with as many queries in each, PARA with as much work.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tokapi::Error;
use tokapi::cooperate::Accelerator;
use tokapi::gpu::{GpuLane, Scheme};
use tokapi::query::Query;

use super::{Bench, Report, svg};
use crate::table::Table;

impl Bench<'_> {
    pub fn variation(&self, report: &mut Report) -> Result<(), Error> {
        let mut table = Table::new(&[
            "scheme",
            "closed by",
            "batches",
            "queries",
            "q/s",
            "ms",
            "variation",
        ]);
        let (mut json, mut curves) = (Vec::new(), Vec::new());
        let batch = self.args.batch[0].clamp(1, self.and.len().div_ceil(8).max(1));
        let work = |query: &Query| self.on_device.complexity(query).map_or(0.0, |of| of.work());
        let mean_work = self.and.iter().map(work).sum::<f64>() / self.and.len() as f64;
        for (scheme, name, by_work) in [(Scheme::Part, "PART", false), (Scheme::Para, "PARA", true)]
        {
            let mut batches: Vec<Vec<&Query>> = vec![Vec::new()];
            let mut sum = 0.0;
            for query in &self.and {
                let last = batches.last_mut().expect("there is one");
                let is_full = match by_work {
                    true => sum >= mean_work * batch as f64,
                    false => last.len() >= batch,
                };
                if is_full {
                    batches.push(Vec::new());
                    sum = 0.0;
                }
                sum += work(query);
                batches.last_mut().expect("there is one").push(query);
            }
            // The last is not whole.
            if batches.len() > 1 {
                batches.pop();
            }
            let mut lane = GpuLane::new(Arc::clone(&self.on_device))?;
            let mut fastest = vec![f64::INFINITY; batches.len()];
            for _ in 0..=self.args.repeat {
                for (batch, fastest) in batches.iter().zip(&mut fastest) {
                    let started = Instant::now();
                    lane.documents(batch, scheme, |_, _| {})?;
                    *fastest = fastest.min(started.elapsed().as_secs_f64());
                }
            }
            let queries: usize = batches.iter().map(Vec::len).sum();
            let seconds: f64 = fastest.iter().sum();
            let mean = seconds / fastest.len() as f64;
            let squares = fastest
                .iter()
                .map(|time| (time - mean).powi(2))
                .sum::<f64>();
            let variation = (squares / fastest.len() as f64).sqrt() / mean;
            table.push(vec![
                name.into(),
                if by_work { "work" } else { "number" }.into(),
                batches.len().to_string(),
                queries.to_string(),
                format!("{:.0}", queries as f64 / seconds),
                format!("{:.3}", mean * 1e3),
                format!("{:.1}%", variation * 100.0),
            ]);
            json.push(json!({
                "scheme": name, "batches": batches.len(), "queries": queries, "seconds": seconds,
                "variation": variation,
            }));
            curves.push((name, fastest));
        }
        if let Some(folder) = &self.args.svg {
            svg::batch_times(&curves, folder)?;
        }
        let title = format!(
            "AND, documents: times of batches one after the other, about {batch} queries each"
        );
        report.add("variation", &title, &table.text(), json.into());
        Ok(())
    }
}
