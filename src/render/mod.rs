//! Pictures of frames, by casting rays at parry's shapes.
