package admin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/certs"
	"middleman/internal/private"
	"middleman/internal/store"
)

// checkSecrets reports each file with a secret that other users can read or change: those
// that bundles refer to, the tokens of runtimes, and the key of the server's
// certificate; and a certificate that others can change.
// Links are followed, as when a secret is read.
func (c commands) checkSecrets(ctx context.Context) (found []finding) {
	problem := func(check, text string) { found = append(found, finding{check, "problem", text}) }
	survey := func(check, path string) {
		real, err := filepath.EvalSymlinks(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return
		case err != nil:
			problem(check, err.Error())
			return
		}
		for _, p := range private.Survey(real) {
			problem(check, p.String())
		}
		if err := private.Trusted(filepath.Dir(path)); err != nil { // others could replace the file
			problem(check, err.Error())
		}
	}
	if set := c.nextTLS(true); set.Key != "" {
		if _, err := certs.Files(set.Cert, set.Key, func(error) {}); err != nil {
			problem("certificate", err.Error())
		} else if err := private.Trusted(set.Cert); err != nil { // others could end the next start
			problem("certificate", err.Error())
		}
	}
	entries, err := os.ReadDir(c.Dirs.SecretFiles())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		problem("secrets", err.Error())
	}
	for _, entry := range entries {
		survey("secrets", filepath.Join(c.Dirs.SecretFiles(), entry.Name()))
	}
	db, err := store.OpenReadOnly(ctx, c.Dirs.Database())
	if err != nil {
		return found // the records say why
	}
	defer db.Close()
	runtimes, err := db.Runtimes(ctx)
	if err != nil {
		problem("runtimes", err.Error())
	}
	for _, r := range runtimes {
		if r.TokenFile != "" {
			survey("runtime "+r.Name, r.TokenFile)
		}
	}
	return found
}
