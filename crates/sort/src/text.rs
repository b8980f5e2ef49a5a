//! Numbers as lines of text: `-12`, `3.5e7`, `nan`, `inf`; with a payload, `key<TAB>payload`.
//!
//! [`Lines`] parses lines into the bits of keys, which [`KeyType`] then orders; [`write_key32`] and its siblings write
//! them. Lines end with `\n` or `\r\n`; the last one may lack its end. Everything that is not a number of the type is
//! an error: blank lines, spaces, `+`, numbers out of range. Every written number reads back as the same bits, except
//! that a NaN keeps only its sign.
//!
//! A text may be cut at line ends and read on several threads.

#[cfg(test)]
mod tests;

use std::path::Path;

use super::KeyType;
use tokapi_storage::error::{Error, Place, Position, Result};

/// Reads lines of one file.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a> {
    /// The type of keys. Payloads are unsigned integers of the same width.
    pub key_type: KeyType,
    /// The file, for errors.
    pub path: &'a Path,
}

/// Defines the readers of keys and pairs of one width, by the parser of each type.
macro_rules! readers {
    (
        $keys:ident, $pairs:ident: $word:ty, $payload:ident, not $other:literal,
        $($key_type:ident: $key:ident),* $(,)?
    ) => {
        /// Appends the key bits of every line of `text`. `first_line` is the number of its first line in the file.
        ///
        /// # Errors
        #[doc = concat!("A line is not one number of the type; the type has ", $other, " bits.")]
        pub fn $keys(&self, text: &[u8], first_line: u64, keys: &mut Vec<$word>) -> Result<()> {
            match self.key_type {
                $(KeyType::$key_type => self.keys(text, first_line, keys, $key),)*
                _ => Err(self.other_width()),
            }
        }

        /// Appends the bits of the key and the payload of every line of `text`.
        ///
        /// # Errors
        #[doc = concat!("A line is not a key, a tab and a payload; the type has ", $other, " bits.")]
        pub fn $pairs(
            &self,
            text: &[u8],
            first_line: u64,
            keys: &mut Vec<$word>,
            payloads: &mut Vec<$word>,
        ) -> Result<()> {
            let columns = (keys, payloads);
            match self.key_type {
                $(KeyType::$key_type => self.pairs(text, first_line, columns, $key, $payload),)*
                _ => Err(self.other_width()),
            }
        }
    };
}

impl Lines<'_> {
    readers! {
        keys32, pairs32: u32, unsigned32, not "64",
        U8: unsigned8, U16: unsigned16, U32: unsigned32, I32: signed32, F32: float32,
    }

    readers! {
        keys64, pairs64: u64, unsigned64, not "32",
        U64: unsigned64, I64: signed64, F64: float64,
    }

    #[inline(always)]
    fn keys<T>(
        &self,
        text: &[u8],
        first_line: u64,
        keys: &mut Vec<T>,
        number: impl Fn(&[u8]) -> Option<(T, &[u8])>,
    ) -> Result<()> {
        let (mut rest, mut line) = (text, first_line);
        while !rest.is_empty() {
            let read = number(rest).and_then(|(key, after)| Some((key, line_end(after)?)));
            let Some((key, after)) = read else {
                return Err(self.bad_line(rest, line, ""));
            };
            keys.push(key);
            (rest, line) = (after, line + 1);
        }
        Ok(())
    }

    #[inline(always)]
    fn pairs<T>(
        &self,
        text: &[u8],
        first_line: u64,
        (keys, payloads): (&mut Vec<T>, &mut Vec<T>),
        key: impl Fn(&[u8]) -> Option<(T, &[u8])>,
        payload: impl Fn(&[u8]) -> Option<(T, &[u8])>,
    ) -> Result<()> {
        let pair = |text| {
            let (key, after) = key(text)?;
            let (payload, after) = payload(after.strip_prefix(b"\t")?)?;
            Some((key, payload, line_end(after)?))
        };
        let (mut rest, mut line) = (text, first_line);
        while !rest.is_empty() {
            let Some((key, payload, after)) = pair(rest) else {
                return Err(self.bad_line(rest, line, ", a tab and a payload"));
            };
            keys.push(key);
            payloads.push(payload);
            (rest, line) = (after, line + 1);
        }
        Ok(())
    }

    /// The error for the line at the start of `rest`.
    #[cold]
    fn bad_line(&self, rest: &[u8], line: u64, and: &str) -> Error {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let found = String::from_utf8_lossy(&rest[..end.min(40)]);
        let name = self.key_type.name();
        Error::Input {
            place: Place {
                path: self.path.to_path_buf(),
                position: Position::Line(line),
            },
            what: format!(
                "{found:?} is not a number of the type {name}{and}; correct it or give another type"
            ),
        }
    }

    fn other_width(&self) -> Error {
        let name = self.key_type.name();
        Error::Usage(format!("keys of the type {name} have another width"))
    }
}

/// The text after the line end at the start of `text`. The end of the text is a line end, too.
#[inline(always)]
fn line_end(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => Some(rest),
        [] | [b'\r'] => Some(&[]),
        _ => None,
    }
}

/// Parses an unsigned integer. Returns it and the text after it.
#[inline(always)]
fn unsigned64(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut rest) = (0u64, text);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        rest = after;
    }
    match text.len() - rest.len() {
        0 => None,
        // 10^19 - 1 fits 64 bits.
        1..=19 => Some((value, rest)),
        digits => Some((long(&text[..digits])?, rest)),
    }
}

/// Parses an integer of 20 or more digits, if it fits.
#[cold]
fn long(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

#[inline(always)]
fn unsigned32(text: &[u8]) -> Option<(u32, &[u8])> {
    let (value, rest) = unsigned64(text)?;
    Some((u32::try_from(value).ok()?, rest))
}

#[inline(always)]
fn unsigned16(text: &[u8]) -> Option<(u32, &[u8])> {
    unsigned32(text).filter(|&(value, _)| value <= u16::MAX.into())
}

#[inline(always)]
fn unsigned8(text: &[u8]) -> Option<(u32, &[u8])> {
    unsigned32(text).filter(|&(value, _)| value <= u8::MAX.into())
}

/// Parses a signed integer. Returns its bits and the text after it.
#[inline(always)]
fn signed64(text: &[u8]) -> Option<(u64, &[u8])> {
    match text.strip_prefix(b"-") {
        None => unsigned64(text).filter(|&(value, _)| i64::try_from(value).is_ok()),
        Some(text) => {
            let (value, rest) = unsigned64(text)?;
            (value <= 1 << 63).then_some((value.wrapping_neg(), rest))
        }
    }
}

#[inline(always)]
fn signed32(text: &[u8]) -> Option<(u32, &[u8])> {
    let (bits, rest) = signed64(text)?;
    let value = i32::try_from(bits.cast_signed()).ok()?;
    Some((value.cast_unsigned(), rest))
}

/// Parses a float. Returns its bits and the text after it.
#[inline(always)]
fn float<T: fast_float2::FastFloat>(text: &[u8]) -> Option<(T, &[u8])> {
    if text.starts_with(b"+") {
        return None;
    }
    let (value, length) = fast_float2::parse_partial(text).ok()?;
    Some((value, &text[length..]))
}

fn float32(text: &[u8]) -> Option<(u32, &[u8])> {
    let (value, rest) = float::<f32>(text)?;
    Some((value.to_bits(), rest))
}

fn float64(text: &[u8]) -> Option<(u64, &[u8])> {
    let (value, rest) = float::<f64>(text)?;
    Some((value.to_bits(), rest))
}

/// Appends the key with these bits to `text`, in the syntax of [`Lines`], without a line end.
///
/// # Panics
/// For a type of 64 bits.
pub fn write_key32(key_type: KeyType, bits: u32, text: &mut Vec<u8>) {
    match key_type {
        KeyType::U8 | KeyType::U16 | KeyType::U32 => write_unsigned(bits.into(), text),
        KeyType::I32 => write_signed(bits.cast_signed().into(), text),
        KeyType::F32 => {
            let float = f32::from_bits(bits);
            match special(float.into(), float.is_sign_negative()) {
                Some(name) => text.extend_from_slice(name),
                None => text.extend_from_slice(zmij::Buffer::new().format(float).as_bytes()),
            }
        }
        _ => panic!("keys of the type {} have 64 bits", key_type.name()),
    }
}

/// As [`write_key32`], for keys of 64 bits.
///
/// # Panics
/// For a type of 32 bits.
pub fn write_key64(key_type: KeyType, bits: u64, text: &mut Vec<u8>) {
    match key_type {
        KeyType::U64 => write_unsigned(bits, text),
        KeyType::I64 => write_signed(bits.cast_signed(), text),
        KeyType::F64 => {
            let float = f64::from_bits(bits);
            match special(float, float.is_sign_negative()) {
                Some(name) => text.extend_from_slice(name),
                None => text.extend_from_slice(zmij::Buffer::new().format(float).as_bytes()),
            }
        }
        _ => panic!("keys of the type {} have 32 bits", key_type.name()),
    }
}

/// Appends a payload, without a line end.
pub fn write_unsigned(value: u64, text: &mut Vec<u8>) {
    text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn write_signed(value: i64, text: &mut Vec<u8>) {
    text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// The name of a float without digits.
fn special(float: f64, negative: bool) -> Option<&'static [u8]> {
    let names: [&[u8]; 2] = match (float.is_nan(), float.is_infinite()) {
        (true, _) => [b"nan", b"-nan"],
        (_, true) => [b"inf", b"-inf"],
        _ => return None,
    };
    Some(names[usize::from(negative)])
}
