package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

type app struct {
	db       *database
	accounts map[string]Account
}

type message struct {
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
}

func (a *app) router() http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.Recoverer)
	r.NotFound(func(w http.ResponseWriter, r *http.Request) { fail(w, failure{404, "not found"}) })
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { fail(w, failure{405, "method not allowed"}) })
	r.Get("/ready", a.ready)
	r.Get("/ping", func(w http.ResponseWriter, r *http.Request) { write(w, http.StatusOK, message{true, "OK"}) })
	r.Get("/time", func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusOK, map[string]int64{"serverTime": time.Now().Unix()})
	})
	r.Route("/db", func(r chi.Router) {
		r.Get("/ping", a.text("SELECT json_build_object('ok', true, 'message', 'OK')::text"))
		r.Get("/time", a.text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"))
	})
	r.Get("/users", a.users)
	r.Post("/tx", a.tx)
	r.Post("/transfer", a.transfer)
	r.Post("/lookup", a.lookup)
	return r
}

func (a *app) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.db.ready(r.Context()); err != nil {
		fail(w, failure{503, "the database does not answer"})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (a *app) text(sql string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := a.db.text(r.Context(), sql)
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, text)
	}
}

func (a *app) users(w http.ResponseWriter, r *http.Request) {
	users, err := a.db.users(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	write(w, http.StatusOK, users)
}

func (a *app) tx(w http.ResponseWriter, r *http.Request) {
	values, err := integers(r.URL.Query(), "aid", "tid", "bid", "delta")
	if err != nil {
		fail(w, err)
		return
	}
	if err := a.db.tx(r.Context(), values[0], values[1], values[2], values[3]); err != nil {
		fail(w, err)
		return
	}
	write(w, http.StatusOK, message{OK: true})
}

func (a *app) transfer(w http.ResponseWriter, r *http.Request) {
	values, err := integers(r.URL.Query(), "from", "to", "amount")
	if err != nil {
		fail(w, err)
		return
	}
	if values[0] == values[1] {
		fail(w, failure{400, "`from` and `to` must differ"})
		return
	}
	if err := a.db.transfer(r.Context(), values[0], values[1], values[2]); err != nil {
		fail(w, err)
		return
	}
	write(w, http.StatusOK, message{OK: true})
}

func (a *app) lookup(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		AccountID *string `json:"account_id"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || asked.AccountID == nil {
		fail(w, failure{400, "the body must be a JSON object with a text `account_id`"})
		return
	}
	account, found := a.accounts[*asked.AccountID]
	if !found {
		fail(w, errNoAccount)
		return
	}
	write(w, http.StatusOK, account)
}

func write(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(body)
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
