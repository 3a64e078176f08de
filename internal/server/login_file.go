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

// linkFiles writes pages, readable by this user alone, that lead a browser to a
// login link. With the link itself in the browser's command line, another user
// could read it in /proc and use it first.
//
// A confined browser (a snap, a flatpak) may not be allowed to read the runtime
// directory. It then shows that there is no such file, and the user follows the
// link that `middleman open` has printed.
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

// write makes the page of a link and returns its path. The page is removed when
// the link is used or expires, or when the server stops.
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

// linkPage returns a page that goes on to link and leaves no entry of itself in
// the browser's history.
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
		_ = os.Remove(path) // the link in it is used or expired, so an error does no harm
	}
}

// sweep removes all pages, also those that a killed server left behind.
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
