# SPDX-License-Identifier: Apache-2.0
"""shmem-config: what it prints builds a program, and --diagnose finds what is wrong when something is."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest
from pes import environment

BUILD = os.environ["SHOAL_BUILD"]


@pytest.fixture(name="prefix", scope="module")
def installation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("config")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder / "shoal"], check=True, stdout=subprocess.DEVNULL)
    return folder / "shoal"


def config(prefix, *options, **extra):
    env = environment(**extra)
    env.setdefault("PYTHONPATH", "")
    if "PYTHONPATH" not in extra:
        env["PYTHONPATH"] = str(prefix / "lib" / "python")
    if "PATH" not in extra:
        env["PATH"] = f"{prefix}/bin:{env['PATH']}"
    return subprocess.run([sys.executable, str(prefix / "bin" / "shmem-config"), *options], capture_output=True, text=True, env=env, timeout=200, check=False)


def checks(prefix, **extra):
    run = config(prefix, "--diagnose", "--json", **extra)
    report = json.loads(run.stdout)
    assert report["status"] == run.returncode
    return run.returncode, {row["check"]: row for row in report["checks"]}


def test_flags_build_a_program_that_runs(prefix, tmp_path):
    source = tmp_path / "me.c"
    source.write_text("#include <shmem.h>\nint main(void) { shmem_init(); int n = shmem_n_pes(); shmem_finalize(); return n == 2 ? 0 : 1; }\n")
    flags = [word for option in ("--include", "--ldflags", "--rpath") for word in config(prefix, option).stdout.split()]
    subprocess.run(["cc", str(source), "-o", str(tmp_path / "me"), *flags], check=True)
    assert subprocess.run([prefix / "bin" / "shoalrun", "-n", "2", tmp_path / "me"], timeout=60, check=False).returncode == 0
    assert config(prefix, "--root").stdout.strip() == str(prefix)
    assert config(prefix, "--lib").stdout.strip() == str(prefix / "lib")
    assert config(prefix, "--version").stdout.strip() == subprocess.run([prefix / "bin" / "shoalrun", "--version"], capture_output=True, text=True,
                                                                        check=True).stdout.split()[1]
    assert json.loads(config(prefix, "--root", "--json").stdout) == {"root": str(prefix)}
    assert config(prefix).returncode == 2 and config(prefix, "--rot").returncode == 2


def test_check_and_diagnose_of_a_sound_installation(prefix):
    run = config(prefix, "--check")
    assert run.returncode == 0 and "map each other" in run.stdout, run
    status, found = checks(prefix)
    bad = [row for row in found.values() if row["severity"] in ("warning", "error") and row["check"] not in ("memory", "limits", "environment", "PyTorch")]
    assert not bad and status in (0, 1), found
    assert {"files", "copies", "launcher", "two PEs", "limits", "memory", "port", "certificates", "processor", "huge pages", "Python package",
            "PyTorch"} <= set(found)
    assert "checks:" in config(prefix, "--diagnose").stdout


def test_faults_are_found_and_named(prefix, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(prefix / "lib" / "libshoal.so.0", other / "libshoal.so.0")
    with open(other / "libshoal.so.0", "ab") as file:
        file.write(b"another")
    key = tmp_path / "key.pem"
    key.write_text("no key")
    key.chmod(0o644)
    status, found = checks(prefix, LD_LIBRARY_PATH=str(other), SHOAL_TLS_KEY=str(key), OMPI_COMM_WORLD_SIZE="4")
    assert status == 2
    assert found["copies"]["severity"] == "warning" and str(other) in found["copies"]["text"]
    assert found["environment"]["severity"] == "warning" and "shoalrun -n" in found["environment"]["remedy"]
    assert found["certificates"]["severity"] == "error"
    run = config(prefix, "--diagnose", SHOAL_TLS_KEY=str(key))
    assert f"chmod 600 {key}" in run.stdout and "without SHOAL_TLS_CA, SHOAL_TLS_CERT" in run.stdout and run.returncode == 2


def test_memory_limits_of_control_groups_above_count(tmp_path):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "config", "shmem_config.py")
    specification = importlib.util.spec_from_file_location("shmem_config", source)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    membership = tmp_path / "cgroup"

    def limit(text, **files):
        mount = tmp_path / str(len(list(tmp_path.iterdir())))
        for place, value in files.items():
            path = mount / place.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name({"max": "memory.max", "limit": "memory.limit_in_bytes"}[path.name]).write_text(value + "\n")
        membership.write_text(text)
        return module.group_limit(str(mount), str(membership))

    assert limit("0::/a/b\n", a__max="5000", a__b__max="max") == 5000
    assert limit("0::/a/b\n", a__max="5000", a__b__max="4000", c__max="1") == 4000
    assert limit("0::/\n", max="3000") == 3000
    assert limit("0::/a\n", a__max="max") is None
    assert limit("0::/not/there\n", max="2000") == 2000
    assert limit("5:cpu:/x\n4:memory:/a/b\n", memory__x__limit="1", memory__a__limit="700", memory__a__b__limit="900") == 700


def test_python_without_numpy_is_told_to_get_it(prefix, tmp_path):
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\")\n")
    _, found = checks(prefix, PYTHONPATH=f"{tmp_path}:{prefix}/lib/python")
    assert found["Python package"]["severity"] == "warning" and "pip install numpy" in found["Python package"]["remedy"]


def test_broken_installation_is_an_error(prefix, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(prefix, broken, symlinks=True)
    (broken / "include" / "shmem.h").unlink()
    run = config(broken, "--check")
    assert run.returncode == 2 and "include/shmem.h" in run.stdout


def test_launcher_off_path_is_told(prefix):
    status, found = checks(prefix, PATH="/usr/bin:/bin")
    assert status >= 1 and "set_env.sh" in found["launcher"]["remedy"]
