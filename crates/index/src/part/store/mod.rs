//! The document store: one record a document, in compressed blocks.
//!
//! A record has two parts: the values of fields, and the text. A block stores the records of
//! several documents as two Zstandard frames: one of values and one of texts. A length stands
//! before each part. So fields are read without decompressing texts. A table at the end of the
//! file names the first document of every block, and reading a record costs the decompression of
//! one block. `document.rs` defines the bytes of values.
//!
//! Former versions compressed both parts in one frame. There the values of a record include the
//! text at their end. Readers take both parts one after the other, so the difference does not
//! matter to them.

mod block;
mod reader;
mod writer;

pub(crate) use block::Record;
pub(crate) use reader::Store;
pub(crate) use writer::StoreWriter;

#[cfg(test)]
mod tests {
    use super::super::layout::STORE;
    use super::super::note::PartNote;
    use super::super::window::Window;
    use super::writer::{BLOCK_BYTES, MOST_BYTES};
    use super::*;

    #[test]
    fn records_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let record = |number: usize| -> Vec<u8> {
            let bytes = match number % 1000 {
                999 => 5 << 20,
                998 => MOST_BYTES,
                997 => BLOCK_BYTES,
                small => small % 97,
            };
            (0..bytes).map(|at| ((at * number) >> 7) as u8).collect()
        };
        for count in [0, 1, 997, 3500] {
            let folder = folder.path().join(count.to_string());
            std::fs::create_dir(&folder).unwrap();
            let mut note = PartNote {
                documents: count as u64,
                ..PartNote::default()
            };
            let mut writer = StoreWriter::create(&folder).unwrap();
            for number in 0..count {
                let record = record(number);
                let (values, text) = record.split_at(record.len() / 3);
                writer.push(Record { values, text }).unwrap();
            }
            writer.finish(&mut note).unwrap();
            let store = Store::open(&folder, &note, STORE, &Window::default()).unwrap();
            let mut records = store.records();
            for number in 0..count {
                let expected = record(number);
                let (values, text) = expected.split_at(expected.len() / 3);
                let next = records.next().unwrap();
                assert!(next == Some(Record { values, text }), "{number}");
                if number % 7 == 0 {
                    assert!(store.record(number as u32).unwrap() == expected, "{number}");
                    assert!(store.values(number as u32).unwrap() == values, "{number}");
                }
            }
            assert!(records.next().unwrap().is_none());
            assert!(store.record(count as u32).is_err());
            assert!(store.values(count as u32).is_err());
        }
    }
}
