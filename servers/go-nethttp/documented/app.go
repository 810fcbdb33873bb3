package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// store is the database as the routes see it, through either driver.
type store interface {
	ready(ctx context.Context) error
	text(ctx context.Context, sql string) (string, error)
	users(ctx context.Context) ([]User, error)
	tx(ctx context.Context, aid, tid, bid, delta int32) error
	transfer(ctx context.Context, from, to, amount int32) error
	accounts(ctx context.Context) ([]Account, error)
	close()
}

type app struct {
	db       store
	pgx      *database // the same, where it is pgxpool: it alone serves items
	accounts map[string]Account
}

type message struct {
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
}

// handler is an http.Handler that may fail.
type handler func(http.ResponseWriter, *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		fail(w, err)
	}
}

func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /ready", handler(a.ready))
	mux.Handle("GET /ping", handler(ping))
	mux.Handle("GET /time", handler(now))
	mux.Handle("GET /db/ping", a.text("SELECT json_build_object('ok', true, 'message', 'OK')::text"))
	mux.Handle("GET /db/time", a.text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"))
	mux.Handle("GET /users", handler(a.users))
	mux.Handle("POST /tx", handler(a.tx))
	mux.Handle("POST /transfer", handler(a.transfer))
	mux.Handle("POST /lookup", handler(a.lookup))
	if a.pgx != nil {
		mux.Handle("GET /items/{id}", handler(a.item))
		mux.Handle("GET /items", handler(a.items))
		mux.Handle("POST /items", handler(a.createItem))
		mux.Handle("PUT /items/{id}", handler(a.updateItem))
	}
	mux.Handle("/", handler(func(http.ResponseWriter, *http.Request) error { return failure{404, "not found"} }))
	return mux
}

func (a *app) ready(w http.ResponseWriter, r *http.Request) error {
	if err := a.db.ready(r.Context()); err != nil {
		return failure{503, "the database does not answer"}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func ping(w http.ResponseWriter, r *http.Request) error {
	return write(w, http.StatusOK, message{true, "OK"})
}

func now(w http.ResponseWriter, r *http.Request) error {
	return write(w, http.StatusOK, map[string]int64{"serverTime": time.Now().Unix()})
}

func (a *app) text(sql string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		text, err := a.db.text(r.Context(), sql)
		if err == nil {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			io.WriteString(w, text)
		}
		return err
	}
}

func (a *app) users(w http.ResponseWriter, r *http.Request) error {
	users, err := a.db.users(r.Context())
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, users)
}

func (a *app) tx(w http.ResponseWriter, r *http.Request) error {
	values, err := integers(r.URL.Query(), "aid", "tid", "bid", "delta")
	if err != nil {
		return err
	}
	if err := a.db.tx(r.Context(), values[0], values[1], values[2], values[3]); err != nil {
		return err
	}
	return write(w, http.StatusOK, message{OK: true})
}

func (a *app) transfer(w http.ResponseWriter, r *http.Request) error {
	values, err := integers(r.URL.Query(), "from", "to", "amount")
	if err != nil {
		return err
	}
	if values[0] == values[1] {
		return failure{400, "`from` and `to` must differ"}
	}
	if err := a.db.transfer(r.Context(), values[0], values[1], values[2]); err != nil {
		return err
	}
	return write(w, http.StatusOK, message{OK: true})
}

func (a *app) lookup(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return failure{413, "the body cannot be read"}
	}
	var asked struct {
		AccountID *string `json:"account_id"`
	}
	if json.Unmarshal(body, &asked) != nil || asked.AccountID == nil {
		return failure{400, "the body must be a JSON object with a text `account_id`"}
	}
	account, found := a.accounts[*asked.AccountID]
	if !found {
		return errNoAccount
	}
	return write(w, http.StatusOK, account)
}

func write(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err == nil {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		w.Write(body)
	}
	return err
}

func fail(w http.ResponseWriter, err error) {
	var told failure
	if !errors.As(err, &told) {
		log.Print(err)
		told = failure{500, "the database failed"}
	}
	if told.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	write(w, told.status, message{false, told.message})
}

// integers reads parameters; all but `delta` start at 1.
func integers(query url.Values, names ...string) ([]int32, error) {
	values := make([]int32, len(names))
	for i, name := range names {
		value, err := strconv.ParseInt(query.Get(name), 10, 32)
		if err != nil || (value < 1 && name != "delta") {
			return nil, failure{400, "`" + name + "` must be an integer in its range"}
		}
		values[i] = int32(value)
	}
	return values, nil
}
