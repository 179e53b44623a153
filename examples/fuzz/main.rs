//! Tries to make the program fail: mutated scenes and OBJ files, damaged and forged recordings, runs that are killed or
//! asked to end at random moments, random Time Warp runs. `tests/fuzz.sh` builds and starts it.
//!
//! ```sh
//! tests/fuzz.sh --seed 1 --minutes 15                # all kinds of cases in turn
//! tests/fuzz.sh --seed 1 --only scene --case 4711    # one case again
//! ```
//!
//! A case is a number, and depends on nothing but the seed, its kind and that number, except for the moment at which a
//! signal arrives. A panic, an abort, a wrong exit code, an error without a message, a hang, a wrong frame and a wrong
//! digest are findings: the files of the case are kept, and the program ends with 1.

#[cfg(unix)]
mod dice;
#[cfg(unix)]
mod endings;
#[cfg(unix)]
mod mutate;
#[cfg(unix)]
mod program;
#[cfg(unix)]
mod recordings;
#[cfg(unix)]
mod scenes;
#[cfg(unix)]
mod speculation;

#[cfg(unix)]
mod campaign;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    campaign::main()
}

#[cfg(not(unix))]
fn main() {
    eprintln!("signals and limits are those of Unix: there is no fuzzing elsewhere");
}
