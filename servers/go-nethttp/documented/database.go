package main

import (
	"context"
	"errors"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// failure is an error that the client is told of.
type failure struct {
	status  int
	message string
}

func (f failure) Error() string { return f.message }

var errBusy, errNoAccount = failure{503, "no connection in time"}, failure{404, "no such account"}

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

// database is what the routes ask of pgxpool.
type database struct {
	pool *pgxpool.Pool
	wait string // POOL_WAIT_MS
}

func openDatabase(ctx context.Context) (*database, error) {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(os.Getenv("POOL_SIZE"))
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(size)
	if os.Getenv("PREPARED") == "off" {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return &database{pool, os.Getenv("POOL_WAIT_MS")}, err
}

func (d *database) close() { d.pool.Close() }

// connect takes a connection of the pool, which the caller releases. An acquire whose time is over fails also where a connection
// is free, so who may not wait asks the pool's counters.
func (d *database) connect(ctx context.Context) (*pgxpool.Conn, error) {
	if ms, err := strconv.Atoi(d.wait); err == nil && d.pool.Stat().AcquiredConns() >= d.pool.Config().MaxConns {
		limit, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
		ctx = limit
	}
	connection, err := d.pool.Acquire(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errBusy
	}
	return connection, err
}

func (d *database) ready(ctx context.Context) error { return d.pool.Ping(ctx) }

func (d *database) text(ctx context.Context, sql string) (text string, err error) {
	connection, err := d.connect(ctx)
	if err != nil {
		return "", err
	}
	defer connection.Release()
	err = connection.QueryRow(ctx, sql).Scan(&text)
	return text, err
}

func (d *database) users(ctx context.Context) ([]User, error) {
	connection, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer connection.Release()
	// CollectRows returns the error too.
	rows, _ := connection.Query(ctx, "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (User, error) { return scanUser(row) })
}

// scanner is a row, of whatever driver.
type scanner interface{ Scan(...any) error }

func scanUser(row scanner) (user User, err error) {
	var born time.Time
	err = row.Scan(&user.ID, &user.Username, &user.Name, &user.Sex, &user.Address, &user.Mail, &born)
	user.Address = strings.Map(caesar, user.Address)
	user.Birthdate = born.UTC().Format("2006-01-02T15:04:05.000Z")
	return user, err
}

func (d *database) tx(ctx context.Context, aid, tid, bid, delta int32) error {
	connection, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	_, err = connection.Exec(ctx, "SELECT pgbench_tx($1, $2, $3, $4)", aid, tid, bid, delta)
	return err
}

func (d *database) transfer(ctx context.Context, from, to, amount int32) error {
	connection, err := d.connect(ctx)
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
			return errNoAccount
		}
		credited, err := tx.Exec(ctx, "UPDATE web_users SET credits = credits + $1 WHERE id = $2", amount, to)
		if err == nil && credited.RowsAffected() == 0 {
			err = errNoAccount
		}
		return err
	})
}

func (d *database) accounts(ctx context.Context) ([]Account, error) {
	rows, _ := d.pool.Query(ctx, "SELECT * FROM accounts") // CollectRows returns the error too
	return pgx.CollectRows(rows, pgx.RowToStructByName[Account])
}

// load waits for a database that is away, so that nothing listens before; a context that is over ends the waiting.
func load(ctx context.Context, read func(context.Context) ([]Account, error)) map[string]Account {
	all, err := read(ctx)
	for ; err != nil && ctx.Err() == nil; all, err = read(ctx) {
		log.Print("loading `accounts`: ", err)
		time.Sleep(500 * time.Millisecond)
	}
	accounts := make(map[string]Account, len(all))
	for _, account := range all {
		accounts[account.AccountID] = account
	}
	return accounts
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
