// SPDX-License-Identifier: Apache-2.0
// Certificates made on the spot, in files of a folder that goes with the object.
#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "security/certificates.hpp"

namespace shoal {

/// A folder under the system's temporary one, and files in it that only their owner may read.
class TestFolder final {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "shoal-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path(name), std::ios::binary) << text;
    ::chmod(path(name).c_str(), mode);
    return path(name);
  }

 private:
  std::string path_;
};

/// An authority of its own, and the members that it vouches for.
class TestAuthority final {
 public:
  struct Member {
    std::string common_name = "member";
    std::string names = {};    // the alternative names, as openssl.cnf writes them: "URI:shoal:pe:0-3"
    long valid_from_s = -3600;  // from now
    long valid_to_s = 3600;
    std::string password = {};  // of the key file
  };

  explicit TestAuthority(const std::string& name = "authority") : key_(EVP_EC_gen("P-256")) {
    certificate_ = make(name, -3600, 3600, "", key_, nullptr);
    save_certificate(folder_.path("ca.pem"), certificate_);
  }
  ~TestAuthority() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  const TestFolder& folder() const { return folder_; }
  CertificateFiles issue(const Member& member) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = make(member.common_name, member.valid_from_s, member.valid_to_s, member.names, key, certificate_);
    const std::string stem = folder_.path("member" + std::to_string(++serial_));
    CertificateFiles files{folder_.path("ca.pem"), stem + ".pem", stem + ".key", ""};
    save_certificate(files.certificate, certificate);
    FILE* file = std::fopen(files.key.c_str(), "w");
    PEM_write_PKCS8PrivateKey(file, key, member.password.empty() ? nullptr : EVP_aes_256_cbc(), member.password.data(),
                              static_cast<int>(member.password.size()), nullptr, nullptr);
    std::fclose(file);
    ::chmod(files.key.c_str(), 0600);
    if (!member.password.empty())
      files.key_password = folder_.write("password" + std::to_string(serial_), member.password + "\n");
    X509_free(certificate);
    EVP_PKEY_free(key);
    return files;
  }

 private:
  X509* make(const std::string& name, long from_s, long to_s, const std::string& names, EVP_PKEY* key, X509* issuer) {
    X509* made = X509_new();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made), from_s);
    X509_gmtime_adj(X509_getm_notAfter(made), to_s);
    X509_set_pubkey(made, key);
    X509_NAME* subject = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer != nullptr ? issuer : made));
    if (issuer == nullptr) add(made, NID_basic_constraints, "critical,CA:TRUE");
    if (!names.empty()) add(made, NID_subject_alt_name, names);
    X509_sign(made, key_, EVP_sha256());
    return made;
  }
  static void add(X509* to, int what, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str());
    if (extension == nullptr) std::abort();
    X509_add_ext(to, extension, -1);
    X509_EXTENSION_free(extension);
  }
  static void save_certificate(const std::string& path, X509* certificate) {
    FILE* file = std::fopen(path.c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
  }

  TestFolder folder_;
  long serial_ = 0;
  EVP_PKEY* key_;
  X509* certificate_;
};

}  // namespace shoal
