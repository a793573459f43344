// SPDX-License-Identifier: Apache-2.0
// The same names as overloads in C++.
#include "generic_body.h"

int main() {
  run_generics("overloads_test");
  return test_end();
}
