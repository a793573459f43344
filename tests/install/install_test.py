#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An installation works from where it was moved to: wrappers, pkg-config, the CMake package, set_env.sh, the tools."""
import json
import os
import re
import shutil
import subprocess

from support import HERE, Installation, main

RING_C = os.path.join(HERE, "consumer", "ring.c")
RING_CPP = os.path.join(HERE, "consumer", "ring.cpp")


class Product(Installation):
    def test_what_is_installed_is_what_build_sh_builds(self):
        """The install scripts of the build folder name no file of Ninja's that the target shoal_product does not make."""
        def ninja(*words):
            return subprocess.run(["ninja", "-C", self.build, "-t", *words], check=True, capture_output=True, text=True).stdout

        targets = re.findall(r"^(.*): (.*)$", ninja("targets", "all"), re.M)
        made = {os.path.join(self.build, name) for name, rule in targets if rule != "phony"}
        installed = set()
        for folder, _, files in os.walk(self.build):
            if "cmake_install.cmake" in files:
                with open(os.path.join(folder, "cmake_install.cmake"), encoding="utf-8") as file:
                    installed.update(re.findall(r'"(/[^"]+)"', file.read()))
        installed = {os.path.relpath(one, self.build) for one in installed & made}
        self.assertIn("bin/shoalrun", installed)
        commands = ninja("commands", "shoal_product")
        self.assertEqual(sorted(one for one in installed if one not in commands), [])


class Wrappers(Installation):
    def test_c_program_compiles_in_one_step_and_runs(self):
        self.run_ok(["shoalcc", RING_C, "-o", "ring in c"])
        self.assertEqual(self.run_ok(["shoalrun", "-n", "3", "./ring in c", "two words"]), "ring of 3: closed two words\n")

    def test_cpp_program_compiles_in_two_steps_and_runs(self):
        self.run_ok(["shoalc++", "-c", "-Wall", "-Werror", RING_CPP, "-o", "ring of cpp.o"])
        self.run_ok(["shoalc++", "ring of cpp.o", "-o", "ring of cpp"])
        self.assertEqual(self.run_ok(["shoalrun", "-n", "2", "./ring of cpp"]), "ring of 2: closed\n")

    def test_names_of_other_implementations_work(self):
        self.run_ok([self.tool("oshcc", "oshmem/bin"), RING_C, "-o", "osh_c"])
        self.run_ok([self.tool("oshc++", "oshmem/bin"), RING_CPP, "-o", "osh_cpp"])
        for program in ("./osh_c", "./osh_cpp"):
            self.assertEqual(self.run_ok([self.tool("oshrun", "oshmem/bin"), "-n", "2", program]), "ring of 2: closed\n")

    def test_arguments_arrive_unchanged(self):
        source = '#include <stdio.h>\nint main(void) { puts(TEXT); return shmem_my_pe == 0; }\n'
        self.run_ok(["shoalcc", "-include", "shmem.h", "-DTEXT=\"a 'b' $HOME *\"", "-x", "c", "-", "-o", "quoted"], stdin=source)
        self.assertEqual(self.run_ok(["./quoted"]), "a 'b' $HOME *\n")

    def test_nothing_to_link_means_no_library(self):
        for arguments in (["-c", "x.c"], ["-E", "x.c"], ["-S", "x.c"], ["-M", "x.c"], ["-fsyntax-only", "x.c"], ["-v"], ["-print-prog-name=ld"], ["-o", "x.c"]):
            self.assertNotIn("-lshoal", self.run_ok(["shoalcc", "--show", *arguments]), arguments)
        for arguments in (["x.c"], ["-MD", "x.o"], ["-shared", "x.o"], ["-x", "c", "-"]):
            self.assertIn("-lshoal", self.run_ok(["shoalcc", "--show", *arguments]), arguments)

    def test_response_file_may_say_not_to_link(self):
        for word, links in (("-c", False), ("-O2", True)):
            with open(os.path.join(self.scratch, "words.rsp"), "w", encoding="utf-8") as file:
                file.write(f"{word} x.c\n")
            self.assertEqual("-lshoal" in self.run_ok(["shoalcc", "--show", "@words.rsp"]), links, word)

    def test_shown_command_does_what_the_wrapper_does(self):
        shown = self.run_ok(["shoalcc", "--show", RING_C, "-o", "it's shown"])
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "it's shown")))
        self.run_ok(["sh", "-c", shown])
        self.assertEqual(self.run_ok(["shoalrun", "-n", "1", "./it's shown"]), "ring of 1: closed\n")

    def test_shown_parts_build_a_program(self):
        self.run_ok(f'eval "${{CC:-cc}} $(shoalcc --show:compile) -c \'{RING_C}\' -o parts.o"', env=self.build_compiler())
        self.run_ok('eval "${CC:-cc} parts.o $(shoalcc --show:link) -o parts"', env=self.build_compiler())
        self.assertEqual(self.run_ok(["shoalrun", "-n", "2", "./parts"]), "ring of 2: closed\n")

    def test_shown_parts_build_a_program_for_the_race_detector(self):
        if not os.path.isdir(os.path.join(self.prefix, "lib", "shoal-race")):
            self.skipTest("this build has no --race")
        shown = self.run_ok(["shoalcc", "--race", "--show:compile"])
        self.assertIn("-fsanitize=thread", shown)
        self.assertEqual(shown, self.run_ok(["shoalcc", "--show:compile", "--race"]))
        self.assertEqual(self.run_ok(["shoalcc", "--race", "--show", "x.c"]), self.run_ok(["shoalcc", "--show", "--race", "x.c"]))
        self.run_ok(f'eval "${{CC:-cc}} $(shoalcc --race --show:compile) -c \'{RING_C}\' -o raced.o"', env=self.build_compiler())
        self.run_ok('eval "${CC:-cc} raced.o $(shoalcc --race --show:link) -o raced"', env=self.build_compiler())
        self.assertEqual(self.run_ok(["shoalrun", "-n", "2", "./raced"], env=self.environment(SHOAL_RACE="1")), "ring of 2: closed\n")

    def test_compilers_exit_status_is_kept(self):
        with open(os.path.join(self.scratch, "false.sh"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 42\n")
        os.chmod(file.name, 0o755)
        self.assertEqual(self.run_any(["shoalcc", "x.c"], env=self.environment(SHOAL_CC="./false.sh")).returncode, 42)
        self.assertNotEqual(self.run_any(["shoalcc", "-c", "no_such_file.c"]).returncode, 0)

    def test_other_compiler_may_be_named_with_arguments(self):
        shown = self.run_ok(["shoalcc", "--show", "x.c"], env=self.environment(SHOAL_CC="env A=b cc -O1"))
        self.assertTrue(shown.startswith("env A=b cc -O1 "), shown)
        missing = self.run_any(["shoalc++", "x.cpp"], env=self.environment(SHOAL_CXX="no-such-compiler"))
        self.assertEqual(missing.returncode, 127)
        self.assertIn("no compiler 'no-such-compiler'; install one or name it in SHOAL_CXX", missing.stderr)

    def test_race_lets_the_program_s_own_accesses_be_seen(self):
        if not os.path.exists(os.path.join(self.prefix, "lib", "shoal-race", "libtsan.a")):
            self.assertIn("was built without what --race needs", self.run_any(["shoalcc", "--race", "x.c"]).stderr)
            self.skipTest("built without it")
        source = os.path.join(self.scratch, "racing.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("""#include <shmem.h>
#include <string.h>
static long data[4], source[4];
int main(void) {
  shmem_init();
  if (shmem_my_pe() == 0) shmem_long_put(data, source, 4, 1);
  if (shmem_my_pe() == 1) memset(data, 1, sizeof data);
  shmem_barrier_all();
  data[1] = shmem_my_pe();
  shmem_finalize();
  return 0;
}
""")
        compilers = [{}] + [{"SHOAL_CC": name} for name in ("gcc", "clang") if shutil.which(name)]
        for compiler in compilers:
            with self.subTest(compiler):
                self.run_ok(["shoalcc", "--race", "-O1", "-c", source, "-o", "racing.o"], env=self.environment(**compiler))
                self.run_ok(["shoalcc", "--race", "racing.o", "-o", "racing"], env=self.environment(**compiler))
                self.run_ok(["shoalcc", "-O2", source, "-o", "racing at once", "--race"], env=self.environment(**compiler))
                for program in ("./racing", "./racing at once"):
                    told = self.run_any(["shoalrun", "-n", "2", program], env=self.environment(SHOAL_RACE="1"))
                    self.assertEqual(told.returncode, 66, told.stderr)
                    self.assertRegex(told.stderr, "race: PE 1's static data .*PE 1 writes it by a store.*nothing orders the two")
                    self.assertEqual(len(told.stderr.splitlines()), 2, told.stderr)
                    plain = self.run_any(["shoalrun", "-n", "2", program])
                    self.assertEqual((plain.returncode, plain.stderr), (0, ""))

    def test_version_and_help(self):
        self.assertIn("shoalcc: Shoal 0.1", self.run_ok(["shoalcc", "--version"]))
        self.assertIn("SHOAL_CXX", self.run_ok(["shoalc++", "--help"]))


class Packages(Installation):
    def test_pkg_config_builds_a_program(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("no pkg-config")
        self.run_ok(f"eval \"$CC '{RING_C}' $(pkg-config --cflags --libs shoal) -o by_pkg\"", env=self.build_compiler())
        self.assertEqual(self.run_ok(["shoalrun", "-n", "2", "./by_pkg"]), "ring of 2: closed\n")

    def test_cmake_package_builds_programs_and_runs_them(self):
        # The compilers of the build under test: a sanitized library needs them.
        env = self.build_compiler()
        self.run_ok(["cmake", "-S", os.path.join(HERE, "consumer"), "-B", "consumer build"], env=env)
        self.run_ok(["cmake", "--build", "consumer build"], env=env)
        self.run_ok(["ctest", "--test-dir", "consumer build", "--output-on-failure", "--no-tests=error"], env=env)

    def test_cmake_package_refuses_another_version(self):
        project = os.path.join(self.scratch, "newer")
        os.makedirs(project)
        with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.16)\nproject(newer LANGUAGES CXX)\nfind_package(Shoal 99 REQUIRED)\n")
        result = self.run_any(["cmake", "-S", project, "-B", os.path.join(project, "build")])
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("99", result.stderr)


class Environment(Installation):
    def check(self, shell, *options):
        if shutil.which(shell) is None:
            self.skipTest(f"no {shell}")
        script = ('set -eu\ncd "$1"\n. "./second place/set_env.sh"\n. "./second place/set_env.sh"\n'
                  'printf "%s\\n" "$SHOAL_ROOT" "$PATH" "$PKG_CONFIG_PATH" "$CMAKE_PREFIX_PATH"\ncommand -v shoalrun\n')
        env = {"PATH": f"/usr/bin:/bin:{self.prefix}/bin:/sbin", "HOME": "/", "CMAKE_PREFIX_PATH": "/a:/b"}
        result = self.run_any([shell, *options, "-c", script, shell, self.scratch], env=env)
        p = os.path.realpath(self.prefix)
        self.assertEqual(result.stdout.splitlines(), [p, f"{p}/bin:/usr/bin:/bin:/sbin", f"{p}/lib/pkgconfig", f"{p}:/a:/b", f"{p}/bin/shoalrun"],
                         result.stderr)

    def test_bash_finds_itself_and_sets_each_list_once(self):
        self.check("bash", "--norc")

    def test_sh_finds_itself_and_sets_each_list_once(self):
        self.check("sh")

    def test_dash_finds_itself_and_sets_each_list_once(self):
        self.check("dash")

    def test_zsh_finds_itself_and_sets_each_list_once(self):
        self.check("zsh", "-f")

    def test_later_installation_goes_first(self):
        other = os.path.join(self.scratch, "other")
        shutil.copytree(self.prefix, other, symlinks=True)
        script = '. "./second place/set_env.sh"; . ./other/set_env.sh; command -v shoalcc'
        self.assertEqual(self.run_ok(["sh", "-c", script]), os.path.realpath(other) + "/bin/shoalcc\n")
        shutil.rmtree(other)


class Info(Installation):
    def info(self, *arguments, status=0, **variables):
        result = self.run_any(["shoal-info", *arguments], env=self.environment(**variables))
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout

    def test_json_describes_build_installation_and_machine(self):
        told = json.loads(self.info("--json"))
        self.assertEqual(told["build"]["version"], "0.1.0")
        self.assertTrue(told["installation"]["library"].startswith(os.path.realpath(self.prefix)), told)
        self.assertEqual(told["installation"]["launcher"], os.path.realpath(self.tool("shoalrun")))
        self.assertEqual(told["machine"]["cpus_allowed"], len(os.sched_getaffinity(0)))
        self.assertEqual(told["transports"], {"shared_memory": True, "network": True})
        self.assertEqual(told["warnings"], [])

    def test_options_say_where_their_values_come_from(self):
        told = json.loads(self.info("--json", "--options", SMA_SYMMETRIC_SIZE="2g"))
        by_name = {option["name"]: option for option in told["options"]}
        self.assertEqual((by_name["SHMEM_SYMMETRIC_SIZE"]["value"], by_name["SHMEM_SYMMETRIC_SIZE"]["source"]), ("2g", "SMA_SYMMETRIC_SIZE"))
        self.assertEqual((by_name["SHOAL_LOG"]["value"], by_name["SHOAL_LOG"]["source"]), ("warning", "default"))

    def test_invalid_and_unknown_variables_are_pointed_out(self):
        told = json.loads(self.info("--json", status=1, SHMEM_SYMMETRIC_SIZE="20Mabc", SHOAL_LOGG="1"))
        self.assertEqual([option["name"] for option in told["options"] if not option["valid"]], ["SHMEM_SYMMETRIC_SIZE"])
        self.assertTrue(any('SHMEM_SYMMETRIC_SIZE="20Mabc" is not valid' in text for text in told["warnings"]), told)
        self.assertTrue(any(text.startswith("SHOAL_LOGG is set but is no option") for text in told["warnings"]), told)
        self.assertIn("20Mabc       from SHMEM_SYMMETRIC_SIZE  INVALID", self.info("--options", status=1, SHMEM_SYMMETRIC_SIZE="20Mabc"))

    def test_another_launcher_first_on_path_is_pointed_out(self):
        folder = os.path.join(self.scratch, "impostor")
        os.makedirs(folder)
        shutil.copy("/bin/true", os.path.join(folder, "shoalrun"))
        told = json.loads(self.info("--json", PATH=folder + os.pathsep + self.environment()["PATH"]))
        self.assertIn("PATH finds another shoalrun first", told["warnings"][0])

    def test_unknown_argument_is_refused(self):
        result = self.run_any(["shoal-info", "--jsn"])
        self.assertEqual((result.returncode, result.stderr), (2, "shoal-info: unknown argument '--jsn'; see shoal-info --help\n"))

    def test_output_that_cannot_be_written_is_an_error(self):
        for arguments in ([], ["--json"], ["--help"], ["--version"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                result = subprocess.run([os.path.join(self.prefix, "bin", "shoal-info"), *arguments], stdout=full, stderr=subprocess.PIPE,
                                        text=True, timeout=60)
                self.assertEqual((result.returncode, result.stderr),
                                 (1, "shoal-info: cannot write standard output: No space left on device\n"))


if __name__ == "__main__":
    main()
