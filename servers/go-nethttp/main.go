// Command server is the contract on Go's net/http, with pgx or lib/pq behind one store.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-version" {
		printVersions()
		return
	}
	runtime.GOMAXPROCS(number("WORKERS", 1))
	size := number("POOL_SIZE", 1)
	app := &app{slots: semaphore.NewWeighted(int64(size)), wait: math.MaxInt64, easyjson: os.Getenv("JSON") == "easyjson"}
	if ms := number("POOL_WAIT_MS", -1); ms >= 0 {
		app.wait = time.Duration(ms) * time.Millisecond
	}
	for err := app.load(size); err != nil; err = app.load(size) { // nothing listens before the database answers
		log.Print("loading `accounts`: ", err)
		time.Sleep(500 * time.Millisecond)
	}
	server := &http.Server{Addr: net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")), Handler: app.routes()}
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
		if name := strings.TrimPrefix(module.Path, "github.com/"); name == "jackc/pgx/v5" || name == "lib/pq" || name == "mailru/easyjson" {
			fmt.Print(", ", name, " ", module.Version)
		}
	}
	fmt.Println()
}
