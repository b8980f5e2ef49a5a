//! The trace that a request belongs to (W3C Trace Context), and the spans of requests.

use std::fmt;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, Method};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The span of a client that a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The trace; not 0.
    pub trace: u128,
    /// The span; not 0.
    pub span: u64,
    /// Whether the client records it, in the lowest bit.
    pub flags: u8,
}

impl Parent {
    /// The parent of the header `traceparent`; none without a valid one.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all(TRACEPARENT).iter();
        let one = all.next()?.to_str().ok()?;
        match all.next() {
            Some(_) => None,
            None => Parent::parse(one),
        }
    }

    /// `00-TRACE-SPAN-FLAGS`; later versions may add parts.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut part = |digits: usize| {
            let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let part = parts.next()?;
            let is_valid = part.len() == digits && part.bytes().all(is_hex);
            is_valid.then_some(part)
        };
        let version = part(2)?;
        let (trace, span, flags) = (part(32)?, part(16)?, part(2)?);
        let has_more = parts.next().is_some();
        if version == "ff" || version == "00" && has_more {
            return None;
        }
        let parent = Parent {
            trace: u128::from_str_radix(trace, 16).ok()?,
            span: u64::from_str_radix(span, 16).ok()?,
            flags: u8::from_str_radix(flags, 16).ok()?,
        };
        (parent.trace != 0 && parent.span != 0).then_some(parent)
    }
}

/// The id of a trace, as log lines have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub u128);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Records the spans of requests.
pub trait Spans: Send + Sync {
    /// Begins the span of a request to `route`.
    fn begin(&self, parent: Option<Parent>, method: &Method, route: &str) -> Box<dyn Span>;

    /// Sends what is recorded, at the end of the server.
    fn close(&self);
}

/// The span of a request.
pub trait Span: Send {
    /// The trace.
    fn trace(&self) -> TraceId;

    /// Ends with the status of the answer. A request that is given up ends when it is dropped.
    fn end(self: Box<Self>, status: u16, request: Arc<str>);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn parents_are_of_the_standard() {
        let parent = Parent::parse(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        assert_eq!(TraceId(parent.trace).to_string(), TRACE);
        assert_eq!((parent.span, parent.flags), (0x00f0_67aa_0ba9_02b7, 1));
        let later = Parent::parse(&format!("cc-{TRACE}-{SPAN}-00-what-comes"));
        assert_eq!(later, Some(Parent { flags: 0, ..parent }));
        let zeros = "0".repeat(32);
        for wrong in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}é-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-x1"),
        ] {
            assert_eq!(Parent::parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn two_parents_are_none() {
        let one = format!("00-{TRACE}-{SPAN}-01");
        let mut headers = HeaderMap::new();
        assert_eq!(Parent::of(&headers), None);
        headers.append(TRACEPARENT, one.parse().unwrap());
        assert!(Parent::of(&headers).is_some());
        headers.append(TRACEPARENT, one.parse().unwrap());
        assert_eq!(Parent::of(&headers), None);
    }
}
