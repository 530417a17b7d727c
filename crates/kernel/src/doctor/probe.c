/* Requirements of User-mode Linux on a host: memory mapped from a file, executable; a child that is traced and whose system calls are caught.
   Exit code 0: all of it; 1: no tracing; 2: no such memory; 3: the folder cannot be written. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PTRACE_SYSEMU
#define PTRACE_SYSEMU 31
#endif

int main(int argc, char **argv)
{
	char name[4096];
	int file, status, caught;
	pid_t child;

	snprintf(name, sizeof(name), "%s/memory", argc > 1 ? argv[1] : ".");
	file = open(name, O_CREAT | O_RDWR | O_EXCL, 0700);
	if (file < 0 || ftruncate(file, 4096) < 0)
		return 3;
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, file, 0) == MAP_FAILED)
		return 2;
	child = fork();
	if (child < 0)
		return 1;
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return 1;
	/* The child's next system call, to end, is caught instead of done. */
	caught = ptrace(PTRACE_SYSEMU, child, 0, 0) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return !caught;
}
