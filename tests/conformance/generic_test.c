// SPDX-License-Identifier: Apache-2.0
// The type-generic names of C11.
#include "generic_body.h"

int main(void) {
  run_generics("generic_test");
  return test_end();
}
