// gRPC 1.51's threads for calls ask their queue for a second, sleep for a tenth and ask again, for as long as
// the process lives (CompletionQueue::CallbackAlternativeCQ()). They wait for the next event in place of it,
// as those of a server with a queue of its own do; the end of the queue is an event, too. Only the program
// that is installed has it: the linker's --wrap does not reach into shared libraries.
#include <grpc/grpc.h>

extern "C" {
grpc_event __real_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                             void* reserved);
grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec, void* reserved);

grpc_event __wrap_grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec, void* reserved) {
  return __real_grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), reserved);
}
}
