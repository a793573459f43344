// SPDX-License-Identifier: Apache-2.0
#include "remote.hpp"

#include <pybind11/numpy.h>
#include <structmember.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "rma.hpp"
#include "runtime.hpp"

namespace py = pybind11;

namespace shoal::python {
namespace {

struct RemoteObject {
  PyObject_HEAD PyObject* array;  // a shoal.Array, or a view of one
  PyObject* context;              // a shoal.Context, or None
  shmem_ctx_t handle;
  int pe;
};

RemoteObject* self_of(PyObject* object) { return reinterpret_cast<RemoteObject*>(object); }
const py::detail::PyArray_Proxy* array_of(const RemoteObject* self) { return py::detail::array_proxy(self->array); }
Remote remote_of(const RemoteObject* self) { return {self->pe, self->handle}; }

PyObject* fail(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  return nullptr;
}

/// The default context when `context` is None; sets *n to the PEs that it numbers. @return false for an error: the
/// context ended
bool context_of(PyObject* context, shmem_ctx_t* handle, int* n) {
  *handle = SHMEM_CTX_DEFAULT;
  *n = Runtime::instance().n_pes();
  if (context == Py_None) return true;
  const py::object number = py::reinterpret_steal<py::object>(PyObject_GetAttrString(context, "_handle"));
  const py::object size = py::reinterpret_steal<py::object>(PyObject_GetAttrString(context, "_n_pes"));
  const py::object epoch = py::reinterpret_steal<py::object>(PyObject_GetAttrString(context, "_epoch"));
  if (!number || !size || !epoch) return false;
  *handle = reinterpret_cast<shmem_ctx_t>(PyLong_AsSize_t(number.ptr()));
  *n = static_cast<int>(PyLong_AsLong(size.ptr()));
  const std::uint64_t begun = PyLong_AsUnsignedLongLong(epoch.ptr());
  if (PyErr_Occurred() != nullptr) return false;
  if (*handle == SHMEM_CTX_INVALID) return fail(PyExc_RuntimeError, "the context was destroyed"), false;
  if (begun != Runtime::instance().epoch())
    return fail(PyExc_RuntimeError, "the context is of a job that shoal.finalize() ended"), false;
  return true;
}

/// Whether the context is still there: one of the user's may have ended since the object was made.
bool refresh_context(RemoteObject* self) {
  int n = 0;
  return self->context == Py_None || context_of(self->context, &self->handle, &n);
}

bool is_empty(PyObject* array) {
  const auto* proxy = py::detail::array_proxy(array);
  return std::find(proxy->dimensions, proxy->dimensions + proxy->nd, 0) != proxy->dimensions + proxy->nd;
}

PyObject* remote_new(PyTypeObject* type, PyObject* arguments, PyObject* names) {
  static const char* kNames[] = {"array", "pe", "context", nullptr};
  PyObject *array = nullptr, *context = Py_None;
  int pe = 0, n = 0;
  shmem_ctx_t handle;
  if (PyArg_ParseTupleAndKeywords(arguments, names, "Oi|O", const_cast<char**>(kNames), &array, &pe, &context) == 0)
    return nullptr;
  const Runtime& runtime = Runtime::instance();
  if (!runtime.running())
    return fail(PyExc_RuntimeError,
                runtime.epoch() == 0 ? "on: called before shoal.init()" : "on: called after shoal.finalize()");
  if (!py::isinstance<py::array>(array)) return fail(PyExc_TypeError, "on: needs a NumPy array on the symmetric heap");
  if (!context_of(context, &handle, &n)) return nullptr;
  if (pe < 0 || pe >= n)
    return fail(PyExc_IndexError,
                "on: PE " + std::to_string(pe) + " is out of range: there are PEs 0 to " + std::to_string(n - 1));
  if (!is_empty(array) &&
      !runtime.holds(py::detail::array_proxy(array)->data))  // what has no elements may point behind its memory
    return fail(PyExc_ValueError,
                "on: the array is not on the symmetric heap: make it by shoal.zeros and its like, or it was freed");
  auto* self = reinterpret_cast<RemoteObject*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  Py_INCREF(array);
  Py_INCREF(context);
  self->array = array;
  self->context = context;
  self->handle = handle;
  self->pe = pe;
  return reinterpret_cast<PyObject*>(self);
}

void remote_dealloc(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(self_of(object)->array);
  Py_XDECREF(self_of(object)->context);
  type->tp_free(object);
  Py_DECREF(type);
}

/// Adds index `key` of dimension `d` to *address. @return 1 if it did, 0 if the key is no plain number, -1 for an error
int add_index(const py::detail::PyArray_Proxy* array, int d, PyObject* key, char** address) {
  if (!PyLong_CheckExact(key)) return 0;
  Py_ssize_t index = PyLong_AsSsize_t(key);
  if (index == -1 && PyErr_Occurred() != nullptr) return -1;
  const Py_ssize_t length = array->dimensions[d];
  if (index < 0) index += length;
  if (index < 0 || index >= length) {
    PyErr_Format(PyExc_IndexError, "index %S is out of range for axis %d of %zd elements", key, d, length);
    return -1;
  }
  *address += index * array->strides[d];
  return 1;
}

/// The address of the one element that `key` names. @return as add_index
int element_of(const RemoteObject* self, PyObject* key, char** address) {
  const auto* array = array_of(self);
  *address = array->data;
  if (!PyTuple_CheckExact(key)) return array->nd == 1 ? add_index(array, 0, key, address) : 0;
  if (PyTuple_GET_SIZE(key) != array->nd) return 0;
  for (int d = 0; d < array->nd; ++d) {
    const int added = add_index(array, d, PyTuple_GET_ITEM(key, d), address);
    if (added != 1) return added;
  }
  return 1;
}

bool alive(const char* address) {
  if (Runtime::instance().holds(address)) return true;
  fail(PyExc_RuntimeError,
       Runtime::instance().running() ? "the array was freed" : "the array is of a job that shoal.finalize() ended");
  return false;
}

Type type_of(const py::detail::PyArray_Proxy* array) {
  const auto* descriptor = py::detail::array_descriptor_proxy(array->descr);
  return descriptor->byteorder == '>' ? kBytes : type_of_numpy(descriptor->type_num);
}

/// Encodes a Python number. @return 1 if it did, 0 if it's for NumPy to convert, -1 for an error
int encode(PyObject* value, Type type, std::uint64_t* bits) {
  if (type == kFloat64 || type == kFloat32) {
    double number;
    if (PyFloat_CheckExact(value))
      number = PyFloat_AS_DOUBLE(value);
    else if (PyLong_CheckExact(value))
      number = PyLong_AsDouble(value);
    else
      return 0;
    if (number == -1.0 && PyErr_Occurred() != nullptr) return -1;
    if (type == kFloat64) {
      std::memcpy(bits, &number, 8);
    } else {
      const float narrow = static_cast<float>(number);
      std::memcpy(bits, &narrow, 4);
    }
    return 1;
  }
  if (!PyLong_CheckExact(value) || type > kUint64) return 0;
  const std::size_t width = kTypeInfo[type].size;
  int overflow = 0;
  if (type <= kInt64) {
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    const long long most = std::numeric_limits<long long>::max() >> (64 - 8 * width);
    if (overflow == 0 && number <= most && number >= -most - 1) return *bits = static_cast<std::uint64_t>(number), 1;
  } else {
    const unsigned long long number = PyLong_AsUnsignedLongLong(value);
    const unsigned long long most = std::numeric_limits<unsigned long long>::max() >> (64 - 8 * width);
    if (PyErr_Occurred() == nullptr && number <= most) return *bits = number, 1;
    PyErr_Clear();
  }
  PyErr_Format(PyExc_OverflowError, "%S does not fit into %s", value, kTypeInfo[type].name);
  return -1;
}

PyObject* decode(std::uint64_t bits, Type type) {
  switch (type) {
    case kFloat64: {
      double number;
      std::memcpy(&number, &bits, 8);
      return PyFloat_FromDouble(number);
    }
    case kFloat32: {
      float number;
      std::memcpy(&number, &bits, 4);
      return PyFloat_FromDouble(static_cast<double>(number));
    }
    case kInt8: return PyLong_FromLong(static_cast<std::int8_t>(bits));
    case kInt16: return PyLong_FromLong(static_cast<std::int16_t>(bits));
    case kInt32: return PyLong_FromLong(static_cast<std::int32_t>(bits));
    case kInt64: return PyLong_FromLongLong(static_cast<std::int64_t>(bits));
    default: return PyLong_FromUnsignedLongLong(bits);
  }
}

void put_element(const RemoteObject* self, char* address, std::size_t width, std::uint64_t bits) {
  switch (width) {
    case 1:
      shmem_ctx_uint8_p(self->handle, reinterpret_cast<std::uint8_t*>(address), static_cast<std::uint8_t>(bits),
                        self->pe);
      break;
    case 2:
      shmem_ctx_uint16_p(self->handle, reinterpret_cast<std::uint16_t*>(address), static_cast<std::uint16_t>(bits),
                         self->pe);
      break;
    case 4:
      shmem_ctx_uint32_p(self->handle, reinterpret_cast<std::uint32_t*>(address), static_cast<std::uint32_t>(bits),
                         self->pe);
      break;
    default: shmem_ctx_uint64_p(self->handle, reinterpret_cast<std::uint64_t*>(address), bits, self->pe); break;
  }
}

std::uint64_t get_element(const RemoteObject* self, const char* address, std::size_t width) {
  switch (width) {
    case 1: return shmem_ctx_uint8_g(self->handle, reinterpret_cast<const std::uint8_t*>(address), self->pe);
    case 2: return shmem_ctx_uint16_g(self->handle, reinterpret_cast<const std::uint16_t*>(address), self->pe);
    case 4: return shmem_ctx_uint32_g(self->handle, reinterpret_cast<const std::uint32_t*>(address), self->pe);
    default: return shmem_ctx_uint64_g(self->handle, reinterpret_cast<const std::uint64_t*>(address), self->pe);
  }
}

/// Axis and address where a piece begins that is whole from there on: x[...], x[:], and x[i] of an array of several
/// axes.
struct WholePiece {
  char* address;
  int first_axis;
};

/// @return 1 if `key` names a whole piece, 0 if it is of another kind, -1 for an error
int whole_piece_of(const py::detail::PyArray_Proxy* array, PyObject* key, WholePiece* piece) {
  *piece = {array->data, 0};
  if (key == Py_Ellipsis) return 1;
  if (PySlice_Check(key)) {
    const auto* slice = reinterpret_cast<const PySliceObject*>(key);
    return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None && array->nd > 0;
  }
  if (array->nd < 2) return 0;
  piece->first_axis = 1;
  return add_index(array, 0, key, &piece->address);
}

bool is_contiguous(const py::detail::PyArray_Proxy* array) {
  return (array->flags & py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_) != 0;
}

std::size_t bytes_of(const py::detail::PyArray_Proxy* array) {
  std::size_t bytes = kTypeInfo[type_of(array)].size;
  for (int d = 0; d < array->nd; ++d) bytes *= static_cast<std::size_t>(array->dimensions[d]);
  return bytes;
}

/// Copies between `here` and the piece of `there` on the PE where both are contiguous, of one shape, and of one type
/// that NumPy has itself: the most frequent transfers, at the library's own cost. @return 1 if it did, 0 if not, -1 for
/// an error
int copy_whole(Direction direction, const py::detail::PyArray_Proxy* there, WholePiece piece, PyObject* here_object,
               Remote remote, bool waits) {
  if (!py::isinstance<py::array>(here_object)) return 0;
  const auto* here = py::detail::array_proxy(here_object);
  const Type type = type_of(there);
  if (type == kBytes || type_of(here) != type || here->nd != there->nd - piece.first_axis || !is_contiguous(there) ||
      !is_contiguous(here) ||
      !std::equal(here->dimensions, here->dimensions + here->nd, there->dimensions + piece.first_axis))
    return 0;
  if (direction == Direction::get && (here->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_) == 0) return 0;
  const std::size_t bytes = bytes_of(here);
  if (bytes == 0) return 0;
  if (!alive(piece.address)) return -1;
  unlocked_unless_brief(bytes, remote,
                        [&] { transfer_block(direction, piece.address, here->data, bytes, remote, waits); });
  return 1;
}

/// What is neither a single number nor a whole piece: shoal._remote.
PyObject* general(const char* name, PyObject* object, PyObject* key, PyObject* value) {
  const py::object module = py::reinterpret_steal<py::object>(PyImport_ImportModule("shoal._remote"));
  return module ? PyObject_CallMethod(module.ptr(), name, value == nullptr ? "OO" : "OOO", object, key, value)
                : nullptr;
}

PyObject* remote_getitem(PyObject* object, PyObject* key) {
  RemoteObject* self = self_of(object);
  if (!refresh_context(self)) return nullptr;
  const auto* array = array_of(self);
  const Type type = type_of(array);
  char* address = nullptr;
  int found = type <= kFloat64 ? element_of(self, key, &address) : 0;
  if (found < 0) return nullptr;
  if (found == 1) {
    if (!alive(address)) return nullptr;
    std::uint64_t bits = 0;
    unlocked_unless_brief(8, remote_of(self), [&] { bits = get_element(self, address, kTypeInfo[type].size); });
    return decode(bits, type);
  }
  WholePiece piece;
  found = type != kBytes && is_contiguous(array) ? whole_piece_of(array, key, &piece) : 0;
  if (found < 0) return nullptr;
  if (found == 1) {
    py::array out(py::reinterpret_borrow<py::dtype>(array->descr),
                  std::vector<py::ssize_t>(array->dimensions + piece.first_axis, array->dimensions + array->nd));
    found = copy_whole(Direction::get, array, piece, out.ptr(), remote_of(self), true);
    if (found < 0) return nullptr;
    if (found == 1) return out.release().ptr();
  }
  return general("get_item", object, key, nullptr);
}

int remote_setitem(PyObject* object, PyObject* key, PyObject* value) {
  RemoteObject* self = self_of(object);
  if (!refresh_context(self)) return -1;
  if (value == nullptr) return fail(PyExc_TypeError, "elements of an array can't be deleted"), -1;
  const auto* array = array_of(self);
  const Type type = type_of(array);
  char* address = nullptr;
  std::uint64_t bits = 0;
  int found = type <= kFloat64 ? element_of(self, key, &address) : 0;
  if (found > 0) found = encode(value, type, &bits);
  if (found < 0) return -1;
  if (found == 1) {
    if (!alive(address)) return -1;
    unlocked_unless_brief(8, remote_of(self), [&] { put_element(self, address, kTypeInfo[type].size, bits); });
    return 0;
  }
  WholePiece piece;
  found = whole_piece_of(array, key, &piece);
  if (found == 1) found = copy_whole(Direction::put, array, piece, value, remote_of(self), true);
  if (found != 0) return found == 1 ? 0 : -1;
  PyObject* none = general("set_item", object, key, value);
  Py_XDECREF(none);
  return none == nullptr ? -1 : 0;
}

Py_ssize_t remote_length(PyObject* object) { return PyObject_Size(self_of(object)->array); }

PyMemberDef kMembers[] = {{"array", T_OBJECT_EX, offsetof(RemoteObject, array), READONLY, "this PE's own copy"},
                          {"context", T_OBJECT_EX, offsetof(RemoteObject, context), READONLY,
                           "the shoal.Context, or None for the default one"},
                          {"pe", T_INT, offsetof(RemoteObject, pe), READONLY, "the PE, counted in the context's team"},
                          {nullptr, 0, 0, 0, nullptr}};

PyType_Slot kSlots[] = {{Py_tp_new, reinterpret_cast<void*>(remote_new)},
                        {Py_tp_dealloc, reinterpret_cast<void*>(remote_dealloc)},
                        {Py_mp_subscript, reinterpret_cast<void*>(remote_getitem)},
                        {Py_mp_ass_subscript, reinterpret_cast<void*>(remote_setitem)},
                        {Py_mp_length, reinterpret_cast<void*>(remote_length)},
                        {Py_tp_members, kMembers},
                        {0, nullptr}};
PyType_Spec kSpec = {"shoal._core.Remote", sizeof(RemoteObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, kSlots};

}  // namespace

bool copy_array(bool put, py::handle there, py::handle here, int pe, py::handle context, bool waits) {
  Remote remote{pe, SHMEM_CTX_DEFAULT};
  int n = 0;
  if (!context_of(context.ptr(), &remote.context, &n)) throw py::error_already_set();
  if (!Runtime::instance().running() || pe < 0 || pe >= n || !py::isinstance<py::array>(there)) return false;
  const auto* array = py::detail::array_proxy(there.ptr());
  if (!Runtime::instance().holds(array->data)) return false;
  const int copied =
      copy_whole(put ? Direction::put : Direction::get, array, {array->data, 0}, here.ptr(), remote, waits);
  if (copied < 0) throw py::error_already_set();
  return copied == 1;
}

py::object make_remote_type() { return py::reinterpret_steal<py::object>(PyType_FromSpec(&kSpec)); }

}  // namespace shoal::python
