//! Drawings of the results.

use std::path::Path;

use plotters::prelude::*;
use tokapi::Error;
use tokapi_device::cooperate::{Router, Timed};

use super::ramp::AtLoad;
use super::variation::OfSize;
use crate::plot::{curves, lines, write};
use tokapi_cli::drawing::{COLORS, chart};

/// Throughput and response time of every policy against the load.
pub fn loads(all: &[AtLoad], folder: &Path) -> Result<(), Error> {
    let of = |value: fn(&AtLoad) -> f64| {
        curves(all.iter().map(|at| (at.policy, (at.offered, value(at)))))
    };
    write(folder, "queries-load.svg", |root| {
        let panels = root.split_evenly((1, 2));
        lines(
            &panels[0],
            "throughput",
            ["offered queries a second", "answered a second"],
            &of(|at| at.answered),
        )?;
        lines(
            &panels[1],
            "99% of the queries take at most",
            ["offered queries a second", "ms"],
            &of(|at| at.times[3]),
        )
    })
}

/// Throughput and time against the size of batches, and the times of consecutive batches of the
/// middle size.
pub fn batch_times(all: &[OfSize], folder: &Path) -> Result<(), Error> {
    let of = |value: fn(&OfSize) -> f64| {
        let points = all.iter();
        curves(points.map(|of| (of.scheme, (of.size as f64, value(of)))))
    };
    let middle = all.get(all.len() / 2).map_or(0, |of| of.size);
    let numbered = all.iter().filter(|of| of.size == middle).flat_map(|of| {
        let times = (1..).zip(&of.times);
        times.map(|(number, time)| (of.scheme, (f64::from(number), time * 1e3)))
    });
    let size = "queries of a batch, on average";
    write(folder, "queries-batches.svg", |root| {
        let panels = root.split_evenly((1, 3));
        let throughput = of(|of| of.rate);
        lines(
            &panels[0],
            "throughput",
            [size, "queries a second"],
            &throughput,
        )?;
        lines(
            &panels[1],
            "time of a batch",
            [size, "ms"],
            &of(|of| of.mean() * 1e3),
        )?;
        lines(
            &panels[2],
            &format!("time of batches of about {middle}"),
            ["number of the batch", "ms"],
            &curves(numbered),
        )
    })
}

/// The difference between CPU and GPU times: a histogram, and the prediction against the
/// measurement.
pub fn router(timed: &[Timed], router: Option<&Router>, folder: &Path) -> Result<(), Error> {
    const BARS: usize = 60;
    let difference = |timed: &Timed| (timed.cpu - timed.gpu) * 1e3;
    let mut sorted: Vec<f64> = timed.iter().map(difference).collect();
    sorted.sort_by(f64::total_cmp);
    // The largest hundredth would compress the rest of the histogram.
    let at = |share: f64| {
        sorted
            .get((share * sorted.len() as f64) as usize)
            .copied()
            .unwrap_or(0.0)
    };
    let (least, most) = (at(0.0), at(0.99).max(at(0.0) + 1e-6));
    let mut bars = [0u32; BARS];
    for value in sorted.iter().filter(|&&value| value < most) {
        bars[(((value - least) / (most - least)) * BARS as f64) as usize % BARS] += 1;
    }
    let highest = bars.iter().copied().max().unwrap_or(1).max(1);
    write(folder, "queries-router.svg", |root| {
        let panels = root.split_evenly((1, 2));
        let mut times =
            chart(&panels[0], "CPU less GPU time").build_cartesian_2d(least..most, 0..highest)?;
        times
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("ms")
            .y_desc("queries")
            .draw()?;
        let width = (most - least) / BARS as f64;
        times.draw_series(bars.iter().enumerate().map(|(bar, &count)| {
            let left = least + bar as f64 * width;
            Rectangle::new([(left, 0), (left + width, count)], COLORS[2].filled())
        }))?;
        let mut pairs = chart(&panels[1], "predicted against measured")
            .build_cartesian_2d(least..most, least..most)?;
        pairs
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc("measured, ms")
            .y_desc("predicted, ms")
            .draw()?;
        pairs.draw_series(LineSeries::new(
            [(least, least), (most, most)],
            COLORS[0].stroke_width(1),
        ))?;
        if let Some(router) = router {
            let shown = timed.iter().filter(|timed| difference(timed) < most);
            pairs.draw_series(shown.map(|timed| {
                let foreseen = router.difference(&timed.complexity) * 1e3;
                Circle::new(
                    (difference(timed), foreseen.clamp(least, most)),
                    2,
                    COLORS[3].filled(),
                )
            }))?;
        }
        Ok(())
    })
}
