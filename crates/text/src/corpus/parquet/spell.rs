//! The spelling of a column's values as text, by the column's logical type.

use chrono::{DateTime, NaiveTime, Utc};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::schema::types::ColumnDescriptor;

use crate::corpus::ValueType;

/// The meaning of the numbers and bytes of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// The values themselves.
    Plain,
    Unsigned,
    /// Days since 1970: `2000-12-31`.
    Date,
    /// Fractions of a second since midnight: `23:59:59.5`.
    Time {
        per_second: i64,
    },
    /// Fractions of a second since 1970: `2000-12-31T23:59:59.5`, with `Z` for UTC.
    Timestamp {
        per_second: i64,
        utc: bool,
    },
    /// A number with a fixed count of digits after the point.
    Decimal {
        scale: usize,
    },
    /// 16 bytes: `00112233-4455-6677-8899-aabbccddeeff`.
    Uuid,
}

impl Spelling {
    /// The type of values with this spelling.
    pub fn value_type(self, physical: PhysicalType) -> ValueType {
        use PhysicalType::{BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, INT96};
        match (self, physical) {
            (_, PhysicalType::BOOLEAN) => ValueType::Boolean,
            (Spelling::Decimal { .. }, _) => ValueType::Number,
            (_, BYTE_ARRAY | FIXED_LEN_BYTE_ARRAY | INT96) => ValueType::Text,
            (Spelling::Plain | Spelling::Unsigned, _) => ValueType::Number,
            _ => ValueType::Text,
        }
    }

    pub fn of(column: &ColumnDescriptor) -> Self {
        let per_second = |unit: &TimeUnit| match unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        };
        let decimal = Spelling::Decimal {
            scale: usize::try_from(column.type_scale()).unwrap_or(0),
        };
        match column.logical_type_ref() {
            Some(LogicalType::Date) => Spelling::Date,
            Some(LogicalType::Uuid) => Spelling::Uuid,
            Some(LogicalType::Decimal(_)) => decimal,
            Some(LogicalType::Time(time)) => Spelling::Time {
                per_second: per_second(&time.unit),
            },
            Some(LogicalType::Timestamp(time)) => Spelling::Timestamp {
                per_second: per_second(&time.unit),
                utc: time.is_adjusted_to_u_t_c,
            },
            // Older files have only converted types.
            _ => match column.converted_type() {
                ConvertedType::UINT_32 | ConvertedType::UINT_64 => Spelling::Unsigned,
                ConvertedType::DATE => Spelling::Date,
                ConvertedType::DECIMAL => decimal,
                ConvertedType::TIME_MILLIS => Spelling::Time { per_second: 1_000 },
                ConvertedType::TIME_MICROS => Spelling::Time {
                    per_second: 1_000_000,
                },
                ConvertedType::TIMESTAMP_MILLIS => Spelling::Timestamp {
                    per_second: 1_000,
                    utc: true,
                },
                ConvertedType::TIMESTAMP_MICROS => Spelling::Timestamp {
                    per_second: 1_000_000,
                    utc: true,
                },
                _ => Spelling::Plain,
            },
        }
    }

    /// Whether the values of a column of `physical` type can have this spelling.
    pub fn reads(self, physical: PhysicalType) -> bool {
        match physical {
            PhysicalType::FIXED_LEN_BYTE_ARRAY => {
                matches!(self, Spelling::Uuid | Spelling::Decimal { .. })
            }
            _ => true,
        }
    }

    pub fn int32(self, value: i32) -> Vec<u8> {
        match self {
            // The bits are those of the unsigned number.
            Spelling::Unsigned => (value as u32).to_string().into(),
            _ => self.int64(value.into()),
        }
    }

    pub fn int64(self, value: i64) -> Vec<u8> {
        let spelled = match self {
            Spelling::Unsigned => Some((value as u64).to_string()),
            Spelling::Date => date(value),
            Spelling::Time { per_second } => time(value, per_second),
            Spelling::Timestamp { per_second, utc } => timestamp(value, per_second, utc),
            Spelling::Decimal { scale } => Some(decimal(value.into(), scale)),
            Spelling::Plain | Spelling::Uuid => None,
        };
        // A day outside of the calendar stays a number.
        spelled.unwrap_or_else(|| value.to_string()).into()
    }

    pub fn bytes(self, value: &[u8]) -> Vec<u8> {
        match self {
            Spelling::Decimal { scale } if !value.is_empty() && value.len() <= 16 => {
                // Big-endian, in two's complement.
                let sign = if value[0] < 0x80 { 0 } else { 0xff };
                let mut wide = [sign; 16];
                wide[16 - value.len()..].copy_from_slice(value);
                decimal(i128::from_be_bytes(wide), scale).into()
            }
            Spelling::Uuid if value.len() == 16 => {
                let mut spelled = String::with_capacity(36);
                for (place, byte) in value.iter().enumerate() {
                    if matches!(place, 4 | 6 | 8 | 10) {
                        spelled.push('-');
                    }
                    spelled += &format!("{byte:02x}");
                }
                spelled.into()
            }
            _ => value.to_vec(),
        }
    }
}

fn at(value: i64, per_second: i64) -> Option<DateTime<Utc>> {
    let nanoseconds = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
    DateTime::from_timestamp(value.div_euclid(per_second), nanoseconds.try_into().ok()?)
}

fn date(days: i64) -> Option<String> {
    let midnight = at(days.checked_mul(86_400)?, 1)?;
    Some(midnight.format("%Y-%m-%d").to_string())
}

fn time(value: i64, per_second: i64) -> Option<String> {
    let of_day: NaiveTime = at(value, per_second)?.time();
    Some(of_day.format("%H:%M:%S%.f").to_string())
}

fn timestamp(value: i64, per_second: i64, utc: bool) -> Option<String> {
    let zone = if utc { "Z" } else { "" };
    let at = at(value, per_second)?.format("%Y-%m-%dT%H:%M:%S%.f");
    Some(format!("{at}{zone}"))
}

/// A number without trailing zeros, so that equal numbers read the same.
fn decimal(unscaled: i128, scale: usize) -> String {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let part = part.trim_end_matches('0');
    let sign = if unscaled < 0 { "-" } else { "" };
    let point = if part.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_iso_8601_and_as_numbers() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(text(Spelling::Date.int32(11_322)), "2000-12-31");
        assert_eq!(text(Spelling::Date.int32(-1)), "1969-12-31");
        let milliseconds = Spelling::Timestamp {
            per_second: 1_000,
            utc: true,
        };
        assert_eq!(text(milliseconds.int64(0)), "1970-01-01T00:00:00Z");
        assert_eq!(text(milliseconds.int64(-1)), "1969-12-31T23:59:59.999Z");
        assert_eq!(text(milliseconds.int64(i64::MAX)), i64::MAX.to_string());
        let local = Spelling::Timestamp {
            per_second: 1_000_000_000,
            utc: false,
        };
        assert_eq!(text(local.int64(1_500_000_000)), "1970-01-01T00:00:01.500");
        let time = Spelling::Time { per_second: 1_000 };
        assert_eq!(text(time.int32(86_399_000)), "23:59:59");
        let cents = Spelling::Decimal { scale: 2 };
        assert_eq!(text(cents.int32(1250)), "12.5");
        assert_eq!(text(cents.int64(-5)), "-0.05");
        assert_eq!(text(cents.int64(300)), "3");
        assert_eq!(text(cents.bytes(&[0xff, 0x85])), "-1.23");
        let uuid: Vec<u8> = (0..16).map(|byte| byte * 0x11).collect();
        let spelled = "00112233-4455-6677-8899-aabbccddeeff";
        assert_eq!(text(Spelling::Uuid.bytes(&uuid)), spelled);
    }
}
