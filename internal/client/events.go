package client

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/config"
)

// maxEvent bounds a line of the stream of events.
const maxEvent = 4 << 20

// Missed is the type of an event that says that events before it are missing.
const Missed = "resync"

// Events calls got for each event, also of remote runtimes, after the one with the id
// last, or from now on if that is "", until ctx ends, got returns an error, or the server ends the
// stream. It returns the id of the last event, to go on from there.
func (c *Client) Events(ctx context.Context, last string, got func(id string, e api.Event) error) (string, error) {
	req, err := c.request(ctx, http.MethodGet, "/events?runtimes=true", nil)
	if err != nil {
		return last, err
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return last, transportError(http.MethodGet, "/events", false, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return last, fmt.Errorf("ask the server: GET /events: status %d", resp.StatusCode)
	}
	if last, err = ReadEvents(resp.Body, last, got); err != nil && ctx.Err() == nil {
		return last, err
	}
	return last, context.Cause(ctx)
}

// ReadEvents reads server-sent events until the stream ends or got returns an
// error. Each has one line of data.
func ReadEvents(stream io.Reader, last string, got func(id string, e api.Event) error) (string, error) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEvent)
	for id, data := last, ""; lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case name == "id":
			id = value
		case name == "data":
			data = value
		case lines.Text() != "": // another field, or a comment
		default: // the end of an event, which has no data if it only has an id
			last = id
			if data == "" {
				continue
			}
			var e api.Event
			if err := Decode([]byte(data), &e); err != nil {
				return last, fmt.Errorf("read an event of the server: %w", err)
			}
			if data = ""; got(last, e) != nil {
				return last, nil
			}
		}
	}
	if err := lines.Err(); err != nil {
		return last, fmt.Errorf("read the server's events: %w", err)
	}
	return last, nil
}

const (
	// firstAgain and lastAgain bound the pause before the server is asked for its
	// events again.
	firstAgain = 100 * time.Millisecond
	lastAgain  = 10 * time.Second
)

// errClosed: a server that ends closes its streams in order.
var errClosed = errors.New("it has closed the connection")

// Follow calls got for each event from now on, until ctx ends or got returns an
// error, also over restarts of the server. An event of type Missed says that
// events before it are missing. Whenever the server is lost, Follow calls lost
// with the reason.
func Follow(ctx context.Context, dirs config.Dirs, got func(e api.Event) error, lost func(error)) error {
	last, ended := "", error(nil)
	pause := firstAgain
	for {
		server, err := Connect(ctx, dirs)
		if err == nil {
			last, err = server.Events(ctx, last, func(_ string, e api.Event) error {
				pause = firstAgain
				ended = got(e)
				return ended
			})
			server.Close()
		}
		if ended != nil || ctx.Err() != nil {
			return cmp.Or(ended, context.Cause(ctx))
		}
		lost(cmp.Or(err, errClosed))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(2*pause, lastAgain)
	}
}
