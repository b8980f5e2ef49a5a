//! The program as users run it: one test program for all verbs, so that it is linked once.

mod bad_files;
mod bad_input;
mod bad_output;
mod budget;
mod contents;
mod dictionary;
mod engines;
mod export;
mod folder;
mod impacts;
mod index;
mod interrupted;
mod killed;
mod left_over;
mod mapreduce;
mod overwrite;
mod processes;
mod queries;
mod reorder;
mod tune;
mod update;
mod words;
