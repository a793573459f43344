// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/library.hpp"

#include <dlfcn.h>
#include <signal.h>

#include "base/error.hpp"

namespace shoal {
namespace {

/// UCX installs handlers for crashes, and more, as it is loaded: those that the program had are put back.
class HandlersKept final {
 public:
  HandlersKept() noexcept {
    for (int signal = 1; signal < kSignals; ++signal) ::sigaction(signal, nullptr, &before_[signal]);
  }
  ~HandlersKept() {
    for (int signal = 1; signal < kSignals; ++signal) {
      struct sigaction now {};
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_sigaction != before_[signal].sa_sigaction)
        ::sigaction(signal, &before_[signal], nullptr);
    }
  }
  HandlersKept(const HandlersKept&) = delete;
  HandlersKept& operator=(const HandlersKept&) = delete;

 private:
  static constexpr int kSignals = 32;
  struct sigaction before_[kSignals] {};
};

UcpFunctions load() {
  const HandlersKept kept;
  void* const library = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);  // stays: it has threads and exit handlers
  if (library == nullptr)
    throw Error(
        Code::unsupported,
        strf("SHOAL_TRANSPORT=ucx: UCX cannot be loaded (%s). Install it (Debian: libucx0) on every machine, or use "
             "SHOAL_TRANSPORT=tls or tcp",
             ::dlerror()));
  UcpFunctions functions;
  const auto find = [&]<class Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (function == nullptr)
      throw Error(Code::unsupported,
                  strf("SHOAL_TRANSPORT=ucx: this UCX has no %s: version 1.13 or later is needed", name));
  };
#define SHOAL_UCP_FIND(name) find(#name, functions.name);
  SHOAL_UCP_FUNCTIONS(SHOAL_UCP_FIND)
#undef SHOAL_UCP_FIND
  return functions;
}

}  // namespace

const UcpFunctions& load_ucp() {
  static const UcpFunctions functions = load();
  return functions;
}

}  // namespace shoal
