//! Texts and fields as people use them: kept, filtered by and shown, from the command line.

use crate::folder::{Folder, json, one_line, printed};
use serde_json::{Value, json};

fn ids(answer: &Value) -> Vec<&str> {
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["id"].as_str().unwrap()).collect()
}

const DOCS: &str = r#"{"id": "a", "text": "The running dogs bark", "lang": "en", "year": 1999, "tags": ["x", "y z"], "ok": true}
{"id": "b", "text": "Der Hund bellt, the dog barks", "lang": "de", "year": 2000, "tags": [], "ok": false}
{"id": "c", "text": "dog", "lang": null, "year": 1999.5}
{"id": "d\u001b[31m", "text": "a dog\u001b[2J with escapes", "lang": "en\u001b"}
"#;

fn small_index(folder: &Folder) {
    folder.put("docs.jsonl", DOCS);
    let args = "index docs.jsonl -o index --json --store --field lang,year --field tags,ok \
                --stemmer english";
    printed(folder, &args.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn filters_and_snippets() {
    let folder = Folder::new();
    small_index(&folder);
    for (filters, expected) in [
        (&[][..], &["c", "a", "d\u{1b}[31m", "b"][..]),
        (&["lang:en"], &["a"]),
        (&["lang:en\u{1b}"], &["d\u{1b}[31m"]),
        (&["-lang:en"], &["c", "d\u{1b}[31m", "b"]),
        (&["!lang:en", "year:1999.5"], &["c"]),
        (&["tags:y z", "ok:true"], &["a"]),
        (&["lang:en", "ok:false"], &[]),
        (&["lang:fr"], &[]),
    ] {
        let filters = filters.iter().flat_map(|filter| ["--filter", filter]);
        let filters: Vec<&str> = filters.collect();
        let args = [&["search", "index", "dog", "--json"], &filters[..]].concat();
        let mut expected = expected.to_vec();
        let answer = json(&folder, &args);
        let mut found = ids(&answer);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{filters:?}");
        let args = [&["search", "index", "dog", "--count"], &filters[..]].concat();
        assert_eq!(printed(&folder, &args), format!("{}\n", expected.len()));
    }
    let one = json(
        &folder,
        &[
            "search", "index", "run dog", "--json", "--filter", "lang:en",
        ],
    );
    let hit = &one["hits"][0];
    assert_eq!(hit["snippet"], "The running dogs bark");
    assert_eq!(hit["highlights"], json!([[4, 11], [12, 16]]));
    let fields = json!({"lang": "en", "year": 1999, "tags": ["x", "y z"], "ok": true});
    assert_eq!(hit["fields"], fields);
    assert_eq!(hit["text"], Value::Null);
    let args = [
        "search",
        "index",
        "bellt",
        "--json",
        "--text",
        "--no-snippets",
    ];
    let text = json(&folder, &args);
    assert_eq!(text["hits"][0]["text"], "Der Hund bellt, the dog barks");
    assert_eq!(text["hits"][0]["snippet"], Value::Null);
    let shown = printed(&folder, &["search", "index", "dog barks"]);
    assert!(
        shown.contains("lang: de; year: 2000; ok: false\n"),
        "{shown}"
    );
    assert!(
        shown.contains("      Der Hund bellt, the dog barks\n"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let shown = printed(&folder, &["search", "index", "bark", "--no-snippets"]);
    assert!(!shown.contains("Hund"), "{shown}");
    printed(&folder, &["check", "index"]);
    let info = json(&folder, &["info", "index", "--json"]);
    assert_eq!(info["fields"], json!(["lang", "year", "tags", "ok"]));
    assert_eq!(info["stores_text"], true);
    assert!(info["files"]["records"].as_u64() > Some(0), "{info}");
    let info = printed(&folder, &["info", "index"]);
    for part in ["bytes of field-terms", "keeps     texts; fields lang"] {
        assert!(info.contains(part), "{info}");
    }
}

#[test]
fn filters_alone_let_all_through_in_order() {
    let folder = Folder::new();
    small_index(&folder);
    for (filters, expected) in [
        (&["lang:en"][..], &["a"][..]),
        (&["-lang:en"], &["b", "c", "d\u{1b}[31m"]),
        (&["-lang:en", "-ok:false"], &["c", "d\u{1b}[31m"]),
        (&["lang:fr"], &[]),
        (&[], &[]),
    ] {
        let filters = filters.iter().flat_map(|filter| ["--filter", filter]);
        let filters: Vec<&str> = filters.collect();
        let args = [
            &["search", "index", "", "--json", "--explain"],
            &filters[..],
        ]
        .concat();
        let answer = json(&folder, &args);
        assert_eq!(ids(&answer), expected, "{filters:?}");
        for hit in answer["hits"].as_array().unwrap() {
            assert_eq!((&hit["score"], &hit["terms"]), (&json!(0.0), &json!([])));
        }
        let args = [&["search", "index", "", "--count"], &filters[..]].concat();
        assert_eq!(printed(&folder, &args), format!("{}\n", expected.len()));
    }
    // A word that no document has is no empty query; one that none may have leaves the others.
    for (query, expected) in [("nowhere", &[][..]), ("-bark", &["c", "d\u{1b}[31m"])] {
        let args = [
            "search", "index", "--json", "--filter", "-lang:fr", "--", query,
        ];
        assert_eq!(ids(&json(&folder, &args)), expected);
    }
    folder.put("queries.tsv", "1\t\n");
    let args = "search index --queries queries.tsv --filter -lang:de -k 2";
    let run = printed(&folder, &args.split(' ').collect::<Vec<_>>());
    assert_eq!(run, "1 Q0 a 1 0 tokapi\n1 Q0 c 2 0 tokapi\n");
}

#[test]
fn a_file_of_queries_is_filtered() {
    let folder = Folder::new();
    small_index(&folder);
    folder.put("queries.tsv", "1\tdog\n2\tbark\n");
    let args = "search index --queries queries.tsv --filter lang:de";
    let run = printed(&folder, &args.split(' ').collect::<Vec<_>>());
    let documents: Vec<&str> = run
        .lines()
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    assert_eq!(documents, ["b", "b"]);
}

#[test]
fn mistakes_are_told_in_one_line() {
    let folder = Folder::new();
    small_index(&folder);
    let search = |args: &[&str]| folder.run(&[&["search", "index", "dog"], args].concat());
    let unknown = search(&["--filter", "colour:red"]);
    one_line(&unknown, 2, &["colour", "lang, year, tags, ok"]);
    one_line(&search(&["--filter", "lang"]), 2, &["lang", "field:value"]);
    printed(&folder, &["index", "docs.jsonl", "-o", "plain"]);
    let plain = |args: &[&str]| folder.run(&[&["search", "plain", "dog"], args].concat());
    one_line(
        &plain(&["--filter", "lang:en"]),
        2,
        &["lang", "--field lang"],
    );
    one_line(&plain(&["--json", "--text"]), 2, &["plain", "--store"]);
    let index = |args: &[&str]| folder.run(&[&["index", "-o", "out/index"], args].concat());
    folder.put("docs.tsv", "a\tone\n");
    let has_none = index(&["docs.tsv", "--field", "lang"]);
    one_line(&has_none, 1, &["docs.tsv", "no field `lang`"]);
    folder.put(
        "object.jsonl",
        "{\"id\": 1, \"text\": \"x\", \"lang\": {}}\n",
    );
    let object = index(&["object.jsonl", "--field", "lang"]);
    one_line(
        &object,
        1,
        &["object.jsonl, line 1", "strings, numbers or booleans"],
    );
    one_line(
        &index(&["docs.jsonl", "--field", "a,a"]),
        2,
        &["`a`", "named once"],
    );
    assert_eq!(folder.written(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn standard_input_is_kept_too() {
    let folder = Folder::new();
    folder.put("docs.jsonl", DOCS);
    let script = "$0 index - -o out/index --store --field lang --json < docs.jsonl && \
                  $0 search out/index dog --filter lang:de --json";
    let run = crate::folder::shell(&folder, script);
    assert!(run.status.success(), "{run:?}");
    let text = String::from_utf8(run.stdout).unwrap();
    let answer: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(ids(&answer), ["b"]);
    assert_eq!(
        answer["hits"][0]["snippet"],
        "Der Hund bellt, the dog barks"
    );
    assert_eq!(folder.written(), ["index"]);
}

#[test]
fn other_formats_have_fields() {
    let folder = Folder::new();
    folder.put(
        "docs.trec",
        "<DOC><DOCNO>a</DOCNO><LANG> en </LANG><LANG>d&amp;e</LANG>red fox</DOC>\n\
         <DOC><DOCNO>b</DOCNO>red hen</DOC>\n",
    );
    let args = "index docs.trec -o index --store --field LANG --text-field LANG --json";
    printed(&folder, &args.split(' ').collect::<Vec<_>>());
    let args = [
        "search", "index", "en", "--json", "--text", "--filter", "LANG:d&e",
    ];
    let answer = json(&folder, &args);
    assert_eq!(ids(&answer), ["a"]);
    assert_eq!(answer["hits"][0]["fields"]["LANG"], json!(["en", "d&e"]));
    // The ids of these are their numbers.
    folder.put("docs.terms", "one\ntwo\n\n\nthree\n");
    printed(
        &folder,
        &["index", "docs.terms", "-o", "terms", "--store", "--json"],
    );
    let answer = json(&folder, &["search", "terms", "three", "--json", "--text"]);
    assert_eq!(answer["hits"][0]["id"], "2");
    assert_eq!(answer["hits"][0]["text"].as_str().unwrap().trim(), "three");
    // A Parquet file that Tokapi wrote: its columns are text or numbers.
    printed(
        &folder,
        &["weigh", "docs.trec", "-o", "weights.parquet", "--json"],
    );
    let args = "index weights.parquet -o parquet --on-error skip --id-field term --text-field \
                doc --field weight,doc --json";
    printed(&folder, &args.split_whitespace().collect::<Vec<_>>());
    let answer = json(
        &folder,
        &["search", "parquet", "a", "--json", "--filter", "doc:a"],
    );
    assert!(!ids(&answer).is_empty(), "{answer}");
    let weight = &answer["hits"][0]["fields"]["weight"];
    assert!(weight.is_f64(), "{answer}");
    let filter = format!("weight:{weight}");
    let same = json(
        &folder,
        &["search", "parquet", "a", "--json", "--filter", &filter],
    );
    assert!(ids(&same).contains(&ids(&answer)[0]));
}

#[test]
fn little_memory_and_broken_documents() {
    let folder = Folder::new();
    let mut docs = String::new();
    for number in 0..60_000 {
        let object = json!({
            "id": format!("d{}", number % 59_000),
            "text": format!("word{} other{} the text number {number}", number % 100, number % 7),
            "half": number % 2,
            "hundredth": format!("h {}", number % 100),
            "own": number,
        });
        docs += &format!("{object}\n");
        if number % 1000 == 0 {
            docs += "{broken\n";
        }
    }
    folder.put("docs.jsonl", docs);
    for (name, options) in [
        ("whole", ""),
        ("spilled", "--spill --memory 300MB --threads 2"),
    ] {
        let args = format!(
            "index docs.jsonl -o {name} --store --field half,hundredth,own --on-error skip --json {options}"
        );
        let summary = json(&folder, &args.split_whitespace().collect::<Vec<_>>());
        assert_eq!(summary["documents"], 59_000);
        assert_eq!(summary["skipped"], 1060);
        printed(&folder, &["check", name]);
        let count = |filters: &[&str]| {
            let args = [&["search", name, "word7", "--count"], filters].concat();
            printed(&folder, &args).trim().parse::<u64>().unwrap()
        };
        assert_eq!(count(&[]), 590);
        assert_eq!(count(&["--filter", "half:1"]), 590);
        assert_eq!(count(&["--filter", "half:0"]), 0);
        assert_eq!(count(&["--filter", "hundredth:h 7"]), 590);
        assert_eq!(count(&["--filter", "own:1007"]), 1);
        let args = ["search", name, "word7", "--json", "--filter", "own:1007"];
        let answer = json(&folder, &args);
        assert_eq!(ids(&answer), ["d1007"]);
        assert_eq!(
            answer["hits"][0]["snippet"],
            "word7 other6 the text number 1007"
        );
    }
    for file in ["records", "field-terms", "field-lists", "field-postings"] {
        let read = |name: &str| std::fs::read(folder.path(&format!("{name}/part-1/{file}")));
        assert!(read("whole").unwrap() == read("spilled").unwrap(), "{file}");
    }
    let left = |name: &str| std::fs::read_dir(folder.path(name)).unwrap().count();
    assert_eq!((left("spilled"), left("spilled/part-1")), (2, 10));
}
