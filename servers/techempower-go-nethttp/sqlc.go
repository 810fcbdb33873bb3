package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"fairground/servers/techempower-go-nethttp/sqlc"
)

// sqlcStore is pgxpool as `pgxStore` opens it, asked through what sqlc generated.
type sqlcStore struct {
	*pgxStore
}

func openSqlc(ctx context.Context) (*sqlcStore, error) {
	opened, err := openPgx(ctx)
	return &sqlcStore{opened}, err
}

func (s *sqlcStore) world(ctx context.Context, id int32) (World, error) {
	return with(ctx, s.pgxStore, func(db *pgxpool.Conn) (World, error) {
		found, err := sqlc.New(db).GetWorld(ctx, id)
		return World{found.ID, found.Randomnumber}, err
	})
}

func (s *sqlcStore) fortunes(ctx context.Context) ([]Fortune, error) {
	return with(ctx, s.pgxStore, func(db *pgxpool.Conn) ([]Fortune, error) {
		found, err := sqlc.New(db).ListFortunes(ctx)
		fortunes := make([]Fortune, len(found))
		for i, one := range found {
			fortunes[i] = Fortune(one)
		}
		return fortunes, err
	})
}

func (s *sqlcStore) update(ctx context.Context, ids []int32) ([]World, error) {
	return with(ctx, s.pgxStore, func(db *pgxpool.Conn) ([]World, error) {
		updated := make([]World, len(ids))
		return updated, pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			queries := sqlc.New(db).WithTx(tx)
			for i, id := range ids {
				found, err := queries.GetWorld(ctx, id)
				if err != nil {
					return err
				}
				updated[i] = World{found.ID, randomNumber()}
				new := sqlc.UpdateWorldParams{Randomnumber: updated[i].RandomNumber, ID: id}
				if err := queries.UpdateWorld(ctx, new); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
