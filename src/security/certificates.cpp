// SPDX-License-Identifier: Apache-2.0
#include "security/certificates.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "security/secret.hpp"

namespace shoal {
namespace {

constexpr std::string_view kNamePrefix = "shoal:pe:";

/// The last error of OpenSSL in words, or the system's that it came from; the queue is then empty.
std::string openssl_reason() {
  const unsigned long first = ERR_peek_error();
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  const std::string text = ERR_SYSTEM_ERROR(first) ? std::strerror(ERR_GET_REASON(first))
                           : reason != nullptr     ? reason
                                                   : "unknown error";
  ERR_clear_error();
  return text;
}

[[noreturn]] void reject(const char* what, const std::string& path, const std::string& why) {
  throw Error(Code::security, strf("%s, %s: %s", what, path.c_str(), why.c_str()));
}

void require(const std::string& path, const char* what, const char* option) {
  if (path.empty())
    throw Error(Code::security, strf("certificates need three files, and %s is not named: set %s", what, option));
}

int give_password(char* to, int size, int, void* text) {
  const auto* password = static_cast<const SecretBuffer*>(text);
  if (password == nullptr) return -1;  // not a prompt on the terminal
  const auto bytes = password->bytes();
  const auto end = std::find_if(bytes.begin(), bytes.end(),
                                [](std::byte b) { return b == std::byte{'\n'} || b == std::byte{'\r'}; });
  const auto length = end - bytes.begin();
  if (length > size) return -1;
  std::memcpy(to, bytes.data(), static_cast<std::size_t>(length));
  return static_cast<int>(length);
}

void load_key(SSL_CTX* context, const CertificateFiles& files) {
  const char* what = "the private key";
  const SecretBuffer text = read_private_file(files.key, what);
  const SecretBuffer password =
      files.key_password.empty() ? SecretBuffer(0) : read_private_file(files.key_password, "the key's password");
  const std::unique_ptr<BIO, decltype(&BIO_free)> source(
      BIO_new_mem_buf(text.bytes().data(), static_cast<int>(text.bytes().size())), BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(source.get(), nullptr, give_password,
                              files.key_password.empty() ? nullptr : const_cast<SecretBuffer*>(&password)),
      EVP_PKEY_free);
  if (key == nullptr)
    reject(what, files.key,
           openssl_reason() + (files.key_password.empty()
                                   ? " (if it is encrypted, name the file of its password: SHOAL_TLS_KEY_PASSWORD_FILE)"
                                   : " (is the password right?)"));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    reject(what, files.key,
           strf("does not belong to the certificate %s: %s", files.certificate.c_str(), openssl_reason().c_str()));
}

int number_of(std::string_view text, const std::string& name) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    throw Error(Code::security,
                strf("the certificate's name \"%s\" is not valid: expected shoal:pe:3, shoal:pe:0-7 or shoal:pe:*",
                     name.c_str()));
  return number;
}

std::string time_text(const ASN1_TIME* time) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> to(BIO_new(BIO_s_mem()), BIO_free);
  char text[64] = "";
  if (ASN1_TIME_print(to.get(), time) == 1) BIO_gets(to.get(), text, sizeof text);
  return text;
}

}  // namespace

void load_certificates(SSL_CTX* context, const CertificateFiles& files) {
  require(files.ca, "the authority's certificate", "SHOAL_TLS_CA");
  require(files.certificate, "this side's certificate", "SHOAL_TLS_CERT");
  require(files.key, "its private key", "SHOAL_TLS_KEY");
  ERR_clear_error();
  if (SSL_CTX_load_verify_file(context, files.ca.c_str()) != 1)
    reject("the authority's certificate", files.ca, openssl_reason());
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
    reject("the certificate", files.certificate, openssl_reason());
  load_key(context, files);
  X509* own = SSL_CTX_get0_certificate(context);
  if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0 || X509_cmp_current_time(X509_get0_notBefore(own)) > 0)
    reject("the certificate", files.certificate,
           strf("%s is not valid now: its time is from %s to %s", describe_certificate(own).c_str(),
                time_text(X509_get0_notBefore(own)).c_str(), time_text(X509_get0_notAfter(own)).c_str()));
}

CertifiedPes CertifiedPes::of(X509* certificate) {
  std::vector<std::string> names;
  auto* alternatives =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives, i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                       static_cast<std::size_t>(ASN1_STRING_length(uri)));
  }
  GENERAL_NAMES_free(alternatives);
  return of(names);
}

CertifiedPes CertifiedPes::of(const std::vector<std::string>& names) {
  CertifiedPes result;
  for (const std::string& name : names) {
    if (!name.starts_with(kNamePrefix)) continue;
    const std::string_view pes = std::string_view(name).substr(kNamePrefix.size());
    if (pes == "*") {
      result.ranges_.emplace_back(0, INT_MAX);
      continue;
    }
    const std::size_t dash = pes.find('-');
    const int first = number_of(pes.substr(0, dash), name);
    result.ranges_.emplace_back(first, dash == std::string_view::npos ? first : number_of(pes.substr(dash + 1), name));
  }
  return result;
}

bool CertifiedPes::contains(int pe) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const auto& range) { return range.first <= pe && pe <= range.second; });
}

std::string fingerprint_of(X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &length) != 1)
    throw Error(Code::security, "OpenSSL cannot digest a certificate");
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += strf("%02x", digest[i]);
  return text;
}

std::string describe_certificate(X509* certificate) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> to(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(to.get(), X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
  char* text = nullptr;
  const long length = BIO_get_mem_data(to.get(), &text);
  return strf("\"%.*s\" (valid until %s)", static_cast<int>(std::min(length, 200L)), text,
              time_text(X509_get0_notAfter(certificate)).c_str());
}

}  // namespace shoal
