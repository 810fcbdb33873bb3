// What is asked of the database, and what comes of it.
#pragma once

#include <libpq-fe.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

using Clock = std::chrono::steady_clock;
using Values = std::array<std::int32_t, 4>;
using namespace std::chrono_literals;

/// Those from `kBegin` on are a transfer's.
enum Statement { kReady, kPing, kTime, kUsers, kTx, kBegin, kDebit, kCredit, kCommit, kRollback };

struct Text { const char *name, *sql; int parameters = 0; };

constexpr Text kTexts[] = {
    {"ready", "SELECT 1"},
    {"ping", "SELECT json_build_object('ok', true, 'message', 'OK')::text"},
    {"time", "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"},
    {"users", "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id"},
    {"tx", "SELECT pgbench_tx($1, $2, $3, $4)", 4},
    {"begin", "BEGIN"},
    {"debit", "UPDATE web_users SET credits = credits - $1 WHERE id = $2", 2},
    {"credit", "UPDATE web_users SET credits = credits + $1 WHERE id = $2", 2},
    {"commit", "COMMIT"},
    {"rollback", "ROLLBACK"},
};

/// Ordered by how bad they are; the numbers are those of HTTP.
enum Outcome { kDone = 200, kMissing = 404, kFailed = 500, kBusy = 503 };

/// `size` counts connections; without `wait` there is no limit on the wait for one.
struct Settings { std::string url; bool prepared; std::size_t size; std::optional<Clock::duration> wait; };

/// What a request asks. `kBegin` asks for a whole transfer; its values are from, to and amount.
struct Query {
    virtual void on_outcome(Outcome outcome, const PGresult* rows) = 0;

    Statement statement = kReady;
    Values values{};
    Clock::time_point until{};  // the end of its wait for a connection
};
