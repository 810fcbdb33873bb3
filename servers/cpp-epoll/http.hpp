// HTTP/1.x: a request out of bytes, an answer into bytes.
#pragma once

#include <http_parser.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

/// What was read, and what its answer must heed.
struct Request {
    std::size_t size = 0;  // its bytes; 0: it has not wholly arrived
    int refused = 0;       // the status that bytes deserve which are no request
    unsigned method = HTTP_GET;
    bool keep_alive = true;  // the connection, after the answer
    std::string_view path, query;
    std::string body;
};

/// `body` is JSON, or under an error's status the message.
struct Answer { int status; std::string_view body; };

/// Takes the text before `separator` off the front of `list`.
inline std::string_view cut(std::string_view& list, char separator) {
    const auto item = list.substr(0, list.find(separator));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    return item;
}

inline Request& of(http_parser* parser) { return *static_cast<Request*>(parser->data); }

inline const http_parser_settings kEvents = [] {
    http_parser_settings events{};
    events.on_url = [](http_parser* parser, const char* at, std::size_t size) { return of(parser).query = {at, size}, 0; };
    events.on_body = [](http_parser* parser, const char* at, std::size_t size) { return of(parser).body.append(at, size), 0; };
    events.on_message_complete = [](http_parser* parser) { return http_parser_pause(parser, 1), 0; };
    return events;
}();

/// Reads the request at the start of `bytes`, in which its path and query lie.
inline Request read_request(std::string_view bytes) {
    Request request;
    http_parser parser;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = &request;
    const auto size = http_parser_execute(&parser, &kEvents, bytes.data(), bytes.size());
    const auto problem = HTTP_PARSER_ERRNO(&parser);
    if (request.body.size() > 64 << 10) request.refused = 413;
    else if (problem == HPE_OK) return request;
    else if (problem != HPE_PAUSED) request.refused = problem == HPE_HEADER_OVERFLOW ? 431 : 400;
    else if (parser.http_major != 1) request.refused = 505;
    request.size = request.refused ? bytes.size() : size;
    request.method = parser.method;
    request.keep_alive = !request.refused && http_should_keep_alive(&parser);
    request.path = cut(request.query, '?');
    return request;
}

/// The `date` header, made anew when a second has passed.
inline std::string_view date() {
    static char line[48];
    static std::time_t made = 0;
    if (const auto now = std::time(nullptr); now != std::exchange(made, now))
        std::strftime(line, sizeof line, "\r\ndate: %a, %d %b %Y %H:%M:%S GMT\r\n", std::gmtime(&now));
    return {line, 39};
}

inline void write_answer(std::string& out, const Request& request, const Answer& answer) {
    const bool error = answer.status >= 400;
    const std::string_view before = error ? R"({"ok":false,"message":")" : "", after = error ? R"("})" : "";
    out.append("HTTP/1.1 ").append(std::to_string(answer.status)).append(" ").append(http_status_str(http_status(answer.status)));
    out.append(date()).append(request.keep_alive ? "connection: keep-alive\r\n" : "connection: close\r\n");
    if (answer.status == 503) out.append("retry-after: 1\r\n");
    if (answer.status == 204) return static_cast<void>(out.append("\r\n"));
    out.append("content-type: application/json; charset=utf-8\r\ncontent-length: ");
    out.append(std::to_string(before.size() + answer.body.size() + after.size())).append("\r\n\r\n");
    if (request.method != HTTP_HEAD) out.append(before).append(answer.body).append(after);
}
