#pragma once

namespace millrace::io {

/// The same work by different instructions of the processor, with the same results.
enum class VectorCode { plain, ssse3, avx2 };

/// The fastest that this machine can run. avx2 stands for BMI2 too.
inline VectorCode fastest_vector_code() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return VectorCode::avx2;
  if (__builtin_cpu_supports("ssse3")) return VectorCode::ssse3;
#endif
  return VectorCode::plain;
}

}  // namespace millrace::io
