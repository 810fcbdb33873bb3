// Command documented is the contract on Go's net/http with encoding/json, and with pgxpool or database/sql and lib/pq, as their
// documentation shows them.
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
)

func main() {
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil {
		runtime.GOMAXPROCS(workers)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	db, err := openStore(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer db.close()
	pgx, _ := db.(*database)
	app := &app{db: db, pgx: pgx, accounts: load(ctx, db.accounts)}
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

func openStore(ctx context.Context) (store, error) {
	if os.Getenv("DB_DRIVER") == "pq" {
		return openPQ()
	}
	return openDatabase(ctx)
}
