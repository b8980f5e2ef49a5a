//! Changes of an index that are killed: it is in the state before or after, whole, and others go on.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::time::Duration;

use crate::folder::{Folder, Killer, Random, rounds};
use tokapi::Index;
use tokapi::{Query, SearchOptions};

/// Kills, each at a random moment of the time that a change takes.
const KILLS: u64 = 30;

type Ids = BTreeSet<String>;

/// The ids of all documents; each has the word "all".
fn ids(folder: &Folder) -> Ids {
    let index = Index::open(folder.path("index")).unwrap();
    let options = SearchOptions::default().k(1_000_000);
    let hits = index.search(&Query::any(["all"]), &options).unwrap();
    let ids: Ids = hits
        .iter()
        .map(|hit| index.id(hit.document).unwrap().into_owned())
        .collect();
    assert_eq!(ids.len() as u64, index.statistics().documents);
    ids
}

/// Writes documents numbered from `first` on.
fn documents(folder: &Folder, first: u64, count: u64, random: &mut Random) -> Ids {
    let (mut text, mut ids) = (String::new(), Ids::new());
    for number in first..first + count {
        write!(text, "d{number}\tall").unwrap();
        for _ in 0..random.below(60) {
            write!(text, " w{}", random.below(3000).min(random.below(3000))).unwrap();
        }
        text.push('\n');
        ids.insert(format!("d{number}"));
    }
    fs::write(folder.path("new.tsv"), text).unwrap();
    ids
}

/// A change: its arguments, and the documents there are after it.
fn change(
    folder: &Folder,
    before: &Ids,
    next: &mut u64,
    random: &mut Random,
) -> (&'static str, Ids) {
    let mut after = before.clone();
    let append = "index new.tsv -o index --append --replace";
    match random.below(if before.len() > 6000 { 12 } else { 9 }) {
        0..4 => {
            after.extend(documents(folder, *next, 150, random));
            *next += 150;
            (append, after)
        }
        4 => {
            // Some that are there, some that were, some new.
            let first = next.saturating_sub(400);
            after.extend(documents(folder, first, 500, random));
            *next = first + 500;
            (append, after)
        }
        5 => ("merge index", after),
        which => {
            let share = if which < 9 { 40 } else { 3 };
            after.retain(|_| random.below(share) != 0);
            let gone: Vec<&str> = before.difference(&after).map(String::as_str).collect();
            fs::write(folder.path("gone.txt"), gone.join("\n")).unwrap();
            ("delete index --ids gone.txt", after)
        }
    }
}

#[test]
fn a_killed_change_has_happened_or_not() {
    let folder = Folder::new();
    let mut random = Random(1);
    let mut there = documents(&folder, 0, 2000, &mut random);
    let built = folder.run(&["index", "new.tsv", "-o", "index", "--store", "--positions"]);
    assert!(built.status.success(), "{built:?}");
    let (mut next, mut kept) = (2000, 0);
    let mut killer = Killer {
        random: Random(2),
        latest: Duration::from_millis(20),
        kills: 0,
    };
    // Some are killed after the moment of change, while parts are merged or files removed, and some before.
    while !killer.is_done(rounds(KILLS), kept > 0 && kept < killer.kills) {
        let (args, after) = change(&folder, &there, &mut next, &mut random);
        let (killed, _) = killer.run(&folder, &args.split(' ').collect::<Vec<_>>());
        let checked = folder.run(&["check", "index"]);
        assert!(checked.status.success(), "{args}: {checked:?}");
        let now = ids(&folder);
        let has_happened = now == after;
        assert!(has_happened || killed && now == there, "{args}");
        kept += u64::from(killed && has_happened && after != there);
        there = now;
    }
    let merged = folder.run(&["merge", "index"]);
    assert!(merged.status.success(), "{merged:?}");
    assert_eq!(ids(&folder), there);
    let mut names = folder.names("index");
    names.retain(|name| !name.starts_with("part-"));
    assert!(names[0].starts_with("epoch-"), "{names:?}");
    assert_eq!(names[1..], ["lock"]);
}
