//go:build unix

package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
)

// pasteChunk is how much goes through one tmux buffer.
const pasteChunk = 1 << 20

// paste types p at the session's pane, whole and in order.
func (srv server) paste(ctx context.Context, t target, p []byte) error {
	for len(p) > 0 {
		n := min(len(p), pasteChunk)
		if err := srv.pasteOne(ctx, t, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// pasteOne loads p from standard input into a buffer of its own and pastes
// that: -r keeps line feeds, -d deletes the buffer.
func (srv server) pasteOne(ctx context.Context, t target, p []byte) error {
	buffer := "middleman-" + rand.Text()
	flags := "-dr"
	running, err := srv.version(ctx)
	if err != nil {
		return err
	}
	if running.has(pasteRaw) {
		flags += "S"
	}
	load := []string{"load-buffer", "-b", buffer, "-", ";"}
	out, err := srv.run(ctx, bytes.NewReader(p), append(load, t.guarded("paste-buffer", flags, "-b", buffer, "-t", t.pane)...)...)
	if err = t.refused(out, err); err != nil {
		// What was typed may be a secret; it does not stay in tmux.
		_, dropErr := srv.run(context.WithoutCancel(ctx), nil, "delete-buffer", "-b", buffer)
		if errors.Is(dropErr, errNoServer) || dropErr != nil && strings.Contains(dropErr.Error(), "no buffer") {
			dropErr = nil
		}
		return errors.Join(err, dropErr)
	}
	return nil
}
