# SPDX-License-Identifier: Apache-2.0
"""How jobs begin and end: with and without finalize, by exceptions, signals, in threads, and used at the wrong time."""
import os
import signal
import subprocess
import sys
import time

import pytest
from pes import SHOALRUN, environment, job, shoalrun


@pytest.mark.parametrize("end", ["", "shoal.finalize()", "shoal.finalize(); shoal.finalize()", "sys.exit(0)", "sys.exit()", "shoal.init(); shoal.finalize()",
                                 "del x; shoal.finalize()", "cycle = [x]; cycle.append(cycle); del x, cycle", "remote = x.on(0); del x"])
def test_every_way_of_ending_in_order(end):
    run = job(2, f"""
        import sys, shoal
        shoal.init()
        x = shoal.zeros(10)
        x.on(1 - shoal.my_pe())[0] = 1
        {end}
        """)
    assert run.status == 0 and run.err == "", run


def test_jobs_one_after_another_and_arrays_that_outlive_them():
    run = job(2, """
        import shoal
        kept = []
        for i in range(3):
            shoal.init()
            x = shoal.full(1000, i, "int64")
            kept.append((x, x[10:20], x.on(0)))
            shoal.barrier()
            shoal.finalize()
        for i, (x, view, remote) in enumerate(kept):
            assert (x == i).all() and (view == i).all()
            x[:] = 7  # still memory, of this PE alone
            assert (view == 7).all()
            for call in (lambda: x.on(0), lambda: remote[3], lambda: remote[2:4], lambda: shoal.put(x, 1, 0), lambda: shoal.barrier(),
                         lambda: shoal.atomic(x, 0, 0), lambda: shoal.all_reduce(x), lambda: shoal.my_pe(), lambda: shoal.zeros(3), lambda: shoal.free(x)):
                try:
                    call()
                    raise SystemExit("no exception")
                except RuntimeError as error:
                    assert "finalize" in str(error), error
                except ValueError as error:
                    assert "heap" in str(error), error
        """)
    assert run.status == 0 and run.err == "", run


def test_calls_before_init_say_so():
    run = job(1, """
        import numpy, shoal
        for call in (shoal.my_pe, shoal.barrier, lambda: shoal.zeros(3), lambda: shoal.all_reduce([1]), shoal.quiet, shoal.world, shoal.Context,
                     lambda: numpy.zeros(3).view(shoal.Array).on(0)):
            try:
                call()
                raise SystemExit("no exception")
            except RuntimeError as error:
                assert "before shoal.init()" in str(error), error
        shoal.finalize()
        """)
    assert run.status == 0, run


@pytest.mark.parametrize("wait", ["shoal.barrier()", "shoal.all_reduce([1])", "shoal.wait_until(x, '==', 1)", "shoal.zeros(3)"])
def test_exception_in_one_pe_ends_those_that_wait(wait):
    began = time.monotonic()
    run = job(3, f"""
        import shoal
        shoal.init()
        x = shoal.zeros(1, "int64")
        if shoal.my_pe() == 1:
            raise KeyError("lost")
        {wait}
        """)
    assert run.status == 1 and "KeyError: 'lost'" in run.err and "PE 1" in run.err, run
    assert time.monotonic() - began < 30


def test_global_exit_ends_all_with_its_status():
    run = job(3, "import shoal\nshoal.init()\nif shoal.my_pe() == 2: shoal.global_exit(9)\nshoal.barrier()")
    assert run.status == 9, run


def interrupted(program, size=2):
    """Starts a job, sends the launcher a SIGINT once all PEs said "ready"."""
    process = subprocess.Popen([SHOALRUN, "-n", str(size), sys.executable, "-uc", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment())
    for _ in range(size):
        assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.mark.parametrize("wait", ["shoal.wait_until(x, '==', 1)", "shoal.all_reduce([1]) if shoal.my_pe() else shoal.wait_until(x, '==', 1)",
                                  "import time; time.sleep(100)"])
def test_interrupt_ends_waits(wait):
    status, _, err = interrupted(f"import shoal; shoal.init(); x = shoal.zeros(1, 'int64'); print('ready\\n', end=''); {wait}")
    assert status != 0 and "KeyboardInterrupt" in err, err


def test_interrupt_can_be_caught_and_the_job_goes_on():
    status, out, err = interrupted("""
import shoal
shoal.init()
x = shoal.zeros(1, 'int64')
try:
    print('ready\\n', end='')
    shoal.wait_until(x, '==', 1)
except KeyboardInterrupt:
    pass
assert shoal.all_reduce([1])[0] == 2
shoal.finalize()
print('done\\n', end='')
""")
    assert status == 0 and out == "done\ndone\n", err


def test_interrupt_in_a_barrier_ends_the_job():
    status, _, err = interrupted("import shoal; shoal.init(); print('ready\\n', end=''); shoal.wait_until(shoal.zeros(1, 'int64'), '==', 1) if shoal.my_pe() else shoal.barrier()")
    assert status != 0, err


def test_killed_pe_ends_the_job():
    run = job(3, """
        import os, signal, shoal
        shoal.init()
        if shoal.my_pe() == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        shoal.all_reduce([1])
        """)
    assert run.status == 128 + signal.SIGKILL and "PE 0" in run.err, run


def test_children_are_no_pes_and_do_no_harm():
    run = job(2, """
        import os, subprocess, sys, shoal
        shoal.init()
        x = shoal.zeros(3)
        assert subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True).stdout == "42\\n"
        child = os.fork()
        if child == 0:
            del x
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        shoal.barrier()
        x.on(0)[0] = 1
        shoal.finalize()
        """)
    assert run.status == 0, run


def test_threads_that_wait_at_the_end_do_no_harm():
    run = job(2, """
        import threading, shoal
        shoal.init()
        x = shoal.zeros(1, "int64")
        threading.Thread(target=lambda: shoal.wait_until(x, "==", 1), daemon=True).start()
        shoal.barrier()
        """)
    assert run.status == 0, run


def test_other_threads_run_while_one_waits_in_a_barrier():
    run = job(2, """
        import threading, time, shoal
        shoal.init()
        x = shoal.zeros(1, "int64")
        if shoal.my_pe() == 1:
            shoal.wait_until(x, "==", 1, timeout=60)  # PE 0's thread says so while its main thread is in the barrier
        else:
            inside = threading.Event()
            def tell():
                inside.wait()
                x.on(1)[0] = 1
            threading.Thread(target=tell).start()
            inside.set()
        shoal.barrier()
        """)
    assert run.status == 0, run


@pytest.mark.parametrize("call", ["shoal.zeros(3)", "shoal.array([1, 2])", "shoal.free(y)"])
def test_other_threads_run_while_one_waits_in(call):
    run = job(2, f"""
        import threading, shoal
        shoal.init()
        x, y = shoal.zeros(2, "int64"), shoal.zeros(3)
        def talk():  # with PE 1, which comes to the call only after it
            for i in range(1, 201):
                shoal.wait_until(x[:1], "==", i, timeout=60)
                x.on(1)[1] = i
        if shoal.my_pe() == 0:
            thread = threading.Thread(target=talk)
            thread.start()
        else:
            for i in range(1, 201):
                x.on(0)[0] = i
                shoal.wait_until(x[1:], "==", i, timeout=60)
        {call}
        shoal.barrier()
        """)
    assert run.status == 0, run


def test_arrays_come_and_go_in_threads_of_collectives():
    """Whether memory is on the heap is asked without the interpreter's lock, while other threads change what is."""
    run = job(2, """
        import threading, numpy as np, shoal
        shoal.init()
        team = shoal.world().split_strided(0, 1, 2)
        done = []
        def work():
            for i in range(300):
                assert team.all_reduce(np.full(6000, i))[0] == 2 * i
            done.append(1)
        thread = threading.Thread(target=work)
        thread.start()
        for i in range(300):
            x = shoal.zeros(100)
            if i % 3:
                shoal.free(x)
        thread.join()
        assert done
        """)
    assert run.status == 0, run


def test_collective_that_was_interrupted_leaves_a_group_that_says_so():
    run = job(2, """
        import signal, shoal
        shoal.init()
        if shoal.my_pe() == 0:
            def interrupt(*unused):
                raise KeyboardInterrupt
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
            while True:  # the first may come before the wait has begun
                try:
                    shoal.all_reduce([1])
                except KeyboardInterrupt:
                    continue
                except RuntimeError as error:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    assert "can't be used any more" in str(error), error
                    break
            try:
                shoal.zeros(3)
                raise SystemExit("no exception")
            except RuntimeError as error:
                assert "the world" in str(error), error
        shoal.sync()
        """)
    assert run.status == 0, run


def test_finalize_ends_what_other_threads_wait_for():
    run = job(2, """
        import threading, shoal
        for _ in range(20):
            shoal.init()
            x, team = shoal.zeros(1, "int64"), shoal.world().split_strided(0, 1, 2)
            began, told = threading.Barrier(4), []
            def wait(call):
                began.wait()
                try:
                    call()
                except RuntimeError as error:
                    told.append(str(error))
            waits = [lambda: shoal.wait_until(x, "==", 1)]
            if shoal.my_pe() == 0:  # what PE 1 doesn't take part in
                waits += [lambda: shoal.all_reduce([1]), lambda: team.barrier()]
            else:
                waits += [lambda: shoal.wait_until(x, "==", 2), lambda: shoal.wait_until_any(x, "==", 3)]
            threads = [threading.Thread(target=wait, args=(call,)) for call in waits]
            for thread in threads:
                thread.start()
            began.wait()
            try:
                shoal.wait_until(x, "==", 1, timeout=0.05)
            except TimeoutError:
                pass
            shoal.finalize()
            for thread in threads:
                thread.join()
            assert len(told) == 3 and all("finalize" in text for text in told), told
        """)
    assert run.status == 0 and run.err == "", run


def test_a_signals_handler_may_finalize():
    run = job(2, """
        import signal, shoal
        shoal.init()
        x = shoal.zeros(1, "int64")
        signal.signal(signal.SIGALRM, lambda *unused: shoal.finalize())
        signal.alarm(1)
        try:
            shoal.wait_until(x, "==", 1)
            raise SystemExit("no exception")
        except RuntimeError as error:
            assert "finalize" in str(error), error
        """)
    assert run.status == 0 and run.err == "", run


def test_handles_of_a_job_that_ended_raise():
    run = job(2, """
        import shoal
        shoal.init()
        pe = 1 - shoal.my_pe()
        x = shoal.zeros(4, "int64")
        team, context = shoal.world().split_strided(0, 1, 2), shoal.Context()
        group, remote, cell, world = team._group_, x.on(pe, context), shoal.atomic(x, 0, pe, context), shoal.world()
        calls = [context.quiet, context.fence, lambda: shoal.quiet(context), lambda: remote[0], lambda: remote[:], lambda: remote.__setitem__(0, 1), cell.load,
                 lambda: shoal.put(x, 1, pe, context), team.barrier, team.sync, lambda: team.all_reduce([1]), team.destroy, group.barrier,
                 lambda: group.all_reduce(x.ctypes.data, x.ctypes.data, 3, 4, (), 5), lambda: world.all_gather([1]), lambda: shoal.Context(team),
                 lambda: group.share(b""), lambda: x.on(pe)[0], lambda: x.mapped(pe), lambda: shoal.free(x)]
        for again in range(2):
            shoal.finalize()
            for _ in range(2):
                for number, call in enumerate(calls):
                    try:
                        call()
                        raise SystemExit(f"call {number}: no exception")
                    except (RuntimeError, ValueError) as error:
                        assert "finalize" in str(error) or "heap" in str(error), (number, error)
                shoal.init()
            shoal.finalize()
            shoal.barrier()
        context.destroy()
        """)
    assert run.status == 0, run


def test_wrong_launcher_is_an_exception():
    run = subprocess.run([sys.executable, "-c", "import shoal\ntry: shoal.init()\nexcept RuntimeError as e: print(e)"], capture_output=True, text=True,
                         env=environment(OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="1"), timeout=60, check=False)
    assert run.returncode == 0 and "could not start" in run.stdout and "shoalrun" in run.stderr, run


def test_heap_too_small_for_the_package_is_an_exception():
    run = job(2, "import shoal\ntry: shoal.init()\nexcept RuntimeError as e: print(e)", SHMEM_SYMMETRIC_SIZE="1m")
    assert run.status == 0 and run.out.count("SHMEM_SYMMETRIC_SIZE") == 2, run


def test_init_that_failed_leaves_nothing_that_runs():
    run = job(2, """
        import shoal
        try:
            shoal.init()
        except RuntimeError as error:
            print(error)
        assert not shoal.is_initialized()
        try:
            shoal.zeros(3)
        except RuntimeError as error:
            assert "call shoal.init() first" in str(error), error
        """, SHMEM_SYMMETRIC_SIZE="1m")
    assert run.status == 0 and run.out.count("64m") == 2, run


def test_sixteen_pes_on_few_cores():
    run = job(16, """
        import shoal
        shoal.init()
        x = shoal.zeros(16, "int64")
        for i in range(20):
            x.on((shoal.my_pe() + i) % 16)[shoal.my_pe()] = i
            shoal.barrier()
        assert shoal.all_reduce([1.0])[0] == 16
        """)
    assert run.status == 0, run


def test_environment_of_the_job_reaches_python():
    assert shoalrun(1, sys.executable, "-c", "import shoal; assert shoal._launched() == (0, 1)").status == 0 and os.path.exists(SHOALRUN)


def test_a_library_that_others_began_goes_on():
    run = job(2, """
        import ctypes, shoal
        shoal.init()  # loads the library that the next line finds
        library = ctypes.CDLL("libshoal.so.0")
        library.shmem_init()  # as an extension of somebody else's does
        x = shoal.ones(1000)
        shoal.finalize()
        assert x.sum() == 1000 and not shoal.is_initialized()
        library.shmem_barrier_all()
        shoal.init()
        assert shoal.all_reduce([1])[0] == 2
        shoal.finalize()
        library.shmem_finalize()
        """)
    assert run.status == 0, run
