//! Whether a device can answer a query, and from which lists.

use tokapi_index::query::{Algorithm, Occur, Query, SearchOptions};
use tokapi_kernels::{MOST_RANKED, Occur as OnList, Term};

use super::index::GpuIndex;
use super::terms::OnDevice;
use super::weights::Weighed;
use crate::cooperate::Complexity;

/// The place of a query's answer.
pub(super) enum Plan {
    /// The device answers it.
    Device { has_must: bool },
    /// No document matches.
    Nothing,
    /// The device cannot answer it.
    Elsewhere,
}

/// Whether a device can find the best documents with these options, if it has the weights.
pub(super) fn ranks(options: &SearchOptions) -> bool {
    let is_first_page = options.after.is_none();
    options.k <= MOST_RANKED && options.algorithm == Algorithm::Auto && is_first_page
}

/// Whether the query needs lists only.
fn needs_lists_alone(query: &Query) -> bool {
    query.filters.is_empty() && query.phrases.is_empty() && !query.is_filters_alone()
}

impl GpuIndex {
    /// Whether a device can answer this query with these options, if it has the lists and their weights.
    pub fn may_answer(query: &Query, options: &SearchOptions) -> bool {
        ranks(options) && needs_lists_alone(query)
    }

    /// The work of a search; none if the device has not its lists or other weights, or the search needs more than
    /// lists.
    pub fn complexity_of(&self, query: &Query, options: &SearchOptions) -> Option<Complexity> {
        // While postings are weighed, the index answers.
        let weighed = self.weighed.try_read().ok()?;
        let mut terms = Vec::new();
        let plan = self.plan_search(query, options, weighed.as_ref()?, &mut terms);
        let lengths = |occur: OnList| -> Vec<u64> {
            let of = terms.iter().filter(|term| term.occur == occur);
            of.map(|term| self.lists.length(term.list)).collect()
        };
        match plan {
            Plan::Elsewhere => None,
            Plan::Nothing => Some(Complexity::default()),
            Plan::Device { .. } => Some(Complexity::of(
                &mut lengths(OnList::Must),
                &mut lengths(OnList::Should),
            )),
        }
    }

    /// Looks up the lists of a search, into `terms`.
    pub(super) fn plan_search(
        &self,
        query: &Query,
        options: &SearchOptions,
        weighed: &Weighed,
        terms: &mut Vec<Term>,
    ) -> Plan {
        if !ranks(options) || !weighed.is_for(&self.index, options) {
            return Plan::Elsewhere;
        }
        let given = options.statistics.as_deref();
        let has_weights =
            |list: u32, term: &str| weighed.has_df(list, self.lists.length(list), term, given);
        self.plan(query, terms, has_weights)
    }

    /// Looks up the lists of a query, into `terms`. Only those that `has_weights` returns true for can be used.
    pub(super) fn plan(
        &self,
        query: &Query,
        terms: &mut Vec<Term>,
        has_weights: impl Fn(u32, &str) -> bool,
    ) -> Plan {
        if !needs_lists_alone(query) {
            return Plan::Elsewhere;
        }
        terms.clear();
        let (mut has_must, mut nothing) = (false, false);
        for clause in &query.clauses {
            let occur = match clause.occur {
                Occur::Must => OnList::Must,
                Occur::Should => OnList::Should,
                Occur::Not => OnList::Not,
            };
            let list = match self.lists.find(clause.term.as_bytes()) {
                OnDevice::List(list) if has_weights(list, &clause.term) => list,
                OnDevice::List(_) | OnDevice::Elsewhere => return Plan::Elsewhere,
                OnDevice::Nothing => {
                    nothing |= clause.occur == Occur::Must;
                    continue;
                }
            };
            has_must |= occur == OnList::Must;
            match terms.iter_mut().find(|term| term.list == list) {
                Some(term) => {
                    term.times += 1.0;
                    term.occur = match (term.occur, occur) {
                        (OnList::Must, OnList::Not) | (OnList::Not, OnList::Must) => {
                            nothing = true;
                            OnList::Not
                        }
                        (OnList::Not, _) | (_, OnList::Not) => OnList::Not,
                        (OnList::Must, _) | (_, OnList::Must) => OnList::Must,
                        _ => OnList::Should,
                    };
                }
                None => terms.push(Term {
                    list,
                    occur,
                    times: 1.0,
                }),
            }
        }
        let any = terms.iter().any(|term| term.occur != OnList::Not);
        match nothing || !any {
            true => Plan::Nothing,
            false => Plan::Device { has_must },
        }
    }
}
