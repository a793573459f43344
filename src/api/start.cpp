// SPDX-License-Identifier: Apache-2.0
// Starting without Shoal's launcher: the extensions of include/shmemx.h.
#include <cstring>

#include "api/define.hpp"
#include "api/life.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "shmemx.h"

using namespace shoal;

#define SHOAL_API_X extern "C" __attribute__((visibility("default")))

static_assert(sizeof(shmemx_uniqueid_t) == sizeof(UniqueId));

SHOAL_API_X int shmemx_get_uniqueid(shmemx_uniqueid_t* id) {
  constexpr const char* call = "shmemx_get_uniqueid";
  if (id == nullptr) return refused(call, "id is null");
  if (Life::instance().initialized()) return refused(call, "called after init: an id is made before");
  try {
    const UniqueId made = Life::instance().make_id();
    std::memcpy(id->bytes, made.bytes.data(), sizeof id->bytes);
    return 0;
  } catch (const Error& error) {
    return refused(call, error.what(), error.code());
  }
}

SHOAL_API_X int shmemx_init_attr(const shmemx_init_attr_t* attr, int requested, int* provided) {
  constexpr const char* call = "shmemx_init_attr";
  if (attr == nullptr) return Life::instance().refuse_init(call, "attr is null");
  if (attr->n_pes < 1 || attr->pe < 0 || attr->pe >= attr->n_pes)
    return Life::instance().refuse_init(
        call, strf("PE %d of %d: expected a number of PEs from 1 on, and of this PE from 0 on below it", attr->pe,
                   attr->n_pes));
  UniqueId id;
  if (attr->id != nullptr) std::memcpy(id.bytes.data(), attr->id->bytes, sizeof id);
  const int code = Life::instance().init(call, requested, provided,
                                         {.rank = attr->pe,
                                          .size = attr->n_pes,
                                          .rdzv = attr->rdzv != nullptr ? attr->rdzv : "",
                                          .id = attr->id != nullptr ? &id : nullptr});
  wipe(id.bytes);
  return code;
}
