//! Launch files, buffers, runs, statistics and reports: the laboratory behind the command line.
