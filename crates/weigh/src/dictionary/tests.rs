//! Laws of a dictionary.

use std::collections::BTreeSet;
use std::ops::Bound;

use proptest::prelude::*;

use super::{Dictionary, layout};

/// Checks all laws of the dictionary of `terms`.
fn check<S: AsRef<[u8]>>(terms: &[S]) -> Dictionary {
    let dictionary = Dictionary::build(terms).unwrap();
    holds(&dictionary, terms);
    dictionary
}

/// Members have distinct ids below their number, ids have their terms, near misses are unknown.
fn holds<S: AsRef<[u8]>>(dictionary: &Dictionary, terms: &[S]) {
    let members: BTreeSet<&[u8]> = terms.iter().map(AsRef::as_ref).collect();
    assert_eq!(dictionary.len(), members.len() as u64);
    assert_eq!(dictionary.is_empty(), members.is_empty());
    let mut taken = vec![false; members.len()];
    for &term in &members {
        let id = dictionary.lookup(term).expect("a member");
        assert!(
            !std::mem::replace(&mut taken[id as usize], true),
            "{id} twice"
        );
        assert_eq!(dictionary.term(id).as_deref(), Some(term));
    }
    assert_eq!(dictionary.term(members.len() as u32), None);
    in_order(dictionary, &members, b"");
    for &term in members.iter().step_by(1 + members.len() / 50) {
        in_order(dictionary, &members, term);
        for first in near_misses(term) {
            in_order(dictionary, &members, &first);
        }
    }
    for &term in &members {
        for other in near_misses(term) {
            let known = dictionary.lookup(&other).is_some();
            assert_eq!(known, members.contains(&other[..]), "{other:?}");
        }
    }
}

/// From any term on, the terms come in ascending order, each with its id.
fn in_order(dictionary: &Dictionary, members: &BTreeSet<&[u8]>, first: &[u8]) {
    let (mut ordered, mut term) = (dictionary.arrays().from(first), Vec::new());
    for &expected in members.range::<[u8], _>((Bound::Included(first), Bound::Unbounded)) {
        let id = ordered.next(&mut term);
        assert_eq!(term, expected, "from {first:?}");
        assert_eq!(id, dictionary.lookup(expected));
    }
    assert_eq!(ordered.next(&mut term), None, "from {first:?}");
    assert_eq!(ordered.next(&mut term), None);
}

/// The term without its last byte, with one more, and with one changed.
fn near_misses(term: &[u8]) -> Vec<Vec<u8>> {
    let mut others = vec![[term, b"\0"].concat(), [term, b"a"].concat()];
    if let Some((_, front)) = term.split_last() {
        others.push(front.to_vec());
        others.push(term[1..].to_vec());
    }
    for place in [0, term.len() / 2, term.len().saturating_sub(1)] {
        let mut other = term.to_vec();
        if let Some(byte) = other.get_mut(place) {
            *byte = byte.wrapping_add(1);
            others.push(other);
        }
    }
    others
}

#[test]
fn by_hand() {
    let none: [&str; 0] = [];
    assert_eq!(check(&none).lookup(b""), None);
    assert_eq!(check(&none).lookup(b"a"), None);
    assert_eq!(check(&[""]).lookup(b"a"), None);
    check(&["a"]);
    check(&["", "a"]);
    check(&["", "\0", "\0\0", "\0\0\0"]);
    check(&["bound", "boundary", "b", "layer", "boundary", "layer"]);
    check(&[
        "a",
        "ab",
        "abc",
        "abcd",
        "abcdefghijklmnopqrstuvwxyz",
        "abcdefghijklmnopqrstuvwxyza",
    ]);
}

#[test]
fn ids_go_by_level() {
    // Too many terms for one leaf begin with a. Their node is on level 1, so their leaves follow that of c.
    let numbers = || b'A'..b'A' + 16;
    let mut terms: Vec<Vec<u8>> = numbers().map(|byte| vec![b'a', byte]).collect();
    terms.extend([b"a".to_vec(), b"cde".to_vec(), b"cd".to_vec()]);
    let dictionary = check(&terms);
    let id = |term: &[u8]| dictionary.lookup(term);
    assert_eq!(
        [id(b"cd"), id(b"cde"), id(b"aA")],
        [Some(0), Some(1), Some(2)]
    );
    assert_eq!([id(b"aP"), id(b"a")], [Some(17), Some(18)]);
    assert_eq!(
        (dictionary.stats().nodes, dictionary.stats().leaves),
        (2, 18)
    );
}

#[test]
fn every_byte_and_every_pair_of_bytes() {
    let mut terms = vec![vec![]];
    for a in 0..=255u8 {
        terms.push(vec![a]);
        terms.extend((0..=255u8).map(|b| vec![a, b]));
    }
    check(&terms);
    terms.retain(|term| term.len() == 1);
    check(&terms);
}

#[test]
fn long_terms() {
    let long = |length: usize, last: u8| [vec![b'x'; length - 1], vec![last]].concat();
    check(&[
        long(1 << 16, b'a'),
        long(1 << 16, b'b'),
        long(1 << 15, b'c'),
        b"x".to_vec(),
    ]);
    for length in 250..260 {
        check(&[long(length, b'a'), b"y".to_vec(), long(length + 20, b'a')]);
    }
    check(&[vec![b'x'; 1 << 20]]);
    // Nodes all the way, and leaves with long tails only.
    let path: Vec<Vec<u8>> = (b'A'..=b'Z').map(|last| long(3000, last)).collect();
    check(&path);
    let tails: Vec<Vec<u8>> = (b'A'..=b'Z')
        .map(|first| [vec![first], long(400, first)].concat())
        .collect();
    check(&tails);
}

/// Enough short terms for shortcuts of several bytes.
#[test]
fn shortcuts_of_every_depth() {
    for (letters, depth) in [(2u32, 4), (10, 3), (40, 2), (200, 1)] {
        let term = |number: u32| {
            let mut number = number.wrapping_mul(2_654_435_769) >> 8;
            let length = 1 + number % 9;
            number /= 9;
            let digit = |_| {
                let digit = number % letters;
                number = (number / letters).wrapping_mul(7).wrapping_add(digit);
                digit as u8
            };
            (0..length).map(digit).collect::<Vec<u8>>()
        };
        let terms: Vec<Vec<u8>> = (0..20_000).map(term).collect();
        let dictionary = check(&terms);
        let found = dictionary.arrays().shortcut_depth;
        assert!(found >= depth - 1, "{letters} letters: {found}");
    }
}

fn bytes(dictionary: &Dictionary) -> Vec<u8> {
    bytemuck::cast_slice(dictionary.image.words()).to_vec()
}

fn small() -> Vec<&'static str> {
    const LONG: [u8; 300] = [b'x'; 300];
    let long = std::str::from_utf8(&LONG).unwrap_or_default();
    let mut terms = vec![
        "", "a", "ab", "abc", "b", "bound", "boundary", "layer", "layers",
    ];
    terms.extend("boa bob boc bod boe bof bog boh boi boj bok bol bom bon boo bop".split(' '));
    terms.push(long);
    terms
}

#[test]
fn what_is_saved_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("terms.dict");
    let none: Vec<&str> = Vec::new();
    for terms in [small(), vec![""], none] {
        let built = check(&terms);
        built.save(&path).unwrap();
        let opened = Dictionary::open(&path).unwrap();
        holds(&opened, &terms);
        assert_eq!(opened.stats(), built.stats());
        assert_eq!(opened.stats().bytes, path.metadata().unwrap().len());
    }
}

#[test]
fn damage_is_one_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("terms.dict");
    let whole = bytes(&check(&small()));
    let refuse = |bytes: &[u8]| {
        let error = Dictionary::from_bytes("terms.dict", bytes).err().unwrap();
        assert!(error.to_string().starts_with("terms.dict: "), "{error}");
    };
    for length in 0..whole.len() {
        refuse(&whole[..length]);
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(Dictionary::open(&path).is_err());
    }
    for place in 0..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[place] ^= flip;
            refuse(&damaged);
        }
    }
    refuse(&[&whole[..], &[0; 8]].concat());
    assert!(Dictionary::open(folder.path()).is_err());
    assert!(Dictionary::open(folder.path().join("none")).is_err());
}

/// Arrays that no program wrote, with a valid checksum.
#[test]
fn forged_arrays_are_refused_or_walked_without_leaving_them() {
    let dictionary = check(&small());
    let mut opened = 0;
    for word in 2..dictionary.image.words().len() {
        for bit in 0..64 {
            let mut image = dictionary.image.words().to_vec();
            image[word] ^= 1 << bit;
            layout::seal(&mut image);
            if let Ok(forged) = Dictionary::from_bytes("forged", bytemuck::cast_slice(&image)) {
                walk(&forged);
                opened += 1;
            }
        }
    }
    assert!(opened > 0, "labels may be anything");
}

fn walk(dictionary: &Dictionary) {
    for term in small() {
        let id = dictionary.lookup(term.as_bytes());
        assert!(id.is_none_or(|id| u64::from(id) < dictionary.len()));
        near_misses(term.as_bytes()).iter().for_each(|term| {
            dictionary.lookup(term);
        });
    }
    for id in 0..dictionary.len() {
        assert!(dictionary.term(id as u32).is_some());
    }
    for first in small() {
        let (mut ordered, mut count) = (dictionary.arrays().from(first.as_bytes()), 0);
        while ordered.next(&mut Vec::new()).is_some() {
            count += 1;
        }
        assert!(count <= dictionary.len());
        assert!(!first.is_empty() || count == dictionary.len());
    }
}

proptest! {
    #[test]
    fn any_terms(terms in prop::collection::vec(prop::collection::vec(0u8.., 0..20), 0..200)) {
        check(&terms);
    }

    #[test]
    fn terms_with_much_in_common(terms in prop::collection::vec("[ab]{0,12}", 0..400)) {
        check(&terms);
    }

    #[test]
    fn order_and_repeats_do_not_matter(terms in prop::collection::vec("[a-d]{0,5}", 0..100)) {
        let once: BTreeSet<&String> = terms.iter().collect();
        let (a, b) = (Dictionary::build(&terms).unwrap(), Dictionary::build(once).unwrap());
        prop_assert_eq!(a.image.words(), b.image.words());
    }
}
