// SPDX-License-Identifier: Apache-2.0
#include "security/secret.hpp"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "security/openssl.hpp"

namespace shoal {
namespace {

constexpr std::size_t kLongestFile = 1u << 20;
constexpr char kFileSalt[] = "shoal job secret file v1";

/// HKDF-SHA-256 in one of its modes; empty `salt` or `info`: none.
Secret hkdf(int mode, std::span<const std::byte> key, const std::string& salt, const std::string& info) {
  keep_openssl();
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free);
  char digest[] = "SHA256";
  OSSL_PARAM parameters[6], *next = parameters;
  *next++ = OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode);
  *next++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0);
  *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<std::byte*>(key.data()), key.size());
  if (!salt.empty())
    *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, const_cast<char*>(salt.data()), salt.size());
  if (!info.empty())
    *next++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, const_cast<char*>(info.data()), info.size());
  *next = OSSL_PARAM_construct_end();
  SecretBuffer result(Secret::kBytes);
  if (context == nullptr || EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(result.bytes().data()),
                                           Secret::kBytes, parameters) <= 0)
    throw Error(
        Code::security,
        "OpenSSL cannot derive a key by HKDF-SHA-256: is this OpenSSL restricted by a configuration (OPENSSL_CONF)?");
  return Secret::from_bytes(std::span<const std::byte, Secret::kBytes>(std::as_const(result).bytes()));
}

void check_owner(const struct stat& file, const std::string& name) {
  if (!S_ISREG(file.st_mode)) throw Error(Code::security, name + " is not a regular file");
  if ((file.st_mode & 077) != 0)
    throw Error(
        Code::security,
        strf("%s may be read or written by others (mode %04o): chmod 600 it, and make a new secret if anyone may have "
             "read it",
             name.c_str(), static_cast<unsigned>(file.st_mode & 07777)));
  if (file.st_uid != ::geteuid() && file.st_uid != 0)
    throw Error(Code::security, strf("%s belongs to user %u, not to the one who runs this, %u", name.c_str(),
                                     file.st_uid, ::geteuid()));
}

}  // namespace

SecretBuffer::SecretBuffer(std::size_t bytes) : data_(nullptr), size_(bytes) {
  if (bytes == 0) return;
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw_errno("mmap for a secret");
  ::madvise(at, bytes, MADV_DONTDUMP);
  ::madvise(at, bytes, MADV_WIPEONFORK);
  ::mlock(at, bytes);  // where RLIMIT_MEMLOCK has no room left it may be swapped
  data_ = static_cast<std::byte*>(at);
}

SecretBuffer::SecretBuffer(SecretBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SecretBuffer& SecretBuffer::operator=(SecretBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SecretBuffer::~SecretBuffer() {
  if (data_ == nullptr) return;
  wipe(bytes());
  ::munmap(data_, size_);
}

void wipe(std::span<std::byte> bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

Secret Secret::fresh() {
  Secret secret;
  if (::getrandom(secret.buffer_.bytes().data(), kBytes, 0) != static_cast<ssize_t>(kBytes))
    throw_errno("getrandom for a job secret");
  return secret;
}

Secret Secret::from_bytes(std::span<const std::byte, kBytes> bytes) {
  Secret secret;
  std::copy(bytes.begin(), bytes.end(), secret.buffer_.bytes().begin());
  return secret;
}

Secret Secret::from_file(const std::string& path) {
  const SecretBuffer text = read_private_file(path, "the file of the job secret");
  auto key = text.bytes();
  if (!key.empty() && key.back() == std::byte{'\n'}) key = key.first(key.size() - 1);
  if (!key.empty() && key.back() == std::byte{'\r'}) key = key.first(key.size() - 1);
  if (key.size() < kBytes)
    throw Error(
        Code::security,
        strf("the file of the job secret, %s, has %zu bytes: at least %zu are needed, such as those of: openssl rand "
             "-hex 32",
             path.c_str(), key.size(), kBytes));
  return hkdf(EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND, key, kFileSalt, "job secret");
}

Secret Secret::derive(const std::string& purpose) const {
  return hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, bytes(), "", "shoal " + purpose);
}

SecretBuffer read_private_file(const std::string& path, const char* what) {
  const std::string name = strf("%s, %s,", what, path.c_str());
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) throw Error(Code::security, strf("%s cannot be opened: %s", name.c_str(), std::strerror(errno)));
  struct stat file;
  if (::fstat(fd.get(), &file) != 0) throw_errno("fstat of " + path);
  check_owner(file, name);
  const auto size = static_cast<std::size_t>(file.st_size);
  if (size > kLongestFile) throw Error(Code::security, strf("%s is longer than %zu bytes", name.c_str(), kLongestFile));
  SecretBuffer text(size);
  for (auto rest = text.bytes(); !rest.empty();) {
    const ssize_t n = ::read(fd.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      throw Error(Code::security,
                  strf("%s cannot be read: %s", name.c_str(), n < 0 ? std::strerror(errno) : "it became shorter"));
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace shoal
