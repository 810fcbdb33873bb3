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
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type Account struct {
	AccountID    string `json:"account_id" db:"account_id"`
	Name         string `json:"name"`
	Email        string `json:"email"`
	Plan         string `json:"plan"`
	Currency     string `json:"currency"`
	BalanceCents int64  `json:"balance_cents" db:"balance_cents"`
	Active       bool   `json:"active"`
	CreatedAt    string `json:"created_at" db:"created_at"`
	Region       string `json:"region"`
	Note         string `json:"note"`
}

type User struct {
	ID        int64  `json:"id"`
	Username  string `json:"username"`
	Name      string `json:"name"`
	Sex       string `json:"sex"`
	Address   string `json:"address"`
	Mail      string `json:"mail"`
	Birthdate string `json:"birthdate"`
}

type message struct {
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
}

// failure is an error that the client is told of.
type failure struct {
	status  int
	message string
}

func (f failure) Error() string { return f.message }

type app struct {
	pool     *pgxpool.Pool
	wait     string // POOL_WAIT_MS
	accounts map[string]Account
}

func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", a.ready)
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, r *http.Request) { write(w, 200, message{true, "OK"}) })
	mux.HandleFunc("GET /time", func(w http.ResponseWriter, r *http.Request) {
		write(w, 200, map[string]int64{"serverTime": time.Now().Unix()})
	})
	mux.HandleFunc("GET /db/ping", a.text("SELECT json_build_object('ok', true, 'message', 'OK')::text"))
	mux.HandleFunc("GET /db/time", a.text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"))
	mux.HandleFunc("GET /users", a.users)
	mux.HandleFunc("POST /tx", a.tx)
	mux.HandleFunc("POST /transfer", a.transfer)
	mux.HandleFunc("POST /lookup", a.lookup)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fail(w, failure{404, "not found"}) })
	return mux
}

// connect takes a connection of the pool, which the caller releases. An acquire whose time is over fails also where a connection
// is free, so who may not wait asks the pool's counters.
func (a *app) connect(ctx context.Context) (*pgxpool.Conn, error) {
	if ms, err := strconv.Atoi(a.wait); err == nil && a.pool.Stat().AcquiredConns() >= a.pool.Config().MaxConns {
		limit, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
		ctx = limit
	}
	connection, err := a.pool.Acquire(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, failure{503, "no connection in time"}
	}
	return connection, err
}

func (a *app) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.pool.Ping(r.Context()); err != nil {
		fail(w, failure{503, "the database does not answer"})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (a *app) text(sql string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		connection, err := a.connect(r.Context())
		if err != nil {
			fail(w, err)
			return
		}
		defer connection.Release()
		var text string
		if err := connection.QueryRow(r.Context(), sql).Scan(&text); err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		io.WriteString(w, text)
	}
}

func (a *app) users(w http.ResponseWriter, r *http.Request) {
	connection, err := a.connect(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	defer connection.Release()
	// CollectRows returns the error too.
	rows, _ := connection.Query(r.Context(), "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
	users, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (user User, err error) {
		var born time.Time
		err = row.Scan(&user.ID, &user.Username, &user.Name, &user.Sex, &user.Address, &user.Mail, &born)
		user.Address = strings.Map(caesar, user.Address)
		user.Birthdate = born.UTC().Format("2006-01-02T15:04:05.000Z")
		return user, err
	})
	if err != nil {
		fail(w, err)
		return
	}
	write(w, 200, users)
}

func (a *app) tx(w http.ResponseWriter, r *http.Request) {
	values, err := integers(r.URL.Query(), "aid", "tid", "bid", "delta")
	if err != nil {
		fail(w, err)
		return
	}
	connection, err := a.connect(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	defer connection.Release()
	_, err = connection.Exec(r.Context(), "SELECT pgbench_tx($1, $2, $3, $4)", values[0], values[1], values[2], values[3])
	if err != nil {
		fail(w, err)
		return
	}
	write(w, 200, message{OK: true})
}

func (a *app) transfer(w http.ResponseWriter, r *http.Request) {
	values, err := integers(r.URL.Query(), "from", "to", "amount")
	if err == nil && values[0] == values[1] {
		err = failure{400, "`from` and `to` must differ"}
	}
	if err == nil {
		err = a.move(r.Context(), values[0], values[1], values[2])
	}
	if err != nil {
		fail(w, err)
		return
	}
	write(w, 200, message{OK: true})
}

func (a *app) move(ctx context.Context, from, to, amount int64) error {
	connection, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	return pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		debited, err := tx.Exec(ctx, "UPDATE web_users SET credits = credits - $1 WHERE id = $2", amount, from)
		if err != nil {
			return err
		}
		if debited.RowsAffected() == 0 {
			return failure{404, "no such account"}
		}
		credited, err := tx.Exec(ctx, "UPDATE web_users SET credits = credits + $1 WHERE id = $2", amount, to)
		if err == nil && credited.RowsAffected() == 0 {
			err = failure{404, "no such account"}
		}
		return err
	})
}

func (a *app) lookup(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		fail(w, failure{413, "the body cannot be read"})
		return
	}
	var asked struct {
		AccountID *string `json:"account_id"`
	}
	if json.Unmarshal(body, &asked) != nil || asked.AccountID == nil {
		fail(w, failure{400, "the body must be a JSON object with a text `account_id`"})
		return
	}
	account, found := a.accounts[*asked.AccountID]
	if !found {
		fail(w, failure{404, "no such account"})
		return
	}
	write(w, 200, account)
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
	write(w, told.status, struct {
		OK      bool   `json:"ok"`
		Message string `json:"message"`
	}{false, told.message})
}

// integers reads parameters; all but `delta` start at 1.
func integers(query url.Values, names ...string) ([]int64, error) {
	values := make([]int64, len(names))
	for i, name := range names {
		value, err := strconv.ParseInt(query.Get(name), 10, 32)
		if err != nil || (value < 1 && name != "delta") {
			return nil, failure{400, "`" + name + "` must be an integer in its range"}
		}
		values[i] = value
	}
	return values, nil
}

// caesar rotates ASCII letters by 14 inside their case.
func caesar(letter rune) rune {
	switch {
	case letter >= 'a' && letter <= 'z':
		return 'a' + (letter-'a'+14)%26
	case letter >= 'A' && letter <= 'Z':
		return 'A' + (letter-'A'+14)%26
	}
	return letter
}
