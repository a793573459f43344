// SPDX-License-Identifier: Apache-2.0
#include "base/call_on_stack.hpp"

// The caller's frame is found by the frame pointer, which the called function keeps.
#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .p2align 4
  .globl shoal_call_on_stack
  .hidden shoal_call_on_stack
  .type shoal_call_on_stack, @function
shoal_call_on_stack:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdi, %rsp
  mov %rdx, %rdi
  call *%rsi
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size shoal_call_on_stack, . - shoal_call_on_stack
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text
  .p2align 4
  .globl shoal_call_on_stack
  .hidden shoal_call_on_stack
  .type shoal_call_on_stack, %function
shoal_call_on_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov x29, sp
  .cfi_def_cfa_register 29
  mov sp, x0
  mov x0, x2
  blr x1
  mov sp, x29
  .cfi_def_cfa_register 31
  ldp x29, x30, [sp], #16
  .cfi_def_cfa_offset 0
  .cfi_restore 29
  .cfi_restore 30
  ret
  .cfi_endproc
  .size shoal_call_on_stack, . - shoal_call_on_stack
  .popsection
)");
#else
extern "C" void shoal_call_on_stack(void*, void (*function)(void*), void* argument) noexcept { function(argument); }
#endif

extern "C" void shoal_call_on_stack(void* top, void (*function)(void*), void* argument) noexcept;

namespace shoal {

void call_on_stack(void* top, void (*function)(void*), void* argument) noexcept {
  shoal_call_on_stack(top, function, argument);
}

}  // namespace shoal
