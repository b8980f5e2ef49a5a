//! Records that are bad or empty: an error of one line that names the place, or the documented treatment; never a panic.

use std::fs;

use crate::folder::{Folder, around, counts, shell};

#[test]
fn a_bad_record_stops_with_its_place_or_is_skipped_and_counted() {
    let folder = Folder::new();
    #[rustfmt::skip]
    let cases: [(&str, &[u8], &[&str]); 29] = [
        ("jsonl", b"{\"id\":\"x\",\"contents\":\"caf\xe9\"}", &["line 2", "UTF-8"]),
        ("jsonl", b"{\"id\":\"x\xff\",\"contents\":\"\"}", &["line 2", "UTF-8"]),
        ("jsonl", b"{\"id\":\"x\",\"contents\":\"cut", &["line 2", "broken JSON"]),
        ("jsonl", b"{\"id\":\"x\",\"contents\":\"\"", &["line 2", "broken JSON"]),
        ("jsonl", b"{\"id\":\"x\",\"contents\":\"\"} {}", &["line 2", "broken JSON"]),
        ("jsonl", b"{\"id\":\"x\",\"contents\":\"\\ud800\"}", &["line 2", "broken JSON"]),
        ("jsonl", b"[1, 2]", &["line 2", "object"]),
        ("jsonl", b"\0\0\0", &["line 2", "broken JSON"]),
        ("jsonl", b"{\"contents\":\"x\"}", &["line 2", "no field `id`"]),
        ("jsonl", b"{\"id\":\"x\"}", &["line 2", "no field `contents`"]),
        ("jsonl", b"{\"id\":null,\"contents\":\"x\"}", &["line 2", "the id is empty or null"]),
        ("jsonl", b"{\"id\":\"\",\"contents\":\"x\"}", &["line 2", "the id is empty"]),
        ("tsv", b"x\tcaf\xe9", &["line 2", "UTF-8"]),
        ("tsv", b"no tab here", &["line 2", "no tab", "id<TAB>text"]),
        ("tsv", b"\tno id", &["line 2", "the id before the tab is empty"]),
        ("trec", b"<DOC><DOCNO>x</DOCNO>caf\xe9</DOC>", &["line 2", "UTF-8"]),
        ("trec", b"<DOC>no id</DOC>", &["line 2", "no `<DOCNO>`"]),
        ("trec", b"<DOC><DOCNO>x</DOCNO>no end", &["line 2", "`</DOC>` is missing"]),
        ("json", b",\n{\"id\":\"x\",\n\"contents\":\"caf\xe9\"}", &["line 4", "UTF-8"]),
        ("json", b",\n{\"id\":\"x\",\n\"contents\" \"\"}", &["line 5", "broken JSON"]),
        ("json", b",\n\n{\"contents\":\"x\"}", &["line 5", "no field `id`"]),
        ("json", b",\n\"a, b\"", &["line 4", "object"]),
        ("csv", b"en,caf\xe9,x", &["line 4", "UTF-8"]),
        ("csv", b"en,\"a\nb\",x,y", &["line 4", "a row of 4 columns; the first row names 3"]),
        ("csv", b"en,text,", &["line 4", "the id is empty"]),
        ("table.tsv", b"\tx\tcaf\xe9", &["line 3", "UTF-8"]),
        ("table.tsv", b"x\ttext", &["line 3", "a row of 2 columns; the first row names 3"]),
        ("table.tsv", b"a\t\tb", &["line 3", "the id is empty"]),
        ("terms", b"good\ncaf\xe9\n\n", &["line 6", "UTF-8"]),
    ];
    for (extension, bad, parts) in cases {
        let (name, clean) = (format!("docs.{extension}"), format!("clean.{extension}"));
        folder.put(&clean, around(extension, b""));
        folder.put(&name, around(extension, bad));
        let stopped = [&[&*name, "--on-error skip"], parts].concat();
        folder.refuses(&[&name], 1, &stopped);

        let (summary, output) = folder.weighs(&[&name, "--on-error", "skip"]);
        assert_eq!(counts(&summary), (2, 1), "{extension} {parts:?}");
        let reason = summary["skipped_reasons"][0].as_str().unwrap();
        assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
        assert!(!reason.contains("--on-error"), "{reason}");
        let same = output == folder.weighs(&[&clean]).1;
        assert!(same, "{extension} {parts:?}: other weights");
    }
}

#[test]
fn a_file_cut_off_in_a_record_says_so() {
    let folder = Folder::new();
    let jsonl = around("jsonl", b"");
    folder.put("docs.jsonl", &jsonl[..jsonl.len() - 5]);
    folder.refuses(&["docs.jsonl"], 1, &["docs.jsonl, line 3", "broken JSON"]);
    let trec = around("trec", b"");
    let second = trec.len() - "<DOC><DOCNO>b</DOCNO>two three</DOC>\n".len();
    // In the text, in the end tag, behind the id, behind the first tag, within it.
    for length in [
        trec.len() - 8,
        trec.len() - 3,
        second + 20,
        second + 5,
        second + 3,
    ] {
        folder.put("docs.trec", &trec[..length]);
        folder.refuses(&["docs.trec"], 1, &["docs.trec, line 3", "cut off"]);
        assert_eq!(folder.skips("docs.trec"), (1, 1));
    }
}

#[test]
fn the_format_is_wrong() {
    let folder = Folder::new();
    for (name, place, said) in [
        ("text.jsonl", "text.jsonl, line 1", "broken JSON"),
        ("text.trec", "text.trec, line 1", "not TREC"),
        ("text.parquet", "text.parquet", "not a whole Parquet file"),
    ] {
        folder.put(name, "plain words\n");
        folder.refuses(&[name], 1, &[place, said]);
    }
    folder.put("latin.txt", b"caf\xe9 au\nlait");
    folder.refuses(&["latin.txt"], 1, &["latin.txt, line 1", "UTF-8"]);
    assert_eq!(folder.skips("latin.txt"), (0, 1));
}

/// A row is the name and the content of a file, options, the end of the error, and whether to skip may help.
#[test]
fn a_file_without_the_fields_names_those_that_it_has() {
    let folder = Folder::new();
    let jsonl = "{\"contents\":\"one\",\"id\":1}\n{\"id\":2}\n";
    let body = &["--text-field", "body"][..];
    let csv = &["--format", "csv"][..];
    for (name, text, options, said, skips) in [
        (
            "a.jsonl",
            jsonl,
            body,
            "line 1: no field `body`; there are contents, id: name the text's field (--text-field)",
            false,
        ),
        (
            "a.jsonl",
            jsonl,
            &[],
            "line 2: no field `contents` or `text`; there is only id: name the text's field (--text-field)",
            true,
        ),
        (
            "a.jsonl",
            jsonl,
            &["--id-field", "key"],
            "line 1: no field `key`; there are contents, id: name the id's field (--id-field)",
            false,
        ),
        (
            "a.csv",
            "key,text\n1,one\n",
            &[],
            "no column `id`; there are key, text: name the id's column (--id-field)",
            false,
        ),
        (
            "a.csv",
            "id,text\n1,one\n",
            body,
            "no column `body`; there are id, text: name the text's column (--text-field)",
            false,
        ),
        (
            "a.jsonl",
            jsonl,
            csv,
            "but it begins with {\"contents\":\"one\",\"id\":1}: is this really CSV?",
            false,
        ),
        (
            "a.trec",
            "plain words\n",
            &[],
            "this is not TREC SGML; name the format (--format)",
            false,
        ),
        (
            "a.html",
            "<p>words</p>",
            &[],
            "to take it as one document (--format text)",
            false,
        ),
        ("a.parquet", "words", &[], "write or fetch it again", false),
    ] {
        folder.put(name, text);
        let args = [&[name], options].concat();
        folder.refuses(&args, 1, &[name, said]);
        let run = folder.run(&[&["stats"], &args[..]].concat());
        let error = String::from_utf8(run.stderr).unwrap();
        assert_eq!(error.contains("--on-error skip"), skips, "{error}");
    }
    // Among other files, it can be left out.
    folder.put("b.tsv", around("tsv", b""));
    folder.refuses(
        &["a.html", "b.tsv"],
        1,
        &["or leave it out (--on-error skip)"],
    );
    // A long row is cut.
    let long = format!("{{\"id\":1,\"contents\":\"{}\"}}\n", "word ".repeat(999));
    folder.put("long.csv", long);
    let run = folder.run(&["stats", "long.csv"]);
    assert!(run.stderr.len() < 250, "{run:?}");
}

#[test]
fn several_formats_in_a_folder_are_named() {
    let folder = Folder::new();
    fs::create_dir(folder.path("docs")).unwrap();
    for name in ["a.jsonl", "b.jsonl.gz", "queries.tsv"] {
        folder.put(&format!("docs/{name}"), "");
    }
    let said = |args: &[&str]| {
        let run = folder.run(&[&["weigh", "--to", "none", "--json"], args].concat());
        assert!(run.status.success(), "{run:?}");
        String::from_utf8(run.stderr).unwrap()
    };
    assert_eq!(
        said(&["docs"]),
        "tokapi: the inputs have several formats: jsonl (2 files), tsv (docs/queries.tsv)\n"
    );
    assert_eq!(said(&["docs/*.jsonl*"]), "");
    assert_eq!(said(&["docs", "--format", "terms"]), "");
}

#[test]
fn tables_and_arrays_are_read_as_jsonl_is() {
    let folder = Folder::new();
    folder.put("clean.jsonl", around("jsonl", b""));
    let (_, expected) = folder.weighs(&["clean.jsonl"]);
    for extension in ["json", "csv", "table.tsv"] {
        let name = format!("docs.{extension}");
        folder.put(&name, around(extension, b""));
        for chunk in ["--chunk-size=16MiB", "--chunk-size=1"] {
            let (summary, output) = folder.weighs(&[&name, chunk]);
            assert_eq!(counts(&summary), (2, 0), "{name}");
            assert!(output == expected, "{name} {chunk}: other weights");
        }
        // Without a name, and compressed.
        for script in ["cat", "gzip", "zstd -q"] {
            let script = format!("{script} < {name} | \"$0\" stats --json -");
            let run = shell(&folder, &script);
            let summary = String::from_utf8(run.stdout).unwrap();
            assert!(summary.contains("\"documents\":2"), "{name}: {summary}");
        }
        let format = extension.rsplit('.').next().unwrap();
        fs::copy(folder.path(&name), folder.path("nameless")).unwrap();
        let (_, output) = folder.weighs(&["nameless", "--format", format]);
        assert!(output == expected, "{name}: other weights");
    }
}

#[test]
fn tables_and_arrays_serve_every_verb() {
    let folder = Folder::new();
    let fields = |run: std::process::Output| {
        assert!(run.status.success(), "{run:?}");
        String::from_utf8(run.stdout).unwrap()
    };
    let numbers = "{\"id\":1,\"text\":\"x\",\"n\":2.0}\n{\"id\":2,\"text\":\"x\",\"n\":-0.0}\n";
    folder.put("numbers.jsonl", numbers);
    fields(folder.run(&["index", "numbers.jsonl", "-o", "numbers", "--field", "n"]));
    for (filter, id) in [("n:2", 1), ("n:2.0", 1), ("n:0", 2), ("n:-0", 2)] {
        let found = fields(folder.run(&["search", "numbers", "", "--filter", filter, "--json"]));
        let id = format!("\"id\":\"{id}\"");
        assert!(found.contains(&id), "{filter}: {found}");
    }
    let csv = "id,text,lang\n1,one two,en\n2,\"deux, trois\",fr\n3,three,\n";
    folder.put("docs.csv", csv);
    folder.put(
        "docs.tsv",
        "id\ttext\tlang\n1\tone two\ten\n2\tdeux, trois\tfr\n3\tthree\t\n",
    );
    let json = r#"[{"id":1,"text":"one two","lang":"en"},
        {"id":2,"text":"deux, trois","lang":"fr"}, {"id":3,"text":"three"}]"#;
    folder.put("docs.json", json);
    for name in ["docs.csv", "docs.tsv", "docs.json"] {
        let index = format!("{name}.index");
        let build = ["index", name, "-o", &index, "--store", "--field", "lang"];
        fields(folder.run(&build));
        let search = ["search", &index, "", "--filter", "lang:fr", "--json"];
        let found = fields(folder.run(&search));
        assert!(found.contains("\"id\":\"2\""), "{name}: {found}");
        assert!(!found.contains("\"id\":\"3\""), "{name}: {found}");
        for runner in ["threads", "processes"] {
            let job = ["mapreduce", "wordcount", name, "-o", "out/counts.tsv"];
            let args = [&job[..], &["--runner", runner, "--chunk-size", "20"]].concat();
            fields(folder.run(&args));
            let counts = fs::read_to_string(folder.path("out/counts.tsv")).unwrap();
            assert_eq!(counts.lines().count(), 5, "{name} {runner}: {counts}");
            fs::remove_file(folder.path("out/counts.tsv")).unwrap();
        }
    }
}

#[test]
fn an_array_or_a_table_that_is_cut_off_says_so() {
    let folder = Folder::new();
    let json = around("json", b"");
    for (cut, said, whole) in [(3, "cut off", 2), (9, "broken JSON", 1)] {
        folder.put("docs.json", &json[..json.len() - cut]);
        folder.refuses(&["docs.json"], 1, &["docs.json, line 4", said]);
        assert_eq!(folder.skips("docs.json"), (whole, 1));
    }
    folder.put("docs.csv", "id,text\na,one\nb,\"two\nthree");
    folder.refuses(&["docs.csv"], 1, &["docs.csv, line 3", "does not end"]);
    assert_eq!(folder.skips("docs.csv"), (1, 1));
    folder.put("docs.csv", "1,some text\n2,more\n");
    let parts = [
        "docs.csv, line 1",
        "the first row must name the columns",
        "1, some text",
    ];
    folder.refuses(&["docs.csv"], 1, &parts);
}

#[test]
fn a_repeated_id_stops_or_the_first_document_wins() {
    let folder = Folder::new();
    let line = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"contents\":\"{text}\"}}\n");
    let lines = line("a", "one two") + &line("a", "other") + &line("b", "two");
    folder.put("1.jsonl", lines);
    let more = "c\tthree two two\nb\tbad worse\nd\tone\na\tthird\n";
    folder.put("2.tsv", more);
    let clean = "a\tone two\nb\ttwo\nc\tthree two two\nd\tone\n";
    folder.put("clean.tsv", clean);
    folder.refuses(
        &["1.jsonl"],
        1,
        &["1.jsonl", "document 2", "`a`", "document 1"],
    );
    folder.refuses(
        &["clean.tsv", "2.tsv"],
        1,
        &["2.tsv", "document 5 of the input", "`c` of document 3"],
    );
    let clean = folder.weighs(&["clean.tsv"]).1;
    for chunk in ["--chunk-size=16MiB", "--chunk-size=10"] {
        let args = ["1.jsonl", "2.tsv", "--on-error", "skip", chunk];
        let (summary, output) = folder.weighs(&args);
        assert_eq!(counts(&summary), (4, 3));
        let reason = summary["skipped_reasons"][1].as_str().unwrap();
        assert!(reason.starts_with("2.tsv"), "{reason}");
        assert!(output == clean, "{chunk}: other weights");
    }
    // In Parquet, the ids of the weights' documents repeat.
    folder.put("w.parquet", &clean);
    let parquet = ["w.parquet", "--id-field", "doc", "--text-field", "term"];
    folder.refuses(&parquet, 1, &["w.parquet", "ids must differ"]);
    let (summary, _) = folder.weighs(&[&parquet[..], &["--on-error", "skip"]].concat());
    assert_eq!(counts(&summary), (4, 2));
}

#[test]
fn the_first_ten_reasons_are_kept_and_all_are_counted() {
    let folder = Folder::new();
    let bad: String = (0..25).map(|n| format!("line {n}\n")).collect();
    folder.put("docs.tsv", bad + "a\tgood\n");
    let (summary, _) = folder.weighs(&["docs.tsv", "--on-error", "skip"]);
    assert_eq!(counts(&summary), (1, 25));
    assert_eq!(summary["skipped_reasons"].as_array().unwrap().len(), 10);
    let run = folder.run(&["stats", "docs.tsv", "--on-error", "skip"]);
    let text = String::from_utf8(run.stdout).unwrap();
    for part in ["docs.tsv, line 10: no tab", "and 15 more"] {
        assert!(text.contains(part), "{text}");
    }
}

/// An empty document counts in N and has no weights; an empty file of records has no document.
#[test]
fn empty_documents_count_and_empty_inputs_give_an_empty_output() {
    let folder = Folder::new();
    let empty: [(&str, &[u8]); 4] = [
        ("jsonl", b"{\"id\":\"x\",\"contents\":\"\"}"),
        ("tsv", b"x\t"),
        ("trec", b"<DOC><DOCNO>x</DOCNO></DOC>"),
        ("terms", b"\n"),
    ];
    for (extension, empty) in empty {
        let name = format!("docs.{extension}");
        folder.put(&name, around(extension, empty));
        let (summary, _) = folder.weighs(&[&name]);
        assert_eq!(counts(&summary), (3, 0), "{name}");
        assert_eq!(summary["tokens"], 5, "{name}");
        folder.put(&format!("none.{extension}"), "");
    }
    folder.put("spaces.trec", " \n \n");
    folder.put("spaces.jsonl", " \n \n");
    fs::create_dir(folder.path("folder")).unwrap();
    for name in [
        "none.jsonl",
        "none.tsv",
        "none.trec",
        "none.terms",
        "spaces.trec",
        "spaces.jsonl",
        "-",
    ] {
        let (summary, output) = folder.weighs(&[name]);
        assert_eq!(counts(&summary), (0, 0), "{name}");
        // Whole, and readable.
        folder.put("w.parquet", output);
        let (summary, _) = folder.weighs(&["w.parquet", "--id-field=doc", "--text-field=term"]);
        assert_eq!(counts(&summary), (0, 0), "{name}");
    }
    let run = folder.run(&["weigh", "--json", "-o", "out/w.tsv", "folder"]);
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(said, "tokapi: folder: no file in this folder\n");
    assert!(run.status.success());
    fs::remove_file(folder.path("out/w.tsv")).unwrap();
    folder.put("empty.txt", "");
    assert_eq!(counts(&folder.weighs(&["empty.txt"]).0), (1, 0));
}

#[test]
fn values_out_of_range() {
    let folder = Folder::new();
    folder.put("docs.tsv", "a\tx\n");
    for (option, value, part) in [
        ("--k1", "-1", "k1 is -1; it must be"),
        ("--k1", "nan", "k1 is NaN; it must be"),
        ("--k1", "1e308", "k1 is 1"),
        ("--b", "1.5", "b is 1.5; it must be from 0 to 1"),
        ("--b", "inf", "b is inf; it must be from 0 to 1"),
        ("--avdl", "0", "avdl is 0; it must be"),
        ("--avdl", "1e-320", "avdl is 0.0"),
        ("--delta", "-0.5", "delta is -0.5; it must be"),
    ] {
        folder.refuses(&["docs.tsv", option, value], 2, &[part]);
    }
    for (part, options) in [
        ("not a number", &["--k1=many", "--min-weight=1kg"][..]),
        ("not a size above zero", &["--chunk-size=0"]),
        ("from 1 to 65535", &["--threads=0", "--threads=x"]),
        ("give a whole number of 1 or more", &["--top=0"]),
        ("possible values", &["--engine=steam"]),
    ] {
        for option in options {
            let run = folder.run(&["weigh", "docs.tsv", "-o", "out/w.parquet", option]);
            assert_eq!(run.status.code(), Some(2), "{option}");
            let error = String::from_utf8_lossy(&run.stderr);
            let name = option.split('=').next().unwrap();
            assert!(error.contains(name) && error.contains(part), "{error}");
        }
    }
    assert_eq!(folder.written(), [""; 0]);
    // More than any memory, for a small input.
    let (summary, _) = folder.weighs(&["docs.tsv", "--chunk-size", "8000000TB"]);
    assert_eq!(counts(&summary), (1, 0));
}
