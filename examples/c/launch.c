/* Launches one variant from C, with docs/manifest.md and HIP's C interface and nothing else, and compares it with plain attention.

   python3 examples/c/make_header.py prebuilt/gfx950 paged_prefill_d192_v128_p64_vectorized_5d_longest_first > variant.h
   cc -std=c11 -O2 -I. examples/c/launch.c -ldl -lm -o launch
   LD_LIBRARY_PATH=emulator/build/rocm/lib ./launch         (on a node with ROCm: LD_LIBRARY_PATH=/opt/rocm/lib) */
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variant.h"

/* --- the part of HIP that is needed; without its headers, so that this compiles on any machine --- */

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };
static void *const BUFFER_POINTER = (void *)1, *const BUFFER_SIZE = (void *)2, *const END = (void *)3;

static int (*hipMalloc)(void **, size_t);
static int (*hipMemcpy)(void *, const void *, size_t, int kind);
static int (*hipModuleLoadData)(void **module, const void *image);
static int (*hipModuleGetFunction)(void **function, void *module, const char *name);
static int (*hipModuleLaunchKernel)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned lds, void *stream,
                                    void **params, void **extra);
static int (*hipDeviceSynchronize)(void);
static const char *(*hipGetErrorString)(int);

static void stop(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void check(const char *what, int error) {
  if (error) stop(what, hipGetErrorString(error));
}

static void find(void *library, const char *name, void *pointer) {
  void *symbol = dlsym(library, name);
  if (!symbol) stop(name, dlerror());
  memcpy(pointer, &symbol, sizeof symbol);
}

static void open_hip(void) {
  void *library = dlopen("libamdhip64.so", RTLD_NOW);
  if (!library) stop("libamdhip64.so", dlerror());
  find(library, "hipMalloc", &hipMalloc);
  find(library, "hipMemcpy", &hipMemcpy);
  find(library, "hipModuleLoadData", &hipModuleLoadData);
  find(library, "hipModuleGetFunction", &hipModuleGetFunction);
  find(library, "hipModuleLaunchKernel", &hipModuleLaunchKernel);
  find(library, "hipDeviceSynchronize", &hipDeviceSynchronize);
  find(library, "hipGetErrorString", &hipGetErrorString);
}

static void *on_device(const void *data, size_t bytes) {
  void *device;
  check("hipMalloc", hipMalloc(&device, bytes));
  check("hipMemcpy", hipMemcpy(device, data, bytes, HOST_TO_DEVICE));
  return device;
}

/* --- the problem: two sequences, four query heads on two KV heads, pages in disorder --- */

enum { BATCH = 2, HQ = 4, HKV = 2, MAX_KEYS = 150, MAX_NEW = 40, ROWS = MAX_NEW + 3 };
enum { PAGES_EACH = (MAX_KEYS + PAGE_SIZE - 1) / PAGE_SIZE, PAGES = BATCH * PAGES_EACH + 1 };
static const int32_t first_row[BATCH + 1] = {0, MAX_NEW, ROWS}, keys[BATCH] = {MAX_KEYS, 77};
static const float descale_q = 0.5f, descale_k = 1.5f, descale_v = 2.0f;

static uint8_t q[ROWS][HQ][HEAD_DIM];
static uint8_t k[PAGES][HKV][HEAD_DIM * PAGE_SIZE], v[PAGES][HKV][PAGE_SIZE * V_HEAD_DIM];
static uint16_t out[ROWS][HQ][V_HEAD_DIM];
static float lse[HQ][ROWS];
static int32_t table[BATCH][PAGES_EACH];

/* where an element of a page and head is: k is [D/16][page][16] and v [page/16][Dv][16]; with pages of 1, both are plain */
static size_t k_at(int slot, int d) { return (size_t)(d / VECTOR * PAGE_SIZE + slot) * VECTOR + d % VECTOR; }
static size_t v_at(int slot, int d) { return (size_t)(slot / VECTOR * V_HEAD_DIM + d) * VECTOR + slot % VECTOR; }

static double fp8(uint8_t byte) { /* float8_e4m3fn, but for its NaN */
  int exponent = byte >> 3 & 15, mantissa = byte & 7;
  double value = exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
  return byte & 0x80 ? -value : value;
}

static double bf16(uint16_t half) {
  uint32_t word = (uint32_t)half << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static uint32_t seed = 950;
static uint8_t some_fp8(void) { /* 1/32 to 1.9, of either sign */
  seed = seed * 1664525u + 1013904223u;
  return (uint8_t)((seed >> 31 << 7) | (2 + (seed >> 20) % 6) << 3 | (seed >> 8 & 7));
}

static void make_problem(void) {
  for (size_t i = 0; i < sizeof q; i++) (&q[0][0][0])[i] = some_fp8();
  memset(k, 0x7f, sizeof k); /* NaN wherever no key is */
  memset(v, 0x7f, sizeof v);
  for (int b = 0; b < BATCH; b++)
    for (int i = 0; i < PAGES_EACH; i++) table[b][i] = PAGES - 1 - (i * BATCH + b);
  for (int b = 0; b < BATCH; b++)
    for (int j = 0; j < keys[b]; j++)
      for (int h = 0; h < HKV; h++) {
        int page = table[b][j / PAGE_SIZE], slot = j % PAGE_SIZE;
        for (int d = 0; d < HEAD_DIM; d++) k[page][h][k_at(slot, d)] = some_fp8();
        for (int d = 0; d < V_HEAD_DIM; d++) v[page][h][v_at(slot, d)] = some_fp8();
      }
}

/* --- the launch --- */

static uint8_t segment[KERNARG_BYTES];
#define SET(name, type, value) do { type given = (value); memcpy(segment + AT_##name, &given, sizeof given); } while (0)

static void *load_kernel(void) {
  static uint8_t image[OBJECT_BYTES];
  FILE *file = fopen(OBJECT_FILE, "rb");
  if (!file || fread(image, 1, sizeof image, file) != sizeof image) stop(OBJECT_FILE, "not there, or too short");
  fclose(file);
  void *module, *function;
  check("hipModuleLoadData", hipModuleLoadData(&module, image)); /* refuses a device of another architecture */
  check("hipModuleGetFunction", hipModuleGetFunction(&function, module, SYMBOL));
  return function;
}

static void launch(void *function, void *device_out, void *device_lse) {
  SET(q, void *, on_device(q, sizeof q));
  SET(k_cache, void *, on_device(k, sizeof k));
  SET(v_cache, void *, on_device(v, sizeof v));
  SET(out, void *, device_out);
  SET(lse, void *, device_lse);
  SET(cu_seqlens_q, void *, on_device(first_row, sizeof first_row));
  SET(seqlens_k, void *, on_device(keys, sizeof keys));
  SET(block_table, void *, on_device(table, sizeof table));
  /* kv_indptr, kv_page_indices, kv_last_page_lens and the three descale pointers stay null */
  SET(q_row_stride, int64_t, sizeof q[0]);
  SET(q_head_stride, int64_t, sizeof q[0][0]);
  SET(k_page_stride, int64_t, sizeof k[0]);
  SET(k_head_stride, int64_t, sizeof k[0][0]);
  SET(v_page_stride, int64_t, sizeof v[0]);
  SET(v_head_stride, int64_t, sizeof v[0][0]);
  SET(out_row_stride, int64_t, sizeof out[0]);
  SET(out_head_stride, int64_t, sizeof out[0][0]);
  SET(lse_head_stride, int64_t, ROWS);
  SET(block_table_row_stride, int64_t, PAGES_EACH);
  SET(softmax_scale, float, 1 / sqrtf(HEAD_DIM));
  SET(q_descale_value, float, descale_q);
  SET(k_descale_value, float, descale_k);
  SET(v_descale_value, float, descale_v);
  SET(batch, int32_t, BATCH);
  SET(total_q, int32_t, ROWS);
  SET(num_q_heads, int32_t, HQ);
  SET(num_kv_heads, int32_t, HKV);
  SET(max_seqlen_q, int32_t, MAX_NEW);
  SET(page_id_bytes, int32_t, 4);

  const struct quantities n = {BATCH, ROWS, MAX_NEW, MAX_KEYS, HQ, HKV, QUERY_ROWS_PER_WORKGROUP};
  size_t size = sizeof segment;
  void *extra[] = {BUFFER_POINTER, segment, BUFFER_SIZE, &size, END};
  check("hipModuleLaunchKernel", hipModuleLaunchKernel(function, grid_x(&n), grid_y(&n), grid_z(&n), block[0], block[1], block[2], 0, NULL,
                                                       NULL, extra));
  check("the kernel", hipDeviceSynchronize());
}

/* --- the comparison --- */

/* Weights are rounded to the 4 significant bits of FP8 (half a unit: 1/16) before they are summed and before they meet V,
   the result to the 8 of bf16. */
static const double ROUNDED_WEIGHT = 1.0 / 15;
static double worst_lse, worst_out; /* in units of what that allows */

static void compare_row(int b, int row, int h) {
  static double weight[MAX_KEYS];
  const int group = h / (HQ / HKV), i = row - first_row[b], new_tokens = first_row[b + 1] - first_row[b];
  const int visible = i + keys[b] - new_tokens + 1;
  double top = -INFINITY, sum = 0;
  for (int j = 0; j < visible; j++) {
    const uint8_t *page = k[table[b][j / PAGE_SIZE]][group];
    double dot = 0;
    for (int d = 0; d < HEAD_DIM; d++) dot += fp8(q[row][h][d]) * fp8(page[k_at(j % PAGE_SIZE, d)]);
    weight[j] = dot * descale_q * descale_k / sqrt(HEAD_DIM);
    top = fmax(top, weight[j]);
  }
  for (int j = 0; j < visible; j++) sum += weight[j] = exp(weight[j] - top);
  double lse_error = fabs(lse[h][row] - (top + log(sum)));
  worst_lse = fmax(worst_lse, lse_error <= ROUNDED_WEIGHT ? lse_error / ROUNDED_WEIGHT : INFINITY); /* NaN is too far off */
  for (int d = 0; d < V_HEAD_DIM; d++) {
    double expected = 0, absolute = 0;
    for (int j = 0; j < visible; j++) {
      double value = fp8(v[table[b][j / PAGE_SIZE]][group][v_at(j % PAGE_SIZE, d)]) * descale_v;
      expected += weight[j] / sum * value;
      absolute += weight[j] / sum * fabs(value);
    }
    double allowed = ROUNDED_WEIGHT * (absolute + fabs(expected)) + ldexp(fabs(expected), -8) + 1e-3;
    double error = fabs(bf16(out[row][h][d]) - expected);
    worst_out = fmax(worst_out, error <= allowed ? error / allowed : INFINITY);
  }
}

int main(void) {
  open_hip();
  make_problem();
  memset(out, 0xff, sizeof out); /* NaN: every element must be written */
  memset(lse, 0xff, sizeof lse);
  void *device_out = on_device(out, sizeof out), *device_lse = on_device(lse, sizeof lse);
  launch(load_kernel(), device_out, device_lse);
  check("hipMemcpy", hipMemcpy(out, device_out, sizeof out, DEVICE_TO_HOST));
  check("hipMemcpy", hipMemcpy(lse, device_lse, sizeof lse, DEVICE_TO_HOST));
  for (int b = 0; b < BATCH; b++)
    for (int row = first_row[b]; row < first_row[b + 1]; row++)
      for (int h = 0; h < HQ; h++) compare_row(b, row, h);
  printf("%s: largest error %.3f of what rounding allows, lse %.3f\n", SYMBOL, worst_out, worst_lse);
  return worst_out < 1 && worst_lse < 1 ? 0 : 1;
}
