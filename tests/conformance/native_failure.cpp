// SPDX-License-Identifier: Apache-2.0
// native_failure {run|job|unwinding}: exceptions in a job (see native_failure.sh).
#include <cstdio>
#include <shoal/shoal.hpp>
#include <string>

namespace {

/// PE 1 throws inside run() while the others wait for it.
int thrown_in_run() {
  return shoal::run([](shoal::Job& job) {
    const shoal::Array<int> array(10);
    if (job.my_pe() == 1) throw std::runtime_error("cards on fire");
    job.barrier();
  });
}

/// PE 2 throws through the scope of a Job.
int thrown_through_job() {
  try {
    shoal::Job job;
    const shoal::Array<int> array(10);
    if (job.my_pe() == 2) throw std::runtime_error("not seen by anybody");
    job.barrier();
  } catch (const std::exception&) {
    return 0;  // never: the job has ended
  }
  return 0;
}

/// All PEs leave a scope with an array and a team by an exception, and go on.
int all_unwind() {
  return shoal::run([](shoal::Job& job) {
    for (int i = 0; i < 3; ++i) {
      try {
        const shoal::Array<int> array(10);
        const shoal::Team team = job.world().split_strided(0, 1, job.n_pes());
        const shoal::Signal signal;
        throw i;
      } catch (int) {
        job.barrier();
      }
    }
    shoal::Array<int> array(10);
    array.on((job.my_pe() + 1) % job.n_pes())[3] = 7;
    job.barrier();
    return array[3] == 7 ? 0 : 1;
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  if (kind == "run") return thrown_in_run();
  if (kind == "job") return thrown_through_job();
  if (kind == "unwinding") return all_unwind();
  std::fprintf(stderr, "usage: native_failure {run|job|unwinding}\n");
  return 2;
}
