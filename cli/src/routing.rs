//! Queries on both processors, one at a time, and the line that predicts which is faster: for `tokapi tune --queries`
//! and the benchmark `queries` of the lab.

use std::fmt::Write;
use std::time::Instant;

use serde_json::{Value, json};
use tokapi::Error;
use tokapi::{Query, SearchOptions};
use tokapi_device::cooperate::{Router, Rule, Timed};
use tokapi_device::gpu::{GpuIndex, GpuLane};

use crate::table::Table;

/// The most queries that are measured.
pub const MOST_QUERIES: usize = 4000;

/// How often each query is measured; the fastest time counts.
const TURNS: usize = 3;

/// A router, and a report of how well it predicts.
pub struct Routed {
    /// The router; none if there were too few queries.
    pub router: Option<Router>,
    /// The report for people.
    pub text: String,
    /// The report for programs.
    pub json: Value,
}

/// Times each query on a thread of the CPU and on the GPU.
///
/// # Errors
/// The index or the GPU fails.
pub fn measure(
    on_device: &GpuIndex,
    queries: &[&Query],
    search: &SearchOptions,
) -> Result<Vec<Timed>, Error> {
    let mut lane = GpuLane::new(on_device)?;
    let mut timed = Vec::with_capacity(queries.len());
    for query in queries {
        let Some(complexity) = on_device.complexity_of(query, search) else {
            continue;
        };
        let mut fastest = [f64::INFINITY; 2];
        for _ in 0..TURNS {
            let started = Instant::now();
            on_device.index().search(query, search)?;
            fastest[0] = fastest[0].min(started.elapsed().as_secs_f64());
            let started = Instant::now();
            lane.search(on_device, &[query], search)?;
            fastest[1] = fastest[1].min(started.elapsed().as_secs_f64());
        }
        let [cpu, gpu] = fastest;
        timed.push(Timed {
            complexity,
            cpu,
            gpu,
        });
    }
    Ok(timed)
}

/// Fits a router to every other pair of queries, and tries it on the others.
pub fn fit(timed: &[Timed], threads: u64) -> Routed {
    let half = |odd: usize| -> Vec<Timed> {
        let pairs = timed.chunks(2).skip(odd).step_by(2);
        pairs.flatten().copied().collect()
    };
    let (training, others) = (half(0), half(1));
    let mut table = Table::new(&[
        "queries",
        "metric",
        "r-square",
        "p-value",
        "coefficient",
        "intercept",
    ]);
    let mut fitted = Vec::new();
    for (has_must, kind) in [(true, "AND"), (false, "OR")] {
        let of_kind = training
            .iter()
            .filter(|timed| timed.complexity.has_must() == has_must);
        let rules = Rule::fit(&of_kind.copied().collect::<Vec<Timed>>());
        fitted.extend(rules.into_iter().map(|rule| (kind, rule)));
    }
    for (kind, rule) in &fitted {
        let line = rule.line;
        table.push(vec![
            (*kind).into(),
            rule.metric.name().into(),
            format!("{:.4}", line.r_square),
            match line.p_value < 0.0001 {
                true => "< 0.0001".into(),
                false => format!("{:.4}", line.p_value),
            },
            format!("{:.4e}", line.coefficient * 1e3),
            format!("{:.5}", line.intercept * 1e3),
        ]);
    }
    let mut text = format!(
        "CPU less GPU time in ms, {} queries, {threads} threads\n{}",
        training.len(),
        table.text()
    );
    let router = Router::fit(&training);
    let mean = |time: &dyn Fn(&Timed) -> f64| {
        let sum: f64 = others.iter().map(time).sum();
        sum / others.len().max(1) as f64
    };
    let cpu = mean(&|timed| timed.cpu);
    let gpu = mean(&|timed| timed.gpu);
    let better = mean(&|timed| timed.cpu.min(timed.gpu));
    let routed = mean(&|timed| match router {
        Some(router) if router.to_gpu(&timed.complexity) => timed.gpu,
        _ => timed.cpu,
    });
    let on_gpu = others
        .iter()
        .filter(|timed| router.is_some_and(|router| router.to_gpu(&timed.complexity)));
    let share = on_gpu.count() as f64 / others.len().max(1) as f64;
    if let Some(router) = router {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{} others by {} and {}: mean {:.1} us, {:.0}% on the GPU; the better of both {:.1} us, CPU alone {:.1}, \
             GPU alone {:.1}: {:.3} times the better",
            others.len(),
            router.must.metric.name(),
            router.any.metric.name(),
            routed * 1e6,
            share * 100.0,
            better * 1e6,
            cpu * 1e6,
            gpu * 1e6,
            routed / better
        );
    }
    let fitted = fitted.iter().map(|(kind, rule)| {
        json!({
            "queries": kind, "metric": rule.metric.name(), "r_square": rule.line.r_square, "p_value": rule.line.p_value,
            "coefficient_ms": rule.line.coefficient * 1e3, "intercept_ms": rule.line.intercept * 1e3,
        })
    });
    let json = json!({
        "metrics": fitted.collect::<Vec<_>>(), "routed_us": routed * 1e6, "better_us": better * 1e6,
        "cpu_us": cpu * 1e6, "gpu_us": gpu * 1e6, "share_gpu": share,
    });
    Routed { router, text, json }
}
