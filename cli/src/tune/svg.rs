//! Measured points and predicted lines: each pass with its stages, and the whole.

use std::path::Path;

use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;
use tokapi::Error;
use tokapi_storage::tune::{Measured, Prediction};

use crate::drawing::{self, Area, Drawn, chart};
use crate::summary::counted;

use super::report::{Report, measured, predicted, size};

/// A line and its points: the values of a prediction and of a run.
struct Curve<'a> {
    name: &'static str,
    color: RGBColor,
    predicted: &'a dyn Fn(&Prediction) -> f64,
    measured: &'a dyn Fn(&Measured) -> f64,
}

const INPUT: RGBColor = RGBColor(31, 119, 180);
const COMPUTE: RGBColor = RGBColor(214, 39, 40);
const OUTPUT: RGBColor = RGBColor(44, 160, 44);
const WHOLE: RGBColor = RGBColor(60, 60, 60);
const STAGES: [(&str, RGBColor); 4] = [
    ("input", INPUT),
    ("compute", COMPUTE),
    ("output", OUTPUT),
    ("pass", WHOLE),
];

/// Writes the drawing to `path`.
pub fn write(report: &Report, path: &Path) -> Result<(), Error> {
    drawing::write(path, (1500, 520), |root| draw(report, root))
}

fn draw(report: &Report, root: &Area<'_>) -> Drawn {
    let title = format!(
        "{}, {}, {} of {}: dots measured, lines predicted",
        report.engine,
        counted(report.threads, "thread"),
        size(report.sample_bytes()),
        report.content
    );
    let root = root.titled(&title, ("sans-serif", 20))?;
    let panels = root.split_evenly((1, 3));
    type Passes<'a> = (
        &'static str,
        &'a dyn Fn(&Prediction) -> [f64; 4],
        &'a dyn Fn(&Measured) -> [f64; 4],
    );
    let passes: [Passes<'_>; 2] = [
        ("local pass", &|whole| predicted(&whole.local), &|run| {
            measured(&run.local)
        }),
        ("global pass", &|whole| predicted(&whole.global), &|run| {
            measured(&run.global)
        }),
    ];
    for (panel, (name, of_prediction, of_run)) in panels.iter().zip(passes) {
        let lines: [_; 4] = std::array::from_fn(|stage| {
            (
                move |whole: &Prediction| of_prediction(whole)[stage],
                move |run: &Measured| of_run(run)[stage],
            )
        });
        let curves = lines.iter().zip(STAGES).map(|(line, (name, color))| Curve {
            name,
            color,
            predicted: &line.0,
            measured: &line.1,
        });
        draw_panel(report, panel, name, &curves.collect::<Vec<_>>(), &[])?;
    }
    let total = Curve {
        name: "total",
        color: WHOLE,
        predicted: &|whole| whole.total,
        measured: &|run| run.seconds,
    };
    let (best, seconds) = report.best(report.sample_bytes());
    let fastest = report.measured.iter();
    let fastest = fastest.min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let fastest = match &report.sweep {
        Some(sweep) => Some(&sweep.best),
        None => fastest,
    };
    let mut marks = vec![("predicted optimum", COMPUTE, best, seconds)];
    marks.extend(fastest.map(|run| ("measured optimum", INPUT, run.chunk_bytes, run.seconds)));
    draw_panel(
        report,
        &panels[2],
        "both passes and the rest",
        &[total],
        &marks,
    )
}

fn draw_panel(
    report: &Report,
    panel: &Area<'_>,
    name: &str,
    curves: &[Curve<'_>],
    marks: &[(&'static str, RGBColor, u64, f64)],
) -> Drawn {
    const STEPS: i32 = 100;
    let (least, most) = report.model.range;
    let (least, most) = (least as f64, most as f64);
    let along = |step: i32| least * (most / least).powf(f64::from(step) / f64::from(STEPS));
    let line: Vec<(f64, Prediction)> = (0..=STEPS)
        .map(|step| {
            let chunk = along(step);
            // A size is far below 2^53.
            (
                chunk,
                report.model.predict(report.sample_bytes(), chunk as u64),
            )
        })
        .collect();
    let heights = curves.iter().flat_map(|curve| {
        let lines = line.iter().map(|(_, whole)| (curve.predicted)(whole));
        let points = report.measured.iter().map(|run| (curve.measured)(run));
        lines.chain(points)
    });
    let top = heights.fold(0.0, f64::max) * 1.05;
    let mut chart = chart(panel, name)
        // A single size has no width.
        .build_cartesian_2d((least / 1.1..most * 1.1).log_scale(), 0.0..top.max(1e-6))?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_labels(8)
        .x_label_formatter(&|bytes| size(bytes.round() as u64))
        .x_desc("chunk size")
        .y_desc("seconds")
        .draw()?;
    for curve in curves {
        let color = curve.color;
        let points = line
            .iter()
            .map(|(chunk, whole)| (*chunk, (curve.predicted)(whole)));
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        let points = report.measured.iter();
        chart.draw_series(points.map(|run| {
            let at = (run.chunk_bytes as f64, (curve.measured)(run));
            Circle::new(at, 4, color.filled())
        }))?;
    }
    for &(name, color, chunk, seconds) in marks {
        let chunk_bytes = chunk as f64;
        let drop = [(chunk_bytes, 0.0), (chunk_bytes, seconds)];
        chart
            .draw_series([PathElement::new(drop, color.stroke_width(1))])?
            .label(format!("{name}: {}, {seconds:.2} s", size(chunk)))
            .legend(move |(x, y)| Cross::new((x + 8, y), 5, color.stroke_width(2)));
        chart.draw_series([Cross::new((chunk_bytes, seconds), 7, color.stroke_width(3))])?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperMiddle)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(200, 200, 200))
        .draw()?;
    Ok(())
}
