// Bullet: its serial discrete world with the solver that it has by default, sleeping off.
#include "peer.h"
#include <btBulletDynamicsCommon.h>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

namespace {
struct World {
    btDefaultCollisionConfiguration config;
    btCollisionDispatcher dispatcher;
    btDbvtBroadphase broad;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world;
    std::vector<btRigidBody*> moving;

    explicit World(const btDefaultCollisionConstructionInfo& info)
        : config(info), dispatcher(&config), world(&dispatcher, &broad, &solver, &config) {}
};
}  // namespace

extern "C" void* bullet_new(const Scene* scene) {
    btDefaultCollisionConstructionInfo info;
    // 4096 is its default: more than that would come from the heap one by one.
    const int pool = scene->count > 4096 ? (int)scene->count : 4096;
    info.m_defaultMaxPersistentManifoldPoolSize = pool;
    info.m_defaultMaxCollisionAlgorithmPoolSize = pool;
    World* all = new World(info);
    all->world.setGravity(btVector3(0, scene->gravity, 0));
    // It multiplies the numbers of two bodies; the scene has one for every pair.
    const float friction = std::sqrt(scene->friction), restitution = std::sqrt(scene->restitution);
    std::map<std::tuple<uint32_t, float, float, float>, btCollisionShape*> shapes;
    for (uint64_t at = 0; at < scene->count; at++) {
        const Body& b = scene->bodies[at];
        btCollisionShape*& shape = shapes[{b.kind, b.size[0], b.size[1], b.size[2]}];
        if (!shape) {
            if (b.kind == 0) shape = new btSphereShape(b.size[0]);
            else if (b.kind == 1) shape = new btBoxShape(btVector3(b.size[0], b.size[1], b.size[2]));
            else shape = new btCylinderShape(btVector3(b.size[0], b.size[1], b.size[0]));
        }
        float mass = 0;
        btVector3 inertia(0, 0, 0);
        if (b.moves) {
            const float pi = SIMD_PI, *s = b.size;
            const float volume = b.kind == 0 ? 4.f / 3.f * pi * s[0] * s[0] * s[0]
                               : b.kind == 1 ? 8.f * s[0] * s[1] * s[2] : 2.f * pi * s[0] * s[0] * s[1];
            mass = volume * scene->density;
            shape->calculateLocalInertia(mass, inertia);
        }
        btRigidBody::btRigidBodyConstructionInfo made(mass, nullptr, shape, inertia);
        made.m_startWorldTransform =
            btTransform(btQuaternion(b.q[0], b.q[1], b.q[2], b.q[3]), btVector3(b.x[0], b.x[1], b.x[2]));
        made.m_friction = friction;
        made.m_restitution = restitution;
        btRigidBody* body = new btRigidBody(made);
        if (b.moves) {
            body->setLinearVelocity(btVector3(b.v[0], b.v[1], b.v[2]));
            body->setActivationState(DISABLE_DEACTIVATION);
            all->moving.push_back(body);
        }
        all->world.addRigidBody(body);
    }
    return all;
}

extern "C" void bullet_step(void* all, float dt) { ((World*)all)->world.stepSimulation(dt, 0); }

extern "C" void bullet_states(void* all, float* out) {
    for (btRigidBody* body : ((World*)all)->moving) {
        const btVector3 x = body->getWorldTransform().getOrigin();
        const btQuaternion q = body->getWorldTransform().getRotation();
        const btVector3 v = body->getLinearVelocity(), w = body->getAngularVelocity();
        for (float number : {x.x(), x.y(), x.z(), q.x(), q.y(), q.z(), q.w(), v.x(), v.y(), v.z(), w.x(), w.y(), w.z()})
            *out++ = number;
    }
}

extern "C" uint64_t bullet_fixed(void* all) {
    World* world = (World*)all;
    return world->world.getNumCollisionObjects() - world->moving.size();
}
