//! Every number survives its way through text; anything else is refused.

use proptest::prelude::*;

use super::*;

fn lines(key_type: KeyType) -> Lines<'static> {
    Lines {
        key_type,
        path: Path::new("numbers.txt"),
    }
}

/// The keys of a text, of either width.
fn read(key_type: KeyType, text: &str) -> Result<Vec<u64>> {
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    match key_type.word_bytes() {
        4 => lines(key_type).keys32(text.as_bytes(), 1, &mut narrow)?,
        _ => lines(key_type).keys64(text.as_bytes(), 1, &mut wide)?,
    }
    wide.extend(narrow.into_iter().map(u64::from));
    Ok(wide)
}

#[test]
fn reads_what_people_write() {
    let bits = |float: f64| float.to_bits();
    assert_eq!(
        read(KeyType::U32, "0\r\n4294967295\n007").unwrap(),
        [0, u32::MAX.into(), 7]
    );
    assert_eq!(
        read(KeyType::U64, "18446744073709551615\n").unwrap(),
        [u64::MAX]
    );
    assert_eq!(
        read(KeyType::U64, "00000000000000000000000001").unwrap(),
        [1]
    );
    assert_eq!(read(KeyType::I32, "-2147483648\n-0").unwrap(), [1 << 31, 0]);
    assert_eq!(
        read(KeyType::I64, "-9223372036854775808").unwrap(),
        [1 << 63]
    );
    let floats = read(KeyType::F64, "3.5e7\n-0\ninf\n-inf\nnan\n").unwrap();
    let expected = [3.5e7, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(bits);
    assert_eq!(floats, expected);
    assert!(read(KeyType::F32, "").unwrap().is_empty());
}

#[test]
fn says_which_line_is_bad() {
    let bad = |key_type, text: &str| {
        let error = read(key_type, &format!("1\n2\n{text}\n4\n")).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("numbers.txt, line 3: "), "{message}");
    };
    for key_type in KeyType::ALL {
        for text in [
            "", " 1", "1 ", "+1", "1\t2", "x", "-", "1\r", "1\r\r", "0x1", "1,5", "--1",
        ] {
            // A line may end in `\r\n`.
            if text != "1\r" {
                bad(key_type, text);
            }
        }
    }
    bad(KeyType::U8, "256");
    bad(KeyType::U16, "65536");
    bad(KeyType::U32, "4294967296");
    bad(KeyType::U32, "-1");
    bad(KeyType::U32, "1.0");
    bad(KeyType::U64, "18446744073709551616");
    bad(KeyType::I32, "2147483648");
    bad(KeyType::I32, "-2147483649");
    bad(KeyType::I64, "9223372036854775808");
    bad(KeyType::I64, "-9223372036854775809");
    assert!(
        lines(KeyType::U64)
            .keys32(b"1", 1, &mut Vec::new())
            .is_err()
    );
}

#[test]
fn reads_pairs_and_refuses_half_ones() {
    let read = |text: &str| -> Result<(Vec<u64>, Vec<u64>)> {
        let (mut keys, mut payloads) = (Vec::new(), Vec::new());
        lines(KeyType::I64).pairs64(text.as_bytes(), 5, &mut keys, &mut payloads)?;
        Ok((keys, payloads))
    };
    assert_eq!(
        read("-1\t7\r\n2\t8").unwrap(),
        (vec![u64::MAX, 2], vec![7, 8])
    );
    for text in ["1", "1\t", "1\t-1", "1 2", "1\t2\t3", "\t1"] {
        let message = read(&format!("1\t2\n{text}\n")).unwrap_err().to_string();
        assert!(message.starts_with("numbers.txt, line 6: "), "{message}");
    }
}

proptest! {
    #[test]
    fn text_reads_back(bits in any::<u64>(), payload in any::<u64>()) {
        for key_type in KeyType::ALL {
            let mut line = Vec::new();
            let (mut key, mut nan) = (bits, f64::from_bits(bits).is_nan());
            if key_type.word_bytes() == 4 {
                key = bits >> (64 - 8 * key_type.bytes());
                nan = f32::from_bits((bits >> 32) as u32).is_nan();
                write_key32(key_type, key as u32, &mut line);
            } else {
                write_key64(key_type, bits, &mut line);
            }
            let back = read(key_type, std::str::from_utf8(&line).unwrap()).unwrap();
            if !nan || !matches!(key_type, KeyType::F32 | KeyType::F64) {
                prop_assert_eq!(back, [key]);
            }
        }
        let mut line = Vec::new();
        write_key64(KeyType::F64, bits >> 2, &mut line);
        line.push(b'\t');
        write_unsigned(payload, &mut line);
        let (mut keys, mut payloads) = (Vec::new(), Vec::new());
        lines(KeyType::F64).pairs64(&line, 1, &mut keys, &mut payloads).unwrap();
        prop_assert_eq!((keys, payloads), (vec![bits >> 2], vec![payload]));
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..40)) {
        for key_type in KeyType::ALL {
            let _ = lines(key_type).keys32(&text, 1, &mut Vec::new());
            let _ = lines(key_type).pairs64(&text, 1, &mut Vec::new(), &mut Vec::new());
        }
    }
}
