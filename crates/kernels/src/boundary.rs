//! The declarations of `cpp/boundary.h`, one by one. Change both together.

#![allow(missing_docs, reason = "documented in boundary.h")]

use std::ffi::{c_char, c_void};

pub(crate) const OK: i32 = 0;
pub(crate) const NO_DEVICE: i32 = 1;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const TOO_LARGE: i32 = 4;

pub(crate) const KEYS32: u32 = 0;
pub(crate) const KEYS64: u32 = 1;
pub(crate) const PAIRS32: u32 = 2;
pub(crate) const PAIRS64: u32 = 3;

#[repr(C)]
pub(crate) struct ErrorText {
    pub text: [c_char; 512],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Device {
    pub name: [c_char; 256],
    pub memory_bytes: u64,
    pub free_bytes: u64,
    pub major: u32,
    pub minor: u32,
    pub multiprocessors: u32,
    pub driver: u32,
    pub runtime: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bandwidth {
    pub up: f64,
    pub down: f64,
    pub both: f64,
}

#[repr(C)]
pub(crate) struct Dictionary {
    pub nodes: *const u64,
    pub labels: *const u64,
    pub leaves: *const u64,
    pub tails: *const u8,
    pub shortcuts: *const u32,
    pub codes: *const u8,
    pub node_count: u64,
    pub shortcut_depth: u64,
    pub alphabet_size: u64,
}

#[repr(C)]
pub(crate) struct Trie {
    pub arrays: Dictionary,
    pub node_words: u64,
    pub label_words: u64,
    pub leaf_words: u64,
    pub tail_bytes: u64,
    pub shortcut_count: u64,
    pub code_count: u64,
    pub terms: u64,
}

#[repr(C)]
pub(crate) struct Options {
    pub device: u32,
    pub method: u32,
    pub unknown_one: u32,
    pub fold: u32,
    pub ascii: [u32; 4],
    pub beyond_ascii: *const u32,
    pub hash_mask: u64,
    pub fail_after: u64,
    pub timed: u32,
    pub sort: u32,
}

#[repr(C)]
pub(crate) struct Text {
    pub bytes: *const u8,
    pub length: u64,
    pub starts: *const u64,
    pub documents: u64,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Inverted {
    pub terms: u64,
    pub postings: u64,
    pub term_bytes: *const u8,
    pub term_offsets: *const u64,
    pub offsets: *const u32,
    pub documents: *const u32,
    pub frequencies: *const u8,
    pub large_places: *const u32,
    pub large_frequencies: *const u32,
    pub large_count: u64,
    pub lengths: *const u32,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Collected {
    pub total_length: u64,
    pub parts: u64,
    pub df_values: *const u32,
    pub df_count: u64,
}

#[repr(C)]
pub(crate) struct Formula {
    pub tf_part: u32,
    pub k1: f64,
    pub b: f64,
    pub delta: f64,
    pub avdl: f64,
    pub idf: *const f64,
}

#[repr(C)]
pub(crate) struct SomeIdf {
    pub lists: *const u32,
    pub idf: *const f64,
    pub count: u64,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Lexicon {
    pub terms: u64,
    pub term_bytes: *const u8,
    pub term_offsets: *const u64,
    pub df: *const u32,
    pub order: *const u32,
    pub lengths: *const u32,
}

#[repr(C)]
#[derive(Default)]
pub struct Part {
    pub postings: u64,
    pub segments: u64,
    pub segment_terms: *const u32,
    pub segment_starts: *const u32,
    pub documents: *const u32,
    pub weights: *const f32,
}

/// Milliseconds of each stage, if stages were timed.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub upload: f64,
    pub cut: f64,
    pub documents: f64,
    pub map: f64,
    pub identify: f64,
    pub order: f64,
    pub sort: f64,
    pub group: f64,
    pub tf: f64,
    pub df: f64,
    pub weigh: f64,
    pub download: f64,
}

#[repr(C)]
pub(crate) struct SorterOptions {
    pub device: u32,
    pub timed: u32,
    pub memory_bytes: u64,
    pub piece_bytes: u64,
    pub fail_after: u64,
}

#[repr(C)]
pub(crate) struct Sorting {
    pub record: u32,
    pub algorithm: u32,
    pub pinned: u32,
    pub records: *mut c_void,
    pub count: u64,
}

/// Milliseconds of each stage of a sort, if stages were timed.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct SortTimes {
    pub upload: f64,
    pub sort: f64,
    pub merge: f64,
    pub download: f64,
}

#[repr(C)]
pub(crate) struct ListsOptions {
    pub device: u32,
    pub postings: u64,
}

#[repr(C)]
pub(crate) struct Room {
    pub documents: *mut u32,
    pub frequencies: *mut u8,
    pub count: u64,
}

#[repr(C)]
pub(crate) struct Lists {
    pub count: u64,
    pub starts: *const u64,
    pub documents: u32,
    pub lengths: *const u32,
    pub large_places: *const u64,
    pub large_frequencies: *const u32,
    pub large_count: u64,
}

#[repr(C)]
pub(crate) struct Renewal {
    pub documents_before: u32,
    pub numbers: *const u32,
    pub stays: *const u32,
    pub added_lists: *const u32,
    pub lists: u64,
    pub documents: u32,
    pub lengths: *const u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term {
    pub list: u32,
    pub occur: u32,
    pub times: f64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query {
    pub first_term: u32,
    pub terms: u32,
    pub must: u32,
    pub forbidden: u32,
}

#[repr(C)]
pub(crate) struct Batch {
    pub queries: u64,
    pub query_list: *const Query,
    pub terms: u64,
    pub term_list: *const Term,
    pub order: *const u32,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Matches {
    pub starts: *const u32,
    pub counts: *const u32,
    pub documents: *const u32,
    pub copied: u64,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Ranked {
    pub keys: *const u64,
    pub counts: *const u32,
}

#[repr(C)]
pub(crate) struct MapperOptions {
    pub device: u32,
    pub timed: u32,
    pub memory_bytes: u64,
    pub fail_after: u64,
}

#[repr(C)]
pub(crate) struct Records {
    pub map: u32,
    pub reduce: u32,
    pub sort: u32,
    pub bytes: *const u8,
    pub length: u64,
    pub starts: *const u32,
    pub count: u64,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Groups {
    pub pairs: u64,
    pub groups: u64,
    pub values: u64,
    pub keys: *const u64,
    pub value_starts: *const u32,
    pub value_list: *const u64,
    pub notes: *const u64,
    pub note_words: u64,
    pub left: *const u32,
    pub left_count: u64,
}

/// Milliseconds of each stage of mapping and reducing, if stages were timed.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct MapperTimes {
    pub upload: f64,
    pub count: f64,
    pub emit: f64,
    pub sort: f64,
    pub group: f64,
    pub reduce: f64,
    pub download: f64,
}

/// An inverter, opaque outside its build.
pub(crate) enum Inverter {}
/// A sorter, opaque as well.
pub(crate) enum Sorter {}
/// Lists, opaque as well.
pub(crate) enum DeviceLists {}
/// A loader of lists, opaque as well.
pub(crate) enum Loader {}
/// A lane, opaque as well.
pub(crate) enum Lane {}
/// A mapper, opaque as well.
pub(crate) enum Mapper {}

type Status = i32;

#[repr(C)]
pub(crate) struct Api {
    pub sizes: [u64; 30],
    pub count: unsafe extern "C" fn(*mut u32, *mut ErrorText) -> Status,
    pub describe: unsafe extern "C" fn(u32, *mut Device, *mut ErrorText) -> Status,
    pub bandwidth: unsafe extern "C" fn(u32, u64, *mut Bandwidth, *mut ErrorText) -> Status,
    pub pinned: unsafe extern "C" fn(u64, *mut *mut c_void, *mut ErrorText) -> Status,
    pub unpin: unsafe extern "C" fn(*mut c_void),
    pub reset: unsafe extern "C" fn(u32, *mut ErrorText) -> Status,
    pub inverter: unsafe extern "C" fn(
        *const Options,
        *const Trie,
        *mut *mut Inverter,
        *mut ErrorText,
    ) -> Status,
    pub drop: unsafe extern "C" fn(*mut Inverter),
    pub invert:
        unsafe extern "C" fn(*mut Inverter, *const Text, *mut Inverted, *mut ErrorText) -> Status,
    pub collect: unsafe extern "C" fn(
        *mut Inverter,
        *const Text,
        u64,
        *mut Collected,
        *mut ErrorText,
    ) -> Status,
    pub weigh:
        unsafe extern "C" fn(*mut Inverter, *const Formula, *mut Lexicon, *mut ErrorText) -> Status,
    pub part: unsafe extern "C" fn(*mut Inverter, u64, *mut Part, *mut ErrorText) -> Status,
    pub times: unsafe extern "C" fn(*mut Inverter, *mut Times),
    pub lookup: unsafe extern "C" fn(
        *mut Inverter,
        *const Text,
        u32,
        *mut *const u32,
        *mut u64,
        *mut f64,
        *mut ErrorText,
    ) -> Status,
    pub peak_bytes: unsafe extern "C" fn(u64, u32) -> u64,
    pub sorter:
        unsafe extern "C" fn(*const SorterOptions, *mut *mut Sorter, *mut ErrorText) -> Status,
    pub drop_sorter: unsafe extern "C" fn(*mut Sorter),
    pub sort: unsafe extern "C" fn(*mut Sorter, *const Sorting, *mut ErrorText) -> Status,
    pub most_records: unsafe extern "C" fn(*mut Sorter, u32, u32) -> u64,
    pub sort_times: unsafe extern "C" fn(*mut Sorter, *mut SortTimes),
    pub lists:
        unsafe extern "C" fn(*const ListsOptions, *mut *mut DeviceLists, *mut ErrorText) -> Status,
    pub drop_lists: unsafe extern "C" fn(*mut DeviceLists),
    pub loader:
        unsafe extern "C" fn(*mut DeviceLists, u64, *mut *mut Loader, *mut ErrorText) -> Status,
    pub drop_loader: unsafe extern "C" fn(*mut Loader),
    pub room: unsafe extern "C" fn(*mut Loader, *mut Room, *mut ErrorText) -> Status,
    pub load: unsafe extern "C" fn(*mut Loader, u64, u64, *mut ErrorText) -> Status,
    pub finish_loading: unsafe extern "C" fn(*mut Loader, *mut ErrorText) -> Status,
    pub describe_lists:
        unsafe extern "C" fn(*mut DeviceLists, *const Lists, *mut ErrorText) -> Status,
    pub finish_lists:
        unsafe extern "C" fn(*mut DeviceLists, *const Lists, *mut ErrorText) -> Status,
    pub weigh_lists:
        unsafe extern "C" fn(*mut DeviceLists, *const Formula, *mut ErrorText) -> Status,
    pub weigh_some_lists:
        unsafe extern "C" fn(*mut DeviceLists, *const SomeIdf, *mut ErrorText) -> Status,
    pub renew_lists: unsafe extern "C" fn(
        *const DeviceLists,
        *const DeviceLists,
        *const Renewal,
        *mut *mut DeviceLists,
        *mut ErrorText,
    ) -> Status,
    pub list_lengths: unsafe extern "C" fn(*const DeviceLists, *mut u32),
    pub lists_bytes: unsafe extern "C" fn(u64, u64, u64) -> u64,
    pub lane: unsafe extern "C" fn(u32, u64, *mut *mut Lane, *mut ErrorText) -> Status,
    pub drop_lane: unsafe extern "C" fn(*mut Lane),
    pub intersect: unsafe extern "C" fn(
        *mut Lane,
        *const DeviceLists,
        *const Batch,
        u32,
        *mut Matches,
        *mut ErrorText,
    ) -> Status,
    pub rank: unsafe extern "C" fn(
        *mut Lane,
        *const DeviceLists,
        *const Batch,
        u32,
        *mut Ranked,
        *mut ErrorText,
    ) -> Status,
    pub mapper:
        unsafe extern "C" fn(*const MapperOptions, *mut *mut Mapper, *mut ErrorText) -> Status,
    pub drop_mapper: unsafe extern "C" fn(*mut Mapper),
    pub map:
        unsafe extern "C" fn(*mut Mapper, *const Records, *mut Groups, *mut ErrorText) -> Status,
    pub mapper_times: unsafe extern "C" fn(*mut Mapper, *mut MapperTimes),
}

unsafe extern "C" {
    pub(crate) fn tokapi_host_api() -> *const Api;
    #[cfg(feature = "cuda")]
    pub(crate) fn tokapi_cuda_api() -> *const Api;
}

#[cfg(test)]
mod tests;
