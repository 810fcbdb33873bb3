package main

import (
	"context"

	"github.com/jackc/pgx/v5"

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
	connection, err := s.connect(ctx)
	if err != nil {
		return World{}, err
	}
	defer connection.Release()
	found, err := sqlc.New(connection).GetWorld(ctx, id)
	return World{found.ID, found.Randomnumber}, err
}

func (s *sqlcStore) fortunes(ctx context.Context) ([]Fortune, error) {
	connection, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer connection.Release()
	found, err := sqlc.New(connection).ListFortunes(ctx)
	fortunes := make([]Fortune, len(found))
	for i, one := range found {
		fortunes[i] = Fortune(one)
	}
	return fortunes, err
}

func (s *sqlcStore) update(ctx context.Context, ids []int32) ([]World, error) {
	connection, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer connection.Release()
	updated := make([]World, len(ids))
	return updated, pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) error {
		queries := sqlc.New(connection).WithTx(tx)
		for i, id := range ids {
			found, err := queries.GetWorld(ctx, id)
			if err != nil {
				return err
			}
			updated[i] = World{found.ID, randomNumber()}
			if err := queries.UpdateWorld(ctx, sqlc.UpdateWorldParams{Randomnumber: updated[i].RandomNumber, ID: id}); err != nil {
				return err
			}
		}
		return nil
	})
}
