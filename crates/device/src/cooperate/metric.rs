//! How much work a query is, as far as the lengths of its lists tell.

use tokapi_index::Index;
use tokapi_index::query::{Occur, Query};
use tokapi_storage::error::Result;

/// The estimate of the work of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The length of the shortest list: the elements that are sought in others.
    Los,
    /// An upper bound of comparisons: that length times the logarithms of the others' lengths.
    Uboc,
    /// The same per thread, one for every element.
    Uboct,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 3] = [Metric::Los, Metric::Uboc, Metric::Uboct];

    /// The name that the literature has for it.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Los => "LOS",
            Metric::Uboc => "UBOC",
            Metric::Uboct => "UBOCT",
        }
    }

    /// The metric of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name)
    }
}

/// The lengths of a query's lists, digested.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Complexity {
    elements: f64,
    comparisons: f64,
    depth: f64,
    probes: f64,
    has_must: bool,
}

impl Complexity {
    /// That of a query with terms that must occur in lists of lengths `must`, or of one without such, and
    /// of terms that may in lists of lengths `should`. Where none must, each list is gone through, and its
    /// elements are sought in those that are longer.
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

    /// That of a query of `index`.
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

    /// Whether the query has a term that must occur.
    pub fn has_must(&self) -> bool {
        self.has_must
    }

    /// What a batch counts it for: every element once, and once for each list that it is sought in, as tables
    /// find it in a step or two; and what every query takes, however short its lists are. (Beside an H200, whoever
    /// prepares a batch takes 0.6 us for a query, and the device 5 ps for an element: `benches/gpu/queries`.)
    pub fn work(&self) -> f64 {
        const ANY_QUERY: f64 = 100_000.0;
        ANY_QUERY + self.probes
    }

    /// The value of a metric.
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
