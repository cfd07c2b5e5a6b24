// Small kernels for the tests of the API; compiled by clang for gfx950 when the tests start.
#define ID (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())

__global uint counter = 7;

__kernel void store(__global uint* to, uint value) {
  if (ID == 0) *to = value;
}

__kernel void add_one(__global uint* to, __global const uint* from, uint count) {
  if (ID < count) to[ID] = from[ID] + 1;
}

__kernel void mixed(uchar a, ulong b, ushort c, __global ulong* to) {
  if (ID == 0) *to = a + b + c;
}

__kernel void bump() {
  if (ID == 0) counter += 1;
}

// Runs for `turns` turns of a loop that the compiler cannot shorten.
__kernel void spin(__global uint* to, uint turns) {
  uint x = ID;
  for (uint i = 0; i < turns; i++) {
    x = x * 1664525 + 1013904223;
    __asm__ volatile("" : "+v"(x));
  }
  if (ID == 0) *to = x | 1;
}

__attribute__((reqd_work_group_size(64, 1, 1))) __kernel void one_wave(__global uint* to) { to[ID] = 1; }

__kernel void with_lds(__global uint* to) {
  __local uint tile[16384];
  tile[ID] = ID;
  __builtin_amdgcn_s_barrier();
  to[ID] = tile[63 - ID];
}
