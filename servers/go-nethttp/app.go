package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mailru/easyjson"
	"golang.org/x/sync/semaphore"

	"fairground/servers/go-nethttp/records"
)

type app struct {
	db       store
	slots    *semaphore.Weighted // as many as the pool has connections
	wait     time.Duration       // longest wait for a slot
	easyjson bool                // whether easyjson takes the place of encoding/json
	accounts map[string]*records.Account
}

// handler returns a body of JSON (nil: 204), or an error that is a failure if it is not the database's.
type handler func(*http.Request) ([]byte, error)

type failure struct {
	status  int
	message string
}

func (f failure) Error() string { return f.message }

var done, errNotFound = []byte(`{"ok":true}`), failure{404, "not found"}

func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]handler{
		"GET /ready":     a.ready,
		"GET /ping":      func(*http.Request) ([]byte, error) { return []byte(`{"ok":true,"message":"OK"}`), nil },
		"GET /time":      now,
		"GET /db/ping":   a.text(pingSQL),
		"GET /db/time":   a.text(timeSQL),
		"GET /users":     a.users,
		"POST /tx":       a.tx,
		"POST /transfer": a.transfer,
		"POST /lookup":   a.lookup,
		"/":              func(*http.Request) ([]byte, error) { return nil, errNotFound },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			body, err := handle(r)
			answer(w, body, err)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; strings.Contains(path, "//") || strings.Contains(path, "/.") {
			answer(w, nil, errNotFound) // the mux would redirect to the clean path
		} else {
			mux.ServeHTTP(w, r)
		}
	})
}

func answer(w http.ResponseWriter, body []byte, err error) {
	status := http.StatusOK
	if err != nil {
		f, ok := errors.AsType[failure](err)
		if !ok {
			log.Print(err)
			f = failure{500, "the database failed"}
		}
		status, body = f.status, fmt.Appendf(nil, `{"ok":false,"message":%q}`, f.message)
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
	} else if body == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has left
}

func (a *app) ready(r *http.Request) ([]byte, error) {
	if _, err := a.text(pingSQL)(r); err != nil {
		return nil, failure{503, "the database does not answer"}
	}
	return nil, nil
}

func now(*http.Request) ([]byte, error) {
	return fmt.Appendf(nil, `{"serverTime":%d}`, time.Now().Unix()), nil
}

func (a *app) text(sql string) handler {
	return func(r *http.Request) (text []byte, err error) {
		err = a.each(r, func(row row) error { return row.Scan(&text) }, sql)
		return text, err
	}
}

func (a *app) users(r *http.Request) ([]byte, error) {
	users, u, address := make(records.Users, 0, 100), records.User{}, []byte(nil)
	var birthdate time.Time
	columns := []any{&u.ID, &u.Username, &u.Name, &u.Sex, &address, &u.Mail, &birthdate}
	err := a.each(r, func(row row) error {
		err := row.Scan(columns...)
		u.Address, u.Birthdate = caesar(address), iso(birthdate)
		users = append(users, u)
		return err
	}, usersSQL)
	if err != nil {
		return nil, err
	}
	return a.marshal(users)
}

func (a *app) tx(r *http.Request) ([]byte, error) {
	p, err := integers(r, "aid", "tid", "bid", "delta")
	if err != nil {
		return nil, err
	}
	return done, a.each(r, func(row) error { return nil }, txSQL, int64(p[0]), int64(p[1]), int64(p[2]), p[3])
}

func (a *app) transfer(r *http.Request) ([]byte, error) {
	p, err := integers(r, "from", "to", "amount")
	if err != nil {
		return nil, err
	}
	from, to, amount := p[0], p[1], p[2]
	if from == to {
		return nil, failure{400, "`from` and `to` must differ"}
	}
	return done, a.withSlot(r, func(ctx context.Context) error {
		return a.db.InTx(ctx, func(exec execute) error {
			if err := exec(debitSQL, amount, from); err != nil {
				return err
			}
			return exec(creditSQL, amount, to)
		})
	})
}

func (a *app) lookup(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10+1))
	if len(body) > 64<<10 {
		return nil, failure{413, "the body is larger than 64 KiB"}
	}
	id, wrong := a.lookupID(body)
	if err != nil || wrong != nil || id == nil || !utf8.Valid(body) {
		return nil, failure{400, "the body must be a JSON object with a text `account_id`"}
	}
	if found, ok := a.accounts[*id]; ok {
		return a.marshal(found)
	}
	return nil, errNotFound
}

func (a *app) marshal(value easyjson.Marshaler) ([]byte, error) {
	if a.easyjson {
		return easyjson.Marshal(value)
	}
	return json.Marshal(value)
}

// lookupID returns nil if `account_id` is missing or not a text.
func (a *app) lookupID(body []byte) (id *string, err error) {
	if a.easyjson {
		var request records.Lookup
		err = easyjson.Unmarshal(body, &request)
		return request.AccountID, err
	}
	var request map[string]any // a struct's field would match `ACCOUNT_ID` too
	err = json.Unmarshal(body, &request)
	if text, ok := request["account_id"].(string); ok {
		id = &text
	}
	return id, err
}

func (a *app) each(r *http.Request, scan func(row) error, sql string, args ...any) error {
	return a.withSlot(r, func(ctx context.Context) error { return a.db.Each(ctx, scan, sql, args...) })
}

// withSlot waits for a free connection while the client does. The statement then runs to its end: to cancel it would
// cost the connection.
func (a *app) withSlot(r *http.Request, run func(context.Context) error) error {
	if a.acquire(r.Context()) != nil {
		return failure{503, "no database connection is free"}
	}
	defer a.slots.Release(1)
	return run(context.WithoutCancel(r.Context()))
}

// acquire takes a slot, or gives up when the client has left or the longest wait is over.
func (a *app) acquire(ctx context.Context) error {
	if a.slots.TryAcquire(1) {
		return nil
	}
	if a.wait < math.MaxInt64 { // a deadline costs a timer
		limit, cancel := context.WithTimeout(ctx, a.wait)
		defer cancel()
		ctx = limit
	}
	return a.slots.Acquire(ctx, 1)
}

// integers reads parameters of the query; all but `delta` start at 1.
func integers(r *http.Request, names ...string) ([]int32, error) {
	query, values := r.URL.Query(), make([]int32, len(names))
	for i, name := range names {
		text := query.Get(name)
		value, err := strconv.ParseInt(text, 10, 32)
		if err != nil || text[0] == '+' || (value < 1 && name != "delta") {
			return nil, failure{400, "`" + name + "` must be a decimal integer in its range"}
		}
		values[i] = int32(value)
	}
	return values, nil
}

// caesar rotates ASCII letters by 14 inside their case; the bytes of other characters are never letters.
func caesar(text []byte) string {
	for i, c := range text {
		if letter := (c | 0x20) - 'a'; letter < 26 { // the difference wraps below 'a'
			text[i] = c - letter + (letter+14)%26
		}
	}
	return string(text)
}

// iso adds the milliseconds itself: `AppendFormat` is fast with the RFC's own layout alone.
func iso(moment time.Time) string {
	text, ms := moment.UTC().AppendFormat(make([]byte, 0, 32), time.RFC3339), moment.Nanosecond()/1e6
	return string(append(text[:len(text)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'))
}
