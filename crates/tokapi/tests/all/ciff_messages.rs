//! A file of the Common Index File Format as another implementation of Protocol Buffers reads and
//! writes it.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub struct Header {
    #[prost(int32, tag = "1")]
    pub version: i32,
    #[prost(int32, tag = "2")]
    pub num_postings_lists: i32,
    #[prost(int32, tag = "3")]
    pub num_docs: i32,
    #[prost(int32, tag = "4")]
    pub total_postings_lists: i32,
    #[prost(int32, tag = "5")]
    pub total_docs: i32,
    #[prost(int64, tag = "6")]
    pub total_terms_in_collection: i64,
    #[prost(double, tag = "7")]
    pub average_doclength: f64,
    #[prost(string, tag = "8")]
    pub description: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Posting {
    #[prost(int32, tag = "1")]
    pub docid: i32,
    #[prost(int32, tag = "2")]
    pub tf: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct PostingsList {
    #[prost(string, tag = "1")]
    pub term: String,
    #[prost(int64, tag = "2")]
    pub df: i64,
    #[prost(int64, tag = "3")]
    pub cf: i64,
    #[prost(message, repeated, tag = "4")]
    pub postings: Vec<Posting>,
    /// Not of the format.
    #[prost(string, tag = "100")]
    pub unknown: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct DocRecord {
    #[prost(int32, tag = "1")]
    pub docid: i32,
    #[prost(string, tag = "2")]
    pub collection_docid: String,
    #[prost(int32, tag = "3")]
    pub doclength: i32,
}

/// A whole file.
#[derive(Clone, Debug, PartialEq)]
pub struct Ciff {
    pub header: Header,
    pub lists: Vec<PostingsList>,
    pub documents: Vec<DocRecord>,
}

impl Ciff {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.encode_length_delimited_to_vec();
        for list in &self.lists {
            list.encode_length_delimited(&mut bytes).unwrap();
        }
        for document in &self.documents {
            document.encode_length_delimited(&mut bytes).unwrap();
        }
        bytes
    }

    pub fn of_bytes(mut bytes: &[u8]) -> Self {
        let header = Header::decode_length_delimited(&mut bytes).unwrap();
        let lists = (0..header.num_postings_lists)
            .map(|_| PostingsList::decode_length_delimited(&mut bytes).unwrap())
            .collect();
        let documents = (0..header.num_docs)
            .map(|_| DocRecord::decode_length_delimited(&mut bytes).unwrap())
            .collect();
        assert_eq!(bytes, b"");
        Ciff {
            header,
            lists,
            documents,
        }
    }
}

/// A list of documents, as gaps, and tfs.
pub fn list(term: &str, postings: &[(i32, i32)]) -> PostingsList {
    PostingsList {
        term: term.into(),
        df: postings.len() as i64,
        cf: postings.iter().map(|&(_, tf)| i64::from(tf)).sum(),
        postings: postings
            .iter()
            .map(|&(docid, tf)| Posting { docid, tf })
            .collect(),
        unknown: String::new(),
    }
}
