//! Blocks and chunks of files of every size.

use super::*;

#[test]
fn blocks_of_one_file_have_one_segment_and_no_more_bytes_than_asked_for() {
    let text = "one\ntwo\n\n".repeat(1000);
    let options = CorpusOptions::default().chunk_bytes(Some(256));
    let mut corpus = Corpus::from_bytes("x.terms", text, options);
    let (mut block, mut documents) = (Block::default(), 0);
    while corpus.fill(&mut block).unwrap() {
        assert!(block.len() <= 256);
        let mut chunk = Chunk::default();
        block.parse(&mut chunk).unwrap();
        assert_eq!(chunk.files.len(), 1);
        documents += chunk.len();
    }
    assert_eq!(documents, 1000);
}

#[test]
fn a_sample_is_the_first_documents_whatever_the_chunks() {
    let text = "one\ntwo\n\n".repeat(1000);
    for chunk_bytes in [1, 9, 100, 450, 1 << 20] {
        for (limit, expected) in [(0, 0), (450, 50), (1 << 20, 1000)] {
            let options = CorpusOptions::default().chunk_bytes(Some(chunk_bytes));
            let mut corpus = Corpus::from_bytes("x.terms", text.clone(), options);
            corpus.limit(limit);
            let mut documents = 0;
            while let Some((chunk, _)) = corpus.next_chunk().unwrap() {
                documents += chunk.len();
            }
            assert_eq!(documents, expected, "{chunk_bytes} {limit}");
        }
    }
}

#[test]
fn small_and_large_files_come_in_their_order_whatever_the_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for file in 0..40 {
        let documents = if file % 7 == 3 { 3000 } else { file % 5 };
        let id = |document| format!("{file}-{document}");
        expected.extend((0..documents).map(id));
        let lines = (0..documents).map(|document| id(document) + "\tone two\n");
        let name = folder.path().join(format!("{file:02}.tsv"));
        std::fs::write(name, lines.collect::<String>()).unwrap();
    }
    // Neither file is read.
    std::fs::write(folder.path().join("05.tsv"), b"no tab\n").unwrap();
    std::fs::write(folder.path().join("12.pdf"), b"%PDF-1.4").unwrap();
    expected.retain(|id| !id.starts_with("5-"));
    for chunk_bytes in [1, 100, 5000, 1 << 20] {
        let options = CorpusOptions::default()
            .chunk_bytes(Some(chunk_bytes))
            .on_error(OnError::Skip);
        let mut corpus = Corpus::open(&[folder.path()], options).unwrap();
        let (mut ids, mut skipped) = (Vec::new(), 0);
        while let Some((chunk, left_out)) = corpus.next_chunk().unwrap() {
            let id = |document| String::from_utf8(chunk.id(document).to_vec()).unwrap();
            ids.extend((0..chunk.len()).map(id));
            skipped += left_out.count;
        }
        assert!(ids == expected, "{chunk_bytes}");
        assert_eq!(skipped, 2, "{chunk_bytes}");
    }
}

/// Reading a small file that expands to many blocks ends, even if its name does not tell of compression.
#[test]
fn a_small_file_may_hold_much() {
    let folder = tempfile::tempdir().unwrap();
    for (bytes, expected) in [(2_000_000, true), (100_000_000, false)] {
        let lines = "a\tone two\n".repeat(bytes / 10);
        let compressed = zstd::bulk::compress(lines.as_bytes(), 3).unwrap();
        assert!(compressed.len() < 1 << 14);
        let name = folder.path().join("documents.tsv");
        std::fs::write(&name, &compressed[..]).unwrap();
        let options = CorpusOptions::default().chunk_bytes(Some(1 << 20));
        let mut corpus = Corpus::open(&[name], options).unwrap();
        let mut documents = 0;
        let end = loop {
            match corpus.next_chunk() {
                Ok(Some((chunk, _))) => documents += chunk.len(),
                end => break end.map(|_| ()),
            }
        };
        match (end, expected) {
            (Ok(()), true) => assert_eq!(documents, lines.lines().count()),
            (Err(error), false) => {
                assert!(error.to_string().contains("name it .gz"), "{error}")
            }
            (end, _) => panic!("{bytes}: {end:?}"),
        }
    }
}
