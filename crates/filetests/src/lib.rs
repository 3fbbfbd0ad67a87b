//! The file-test runner: every case is a text file a person can read.
