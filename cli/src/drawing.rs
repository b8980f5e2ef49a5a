//! Drawings in SVG files that appear when they are whole.

use std::io::Write;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use tokapi::Error;
use tokapi_storage::whole::Staged;

/// The result of drawing.
pub type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A rectangle to draw in.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Colors that are easy to tell apart.
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

/// Writes the drawing of `draw`, of `size` pixels, to the file `path`.
///
/// # Errors
/// The drawing fails, or the file cannot be written.
pub fn write(
    path: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<(), Error> {
    let mut text = String::new();
    let drawn = {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        root.fill(&WHITE)
            .map_err(Into::into)
            .and_then(|()| draw(&root))
    };
    drawn.map_err(|error| Error::Write {
        path: path.to_path_buf(),
        source: std::io::Error::other(error.to_string()),
    })?;
    let mut staged = Staged::create(path)?;
    let written = staged.write_all(text.as_bytes());
    written.map_err(|source| staged.failed(source))?;
    staged.commit()
}

/// The frame of a chart with its title and room for labels.
pub fn chart<'a, 'b>(area: &'a Area<'b>, title: &str) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60);
    builder
}
