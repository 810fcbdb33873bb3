/* Counts what a process does under QEMU's user mode: instructions, and system calls by number. Those that found nothing and
   did not wait (EAGAIN) are counted once more, apart, and so are those that started no program.

   Each process has a file of its own, which others map and read while it runs. Threads have slots of their own in it: QEMU's
   inline addition is three instructions, and what one thread adds between another's load and store would be lost. A process
   that forks gives its child a new file, at the same address. The numbers only grow. Where it is asked for by `where=on`, the
   instructions of each block stand in a second file by the block's address.

   QEMU's header is in no package of the distributions. What it declares of the few functions that are used stands here. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
typedef void (*translated_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_t)(unsigned vcpu, void *data);
typedef void (*called_t)(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t);
typedef void (*returned_t)(qemu_plugin_id_t, unsigned vcpu, int64_t number, int64_t result);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed_t, int flags, void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, called_t);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t, returned_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_API;

#define CALLS 1024
#define SLOTS 4096
/* host/emulation/reading.py reads it. */
static struct counts {
    uint64_t calls[CALLS];
    uint64_t empty[CALLS];
    uint64_t instructions[SLOTS];
} *counts;
#define BLOCKS (1 << 20)
/* The first takes the instructions of all blocks that found no place. */
static struct block {
    uint64_t address, instructions;
} *blocks;
/* What one translation of a block adds, and where. */
struct adding {
    struct block *to;
    uint64_t instructions;
};
static char folder[4000];
static int where;

/* A new file of this process, mapped anywhere. NULL: there is none. */
static void *open_file(const char *kind, size_t size) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%d.%s", folder, (int)getpid(), kind);
    int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, (off_t)size)) return NULL;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return at == MAP_FAILED ? NULL : at;
}

/* Moves a mapping to where another is, or leaves it where it is if there is none. */
static void *moved(void *from, void *to, size_t size) {
    return to ? mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) : from;
}

static int open_blocks(void) {
    struct block *own = open_file("blocks", BLOCKS * sizeof *own);
    if (!own) return -1;
    for (size_t i = 0; blocks && i < BLOCKS; i++) /* what is translated already adds to the places of old */
        if (blocks[i].address) own[i].address = blocks[i].address;
    own = moved(own, blocks, BLOCKS * sizeof *own);
    if (own == MAP_FAILED) return -1;
    blocks = own;
    return 0;
}

static int open_counts(void) {
    struct counts *own = open_file("counts", sizeof *own);
    if (!own || (own = moved(own, counts, sizeof *own)) == MAP_FAILED) return -1;
    counts = own;
    return where ? open_blocks() : 0;
}

/* A child that cannot have its own file must not add to its parent's: its numbers would be lost, so it ends. */
static void on_fork(void) {
    if (open_counts()) _exit(70);
}

static void on_executed(unsigned vcpu, void *instructions) { counts->instructions[vcpu % SLOTS] += (uintptr_t)instructions; }

static void on_executed_somewhere(unsigned vcpu, void *data) {
    const struct adding *adding = data;
    counts->instructions[vcpu % SLOTS] += adding->instructions;
    __atomic_fetch_add(&adding->to->instructions, adding->instructions, __ATOMIC_RELAXED);
}

/* The place of an address. Threads may look for one at once. */
static struct block *place_of(uint64_t address) {
    size_t at = (address * 0x9e3779b97f4a7c15u) >> 44;
    for (int tried = 0; address && tried < 256; tried++, at++) {
        struct block *place = &blocks[1 + at % (BLOCKS - 1)];
        uint64_t empty = 0;
        if (__atomic_compare_exchange_n(&place->address, &empty, address, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            empty == address)
            return place;
    }
    return blocks;
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    struct adding *adding = where ? malloc(sizeof *adding) : NULL;
    if (adding) {
        *adding = (struct adding){place_of(qemu_plugin_tb_vaddr(block)), qemu_plugin_tb_n_insns(block)};
        qemu_plugin_register_vcpu_tb_exec_cb(block, on_executed_somewhere, 0, adding);
        return;
    }
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_executed, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

static void on_call(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                    uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
    (void)id, (void)vcpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number >= 0 && number < CALLS) __atomic_fetch_add(&counts->calls[number], 1, __ATOMIC_RELAXED);
}

static void on_return(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result) {
    (void)id, (void)vcpu;
    int unstarted = result < 0 && (number == SYS_execve || number == SYS_execveat);
    if ((result == -EAGAIN || unstarted) && number >= 0 && number < CALLS)
        __atomic_fetch_add(&counts->empty[number], 1, __ATOMIC_RELAXED);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                                               char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "folder=", 7)) snprintf(folder, sizeof folder, "%s", argv[i] + 7);
        else if (!strcmp(argv[i], "where=on")) where = 1;
    if (!folder[0] || open_counts() || pthread_atfork(NULL, NULL, on_fork)) return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
    qemu_plugin_register_vcpu_syscall_cb(id, on_call);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, on_return);
    return 0;
}
