// Command server is the contract on Gin, with pgx.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/codec/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"
)

const (
	jsonType    = "application/json; charset=utf-8"
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
	accounts map[string]account
}

type user struct {
	ID        int32  `json:"id"`
	Username  string `json:"username"`
	Name      string `json:"name"`
	Sex       string `json:"sex"`
	Address   string `json:"address"`
	Mail      string `json:"mail"`
	Birthdate string `json:"birthdate"`
}

type account struct {
	AccountID    string `json:"account_id"`
	Name         string `json:"name"`
	Email        string `json:"email"`
	Plan         string `json:"plan"`
	Currency     string `json:"currency"`
	BalanceCents int64  `json:"balance_cents"`
	Active       bool   `json:"active"`
	CreatedAt    string `json:"created_at"`
	Region       string `json:"region"`
	Note         string `json:"note"`
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
	server := &http.Server{Addr: net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")), Handler: app.router()}
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	<-stopped.Done()
	grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_ = server.Shutdown(grace) // what is still in flight then ends with the process
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

// handler returns a body of JSON (nil: 204), or an error that is a failure if it is not the database's.
type handler func(*gin.Context) ([]byte, error)

type failure struct {
	status  int
	message string
}

func (f failure) Error() string { return f.message }

var (
	pong, done  = []byte(`{"ok":true,"message":"OK"}`), []byte(`{"ok":true}`)
	errNotFound = failure{404, "not found"}
	errMethod   = failure{405, "method not allowed"}
)

func (a *app) router() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.RedirectTrailingSlash = false
	r.HandleMethodNotAllowed = true
	r.NoRoute(answer(func(*gin.Context) ([]byte, error) { return nil, errNotFound }))
	r.NoMethod(answer(func(*gin.Context) ([]byte, error) { return nil, errMethod }))
	r.GET("/ready", answer(a.ready))
	r.GET("/ping", answer(func(*gin.Context) ([]byte, error) { return pong, nil }))
	r.GET("/time", answer(now))
	r.GET("/db/ping", answer(a.text(pingSQL)))
	r.GET("/db/time", answer(a.text(timeSQL)))
	r.GET("/users", answer(a.users))
	r.POST("/tx", answer(a.tx))
	r.POST("/transfer", answer(a.transfer))
	r.POST("/lookup", answer(a.lookup))
	return r.Handler()
}

func answer(handle handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		body, err := handle(c)
		if err == nil && body == nil {
			c.Status(http.StatusNoContent)
		} else if err == nil {
			c.Data(http.StatusOK, jsonType, body) // unlike `c.JSON`, with a `Content-Length`
		} else {
			var f failure
			if !errors.As(err, &f) {
				log.Print(err)
				f = failure{500, "the database failed"}
			}
			if f.status == http.StatusServiceUnavailable {
				c.Header("Retry-After", "1")
			}
			c.JSON(f.status, gin.H{"ok": false, "message": f.message})
		}
	}
}

func (a *app) ready(c *gin.Context) ([]byte, error) {
	if _, err := a.text(pingSQL)(c); err != nil {
		return nil, failure{503, "the database does not answer"}
	}
	return nil, nil
}

func now(*gin.Context) ([]byte, error) {
	return fmt.Appendf(nil, `{"serverTime":%d}`, time.Now().Unix()), nil
}

func (a *app) text(sql string) handler {
	return func(c *gin.Context) (text []byte, err error) {
		err = a.withSlot(c, func(ctx context.Context) error { return a.pool.QueryRow(ctx, sql).Scan(&text) })
		return text, err
	}
}

func (a *app) users(c *gin.Context) ([]byte, error) {
	users := make([]user, 0, 100)
	err := a.withSlot(c, func(ctx context.Context) error {
		rows, _ := a.pool.Query(ctx, usersSQL) // ForEachRow returns the error too
		var u user
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
		return nil, err
	}
	return json.API.Marshal(users)
}

func (a *app) tx(c *gin.Context) ([]byte, error) {
	p, err := integers(c, "aid", "tid", "bid", "delta")
	if err != nil {
		return nil, err
	}
	return done, a.withSlot(c, func(ctx context.Context) error {
		_, err := a.pool.Exec(ctx, txSQL, int64(p[0]), int64(p[1]), int64(p[2]), p[3])
		return err
	})
}

func (a *app) transfer(c *gin.Context) ([]byte, error) {
	p, err := integers(c, "from", "to", "amount")
	if err != nil {
		return nil, err
	}
	from, to, amount := p[0], p[1], p[2]
	if from == to {
		return nil, failure{400, "`from` and `to` must differ"}
	}
	return done, a.withSlot(c, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error {
			if err := touch(tx.Exec(ctx, debitSQL, amount, from)); err != nil {
				return err
			}
			return touch(tx.Exec(ctx, creditSQL, amount, to))
		})
	})
}

func (a *app) lookup(c *gin.Context) ([]byte, error) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, 64<<10)
	body, err := c.GetRawData()
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return nil, failure{413, "the body is larger than 64 KiB"}
	}
	var request map[string]any // a struct's field would match `ACCOUNT_ID` too
	if err != nil || !utf8.Valid(body) || json.API.Unmarshal(body, &request) != nil {
		return nil, failure{400, "the body must be a JSON object"}
	}
	id, ok := request["account_id"].(string)
	if !ok {
		return nil, failure{400, "`account_id` must be a string"}
	}
	if found, ok := a.accounts[id]; ok {
		return json.API.Marshal(found)
	}
	return nil, errNotFound
}

// loadAccounts may be called again until the database answers.
func (a *app) loadAccounts() error {
	a.accounts = make(map[string]account)
	rows, _ := a.pool.Query(context.Background(), accountsSQL)
	var c account
	scans := []any{&c.AccountID, &c.Name, &c.Email, &c.Plan, &c.Currency, &c.BalanceCents, &c.Active, &c.CreatedAt, &c.Region, &c.Note}
	_, err := pgx.ForEachRow(rows, scans, func() error {
		a.accounts[c.AccountID] = c
		return nil
	})
	return err
}

// withSlot waits for a free connection while the client does. The statement then runs to its end: to cancel it would
// cost the connection.
func (a *app) withSlot(c *gin.Context, run func(context.Context) error) error {
	if a.acquire(c.Request.Context()) != nil {
		return failure{503, "no database connection is free"}
	}
	defer a.slots.Release(1)
	return run(context.WithoutCancel(c.Request.Context()))
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
func integers(c *gin.Context, names ...string) ([]int32, error) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, failure{400, "the query is not well encoded"}
	}
	values := make([]int32, len(names))
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
		if name := strings.TrimPrefix(module.Path, "github.com/"); name == "gin-gonic/gin" || name == "jackc/pgx/v5" {
			fmt.Print(", ", name, " ", module.Version)
		}
	}
	fmt.Println()
}
