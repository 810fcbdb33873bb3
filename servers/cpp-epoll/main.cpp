// The master: loads the accounts, listens, starts the workers, and starts anew one that ends.
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "worker.hpp"

#define QUOTED(number) #number
#define DOTTED(major, minor, patch) QUOTED(major) "." QUOTED(minor) "." QUOTED(patch)
#define HTTP_PARSER DOTTED(HTTP_PARSER_VERSION_MAJOR, HTTP_PARSER_VERSION_MINOR, HTTP_PARSER_VERSION_PATCH)
#define RECEIPT "g++ " __VERSION__ ", libpq %d.%d, http-parser " HTTP_PARSER ", RapidJSON " RAPIDJSON_VERSION_STRING "\n"

static std::string text(const char* variable) { return std::getenv(variable) ? std::getenv(variable) : ""; }
static std::size_t number(const char* variable) { return std::strtoul(text(variable).c_str(), nullptr, 10); }

/// Waits for the database.
static Accounts load_accounts(const char* url) {
    constexpr auto kSql =
        "SELECT account_id, name, email, plan, currency, balance_cents, active, created_at, region, note FROM accounts";
    for (;; usleep(500'000)) {
        const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url), PQfinish);
        Accounts accounts{PQexecParams(connection.get(), kSql, 0, nullptr, nullptr, nullptr, nullptr, 1), {}};
        for (int row = 0; row < PQntuples(accounts.rows); ++row) accounts.places.emplace(PQgetvalue(accounts.rows, row, 0), row);
        if (PQresultStatus(accounts.rows) == PGRES_TUPLES_OK) return accounts;
        std::fprintf(stderr, "loading `accounts`: %s", PQerrorMessage(connection.get()));
    }
}

/// Each worker has its own, and the kernel shares the clients out among them.
static int make_listener() {
    const sockaddr_in address{AF_INET, htons(static_cast<std::uint16_t>(number("PORT"))), {inet_addr(text("HOST").c_str())}, {}};
    const int file = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    for (const int option : {SO_REUSEADDR, SO_REUSEPORT}) setsockopt(file, SOL_SOCKET, option, &on, sizeof on);
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // the clients' sockets inherit it
    if (bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(file, 4096) == 0) return file;
    err(1, "listening");
}

int main(int count, char**) {
    if (count > 1) return std::printf(RECEIPT, PQlibVersion() / 10000, PQlibVersion() % 10000) < 0;
    if (rlimit files; getrlimit(RLIMIT_NOFILE, &files) == 0) files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);
    const auto size = std::max(number("POOL_SIZE"), 1ul), workers = std::clamp(number("WORKERS"), 1ul, size);
    Settings settings{.url = text("DATABASE_URL"), .prepared = text("PREPARED") != "off", .size = size, .wait = {}};
    if (!text("POOL_WAIT_MS").empty()) settings.wait = std::chrono::milliseconds(number("POOL_WAIT_MS"));
    const auto accounts = load_accounts(settings.url.c_str());
    std::vector<int> listeners(workers);
    std::ranges::generate(listeners, make_listener);

    std::vector<pid_t> pids(workers, 0);
    for (pid_t ended = 0;; ended = wait(nullptr), usleep(100'000))  // 0: not yet started
        for (std::size_t place = 0; place < workers; ++place)
            if (pids[place] == ended && (pids[place] = fork()) == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);  // the workers end with the master
                settings.size = size / workers + (place < size % workers);
                Worker(listeners[place], settings, accounts).run();
            }
}
