// Command server is TechEmpower's contract on Go's net/http, with pgx, GORM or code that sqlc generated.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "-version" {
		version()
		return
	}
	if workers, err := strconv.Atoi(os.Getenv("WORKERS")); err == nil {
		runtime.GOMAXPROCS(workers)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	db, err := openStore(ctx)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")), Handler: routes(db)}
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
	switch os.Getenv("MAPPER") {
	case "gorm":
		return openGorm()
	case "sqlc":
		return openSqlc(ctx)
	}
	return openPgx(ctx)
}

func version() {
	fmt.Print(runtime.Version())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			switch module.Path {
			case "github.com/jackc/pgx/v5", "gorm.io/gorm":
				fmt.Print(", ", module.Path, " ", module.Version)
			}
		}
	}
	fmt.Println()
}
