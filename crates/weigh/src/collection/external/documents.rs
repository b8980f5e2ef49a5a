//! The documents of an external collection: in memory if they fit, or else on scratch.

use crate::collection::Documents;
use crate::collection::run::{DocumentFrame, Run};
use tokapi_storage::error::Result;
use tokapi_storage::progress::Progress;
use tokapi_storage::strings::Strings;

/// Lengths and ids of all documents.
#[derive(Default)]
pub(crate) struct DocumentTable {
    store: Store,
    /// Whether no document has an id of its own, so that numbers are the ids.
    numbered: bool,
}

enum Store {
    /// Ids are empty if documents are numbered.
    Memory { lengths: Vec<u32>, ids: Strings },
    /// The place of every frame of documents: its first document, its run, and its offset.
    Scratch { runs: Vec<Run>, frames: Vec<Frame> },
}

impl Default for Store {
    fn default() -> Self {
        Store::Memory {
            lengths: Vec::new(),
            ids: Strings::default(),
        }
    }
}

struct Frame {
    first: u64,
    run: usize,
    at: u64,
}

impl DocumentTable {
    /// The documents of `runs`, in memory if they take at most `memory_bytes`.
    ///
    /// # Errors
    /// A run cannot be read, or is damaged; `progress` is cancelled.
    pub(crate) fn open(runs: &[Run], memory_bytes: u64, progress: &Progress) -> Result<Self> {
        let numbered = !runs.iter().any(|run| run.has_ids);
        let documents: u64 = runs.iter().map(|run| run.documents).sum();
        let ids_bytes: u64 = match numbered {
            true => 0,
            false => runs.iter().map(Run::documents_bytes).sum::<u64>() + 8 * documents,
        };
        if 4 * documents + ids_bytes > memory_bytes {
            log::info!("table of {documents} documents: on scratch");
            return DocumentTable::on_scratch(runs, numbered, progress);
        }
        let (mut lengths, mut ids) = (Vec::new(), Strings::default());
        for run in runs {
            let mut frames = run.documents()?;
            while let Some((_, frame)) = frames.next()? {
                progress.check()?;
                lengths.extend_from_slice(&frame.lengths);
                if !numbered {
                    ids.append(&frame.ids);
                }
            }
        }
        Ok(DocumentTable {
            store: Store::Memory { lengths, ids },
            numbered,
        })
    }

    fn on_scratch(runs: &[Run], numbered: bool, progress: &Progress) -> Result<Self> {
        let mut places = Vec::new();
        let mut first = 0;
        for (run, file) in runs.iter().enumerate() {
            let mut frames = file.documents()?;
            while let Some((at, frame)) = frames.next()? {
                progress.check()?;
                places.push(Frame { first, run, at });
                first += frame.lengths.len() as u64;
            }
        }
        Ok(DocumentTable {
            store: Store::Scratch {
                runs: runs.to_vec(),
                frames: places,
            },
            numbered,
        })
    }

    /// The `count` documents of `members`, ascending.
    ///
    /// # Errors
    /// A run cannot be read, or is damaged.
    pub(crate) fn fetch(
        &self,
        count: usize,
        members: impl Iterator<Item = usize>,
    ) -> Result<Documents> {
        let mut documents = Documents::with_capacity(count);
        documents.numbered = self.numbered;
        match &self.store {
            Store::Memory { lengths, ids } => {
                for member in members {
                    let id = match self.numbered {
                        true => b"",
                        false => ids.get(member),
                    };
                    documents.push(member, id, lengths[member]);
                }
            }
            Store::Scratch { runs, frames } => {
                let mut current: Option<(std::ops::Range<usize>, DocumentFrame)> = None;
                for member in members {
                    if !current
                        .as_ref()
                        .is_some_and(|(range, _)| range.contains(&member))
                    {
                        let after = frames.partition_point(|frame| frame.first <= member as u64);
                        let place = &frames[after - 1];
                        let frame = runs[place.run].documents_at(place.at)?;
                        let first = place.first as usize;
                        current = Some((first..first + frame.lengths.len(), frame));
                    }
                    if let Some((range, frame)) = &current {
                        let place = member - range.start;
                        documents.push(member, frame.ids.get(place), frame.lengths[place]);
                    }
                }
            }
        }
        Ok(documents)
    }
}
