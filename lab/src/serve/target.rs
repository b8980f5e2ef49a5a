//! The requests to a server, as bytes.

use std::net::{SocketAddr, ToSocketAddrs};

use tokapi::Error;

/// A server, and the request for each query.
pub struct Target {
    pub address: SocketAddr,
    pub requests: Vec<Vec<u8>>,
}

impl Target {
    /// Requests to `url` with the queries in the places of `{url}` and, in the body, of `{json}`.
    ///
    /// # Errors
    /// The URL is not that of a server that can be found; a header has no colon.
    pub fn new(
        url: &str,
        body: Option<&str>,
        headers: &[String],
        queries: &[String],
    ) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Usage(format!("{url}: {why}; write http://HOST:PORT/PATH"));
        let rest = url
            .strip_prefix("http://")
            .ok_or_else(|| wrong("no URL of http"))?;
        let (host, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, "/"),
        };
        let found = host.to_socket_addrs();
        let address = found.ok().and_then(|mut found| found.next());
        let address = address.ok_or_else(|| wrong("the host and port cannot be found"))?;
        let mut head = format!("host: {host}\r\n");
        let mut has_type = false;
        for header in headers {
            let (name, value) = header.split_once(':').ok_or_else(|| {
                Error::Usage(format!("`{header}` is no header: write `name: value`"))
            })?;
            has_type |= name.eq_ignore_ascii_case("content-type");
            head += &format!("{name}: {}\r\n", value.trim());
        }
        if body.is_some() && !has_type {
            head += "content-type: application/json\r\n";
        }
        let request = |query: &String| {
            let path = path.replace("{url}", &escaped(query));
            match body {
                None => format!("GET {path} HTTP/1.1\r\n{head}\r\n"),
                Some(body) => {
                    let query = serde_json::Value::from(query.as_str()).to_string();
                    let body = body.replace("{json}", &query);
                    let length = body.len();
                    format!("POST {path} HTTP/1.1\r\n{head}content-length: {length}\r\n\r\n{body}")
                }
            }
            .into_bytes()
        };
        Ok(Target {
            address,
            requests: queries.iter().map(request).collect(),
        })
    }
}

/// A text as a part of a URL.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => escaped += &format!("%{byte:02X}"),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_stand_in_their_places() {
        let queries = ["a \"b\"".to_owned(), "é".to_owned()];
        let text =
            |target: Target, at: usize| String::from_utf8(target.requests[at].clone()).unwrap();
        let get = Target::new("http://127.0.0.1:80/s?q={url}", None, &[], &queries).unwrap();
        assert_eq!(
            text(get, 0),
            "GET /s?q=a%20%22b%22 HTTP/1.1\r\nhost: 127.0.0.1:80\r\n\r\n"
        );
        let headers = ["x: y".to_owned()];
        let body = Some("{\"query\": {json}}");
        let post = Target::new("http://127.0.0.1:80", body, &headers, &queries).unwrap();
        assert_eq!(
            text(post, 1),
            "POST / HTTP/1.1\r\nhost: 127.0.0.1:80\r\nx: y\r\ncontent-type: application/json\r\n\
             content-length: 15\r\n\r\n{\"query\": \"é\"}"
        );
        assert!(Target::new("https://127.0.0.1:80/", None, &[], &queries).is_err());
    }
}
