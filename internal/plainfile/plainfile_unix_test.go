//go:build unix

package plainfile_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"middleman/internal/plainfile"
	"middleman/internal/testenv"
)

func TestReadFollowed(t *testing.T) {
	dir := testenv.ShortDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	listener, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("12345678"), 0o600),
		os.WriteFile(at("large"), []byte("123456789"), 0o600),
		os.Symlink("file", at("link")),
		os.Symlink("none", at("dangling")),
		os.Symlink("fifo", at("link to a FIFO")),
		os.Mkdir(at("directory"), 0o700),
		syscall.Mkfifo(at("fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		path string
		want error
		say  string
	}{
		{at("file"), nil, ""},
		{at("link"), nil, ""},
		{at("large"), plainfile.ErrRefused, "more than 8 bytes"},
		{at("fifo"), plainfile.ErrRefused, "a FIFO"},
		{at("link to a FIFO"), plainfile.ErrRefused, "a FIFO"},
		{at("socket"), plainfile.ErrRefused, "a socket"},
		{at("directory"), plainfile.ErrRefused, "a directory"},
		{os.DevNull, plainfile.ErrRefused, "a device"},
		{at("none"), fs.ErrNotExist, ""},
		{at("dangling"), fs.ErrNotExist, ""},
	} {
		content, err := plainfile.ReadFollowed(x.path, 8)
		if !errors.Is(err, x.want) || x.want == nil && string(content) != "12345678" || x.say != "" && !strings.Contains(err.Error(), x.say) {
			t.Errorf("%s: %q, %v", x.path, content, err)
		}
	}
}
