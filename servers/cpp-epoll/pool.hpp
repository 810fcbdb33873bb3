// A worker's share of the connections, and the queries that wait for one.
#pragma once

#include "connection.hpp"

struct Pool {
    Pool(int epoll, const Settings& settings) : wait_(settings.wait) {
        while (connections_.size() < settings.size) connections_.emplace_back(epoll, settings);
    }

    /// Sends the query or lets it wait for a connection; false: it can do neither.
    bool ask(Query& query) {
        if (waiting_.empty() && send(query)) return true;
        if (all(Connection::kDown) || wait_ == 0s) return false;
        query.until = wait_ ? Clock::now() + *wait_ : Clock::time_point::max();
        return waiting_.push_back(&query), true;
    }

    /// Once in each turn of the loop. Returns how many milliseconds it may wait for events; -1: as long as there are none.
    int turn() {
        const auto now = Clock::now();
        while (!waiting_.empty()) {
            auto& query = *waiting_.front();
            const bool over = query.until <= now || all(Connection::kDown);
            if (!over && !send(query)) break;
            waiting_.pop_front();
            if (over) query.on_outcome(kBusy, nullptr);
        }
        for (auto& connection : connections_) connection.turn(now);
        return all(Connection::kOpen) && (waiting_.empty() || !wait_) ? -1 : 1;
    }

  private:
    bool all(int state) const { return std::ranges::count(connections_, state, &Connection::state) == std::ssize(connections_); }

    /// By a connection on which such queries are under way, else by an idle one: many on few cost the database less than few on
    /// many. Where waits are limited, a connection has one query at a time, since a query behind another one waits for it.
    bool send(Query& query) {
        Connection* chosen = nullptr;
        for (auto& one : connections_)
            if (one.takes(query.statement) && (one.idle() ? !chosen : !wait_ && (!chosen || chosen->idle()))) chosen = &one;
        if (chosen) chosen->send(query);
        return chosen;
    }

    const std::optional<Clock::duration> wait_;
    std::deque<Connection> connections_;
    std::deque<Query*> waiting_;
};
