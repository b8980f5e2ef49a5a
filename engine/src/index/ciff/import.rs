//! A CIFF file as an index.
