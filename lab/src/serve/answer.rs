//! The end of an answer of HTTP/1.1 in bytes that arrive in pieces.

/// A whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// The bytes of head and body.
    pub bytes: usize,
    /// Whether the server closes the connection.
    pub closes: bool,
}

/// The answer that `received` begins with; none if more bytes must arrive. `is_end`: no more will arrive.
///
/// # Errors
/// It is not HTTP/1.1.
pub fn parse(received: &[u8], is_end: bool) -> Result<Option<Answer>, &'static str> {
    const NOT_HTTP: &str = "an answer is not HTTP/1.1";
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Response::new(&mut headers);
    let body = match head.parse(received) {
        Ok(httparse::Status::Complete(body)) => body,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(NOT_HTTP),
    };
    let status = head.code.ok_or(NOT_HTTP)?;
    let (mut length, mut is_chunked, mut closes) = (None, false, head.version == Some(0));
    for header in head.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let value = std::str::from_utf8(header.value).unwrap_or_default();
        if is("content-length") {
            length = Some(value.trim().parse::<usize>().map_err(|_| NOT_HTTP)?);
        } else if is("transfer-encoding") {
            is_chunked = value.trim().eq_ignore_ascii_case("chunked");
        } else if is("connection") {
            closes = value.trim().eq_ignore_ascii_case("close");
        }
    }
    let end = match length {
        _ if matches!(status, 100..200 | 204 | 304) => Some(body),
        _ if is_chunked => end_of_chunks(received, body)?,
        Some(length) => Some(body + length).filter(|&end| end <= received.len()),
        // The end of the connection is that of the body.
        None => {
            closes = true;
            is_end.then_some(received.len())
        }
    };
    Ok(end.map(|bytes| Answer {
        status,
        bytes,
        closes,
    }))
}

/// The end of the chunks that begin at `from`; none if more bytes must arrive.
fn end_of_chunks(received: &[u8], from: usize) -> Result<Option<usize>, &'static str> {
    let mut at = from;
    loop {
        match httparse::parse_chunk_size(&received[at..]) {
            Ok(httparse::Status::Complete((line, size))) => {
                let size = usize::try_from(size).map_err(|_| "a chunk is too large")?;
                at += line + size + b"\r\n".len();
                if at > received.len() {
                    return Ok(None);
                }
                if size == 0 {
                    // Trailers are used by no server that is measured.
                    return Ok(Some(at));
                }
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err("the length of a chunk is no number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_at_the_last_byte_and_not_before() {
        let cases = [
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
                200,
                false,
            ),
            (
                "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
                429,
                false,
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, false),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
                200,
                true,
            ),
        ];
        for (text, status, closes) in cases {
            for end in 0..text.len() {
                assert_eq!(parse(&text.as_bytes()[..end], false), Ok(None), "{text}");
            }
            let bytes = text.len();
            let whole = Answer {
                status,
                bytes,
                closes,
            };
            let next = format!("{text}HTTP/1.1 200 OK\r\n");
            assert_eq!(parse(next.as_bytes(), false), Ok(Some(whole)), "{text}");
        }
        let until_end = b"HTTP/1.1 200 OK\r\n\r\nhello";
        assert_eq!(parse(until_end, false), Ok(None));
        assert_eq!(
            parse(until_end, true).unwrap().unwrap().bytes,
            until_end.len()
        );
        assert!(parse(b"SSH-2.0-OpenSSH\r\n\r\n", false).is_err());
    }
}
