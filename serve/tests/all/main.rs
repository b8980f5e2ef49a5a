//! The server as its clients see it: one test program, so that it is linked once.
