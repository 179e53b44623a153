//! Recordings in other people's formats.
