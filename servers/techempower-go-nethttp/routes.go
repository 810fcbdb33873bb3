package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const worlds, mostQueries = 10_000, 500

type World struct {
	ID           int32 `json:"id"`
	RandomNumber int32 `json:"randomNumber" gorm:"column:randomnumber"`
}

type Fortune struct {
	ID      int32
	Message string
}

// store is the database as the routes see it.
type store interface {
	world(ctx context.Context, id int32) (World, error)
	fortunes(ctx context.Context) ([]Fortune, error)
	// update reads the rows, gives each another number and writes it, all in one transaction.
	update(ctx context.Context, ids []int32) ([]World, error)
}

var errBusy = errors.New("no connection in time")

//go:embed fortunes.html
var page string
var fortunesPage = template.Must(template.New("fortunes").Parse(page))

// handler is an http.Handler that may fail.
type handler func(http.ResponseWriter, *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server", "Go")
	err := h(w, r)
	if errors.Is(err, errBusy) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	} else if err != nil {
		log.Print(err)
		http.Error(w, "the request failed", http.StatusInternalServerError)
	}
}

func routes(db store) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /plaintext", handler(plaintext))
	mux.Handle("GET /json", handler(func(w http.ResponseWriter, r *http.Request) error {
		return write(w, map[string]string{"message": "Hello, World!"})
	}))
	mux.Handle("GET /db", handler(func(w http.ResponseWriter, r *http.Request) error {
		world, err := db.world(r.Context(), randomNumber())
		return answer(w, world, err)
	}))
	mux.Handle("GET /queries", handler(func(w http.ResponseWriter, r *http.Request) error {
		found := make([]World, queries(r))
		for i := range found {
			var err error
			if found[i], err = db.world(r.Context(), randomNumber()); err != nil {
				return err
			}
		}
		return write(w, found)
	}))
	mux.Handle("GET /updates", handler(func(w http.ResponseWriter, r *http.Request) error {
		updated, err := db.update(r.Context(), randomIDs(queries(r)))
		return answer(w, updated, err)
	}))
	mux.Handle("GET /fortunes", handler(func(w http.ResponseWriter, r *http.Request) error {
		fortunes, err := db.fortunes(r.Context())
		if err != nil {
			return err
		}
		return writeFortunes(w, fortunes)
	}))
	return mux
}

func plaintext(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "text/plain")
	_, err := io.WriteString(w, "Hello, World!")
	return err
}

func writeFortunes(w http.ResponseWriter, fortunes []Fortune) error {
	fortunes = append(fortunes, Fortune{Message: "Additional fortune added at request time."})
	slices.SortFunc(fortunes, func(one, other Fortune) int { return strings.Compare(one.Message, other.Message) })
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return fortunesPage.Execute(w, fortunes)
}

func answer(w http.ResponseWriter, value any, err error) error {
	if err != nil {
		return err
	}
	return write(w, value)
}

func write(w http.ResponseWriter, value any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(value)
}

// queries is the number that was asked for, within 1 and 500; what is no number is 1.
func queries(r *http.Request) int {
	number, _ := strconv.Atoi(r.URL.Query().Get("queries"))
	return min(max(number, 1), mostQueries)
}

func randomNumber() int32 { return rand.Int32N(worlds) + 1 }

// randomIDs are different, and in order, so that two requests that update the same rows wait for each other and do not deadlock.
func randomIDs(count int) []int32 {
	chosen := make(map[int32]bool, count)
	for len(chosen) < count {
		chosen[randomNumber()] = true
	}
	ids := make([]int32, 0, count)
	for id := range chosen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
