//! Builds the bridges to the engines of the system: Bullet and ODE, which are C++ libraries.

fn main() {
    for (feature, library) in [("BULLET", "bullet"), ("ODE", "ode")] {
        if std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_none() {
            continue;
        }
        let found = pkg_config::probe_library(library)
            .unwrap_or_else(|error| panic!("{library} is not installed for pkg-config: {error}"));
        let source = format!("cpp/{library}.cpp");
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(3).file(&source).includes(&found.include_paths);
        for (name, value) in &found.defines {
            build.define(name, value.as_deref());
        }
        build.compile(&format!("peer_{library}"));
        println!("cargo:rerun-if-changed={source}");
        println!("cargo:rerun-if-changed=cpp/peer.h");
    }
}
