//! Many strings in one buffer: terms and document ids, without an allocation for each.

/// A list of byte strings laid end to end.
///
/// Costs the bytes plus 8 per string.
///
/// ```
/// # use tokapi_storage::strings::Strings;
/// let mut strings = Strings::default();
/// strings.push(b"boundary");
/// strings.push(b"layer");
/// assert_eq!((strings.len(), strings.get(1)), (2, &b"layer"[..]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Strings {
    bytes: Vec<u8>,
    /// `offsets[i]..offsets[i + 1]` is string `i`; the first entry is 0.
    offsets: Vec<u64>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings {
            bytes: Vec::new(),
            offsets: vec![0],
        }
    }
}

impl Strings {
    /// An empty list with room for `count` strings of `bytes` bytes in all.
    pub fn with_capacity(count: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(count + 1);
        offsets.push(0);
        Strings {
            bytes: Vec::with_capacity(bytes),
            offsets,
        }
    }

    /// Strings from their concatenation: `offsets[i]..offsets[i + 1]` is string `i`.
    ///
    /// # Panics
    /// If `offsets` do not begin at 0, ascend, and end at the length of `bytes`.
    pub fn from_parts(bytes: Vec<u8>, offsets: Vec<u64>) -> Self {
        assert_eq!(offsets.first(), Some(&0), "offsets begin at 0");
        assert_eq!(offsets.last(), Some(&(bytes.len() as u64)));
        assert!(offsets.is_sorted(), "offsets ascend");
        Strings { bytes, offsets }
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all strings together.
    pub fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// String `index`, as bytes.
    ///
    /// # Panics
    /// If `index` is out of range.
    #[inline]
    pub fn get(&self, index: usize) -> &[u8] {
        // The offsets were widened from `usize`, so both fit again.
        &self.bytes[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// String `index` as text; terms and ids are always valid UTF-8.
    pub fn text(&self, index: usize) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.get(index))
    }

    /// Adds one string at the end.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.offsets.push(self.bytes.len() as u64);
    }

    /// Adds all strings of `other` at the end.
    pub fn append(&mut self, other: &Strings) {
        let base = self.bytes.len() as u64;
        self.bytes.extend_from_slice(&other.bytes);
        self.offsets
            .extend(other.offsets[1..].iter().map(|end| base + end));
    }

    /// Every string, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Removes every string.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.offsets.truncate(1);
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(iter: I) -> Self {
        let mut strings = Strings::default();
        for string in iter {
            strings.push(string.as_ref());
        }
        strings
    }
}
