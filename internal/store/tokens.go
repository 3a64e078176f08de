package store

import (
	"context"
	"fmt"
)

const (
	// makerLives holds if the maker of a token is there: a token, else a login, else a
	// process of this user. Its parameters are the id of the token twice, and that of
	// the login twice.
	makerLives = `CASE WHEN ? != '' THEN EXISTS (SELECT 1 FROM tokens WHERE id = ?)
		WHEN ? != '' THEN EXISTS (SELECT 1 FROM logins WHERE id = ?) ELSE TRUE END`
	// tokenTree has the ids of the token that is its parameter, of those that it made,
	// of those that these made, and so on.
	tokenTree = `WITH RECURSIVE tree (id) AS (SELECT id FROM tokens WHERE id = ?
		UNION SELECT t.id FROM tokens t JOIN tree ON t.made_by = tree.id)`
)

// RotateToken gives the token with that id a new secret, or returns ErrNotFound.
// The old secret is not valid from then on. The token is then that of who asked, who
// knows the secret: login and madeBy are as in Token. A token that asks for itself, or
// for one that led to it, does not become its own maker.
func (s *Store) RotateToken(ctx context.Context, id, secret, login, madeBy string) error {
	r, err := s.write.ExecContext(ctx, tokenTree+` UPDATE tokens SET hash = ?, last_used_at = NULL, login = ?,
			made_by = CASE WHEN ? IN (SELECT id FROM tree) THEN made_by ELSE ? END
		WHERE id = ? AND `+makerLives,
		id, hash(secret), login, madeBy, madeBy, id, madeBy, madeBy, login, login)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("rotate token %s: %w", id, err)
	}
	return nil
}

// DeleteToken revokes the token with that id and all that it led to, and returns their
// ids. If there is none with that id, the error is ErrNotFound.
func (s *Store) DeleteToken(ctx context.Context, id string) ([]string, error) {
	ids, err := collect(ctx, s.write, scanID, tokenTree+` DELETE FROM tokens WHERE id IN (SELECT id FROM tree) RETURNING id`, id)
	if err == nil && len(ids) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("remove token %s: %w", id, err)
	}
	return ids, nil
}

// DeleteTokensOfLogin revokes the tokens that the login with that id led to, also if it
// has ended, and returns their ids.
func (s *Store) DeleteTokensOfLogin(ctx context.Context, login string) ([]string, error) {
	ids, err := collect(ctx, s.write, scanID, `DELETE FROM tokens WHERE login = ? AND login != '' RETURNING id`, login)
	if err != nil {
		return nil, fmt.Errorf("remove the tokens of login %s: %w", login, err)
	}
	return ids, nil
}

// DeleteTokensOfLogins revokes the tokens that any login led to, ended ones too, and
// returns their ids.
func (s *Store) DeleteTokensOfLogins(ctx context.Context) ([]string, error) {
	ids, err := collect(ctx, s.write, scanID, `DELETE FROM tokens WHERE login != '' RETURNING id`)
	if err != nil {
		return nil, fmt.Errorf("remove the tokens of all logins: %w", err)
	}
	return ids, nil
}
