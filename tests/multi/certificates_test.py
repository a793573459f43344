#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that prove themselves by certificates, from files to data: launchers, and PEs by hand, on pretended nodes.

Needs SHOALRUN, LAUNCHER_PE and DIRECT_PE in the environment, and the openssl program.
"""
import os
import random
import shutil
import subprocess
import tempfile
import unittest

from launcher_support import PROMPT, LauncherTest, SHOALRUN

PE = os.environ.get("DIRECT_PE", "direct_pe")


class Authority:
    """Certificates of an authority of its own, made by openssl as docs/security.md says."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.ca, self.ca_key = self.path("ca.pem"), self.path("ca.key")
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.ca_key, "-out", self.ca, "-days", "2",
                     "-subj", f"/CN={name}")

    def path(self, name):
        return os.path.join(self.folder, f"{self.name}-{name}")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=20)

    def issue(self, name, pes=None, days="2", password=None, usage=None):
        """@return the options that name the files"""
        key, request, certificate = self.path(f"{name}.key"), self.path(f"{name}.csr"), self.path(f"{name}.pem")
        extensions = (["-addext", f"subjectAltName=URI:shoal:pe:{pes}"] if pes else []) + (["-addext", f"extendedKeyUsage={usage}"] if usage else [])
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}",
                     *extensions)
        self.openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.ca_key, "-CAcreateserial", "-copy_extensions", "copy", "-days", days,
                     "-out", certificate)
        files = {"SHOAL_TLS_CA": self.ca, "SHOAL_TLS_CERT": certificate, "SHOAL_TLS_KEY": key}
        if password:
            files["SHOAL_TLS_KEY_PASSWORD_FILE"] = self.path(f"{name}.password")
            with open(files["SHOAL_TLS_KEY_PASSWORD_FILE"], "w", encoding="ascii") as file:
                file.write(password + "\n")
            self.openssl("pkey", "-in", key, "-aes256", "-passout", f"pass:{password}", "-out", key + ".locked")
            os.replace(key + ".locked", key)
            os.chmod(files["SHOAL_TLS_KEY_PASSWORD_FILE"], 0o600)
        os.chmod(key, 0o600)
        return files


@unittest.skipUnless(shutil.which("openssl"), "needs the openssl program")
class CertificatesTest(LauncherTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.authority = Authority(self.folder.name, "authority")
        self.member = self.authority.issue("member")
        self.environment["SHOAL_FAKE_NODES"] = "2"  # what the launchers meet by and what the data travel by are proven alike
        self.address = "127.%d.%d.%d" % (random.randrange(1, 255), random.randrange(256), random.randrange(1, 255))

    def job(self, *files, timeout="20"):
        """A launcher for each of `files`, with one PE; what each came to."""
        processes = []
        for rank, named in enumerate(files):
            processes.append(subprocess.Popen([SHOALRUN, "--nnodes", str(len(files)), "--node-rank", str(rank), "--rdzv", self.address, "--rdzv-timeout", timeout,
                                               "-n", "1", PE, "env"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                              env={**self.environment, **named}))
        return [self.finish(process) for process in processes]

    def by_hand(self, *files, words=lambda rank: [], timeout="10"):
        processes = [subprocess.Popen([PE, *words(rank), "env"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env={**self.environment, **named, "SHOAL_RDZV": f"tcp://{self.address}", "SHOAL_RDZV_TIMEOUT": timeout, "SHOAL_PE": str(rank),
                                           "SHOAL_NPES": str(len(files))}) for rank, named in enumerate(files)]
        return [self.finish(process) for process in processes]

    def assert_fine(self, runs):
        self.assertEqual([(run.status, run.out, run.err) for run in runs], [(0, f"PE {rank} of {len(runs)}\n", "") for rank in range(len(runs))], runs)


class Launchers(CertificatesTest):
    def test_members_of_one_authority_meet_and_exchange_data(self):
        self.assert_fine(self.job(self.member, self.authority.issue("other", pes="1")))

    def test_a_key_with_a_password(self):
        locked = self.authority.issue("locked", password="open sesame")
        self.assert_fine(self.job(locked, self.member))
        with open(locked["SHOAL_TLS_KEY_PASSWORD_FILE"], "w", encoding="ascii") as file:
            file.write("open barley\n")
        wrong, _ = self.job(locked, self.member, timeout="1")
        self.assertEqual(wrong.status, 1, wrong)
        self.assert_one_line(wrong, r"the private key, \S+locked.key: .*is the password right\?")
        self.assertNotIn("barley", wrong.err)
        del locked["SHOAL_TLS_KEY_PASSWORD_FILE"]
        missing, _ = self.job(locked, self.member, timeout="1")
        self.assert_one_line(missing, "if it is encrypted, name the file of its password: SHOAL_TLS_KEY_PASSWORD_FILE")

    def test_another_authority(self):
        stranger = Authority(self.folder.name, "another").issue("stranger")
        first, second = self.job(self.member, stranger, timeout="1")
        self.assertEqual([first.status, second.status], [1, 1], (first, second))
        self.assert_one_line(second, r"cannot meet the job at .*the other side's certificate \"CN = member\" .* is refused: .*not of this side's authority")
        self.assertRegex(first.err, "gave up: 1 of 2 nodes not joined: 1")

    def test_expired(self):
        expired = self.authority.issue("expired", days="-1")
        first, second = self.job(self.member, expired, timeout="1")
        self.assertEqual([first.status, second.status], [1, 1], (first, second))
        self.assert_one_line(second, r"the certificate, \S+expired.pem: \"CN = expired\" .* is not valid now: its time is from .* to ")

    def test_not_for_this_use(self):
        mail = self.authority.issue("mail", usage="emailProtection")
        first, second = self.job(self.member, mail, timeout="1")
        self.assertEqual([first.status, second.status], [1, 1], (first, second))
        self.assertRegex(first.err, "a connection from 127\\.\\S+ did not join: .*CN = mail.*(purpose|unsuitable)")

    def test_a_pe_that_the_certificate_is_not_for(self):
        # The launchers are members alike; when data are to travel, PE 1's number is held against the certificate.
        runs = self.job(self.member, self.authority.issue("zero", pes="0"))
        for run in runs:
            self.assertEqual(run.status, 1, run)
        self.assertRegex(runs[0].err, r"cannot connect to PE 1 \(on \S+\): .*the certificate \"CN = zero\" .* is not for PE 1")


class ByHand(CertificatesTest):
    def test_files_in_the_environment(self):
        self.assert_fine(self.by_hand(self.authority.issue("zero", pes="0"), self.authority.issue("one", pes="1-7")))

    def test_files_named_by_the_program(self):
        def words(rank):
            files = self.authority.issue(f"member{rank}", pes="*", password="between us")
            names = {"ca": "SHOAL_TLS_CA", "cert": "SHOAL_TLS_CERT", "key": "SHOAL_TLS_KEY", "password": "SHOAL_TLS_KEY_PASSWORD_FILE"}
            return ["tls", ";".join(f"{name}={files[option]}" for name, option in names.items())]
        self.assert_fine(self.by_hand({}, {}, words=words))

    def test_a_pe_that_the_certificate_is_not_for(self):
        zero = self.authority.issue("zero", pes="0")
        first, second = self.by_hand(zero, zero, timeout="2")
        self.assertEqual([first.status, second.status], [1, 1], (first, second))
        self.assert_one_line(second, r"cannot meet the job at .*the certificate \"CN = zero\" .* is not for PE 1")
        self.assertLess(second.seconds, PROMPT)

    def test_another_authority(self):
        first, second = self.by_hand(self.member, Authority(self.folder.name, "another").issue("stranger"), timeout="2")
        self.assertEqual([first.status, second.status], [1, 1], (first, second))
        self.assert_one_line(second, "cannot meet the job at .*certificate \"CN = member\" .*not of this side's authority")


if __name__ == "__main__":
    unittest.main(verbosity=2)
