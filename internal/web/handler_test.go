package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// get asks the handler for target with headers "Name: value".
func get(t *testing.T, method, target string, headers ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func TestHandlerAnswers(t *testing.T) {
	const page = "text/html; charset=utf-8"
	for _, test := range []struct {
		name, method, target string
		headers              []string
		status               int
		contentType          string
	}{
		{"the page", "GET", "/", nil, 200, page},
		{"head", "HEAD", "/", nil, 200, page},
		{"a view of a name with a dot", "GET", "/w/release-1.2", []string{"Sec-Fetch-Mode: navigate", "Accept: text/html"}, 200, page},
		{"a view", "GET", "/w/fix-login", []string{"Sec-Fetch-Mode: navigate", "Accept: text/html"}, 200, page},
		{"a view without fetch metadata", "GET", "/w/fix-login", []string{"Accept: text/html,*/*"}, 200, page},
		{"a fetch of no file", "GET", "/w/fix-login", []string{"Sec-Fetch-Mode: cors", "Accept: text/html"}, 404, ""},
		{"a script that is gone", "GET", "/assets/main-OLD.js", []string{"Accept: text/html"}, 404, ""},
		{"a program", "GET", "/w/fix-login", []string{"Accept: */*"}, 404, ""},
		{"an escape", "GET", "/../handler.go", nil, 404, ""},
		{"the service worker", "GET", "/sw.js", []string{"Sec-Fetch-Dest: serviceworker", "Sec-Fetch-Mode: same-origin"}, 200, "text/javascript; charset=utf-8"},
		{"the icon", "GET", "/icon.svg", nil, 200, "image/svg+xml"},
		{"the licences", "GET", "/licenses.txt", nil, 200, "text/plain; charset=utf-8"},
		{"a post", "POST", "/", nil, 405, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			response := get(t, test.method, test.target, test.headers...)
			if response.StatusCode != test.status {
				t.Errorf("status %d, want %d", response.StatusCode, test.status)
			}
			if got := response.Header.Get("Content-Type"); test.contentType != "" && got != test.contentType {
				t.Errorf("content type %q, want %q", got, test.contentType)
			}
			policy := response.Header.Get("Content-Security-Policy")
			for _, rule := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types middleman", "worker-src 'self'"} {
				if !strings.Contains(policy, rule) {
					t.Errorf("policy %q lacks %q", policy, rule)
				}
			}
		})
	}
}

// TestPageNamesItsAssets follows every reference of the page.
func TestPageNamesItsAssets(t *testing.T) {
	body, err := io.ReadAll(get(t, "GET", "/").Body)
	if err != nil {
		t.Fatal(err)
	}
	references := regexp.MustCompile(`(?:href|src)="(/[^"]+)"`).FindAllStringSubmatch(string(body), -1)
	if len(references) != 4 {
		t.Fatalf("%d references in the page, want icon, manifest, style and script", len(references))
	}
	for _, reference := range references {
		response := get(t, "GET", reference[1])
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", reference[1], response.StatusCode)
		}
		immutable := strings.Contains(response.Header.Get("Cache-Control"), "immutable")
		if hashed := strings.HasPrefix(reference[1], "/assets/"); hashed != immutable {
			t.Errorf("%s: cached as %q", reference[1], response.Header.Get("Cache-Control"))
		}
	}
}

// firstLoad bounds how many bytes of script a browser gets before the page is there.
// What is opened later, such as the diff, is loaded then.
const firstLoad = 210_000

func TestFirstLoadIsSmall(t *testing.T) {
	fetch := func(path string, headers ...string) string {
		body, err := io.ReadAll(get(t, "GET", path, headers...).Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	wanted := regexp.MustCompile(`src="(/assets/[^"]+)"`).FindStringSubmatch(fetch("/"))[1:]
	imported := regexp.MustCompile(`(?:from|import)"\./([^"]+)"`)
	total, seen := 0, map[string]bool{}
	for len(wanted) > 0 {
		path := wanted[0]
		wanted = wanted[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		total += len(fetch(path, "Accept-Encoding: gzip"))
		for _, m := range imported.FindAllStringSubmatch(fetch(path), -1) {
			wanted = append(wanted, "/assets/"+m[1])
		}
	}
	t.Logf("%d bytes in %d scripts", total, len(seen))
	if total > firstLoad || len(seen) < 2 {
		t.Errorf("%d bytes in %d scripts, want %d bytes at most", total, len(seen), firstLoad)
	}
}

func TestHandlerRevalidates(t *testing.T) {
	etag := get(t, "GET", "/").Header.Get("ETag")
	for _, header := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
		if got := get(t, "GET", "/", "If-None-Match: "+header).StatusCode; got != http.StatusNotModified {
			t.Errorf("If-None-Match: %s: status %d", header, got)
		}
	}
	if got := get(t, "GET", "/", `If-None-Match: "other"`).StatusCode; got != http.StatusOK {
		t.Errorf("another entity tag: status %d", got)
	}
}

func TestHandlerCompresses(t *testing.T) {
	plain, err := io.ReadAll(get(t, "GET", "/licenses.txt", "Accept-Encoding: gzip;q=0").Body)
	if err != nil {
		t.Fatal(err)
	}
	response := get(t, "GET", "/licenses.txt", "Accept-Encoding: br, gzip")
	if got := response.Header.Get("Content-Encoding"); got != "gzip" {
		t.Fatalf("content encoding %q, want gzip", got)
	}
	z, err := gzip.NewReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(z)
	if err != nil || string(unpacked) != string(plain) {
		t.Errorf("unpacked differs from plain (%d and %d bytes): %v", len(unpacked), len(plain), err)
	}
}
