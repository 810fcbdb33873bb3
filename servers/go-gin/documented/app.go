package main

import (
	"errors"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

type app struct {
	db       *database
	accounts map[string]Account
}

type done struct {
	OK bool `json:"ok"`
}

type message struct {
	OK      bool   `json:"ok"`
	Message string `json:"message"`
}

type txQuery struct {
	Aid   int32  `form:"aid" binding:"required,min=1"`
	Tid   int32  `form:"tid" binding:"required,min=1"`
	Bid   int32  `form:"bid" binding:"required,min=1"`
	Delta *delta `form:"delta" binding:"required"`
}

// delta may be 0, but not empty: Gin reads an empty number as 0.
type delta int32

func (d *delta) UnmarshalParam(text string) error {
	value, err := strconv.ParseInt(text, 10, 32)
	*d = delta(value)
	return err
}

type transferQuery struct {
	From   int32 `form:"from" binding:"required,min=1"`
	To     int32 `form:"to" binding:"required,min=1,nefield=From"`
	Amount int32 `form:"amount" binding:"required,min=1"`
}

// lookupBody may name an empty account, but not none.
type lookupBody struct {
	AccountID *string `json:"account_id" binding:"required"`
}

func (a *app) router() *gin.Engine {
	router := gin.New()
	router.Use(gin.Recovery(), handleErrors)
	router.NoRoute(func(c *gin.Context) { c.Error(failure{404, "not found"}) })
	router.GET("/ready", a.ready)
	router.GET("/ping", func(c *gin.Context) { c.JSON(http.StatusOK, message{true, "OK"}) })
	router.GET("/time", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"serverTime": time.Now().Unix()}) })
	router.GET("/db/ping", a.text("SELECT json_build_object('ok', true, 'message', 'OK')::text"))
	router.GET("/db/time", a.text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text"))
	router.GET("/users", a.users)
	router.POST("/tx", a.tx)
	router.POST("/transfer", a.transfer)
	router.POST("/lookup", a.lookup)
	return router
}

// handleErrors answers the error that a handler has left in the context.
func handleErrors(c *gin.Context) {
	c.Next()
	if len(c.Errors) == 0 {
		return
	}
	last, told := c.Errors.Last(), failure{500, "the database failed"}
	if last.IsType(gin.ErrorTypeBind) {
		told = failure{400, last.Error()}
	} else if !errors.As(last, &told) {
		log.Print(last)
	}
	if told.status == http.StatusServiceUnavailable {
		c.Header("Retry-After", "1")
	}
	c.JSON(told.status, message{false, told.message})
}

func (a *app) ready(c *gin.Context) {
	if err := a.db.ready(c.Request.Context()); err != nil {
		c.Error(failure{503, "the database does not answer"})
		return
	}
	c.Status(http.StatusNoContent)
}

func (a *app) text(sql string) gin.HandlerFunc {
	return func(c *gin.Context) {
		text, err := a.db.text(c.Request.Context(), sql)
		if err != nil {
			c.Error(err)
			return
		}
		c.Data(http.StatusOK, "application/json; charset=utf-8", []byte(text))
	}
}

func (a *app) users(c *gin.Context) {
	users, err := a.db.users(c.Request.Context())
	if err != nil {
		c.Error(err)
		return
	}
	c.JSON(http.StatusOK, users)
}

func (a *app) tx(c *gin.Context) {
	var query txQuery
	if err := c.ShouldBindQuery(&query); err != nil {
		c.Error(err).SetType(gin.ErrorTypeBind)
		return
	}
	if err := a.db.tx(c.Request.Context(), query.Aid, query.Tid, query.Bid, int32(*query.Delta)); err != nil {
		c.Error(err)
		return
	}
	c.JSON(http.StatusOK, done{true})
}

func (a *app) transfer(c *gin.Context) {
	var query transferQuery
	if err := c.ShouldBindQuery(&query); err != nil {
		c.Error(err).SetType(gin.ErrorTypeBind)
		return
	}
	if err := a.db.transfer(c.Request.Context(), query.From, query.To, query.Amount); err != nil {
		c.Error(err)
		return
	}
	c.JSON(http.StatusOK, done{true})
}

func (a *app) lookup(c *gin.Context) {
	var body lookupBody
	if err := c.ShouldBindJSON(&body); err != nil {
		c.Error(err).SetType(gin.ErrorTypeBind)
		return
	}
	account, found := a.accounts[*body.AccountID]
	if !found {
		c.Error(errNoAccount)
		return
	}
	c.JSON(http.StatusOK, account)
}
