#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole programs in one job over two launchers: encrypted or not, over the loopback and over a pair of network namespaces.

The launchers run on one machine, so SHOAL_FAKE_NODES keeps their PEs from sharing memory. PROGRAMS in the environment: paths of
conformance programs, separated by colons; SUITE: all of them, or nothing.
"""
import os
import subprocess
import unittest

import nodes_test
import suite_test

PROGRAMS = os.environ.get("PROGRAMS", "").split(":")
SUITE = [path for path in os.environ.get("SUITE", "").split(":") if path]
UCX = os.environ.get("UCX") == "ON"


class Joined(nodes_test.NodesTest):
    def setUp(self):
        super().setUp()
        self.environment.update(SHOAL_FAKE_NODES="2", SHOAL_TEST_PES="4", SHMEM_SYMMETRIC_SIZE="256m")

    def assert_all_pass(self, *options):
        for program in PROGRAMS:
            with self.subTest(program=os.path.basename(program)):
                for run in self.job(*options, program):
                    self.assertEqual(run.status, 0, run)

    def test_programs_run_encrypted(self):
        self.assert_all_pass()

    def test_programs_run_in_the_clear_when_told_so(self):
        self.assert_all_pass("--no-tls")

    @unittest.skipUnless(UCX, "this build has no UCX")
    def test_where_ucx_is_missing_it_says_what_to_install(self):
        self.environment["LD_LIBRARY_PATH"] = self.folder.name
        with open(os.path.join(self.folder.name, "libucp.so.0"), "w", encoding="ascii"):
            pass  # is found first, and no library
        for run in self.job("--env", "SHOAL_TRANSPORT=ucx", PROGRAMS[0]):
            self.assertNotEqual(run.status, 0, run)
            self.assertRegex(run.err, r"SHOAL_TRANSPORT=ucx: UCX cannot be loaded .*libucp.so.0.*Install it \(Debian: libucx0\)")


@unittest.skipUnless(nodes_test.namespaces_work(), "network namespaces need root and iproute2")
class JoinedByCable(nodes_test.Cable):
    assert_all_pass = Joined.assert_all_pass
    # What the cable alone is tested for is tested where the class is.
    test_jobs_meet_over_ipv4_and_ipv6 = test_cut_cable_ends_the_job_on_both_sides = test_dead_pe_is_named_across_machines = None

    def setUp(self):
        super().setUp()
        self.environment.update(SHOAL_FAKE_NODES="2", SHOAL_TEST_PES="4", SHMEM_SYMMETRIC_SIZE="256m")

    def test_programs_run_over_the_cable(self):
        self.assert_all_pass()

    def test_programs_run_over_the_network_that_is_named(self):
        self.assert_all_pass("--env", "SHOAL_INTERFACE=fd5a:213:")

    @unittest.skipUnless(SUITE, "with SHOAL_TEST_FULL=1 only")
    def test_the_whole_suite_runs_over_the_cable_by_each_transport(self):
        self.limit = 120
        self.assertTrue(nodes_test.eventually(self.ends_are_up))
        for transport in ["tls", "tcp"] + (["ucx"] if UCX else []):
            for path in SUITE:
                name = os.path.basename(path).removeprefix("conformance_")
                with self.subTest(f"{name} by {transport}"):
                    for run in self.job("--env", f"SHOAL_TRANSPORT={transport}", path, *suite_test.ARGUMENTS.get(name, [])):
                        self.assertEqual(run.status, suite_test.STATUS.get(name, 0), run)

    def test_an_interface_that_does_not_exist_is_named(self):
        for run in self.job("--env", "SHOAL_INTERFACE=nosuch0", PROGRAMS[0]):
            self.assertNotEqual(run.status, 0, run)
            self.assertRegex(run.err, 'SHOAL_INTERFACE="nosuch0" is no interface that is up')

    def ends_are_up(self):
        """The kernel says so some time after it carries packets, and UCX takes no end before."""
        return all("state UP" in subprocess.run(["ip", "-n", space, "link", "show", link], capture_output=True, text=True, check=True).stdout
                   for space, link in zip(self.spaces, self.links))

    @unittest.skipUnless(UCX, "this build has no UCX")
    def test_a_program_runs_by_ucx_over_the_cable(self):
        self.assertTrue(nodes_test.eventually(self.ends_are_up))
        for run in self.job("--env", "SHOAL_TRANSPORT=ucx", PROGRAMS[0]):
            self.assertEqual(run.status, 0, run)

    @unittest.skipUnless(UCX, "this build has no UCX")
    def test_a_device_that_ucx_does_not_know_is_named(self):
        for run in self.job("--env", "SHOAL_TRANSPORT=ucx", "--env", "SHOAL_INTERFACE=nosuch0", PROGRAMS[0]):
            self.assertNotEqual(run.status, 0, run)
            self.assertRegex(run.err, r"UCX cannot connect to PE \d \(on \S+, \S+\): .*Name the device to use with SHOAL_INTERFACE")


if __name__ == "__main__":
    unittest.main(verbosity=2)
