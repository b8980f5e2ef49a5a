//! Drawings of lines of points and of shares.

use std::path::Path;

use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;
use tokapi::Error;
use tokapi_cli::drawing::{self, Area, COLORS, Drawn, chart};

fn color(number: usize) -> RGBColor {
    COLORS[number % COLORS.len()]
}

/// Writes the result of `draw` to a file in `folder`.
pub fn write(
    folder: &Path,
    name: &str,
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(Error::writing(folder))?;
    drawing::write(&folder.join(name), (1100, 480), draw)
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
    // A letter has up to 7 pixels, and names are short.
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
    let mut chart =
        chart(&area, title).build_cartesian_2d(range(|point| point.0), range(|point| point.1))?;
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

/// Lines of points, from points with the names of their lines.
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

/// Bars of the shares of parts, in percent. Each part has its color, and its name if there is room.
pub fn shares(area: &Area<'_>, title: &str, bars: &[(&str, Vec<(&str, f64)>)]) -> Drawn {
    /// The width of a letter, in percent.
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
