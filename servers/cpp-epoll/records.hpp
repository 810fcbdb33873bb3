// Rows of the database, in binary form, as JSON.
#pragma once

#ifdef __SSE2__
#define RAPIDJSON_SSE2  // texts are searched for what must be escaped 16 bytes at a time
#endif

#include <endian.h>
#include <libpq-fe.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

/// A moment in ISO 8601 with milliseconds. PostgreSQL counts microseconds from the year 2000.
inline std::array<char, 24> iso(std::chrono::microseconds since_2000) {
    using namespace std::chrono;
    const auto moment = sys_days(year(2000) / 1 / 1) + floor<milliseconds>(since_2000);
    const year_month_day date(floor<days>(moment));
    const hh_mm_ss time(moment - floor<days>(moment));
    const std::pair<int, long> numbers[] = {{4, int(date.year())}, {7, unsigned(date.month())}, {10, unsigned(date.day())},
        {13, time.hours().count()}, {16, time.minutes().count()}, {19, time.seconds().count()}, {23, time.subseconds().count()}};
    std::array<char, 24> text;
    std::memcpy(text.data(), "0000-00-00T00:00:00.000Z", text.size());
    for (auto [end, number] : numbers)  // each is written from its last place on
        for (; number > 0; number /= 10) text[--end] = static_cast<char>('0' + number % 10);
    return text;
}

/// Letters of ASCII are rotated by 14 inside their case; the bytes of other letters stay.
inline char caesar(char byte) {
    const char first = byte & 0x20 ? 'a' : 'A';
    return byte >= first && byte < first + 26 ? static_cast<char>(first + (byte - first + 14) % 26) : byte;
}

/// One row as an object with the columns' names as keys; the text of column `ciphered` goes through the cipher.
inline void write_row(Writer& json, const PGresult* rows, int row, int ciphered = -1) {
    constexpr Oid kBool = 16, kInt8 = 20, kInt4 = 23, kTimestamptz = 1184;
    json.StartObject();
    for (int column = 0; column < PQnfields(rows); ++column) {
        json.Key(PQfname(rows, column));
        std::string_view field(PQgetvalue(rows, row, column), static_cast<std::size_t>(PQgetlength(rows, row, column)));
        std::uint64_t bytes = 0;
        field.copy(reinterpret_cast<char*>(&bytes), sizeof bytes);
        const auto number = static_cast<std::int64_t>(be64toh(bytes));
        std::string ciphertext(column == ciphered ? field : "");
        std::ranges::transform(ciphertext, ciphertext.begin(), caesar);
        if (column == ciphered) field = ciphertext;
        if (const Oid type = PQftype(rows, column); type == kBool) json.Bool(number != 0);
        else if (type == kInt4) json.Int64(number >> 32);  // its bytes are the upper four
        else if (type == kInt8) json.Int64(number);
        else if (type == kTimestamptz) json.String(iso(std::chrono::microseconds(number)).data(), 24);
        else json.String(field.data(), static_cast<unsigned>(field.size()));
    }
    json.EndObject();
}
