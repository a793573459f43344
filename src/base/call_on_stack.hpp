// SPDX-License-Identifier: Apache-2.0
// A call that takes another stack than the thread's own.
#pragma once

namespace shoal {

/// Calls function(argument) with the stack that ends at `top`, a multiple of 16. Who looks for callers from there finds
/// those of this, too. On processors that this does not know, the stack stays what it is.
void call_on_stack(void* top, void (*function)(void*), void* argument) noexcept;

}  // namespace shoal
