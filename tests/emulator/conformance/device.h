// What the device-only kernels share: address spaces, vectors, the kernel's attributes, the work-item's number. C for clang, no libraries.
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3)))
#define LDS static __attribute__((address_space(3), loader_uninitialized))
#define KERNEL_OF(least, most) __attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(least, most), visibility("protected"))) void
#define VECTOR(type, n) type __attribute__((ext_vector_type(n)))

static inline unsigned id(void) { return __builtin_amdgcn_workitem_id_x(); }
