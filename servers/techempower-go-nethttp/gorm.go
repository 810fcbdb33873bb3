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

// gormWorld and gormFortune are the entities, with the columns as GORM names them.
type gormWorld struct {
	ID           int32 `gorm:"primaryKey"`
	RandomNumber int32 `gorm:"column:randomnumber"`
}

func (gormWorld) TableName() string { return "world" }

type gormFortune struct {
	ID      int32
	Message string
}

func (gormFortune) TableName() string { return "fortune" }

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

func (s *gormStore) world(ctx context.Context, id int32) (World, error) {
	var found gormWorld
	err := s.with(ctx, func(db *gorm.DB) error { return db.First(&found, id).Error })
	return World(found), err
}

func (s *gormStore) fortunes(ctx context.Context) ([]Fortune, error) {
	var found []gormFortune
	err := s.with(ctx, func(db *gorm.DB) error { return db.Find(&found).Error })
	fortunes := make([]Fortune, len(found))
	for i, one := range found {
		fortunes[i] = Fortune(one)
	}
	return fortunes, err
}

func (s *gormStore) update(ctx context.Context, ids []int32) ([]World, error) {
	updated := make([]World, len(ids))
	return updated, s.with(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			for i, id := range ids {
				var world gormWorld
				if err := tx.First(&world, id).Error; err != nil {
					return err
				}
				world.RandomNumber = randomNumber()
				if err := tx.Save(&world).Error; err != nil {
					return err
				}
				updated[i] = World(world)
			}
			return nil
		})
	})
}
