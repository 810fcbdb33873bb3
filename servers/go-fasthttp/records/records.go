// Package records holds what goes over the wire. `easyjson` generates its serialisers when the server is built.
package records

//easyjson:json
type Users []User

type User struct {
	ID        int32  `json:"id"`
	Username  string `json:"username"`
	Name      string `json:"name"`
	Sex       string `json:"sex"`
	Address   string `json:"address"`
	Mail      string `json:"mail"`
	Birthdate string `json:"birthdate"`
}

//easyjson:json
type Account struct {
	AccountID    string `json:"account_id"`
	Name         string `json:"name"`
	Email        string `json:"email"`
	Plan         string `json:"plan"`
	Currency     string `json:"currency"`
	BalanceCents int64  `json:"balance_cents"`
	Active       bool   `json:"active"`
	CreatedAt    string `json:"created_at"`
	Region       string `json:"region"`
	Note         string `json:"note"`
}

// Lookup has no AccountID if the key is missing or its value is null.
//
//easyjson:json
type Lookup struct {
	AccountID *string `json:"account_id"`
}
