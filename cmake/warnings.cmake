# SPDX-License-Identifier: Apache-2.0
# The warnings and sanitizers that all our own targets share: link a target with `shoal_flags`.
add_library(shoal_flags INTERFACE)
target_compile_options(shoal_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
if(SHOAL_SANITIZE)
  target_compile_options(shoal_flags INTERFACE -fsanitize=${SHOAL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  target_link_options(shoal_flags INTERFACE -fsanitize=${SHOAL_SANITIZE})
  if(SHOAL_SANITIZE MATCHES undefined)
    # The check of vtable pointers probes memory through a pipe, and is wrong where a test takes all descriptors away.
    target_compile_options(shoal_flags INTERFACE -fno-sanitize=vptr)
  endif()
endif()
