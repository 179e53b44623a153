// What a bridge is given: mirrors `Plain` in src/engines/system.rs.
#pragma once
#include <cstdint>

struct Body {
    uint32_t moves, kind;  // kind: 0 sphere {r}, 1 box {half extents}, 2 cylinder {r, half height} along its own y
    float size[3], x[3], q[4], v[3];
};

struct Scene {
    float gravity, friction, restitution, density;
    const Body* bodies;
    uint64_t count;
};
