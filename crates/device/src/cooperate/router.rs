//! Predicts which processor answers a query faster.

use serde_json::{Value, json};

use tokapi_storage::error::Result;
use tokapi_storage::tune::Store;

use super::metric::{Complexity, Metric};
use super::regression::Regression;

/// The key of a router in a store of constants.
const ENTRY: &str = "queries";

/// A query timed on both processors, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// Its work.
    pub complexity: Complexity,
    /// Seconds on the CPU.
    pub cpu: f64,
    /// Seconds on the GPU.
    pub gpu: f64,
}

/// Predicts by how many seconds the CPU is slower than the GPU, from one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The metric used for the prediction.
    pub metric: Metric,
    /// The fitted line.
    pub line: Regression,
}

impl Rule {
    /// Fits a line for every possible metric to `timed`. The line that explains most of the
    /// variance comes first.
    pub fn fit(timed: &[Timed]) -> Vec<Rule> {
        let of = |metric: Metric| {
            let points = timed.iter();
            let points = points.map(|timed| (timed.complexity.by(metric), timed.cpu - timed.gpu));
            let line = Regression::fit(&points.collect::<Vec<_>>())?;
            Some(Rule { metric, line })
        };
        let mut rules: Vec<Rule> = Metric::ALL.into_iter().filter_map(of).collect();
        rules.sort_by(|a, b| b.line.r_square.total_cmp(&a.line.r_square));
        rules
    }

    fn to_json(self) -> Value {
        json!({
            "metric": self.metric.name(),
            "coefficient": self.line.coefficient,
            "intercept": self.line.intercept,
            "r_square": self.line.r_square,
            "p_value": self.line.p_value,
        })
    }

    fn of_json(value: &Value) -> Option<Self> {
        Some(Rule {
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

/// Routes queries by two rules: one for queries with required terms, one for queries without. Both
/// processors answer these kinds by different algorithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Router {
    /// For queries with required terms.
    pub must: Rule,
    /// For queries without required terms.
    pub any: Rule,
}

impl Router {
    /// Fits the best rules to `timed`. A kind with too few queries takes the rule of the other.
    /// None if both have too few.
    pub fn fit(timed: &[Timed]) -> Option<Self> {
        let best = |has_must: bool| {
            let of_kind = timed
                .iter()
                .filter(|timed| timed.complexity.has_must() == has_must);
            Rule::fit(&of_kind.copied().collect::<Vec<_>>())
                .first()
                .copied()
        };
        let (must, any) = (best(true), best(false));
        Some(Router {
            must: must.or(any)?,
            any: any.or(must)?,
        })
    }

    fn rule(&self, complexity: &Complexity) -> &Rule {
        match complexity.has_must() {
            true => &self.must,
            false => &self.any,
        }
    }

    /// The predicted seconds by which the CPU is slower.
    pub fn difference(&self, complexity: &Complexity) -> f64 {
        let rule = self.rule(complexity);
        rule.line.at(complexity.by(rule.metric))
    }

    /// Whether a query goes to the GPU.
    pub fn to_gpu(&self, complexity: &Complexity) -> bool {
        self.difference(complexity) > 0.0
    }

    /// The router stored in `store` for this machine and `threads` CPU threads, if one has been
    /// fitted.
    pub fn load(store: &Store, threads: u64) -> Option<Self> {
        Router::of_json(&store.entry(ENTRY, threads)?)
    }

    /// Stores the router in `store` for this machine.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(self, store: &Store, threads: u64) -> Result<()> {
        store.keep(ENTRY, threads, self.to_json())
    }

    pub(crate) fn to_json(self) -> Value {
        json!({ "must": self.must.to_json(), "any": self.any.to_json() })
    }

    pub(crate) fn of_json(value: &Value) -> Option<Self> {
        Some(Router {
            must: Rule::of_json(&value["must"])?,
            any: Rule::of_json(&value["any"])?,
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
        let rules = Rule::fit(&timed);
        assert_eq!(rules.len(), 3);
        assert_eq!(rules[0].metric, Metric::Uboc);
        assert!((rules[0].line.intercept + 1e-4).abs() < 1e-12);
        let router = Router::fit(&timed).unwrap();
        assert_eq!((router.must, router.any), (rules[0], rules[0]));
        for timed in &timed {
            let to_gpu = timed.cpu - timed.gpu > 0.0;
            let difference = router.difference(&timed.complexity);
            assert!(difference.abs() < 1e-12 || router.to_gpu(&timed.complexity) == to_gpu);
        }
        assert_eq!(Router::of_json(&router.to_json()), Some(router));
        assert_eq!(Router::of_json(&Value::Null), None);
    }
}
