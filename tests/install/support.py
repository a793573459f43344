# SPDX-License-Identifier: Apache-2.0
"""What the install tests share: an installation of the build under test, moved after it was made, in a path with spaces."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))


class Installation(unittest.TestCase):
    build = None  # the build folder, from the command line

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.mkdtemp(prefix="shoal install ")
        first = os.path.join(cls.scratch, "first place")
        cls.prefix = os.path.join(cls.scratch, "second place")
        subprocess.run(["cmake", "--install", cls.build, "--prefix", first], check=True, stdout=subprocess.DEVNULL)
        os.rename(first, cls.prefix)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    @classmethod
    def tool(cls, name, folder="bin"):
        return os.path.join(cls.prefix, folder, name)

    @classmethod
    def environment(cls, **extra):
        """What set_env.sh would set, and nothing of the caller's own choice of compiler or Shoal."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SHOAL_", "SHMEM_", "LD_LIBRARY"))}
        env["PATH"] = os.path.join(cls.prefix, "bin") + os.pathsep + env["PATH"]
        env["PKG_CONFIG_PATH"] = os.path.join(cls.prefix, "lib", "pkgconfig")
        env["CMAKE_PREFIX_PATH"] = cls.prefix
        env["CMAKE_GENERATOR"] = "Ninja"  # make need not be there
        env.update(extra)
        return env

    def build_compiler(self):
        """An environment that names the compilers that built the library: a sanitized one needs its own run time."""
        compilers = [self.run_ok([wrapper, "--show", "-v"]).split()[0] for wrapper in ("shoalcc", "shoalc++")]
        return self.environment(CC=compilers[0], CXX=compilers[1])

    def run_ok(self, command, **how):
        result = self.run_any(command, **how)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def run_any(self, command, env=None, cwd=None, timeout=120, stdin=""):
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=cwd or self.scratch, input=stdin,
                              env=env or self.environment(), shell=isinstance(command, str), check=False)


def main():
    """The first argument is the build folder."""
    Installation.build = sys.argv.pop(1)
    unittest.main(module="__main__", verbosity=2)
