#pragma once

namespace millrace::test {

/// From the first call on, what this thread and the processes and threads that it starts mount is seen by them alone
/// and goes when they have ended, even after a crash. Where that needs rights that are missing it changes nothing.
void keep_mounts_private();

}  // namespace millrace::test
