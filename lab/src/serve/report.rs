//! The results: a table, JSON and drawings.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokapi::Error;
use tokapi_cli::table::Table;

use super::tally::{Quantiles, Tally};
use crate::plot::{curves, lines, write};

/// The results of a load.
pub struct Row {
    pub name: String,
    /// Requests a second; none in closed loop.
    pub offered: Option<f64>,
    /// The seconds that count.
    pub seconds: f64,
    pub tally: Tally,
    /// The processor time of this process and of the server in these seconds, if they are known.
    pub own: Option<Duration>,
    pub server: Option<Duration>,
}

/// The results of all loads.
#[derive(Default)]
pub struct Report {
    pub rows: Vec<Row>,
}

impl Row {
    /// Answers a second.
    fn rate(&self) -> f64 {
        self.tally.answered.len() as f64 / self.seconds
    }

    /// Microseconds of processor time for each answer of any status.
    fn cost(&self, time: Option<Duration>) -> Option<f64> {
        let answers = self.tally.answered.len() + self.tally.others.len();
        Some(time?.as_secs_f64() * 1e6 / answers.max(1) as f64)
    }

    fn faults(&self) -> u64 {
        self.tally.faults.values().sum()
    }

    fn json(&self) -> Value {
        let Tally {
            statuses, faults, ..
        } = &self.tally;
        json!({
            "name": self.name,
            "offered_per_second": self.offered,
            "answered_per_second": self.rate(),
            "seconds": self.seconds,
            "us": self.tally.answered.quantiles().json(),
            "others_us": self.tally.others.quantiles().json(),
            "late_us": self.tally.late.quantiles().json(),
            "statuses": statuses,
            "faults": faults,
            "bytes": self.tally.bytes,
            "cpu_us": self.cost(self.own),
            "server_cpu_us": self.cost(self.server),
        })
    }
}

impl Report {
    pub fn json(&self) -> Value {
        json!({ "loads": self.rows.iter().map(Row::json).collect::<Vec<_>>() })
    }

    pub fn text(&self) -> String {
        let mut table = Table::new(&[
            "",
            "offered/s",
            "answered/s",
            "p50 us",
            "p90",
            "p99",
            "p99.9",
            "max",
            "others",
            "their p99",
            "faults",
            "sent late p99",
            "cpu us",
            "server's",
        ]);
        for row in &self.rows {
            let times = row.tally.answered.quantiles();
            let others = row.tally.others.quantiles();
            let shown = |value: Option<f64>| value.map_or(String::new(), |us| format!("{us:.1}"));
            let mut cells = vec![
                row.name.clone(),
                row.offered
                    .map_or("closed".into(), |rate| format!("{rate:.0}")),
                format!("{:.0}", row.rate()),
            ];
            let quantiles = [0.5, 0.9, 0.99, 0.999, 1.0];
            cells.extend(quantiles.map(|share| format!("{:.1}", times.at(share))));
            cells.push(row.tally.others.len().to_string());
            cells.push(shown((row.tally.others.len() > 0).then(|| others.at(0.99))));
            cells.push(row.faults().to_string());
            let late = row.offered.map(|_| row.tally.late.quantiles().at(0.99));
            cells.push(shown(late));
            cells.push(shown(row.cost(row.own)));
            cells.push(shown(row.cost(row.server)));
            table.push(cells);
        }
        let mut text = table.text();
        for row in &self.rows {
            // Writing to a string does not fail.
            for (status, count) in &row.tally.statuses {
                if !(200..300).contains(status) {
                    let _ = writeln!(text, "{}: status {status} {count} times", row.name);
                }
            }
            for (why, count) in &row.tally.faults {
                let _ = writeln!(text, "{}: {why} {count} times", row.name);
            }
        }
        text
    }

    /// Rates and times against the offered rates.
    pub fn draw(&self, folder: &Path) -> Result<(), Error> {
        let open = || {
            let rows = self.rows.iter();
            rows.filter_map(|row| Some((row, row.offered?)))
        };
        if open().next().is_none() {
            return Err(Error::Usage("there is nothing to draw: give --rate".into()));
        }
        let rates = curves(open().map(|(row, offered)| (&*row.name, (offered, row.rate()))));
        let of = |share: f64, name: &str| {
            let points = open().map(|(row, offered)| {
                let times: Quantiles = row.tally.answered.quantiles();
                (format!("{}, {name}", row.name), (offered, times.at(share)))
            });
            points.collect::<Vec<_>>()
        };
        let points = [(0.5, "p50"), (0.99, "p99")]
            .map(|(share, name)| of(share, name))
            .concat();
        let times = curves(points.iter().map(|(name, point)| (&**name, *point)));
        let offered = "offered requests a second";
        write(folder, "serve-load.svg", |root| {
            let panels = root.split_evenly((1, 2));
            lines(
                &panels[0],
                "throughput",
                [offered, "answered a second"],
                &rates,
            )?;
            lines(&panels[1], "time of an answer", [offered, "us"], &times)
        })
    }
}
