#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input and misuse under shoalrun: the message is read, the status looked at, and nobody may hang.

errors_test.py SHOALRUN ERRORS_BAD_CALLS [unittest arguments]
"""
import os
import re
import subprocess
import sys
import time
import unittest

SHOALRUN, PROGRAM = sys.argv[1:3]
PES = 3
LAST = PES - 1
DEADLINE = 30  # seconds until a run is taken for hung; the machine may be busy
PROMPT = 10  # a job with a mistake must be over by then

# What the library says of a wrong PE, address, ...: case -> (routine, pattern of the message)
RANGE = r"PE {0} is out of range.*0.*{1}"
OUT = RANGE.format(PES, LAST)
ONE_PE = {
    "pe_minus_one": ("shmem_int_p", RANGE.format(-1, LAST)),
    "pe_n_put": ("shmem_long_put", OUT),
    "pe_n_get": ("shmem_long_get", OUT),
    "pe_n_g": ("shmem_long_g", OUT),
    "pe_n_iput": ("shmem_long_iput", OUT),
    "pe_n_ibget": ("shmem_long_ibget", OUT),
    "pe_n_nbi": ("shmem_putmem_nbi", RANGE.format(PES + 1000, LAST)),
    "pe_n_atomic": ("shmem_long_atomic_inc", OUT),
    "pe_n_fetch": ("shmem_long_atomic_fetch", OUT),
    "pe_n_cswap": ("shmem_long_atomic_compare_swap", RANGE.format(-2147483648, LAST)),
    "pe_n_signal": ("shmem_signal_set", OUT),
    "pe_n_put_signal": ("shmem_putmem_signal", OUT),
    "pe_n_quiet": ("shmem_pe_quiet", r"\b3 is out of range.*0.*2"),
    "pe_n_zero": ("shmem_putmem", OUT),
    "pe_of_team": ("shmem_ctx_long_p", OUT),
    "address_stack": ("shmem_int_put", r"0x[0-9a-f]+.*not symmetric.*shmem_malloc"),
    "address_null": ("shmem_long_p", r"not symmetric.*shmem_malloc"),
    "address_null_get": ("shmem_getmem", r"not symmetric.*shmem_malloc"),
    "address_malloc": ("shmem_long_atomic_add", r"0x[0-9a-f]+.*not symmetric.*shmem_malloc"),
    "address_constant": ("shmem_putmem", r"0x[0-9a-f]+.*not symmetric"),
    "address_past_end": ("shmem_putmem", r"0x[0-9a-f]+.*1099511627776 bytes.*past the end"),
    "address_past_end_get": ("shmem_getmem", r"0x[0-9a-f]+.*1099511627776 bytes.*past the end"),
    "address_wraps": ("shmem_long_put", r"0x[0-9a-f]+.*past the end"),
    "address_wraps_mem": ("shmem_putmem", r"0x[0-9a-f]+.*past the end"),
    "address_strided": ("shmem_long_iput", r"0x[0-9a-f]+.*past the end"),
    "address_strided_wraps": ("shmem_long_iput", r"0x[0-9a-f]+.*past the end"),
    "address_blocks": ("shmem_long_ibput", r"0x[0-9a-f]+.*past the end"),
    "address_signal": ("shmem_putmem_signal", r"0x[0-9a-f]+.*not symmetric"),
    "lock_private": ("shmem_set_lock", r"0x[0-9a-f]+.*not symmetric"),
    "stride_zero": ("shmem_long_iput", r"stride.*at least 1.*\b0\b"),
    "stride_negative": ("shmem_long_iget", r"stride.*at least 1.*-3"),
    "misaligned_add": ("shmem_long_atomic_add", r"0x[0-9a-f]+4 is misaligned.*multiple of 8"),
    "misaligned_fetch": ("shmem_int_atomic_fetch", r"0x[0-9a-f]+2 is misaligned.*multiple of 4"),
    "misaligned_cswap": ("shmem_int_atomic_compare_swap", r"0x[0-9a-f]+1 is misaligned.*multiple of 4"),
    "misaligned_signal": ("shmem_signal_add", r"0x[0-9a-f]+4 is misaligned.*multiple of 8"),
    "ctx_invalid": ("shmem_ctx_long_p", r"SHMEM_CTX_INVALID"),
    "ctx_destroyed": ("shmem_ctx_long_put", r"context.*not valid.*destroyed"),
    "ctx_destroyed_twice": ("shmem_ctx_destroy", r"context.*not valid.*destroyed"),
    "ctx_garbage": ("shmem_ctx_long_atomic_fetch", r"context.*0xdeadbeef.*not valid"),
    "ctx_default_destroyed": ("shmem_ctx_destroy", r"SHMEM_CTX_DEFAULT"),
    "team_garbage": ("shmem_team_n_pes", r"team.*0xdeadbeef.*not valid"),
    "cmp_wait": ("shmem_long_wait_until", r"comparison 77\b.*SHMEM_CMP_EQ"),
    "cmp_test": ("shmem_int_test", r"comparison -1\b.*SHMEM_CMP_EQ"),
    "cmp_any": ("shmem_long_test_any", r"comparison 6\b.*SHMEM_CMP_EQ"),
    "cmp_signal": ("shmem_signal_wait_until", r"comparison 42\b.*SHMEM_CMP_EQ"),
    "signal_op": ("shmem_putmem_signal", r"signal operator 9\b.*SHMEM_SIGNAL_SET.*SHMEM_SIGNAL_ADD"),
    "lock_twice": ("shmem_set_lock", r"lock at (heap|static data) \+ 0x[0-9a-f]+"),
    "lock_not_held": ("shmem_clear_lock", r"does not hold the lock at (heap|static data) \+ 0x[0-9a-f]+"),
}
ALL_PES = {
    **{f"{name}_private": (f"shmem_{name}mem", r"0x[0-9a-f]+ \(\d+ bytes\) is not symmetric.*shmem_malloc")
       for name in ("fcollect", "alltoall", "broadcast", "collect")},
    "fcollect_private_much": ("shmem_fcollectmem", r"0x[0-9a-f]+ \(1048576 bytes\) is not symmetric"),
    "fcollect_null": ("shmem_fcollectmem", r"not symmetric.*shmem_malloc"),
    "reduce_private": ("shmem_long_sum_reduce", r"0x[0-9a-f]+ \(8 bytes\) is not symmetric"),
    "scan_private": ("shmem_long_sum_inscan", r"0x[0-9a-f]+ \(8 bytes\) is not symmetric"),
    "team_destroyed": ("shmem_team_sync", r"team.*not valid.*destroyed"),
    "heap_sizes": ("shmemx_heap_create", r"same size and alignment: this PE gives \d+ bytes aligned to 64, PE \d gives \d+ bytes"),
    "free_twice": ("shmem_free", r"0x[0-9a-f]+ is not allocated.*freed already"),
    "free_stack": ("shmem_free", r"0x[0-9a-f]+ is not in .*heap"),
    "free_inside": ("shmem_free", r"0x[0-9a-f]+ is 16 bytes inside a block of \d+ bytes"),
    "free_static": ("shmem_free", r"0x[0-9a-f]+ is not in .*heap"),
    "realloc_stack": ("shmem_realloc", r"0x[0-9a-f]+ is not in .*heap"),
    "realloc_freed": ("shmem_realloc", r"0x[0-9a-f]+ is not allocated"),
}
EARLY = {
    "early_my_pe": "shmem_my_pe",
    "early_malloc": "shmem_malloc",
    "early_barrier": "shmem_barrier_all",
    "early_put": "shmem_long_p",
    "early_atomic": "shmem_long_atomic_inc",
    "early_wait": "shmem_long_wait_until",
    "early_lock": "shmem_set_lock",
    "early_quiet": "shmem_quiet",
    "early_ctx": "shmem_ctx_create",
    "early_team": "shmem_team_n_pes",
    "early_reduce": "shmem_long_sum_reduce",
    "early_query_thread": "shmem_query_thread",
}
BAD_OPTIONS = [
    ("SHMEM_SYMMETRIC_SIZE", value) for value in ("20Mabc", "abc", "-5", "1.5.2g", "12q", "0x100", "1e3", "nan", "99999999999t", "1 g")
] + [
    ("SMA_SYMMETRIC_SIZE", "3mb"),
    ("SHOAL_SPIN", "12x"),
    ("SHOAL_SPIN", "many"),
    ("SHOAL_SPIN", "99999999999999999999"),
    ("SHOAL_SPIN", "-2"),
    ("SHOAL_CHAOS", "-2"),
    ("SHOAL_SILENCE", "0"),
    ("SHOAL_RDZV_TIMEOUT", "-5"),
    ("SHOAL_HUGE_PAGES", "maybe"),
    ("SHOAL_HUGE_PAGES", "1x"),
    ("SHOAL_STATIC_DATA", "2"),
    ("SHOAL_LOG", "loud"),
    ("SHOAL_LOG", "debug1"),
    ("SHOAL_BARRIER", "fast"),
    ("SHOAL_BARRIER", "central "),
    ("SHOAL_COUNTER_START", "3z"),
    ("SHOAL_FAKE_NODES", "2:round"),
    ("SHOAL_FAKE_NODES", "99999999999"),
    ("SHOAL_FAKE_NODES", "0,1"),
] + [  # on one node nobody needs these
    ("SHOAL_CONGESTION", "none such"),
    ("SHOAL_RDZV", "tcp://node0:99999"),
    ("SHOAL_RDZV", "unix:"),
    ("SHOAL_TRANSPORT", "pigeon"),
    ("SHOAL_DEVICE_CORES", "0"),
]
GOOD_OPTIONS = [("SHMEM_SYMMETRIC_SIZE", value) for value in ("64m", "0.25G", "67108864", "65536k", ".5g", "0.001t", "0")] + [
    ("SMA_SYMMETRIC_SIZE", "32M"),
    ("SHOAL_SPIN", "0"),
    ("SHOAL_SPIN", "100"),
    ("SHOAL_HUGE_PAGES", "off"),
    ("SHOAL_STATIC_DATA", "True"),
    ("SHOAL_BARRIER", "central"),
    ("SHOAL_BARRIER", "dissemination"),
    ("SHOAL_COUNTER_START", "-1"),
    ("SHMEM_DEBUG", ""),
]


class Run:
    """One job: its output, status and duration. A run that hangs is killed and fails."""

    def __init__(self, *arguments, pes=PES, environment=None, program=(PROGRAM,)):
        command = [SHOALRUN, "-n", str(pes), *program, *arguments]
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("SHMEM_", "SHOAL_", "SMA_"))}
        self.environment.update(environment or {})
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment,
                                   stdin=subprocess.DEVNULL)
        self.hung = False
        try:
            self.out, self.err = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            self.hung = True
            process.kill()
            self.out, self.err = process.communicate()
        self.status = process.returncode
        self.seconds = time.monotonic() - started
        self.text = f"$ {' '.join(f'{k}={v}' for k, v in (environment or {}).items())} {' '.join(command)}\n" \
                    f"status {self.status} after {self.seconds:.1f} s\n{self.out}{self.err}"

    def messages(self, routine):
        """(PE or None, text) of each line that a PE wrote about `routine`. Lines may carry the launcher's prefix."""
        pattern = re.compile(rf"shoal: (?:PE (\d+): )?{routine}: (.*)")
        found = (pattern.search(line) for line in self.err.splitlines())
        return [(m.group(1), m.group(2)) for m in found if m]


class Errors(unittest.TestCase):
    def ended(self, run, status):
        self.assertFalse(run.hung, "hung:\n" + run.text)
        self.assertLess(run.seconds, PROMPT, "slow to end:\n" + run.text)
        self.assertEqual(run.status, status, run.text)

    def test_mistakes_of_one_pe(self):
        for case, (routine, pattern) in ONE_PE.items():
            with self.subTest(case):
                run = Run(case)
                self.ended(run, 1)
                messages = run.messages(routine)
                self.assertEqual(len(messages), 1, "one line from one PE is wanted:\n" + run.text)
                self.assertEqual(messages[0][0], str(LAST), run.text)
                self.assertRegex(messages[0][1], pattern, run.text)

    def test_mistakes_of_all_pes(self):
        for case, (routine, pattern) in ALL_PES.items():
            with self.subTest(case):
                run = Run(case)
                self.ended(run, 1)
                messages = run.messages(routine)
                self.assertTrue(1 <= len(messages) <= PES, run.text)
                for pe, text in messages:
                    self.assertIsNotNone(pe, run.text)
                    self.assertRegex(text, pattern, run.text)

    def test_a_job_of_one_says_the_same(self):
        for case in ("pe_n_put", "address_stack", "misaligned_add", "free_twice"):
            with self.subTest(case):
                routine, pattern = {**ONE_PE, **ALL_PES}[case]
                run = Run(case, pes=1)
                self.ended(run, 1)
                self.assertEqual([pe for pe, _ in run.messages(routine)], ["0"], run.text)

    def test_variables_are_advised_only_where_they_are_symmetric(self):
        for wanted, advice in (("1", "or a global or static variable"), ("0", "this program's variables are not symmetric")):
            run = Run("address_stack", environment={"SHOAL_STATIC_DATA": wanted})
            self.ended(run, 1)
            self.assertIn("Pass memory from shmem_malloc", run.err, run.text)
            self.assertIn(advice, run.err, run.text)

    def test_calls_before_init(self):
        for case, routine in EARLY.items():
            with self.subTest(case):
                self.outside(Run(case), routine)

    def test_calls_after_finalize(self):
        for case, routine in EARLY.items():
            with self.subTest(case):
                self.outside(Run(case, "after"), routine)

    def outside(self, run, routine):
        self.ended(run, 1)
        messages = run.messages(routine)
        self.assertGreaterEqual(len(messages), 1, run.text)
        for pe, text in messages:
            self.assertIsNotNone(pe, "the line doesn't say which PE:\n" + run.text)
            self.assertRegex(text, r"before shmem_init or after shmem_finalize", run.text)

    def test_bad_options_end_the_program(self):
        for name, value in BAD_OPTIONS:
            with self.subTest(f"{name}={value}"):
                run = Run("startup", "init", environment={name: value})
                self.assertFalse(run.hung, run.text)
                self.assertNotEqual(run.status, 0, run.text)
                self.explains(run, name, value)

    def test_bad_options_make_init_thread_answer(self):
        for name, value in BAD_OPTIONS:
            with self.subTest(f"{name}={value}"):
                run = Run("startup", "init_thread", environment={name: value})
                self.ended(run, 95)
                self.assertIn("init_thread answered nonzero", run.out, run.text)
                self.assertIn("initialized: 0", run.out, run.text)
                self.explains(run, name, value)

    def explains(self, run, name, value):
        lines = [line for line in run.err.splitlines() if name in line and f'"{value}"' in line]
        self.assertGreaterEqual(len(lines), 1, "no line has the option and its value:\n" + run.text)
        self.assertRegex(lines[0], r"\bPE \d+: shmem_init(_thread)?: .*not valid: expected \w+", run.text)

    def test_good_options_are_taken(self):
        for name, value in GOOD_OPTIONS:
            with self.subTest(f"{name}={value}"):
                self.ended(Run("startup", "init", environment={name: value}), 0)

    def test_a_misspelt_variable_is_told_once(self):
        for wrong, right in (("SHOAL_BARIER", "SHOAL_BARRIER"), ("SHMEM_SYMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE"), ("SHOAL_Spin", "SHOAL_SPIN")):
            with self.subTest(wrong):
                run = Run("startup", "init", environment={wrong: "1"})
                self.ended(run, 0)
                self.assertEqual(run.err, f"shoal: PE 0: warning: {wrong} is set but is no option: did you mean {right}?\n")
        run = Run("startup", "init", environment={"SHOAL_ENTIRELY_ELSE": "1"})
        self.ended(run, 0)
        self.assertEqual(run.err, "")

    def test_the_specification_s_name_wins(self):
        self.ended(Run("startup", "init", environment={"SHMEM_SYMMETRIC_SIZE": "64m", "SMA_SYMMETRIC_SIZE": "rubbish"}), 0)

    def test_int_routines_answer(self):
        for case in ("team_invalid", "exhausted", "bad_level"):
            with self.subTest(case):
                self.ended(Run(case), 0)

    def test_a_pe_that_dies_ends_the_job(self):
        for case, status, how in (("die_kill", 128 + 9, r"signal 9|SIGKILL|[Kk]illed"),
                                  ("die_segv", 128 + 11, r"signal 11|SIGSEGV|[Ss]egmentation"),
                                  ("die_abort", 128 + 6, r"signal 6|SIGABRT|[Aa]bort"),
                                  ("die_exit", 3, r"status 3"), ("die_exit_at_once", 4, r"status 4")):
            with self.subTest(case):
                run = Run(case)
                self.ended(run, status)
                lines = [line for line in run.err.splitlines() if re.search(rf"\bPE {LAST}\b.*({how})", line)]
                self.assertGreaterEqual(len(lines), 1, run.text)

    def test_a_script_that_drops_the_status_of_its_program_does_not_hide_it(self):
        run = Run("die_exit", program=("sh", "-c", f'{PROGRAM} "$1"; true', "sh"))
        self.ended(run, 3)
        self.assertRegex(run.err, rf"\bPE {LAST}\b.*exited with status 3", run.text)

    def test_a_pe_that_leaves_without_finalize_ends_the_job(self):
        run = Run("die_silently")
        self.assertFalse(run.hung, run.text)
        self.assertLess(run.seconds, PROMPT, run.text)
        self.assertNotEqual(run.status, 0, run.text)
        self.assertRegex(run.err, rf"\bPE {LAST}\b", run.text)

    def test_global_exit_status(self):
        self.ended(Run("global_exit_5"), 5)
        self.ended(Run("global_exit_0"), 0)

    def test_every_mix_of_start_and_end_succeeds(self):
        for init in ("init", "init_thread", "start_pes"):
            for finalize in ("once", "none", "twice"):
                for end in ("return", "exit"):
                    for pes in (1, PES):
                        with self.subTest(f"{init}, finalize {finalize}, {end}, {pes} PEs"):
                            run = Run("mix", init, finalize, end, pes=pes)
                            self.ended(run, 0)
                            self.assertEqual(run.err, "", run.text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
