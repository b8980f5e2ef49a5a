//! Values of fields, and their types.
//!
//! A value of any type is text: filters compare text, and lists hold text. A value that is not a string begins with one
//! byte for its type. This byte never occurs in UTF-8, so values without it are strings.

use std::borrow::Cow;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueType {
    /// A string.
    #[default]
    Text,
    /// A number, in decimal.
    Number,
    /// `true` or `false`.
    Boolean,
}

impl ValueType {
    const NUMBER: u8 = 0xff;
    const BOOLEAN: u8 = 0xfe;

    /// The bytes of a value of this type.
    pub fn mark(self, text: &[u8]) -> Cow<'_, [u8]> {
        let mark = match self {
            ValueType::Text => return Cow::Borrowed(text),
            ValueType::Number => Self::NUMBER,
            ValueType::Boolean => Self::BOOLEAN,
        };
        Cow::Owned([&[mark], text].concat())
    }

    /// The type of a value, and its text.
    pub fn split(bytes: &[u8]) -> (Self, &[u8]) {
        match bytes {
            [Self::NUMBER, text @ ..] => (ValueType::Number, text),
            [Self::BOOLEAN, text @ ..] => (ValueType::Boolean, text),
            text => (ValueType::Text, text),
        }
    }
}

/// A value of a document in a kept field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldValue<'a> {
    /// The index of the field among the kept ones.
    pub field: usize,
    /// Its type.
    pub kind: ValueType,
    /// Its text.
    pub text: &'a [u8],
}
