// What a block of one thread of a GPU is on a processor, so that the same program runs there.

#include <climits>
#include <cmath>
#include <cstring>

#define __device__
#define __global__
#define __shared__ static

struct Index { int x; };
static const Index threadIdx = {0}, blockIdx = {0}, blockDim = {1}, gridDim = {1};

static void __syncthreads() {}
static int __syncthreads_or(int value) { return value; }
template <class T> static T atomicAdd(T *to, T value) { T old = *to; *to += value; return old; }
template <class T> static void atomicOr(T *to, T value) { *to |= value; }
template <class T> static void atomicMin(T *to, T value) { *to = value < *to ? value : *to; }
template <class T> static void atomicMax(T *to, T value) { *to = value > *to ? value : *to; }
static unsigned long long AS_WHOLE(double value) {
    unsigned long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
using std::frexp; using std::ldexp;
