//! gzip: members one after another, and trailing zeros, which pad blocks on tapes and disks.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// A reader of the content of all members.
pub(super) struct Members<R> {
    /// None at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub fn new(raw: R) -> Self {
        Members {
            member: Some(GzDecoder::new(raw)),
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if has_more(member.get_mut())? {
                let ended = self.member.take();
                self.member = ended.map(|ended| GzDecoder::new(ended.into_inner()));
            } else {
                self.member = None;
            }
        }
        Ok(0)
    }
}

/// Skips zeros; returns whether something else follows.
fn has_more(raw: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = raw.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let zeros = bytes.iter().position(|&byte| byte != 0);
        let passed = zeros.unwrap_or(bytes.len());
        raw.consume(passed);
        if zeros.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn zeros_may_follow_members_and_nothing_else() {
        let member = |text: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        let read = |bytes: &[u8]| {
            // A small buffer, so that members and zeros cross its border.
            let mut text = String::new();
            let raw = io::BufReader::with_capacity(7, bytes);
            Members::new(raw).read_to_string(&mut text).map(|_| text)
        };
        let both = [member("one "), member(""), member("two")].concat();
        assert_eq!(read(&both).unwrap(), "one two");
        assert_eq!(read(&[&both[..], &[0; 512]].concat()).unwrap(), "one two");
        let padded = [&both[..], &[0; 100], &member(" three")].concat();
        assert_eq!(read(&padded).unwrap(), "one two three");
        assert!(read(&[&both[..], &[0; 3], b"rest"].concat()).is_err());
        assert!(read(&both[..both.len() - 1]).is_err());
    }
}
