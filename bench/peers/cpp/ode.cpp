// ODE: a hash space and its quick step with 20 iterations, sleeping off.
#include "peer.h"
#include <cmath>
#include <ode/ode.h>
#include <vector>

namespace {
struct World {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    float friction, restitution;
    std::vector<dBodyID> moving;
    uint64_t fixed = 0;
};

void near(void* data, dGeomID one, dGeomID other) {
    World* all = (World*)data;
    const dBodyID a = dGeomGetBody(one), b = dGeomGetBody(other);
    if (!a && !b) return;
    dContact found[8];
    const int count = dCollide(one, other, 8, &found[0].geom, sizeof(dContact));
    for (int at = 0; at < count; at++) {
        dSurfaceParameters& surface = found[at].surface;
        surface.mode = dContactApprox1 | (all->restitution > 0 ? dContactBounce : 0);
        surface.mu = all->friction;
        surface.bounce = all->restitution;
        surface.bounce_vel = 0.2;
        dJointAttach(dJointCreateContact(all->world, all->contacts, &found[at]), a, b);
    }
}
}  // namespace

extern "C" void* ode_new(const Scene* scene) {
    dInitODE2(0);
    World* all = new World{dWorldCreate(), dHashSpaceCreate(nullptr), dJointGroupCreate(0), scene->friction,
                           scene->restitution, {}};
    dHashSpaceSetLevels(all->space, 0, 9);
    dWorldSetGravity(all->world, 0, scene->gravity, 0);
    dWorldSetAutoDisableFlag(all->world, 0);
    for (uint64_t at = 0; at < scene->count; at++) {
        const Body& b = scene->bodies[at];
        const float* s = b.size;
        // It has no contact of a sphere and a cylinder without another library: a capsule with the same straight part.
        dGeomID geom = b.kind == 0   ? dCreateSphere(all->space, s[0])
                       : b.kind == 1 ? dCreateBox(all->space, 2 * s[0], 2 * s[1], 2 * s[2])
                                     : dCreateCapsule(all->space, s[0], 2 * s[1]);
        dQuaternion q = {b.q[3], b.q[0], b.q[1], b.q[2]};
        if (b.kind == 2) {  // Its capsules lie along z.
            dQuaternion turn, turned;
            dQFromAxisAndAngle(turn, 1, 0, 0, -M_PI / 2);
            dQMultiply0(turned, q, turn);
            for (int i = 0; i < 4; i++) q[i] = turned[i];
        }
        if (!b.moves) {
            dGeomSetPosition(geom, b.x[0], b.x[1], b.x[2]);
            dGeomSetQuaternion(geom, q);
            all->fixed++;
            continue;
        }
        dMass mass;
        if (b.kind == 0) dMassSetSphere(&mass, scene->density, s[0]);
        else if (b.kind == 1) dMassSetBox(&mass, scene->density, 2 * s[0], 2 * s[1], 2 * s[2]);
        else dMassSetCapsule(&mass, scene->density, 3, s[0], 2 * s[1]);
        dBodyID body = dBodyCreate(all->world);
        dBodySetMass(body, &mass);
        dBodySetPosition(body, b.x[0], b.x[1], b.x[2]);
        dBodySetQuaternion(body, q);
        dBodySetLinearVel(body, b.v[0], b.v[1], b.v[2]);
        dGeomSetBody(geom, body);
        all->moving.push_back(body);
    }
    return all;
}

extern "C" void ode_step(void* data, float dt) {
    World* all = (World*)data;
    dSpaceCollide(all->space, all, near);
    dWorldQuickStep(all->world, dt);
    dJointGroupEmpty(all->contacts);
}

extern "C" void ode_states(void* data, float* out) {
    for (dBodyID body : ((World*)data)->moving) {
        const dReal *x = dBodyGetPosition(body), *q = dBodyGetQuaternion(body), *v = dBodyGetLinearVel(body),
                    *w = dBodyGetAngularVel(body);
        for (double number : {x[0], x[1], x[2], q[1], q[2], q[3], q[0], v[0], v[1], v[2], w[0], w[1], w[2]})
            *out++ = (float)number;
    }
}

extern "C" uint64_t ode_fixed(void* data) { return ((World*)data)->fixed; }
