// What epoll has events for: a listener, a client, a connection to the database.
#pragma once

#include <sys/epoll.h>

struct Source {
    virtual ~Source() = default;
    virtual void on_event(unsigned events) = 0;

    /// Asks for the events of `file`, whether or not that was done before.
    void watch(int epoll, int file, unsigned events) {
        epoll_event event{.events = events, .data = {.ptr = this}};
        if (epoll_ctl(epoll, EPOLL_CTL_MOD, file, &event) != 0) epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event);
    }
};
