//! The report of `tokapi tune`, as text and as JSON.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokapi_storage::pipeline::StageTimes;
use tokapi_storage::tune::{Measured, Model, PassPrediction, Prediction, Size};

use crate::summary::{counted, grouped};
use crate::table::Table;

/// Measurements, and the model that was fitted to them.
pub struct Report {
    pub engine: String,
    /// The content of the input, in a word.
    pub content: &'static str,
    pub threads: u64,
    /// The size of the whole input.
    pub bytes: u64,
    pub model: Model,
    /// The fastest run of each of `sizes`.
    pub measured: Vec<Measured>,
    pub sizes: Vec<Size>,
    pub sweep: Option<Sweep>,
    pub stored: Option<PathBuf>,
}

/// How good the prediction of the optimum is.
pub struct Sweep {
    /// The fastest run of the predicted optimum.
    pub optimum: Measured,
    /// The fastest run of the best other size, in turns with it.
    pub beside: Measured,
    /// The fastest of all runs of that size.
    pub best: Measured,
}

impl Sweep {
    /// How much longer the predicted optimum takes than the best of all runs, which may have had less load beside it.
    fn loss(&self) -> f64 {
        (self.optimum.seconds / self.best.seconds - 1.0).max(0.0)
    }

    /// The same, compared with runs of the best size under the same load.
    fn loss_beside(&self) -> f64 {
        (self.optimum.seconds / self.beside.seconds - 1.0).max(0.0)
    }
}

impl Report {
    /// The bytes of the sample.
    pub fn sample_bytes(&self) -> u64 {
        self.measured.first().map_or(0, |run| run.bytes)
    }

    pub fn predict(&self, run: &Measured) -> Prediction {
        self.model.predict(run.bytes, run.chunk_bytes)
    }

    /// The best chunk size for an input of `bytes`, and its time in seconds.
    pub fn best(&self, bytes: u64) -> (u64, f64) {
        let (least, most) = self.model.range;
        let best = self.model.best(bytes, least, most);
        (best, self.model.predict(bytes, best).total)
    }

    /// The mean relative error of the predicted totals of the sizes that `counts` selects.
    fn mean_error(&self, counts: impl Fn(&Size) -> bool) -> Option<f64> {
        let runs = self.measured.iter().zip(&self.sizes);
        let errors = runs.filter(|(_, size)| counts(size)).map(|(run, _)| {
            let predicted = self.predict(run).total;
            (predicted / run.seconds - 1.0).abs()
        });
        let errors: Vec<f64> = errors.collect();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    }

    /// The number of sizes of which other load disturbed every run.
    fn disturbed(&self) -> usize {
        let runs = self.measured.iter();
        runs.filter(|run| run.is_disturbed()).count()
    }

    pub fn text(&self) -> String {
        let mut table = Table::new(&[
            "chunk",
            "seconds",
            "local: in",
            "compute",
            "out",
            "pass",
            "global: in",
            "compute",
            "out",
            "pass",
            "rest",
            "total",
        ]);
        for run in &self.measured {
            let predicted = self.predict(run);
            let rest = run.seconds - run.local.wall.as_secs_f64() - run.global.wall.as_secs_f64();
            let cells = |local: [f64; 4], global: [f64; 4], rest: f64, total: f64| {
                let all = local.into_iter().chain(global).chain([rest, total]);
                all.map(|seconds| format!("{seconds:.2}"))
                    .collect::<Vec<_>>()
            };
            let measured = cells(
                measured(&run.local),
                measured(&run.global),
                rest,
                run.seconds,
            );
            let local = self::predicted(&predicted.local);
            let global = self::predicted(&predicted.global);
            let predicted = cells(local, global, predicted.rest, predicted.total);
            for (name, seconds, cells) in [
                (size(run.chunk_bytes), "measured", measured),
                (String::new(), "predicted", predicted),
            ] {
                table.push([vec![name, seconds.into()], cells].concat());
            }
        }
        let sample = self.sample_bytes();
        let (best, seconds) = self.best(sample);
        let (whole, whole_seconds) = self.best(self.bytes);
        let mut text = format!(
            "{}, {}, {} bytes of {}\n\n{}\n",
            self.engine,
            counted(self.threads, "thread"),
            grouped(sample),
            self.content,
            table.text(),
        );
        text += &format!("predicted optimum {:>12}  {seconds:.2} s\n", size(best));
        if let Some(sweep) = &self.sweep {
            text += &format!(
                "  measured there                 {:.2} s\n\
                 measured optimum  {:>12}  {:.2} s\n  \
                 in turns with it               {:.2} s\n\
                 loss              {:>11.1}%\n  \
                 in turns        {:>11.1}%\n",
                sweep.optimum.seconds,
                size(sweep.best.chunk_bytes),
                sweep.best.seconds,
                sweep.beside.seconds,
                100.0 * sweep.loss(),
                100.0 * sweep.loss_beside()
            );
            if sweep.optimum.is_disturbed() {
                text +=
                    "  other programs used the machine in these turns, which adds to the loss\n";
            }
        }
        for (name, error) in [
            ("mean error, all  ", self.mean_error(|_| true)),
            ("  sizes of the fit", self.mean_error(|size| size.fitted)),
            ("  the others     ", self.mean_error(|size| !size.fitted)),
        ] {
            if let (Some(error), true) = (error, self.sweep.is_some()) {
                text += &format!("{name:<18}{:>11.1}%\n", 100.0 * error);
            }
        }
        let disturbed = self.disturbed();
        if disturbed > 0 {
            text += &format!(
                "other programs used the machine during the runs of {disturbed} of {} sizes: measure again when it is \
                 idle\n",
                self.measured.len()
            );
        }
        if self.bytes > sample {
            text += &format!(
                "whole input       {:>12}  {whole_seconds:.2} s predicted for {} bytes\n",
                size(whole),
                grouped(self.bytes)
            );
        }
        match &self.stored {
            Some(path) => {
                text += &format!(
                    "the constants are in {}; --chunk-size auto uses them\n",
                    path.display()
                );
            }
            None => {
                text += "the constants are not kept: set HOME, or TOKAPI_TUNE to a file, to keep them\n";
            }
        }
        text
    }

    pub fn json(&self, svg: Option<&Path>) -> Value {
        let sizes = self.measured.iter().zip(&self.sizes).map(|(run, size)| {
            let prediction = self.predict(run);
            json!({
                "chunk_bytes": run.chunk_bytes,
                "fitted": size.fitted,
                "others": run.others,
                "measured": {
                    "local": pass(measured(&run.local)),
                    "global": pass(measured(&run.global)),
                    "total": run.seconds,
                },
                "predicted": {
                    "local": pass(predicted(&prediction.local)),
                    "global": pass(predicted(&prediction.global)),
                    "rest": prediction.rest,
                    "total": prediction.total,
                },
            })
        });
        let optimum = |bytes| {
            let (best, seconds) = self.best(bytes);
            json!({"bytes": bytes, "chunk_bytes": best, "seconds": seconds})
        };
        let mut object = json!({
            "engine": self.engine,
            "threads": self.threads,
            "sizes": sizes.collect::<Vec<_>>(),
            "optimum": optimum(self.sample_bytes()),
            "whole_optimum": optimum(self.bytes),
            "disturbed_sizes": self.disturbed(),
            "stored": self.stored,
            "svg": svg,
        });
        if let Some(sweep) = &self.sweep {
            let run =
                |run: &Measured| json!({"chunk_bytes": run.chunk_bytes, "seconds": run.seconds});
            object["sweep"] = json!({
                "at_predicted_optimum": run(&sweep.optimum),
                "measured_optimum": run(&sweep.best),
                "loss": sweep.loss(),
                "loss_in_turns": sweep.loss_beside(),
                "disturbed": sweep.optimum.is_disturbed(),
                "mean_absolute_error": self.mean_error(|_| true),
                "mean_absolute_error_not_fitted": self.mean_error(|size| !size.fitted),
            });
        }
        object
    }
}

/// Input, computing, output, and the pass.
pub fn measured(times: &StageTimes) -> [f64; 4] {
    [times.input, times.compute, times.output, times.wall].map(|time| time.as_secs_f64())
}

/// The same as predicted.
pub fn predicted(pass: &PassPrediction) -> [f64; 4] {
    [pass.input, pass.compute, pass.output, pass.total]
}

fn pass([input, compute, output, total]: [f64; 4]) -> Value {
    json!({"input": input, "compute": compute, "output": output, "total": total})
}

/// A size as the command line takes it.
pub fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        1e9.. => format!("{:.2}GB", bytes / 1e9),
        1e6.. => format!("{:.2}MB", bytes / 1e6),
        1e3.. => format!("{:.2}KB", bytes / 1e3),
        _ => format!("{bytes}B"),
    }
}
