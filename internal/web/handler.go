package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// contentPolicy allows this origin's own files and nothing else. Styles may be
// inline because xterm.js measures and colours cells by style elements. No text
// becomes markup or script: a script here could use the key of the login. The one
// policy of Trusted Types makes one text, the address of the service worker.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; " +
	"object-src 'none'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types middleman"

// contentTypes is our own table, because mime.TypeByExtension depends on the
// machine's configuration.
var contentTypes = map[string]string{
	".css":         "text/css; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".svg":         "image/svg+xml",
	".txt":         "text/plain; charset=utf-8",
	".webmanifest": "application/manifest+json",
}

// asset is one file of the build, ready to be served.
type asset struct {
	content     []byte
	contentType string
	etag        string
	immutable   bool // its name holds a hash of its content
	gzipped     func() []byte
}

// Handler serves the web client. GET and HEAD of a file of the build answer
// that file; a navigation to any other path without a file extension, or to a
// workspace, answers the client's page, which finds its view by the path; all
// else is 404. Every answer carries the content security policy. The caller
// routes the API elsewhere and decides who may see the page.
func Handler() http.Handler {
	assets := loadAssets()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setPolicy(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		a, ok := assets[name]
		if !ok && isNavigation(r, name) {
			a, ok = assets["index.html"]
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		a.serve(w, r)
	})
}

// loadAssets reads the embedded build, keyed by path.
func loadAssets() map[string]*asset {
	assets := map[string]*asset{}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		key := strings.TrimPrefix(name, "dist/")
		assets[key] = newAsset(key, content)
		return nil
	})
	if err != nil {
		panic(err) // an embedded file system that cannot be read is a broken binary
	}
	return assets
}

func newAsset(name string, content []byte) *asset {
	sum := sha256.Sum256(content)
	contentType, ok := contentTypes[path.Ext(name)]
	if !ok {
		contentType = "application/octet-stream"
	}
	return &asset{
		content:     content,
		contentType: contentType,
		etag:        `"` + hex.EncodeToString(sum[:12]) + `"`,
		immutable:   strings.HasPrefix(name, "assets/"),
		gzipped:     sync.OnceValue(func() []byte { return compress(content) }),
	}
}

// isNavigation reports whether a browser asks for a page rather than for a
// part of one.
func isNavigation(r *http.Request, name string) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
		return false
	}
	first, _, view := strings.Cut(name, "/") // the name of a workspace may have a dot
	view = view && (first == "w" || first == "changes")
	return name == "" || ((view || path.Ext(name) == "") && strings.Contains(r.Header.Get("Accept"), "text/html"))
}

func setPolicy(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("ETag", a.etag)
	h.Set("Vary", "Accept-Encoding")
	if a.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	if matches(r.Header.Get("If-None-Match"), a.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.content
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		if packed := a.gzipped(); len(packed) < len(body) {
			h.Set("Content-Encoding", "gzip")
			body = packed
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the browser went away: nobody is left to tell
	}
}

// matches implements If-None-Match with weak comparison (RFC 9110 13.1.2).
func matches(header, etag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}

// acceptsGzip reports whether header names gzip without refusing it (q=0).
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) != "gzip" {
			continue
		}
		quality, given := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
		value, err := strconv.ParseFloat(quality, 64)
		return !given || (err == nil && value > 0)
	}
	return false
}

func compress(content []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // only a bad level is refused
	}
	_, _ = z.Write(content) // a bytes.Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
