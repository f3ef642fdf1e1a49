// What libibverbs and mmap() give, each released by its own destructor.
#pragma once

#include <cstdint>
#include <memory>
#include <sys/mman.h>

#include <infiniband/verbs.h>

namespace vfrail::pod {

struct CloseVerbs {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
  void operator()(ibv_context* context) const { ibv_close_device(context); }
  void operator()(ibv_pd* domain) const { ibv_dealloc_pd(domain); }
  void operator()(ibv_mr* region) const { ibv_dereg_mr(region); }
  void operator()(ibv_cq* queue) const { ibv_destroy_cq(queue); }
  void operator()(ibv_qp* pair) const { ibv_destroy_qp(pair); }
};
template <class T>
using HeldVerbs = std::unique_ptr<T, CloseVerbs>;

class Pages {
 public:
  explicit Pages(uint64_t bytes)
      : bytes_(bytes),
        memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    if (is_there()) ::munmap(memory_, bytes_);
  }
  bool is_there() const { return memory_ != MAP_FAILED; }
  void* memory() const { return memory_; }

 private:
  uint64_t bytes_;
  void* memory_;
};

}  // namespace vfrail::pod
