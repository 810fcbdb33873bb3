// One event loop: the clients' sockets and the connections to the database.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "pool.hpp"
#include "routes.hpp"

/// The loop, which has the events of the listener itself, and what its clients share.
struct Worker : Source {
    Worker(int file, const Settings& settings, const Accounts& loaded) : listener(file), routes(loaded), pool(epoll, settings) {}

    [[noreturn]] void run() {
        watch(epoll, listener, EPOLLIN | EPOLLET);
        for (epoll_event events[512];; closed.clear()) {
            const int count = epoll_wait(epoll, events, 512, pool.turn());
            for (int i = 0; i < count; ++i) static_cast<Source*>(events[i].data.ptr)->on_event(events[i].events);
        }
    }

    void on_event(unsigned) override;

    const int epoll = epoll_create1(EPOLL_CLOEXEC), listener;
    Routes routes;
    Pool pool;
    std::string input = std::string(64 << 10, '\0');
    std::vector<std::unique_ptr<Source>> closed;  // freed after the turn, whose events may name them
};

/// A client's socket, and the one query that it can have under way: pipelined requests are handled one after the other.
struct Client : Source, private Query {
    Client(Worker& worker, int socket) : worker_(worker), socket_(socket) {}

    void on_event(unsigned events) override {
        if (socket_ < 0) return;
        if (events & (EPOLLERR | EPOLLHUP)) return close();
        readable_ |= (events & EPOLLIN) != 0;
        ended_ |= (events & EPOLLRDHUP) != 0;
        advance();
    }

  private:
    void on_outcome(Outcome outcome, const PGresult* rows) override {
        waiting_ = false;
        if (socket_ < 0) return static_cast<void>(worker_.closed.emplace_back(this));
        write_answer(unsent_, request_, worker_.routes.answer(*this, outcome, rows));
        advance();
    }

    /// Handles what is unread, answers in one write, reads more: until there is no more or something has to be waited for.
    void advance() {
        for (;;) {
            std::size_t used = 0;
            while (!waiting_ && request_.keep_alive && handle(std::string_view(unread_).substr(used))) used += request_.size;
            unread_.erase(0, used);
            if (!unsent_.empty()) send();
            if (socket_ < 0 || waiting_ || !readable_ || !unsent_.empty()) return;
            const auto got = recv(socket_, worker_.input.data(), worker_.input.size(), 0);
            if (got == 0 || (got < 0 && errno != EAGAIN)) return close();
            readable_ = got == std::ssize(worker_.input) || ended_;  // less than fits is all there is
            unread_.append(worker_.input, 0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        }
    }

    /// The request at the start of `bytes`; false: there is none.
    bool handle(std::string_view bytes) {
        request_ = read_request(bytes);
        if (request_.size == 0) return false;
        auto answer = worker_.routes.answer(request_, *this);
        if (!answer && !(waiting_ = worker_.pool.ask(*this))) answer = worker_.routes.answer(*this, kBusy, nullptr);
        if (answer) write_answer(unsent_, request_, *answer);
        return true;
    }

    void send() {
        const auto sent = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return close();
        unsent_.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
        if (unsent_.empty() && !waiting_ && !request_.keep_alive) close();
    }

    /// What else has arrived is read first, because the kernel resets a connection that is closed over unread bytes.
    void close() {
        while (readable_ && recv(socket_, worker_.input.data(), worker_.input.size(), 0) > 0) continue;
        ::close(std::exchange(socket_, -1));
        until = {};  // if its query still waits, that need not be asked
        if (!waiting_) worker_.closed.emplace_back(this);
    }

    Worker& worker_;
    int socket_;                             // -1 once closed; the object lives on while its query is under way
    bool readable_ = false, ended_ = false;  // there may be something to read; nothing comes after it
    bool waiting_ = false;                   // for the database
    Request request_;                        // the last one handled
    std::string unread_, unsent_;
};

/// New clients. Edge-triggered: when file descriptors run out, the loop waits for the next client and does not spin.
inline void Worker::on_event(unsigned) {
    for (int socket; (socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
        (new Client(*this, socket))->watch(epoll, socket, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}
