// One connection to the database: libpq in pipeline mode, with a Sync after each request.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "query.hpp"
#include "source.hpp"

struct Connection : Source {
    enum State { kDown, kOpening, kOpen };

    Connection(int epoll, const Settings& settings) : epoll_(epoll), settings_(settings) {}

    State state() const { return state_; }
    bool idle() const { return queries_.empty(); }

    /// Whether `next` may be sent now. Reads may follow reads that are under way, and calls of `tx` each other, but not too
    /// many; a transfer, which comes to a stop between its statements, has the connection to itself.
    bool takes(Statement next) const {
        if (state_ != kOpen || broken_ || idle()) return state_ == kOpen && !broken_;
        const auto last = queries_.back() ? queries_.back()->statement : kReady;
        return std::max(next, last) < kBegin && (next == kTx) == (last == kTx) && queries_.size() < (last == kTx ? 8u : 16u);
    }

    void send(Query& query) {
        const auto [from, to, amount, _] = query.values;
        put(query.statement, query.values);
        if (query.statement == kBegin) put(kDebit, {amount, from}), put(kCredit, {amount, to});
        sync();
        queries_.push_back(&query);
    }

    /// Once in each turn of the loop: writes, opens what is down, and gives up what is broken or does not open.
    void turn(Clock::time_point now) {
        broken_ |= state_ == kOpen ? PQflush(connection_) < 0 : state_ == kOpening && patience_ < now;
        if (broken_) fail(now);
        if (state_ != kDown || now < patience_) return;
        connection_ = PQconnectStart(settings_.url.c_str());
        broken_ = PQstatus(connection_) == CONNECTION_BAD;
        state_ = kOpening;
        patience_ = now + 5s;
        watch(epoll_, PQsocket(connection_), EPOLLOUT);
    }

    void on_event(unsigned) override {
        if (state_ == kOpening) return open();
        broken_ |= !PQconsumeInput(connection_);
        while (!idle() && PQstatus(connection_) == CONNECTION_OK && !PQisBusy(connection_))
            if (auto* result = PQgetResult(connection_)) take(result);  // nullptr ends the results of one statement
    }

  private:
    void open() {
        const auto next = PQconnectPoll(connection_);
        watch(epoll_, PQsocket(connection_), next == PGRES_POLLING_WRITING ? EPOLLOUT : EPOLLIN);
        broken_ |= next == PGRES_POLLING_FAILED;
        if (next != PGRES_POLLING_OK) return;
        state_ = kOpen;
        broken_ |= PQsetnonblocking(connection_, 1) != 0 || !PQenterPipelineMode(connection_);
        if (!settings_.prepared) return;
        for (const auto& text : kTexts) broken_ |= !PQsendPrepare(connection_, text.name, text.sql, 0, nullptr);
        sync();
        queries_.push_back(nullptr);
    }

    /// What was under way fails.
    void fail(Clock::time_point now) {
        if (!idle()) std::fputs(PQerrorMessage(connection_), stderr);
        PQclear(std::exchange(rows_, nullptr));
        PQfinish(connection_);
        state_ = kDown;
        patience_ = now + 100ms;
        broken_ = false;
        outcome_ = kDone;
        for (auto* query : std::exchange(queries_, {}))
            if (query) query->on_outcome(kFailed, nullptr);
    }

    /// Parameters as text, rows in binary form.
    void put(Statement statement, const Values& values) {
        const auto& [name, sql, count] = kTexts[statement];
        std::string texts[4];
        const char* places[4];
        for (int i = 0; i < count; ++i) places[i] = (texts[i] = std::to_string(values[i])).c_str();
        broken_ |= !(settings_.prepared ? PQsendQueryPrepared(connection_, name, count, places, nullptr, nullptr, 1)
                                        : PQsendQueryParams(connection_, sql, count, nullptr, places, nullptr, nullptr, 1));
    }

    void sync() {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC  // from libpq 17 on all that is asked in a turn leaves in one write
        broken_ |= !PQsendPipelineSync(connection_);
#else
        broken_ |= !PQpipelineSync(connection_);
#endif
    }

    void take(PGresult* result) {
        const auto status = PQresultStatus(result);
        if (status == PGRES_PIPELINE_SYNC) return PQclear(result), finish(queries_.front());
        if (status == PGRES_FATAL_ERROR) std::fputs(PQresultErrorMessage(result), stderr);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) outcome_ = kFailed;
        if (std::strcmp(PQcmdStatus(result), "UPDATE 0") == 0) outcome_ = std::max(outcome_, kMissing);
        PQclear(std::exchange(rows_, result));
    }

    /// The oldest query has come to its Sync. A transfer comes to two: after the first it is committed or rolled back.
    void finish(Query* query) {
        const auto end = outcome_ == kDone ? kCommit : kRollback;
        if (query && query->statement == kBegin) return put(query->statement = end, {}), sync();
        queries_.pop_front();
        auto* rows = std::exchange(rows_, nullptr);
        const auto outcome = std::exchange(outcome_, kDone);
        if (query) query->on_outcome(outcome, rows);
        else broken_ |= outcome != kDone;
        PQclear(rows);
    }

    const int epoll_;
    const Settings& settings_;
    PGconn* connection_ = nullptr;
    State state_ = kDown;
    bool broken_ = false;
    Clock::time_point patience_{};  // down: when to open it; opening: when to give up
    std::deque<Query*> queries_;    // under way, oldest first; nullptr: the statements being prepared
    Outcome outcome_ = kDone;       // of the oldest so far
    PGresult* rows_ = nullptr;      // and its last result
};
