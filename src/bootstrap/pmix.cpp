// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmix.hpp"

#ifdef SHOAL_WITH_PMIX
#include <dlfcn.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "base/error.hpp"
#endif

namespace shoal {
#ifdef SHOAL_WITH_PMIX

namespace {

/// The functions of the library that are used, by their own types.
struct Functions {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Error_string) error_string;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

class LoadedPmix final : public Pmix {
 public:
  LoadedPmix(const Functions& functions, const pmix_proc_t& self, int size)
      : call_(functions), self_(self), size_(size) {}
  ~LoadedPmix() override {
    if (::getpid() == owner_) call_.finalize(nullptr, 0);
  }
  int rank() const override { return static_cast<int>(self_.rank); }
  int size() const override { return size_; }

  std::vector<int> on_this_node() const override {
    pmix_proc_t all = self_;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_value_t* got = nullptr;
    std::vector<int> ranks;
    if (call_.get(&all, PMIX_LOCAL_PEERS, nullptr, 0, &got) != PMIX_SUCCESS) return ranks;
    if (got->type == PMIX_STRING) {
      std::istringstream list(got->data.string);
      for (int rank; list >> rank; list.ignore()) ranks.push_back(rank);
      std::free(got->data.string);
    }
    std::free(got);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  void share(const std::string& key, std::span<std::byte> bytes) override {
    if (rank() == 0) {
      pmix_value_t value;
      std::memset(&value, 0, sizeof value);
      value.type = PMIX_BYTE_OBJECT;
      value.data.bo.bytes = reinterpret_cast<char*>(bytes.data());
      value.data.bo.size = bytes.size();
      check(call_.put(PMIX_GLOBAL, key.c_str(), &value), "PMIx_Put");
      check(call_.commit(), "PMIx_Commit");
    }
    pmix_proc_t all = self_;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_info_t collect;
    std::memset(&collect, 0, sizeof collect);
    std::strncpy(collect.key, PMIX_COLLECT_DATA, sizeof collect.key - 1);
    collect.value.type = PMIX_BOOL;
    collect.value.data.flag = true;
    check(call_.fence(&all, 1, &collect, 1), "PMIx_Fence");
    if (rank() == 0) return;
    pmix_proc_t first = self_;
    first.rank = 0;
    pmix_value_t* got = nullptr;
    check(call_.get(&first, key.c_str(), nullptr, 0, &got), "PMIx_Get");
    const bool fits = got->type == PMIX_BYTE_OBJECT && got->data.bo.size == bytes.size();
    if (fits) std::memcpy(bytes.data(), got->data.bo.bytes, bytes.size());
    if (got->type == PMIX_BYTE_OBJECT) std::free(got->data.bo.bytes);
    std::free(got);
    if (!fits)
      throw Error(
          Code::launcher,
          "PMIx gives something else than what PE 0 published: use one installation of Shoal for the whole job");
  }

 private:
  void check(pmix_status_t status, const char* what) const {
    if (status != PMIX_SUCCESS) throw Error(Code::launcher, strf("%s fails: %s", what, call_.error_string(status)));
  }
  const Functions call_;
  const pmix_proc_t self_;
  const int size_;
  const pid_t owner_ = ::getpid();
};

std::unique_ptr<Pmix> load_pmix() {
  void* const library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);  // stays: it has threads and exit handlers
  Functions call{};
  if (library == nullptr || !find(library, "PMIx_Init", call.init) || !find(library, "PMIx_Finalize", call.finalize) ||
      !find(library, "PMIx_Get", call.get) || !find(library, "PMIx_Put", call.put) ||
      !find(library, "PMIx_Commit", call.commit) || !find(library, "PMIx_Fence", call.fence) ||
      !find(library, "PMIx_Error_string", call.error_string))
    return nullptr;
  pmix_proc_t self, all;
  if (call.init(&self, nullptr, 0) != PMIX_SUCCESS) return nullptr;
  all = self;
  all.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* got = nullptr;
  const pmix_status_t status = call.get(&all, PMIX_JOB_SIZE, nullptr, 0, &got);
  if (status != PMIX_SUCCESS || got->type != PMIX_UINT32) {
    call.finalize(nullptr, 0);
    return nullptr;
  }
  const int size = static_cast<int>(got->data.uint32);
  std::free(got);
  return std::make_unique<LoadedPmix>(call, self, size);
}

}  // namespace

// Mutable, as an exception to the rule: the library cannot be left and entered again in one process. It is left when
// that ends.
Pmix* open_pmix() {
  static const std::unique_ptr<Pmix> pmix = load_pmix();
  return pmix.get();
}

#else

Pmix* open_pmix() { return nullptr; }

#endif

}  // namespace shoal
