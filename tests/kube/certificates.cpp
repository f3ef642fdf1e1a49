#include "tests/kube/certificates.h"

#include "common/ip_address.h"

#include <memory>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdexcept>

namespace vfrail::kube {

namespace {

template <class T, void (*free_it)(T*)>
struct Freed {
  void operator()(T* thing) const { free_it(thing); }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Memory = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;

void must(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("OpenSSL: ") + what);
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return std::string(data, static_cast<size_t>(size));
}

KeyPair pem(X509* certificate, EVP_PKEY* key) {
  const Memory first(BIO_new(BIO_s_mem()));
  const Memory second(BIO_new(BIO_s_mem()));
  must(PEM_write_bio_X509(first.get(), certificate) == 1, "write a certificate");
  must(PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
       "write a key");
  return {text_of(first.get()), text_of(second.get())};
}

void add_extension(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  must(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, value.c_str());
  X509_EXTENSION_free(extension);
}

Certificate blank(const std::string& subject, EVP_PKEY* key) {
  static long serial = 1;
  Certificate out(X509_new());
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), 24 * 3600);
  X509_set_pubkey(out.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
  return out;
}

Key read_key(const std::string& text) {
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return Key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr));
}

Certificate read_certificate(const std::string& text) {
  const Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return Certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
}

}  // namespace

KeyPair make_authority(const std::string& name) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate out = blank(name, key.get());
  X509_set_issuer_name(out.get(), X509_get_subject_name(out.get()));
  add_extension(out.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(out.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  must(X509_sign(out.get(), key.get(), EVP_sha256()) > 0, "sign");
  return pem(out.get(), key.get());
}

KeyPair make_certificate(const KeyPair& authority, const std::string& subject,
                         const std::vector<std::string>& names) {
  const Key signer = read_key(authority.key);
  const Certificate issuer = read_certificate(authority.certificate);
  const Key key(EVP_EC_gen("P-256"));
  const Certificate out = blank(subject, key.get());
  X509_set_issuer_name(out.get(), X509_get_subject_name(issuer.get()));
  add_extension(out.get(), NID_ext_key_usage, names.empty() ? "clientAuth" : "serverAuth");
  std::string alternatives;
  for (const std::string& name : names)
    alternatives +=
        (alternatives.empty() ? "" : ",") + std::string(IpAddress::parse(name) ? "IP:" : "DNS:") + name;
  if (!names.empty()) add_extension(out.get(), NID_subject_alt_name, alternatives);
  must(X509_sign(out.get(), signer.get(), EVP_sha256()) > 0, "sign");
  return pem(out.get(), key.get());
}

}  // namespace vfrail::kube
