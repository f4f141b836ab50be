// Which outputs keep a promise, for every pair of beliefs: `priste.worst_case_kernels`, all at once.
//
// A block of threads takes one output after the other. Rows are scaled as there; most outputs are
// decided by their extremes, and of the others only the pairs that can fail are looked at. Where
// rows cannot be compared in floating point, or a likelihood is too faint, the verdict is UNSURE.
//
// Compiled as C++ with blocks of one thread it is the same program on a processor: the tests do so.

#define FAILS 0
#define HOLDS 1
#define UNSURE 2
#define TILE 64

__device__ static void suspects(const double *p, const double *q, const double *beta,
                                const double *delta, double bound, const double *extremes, int n,
                                int *high, int *low, int *counts) {
    // the rows that can be i, and those that can be j, of a pair that fails
    for (int v = threadIdx.x; v < n; v += blockDim.x) {
        if (beta[v] > bound * p[v] * extremes[0] && beta[v] > bound * delta[v] * extremes[1])
            high[atomicAdd(counts, 1)] = v;
        if (bound * delta[v] < q[v] * extremes[2] && bound * p[v] < q[v] * extremes[3])
            low[atomicAdd(counts + 1, 1)] = v;
    }
}

__device__ static int pairs_hold(const double *p, const double *q, const double *beta,
                                 const double *delta, const double *roots, double bound,
                                 const int *few, int n_few, const int *many, int n_many) {
    // the pairs of `few` rows with `many`; without lists all pairs, each once
    __shared__ double tile[5][TILE];
    for (int start = 0; start < n_few; start += TILE) {
        int size = n_few - start < TILE ? n_few - start : TILE;
        __syncthreads();
        for (int k = threadIdx.x; k < size; k += blockDim.x) {
            int i = few ? few[start + k] : start + k;
            tile[0][k] = bound * delta[i];
            tile[1][k] = bound * p[i];
            tile[2][k] = beta[i];
            tile[3][k] = q[i];
            tile[4][k] = 2 * roots[i];
        }
        __syncthreads();
        int failing = 0;
        for (int m = (few ? 0 : start) + threadIdx.x; m < n_many; m += blockDim.x) {
            int j = many ? many[m] : m;
            double pj = p[j], qj = q[j], betaj = beta[j], deltaj = delta[j], rootj = roots[j];
            for (int k = 0; k < size; k++) {
                double slack = tile[0][k] * pj + tile[1][k] * deltaj - tile[2][k] * qj
                             - tile[3][k] * betaj + tile[4][k] * rootj;
                failing |= !(slack >= 0);
            }
        }
        if (__syncthreads_or(failing)) return 0;
    }
    return 1;
}

__device__ static int side_holds(const double *p, const double *q, const double *beta,
                                 const double *delta, const double *roots, double bound, int n,
                                 const int *high, int n_high, const int *low, int n_low) {
    if (2.0 * n_high * n_low > (double)n * n)
        return pairs_hold(p, q, beta, delta, roots, bound, 0, n, 0, n);
    if (n_high > n_low)
        return pairs_hold(p, q, beta, delta, roots, bound, low, n_low, high, n_high);
    return pairs_hold(p, q, beta, delta, roots, bound, high, n_high, low, n_low);
}

extern "C" __global__ void certify(const double *a, const double *not_a, const long long *exponents,
                                   const double *b, const double *d, int n, int outputs,
                                   double bound, int both, double *rows, int *lists,
                                   signed char *verdicts) {
    __shared__ double smallest[4], largest[4];  // of this side, of the other: see below
    __shared__ int counts[4], highest, lowest, flags;
    double *p = rows + (long long)blockIdx.x * 6 * n, *q = p + n, *beta = q + n, *delta = beta + n;
    double *roots = delta + n, *others = roots + n;
    int *high = lists + (long long)blockIdx.x * 4 * n, *low = high + n;
    int *other_high = low + n, *other_low = other_high + n;
    for (int o = blockIdx.x; o < outputs; o += gridDim.x) {
        const double *b_o = b + (long long)o * n, *d_o = d + (long long)o * n;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int k = 0; k < 4; k++) {
                counts[k] = 0;
                smallest[k] = INFINITY;
                largest[k] = 0;
            }
            highest = INT_MIN;
            lowest = INT_MAX;
            flags = 0;
        }
        __syncthreads();
        int unsure = 0, most = INT_MIN, least = INT_MAX;
        for (int v = threadIdx.x; v < n; v += blockDim.x) {
            double total = b_o[v] + d_o[v];
            unsure |= !(total >= 0) || (total > 0 && total < FAINTEST);
            unsure |= (a[v] > 0 && a[v] < LEAST) || (not_a[v] > 0 && not_a[v] < LEAST);
            unsure |= (b_o[v] > 0 && b_o[v] < LEAST * total) || (d_o[v] > 0 && d_o[v] < LEAST * total);
            if (total > 0) {
                int order;
                frexp(total, &order);
                order += (int)exponents[v];
                most = order > most ? order : most;
                least = order < least ? order : least;
            }
        }
        atomicMax(&highest, most);
        atomicMin(&lowest, least);
        if (unsure) atomicOr(&flags, 1);
        __syncthreads();
        if (flags || highest == INT_MIN || (long long)highest - lowest > SPREAD) {
            if (threadIdx.x == 0) verdicts[o] = UNSURE;
            continue;
        }
        int fails = 0;
        double small[4] = {INFINITY, INFINITY, INFINITY, INFINITY}, large[4] = {0, 0, 0, 0};
        for (int v = threadIdx.x; v < n; v += blockDim.x) {
            double total = b_o[v] + d_o[v], scale = 1, up = 0, down = 0;
            if (total > 0) {
                int order;
                double mantissa = frexp(total, &order);
                scale = sqrt(ldexp(mantissa, (int)exponents[v] + order - highest));
                up = scale * (b_o[v] / total);
                down = scale * (d_o[v] / total);
            }
            double in = a[v] / scale, out = not_a[v] / scale;
            double rise = out * up, fall = in * down;
            fails |= !(bound * fall >= rise) || (both && !(bound * rise >= fall));
            p[v] = in, q[v] = out, beta[v] = up, delta[v] = down;
            roots[v] = sqrt(fmax(bound * fall - rise, 0.0));
            others[v] = both ? sqrt(fmax(bound * rise - fall, 0.0)) : 0;
            if (out > 0) small[0] = fmin(small[0], down / out), small[1] = fmin(small[1], in / out);
            if (in > 0) small[2] = fmin(small[2], up / in), small[3] = fmin(small[3], out / in);
            if (up > 0) {
                large[0] = fmax(large[0], up / in);
                large[1] = fmax(large[1], down > 0 ? up / down : INFINITY);
            }
            if (down > 0) {
                large[2] = fmax(large[2], down / out);
                large[3] = fmax(large[3], up > 0 ? down / up : INFINITY);
            }
        }
        for (int k = 0; k < 4; k++) {  // doubles that are not negative are ordered as whole numbers
            atomicMin((unsigned long long *)&smallest[k], AS_WHOLE(small[k]));
            atomicMax((unsigned long long *)&largest[k], AS_WHOLE(large[k]));
        }
        if (fails) atomicOr(&flags, 1);
        __syncthreads();
        int holds = !flags;
        if (holds) {
            double nearly = bound * (1 - MARGIN);
            double one[4] = {smallest[0], smallest[1], largest[0], largest[1]};
            suspects(p, q, beta, delta, nearly, one, n, high, low, counts);
            if (both) {
                double other[4] = {smallest[2], smallest[3], largest[2], largest[3]};
                suspects(q, p, delta, beta, nearly, other, n, other_high, other_low, counts + 2);
            }
            __syncthreads();
            holds = side_holds(p, q, beta, delta, roots, bound, n, high, counts[0], low, counts[1]);
            if (holds && both)
                holds = side_holds(q, p, delta, beta, others, bound, n, other_high, counts[2],
                                   other_low, counts[3]);
        }
        if (threadIdx.x == 0) verdicts[o] = holds ? HOLDS : FAILS;
    }
}
