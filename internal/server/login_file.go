package server

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// linkFiles are pages of this user's that lead a browser to a login link. A
// link in a command line is read, and used first, by whoever polls /proc.
//
// A browser that is confined (a snap, a flatpak) may be kept from reading the
// runtime directory. It then shows that there is no such file, and the link
// that `middleman open` has printed is the way.
type linkFiles struct {
	dir string
	// mu guards the fields below.
	mu     sync.Mutex
	timers map[string]*time.Timer // by path
	paths  map[digest]string      // by the link's secret
}

const linkFilePattern = "open-*.html"

func newLinkFiles(dir string) *linkFiles {
	return &linkFiles{dir: dir, timers: map[string]*time.Timer{}, paths: map[digest]string{}}
}

// write makes the page of a link and returns its path. It is removed once the
// link is used or has expired, or the server stops.
func (f *linkFiles) write(link, secret string) (path string, err error) {
	file, err := os.CreateTemp(f.dir, linkFilePattern) // 0600
	if err != nil {
		return "", fmt.Errorf("write the page that leads to a login link: %w", err)
	}
	_, err = file.WriteString(linkPage(link))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("write the page that leads to a login link: %w", errors.Join(err, os.Remove(file.Name())))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paths[digestOf(secret)] = file.Name()
	f.timers[file.Name()] = time.AfterFunc(linkLife, func() { f.remove(secret) })
	return file.Name(), nil
}

// linkPage goes on to link without leaving itself in the browser's way back.
func linkPage(link string) string {
	return strings.ReplaceAll(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>middleman</title>
<script>location.replace("LINK")</script>
<meta http-equiv="refresh" content="1; url=LINK">
<p><a href="LINK">Log in to middleman</a></p></html>
`, "LINK", html.EscapeString(link))
}

// remove removes the page of the link with that secret, if it has one.
func (f *linkFiles) remove(secret string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if path, ok := f.paths[digestOf(secret)]; ok {
		delete(f.paths, digestOf(secret))
		f.timers[path].Stop()
		delete(f.timers, path)
		_ = os.Remove(path) // it is of no use any more, there or not
	}
}

// sweep removes all pages, also those that a killed server has left.
func (f *linkFiles) sweep() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, timer := range f.timers {
		timer.Stop()
	}
	clear(f.timers)
	clear(f.paths)
	left, err := filepath.Glob(filepath.Join(f.dir, linkFilePattern))
	for _, path := range left {
		if e := os.Remove(path); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
