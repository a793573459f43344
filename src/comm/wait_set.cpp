// SPDX-License-Identifier: Apache-2.0
#include "comm/wait_set.hpp"

#include <cstdio>

namespace shoal {
namespace {

const char* symbol_of(int cmp) noexcept {
  switch (cmp) {
    case SHMEM_CMP_EQ: return "==";
    case SHMEM_CMP_NE: return "!=";
    case SHMEM_CMP_GT: return ">";
    case SHMEM_CMP_GE: return ">=";
    case SHMEM_CMP_LT: return "<";
    default: return "<=";
  }
}

}  // namespace

void describe_value_wait(const WaitSite& site, const SegmentTable& segments, WaitText& text) noexcept {
  using Set = WaitSet<int>;
  const auto how = static_cast<unsigned>(site.c);
  const bool one = site.a == 1 && (how & Set::kVector) == 0;
  text.wait.kind = WaitKind::value;
  text.wait.address = reinterpret_cast<std::uintptr_t>(site.object);
  text.wait.is_signed = (how & Set::kSigned) != 0;
  text.wait.width = one ? how / Set::kWidth : 0;
  char words[40] = "", value[32];
  if (!one) std::snprintf(words, sizeof words, "%llu words from ", site.a);
  if ((how & Set::kVector) != 0)
    std::snprintf(value, sizeof value, "a value each");
  else if (text.wait.is_signed != 0)
    std::snprintf(value, sizeof value, "%lld", static_cast<long long>(site.b));
  else
    std::snprintf(value, sizeof value, "%llu", site.b);
  std::snprintf(text.detail, sizeof text.detail, "%s%s, %s %s", words, segments.place(site.object).c_str(),
                symbol_of(static_cast<int>(how & 0xff)), value);
}

}  // namespace shoal
