//! Distinct pairs of documents, in order. A near-identical pair arrives once for every band that
//! both documents share.

use serde::{Deserialize, Serialize};

use super::super::super::{
    Combine, DocumentPlace, Emitter, Functors, Item, Items, Job, ListJob, MapFunction, Portable,
    ReduceFunction,
};
use super::Pair;
use tokapi_storage::error::Result;

/// Each pair once.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Distinct;

impl Job for Distinct {
    type Input = Items<Pair>;
    type Key<'a> = (DocumentPlace, DocumentPlace);
    type Value = u32;
    type Note = ();
    type Output<'a> = Pair;

    fn map(&self, pair: Item<'_, Pair>, emit: &mut Emitter<Self>) {
        let (place, of, agree) = *pair.item;
        emit.pair((place, of), agree);
    }

    fn reduce(
        &self,
        (place, of): (DocumentPlace, DocumentPlace),
        agree: impl Iterator<Item = u32>,
        write: &mut impl FnMut(Pair),
    ) -> Result<()> {
        agree.take(1).for_each(|agree| write((place, of, agree)));
        Ok(())
    }

    fn combiner(&self) -> Option<Combine<u32>> {
        // All values are equal.
        Some(|_, _| ())
    }
}

/// A place in one word.
fn word(place: DocumentPlace) -> u64 {
    u64::from(place.split) << 32 | u64::from(place.index)
}

fn place(word: u64) -> DocumentPlace {
    DocumentPlace {
        split: (word >> 32) as u32,
        index: word as u32,
    }
}

impl Portable for Distinct {
    const NAME: &'static str = "duplicates-distinct";

    const FUNCTORS: Option<Functors<Self>> = Some(Functors {
        map: MapFunction::Words,
        reduce: ReduceFunction::First,
        record: |_, pair, bytes, ()| {
            let &(place, of, agree) = pair.item;
            for word in [word(place), word(of), agree.into()] {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
        },
        key: |key| (place(key.words[0]), place(key.words[1])),
        value: |_, agree| Ok((agree.word as u32, 1)),
    });
}

impl ListJob for Distinct {
    type Owned = Pair;

    fn own(pair: Self::Output<'_>) -> Self::Owned {
        pair
    }
}
