//! Which processor answers a query sooner.

use serde_json::{Value, json};

use super::metric::{Complexity, Metric};
use super::regression::Regression;

/// A query that was answered by both processors, and the seconds that each took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// How much work it is.
    pub complexity: Complexity,
    /// On the CPU.
    pub cpu: f64,
    /// On the GPU.
    pub gpu: f64,
}

/// Predicts the seconds by which the CPU takes longer than the GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Router {
    /// What the prediction is made from.
    pub metric: Metric,
    /// The line by which it is made.
    pub line: Regression,
}

impl Router {
    /// The lines of all metrics that can be fitted to `timed`, the one that accounts for most first.
    pub fn fit(timed: &[Timed]) -> Vec<Router> {
        let of = |metric: Metric| {
            let points = timed.iter();
            let points = points.map(|timed| (timed.complexity.by(metric), timed.cpu - timed.gpu));
            let line = Regression::fit(&points.collect::<Vec<_>>())?;
            Some(Router { metric, line })
        };
        let mut routers: Vec<Router> = Metric::ALL.into_iter().filter_map(of).collect();
        routers.sort_by(|a, b| b.line.r_square.total_cmp(&a.line.r_square));
        routers
    }

    /// The seconds by which the CPU would take longer.
    pub fn difference(&self, complexity: &Complexity) -> f64 {
        self.line.at(complexity.by(self.metric))
    }

    /// Whether a query goes to the GPU.
    pub fn to_gpu(&self, complexity: &Complexity) -> bool {
        self.difference(complexity) > 0.0
    }

    pub(crate) fn to_json(self) -> Value {
        json!({
            "metric": self.metric.name(),
            "coefficient": self.line.coefficient,
            "intercept": self.line.intercept,
            "r_square": self.line.r_square,
            "p_value": self.line.p_value,
        })
    }

    pub(crate) fn of_json(value: &Value) -> Option<Self> {
        Some(Router {
            metric: Metric::of_name(value["metric"].as_str()?)?,
            line: Regression {
                coefficient: value["coefficient"].as_f64()?,
                intercept: value["intercept"].as_f64()?,
                r_square: value["r_square"].as_f64()?,
                p_value: value["p_value"].as_f64()?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_metric_comes_first() {
        let timed: Vec<Timed> = (1..50)
            .map(|number| {
                let lengths = [10 * number, 1 << (number % 7 + 4)];
                let complexity = Complexity::of(&mut lengths.to_vec(), &mut []);
                Timed {
                    complexity,
                    cpu: 1e-6 * complexity.by(Metric::Uboc),
                    gpu: 1e-4,
                }
            })
            .collect();
        let routers = Router::fit(&timed);
        assert_eq!(routers.len(), 3);
        assert_eq!(routers[0].metric, Metric::Uboc);
        assert!((routers[0].line.intercept + 1e-4).abs() < 1e-12);
        for timed in &timed {
            let to_gpu = timed.cpu - timed.gpu > 0.0;
            let difference = routers[0].difference(&timed.complexity);
            assert!(difference.abs() < 1e-12 || routers[0].to_gpu(&timed.complexity) == to_gpu);
        }
        assert_eq!(Router::of_json(&routers[0].to_json()), Some(routers[0]));
        assert_eq!(Router::of_json(&Value::Null), None);
    }
}
