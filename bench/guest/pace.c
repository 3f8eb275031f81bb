// SPDX-License-Identifier: GPL-2.0
/*
 * Wakes up every few microseconds. QEMU with -icount runs its vCPUs round-robin, each until the
 * next timer of the guest is due: frequent timers make the time slices short.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

int main(void)
{
	const struct timespec pause = { .tv_nsec = 5000 };

	if (prctl(PR_SET_TIMERSLACK, 1)) {
		perror("pace");
		return 1;
	}
	for (;;)
		nanosleep(&pause, NULL);
}
