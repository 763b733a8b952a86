/* Stands in for the C library's clock: the wall clock of a program that loads it first is off by as many seconds as the
 * file HARNESS_CLOCK holds (an int64_t as the machine writes it), from one call to the next. Steady clocks stay as they are. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int file = -1;
    long result = syscall(SYS_clock_gettime, clock, now);
    if (result != 0 || clock != CLOCK_REALTIME) {
        return (int)result;
    }
    const char *path = getenv("HARNESS_CLOCK");
    if (file < 0 && path != NULL) {
        file = open(path, O_RDONLY | O_CLOEXEC);
    }
    int64_t offset = 0;
    if (pread(file, &offset, sizeof offset, 0) == sizeof offset) {
        now->tv_sec += offset;
    }
    return 0;
}
