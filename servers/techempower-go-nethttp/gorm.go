package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// gormStore is GORM, which finds and saves entities.
type gormStore struct {
	db   *gorm.DB
	pool *sql.DB
	wait string // POOL_WAIT_MS
}

// GORM would name the tables in the plural.
func (World) TableName() string   { return "world" }
func (Fortune) TableName() string { return "fortune" }

func openGorm() (*gormStore, error) {
	dialector := postgres.New(postgres.Config{
		DSN:                  os.Getenv("DATABASE_URL"),
		PreferSimpleProtocol: os.Getenv("PREPARED") == "off",
	})
	db, err := gorm.Open(dialector, &gorm.Config{})
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(os.Getenv("POOL_SIZE"))
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err == nil {
		pool.SetMaxOpenConns(size)
		pool.SetMaxIdleConns(size)
	}
	return &gormStore{db, pool, os.Getenv("POOL_WAIT_MS")}, err
}

// with runs on the pool itself where waiting has no limit, and on a connection of it where it has.
func (s *gormStore) with(ctx context.Context, run func(*gorm.DB) error) error {
	ms, err := strconv.Atoi(s.wait)
	if err != nil {
		return run(s.db.WithContext(ctx))
	}
	waiting := ctx
	if stats := s.pool.Stats(); stats.InUse >= stats.MaxOpenConnections {
		limit, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
		waiting = limit
	}
	err = s.db.WithContext(waiting).Connection(func(db *gorm.DB) error { return run(db.WithContext(ctx)) })
	if errors.Is(err, context.DeadlineExceeded) {
		return errBusy
	}
	return err
}

func (s *gormStore) world(ctx context.Context, id int32) (world World, err error) {
	err = s.with(ctx, func(db *gorm.DB) error { return db.First(&world, id).Error })
	return world, err
}

func (s *gormStore) fortunes(ctx context.Context) (fortunes []Fortune, err error) {
	err = s.with(ctx, func(db *gorm.DB) error { return db.Find(&fortunes).Error })
	return fortunes, err
}

func (s *gormStore) update(ctx context.Context, ids []int32) ([]World, error) {
	updated := make([]World, len(ids))
	return updated, s.with(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			for i, id := range ids {
				if err := tx.First(&updated[i], id).Error; err != nil {
					return err
				}
				updated[i].RandomNumber = randomNumber()
				if err := tx.Save(&updated[i]).Error; err != nil {
					return err
				}
			}
			return nil
		})
	})
}
