// SPDX-License-Identifier: Apache-2.0
// TLS between members of a job, over connected sockets that may be non-blocking. TLS 1.3 only, with an ephemeral key
// exchange always. Both sides prove themselves: by the job secret (an external PSK), or by certificates of the same
// authority.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "security/certificates.hpp"
#include "security/secret.hpp"

struct ssl_st;

namespace shoal {

class TlsSession;

/// What a connection is for. A secret serves each purpose through another key: a peer of one cannot be led to the
/// other.
enum class TlsPurpose { store, data };

/// Thread safe, once made. Outlives its sessions.
class TlsContext final {
 public:
  TlsContext(const Secret& secret, TlsPurpose purpose);
  /// @throws Error{security} when they cannot be used
  explicit TlsContext(const CertificateFiles& files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// A session over `fd`, which is not owned. Nothing has been sent yet.
  std::unique_ptr<TlsSession> connect(int fd) const;
  std::unique_ptr<TlsSession> accept(int fd) const;
  /// Of this side's certificate; "" with a secret.
  const std::string& own_fingerprint() const { return own_fingerprint_; }

 private:
  friend class TlsSession;
  friend struct TlsCallbacks;
  struct Parts;
  explicit TlsContext(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
  std::string own_fingerprint_;
};

/// One side of one connection. Used by one thread at a time. Never raises SIGPIPE.
class TlsSession final {
 public:
  enum class Progress { done, want_read, want_write };
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Goes on with the handshake; to be called again when the socket is ready for what it wants. `done` on the side that
  /// connects does not yet mean that the other one accepts our certificate: the first bytes read say so.
  /// @throws Error{security} that says why the other side is not accepted, or does not accept us
  Progress handshake();
  /// Bytes read (1 or more), 0 at the orderly end of the stream, -1 when that would block: wants() says for what.
  /// @throws Error{security} for what is no TLS or was tampered with; Error{peer} when the connection broke
  ssize_t read(void* to, std::size_t bytes);
  /// Bytes written (1 or more), -1 when it would block. A retry may come from another address, with as many bytes or
  /// more.
  ssize_t write(const void* from, std::size_t bytes);
  /// The key that encrypts what is written is renewed after so many writes, a record each: AES-GCM may encrypt 2^24.5
  /// records (RFC 8446, 5.5).
  void renew_key_after(std::uint64_t records) noexcept { records_a_key_ = records; }
  /// Tells the other side that nothing more comes (as far as the socket takes it now).
  void close() noexcept;
  Progress wants() const noexcept { return wants_; }
  /// Decrypted bytes that no poll of the socket tells of.
  bool pending() const noexcept;

  /// After the handshake, with certificates: whether the other side may speak for `pe`. A certificate that names PEs is
  /// held to them; `fingerprint`, unless "", is the one that `pe` has shown elsewhere.
  /// @throws Error{security} naming the certificate
  void check_peer(int pe, const std::string& fingerprint) const;
  /// Of the other side's certificate; "" with a secret.
  std::string peer_fingerprint() const;
  /// For what is not wrapped here.
  ssl_st* native() const noexcept { return ssl_; }

 private:
  friend class TlsContext;
  friend struct TlsCallbacks;
  TlsSession(const TlsContext& context, int fd, bool client);
  void check_authenticated() const;
  void renew_key();
  std::string reason(int error) const;
  Progress would_block(int result);
  const TlsContext& context_;
  const int fd_;
  ssl_st* ssl_;
  std::uint64_t records_ = 0, records_a_key_ = 1u << 23;  // written under this key
  bool half_written_ = false;                             // a record that OpenSSL has yet to see leave
  bool established_ = false;
  bool stranger_ = false;  // offered a secret that is not ours
  std::string refused_;    // whose certificate was
  Progress wants_ = Progress::want_read;
};

}  // namespace shoal
