//! Small worlds that are looked at in full.
