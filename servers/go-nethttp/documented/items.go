package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Item is a row of `items`.
type Item struct {
	ID         int32  `json:"id"`
	Name       string `json:"name"`
	PriceCents int32  `json:"price_cents" db:"price_cents"`
	Stock      int32  `json:"stock"`
	Revision   int32  `json:"revision"`
}

// newItem is what a body says of an item; a key that is missing stays nil.
type newItem struct {
	Name       string `json:"name"`
	PriceCents *int32 `json:"price_cents"`
	Stock      *int32 `json:"stock"`
}

var errNoItem = failure{404, "no such item"}

func (a *app) item(w http.ResponseWriter, r *http.Request) error {
	id, err := itemID(r)
	if err != nil {
		return err
	}
	return a.one(w, r, http.StatusOK, "SELECT id, name, price_cents, stock, revision FROM items WHERE id = $1", id)
}

func (a *app) items(w http.ResponseWriter, r *http.Request) error {
	after, err := int64(0), error(nil)
	if text := r.URL.Query().Get("after"); text != "" {
		after, err = strconv.ParseInt(text, 10, 32)
	}
	if err != nil || after < 0 {
		return failure{400, "`after` must be the id of an item, or 0"}
	}
	items, err := query(a.pgx, r.Context(), pgx.CollectRows[Item],
		"SELECT id, name, price_cents, stock, revision FROM items WHERE id > $1 ORDER BY id LIMIT 20", after)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, items)
}

func (a *app) createItem(w http.ResponseWriter, r *http.Request) error {
	asked, err := readItem(w, r)
	if err != nil {
		return err
	}
	return a.one(w, r, http.StatusCreated,
		"INSERT INTO items (name, price_cents, stock) VALUES ($1, $2, $3) RETURNING id, name, price_cents, stock, revision",
		asked.Name, *asked.PriceCents, *asked.Stock)
}

func (a *app) updateItem(w http.ResponseWriter, r *http.Request) error {
	id, err := itemID(r)
	if err != nil {
		return err
	}
	asked, err := readItem(w, r)
	if err != nil {
		return err
	}
	return a.one(w, r, http.StatusOK,
		"UPDATE items SET name = $1, price_cents = $2, stock = $3, revision = revision + 1 WHERE id = $4 RETURNING id, name, price_cents, stock, revision",
		asked.Name, *asked.PriceCents, *asked.Stock, id)
}

// one answers the item that a statement returns.
func (a *app) one(w http.ResponseWriter, r *http.Request, status int, sql string, args ...any) error {
	item, err := query(a.pgx, r.Context(), pgx.CollectExactlyOneRow[Item], sql, args...)
	if errors.Is(err, pgx.ErrNoRows) {
		return errNoItem
	}
	if err != nil {
		return err
	}
	return write(w, status, item)
}

// query reads what a statement returns into items, on a connection of the pool.
func query[T any](d *database, ctx context.Context, collect func(pgx.Rows, pgx.RowToFunc[Item]) (T, error), sql string, args ...any) (found T, err error) {
	connection, err := d.connect(ctx)
	if err != nil {
		return found, err
	}
	defer connection.Release()
	rows, _ := connection.Query(ctx, sql, args...) // collect returns the error too
	return collect(rows, pgx.RowToStructByName[Item])
}

func itemID(r *http.Request) (int32, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 32)
	if err != nil || id < 1 {
		return 0, errNoItem
	}
	return int32(id), nil
}

func readItem(w http.ResponseWriter, r *http.Request) (asked newItem, err error) {
	err = json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&asked)
	if err != nil || asked.Name == "" || asked.PriceCents == nil || *asked.PriceCents < 0 || asked.Stock == nil || *asked.Stock < 0 {
		return asked, failure{400, "the body must be an item: a `name`, and `price_cents` and `stock` of 0 or more"}
	}
	return asked, nil
}
