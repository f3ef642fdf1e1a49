// gRPC 1.51's threads for calls ask their queue for a second, sleep for a tenth and ask again, for as long as
// the process lives (CompletionQueue::CallbackAlternativeCQ()). They wait for the next event in place of it,
// as those of a server with a queue of its own do; the end of the queue is an event, too. Only the program
// that is installed has it: the linker's --wrap does not reach into shared libraries.
#include <grpc/grpc.h>
#include <pthread.h>
#include <string_view>

namespace {

// By the name that gRPC gives them. Whoever else waits has a deadline to keep: a server that is shut down
// cancels its calls then.
bool is_thread_for_calls() {
  char name[16] = "";  // as long as names are (prctl(2), PR_GET_NAME)
  return ::pthread_getname_np(::pthread_self(), name, sizeof name) == 0 &&
         std::string_view(name) == "nexting_thread";
}

}  // namespace

extern "C" {
grpc_event __real_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved);
grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved);

grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved) {
  thread_local const bool waits = is_thread_for_calls();
  if (waits) deadline = gpr_inf_future(GPR_CLOCK_REALTIME);
  return __real_grpc_completion_queue_next(queue, deadline, reserved);
}
}
