# SPDX-License-Identifier: Apache-2.0
# Writes commit.hpp, at each build but only when it changes: cmake -D SOURCE=dir -D OUTPUT=file -P commit.cmake
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
set(text "// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shoal::info {

constexpr const char* kCommit = \"${commit}\";

}  // namespace shoal::info
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
