//! Reads triangle meshes from OBJ text.
