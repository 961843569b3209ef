// What the heap does with memory that was freed.
#ifndef CAIRN_BASE_HEAP_H_
#define CAIRN_BASE_HEAP_H_

namespace cairn {

// From now on large allocations go back to the system when they are freed, and of smaller ones each
// thread keeps little. glibc begins so, but each large allocation that is freed, as in opening a
// model, makes it keep twice as much, up to 64 MiB for each thread: a server that runs for days
// grows by what each of its threads once needed for a moment. Costs a few dozen microseconds for
// each large allocation. Where another heap is at work, nothing happens. Thread-safe; call early.
void ReturnFreedMemory();

}  // namespace cairn

#endif  // CAIRN_BASE_HEAP_H_
