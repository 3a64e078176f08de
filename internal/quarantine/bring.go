package quarantine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"middleman/internal/fault"
	"middleman/internal/git"
)

// Limits of one import.
const (
	maxPack      = 4 << 30 // bytes
	fewObjects   = 100     // as many are unpacked, as git does after a fetch
	fewBytes     = 8 << 20
	packHeader   = 12
	objectsField = 8 // where the header of a pack has the number of objects
)

// bring copies objects, with all that they need, into the repository: packed inside,
// checked and indexed outside. Nothing refers to them there yet.
func (i *importing) bring(ctx context.Context, objects []string) error {
	path := filepath.Join(i.in.temp, "import.pack")
	pack, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer pack.Close()
	way, err := git.TransportOf(ctx, i.s.Dirs, true)
	if err != nil {
		return err
	}
	c := i.in.look("pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q")
	if way.Partial {
		c.Args = append(c.Args, "--missing=allow-promisor")
	}
	c.Env = append(c.Env, i.in.objects())
	c.Stdin, c.Limit = strings.NewReader(i.revisions(objects)), packTime
	c.Output = &bounded{to: pack, left: maxPack}
	if _, err := c.Run(ctx); err != nil {
		return i.in.damaged(err)
	}
	fault.Here("quarantine/packed")
	if err := i.unpack(ctx, pack); err != nil {
		return err
	}
	// Without the HEADs of worktrees: some may be in the making.
	check := i.repo().Look("rev-list", "--objects", "--quiet", "--stdin", "--not", "--glob=refs/*")
	if way.Partial {
		check.Args = append(check.Args, "--exclude-promisor-objects")
	}
	check.Stdin, check.Change = strings.NewReader(strings.Join(objects, "\n")+"\n"), true
	if _, err := check.Run(ctx); err != nil {
		return fmt.Errorf("what came out of the sandbox is not complete: %w", err)
	}
	return nil
}

// revisions says what is packed: the objects, and not what the repository has. All that
// it has can be read inside too.
func (i *importing) revisions(objects []string) string {
	var b strings.Builder
	for _, object := range objects {
		b.WriteString(object + "\n")
	}
	known := refs{objects: i.r.Refs}.distinct()
	for _, object := range i.have {
		known = append(known, object)
	}
	if i.out.After != "" {
		known = append(known, i.out.After)
	}
	for _, object := range known {
		b.WriteString("^" + object + "\n")
	}
	return b.String()
}

// unpack checks the pack and stores its objects.
func (i *importing) unpack(ctx context.Context, pack *os.File) error {
	size, err := pack.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	header := make([]byte, packHeader)
	if _, err := pack.ReadAt(header, 0); err != nil {
		return fmt.Errorf("the sandbox made no pack: %w: %w", err, ErrUnreadable)
	}
	objects := binary.BigEndian.Uint32(header[objectsField:])
	if objects == 0 {
		return nil
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return err
	}
	c := i.repo().Alter("index-pack", "--stdin", "--fix-thin", "--strict", "--max-input-size="+strconv.Itoa(maxPack))
	if objects <= fewObjects && size <= fewBytes {
		c = i.repo().Alter("unpack-objects", "-q", "--strict", "--max-input-size="+strconv.Itoa(fewBytes))
	}
	c.Stdin, c.Config, c.Thrifty = pack, git.Durable, true
	if _, err := c.Run(ctx); err != nil {
		return fmt.Errorf("what came out of the sandbox is refused: %w", err)
	}
	return nil
}

// errTooLarge: an import has more bytes than maxPack.
var errTooLarge = errors.New("more than 4 GiB at once")

// bounded writes at most left bytes.
type bounded struct {
	to   io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errTooLarge
	}
	return b.to.Write(p)
}
