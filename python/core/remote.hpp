// SPDX-License-Identifier: Apache-2.0
// shoal.Remote: one PE's copy of a symmetric array, as `array.on(pe)` gives it. Written against the interpreter's own
// interface, as indexing it by numbers, and of whole arrays, is what is frequent enough for its cost to be felt.
#pragma once
#include <pybind11/pybind11.h>

namespace shoal::python {

/// Copies between `here` and PE `pe`'s copy of `there` where nothing is to be converted or checked further: two
/// contiguous NumPy arrays of one shape and type. @return false, with nothing done, where shoal._remote has to look
bool copy_array(bool put, pybind11::handle there, pybind11::handle here, int pe, pybind11::handle context, bool waits);

/// The type, ready to be put into the module.
pybind11::object make_remote_type();

}  // namespace shoal::python
