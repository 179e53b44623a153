//! Frames as CSV: one row per body and frame, with every number written so that it reads back to the bit.
//!
//! Fields are quoted as in RFC 4180. Lines end in a line feed alone, which every reader takes and shell tools
//! prefer.

use std::io::{BufWriter, Write};

use crate::base::frame::Frame;
use crate::base::ids::BodyId;
use crate::base::state::STATE_FIELDS;
use crate::export::ExportError;
use crate::record::RecordError;
use crate::scene::Scene;

/// Writes all frames and returns the number of rows. Names are those of the scene; bodies without one have an
/// empty field. If a frame cannot be read, the rows before it are written.
pub fn write(
    scene: &Scene,
    frames: impl IntoIterator<Item = Result<Frame, RecordError>>,
    out: impl Write,
) -> Result<u64, ExportError> {
    let names = quoted_names(scene);
    let mut out = BufWriter::new(out);
    writeln!(out, "frame,tick,time_s,body,name,{}", STATE_FIELDS.join(","))?;
    let mut rows = 0;
    for frame in frames {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => {
                out.flush()?;
                return Err(error.into());
            }
        };
        rows += frame.bodies.len() as u64;
        write_frame(&frame, &names, &mut out)?;
    }
    out.flush()?;
    Ok(rows)
}

fn write_frame(frame: &Frame, names: &[(BodyId, String)], out: &mut impl Write) -> std::io::Result<()> {
    for (id, state) in &frame.bodies {
        let found = names.binary_search_by_key(id, |(id, _)| *id);
        let name = found.map_or("", |at| names[at].1.as_str());
        // Rust's debug form of a number is the shortest that reads back to the same bits.
        write!(out, "{},{},{:?},{},{name}", frame.index, frame.tick, frame.time_s, id.0)?;
        for number in state.to_array() {
            write!(out, ",{number:?}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The names of bodies that have one, in ascending id, ready to be written.
fn quoted_names(scene: &Scene) -> Vec<(BodyId, String)> {
    let name = |at: usize| scene.bodies[at].name.as_deref().map(|name| (scene.body_id(at), quoted(name)));
    let mut names: Vec<_> = (0..scene.bodies.len()).filter_map(name).collect();
    names.sort();
    names
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_need_it_are_quoted() {
        let table = [
            ("plain name", "plain name"),
            ("a,b", "\"a,b\""),
            ("the \"best\"", "\"the \"\"best\"\"\""),
            ("two\nlines", "\"two\nlines\""),
        ];
        for (text, expected) in table {
            assert_eq!(quoted(text), expected);
        }
    }
}
