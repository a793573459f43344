// SPDX-License-Identifier: Apache-2.0
// Mistakes in C++, through the overloads of shmem.h and through the native interface, for lines_test.py, which compiles
// this with and without optimisation: `lines_programs CASE`. The line of the program is to be named, not that of a
// header that it calls through. As in check_programs.c, it ends with the comment "wrong"; in races, with "race". A case
// that comes back gives status 0. No two are the same, for the compiler would make one of them; and none ends with its
// call: optimised, that would be a jump, after which nobody knows the line.
// With PLUGIN it is a library that the program loads.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <shoal/shoal.hpp>
#include <string>

#ifdef PLUGIN
extern "C" {
int loaded_later(long* where, int pe) {
  shoal::p(where, 1, pe);  // wrong
  return 0;
}
}
#else
namespace {

int me, npes;
long word, data[8], result[8], held;
std::uint64_t signal_word;
std::string plugin;
long* heap;

/* ---- overloads ---- */
int overload_put() {
  if (me == 1) shmem_put(heap + 4, data, 8, 0);  // wrong
  return 0;
}
int overload_p() {
  if (me == 1) shmem_p(&word, 1L, npes);  // wrong
  return 0;
}
int overload_g_of_context() {
  if (me == 1) std::printf("%ld\n", shmem_g(SHMEM_CTX_DEFAULT, heap + 100, 0));  // wrong
  return 0;
}
int overload_atomic() {
  if (me == 1) shmem_atomic_inc(heap + 100, 0);  // wrong
  return 0;
}
int overload_reduce() {
  shmem_sum_reduce(SHMEM_TEAM_WORLD, result, data, me == 1 ? 5 : 4);  // wrong
  return 0;
}
int overload_signal() {
  if (me == 1) shmem_signal_set(SHMEM_CTX_DEFAULT, &signal_word, 1, npes);  // wrong
  return 0;
}
int overload_sync() {
  if (me == 1)
    shmem_sync(SHMEM_TEAM_WORLD);  // wrong
  else
    shmem_barrier_all();
  return 0;
}
int race_of_overloads() {
  if (me == 0) shmem_p(&word, 1L, 1);  // race
  if (me == 2) shmem_p(&word, 2L, 1);  // race
  return 0;
}

/* ---- the native interface ---- */
int native_put() {
  if (me == 1) shoal::put(heap + 4, std::span<const long>(data), 0);  // wrong
  return 0;
}
int native_p() {
  if (me == 1) shoal::p(&word, 1, npes);  // wrong
  return 0;
}
int native_element() {
  shoal::Array<double> array(10);
  if (me == 1) array.on(npes)[3] = 1.0;  // wrong
  shoal::barrier();
  return 0;
}
int native_atomic() {
  if (me == 1) shoal::atomic(&word, npes).add(1);  // wrong
  return 0;
}
int native_reduce() {
  const auto some = std::span(data).first(me == 1 ? 5 : 4);
  shoal::TeamRef::world().all_reduce(shoal::op::sum, std::span(result).first(some.size()), some);  // wrong
  return 0;
}
int native_value() {  // through a lambda of the header
  std::printf("%d\n", shoal::TeamRef::world().broadcast(7, me == 1 ? 1 : 0));  // wrong
  return 0;
}
int native_signal() {
  if (me == 1) shoal::SignalRef(&signal_word).set(1, npes);  // wrong
  return 0;
}
int native_lock() {
  if (me == 1) shoal::LockRef(&held).unlock();  // wrong
  shoal::barrier();
  return 0;
}
int native_context() {
  shoal::Context context;
  if (me == 1) context.put(&word, std::span<const long>(data), npes);  // wrong
  return 0;
}
int native_free() {
  auto array = std::make_unique<shoal::Array<char>>(10);
  if (me == 1) array->data()[10] = 1;
  array.reset();  // wrong
  return 0;
}
int race_of_native() {
  if (me == 0) shoal::p(&word, 1, 1);  // race
  if (me == 2) shoal::p(&word, 2, 1);  // race
  return 0;
}

/* ---- a header of the program's own is the program ---- */
inline int put_one(int pe) {
  shmem_p(&data[1], 3L, pe);  // wrong
  return 0;
}
int own_inline() {
  return me == 1 ? put_one(npes) : 0;
}
int in_function() {
  const std::function<int()> body = [] {
    if (me == 1) shmem_p(&data[2], 4L, npes);  // wrong
    return 0;
  };
  return body();
}

int loaded_later() {
  void* const code = dlopen(plugin.c_str(), RTLD_NOW);
  if (code == nullptr) return 98;
  if (me == 1) reinterpret_cast<int (*)(long*, int)>(dlsym(code, "loaded_later"))(&word, npes);
  return 0;
}

const struct {
  const char* name;
  int (*run)();
} kCases[] = {
#define CASE(name) {#name, name}
    CASE(overload_put),  CASE(overload_p),      CASE(overload_g_of_context), CASE(overload_atomic), CASE(overload_reduce),
    CASE(overload_sync), CASE(overload_signal), CASE(race_of_overloads),     CASE(native_put),      CASE(native_p),
    CASE(native_element), CASE(native_atomic),  CASE(native_reduce),         CASE(native_value),    CASE(native_signal),
    CASE(native_lock),   CASE(native_context),  CASE(native_free),           CASE(race_of_native),  CASE(own_inline),
    CASE(in_function), CASE(loaded_later)};

}  // namespace

int main(int argc, char** argv) {
  return shoal::run([&](shoal::Job& job) {
    me = job.my_pe();
    npes = job.n_pes();
    plugin = std::string(argv[0]) + ".so";
    heap = static_cast<long*>(shmem_calloc(8, sizeof(long)));
    for (const auto& one : kCases) {
      if (argc < 2 || std::strcmp(argv[1], one.name) != 0) continue;
      const int status = one.run();
      shmem_barrier_all();
      return status;
    }
    return 99;
  });
}
#endif
