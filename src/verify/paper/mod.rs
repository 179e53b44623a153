//! The published algorithm, word by word.
