//! Recordings: the frames of a run in a file that survives being cut off.
