package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pgxStore is pgxpool, asked with SQL.
type pgxStore struct {
	pool *pgxpool.Pool
	wait string // POOL_WAIT_MS
}

func openPgx(ctx context.Context) (*pgxStore, error) {
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
	return &pgxStore{pool, os.Getenv("POOL_WAIT_MS")}, err
}

// connect takes a connection of the pool, which the caller releases. An acquire whose time is over fails also where a connection
// is free, so who may not wait asks the pool's counters.
func (s *pgxStore) connect(ctx context.Context) (*pgxpool.Conn, error) {
	if ms, err := strconv.Atoi(s.wait); err == nil && s.pool.Stat().AcquiredConns() >= s.pool.Config().MaxConns {
		limit, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
		ctx = limit
	}
	connection, err := s.pool.Acquire(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errBusy
	}
	return connection, err
}

// with runs on a connection of the pool.
func with[T any](ctx context.Context, s *pgxStore, run func(*pgxpool.Conn) (T, error)) (answer T, err error) {
	connection, err := s.connect(ctx)
	if err != nil {
		return answer, err
	}
	defer connection.Release()
	return run(connection)
}

func (s *pgxStore) world(ctx context.Context, id int32) (World, error) {
	return with(ctx, s, func(db *pgxpool.Conn) (World, error) { return readWorld(ctx, db, id) })
}

func (s *pgxStore) fortunes(ctx context.Context) ([]Fortune, error) {
	return with(ctx, s, func(db *pgxpool.Conn) ([]Fortune, error) {
		rows, _ := db.Query(ctx, "SELECT id, message FROM fortune") // CollectRows returns the error too
		return pgx.CollectRows(rows, pgx.RowToStructByPos[Fortune])
	})
}

func (s *pgxStore) update(ctx context.Context, ids []int32) ([]World, error) {
	return with(ctx, s, func(db *pgxpool.Conn) ([]World, error) {
		updated, batch := make([]World, len(ids)), &pgx.Batch{}
		return updated, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) (err error) {
			for i, id := range ids {
				if updated[i], err = readWorld(ctx, tx, id); err != nil {
					return err
				}
				updated[i].RandomNumber = randomNumber()
				batch.Queue("UPDATE world SET randomnumber = $1 WHERE id = $2", updated[i].RandomNumber, id)
			}
			return tx.SendBatch(ctx, batch).Close()
		})
	})
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

func readWorld(ctx context.Context, db querier, id int32) (world World, err error) {
	err = db.QueryRow(ctx, "SELECT id, randomnumber FROM world WHERE id = $1", id).Scan(&world.ID, &world.RandomNumber)
	return world, err
}
