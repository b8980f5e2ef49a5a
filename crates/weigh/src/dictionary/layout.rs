//! The file: its header, and the place of each array.
//!
//! The file consists of 64-bit words, little-endian. A header of eight words comes first, then the arrays, each padded
//! with zeros to a whole word: codes, nodes, leaves, labels, shortcuts, tails. Nodes and leaves begin at multiples of
//! 32 bytes, so no block crosses a cache line.

use super::arrays::{Arrays, BLOCK_LEAVES, BLOCK_NODES, BLOCK_WORDS};

// The arrays are used directly from the file.
const _: () = assert!(cfg!(target_endian = "little"));

/// The first word.
const MAGIC: u64 = u64::from_le_bytes(*b"tokapiDI");
/// The low half of the second word. The high half is the CRC-32 of all following words.
const VERSION: u32 = 1;
const HEADER_WORDS: u64 = 8;
const CODE_WORDS: u64 = 256 / 8;
/// The most bytes that a shortcut skips.
pub(super) const MAX_SHORTCUT_DEPTH: u64 = 4;

/// The counts in words 2 to 7 of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub terms: u64,
    pub nodes: u64,
    pub labels: u64,
    pub tail_bytes: u64,
    pub shortcut_depth: u64,
    pub alphabet_size: u64,
}

impl Header {
    /// The number of leaves: of the labels, one leads to each node except the root. None if no such trie exists.
    pub fn leaves(&self) -> Option<u64> {
        match (self.nodes, self.labels) {
            (0, 0) => Some(0),
            // The empty term alone.
            (1, 0) => Some(1),
            (0, _) => None,
            (nodes, labels) => (labels + 1).checked_sub(nodes),
        }
    }
}

/// A header, and the start of each of its arrays in words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub header: Header,
    codes: usize,
    nodes: usize,
    leaves: usize,
    labels: usize,
    shortcuts: usize,
    shortcut_count: usize,
    tails: usize,
    tail_bytes: usize,
    end: usize,
}

impl Layout {
    /// The layout of a file with this header; none if no such file exists.
    pub fn new(header: Header) -> Option<Self> {
        let most = u64::from(u32::MAX);
        if header.terms > most || header.nodes > most || header.labels > most {
            return None;
        }
        if header.shortcut_depth > MAX_SHORTCUT_DEPTH || header.alphabet_size > 256 {
            return None;
        }
        // At most 256 to the power of 4.
        let shortcut_count =
            (0..header.shortcut_depth).fold(1, |count, _| count * header.alphabet_size);
        let nodes = HEADER_WORDS + CODE_WORDS;
        let leaves = nodes + header.nodes.div_ceil(BLOCK_NODES) * BLOCK_WORDS;
        let labels = leaves + header.leaves()?.div_ceil(BLOCK_LEAVES) * BLOCK_WORDS;
        let shortcuts = labels + header.labels.div_ceil(8);
        let tails = shortcuts + shortcut_count.div_ceil(2);
        let end = tails.checked_add(header.tail_bytes.div_ceil(8))?;
        let end = usize::try_from(end)
            .ok()
            .filter(|end| *end <= usize::MAX / 8)?;
        // A place within the file fits.
        let word = |at: u64| at as usize;
        Some(Layout {
            header,
            codes: word(HEADER_WORDS),
            nodes: word(nodes),
            leaves: word(leaves),
            labels: word(labels),
            shortcuts: word(shortcuts),
            shortcut_count: word(shortcut_count),
            tails: word(tails),
            tail_bytes: word(header.tail_bytes),
            end,
        })
    }

    /// The layout from the header of a file. The magic, the version, the length and the checksum are verified; the
    /// arrays may still be invalid.
    pub fn read(image: &[u64]) -> Result<Self, String> {
        if image.first() != Some(&MAGIC) {
            return Err("this is no dictionary".into());
        }
        let Some(&second) = image.get(1) else {
            return Err("the dictionary is cut off".into());
        };
        // The low half is the version.
        let version = second as u32;
        if version != VERSION {
            return Err(format!(
                "this is a dictionary of version {version}, but this program reads version {VERSION}"
            ));
        }
        let layout = Layout::of_header(image).ok_or("the dictionary is cut off or damaged")?;
        if second >> 32 != u64::from(checksum(image)) {
            return Err("the dictionary is damaged: its checksum is wrong".into());
        }
        Ok(layout)
    }

    /// The layout from the counts in the header, if the file has the matching length.
    pub fn of_header(image: &[u64]) -> Option<Self> {
        // The magic, and the version with the checksum, come first.
        let counts: &[u64; 6] = image.get(2..)?.first_chunk()?;
        let header = Header {
            terms: counts[0],
            nodes: counts[1],
            labels: counts[2],
            tail_bytes: counts[3],
            shortcut_depth: counts[4],
            alphabet_size: counts[5],
        };
        Layout::new(header).filter(|layout| layout.end == image.len())
    }

    /// The file of these arrays, whose lengths match the layout.
    pub fn write(&self, arrays: &Arrays<'_>) -> Vec<u64> {
        let mut image = vec![0; self.end];
        image[0] = MAGIC;
        image[2..8].copy_from_slice(&[
            self.header.terms,
            self.header.nodes,
            self.header.labels,
            self.header.tail_bytes,
            self.header.shortcut_depth,
            self.header.alphabet_size,
        ]);
        image[self.nodes..self.leaves].copy_from_slice(arrays.nodes);
        image[self.leaves..self.labels].copy_from_slice(arrays.leaves);
        image[self.labels..self.shortcuts].copy_from_slice(arrays.labels);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut image);
        let shortcuts: &[u8] = bytemuck::cast_slice(arrays.shortcuts);
        for (start, array) in [
            (self.codes, arrays.codes),
            (self.shortcuts, shortcuts),
            (self.tails, arrays.tails),
        ] {
            bytes[8 * start..][..array.len()].copy_from_slice(array);
        }
        seal(&mut image);
        image
    }

    /// The arrays of a file with this layout.
    pub fn arrays<'a>(&self, image: &'a [u64]) -> Arrays<'a> {
        let shortcuts: &[u32] = bytemuck::cast_slice(&image[self.shortcuts..self.tails]);
        let tails: &[u8] = bytemuck::cast_slice(&image[self.tails..self.end]);
        Arrays {
            nodes: &image[self.nodes..self.leaves],
            labels: &image[self.labels..self.shortcuts],
            leaves: &image[self.leaves..self.labels],
            tails: &tails[..self.tail_bytes],
            shortcuts: &shortcuts[..self.shortcut_count],
            codes: bytemuck::cast_slice(&image[self.codes..self.nodes]),
            node_count: self.header.nodes,
            shortcut_depth: self.header.shortcut_depth,
            alphabet_size: self.header.alphabet_size,
        }
    }
}

/// Writes the word with version and checksum.
pub(super) fn seal(image: &mut [u64]) {
    image[1] = u64::from(VERSION) | u64::from(checksum(image)) << 32;
}

/// The CRC-32 of all but the first two words.
fn checksum(image: &[u64]) -> u32 {
    crc32fast::hash(bytemuck::cast_slice(&image[2..]))
}
