//! The built-in scenes, written once and used by the command line, the tests and the benches.
