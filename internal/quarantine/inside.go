package quarantine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/private"
	"middleman/internal/sandbox"
)

const (
	lookTime   = 2 * time.Minute
	packTime   = 30 * time.Minute
	maxMemory  = 4 << 30 // of git in the sandbox
	maxPointer = 4 << 10 // of a file such as HEAD
	readTries  = 10      // of a file that is being replaced
)

// inside runs git on the private directory, in a sandbox without network in which a
// temporary directory alone can be written to, and the private directory if asked for.
type inside struct {
	q      *Quarantine
	s      site
	root   *os.Root // the private git directory
	temp   string   // ours; the sandbox sees it at tempAt
	tempAt string
	prefix []string
	reads  []string // where git in the sandbox can be held up
}

// enter prepares the sandbox. The caller closes it.
func (q *Quarantine) enter(ctx context.Context, s site, write bool) (in *inside, err error) {
	in = &inside{q: q, s: s}
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	if in.root, err = q.open(); err != nil {
		return in, err
	}
	if err := git.CheckFiles(ctx, q.path(GitDirectory), true); err != nil {
		return in, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if in.temp, err = os.MkdirTemp(q.dir, tempName); err != nil {
		return in, err
	}
	alternates, err := s.alternates()
	if err != nil {
		return in, err
	}
	in.reads = append([]string{q.path(GitDirectory), s.CommonDir}, alternates...)
	policy, err := in.policy(ctx, alternates, write)
	if err != nil {
		return in, err
	}
	raw, err := json.Marshal(policy)
	if err != nil {
		return in, err
	}
	file := filepath.Join(in.temp, "policy.json")
	if err := private.Replace(file, raw, private.ThisBoot); err != nil {
		return in, err
	}
	self, err := executable()
	in.prefix = []string{self, sandbox.Command, "--die-with-parent", "--policy", file, "--digest", policy.Digest(), "--"}
	return in, err
}

// policy lets git read the private side, and nothing else of it write.
func (in *inside) policy(ctx context.Context, alternates []string, write bool) (sandbox.Policy, error) {
	// Links and alternates of the private side may lead anywhere.
	hidden, err := in.q.hidden(ctx)
	if err != nil {
		return sandbox.Policy{}, err
	}
	p := sandbox.Policy{
		Schema: 1, Level: sandbox.Strict, Method: in.q.method, Workspace: in.q.w.ID, Dir: "/", Temp: in.temp, Hidden: hidden,
		Network: sandbox.Network{Off: true}, Limits: sandbox.Limits{Memory: maxMemory},
	}
	in.tempAt = "/tmp"
	if in.q.mounts() {
		p.Binds, err = in.q.binds(in.s, alternates, write)
		return p, err
	}
	objects, err := filepath.EvalSymlinks(filepath.Join(in.s.CommonDir, "objects"))
	if err != nil {
		return p, err
	}
	p.Show = append([]string{in.q.path(GitDirectory), objects}, alternates...)
	// Without mounts there is no way to cut the network either.
	p.Level, p.Network.Off, in.tempAt = sandbox.Workspace, false, in.temp
	if write {
		p.Writable = []string{in.q.path(GitDirectory)}
	}
	return p, p.Check()
}

func (in *inside) close() {
	if in.root != nil {
		_ = in.root.Close()
	}
	if in.temp != "" {
		_ = os.RemoveAll(in.temp) // what is left is removed with the quarantine
	}
}

// dirs are the directories of the private side, as git in the sandbox sees them.
func (in *inside) dirs() git.Dirs {
	if !in.q.mounts() {
		return git.Dirs{GitDir: filepath.Join(in.q.path(GitDirectory), in.s.entry), CommonDir: in.q.path(GitDirectory)}
	}
	return git.Dirs{GitDir: filepath.Join(in.s.CommonDir, in.s.entry), CommonDir: in.s.CommonDir}
}

// look returns a command that reads the private side.
func (in *inside) look(args ...string) git.Command {
	c := in.dirs().Look(args...)
	c.Within, c.Dir, c.Limit, c.Reads = in.prefix, "/", lookTime, in.reads
	return c
}

// damaged is err as ErrUnreadable if git in the sandbox failed, or met a file of the private
// directory that it cannot read. It is err itself if git was not even run.
func (in *inside) damaged(err error) error {
	failed, ok := errors.AsType[*git.Error](err)
	if ok && failed.Code > 0 || sandbox.Within(git.HeldUpBy(err), in.q.path(GitDirectory)) {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return err
}

// own returns the name in the private directory of a file of the checkout.
func (in *inside) own(name string) string { return path.Join(filepath.ToSlash(in.s.entry), name) }

// settle calls read again if git of a running session replaced the file in that moment.
func settle(read func() error) (err error) {
	for range readTries {
		if err = read(); !errors.Is(err, plainfile.ErrRefused) {
			break
		}
	}
	return err
}

// pointer reads a file of the checkout such as HEAD: a ref or an object, or neither.
func (in *inside) pointer(name string) (ref, object string) {
	var raw []byte
	err := settle(func() (err error) {
		raw, err = plainfile.Read(in.root, in.own(name), maxPointer)
		return err
	})
	if err != nil {
		return "", ""
	}
	return decodePointer(raw)
}

// decodePointer decodes the first line of a file such as HEAD or MERGE_HEAD.
func decodePointer(raw []byte) (ref, object string) {
	line, _, _ := strings.Cut(string(raw), "\n")
	line = strings.TrimRight(line, " \t\r")
	if to, ok := strings.CutPrefix(line, "ref:"); ok {
		if to = strings.TrimLeft(to, " \t"); plainRef(to) {
			return to, ""
		}
		return "", ""
	}
	if git.IsObjectID(line) {
		return "", line
	}
	return "", ""
}

// staged stores the tree of the private index in the temporary directory, and returns it,
// or "" if the index has conflicts.
func (in *inside) staged(ctx context.Context) (string, error) {
	err := settle(func() error { return copyIndex(in.root, in.own("index"), filepath.Join(in.temp, "index")) })
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := os.MkdirAll(filepath.Join(in.temp, "objects", "info"), 0o700); err != nil {
		return "", err
	}
	alternate := quotedAlternate(filepath.Join(in.dirs().CommonDir, "objects")) + "\n"
	if err := os.WriteFile(filepath.Join(in.temp, "objects", "info", "alternates"), []byte(alternate), 0o600); err != nil {
		return "", err
	}
	c := in.look("write-tree")
	c.Env = append(c.Env, "GIT_INDEX_FILE="+in.tempAt+"/index", in.objects())
	tree, err := treeOf(ctx, c)
	return tree, in.damaged(err)
}

// objects is the variable by which git also sees what staged has stored.
func (in *inside) objects() string { return "GIT_OBJECT_DIRECTORY=" + in.tempAt + "/objects" }
