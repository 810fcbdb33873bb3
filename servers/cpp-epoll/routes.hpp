// What each request comes to: an answer at once, or a query and then an answer.
#pragma once

#include <rapidjson/document.h>

#include <charconv>
#include <optional>
#include <span>
#include <unordered_map>

#include "http.hpp"
#include "query.hpp"
#include "records.hpp"

/// The rows of all accounts, and the place of each.
struct Accounts { PGresult* rows; std::unordered_map<std::string_view, int> places; };

/// Removes the encoding of a name or value; false: it is broken.
inline bool decode(std::string& text) {
    std::ranges::replace(text, '+', ' ');
    for (std::size_t at = 0; (at = text.find('%', at)) != text.npos; ++at) {
        const auto digits = std::string_view(text).substr(at + 1, 2);
        unsigned char byte = 0;
        if (digits.size() < 2 || std::from_chars(digits.begin(), digits.end(), byte, 16).ptr != digits.end()) return false;
        text.replace(at, 3, 1, static_cast<char>(byte));
    }
    return true;
}

/// Whether `query` has decimal integers of 32 bits under all `names`, which but for `delta` start at 1; then they are `values`.
inline bool integers(std::string_view query, std::span<const std::string_view> names, Values& values) {
    std::size_t found = 0;
    while (!query.empty()) {
        auto pair = cut(query, '&');
        std::string name(cut(pair, '=')), value(pair);
        if (!decode(name) || !decode(value)) return false;
        const auto place = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
        if (place == names.size()) continue;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), values[place]);
        if (error != std::errc() || end != value.data() + value.size() || (values[place] < 1 && name != "delta")) return false;
        found |= 1u << place;
    }
    return found == (1u << names.size()) - 1;
}

struct Routes {
    explicit Routes(const Accounts& accounts) : accounts_(accounts) {}

    /// The answer; or nothing, and then `query` is to be asked. Bodies last until the next call.
    std::optional<Answer> answer(const Request& request, Query& query) {
        static constexpr std::string_view kTxs[] = {"aid", "tid", "bid", "delta"}, kTransfers[] = {"from", "to", "amount"};
        const bool get = request.method == HTTP_GET || request.method == HTTP_HEAD, post = request.method == HTTP_POST;
        const auto ask = [&query](Statement statement, bool valid = true) {
            query.statement = statement;
            return valid ? std::nullopt : std::optional(Answer{400, "a parameter is missing, no integer or out of range"});
        };
        if (request.refused) return {{request.refused, http_status_str(http_status(request.refused))}};
        if (get && request.path == "/ping") return {{200, R"({"ok":true,"message":"OK"})"}};
        if (get && request.path == "/time") return {{200, time_ = "{\"serverTime\":" + std::to_string(std::time(nullptr)) + "}"}};
        if (get && request.path == "/db/ping") return ask(kPing);
        if (get && request.path == "/db/time") return ask(kTime);
        if (get && request.path == "/users") return ask(kUsers);
        if (get && request.path == "/ready") return ask(kReady);
        if (post && request.path == "/tx") return ask(kTx, integers(request.query, kTxs, query.values));
        if (post && request.path == "/lookup") return lookup(request.body);
        if (!post || request.path != "/transfer") return {{404, "not found"}};
        return ask(kBegin, integers(request.query, kTransfers, query.values) && query.values[0] != query.values[1]);
    }

    Answer answer(const Query& query, Outcome outcome, const PGresult* rows) {
        if (outcome != kDone) return {query.statement == kReady ? kBusy : outcome, http_status_str(http_status(outcome))};
        if (query.statement == kReady) return {204, {}};
        if (query.statement == kPing || query.statement == kTime) return {200, PQgetvalue(rows, 0, 0)};
        if (query.statement != kUsers) return {200, R"({"ok":true})"};
        start().StartArray();
        for (int row = 0; row < PQntuples(rows); ++row) write_row(json_, rows, row, PQfnumber(rows, "address"));
        json_.EndArray();
        return text();
    }

  private:
    Answer lookup(std::string_view body) {
        rapidjson::Document document;  // read without recursion, or deep nesting could exhaust the stack
        document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(body.data(), body.size());
        const bool object = !document.HasParseError() && document.IsObject() && body.find('\0') == body.npos;  // it ends the text
        const auto id = object ? document.FindMember("account_id") : rapidjson::Document::MemberIterator();
        if (!object || id == document.MemberEnd() || !id->value.IsString()) return {400, "no object with a text `account_id`"};
        const auto place = accounts_.places.find({id->value.GetString(), id->value.GetStringLength()});
        if (place == accounts_.places.end()) return {404, "no such account"};
        write_row(start(), accounts_.rows, place->second);
        return text();
    }

    Writer& start() { return text_.Clear(), json_.Reset(text_), json_; }
    Answer text() const { return {200, {text_.GetString(), text_.GetSize()}}; }

    const Accounts& accounts_;
    rapidjson::StringBuffer text_;
    Writer json_;
    std::string time_;
};
