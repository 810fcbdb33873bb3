// Command server is the contract on fasthttp, with pgx and easyjson.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/mailru/easyjson"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/semaphore"

	"fairground/servers/go-fasthttp/records"
)

const (
	pingSQL     = `SELECT json_build_object('ok', true, 'message', 'OK')::text`
	timeSQL     = `SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text`
	usersSQL    = `SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id`
	txSQL       = `SELECT pgbench_tx($1, $2, $3, $4)`
	debitSQL    = `UPDATE web_users SET credits = credits - $1 WHERE id = $2`
	creditSQL   = `UPDATE web_users SET credits = credits + $1 WHERE id = $2`
	accountsSQL = `SELECT account_id, name, email, plan, currency, balance_cents, active, created_at, region, note FROM accounts`
)

type app struct {
	pool     *pgxpool.Pool
	slots    *semaphore.Weighted // as many as the pool has connections
	wait     time.Duration       // longest wait for a slot
	accounts map[string]*records.Account
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-version" {
		printVersions()
		return
	}
	runtime.GOMAXPROCS(number("WORKERS", 1))
	app := newApp(number("POOL_SIZE", 1), number("POOL_WAIT_MS", -1))
	for err := app.loadAccounts(); err != nil; err = app.loadAccounts() { // nothing listens before the database answers
		log.Print("loading `accounts`: ", err)
		time.Sleep(500 * time.Millisecond)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")))
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{
		Handler:                      app.answer,
		ErrorHandler:                 refuse,
		Logger:                       log.New(io.Discard, "", 0), // it would report each malformed request
		MaxRequestBodySize:           64 << 10,
		WriteBufferSize:              32 << 10, // all users in one write
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
	}
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		if err := server.Serve(listener); err != nil {
			log.Fatal(err)
		}
	}()
	<-stopped.Done()
	grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = server.ShutdownWithContext(grace) // what is still in flight then ends with the process
}

// newApp makes the pool, which opens its connections as they are needed. A negative wait has no limit.
func newApp(poolSize, waitMS int) *app {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal("environment variable `DATABASE_URL`: ", err)
	}
	config.MaxConns = int32(poolSize)
	config.ConnConfig.ConnectTimeout = 2 * time.Second // a database that hangs must not hold a slot for long
	if os.Getenv("PREPARED") == "off" {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal("the pool: ", err)
	}
	wait := time.Duration(math.MaxInt64)
	if waitMS >= 0 {
		wait = time.Duration(waitMS) * time.Millisecond
	}
	return &app{pool: pool, slots: semaphore.NewWeighted(int64(poolSize)), wait: wait}
}

type failure struct {
	status  int
	message string
}

func (f failure) Error() string { return f.message }

var errNotFound = failure{404, "not found"}

const pong, done = `{"ok":true,"message":"OK"}`, `{"ok":true}`

func (a *app) answer(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("application/json; charset=utf-8")
	if bytes.EqualFold(ctx.Request.Header.Peek("Connection"), []byte("close")) { // fasthttp itself obeys lower case alone
		ctx.SetConnectionClose()
	}
	err := a.route(ctx)
	if err == nil {
		return
	}
	var f failure
	if !errors.As(err, &f) {
		log.Print(err)
		f = failure{500, "the database failed"}
	}
	f.write(ctx)
}

func (f failure) write(ctx *fasthttp.RequestCtx) {
	ctx.SetStatusCode(f.status)
	ctx.SetBody(fmt.Appendf(nil, `{"ok":false,"message":%q}`, f.message))
	if f.status == fasthttp.StatusServiceUnavailable {
		ctx.Response.Header.Set("Retry-After", "1")
	}
}

// refuse answers what is not a valid or an acceptable request; fasthttp then closes the connection.
func refuse(ctx *fasthttp.RequestCtx, err error) {
	ctx.SetContentType("application/json; charset=utf-8")
	if small := new(fasthttp.ErrSmallBuffer); errors.As(err, &small) {
		failure{431, "the headers are larger than 4 KiB"}.write(ctx)
	} else if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		failure{413, "the body is larger than 64 KiB"}.write(ctx)
	} else {
		failure{400, "the request is not valid HTTP"}.write(ctx)
	}
}

// route answers HEAD as GET; fasthttp leaves the body out.
func (a *app) route(ctx *fasthttp.RequestCtx) error {
	if ctx.IsGet() || ctx.IsHead() {
		switch string(ctx.Path()) {
		case "/ready":
			return a.ready(ctx)
		case "/ping":
			ctx.SetBodyString(pong)
			return nil
		case "/time":
			ctx.SetBody(fmt.Appendf(nil, `{"serverTime":%d}`, time.Now().Unix()))
			return nil
		case "/db/ping":
			return a.text(ctx, pingSQL)
		case "/db/time":
			return a.text(ctx, timeSQL)
		case "/users":
			return a.users(ctx)
		}
	} else if ctx.IsPost() {
		switch string(ctx.Path()) {
		case "/tx":
			return a.tx(ctx)
		case "/transfer":
			return a.transfer(ctx)
		case "/lookup":
			return a.lookup(ctx)
		}
	}
	return errNotFound
}

func (a *app) ready(ctx *fasthttp.RequestCtx) error {
	if a.text(ctx, pingSQL) != nil {
		return failure{503, "the database does not answer"}
	}
	ctx.ResetBody()
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

func (a *app) text(ctx *fasthttp.RequestCtx, sql string) error {
	var text []byte
	err := a.withSlot(func(db context.Context) error { return a.pool.QueryRow(db, sql).Scan(&text) })
	ctx.SetBody(text)
	return err
}

func (a *app) users(ctx *fasthttp.RequestCtx) error {
	users := make(records.Users, 0, 100)
	err := a.withSlot(func(db context.Context) error {
		rows, _ := a.pool.Query(db, usersSQL) // ForEachRow returns the error too
		var u records.User
		var address []byte
		var birthdate time.Time
		_, err := pgx.ForEachRow(rows, []any{&u.ID, &u.Username, &u.Name, &u.Sex, &address, &u.Mail, &birthdate}, func() error {
			u.Address, u.Birthdate = caesar(address), iso(birthdate)
			users = append(users, u)
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	_, err = easyjson.MarshalToWriter(users, ctx)
	return err
}

func (a *app) tx(ctx *fasthttp.RequestCtx) error {
	p, err := integers(ctx, "aid", "tid", "bid", "delta")
	if err != nil {
		return err
	}
	ctx.SetBodyString(done)
	return a.withSlot(func(db context.Context) error {
		_, err := a.pool.Exec(db, txSQL, int64(p[0]), int64(p[1]), int64(p[2]), p[3])
		return err
	})
}

func (a *app) transfer(ctx *fasthttp.RequestCtx) error {
	p, err := integers(ctx, "from", "to", "amount")
	if err != nil {
		return err
	}
	from, to, amount := p[0], p[1], p[2]
	if from == to {
		return failure{400, "`from` and `to` must differ"}
	}
	ctx.SetBodyString(done)
	return a.withSlot(func(db context.Context) error {
		return pgx.BeginFunc(db, a.pool, func(tx pgx.Tx) error {
			if err := touch(tx.Exec(db, debitSQL, amount, from)); err != nil {
				return err
			}
			return touch(tx.Exec(db, creditSQL, amount, to))
		})
	})
}

func (a *app) lookup(ctx *fasthttp.RequestCtx) error {
	var request records.Lookup
	if body := ctx.PostBody(); !utf8.Valid(body) || easyjson.Unmarshal(body, &request) != nil || request.AccountID == nil {
		return failure{400, "the body must be a JSON object with a text `account_id`"}
	}
	found, ok := a.accounts[*request.AccountID]
	if !ok {
		return errNotFound
	}
	_, err := easyjson.MarshalToWriter(found, ctx)
	return err
}

// loadAccounts may be called again until the database answers.
func (a *app) loadAccounts() error {
	a.accounts = make(map[string]*records.Account)
	rows, _ := a.pool.Query(context.Background(), accountsSQL)
	var c records.Account
	scans := []any{&c.AccountID, &c.Name, &c.Email, &c.Plan, &c.Currency, &c.BalanceCents, &c.Active, &c.CreatedAt, &c.Region, &c.Note}
	_, err := pgx.ForEachRow(rows, scans, func() error {
		found := c
		a.accounts[c.AccountID] = &found
		return nil
	})
	return err
}

// withSlot waits for a free connection. fasthttp cannot tell that a client has left, so nothing ends the wait or the
// statement before its time.
func (a *app) withSlot(run func(context.Context) error) error {
	if a.acquire(context.Background()) != nil {
		return failure{503, "no database connection is free"}
	}
	defer a.slots.Release(1)
	return run(context.Background())
}

// acquire takes a slot, or gives up when the longest wait is over.
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
func integers(ctx *fasthttp.RequestCtx, names ...string) ([]int32, error) {
	query, values := ctx.QueryArgs(), make([]int32, len(names))
	for i, name := range names {
		text := string(query.Peek(name))
		value, err := strconv.ParseInt(text, 10, 32)
		if err != nil || text[0] == '+' || (value < 1 && name != "delta") {
			return nil, failure{400, "`" + name + "` must be a decimal integer in its range"}
		}
		values[i] = int32(value)
	}
	return values, nil
}

// touch fails for a statement that changed no row.
func touch(result pgconn.CommandTag, err error) error {
	if err == nil && result.RowsAffected() == 0 {
		return errNotFound
	}
	return err
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

// number reads a variable of the environment; empty means fallback.
func number(name string, fallback int) int {
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		log.Fatalf("environment variable `%s`: expected a number, got `%s`", name, text)
	}
	return value
}

func printVersions() {
	info, _ := debug.ReadBuildInfo()
	fmt.Print("go ", strings.TrimPrefix(info.GoVersion, "go"))
	for _, module := range info.Deps {
		if name := strings.TrimPrefix(module.Path, "github.com/"); name == "valyala/fasthttp" || name == "jackc/pgx/v5" || name == "mailru/easyjson" {
			fmt.Print(", ", name, " ", module.Version)
		}
	}
	fmt.Println()
}
