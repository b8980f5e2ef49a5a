//! Drawings: lines of points, in SVG files that appear when they are whole.

use std::io::Write;
use std::path::Path;

use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;
use tokapi::Error;
use tokapi::output::Staged;

pub type Drawn = Result<(), Box<dyn std::error::Error>>;
pub type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

pub const COLORS: [RGBColor; 8] = [
    RGBColor(60, 60, 60),
    RGBColor(44, 160, 44),
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(255, 127, 14),
];

fn color(number: usize) -> RGBColor {
    COLORS[number % COLORS.len()]
}

/// Writes what `draw` draws to a file of `folder`.
pub fn write(
    folder: &Path,
    name: &str,
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::writing(folder))?;
    let path = folder.join(name);
    let mut text = String::new();
    let drawn = {
        let root = SVGBackend::with_string(&mut text, (1100, 480)).into_drawing_area();
        root.fill(&WHITE)
            .map_err(Into::into)
            .and_then(|()| draw(&root))
    };
    drawn.map_err(|error| Error::Write {
        path: path.clone(),
        source: std::io::Error::other(error.to_string()),
    })?;
    let mut staged = Staged::create(&path)?;
    let written = staged.write_all(text.as_bytes());
    written.map_err(|source| staged.failed(source))?;
    staged.commit()
}

/// Lines of points on two logarithmic axes, their names beside them.
pub fn lines(
    area: &Area<'_>,
    title: &str,
    axes: [&str; 2],
    curves: &[(String, Vec<(f64, f64)>)],
) -> Drawn {
    let letters = curves.iter().map(|(name, _)| name.len()).max();
    let (width, _) = area.dim_in_pixel();
    // A letter has up to 7 pixels; names are short.
    let room = 30 + 7 * letters.unwrap_or(0) as u32;
    let (area, names) = area.split_horizontally(width.saturating_sub(room));
    let points = || curves.iter().flat_map(|(_, points)| points);
    let range = |of: fn(&(f64, f64)) -> f64| {
        let (least, most) = points()
            .map(of)
            .fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), value| {
                (least.min(value), most.max(value))
            });
        (least.clamp(1e-9, most) / 1.1..most * 1.1).log_scale()
    };
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(range(|point| point.0), range(|point| point.1))?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(axes[0])
        .y_desc(axes[1])
        .draw()?;
    for (place, (name, points)) in curves.iter().enumerate() {
        let color = color(place);
        chart.draw_series(LineSeries::new(
            points.iter().copied(),
            color.stroke_width(2),
        ))?;
        chart.draw_series(
            points
                .iter()
                .map(|&point| Circle::new(point, 3, color.filled())),
        )?;
        // A few lines at most.
        let y = 50 + 20 * place as i32;
        names.draw(&PathElement::new([(0, y), (16, y)], color.stroke_width(2)))?;
        let name = Text::new(name.clone(), (22, y - 5), ("sans-serif", 12).into_font());
        names.draw(&name)?;
    }
    Ok(())
}

/// Lines of points that come with the names of their lines.
pub fn curves<'a>(
    points: impl Iterator<Item = (&'a str, (f64, f64))>,
) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (name, point) in points {
        match curves.iter_mut().find(|(other, _)| other == name) {
            Some((_, points)) => points.push(point),
            None => curves.push((name.into(), vec![point])),
        }
    }
    curves
}

/// Bars of what parts make of each whole, in percent, each part with its color; its name stands in it where
/// there is room.
pub fn shares(area: &Area<'_>, title: &str, bars: &[(&str, Vec<(&str, f64)>)]) -> Drawn {
    /// What a letter takes, in percent.
    const LETTER: f64 = 1.0;
    let font = |size| ("sans-serif", size).into_font();
    let mut known: Vec<&str> = Vec::new();
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .build_cartesian_2d(0.0..100.0, 0.0..bars.len() as f64)?;
    for (place, (name, parts)) in bars.iter().rev().enumerate() {
        let bottom = place as f64;
        let (top, sum) = (
            bottom + 0.6,
            parts.iter().map(|(_, part)| part).sum::<f64>(),
        );
        let title = format!("{name}: {sum:.1} ms");
        chart.draw_series([Text::new(title, (0.0, bottom + 0.85), font(13))])?;
        let mut left = 0.0;
        for &(part, value) in parts {
            let number = known.iter().position(|&name| name == part);
            let number = number.unwrap_or_else(|| {
                known.push(part);
                known.len() - 1
            });
            let right = left + 100.0 * value / sum;
            let fill = color(number).mix(0.5).filled();
            chart.draw_series([Rectangle::new([(left, bottom), (right, top)], fill)])?;
            if right - left > LETTER * (part.len() + 1) as f64 {
                let text = Text::new(part.to_owned(), (left + 0.5, bottom + 0.4), font(11));
                chart.draw_series([text])?;
            }
            left = right;
        }
    }
    Ok(())
}
