package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"
	"time"

	_ "github.com/lib/pq"
)

// pqDatabase is what the routes ask of database/sql, with lib/pq below it.
type pqDatabase struct {
	pool *sql.DB
	wait string // POOL_WAIT_MS
}

func openPQ() (*pqDatabase, error) {
	address := os.Getenv("DATABASE_URL") + "?sslmode=disable" // by default lib/pq wants TLS
	if os.Getenv("PREPARED") == "off" {
		address += "&binary_parameters=yes"
	}
	size, err := strconv.Atoi(os.Getenv("POOL_SIZE"))
	if err != nil {
		return nil, err
	}
	pool, err := sql.Open("postgres", address)
	if err == nil {
		pool.SetMaxOpenConns(size)
		pool.SetMaxIdleConns(size) // two by default: the others would be closed and opened again, a login each
	}
	return &pqDatabase{pool, os.Getenv("POOL_WAIT_MS")}, err
}

func (d *pqDatabase) close() { d.pool.Close() }

// querier is the pool, or one of its connections.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
}

// with runs on the pool itself where waiting has no limit, and on a connection of it where it has.
func (d *pqDatabase) with(ctx context.Context, run func(querier) error) error {
	ms, err := strconv.Atoi(d.wait)
	if err != nil {
		return run(d.pool)
	}
	waiting := ctx
	if stats := d.pool.Stats(); stats.InUse >= stats.MaxOpenConnections {
		limit, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
		waiting = limit
	}
	connection, err := d.pool.Conn(waiting)
	if errors.Is(err, context.DeadlineExceeded) {
		return errBusy
	}
	if err != nil {
		return err
	}
	defer connection.Close()
	return run(connection)
}

func (d *pqDatabase) ready(ctx context.Context) error { return d.pool.PingContext(ctx) }

func (d *pqDatabase) text(ctx context.Context, query string) (text string, err error) {
	err = d.with(ctx, func(db querier) error { return db.QueryRowContext(ctx, query).Scan(&text) })
	return text, err
}

func (d *pqDatabase) users(ctx context.Context) (users []User, err error) {
	err = d.with(ctx, func(db querier) (err error) {
		users, err = collect(ctx, db, scanUser, "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
		return err
	})
	return users, err
}

func (d *pqDatabase) tx(ctx context.Context, aid, tid, bid, delta int32) error {
	return d.with(ctx, func(db querier) error {
		_, err := db.ExecContext(ctx, "SELECT pgbench_tx($1, $2, $3, $4)", aid, tid, bid, delta)
		return err
	})
}

func (d *pqDatabase) transfer(ctx context.Context, from, to, amount int32) error {
	return d.with(ctx, func(db querier) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		err = touch(tx.ExecContext(ctx, "UPDATE web_users SET credits = credits - $1 WHERE id = $2", amount, from))
		if err == nil {
			err = touch(tx.ExecContext(ctx, "UPDATE web_users SET credits = credits + $1 WHERE id = $2", amount, to))
		}
		if err == nil {
			err = tx.Commit()
		}
		return err
	})
}

// touch fails for a statement that changed no row.
func touch(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	rows, err := result.RowsAffected()
	if err == nil && rows == 0 {
		err = errNoAccount
	}
	return err
}

func (d *pqDatabase) accounts(ctx context.Context) ([]Account, error) {
	return collect(ctx, d.pool, scanAccount,
		"SELECT account_id, name, email, plan, currency, balance_cents, active, created_at, region, note FROM accounts")
}

func scanAccount(row scanner) (a Account, err error) {
	err = row.Scan(&a.AccountID, &a.Name, &a.Email, &a.Plan, &a.Currency, &a.BalanceCents, &a.Active, &a.CreatedAt, &a.Region, &a.Note)
	return a, err
}

func collect[T any](ctx context.Context, db querier, scan func(scanner) (T, error), query string) ([]T, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
