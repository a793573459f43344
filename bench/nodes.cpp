// SPDX-License-Identifier: Apache-2.0
// What operations between two nodes cost, beside what the same wire gives without any library, in one run:
//   shoalrun -n 2 --fake-nodes 2 nodes                   (or on two machines; SHOAL_TRANSPORT=tls|tcp picks)
// PE 0 and PE 1 first exchange messages over a connection of their own, plain and by OpenSSL (and with SHOAL_TRANSPORT=ucx by UCX
// itself): the limits. Each figure is the
// median of kRounds rounds; limits and operations take turns, so that both see the same machine.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <shmem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#ifdef SHOAL_BENCH_UCX
#include "bare_ucx.hpp"
#endif

namespace {

constexpr int kRounds = 31, kExchanges = 2000, kPuts = 300000, kStreamed = 256;
constexpr std::size_t kMiB = 1 << 20;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  shmem_global_exit(1);
  std::abort();
}

/// A connection between the two PEs: PE 1 listens where the argument says (127.0.0.1 without one).
int connect_pair(const char* host) {
  static long port;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, host, &address.sin_addr);
  socklen_t length = sizeof address;
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);  // before it is connected, as the library does
  if (shmem_my_pe() == 1) {
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(fd, 1) != 0) die("bind, listen");
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    shmem_long_p(&port, ntohs(address.sin_port), 0);
    shmem_barrier_all();
    const int listener = fd;
    fd = ::accept(listener, nullptr, nullptr);
    ::close(listener);
  } else {
    shmem_barrier_all();
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), length) != 0) die("connect");
  }
  if (fd < 0) die("accept");
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

/// Moves bytes by polling, as a waiting PE does.
struct Raw {
  int fd;
  std::size_t send_some(const void* from, std::size_t bytes) const {
    const ssize_t n = ::send(fd, from, bytes, 0);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  std::size_t receive_some(void* to, std::size_t bytes) const {
    const ssize_t n = ::recv(fd, to, bytes, 0);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  void send(const void* from, std::size_t bytes) const {
    for (std::size_t done = 0; done < bytes;) done += send_some(static_cast<const char*>(from) + done, bytes - done);
  }
  void receive(void* to, std::size_t bytes) const {
    for (std::size_t done = 0; done < bytes;) done += receive_some(static_cast<char*>(to) + done, bytes - done);
  }
};

struct Encrypted {
  SSL* ssl;
  explicit Encrypted(int fd) {
    SSL_CTX* context = SSL_CTX_new(TLS_method());
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    X509* certificate = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    SSL_CTX_use_certificate(context, certificate);
    SSL_CTX_use_PrivateKey(context, key);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    while ((shmem_my_pe() == 0 ? SSL_connect(ssl) : SSL_accept(ssl)) != 1) {
    }
  }
  std::size_t send_some(const void* from, std::size_t bytes) const {
    std::size_t n = 0;
    return SSL_write_ex(ssl, from, bytes, &n) == 1 ? n : 0;
  }
  std::size_t receive_some(void* to, std::size_t bytes) const {
    std::size_t n = 0;
    return SSL_read_ex(ssl, to, bytes, &n) == 1 ? n : 0;
  }
  void send(const void* from, std::size_t bytes) const {
    for (std::size_t done = 0; done < bytes;) done += send_some(static_cast<const char*>(from) + done, bytes - done);
  }
  void receive(void* to, std::size_t bytes) const {
    for (std::size_t done = 0; done < bytes;) done += receive_some(static_cast<char*>(to) + done, bytes - done);
  }
};

struct Figure {
  const char* name;
  const char* unit;
  std::function<double()> run;  // both PEs call it; PE 0's result counts
  std::vector<double> results{};
  double median() {
    std::sort(results.begin(), results.end());
    return results[results.size() / 2];
  }
};

double microseconds_each(std::uint64_t began, int count) { return static_cast<double>(shoal::now_ns() - began) / 1e3 / count; }
double gigabytes_a_second(std::uint64_t began, std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(shoal::now_ns() - began); }

template <class Wire>
double ping_pong(Wire& wire) {
  std::uint64_t word = 0;
  shmem_barrier_all();
  const std::uint64_t began = shoal::now_ns();
  for (int i = 0; i < kExchanges; ++i) {
    if (shmem_my_pe() == 0) wire.send(&word, sizeof word);
    wire.receive(&word, sizeof word);
    if (shmem_my_pe() == 1) wire.send(&word, sizeof word);
  }
  return microseconds_each(began, kExchanges);
}

/// Both send at once, as in a barrier of two.
template <class Wire>
double exchange(Wire& wire) {
  std::uint64_t word = 0;
  shmem_barrier_all();
  const std::uint64_t began = shoal::now_ns();
  for (int i = 0; i < kExchanges; ++i) {
    wire.send(&word, sizeof word);
    wire.receive(&word, sizeof word);
  }
  return microseconds_each(began, kExchanges);
}

/// 4 MiB each way at once, in pieces: what a reduction moves at the least.
template <class Wire>
double exchange_long(const Wire& wire, char* out, char* in) {
  constexpr std::size_t kPiece = 64 * 1024, kAll = 4 * kMiB;
  shmem_barrier_all();
  const std::uint64_t began = shoal::now_ns();
  for (int i = 0; i < 10; ++i)
    for (std::size_t sent = 0, received = 0; sent < kAll || received < kAll;) {
      if (sent < kAll) sent += wire.send_some(out + sent, std::min(kPiece, kAll - sent));
      if (received < kAll) received += wire.receive_some(in + received, kAll - received);
    }
  return microseconds_each(began, 10);
}

template <class Wire>
double stream(const Wire& wire, char* block) {
  shmem_barrier_all();
  const std::uint64_t began = shoal::now_ns();
  char done = 0;
  for (int i = 0; i < kStreamed; ++i) shmem_my_pe() == 0 ? wire.send(block, kMiB) : wire.receive(block, kMiB);
  shmem_my_pe() == 0 ? wire.receive(&done, 1) : wire.send(&done, 1);
  return gigabytes_a_second(began, kStreamed * kMiB);
}

/// PE 0 does something `count` times while PE 1 waits in a barrier, as in a program whose PEs wait for each other.
template <class Body>
double alone(int count, Body&& body) {
  shmem_barrier_all();
  const std::uint64_t began = shoal::now_ns();
  if (shmem_my_pe() == 0)
    for (int i = 0; i < count; ++i) body(i);
  const double each = microseconds_each(began, count);
  shmem_barrier_all();
  return each;
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  if (shmem_n_pes() != 2) {
    std::fprintf(stderr, "nodes: needs 2 PEs on 2 nodes: shoalrun -n 2 --fake-nodes 2 nodes [address of PE 1]\n");
    shmem_global_exit(2);
  }
  const int other = 1 - shmem_my_pe();
  const char* host = argc > 1 ? argv[1] : "127.0.0.1";
  Raw raw{connect_pair(host)};
  Encrypted encrypted(connect_pair(host));
  auto* words = static_cast<std::uint64_t*>(shmem_calloc(1024, 8));
  auto* block = static_cast<char*>(shmem_malloc(4 * kMiB));
  auto* sum = static_cast<float*>(shmem_malloc(4 * kMiB));
  std::memset(block, 0, 4 * kMiB);

  std::vector<Figure> figures = {
      {"raw TCP round trip, 8 B", "us", [&] { return ping_pong(raw); }},
      {"raw OpenSSL round trip, 8 B", "us", [&] { return ping_pong(encrypted); }},
      {"put 8 B and quiet", "us", [&] { return alone(kExchanges, [&](int i) { shmem_uint64_p(words, static_cast<std::uint64_t>(i), other), shmem_quiet(); }); }},
      {"get 8 B", "us", [&] { return alone(kExchanges, [&](int) { words[1] += shmem_uint64_g(words, other); }); }},
      {"fetch_add", "us", [&] { return alone(kExchanges, [&](int) { shmem_uint64_atomic_fetch_add(words, 1, other); }); }},
      {"put 8 B, many", "us", [&] { return alone(kPuts, [&](int i) { shmem_uint64_p(words + i % 1024, 1, other); if (i == kPuts - 1) shmem_quiet(); }); }},
      {"raw TCP stream", "GB/s", [&] { return stream(raw, block); }},
      {"raw OpenSSL stream", "GB/s", [&] { return stream(encrypted, block); }},
      {"put 1 MiB, many", "GB/s", [&] {
         const double each = alone(kStreamed, [&](int i) { shmem_putmem_nbi(block, block, kMiB, other); if (i == kStreamed - 1) shmem_quiet(); });
         return kMiB / each / 1e3;
       }},
      {"get 1 MiB", "GB/s", [&] { return kMiB / alone(64, [&](int) { shmem_getmem(block, block, kMiB, other); }) / 1e3; }},
      {"barrier_all", "us", [&] {
         shmem_barrier_all();
         const std::uint64_t began = shoal::now_ns();
         for (int i = 0; i < kExchanges; ++i) shmem_barrier_all();
         return microseconds_each(began, kExchanges);
       }},
      {"float sum reduce, 4 MiB", "us", [&] {
         shmem_barrier_all();
         const std::uint64_t began = shoal::now_ns();
         for (int i = 0; i < 10; ++i) shmem_float_sum_reduce(SHMEM_TEAM_WORLD, sum, reinterpret_cast<float*>(block), kMiB);
         return microseconds_each(began, 10);
       }},
      {"raw TCP exchange, 8 B", "us", [&] { return exchange(raw); }},
      {"raw OpenSSL exchange, 8 B", "us", [&] { return exchange(encrypted); }},
      {"raw TCP exchange, 4 MiB", "us", [&] { return exchange_long(raw, block, reinterpret_cast<char*>(sum)); }},
      {"raw OpenSSL exchange, 4 MiB", "us", [&] { return exchange_long(encrypted, block, reinterpret_cast<char*>(sum)); }},
  };
  const char* transport = std::getenv("SHOAL_TRANSPORT");
#ifdef SHOAL_BENCH_UCX
  std::unique_ptr<BareUcx> ucx;  // made where it is asked for
  if (transport != nullptr && std::strcmp(transport, "ucx") == 0) {
    ucx = std::make_unique<BareUcx>(other);
    figures.push_back({"raw UCX round trip, 8 B", "us", [&] { return ping_pong(*ucx); }});
    figures.push_back({"raw UCX exchange, 8 B", "us", [&] { return exchange(*ucx); }});
  }
#endif
  for (int round = 0; round < kRounds; ++round)
    for (Figure& figure : figures) figure.results.push_back(figure.run());
  if (shmem_my_pe() == 0) {
    std::printf("transport %s, median of %d (least, most)\n", transport == nullptr ? "auto" : transport, kRounds);
    for (Figure& figure : figures) {
      const double median = figure.median();
      std::printf("  %-28s %10.3f %-5s (%.3f, %.3f)\n", figure.name, median, figure.unit, figure.results.front(), figure.results.back());
    }
    const auto ratio = [&](const char* what, std::size_t i, std::size_t limit) {
      std::printf("  %-28s %6.2f of the limit over TCP, %.2f over OpenSSL\n", what, figures[i].median() / figures[limit].median(),
                  figures[i].median() / figures[limit + 1].median());
    };
    for (const std::size_t i : {2u, 3u, 4u}) ratio(figures[i].name, i, 0);
    for (const std::size_t i : {8u, 9u}) ratio(figures[i].name, i, 6);
    std::printf("  %-28s %6.2f million a second\n", "put 8 B, many", 1 / figures[5].median());
  }
  shmem_finalize();
  return 0;
}
