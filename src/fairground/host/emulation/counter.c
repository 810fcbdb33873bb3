/* Counts what a process does under QEMU's user mode: instructions, and system calls by number.

   Each process has a file of its own, which others map and read while it runs. Threads have slots of their own in it: QEMU's
   inline addition is three instructions, and what one thread adds between another's load and store would be lost. A process
   that forks gives its child a new file, at the same address. The numbers only grow.

   QEMU's header is in no package of the distributions. What it declares of the few functions that are used stands here. */

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
typedef void (*translated_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_t)(unsigned vcpu, void *data);
typedef void (*called_t)(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed_t, int flags, void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, called_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_API;

#define CALLS 1024
#define SLOTS 4096
/* host/emulation/reading.py reads it. */
static struct counts {
    uint64_t calls[CALLS];
    uint64_t instructions[SLOTS];
} *counts;
static char folder[4000];

static int open_counts(void) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%d.counts", folder, (int)getpid());
    int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *counts)) return -1;
    void *at = mmap(counts, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | (counts ? MAP_FIXED : 0), file, 0);
    close(file);
    if (at == MAP_FAILED) return -1;
    counts = at;
    return 0;
}

/* A child that cannot have its own file must not add to its parent's: its numbers would be lost, so it ends. */
static void on_fork(void) {
    if (open_counts()) _exit(70);
}

static void on_executed(unsigned vcpu, void *instructions) { counts->instructions[vcpu % SLOTS] += (uintptr_t)instructions; }

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_executed, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

static void on_call(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                    uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
    (void)id, (void)vcpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number >= 0 && number < CALLS) __atomic_fetch_add(&counts->calls[number], 1, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                                               char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "folder=", 7)) snprintf(folder, sizeof folder, "%s", argv[i] + 7);
    if (!folder[0] || open_counts() || pthread_atfork(NULL, NULL, on_fork)) return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
    qemu_plugin_register_vcpu_syscall_cb(id, on_call);
    return 0;
}
