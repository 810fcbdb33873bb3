package main

import (
	"context"
	"database/sql"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/lib/pq"

	"fairground/servers/go-nethttp/records"
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

// store is what the two drivers have in common.
type store interface {
	Each(ctx context.Context, scan func(row) error, sql string, args ...any) error
	InTx(ctx context.Context, run func(execute) error) error
}

type row interface{ Scan(...any) error }

// execute runs a statement that must touch a row.
type execute func(sql string, args ...any) error

func openStore(address string, size int, prepared bool) (store, error) {
	address += "?connect_timeout=2" // a database that hangs must not hold a slot for long
	if os.Getenv("DB_DRIVER") == "pq" {
		return openPq(address, size, prepared)
	}
	return openPgx(address, size, prepared)
}

// load opens the store and reads the accounts. It may be called again until the database answers.
func (a *app) load(size int) (err error) {
	if a.db == nil {
		if a.db, err = openStore(os.Getenv("DATABASE_URL"), size, os.Getenv("PREPARED") != "off"); err != nil {
			return err
		}
	}
	a.accounts = make(map[string]*records.Account)
	return a.db.Each(context.Background(), func(row row) error {
		var c records.Account
		err := row.Scan(&c.AccountID, &c.Name, &c.Email, &c.Plan, &c.Currency, &c.BalanceCents, &c.Active, &c.CreatedAt, &c.Region, &c.Note)
		a.accounts[c.AccountID] = &c
		return err
	}, accountsSQL)
}

type pgxStore struct{ *pgxpool.Pool }

func openPgx(address string, size int, prepared bool) (store, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(size)
	if !prepared {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	return pgxStore{pool}, err
}

func (s pgxStore) Each(ctx context.Context, scan func(row) error, sql string, args ...any) error {
	rows, _ := s.Query(ctx, sql, args...) // `each` returns the error too
	defer rows.Close()
	return each(rows, scan)
}

func (s pgxStore) InTx(ctx context.Context, run func(execute) error) error {
	return pgx.BeginFunc(ctx, s, func(tx pgx.Tx) error {
		return run(func(sql string, args ...any) error {
			result, err := tx.Exec(ctx, sql, args...)
			return touched(result.RowsAffected(), err)
		})
	})
}

type pqStore struct {
	*sql.DB
	prepared map[string]*sql.Stmt // by their text; empty without prepared statements
}

func openPq(address string, size int, prepared bool) (store, error) {
	options := "&sslmode=disable" // with `prefer`, lib/pq 1.12 leaves the connection open on which TLS was refused
	if !prepared {
		options += "&binary_parameters=yes" // unnamed statements in one round trip, as poolers need them
	}
	db, err := sql.Open("postgres", address+options)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	s := pqStore{db, map[string]*sql.Stmt{}}
	if !prepared {
		return s, nil
	}
	for _, text := range []string{pingSQL, timeSQL, usersSQL, txSQL, debitSQL, creditSQL} {
		if s.prepared[text], err = db.Prepare(text); err != nil {
			db.Close()
			return nil, err
		}
	}
	return s, nil
}

func (s pqStore) Each(ctx context.Context, scan func(row) error, text string, args ...any) (err error) {
	var rows *sql.Rows
	if stmt, ok := s.prepared[text]; ok {
		rows, err = stmt.QueryContext(ctx, args...)
	} else {
		rows, err = s.QueryContext(ctx, text, args...)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	return each(rows, scan)
}

func (s pqStore) InTx(ctx context.Context, run func(execute) error) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	err = run(func(text string, args ...any) (err error) {
		var result sql.Result
		if stmt, ok := s.prepared[text]; ok {
			result, err = tx.StmtContext(ctx, stmt).ExecContext(ctx, args...)
		} else {
			result, err = tx.ExecContext(ctx, text, args...)
		}
		if err != nil {
			return err
		}
		return touched(result.RowsAffected())
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}

func each(rows interface {
	row
	Next() bool
	Err() error
}, scan func(row) error) error {
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func touched(rows int64, err error) error {
	if err == nil && rows == 0 {
		return errNotFound
	}
	return err
}
