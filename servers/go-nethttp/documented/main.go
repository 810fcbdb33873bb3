// Command documented is the contract on Go's net/http with encoding/json and pgxpool, as their documentation shows them.
package main

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil {
		runtime.GOMAXPROCS(workers)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	pool, err := openPool(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	accounts, err := loadAccounts(ctx, pool)
	if err != nil {
		log.Fatal(err)
	}
	app := &app{pool: pool, wait: os.Getenv("POOL_WAIT_MS"), accounts: accounts}
	server := &http.Server{Addr: net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")), Handler: app.routes()}
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		os.Exit(0) // what is still in flight ends with the process
	}
}

func openPool(ctx context.Context) (*pgxpool.Pool, error) {
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
	return pgxpool.NewWithConfig(ctx, config)
}

func loadAccounts(ctx context.Context, pool *pgxpool.Pool) (map[string]Account, error) {
	rows, _ := pool.Query(ctx, "SELECT * FROM accounts") // CollectRows returns the error too
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[Account])
	accounts := make(map[string]Account, len(all))
	for _, account := range all {
		accounts[account.AccountID] = account
	}
	return accounts, err
}
