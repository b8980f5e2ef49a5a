//! Outputs of jobs as tab-separated text. Tabs, line ends and backslashes in a field are escaped.

use super::super::Text;
use tokapi_weigh::output::push_field;

/// Ends a field that another follows.
pub(super) fn tab(text: &mut Vec<u8>) {
    text.push(b'\t');
}

/// Adds an integer.
pub(super) fn number(number: impl itoa::Integer, text: &mut Vec<u8>) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Adds the shortest decimal that reads back as the same number.
pub(super) fn decimal(number: impl zmij::Float, text: &mut Vec<u8>) {
    text.extend_from_slice(zmij::Buffer::new().format(number).as_bytes());
}

/// A term and its count.
impl Text for (&str, u64) {
    fn push(&self, text: &mut Vec<u8>) {
        push_field(text, self.0.as_bytes());
        tab(text);
        number(self.1, text);
        text.push(b'\n');
    }
}

/// t2, t1, Pr[t1 | t2].
impl Text for (&str, &str, f64) {
    fn push(&self, text: &mut Vec<u8>) {
        push_field(text, self.0.as_bytes());
        tab(text);
        push_field(text, self.1.as_bytes());
        tab(text);
        decimal(self.2, text);
        text.push(b'\n');
    }
}

/// Term, document, tf.
impl Text for (&str, &[u8], u32) {
    fn push(&self, text: &mut Vec<u8>) {
        push_field(text, self.0.as_bytes());
        tab(text);
        push_field(text, self.1);
        tab(text);
        number(self.2, text);
        text.push(b'\n');
    }
}

/// A name and its rank.
impl Text for (&[u8], f64) {
    fn push(&self, text: &mut Vec<u8>) {
        push_field(text, self.0);
        tab(text);
        decimal(self.1, text);
        text.push(b'\n');
    }
}

/// The field that `push_field` escaped.
pub(super) fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut bytes = field.iter();
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(&other) => other,
                None => b'\\',
            },
            byte => byte,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_unescaped() {
        for field in ["", "a", "a\tb", "\\", "\\t\t\\\\", "x\r\ny"] {
            let mut text = Vec::new();
            push_field(&mut text, field.as_bytes());
            assert_eq!(unescaped(&text), field.as_bytes());
        }
    }

    #[test]
    fn lines() {
        let mut text = Vec::new();
        ("a\tb", 7).push(&mut text);
        ("a", "b", 0.5).push(&mut text);
        (&b"n"[..], 1.0).push(&mut text);
        assert_eq!(text, b"a\\tb\t7\na\tb\t0.5\nn\t1.0\n");
    }
}
