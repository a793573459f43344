// SPDX-License-Identifier: Apache-2.0
// shoal._core: what the Python package is made of. Addresses are plain numbers here and are trusted: the package checks
// them.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <shmem.h>
#include <shmemx.h>
#include <unistd.h>

#include <optional>

#include "channels.hpp"
#include "group.hpp"
#include "remote.hpp"
#include "rma.hpp"
#include "runtime.hpp"
#include "waiting.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace shoal::python {

void run_signal_handlers() {
  // Python runs them in the main thread only; another one must not ask for the lock of an interpreter that may be
  // ending.
  if (::gettid() != ::getpid()) return;
  const py::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

void move_transfers_on() {
  if (const std::shared_ptr<Channels> channels = Runtime::instance().channels()) channels->poll();
}

namespace {

using Unlocked = py::call_guard<py::gil_scoped_release>;
using Address = std::uintptr_t;
using Shape = std::vector<std::int64_t>;

Runtime& runtime() { return Runtime::instance(); }
template <class T = void>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}
shmem_ctx_t context_of(Address handle) { return at<shmem_ctx_handle>(handle); }
shmem_team_t team_of(Address handle) { return at<shmem_team_handle>(handle); }
Address number_of(const void* handle) { return reinterpret_cast<Address>(handle); }

void define_life(py::module_& m) {
  m.def(
      "init", [](int level) { runtime().init(level); }, "level"_a, Unlocked());
  m.def(
      "finalize", [] { runtime().finalize(); }, Unlocked());
  m.def("running", [] { return runtime().running(); });
  m.def("epoch", [] { return runtime().epoch(); });
  m.def("require", [](const char* call) { runtime().require(call); });
  m.def("check_pe", &Runtime::check_pe);
  m.def("my_pe", [] { return runtime().me(); });
  m.def("n_pes", [] { return runtime().n_pes(); });
  m.def("maps", [](int pe) { return runtime().mapped(pe); });
  m.def("global_exit", [](int status) { shmem_global_exit(status); });
  m.def("barrier_all", &shmem_barrier_all, Unlocked());
  m.def("sync_all", &shmem_sync_all, Unlocked());
  m.def("sync_pe", &shmemx_sync_pe, Unlocked());
  m.def(
      "quiet", [](Address context) { shmem_ctx_quiet(context_of(context)); }, Unlocked());
  m.def(
      "fence", [](Address context) { shmem_ctx_fence(context_of(context)); }, Unlocked());
  m.def("heap_size", [] { return shmemx_heap_size(SHMEMX_HEAP_DEFAULT); });
  m.def("heap_used", [] { return shmemx_heap_used(SHMEMX_HEAP_DEFAULT); });
}

void define_memory(py::module_& m) {
  py::class_<Block>(m, "Block", py::buffer_protocol())
      .def_buffer([](Block& block) {
        return py::buffer_info(block.data(), 1, py::format_descriptor<std::uint8_t>::format(),
                               static_cast<py::ssize_t>(block.bytes()));
      })
      .def_property_readonly("address", [](const Block& block) { return number_of(block.data()); });
  m.def(
      "allocate",
      [](std::size_t bytes, std::size_t alignment, int type, const Shape& shape) {
        return runtime().allocate(bytes, alignment, type, shape);
      },
      Unlocked());
  m.def(
      "free", [](Block& block) { runtime().free(block); }, Unlocked());
  m.def("is_symmetric", [](Address address) { return runtime().holds(at(address)); });
  m.def("mapped", [](Address address, int pe) { return number_of(shmem_ptr(at(address), pe)); });
}

void define_rma(py::module_& m) {
  m.def("transfer",
        [](bool put, Address there, Address here, const std::vector<std::size_t>& shape,
           const std::vector<std::size_t>& strides, std::size_t width, int pe, Address context, bool waits) {
          const Remote remote{pe, context_of(context)};
          std::size_t bytes = width;
          for (const std::size_t length : shape) bytes *= length;
          unlocked_unless_brief(bytes, remote, [&] {
            transfer(put ? Direction::put : Direction::get, Piece{at<char>(there), shape, strides, width},
                     at<char>(here), remote, waits);
          });
        });
  m.def("copy_array", &copy_array);
  m.def("transfer_blocks", [](bool put, Address base, Address offsets, std::size_t count, std::size_t bytes,
                              Address here, int pe, Address context) {
    const Remote remote{pe, context_of(context)};
    unlocked_unless_brief(count * bytes, remote, [&] {
      transfer_blocks(put ? Direction::put : Direction::get, at<char>(base), at<std::int64_t>(offsets), count, bytes,
                      at<char>(here), remote);
    });
  });
  m.def("put_signal", [](Address there, Address here, std::size_t bytes, Address signal, std::uint64_t value, bool add,
                         int pe, Address context) {
    const Remote remote{pe, context_of(context)};
    unlocked_unless_brief(bytes, remote, [&] {
      shmem_ctx_putmem_signal(remote.context, at(there), at(here), bytes, at<std::uint64_t>(signal), value,
                              add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, pe);
    });
  });
  m.def("signal", [](Address signal, std::uint64_t value, bool add, int pe) {
    unlocked_unless_brief(sizeof value, Remote{pe, SHMEM_CTX_DEFAULT}, [&] {
      if (add)
        shmem_signal_add(at<std::uint64_t>(signal), value, pe);
      else
        shmem_signal_set(at<std::uint64_t>(signal), value, pe);
    });
  });
}

Word encode_unchecked(Type type, const py::handle& value) {
  Word word{0};
  if (type == kFloat32)
    word.f32 = value.cast<float>();
  else if (type == kFloat64)
    word.f64 = value.cast<double>();
  else if (type == kInt32)
    word.i64 = value.cast<std::int32_t>();
  else if (type == kUint32)
    word.u64 = value.cast<std::uint32_t>();
  else if (type == kInt64)
    word.i64 = value.cast<std::int64_t>();
  else
    word.u64 = value.cast<std::uint64_t>();
  return word;
}
Word encode(Type type, const py::handle& value) {
  try {
    return encode_unchecked(type, value);
  } catch (const py::cast_error&) {
    PyErr_Format(PyNumber_Check(value.ptr()) != 0 ? PyExc_OverflowError : PyExc_TypeError, "%R is no value of %s",
                 value.ptr(), kTypeInfo[type].name);
    throw py::error_already_set();
  }
}
py::object decode(Type type, Word word) {
  if (type == kFloat32) return py::float_(static_cast<double>(word.f32));
  if (type == kFloat64) return py::float_(word.f64);
  if (type == kInt32 || type == kInt64) return py::int_(word.i64);
  return py::int_(word.u64);
}

void define_atomics(py::module_& m) {
  m.def("has_atomic",
        [](int type, int operation) { return has_atomic(static_cast<Type>(type), static_cast<Atomic>(operation)); });
  m.def("atomic", [](int operation, Address address, int type_number, int pe, Address context, const py::object& value,
                     const py::object& compare) {
    const Type type = static_cast<Type>(type_number);
    const Word word = encode(type, value), other = encode(type, compare);
    const Remote remote{pe, context_of(context)};
    Word result{0};
    unlocked_unless_brief(
        8, remote, [&] { result = atomic(static_cast<Atomic>(operation), at(address), type, remote, word, other); });
    return decode(type, result);
  });
}

/// Whether an own integer compares as wanted.
bool holds(Address address, Type type, int cmp, Word value) {
  switch (type) {
    case kInt32: return shmem_test(at<std::int32_t>(address), cmp, static_cast<std::int32_t>(value.i64)) != 0;
    case kUint32: return shmem_test(at<std::uint32_t>(address), cmp, static_cast<std::uint32_t>(value.u64)) != 0;
    case kInt64: return shmem_test(at<std::int64_t>(address), cmp, value.i64) != 0;
    default: return shmem_test(at<std::uint64_t>(address), cmp, value.u64) != 0;
  }
}

void define_waits(py::module_& m) {
  m.def("holds", [](Address address, int type, int cmp, const py::object& value) {
    return holds(address, static_cast<Type>(type), cmp, encode(static_cast<Type>(type), value));
  });
  // Waits until at least `least` of the words compare as wanted; gives the indices of those that do. A timeout that
  // isn't positive is one look.
  m.def("wait", [](const std::vector<Address>& words, int type_number, int cmp, const py::object& value,
                   std::size_t least, std::optional<double> timeout, const std::string& call) {
    const Type type = static_cast<Type>(type_number);
    const Word wanted = encode(type, value);
    const py::gil_scoped_release unlocked;
    std::vector<std::size_t> found;
    const std::uint64_t epoch = runtime().epoch();
    const Stay stay(call, epoch);
    Backoff backoff(runtime().crowded(), timeout ? deadline_after(*timeout) : 0, epoch);
    const auto in_vain = [&] {
      return call + ": PE " + std::to_string(runtime().me()) + " waited " + std::to_string(*timeout) + " s in vain";
    };
    for (;;) {
      found.clear();
      for (std::size_t i = 0; i < words.size(); ++i)
        if (holds(words[i], type, cmp, wanted)) found.push_back(i);
      if (found.size() >= least) return found;
      if (timeout && *timeout <= 0) throw Timeout(in_vain());
      backoff.pause(in_vain);
    }
  });
}

void define_teams(py::module_& m) {
  m.def("team_my_pe", [](Address team) { return shmem_team_my_pe(team_of(team)); });
  m.def("team_n_pes", [](Address team) { return shmem_team_n_pes(team_of(team)); });
  m.def("team_translate_pe",
        [](Address from, int pe, Address to) { return shmem_team_translate_pe(team_of(from), pe, team_of(to)); });
  m.def(
      "team_sync", [](Address team) { shmem_team_sync(team_of(team)); }, Unlocked());
  m.def(
      "team_destroy", [](Address team) { shmem_team_destroy(team_of(team)); }, Unlocked());
  m.def(
      "team_split_strided",
      [](Address parent, int start, int stride, int size, int contexts) {
        shmem_team_config_t config{contexts};
        shmem_team_t team = SHMEM_TEAM_INVALID;
        const int code = shmem_team_split_strided(team_of(parent), start, stride, size, &config,
                                                  contexts > 0 ? SHMEM_TEAM_NUM_CONTEXTS : 0, &team);
        return std::pair(code, number_of(team));
      },
      Unlocked());
  m.def(
      "team_split_2d",
      [](Address parent, int width) {
        shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
        const int code = shmem_team_split_2d(team_of(parent), width, nullptr, 0, &row, nullptr, 0, &column);
        return std::tuple(code, number_of(row), number_of(column));
      },
      Unlocked());
  m.def(
      "context_create",
      [](Address team, long options) {
        shmem_ctx_t context = SHMEM_CTX_INVALID;
        const int code = shmem_team_create_ctx(team_of(team), options, &context);
        return std::pair(code, number_of(context));
      },
      Unlocked());
  m.def(
      "context_destroy", [](Address context) { shmem_ctx_destroy(context_of(context)); }, Unlocked());
}

std::vector<const void*> addresses(const std::vector<Address>& numbers) {
  std::vector<const void*> pointers;
  for (const Address number : numbers) pointers.push_back(at(number));
  return pointers;
}
std::vector<void*> writable(const std::vector<Address>& numbers) {
  std::vector<void*> pointers;
  for (const Address number : numbers) pointers.push_back(at(number));
  return pointers;
}
Operand operand_of(int type, std::uint64_t count, const Shape& shape) {
  return Operand{static_cast<Type>(type), count, shape};
}

void define_groups(py::module_& m) {
  m.def("take_slot", [](int members) {
    const int slot = runtime().pool().take();
    if (slot >= 0) Group::clear_slot(runtime().pool(), slot, members);
    return slot;
  });
  m.def("give_back_slot", [](int slot) { runtime().pool().give_back(slot); });
  py::class_<Group, std::shared_ptr<Group>>(m, "Group")
      .def(py::init([](const std::vector<int>& pes, const std::vector<int>& slots, const std::string& name) {
        return std::make_shared<Group>(runtime().pool(), pes, slots, name, runtime().epoch());
      }))
      .def_property_readonly("rank", &Group::rank)
      .def_property_readonly("size", &Group::size)
      .def("pe", &Group::pe)
      .def("set_timeout", &Group::set_timeout)
      .def("barrier", &Group::barrier, Unlocked())
      .def(
          "all_reduce",
          [](Group& g, Address dest, Address source, int type, std::uint64_t count, const Shape& shape, int op) {
            g.all_reduce(at(dest), at(source), operand_of(type, count, shape), op);
          },
          Unlocked())
      .def(
          "reduce",
          [](Group& g, Address dest, Address source, int type, std::uint64_t count, const Shape& shape, int op,
             int root) { g.reduce(at(dest), at(source), operand_of(type, count, shape), op, root); },
          Unlocked())
      .def(
          "reduce_scatter",
          [](Group& g, Address dest, const std::vector<Address>& sources, int type, std::uint64_t count,
             const Shape& shape,
             int op) { g.reduce_scatter(at(dest), addresses(sources), operand_of(type, count, shape), op); },
          Unlocked())
      .def(
          "scan",
          [](Group& g, Address dest, Address source, int type, std::uint64_t count, const Shape& shape,
             bool exclusive) { g.scan(at(dest), at(source), operand_of(type, count, shape), exclusive); },
          Unlocked())
      .def(
          "exchange",
          [](Group& g, int kind, int type, std::uint64_t count, const Shape& shape, int root,
             const std::vector<Address>& to, const std::vector<std::uint64_t>& sends, const std::vector<Address>& from,
             const std::vector<std::uint64_t>& expects) {
            g.exchange(static_cast<Kind>(kind), operand_of(type, count, shape), root, addresses(to), sends,
                       writable(from), expects);
          },
          Unlocked())
      .def("share", [](Group& g, const py::bytes& mine) {
        const std::string_view text = mine;
        std::vector<std::vector<std::byte>> all;
        {
          const py::gil_scoped_release unlocked;
          Description description;
          description.kind = Kind::all_gather;
          description.count = 1;
          all = g.share(description, std::as_bytes(std::span(text)));
        }
        py::list list;
        for (const auto& one : all) list.append(py::bytes(reinterpret_cast<const char*>(one.data()), one.size()));
        return list;
      });
  m.def("world_group", [] { return runtime().world("world"); });
}

/// What Python holds of a send or a receive.
struct Started {
  std::shared_ptr<Channels> channels;  // which a finalize may have closed
  std::shared_ptr<Transfer> transfer;
};
Started started(const char* call, Transfer transfer) {
  std::shared_ptr<Channels> channels = runtime().channels(call);
  std::shared_ptr<Transfer> shared = channels->start(std::move(transfer));
  return {std::move(channels), std::move(shared)};
}

void define_channels(py::module_& m) {
  py::class_<Started>(m, "Transfer").def_property_readonly("pe", [](const Started& s) { return s.transfer->pe; });
  m.def(
      "start_send",
      [](int pe, std::uint64_t group, std::int64_t tag, Address data, std::uint64_t bytes) {
        return started("send", Transfer{true, pe, {}, group, tag, at<char>(data), bytes, 0, false, {}, false, {}});
      },
      Unlocked());
  m.def(
      "start_receive",
      [](int pe, const std::vector<int>& members, std::uint64_t group, std::int64_t tag, Address data,
         std::uint64_t bytes) {
        return started("receive",
                       Transfer{false, pe, members, group, tag, at<char>(data), bytes, 0, false, {}, false, {}});
      },
      Unlocked());
  m.def("enter_background", &enter_background);
  m.def(
      "test_transfer", [](const Started& s) { return s.channels->test(*s.transfer); }, Unlocked());
  m.def(
      "wait_transfer", [](const Started& s, double timeout) { s.channels->wait(*s.transfer, timeout); }, Unlocked());
  m.def("wait_any_transfer", [](const std::vector<Started>& some, double timeout) {
    std::vector<Transfer*> transfers;
    for (const Started& s : some) transfers.push_back(s.transfer.get());
    const py::gil_scoped_release unlocked;
    some.front().channels->wait_any(transfers, timeout);
  });
  m.def(
      "abandon_transfer", [](const Started& s) { return s.channels->abandon(*s.transfer); }, Unlocked());
}

}  // namespace
}  // namespace shoal::python

PYBIND11_MODULE(_core, m) {
  using namespace shoal::python;
  m.doc() = "What the package shoal is made of; not for direct use.";
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Timeout& timeout) {
      PyErr_SetString(PyExc_TimeoutError, timeout.what());
    }
  });
  m.attr("Remote") = make_remote_type();
  define_life(m);
  define_memory(m);
  define_rma(m);
  define_atomics(m);
  define_waits(m);
  define_teams(m);
  define_groups(m);
  define_channels(m);
}
