//! Estimates of the work of a query, from the lengths of its lists.

use tokapi_index::Index;
use tokapi_index::query::{Occur, Query};
use tokapi_storage::error::Result;

/// An estimate of the work of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The length of the shortest list: the number of elements to look up in the others.
    Los,
    /// An upper bound of comparisons: this length times the sum of the logarithms of the other
    /// lengths.
    Uboc,
    /// The same for one thread, with one thread an element.
    Uboct,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Metric; 3] = [Metric::Los, Metric::Uboc, Metric::Uboct];

    /// Its name in the literature.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Los => "LOS",
            Metric::Uboc => "UBOC",
            Metric::Uboct => "UBOCT",
        }
    }

    /// The metric with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name)
    }
}

/// A summary of the lengths of a query's lists.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Complexity {
    elements: f64,
    comparisons: f64,
    depth: f64,
    probes: f64,
    has_must: bool,
}

impl Complexity {
    /// The work of a query with required terms whose lists have lengths `must`, or of a query
    /// without them whose optional terms have lists of lengths `should`. Without required terms,
    /// each list is read in full, and its elements are looked up in the longer lists.
    pub fn of(must: &mut [u64], should: &mut [u64]) -> Self {
        let log = |length: &u64| (*length as f64).max(1.0).log2();
        let logs = |lengths: &[u64]| lengths.iter().map(log).sum::<f64>();
        must.sort_unstable();
        should.sort_unstable();
        if let [shortest, others @ ..] = &*must {
            let (elements, depth) = (*shortest as f64, logs(others) + logs(should));
            return Complexity {
                elements,
                comparisons: elements * depth,
                depth,
                probes: elements * (must.len() + should.len()) as f64,
                has_must: true,
            };
        }
        let mut sum = Complexity::default();
        for (place, &length) in should.iter().enumerate() {
            let depth = logs(&should[place + 1..]);
            sum.elements += length as f64;
            sum.comparisons += length as f64 * depth;
            sum.depth += depth;
            sum.probes += length as f64 * (should.len() - place) as f64;
        }
        sum
    }

    /// The work of a query of `index`.
    ///
    /// # Errors
    /// The index is damaged.
    pub fn of_query(index: &Index, query: &Query) -> Result<Self> {
        let (mut must, mut should) = (Vec::new(), Vec::new());
        for clause in &query.clauses {
            let length = index.df(&clause.term)?;
            match clause.occur {
                Occur::Must => must.push(length),
                Occur::Should => should.push(length),
                Occur::Not => {}
            }
        }
        Ok(Complexity::of(&mut must, &mut should))
    }

    /// Whether the query has a required term.
    pub fn has_must(&self) -> bool {
        self.has_must
    }

    /// The size of the query in a batch: every element once, plus once for each list in which it
    /// is looked up, since tables take a step or two; plus the fixed cost of a query. (With an
    /// H200, preparing a query takes 0.6 us, and the device takes 5 ps an element:
    /// `benches/gpu/queries`.)
    pub fn work(&self) -> f64 {
        const ANY_QUERY: f64 = 100_000.0;
        ANY_QUERY + self.probes
    }

    /// The value of a metric for the query.
    pub fn by(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Los => self.elements,
            Metric::Uboc => self.comparisons,
            Metric::Uboct => self.depth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_lengths() {
        let both = Complexity::of(&mut [64, 8, 16], &mut []);
        assert_eq!(Metric::ALL.map(|metric| both.by(metric)), [8.0, 80.0, 10.0]);
        let any = Complexity::of(&mut [], &mut [64, 8]);
        assert_eq!(Metric::ALL.map(|metric| any.by(metric)), [72.0, 48.0, 6.0]);
        let mix = Complexity::of(&mut [8], &mut [64]);
        assert_eq!(Metric::ALL.map(|metric| mix.by(metric)), [8.0, 48.0, 6.0]);
        assert_eq!(
            [both.work(), any.work(), mix.work()],
            [100_024.0, 100_080.0, 100_016.0]
        );
        let none = Complexity::of(&mut [], &mut []);
        assert_eq!(none.by(Metric::Uboc), 0.0);
    }
}
