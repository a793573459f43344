// SPDX-License-Identifier: Apache-2.0
// The collectives of the accelerator-style interface: those of kernels, by the number of a type. On the host a kernel
// of one core runs them.
#include "api/aclshmemx.hpp"
#include "base/bytes.hpp"
#include "shoal/device/collectives.hpp"

using namespace shoal;

#define SHOAL_API_ACL extern "C" __attribute__((visibility("default")))

namespace {

using Cores = device::Group;
using device::TeamView;

/// One call, as data: a kernel of one core can carry it.
struct Order {
  const char* call;
  TeamView team;
  const void* in;
  void* out;
  std::size_t count;
  std::int32_t op, type, root;
  void (*run)(const Cores& group, const Order& order);
};

/// Calls `body` with a value of the type that has the number. @return false for a number that no type has
template <class Body>
bool with_type(std::int32_t number, Body&& body) {
  switch (number) {
    case ACLSHMEMX_FLOAT32: body(float{}); return true;
    case ACLSHMEMX_FLOAT64: body(double{}); return true;
    case ACLSHMEMX_FLOAT16: body(shmemx_half_t{}); return true;
    case ACLSHMEMX_BFLOAT16: body(shmemx_bfloat16_t{}); return true;
    case ACLSHMEMX_INT8: body(std::int8_t{}); return true;
    case ACLSHMEMX_INT16: body(std::int16_t{}); return true;
    case ACLSHMEMX_INT32: body(std::int32_t{}); return true;
    case ACLSHMEMX_INT64: body(std::int64_t{}); return true;
    case ACLSHMEMX_UINT8: body(std::uint8_t{}); return true;
    case ACLSHMEMX_UINT16: body(std::uint16_t{}); return true;
    case ACLSHMEMX_UINT32: body(std::uint32_t{}); return true;
    case ACLSHMEMX_UINT64: body(std::uint64_t{}); return true;
    default: return false;
  }
}
template <class Body>
bool with_op(std::int32_t number, Body&& body) {
  switch (number) {
    case ACLSHMEMX_SUM: body(device::Sum()); return true;
    case ACLSHMEMX_PROD: body(device::Prod()); return true;
    case ACLSHMEMX_MAX: body(device::Max()); return true;
    case ACLSHMEMX_MIN: body(device::Min()); return true;
    default: return false;
  }
}

std::size_t width_of(std::int32_t type) {
  std::size_t width = 0;
  with_type(type, [&](auto sample) { width = sizeof sample; });
  return width;
}

/// Runs an order where it is called: by the cores of the kernel, or as a kernel.
std::int32_t carry_out(Order order) {
  if (width_of(order.type) == 0) return refused(order.call, strf("dtype %d is none of aclshmemx_dtype_t", order.type));
  if (!with_op(order.op, [](auto) {})) return refused(order.call, strf("op %d is none of aclshmemx_op_t", order.op));
  if (order.root < 0 || order.root >= order.team.size)
    return refused(order.call,
                   strf("root %d is out of range: the team has members 0 to %d", order.root, order.team.size - 1));
  if (device::CoreState* core = running_core()) {
    order.run(Cores(device::Core(core)), order);
    return 0;
  }
  device::Launch launch;
  launch.run = [](void* self, const device::DeviceView& view) {
    const auto& given = *static_cast<const Order*>(self);
    given.run(Cores(device::Core(view)), given);
  };
  launch.destroy = [](void*) noexcept {};
  launch.self = &order;
  launch.name = order.call;
  job(order.call).device(order.call).backend().run_here(launch);
  return 0;
}

Order order_of(const char* call, aclshmemx_team_t team, const void* in, void* out, std::size_t count,
               std::int32_t type) {
  return {call, acl_team(team, call).view, in, out, count, ACLSHMEMX_SUM, type, 0, nullptr};
}

}  // namespace

SHOAL_API_ACL int32_t aclshmemx_allreduce(aclshmemx_team_t team, const void* in, void* out, size_t count, int32_t op,
                                          int32_t dtype) {
  Order order = order_of("aclshmemx_allreduce", team, in, out, count, dtype);
  order.op = op;
  order.run = [](const Cores& group, const Order& o) {
    with_type(o.type, [&](auto sample) {
      using T = decltype(sample);
      with_op(o.op, [&](auto f) {
        device::all_reduce(group, o.team, static_cast<T*>(o.out), static_cast<const T*>(o.in), o.count, f);
      });
    });
  };
  return carry_out(order);
}

SHOAL_API_ACL int32_t aclshmemx_reduce_scatter(aclshmemx_team_t team, const void* in, void* out, size_t count,
                                               int32_t op, int32_t dtype) {
  Order order = order_of("aclshmemx_reduce_scatter", team, in, out, count, dtype);
  order.op = op;
  order.run = [](const Cores& group, const Order& o) {
    with_type(o.type, [&](auto sample) {
      using T = decltype(sample);
      with_op(o.op, [&](auto f) {
        device::reduce_scatter(group, o.team, static_cast<T*>(o.out), static_cast<const T*>(o.in), o.count, f);
      });
    });
  };
  return carry_out(order);
}

// What only moves is moved as bytes.
SHOAL_API_ACL int32_t aclshmemx_allgather(aclshmemx_team_t team, const void* in, void* out, size_t count,
                                          int32_t dtype) {
  Order order = order_of("aclshmemx_allgather", team, in, out, count, dtype);
  order.run = [](const Cores& group, const Order& o) {
    device::all_gather(group, o.team, static_cast<char*>(o.out), static_cast<const char*>(o.in),
                       bytes_of(o.count, width_of(o.type)));
  };
  return carry_out(order);
}

SHOAL_API_ACL int32_t aclshmemx_broadcast(aclshmemx_team_t team, const void* in, void* out, size_t count, int32_t root,
                                          int32_t dtype) {
  Order order = order_of("aclshmemx_broadcast", team, in, out, count, dtype);
  order.root = root;
  order.run = [](const Cores& group, const Order& o) {
    device::broadcast(group, o.team, static_cast<char*>(o.out), static_cast<const char*>(o.in),
                      bytes_of(o.count, width_of(o.type)), o.root);
  };
  return carry_out(order);
}

SHOAL_API_ACL int32_t aclshmemx_alltoall(aclshmemx_team_t team, const void* in, void* out, size_t count,
                                         int32_t dtype) {
  Order order = order_of("aclshmemx_alltoall", team, in, out, count, dtype);
  order.run = [](const Cores& group, const Order& o) {
    device::all_to_all(group, o.team, static_cast<char*>(o.out), static_cast<const char*>(o.in),
                       bytes_of(o.count, width_of(o.type)));
  };
  return carry_out(order);
}
