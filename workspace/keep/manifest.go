package keep

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// maxManifest is the size limit in bytes of a manifest: a small blob can unpack
// to any size. The manifest of a million files has about 200 MiB.
const maxManifest = 512 << 20

// readSnapshot reads the manifest of w's snapshot, and returns it with its
// commit. If there is none it returns ErrNoSnapshot. It trusts nothing: any
// program that can write to the repository, or to one that is mirrored here,
// may have written it.
func readSnapshot(ctx context.Context, p git.Dirs, w model.Workspace) (s snapshot, commit string, err error) {
	commit, err = p.Ref(ctx, Ref(w.ID))
	if err != nil {
		return s, "", err
	}
	if commit == "" {
		return s, "", fmt.Errorf("%s has no %s: %w", p.CommonDir, Ref(w.ID), ErrNoSnapshot)
	}
	manifest := &bounded{most: maxManifest}
	c := p.Look("cat-file", "blob", commit+":"+manifestName)
	c.Output, c.Change = manifest, true
	if _, err := c.Run(ctx); err != nil || manifest.over != nil {
		return s, "", fmt.Errorf("read %s: %w", Ref(w.ID), cmp.Or(manifest.over, err))
	}
	if s, err = decodeManifest(manifest.buffer.Bytes(), w.ID); err != nil {
		return s, "", fmt.Errorf("read %s: %w", Ref(w.ID), err)
	}
	return s, commit, nil
}

// bounded is a buffer that refuses more than most bytes. It does not embed the
// buffer: io.Copy would then call ReadFrom, which knows no limit.
type bounded struct {
	buffer bytes.Buffer
	most   int
	over   error // of Write, which ends git with an error that tells less
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.buffer.Len()+len(p) > b.most {
		b.over = fmt.Errorf("it has more than %d bytes", b.most)
		return 0, b.over
	}
	return b.buffer.Write(p)
}

// decodeManifest parses the manifest of the workspace with that id, and refuses
// one that a delete could not have written.
func decodeManifest(data []byte, id string) (s snapshot, err error) {
	if err := json.Unmarshal(data, &s); err != nil {
		return snapshot{}, fmt.Errorf("%w: %w", ErrBadSnapshot, err)
	}
	if s.Version != snapshotVersion || s.ID != id {
		return snapshot{}, fmt.Errorf("it is version %d of workspace %s, and version %d of %s is wanted: %w",
			s.Version, plaintext.Quoted(s.ID), snapshotVersion, id, errors.ErrUnsupported)
	}
	if err := s.check(); err != nil {
		return snapshot{}, fmt.Errorf("%w: %w", ErrBadSnapshot, err)
	}
	return s, nil
}

// check refuses a manifest that a delete could not have written.
func (s snapshot) check() error {
	if s.Entry != "" && (!model.IsRefComponent(s.Entry) || !isPlainName(s.Entry)) {
		return fmt.Errorf("entry %s: %w", plaintext.Quoted(s.Entry), model.ErrEscapes)
	}
	if s.Root != "" && (!filepath.IsAbs(s.Root) || filepath.Clean(s.Root) != s.Root || strings.ContainsRune(s.Root, 0)) {
		return fmt.Errorf("root %s: not an absolute path", plaintext.Quoted(s.Root))
	}
	if s.Entry == "" && len(s.State) > 0 {
		return errors.New("git's files for a worktree, but no entry of git")
	}
	for _, b := range []*branch{&s.Branch, &s.Head} {
		if b.Name != "" {
			if err := model.CheckBranch(b.Name); err != nil {
				return err
			}
		}
		if err := b.check(); err != nil {
			return fmt.Errorf("branch %s: %w", plaintext.Quoted(b.Name), err)
		}
	}
	if err := checkFiles(s.Files); err != nil {
		return err
	}
	return checkFiles(s.State)
}

// check refuses what git could not have of a branch, and settings that do not
// belong to it.
func (b branch) check() error {
	if b.Name == "" {
		if b.Commit != "" || b.Reflog != "" || len(b.Config) > 0 {
			return errors.New("it has no name")
		}
		return nil
	}
	if b.Commit != "" && !git.IsObjectID(b.Commit) {
		return fmt.Errorf("commit %s: not the name of an object", plaintext.Quoted(b.Commit))
	}
	if b.Reflog != "" && !git.IsObjectID(b.Reflog) {
		return fmt.Errorf("reflog %s: not the name of an object", plaintext.Quoted(b.Reflog))
	}
	for _, s := range b.Config {
		if !strings.HasPrefix(string(s.Key), "branch."+b.Name+".") {
			return fmt.Errorf("setting %s is not one that a worktree has", plaintext.Quoted(string(s.Key)))
		}
	}
	return nil
}

// checkFiles refuses a list with a file before its directory, with a duplicate,
// or with a file behind a link.
func checkFiles(files []file) error {
	seen := make(map[string]fs.FileMode, len(files))
	for _, f := range files {
		name := string(f.Path)
		if err := f.check(); err != nil {
			return fmt.Errorf("file %s: %w", plaintext.Quoted(name), err)
		}
		if _, twice := seen[name]; twice {
			return fmt.Errorf("file %s: it is there twice", plaintext.Quoted(name))
		}
		if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
			if mode, is := seen[name[:slash]]; !is || !mode.IsDir() {
				return fmt.Errorf("file %s: not in a directory that comes before it", plaintext.Quoted(name))
			}
		}
		seen[name] = f.Mode
	}
	return nil
}

func (f file) check() error {
	name := string(f.Path)
	if name != "." {
		for part := range strings.SplitSeq(name, "/") {
			if !isPlainName(part) {
				return model.ErrEscapes
			}
		}
	}
	kind := f.Mode.Type()
	switch {
	case f.Mode&^(fs.ModeDir|fs.ModeSymlink|specialBits|fs.ModePerm) != 0, kind == fs.ModeDir|fs.ModeSymlink, name == "." && kind != fs.ModeDir:
		return fmt.Errorf("mode %s: not that of a file, link or directory", f.Mode)
	case f.Bits&^(f.Mode&specialBits) != 0:
		return fmt.Errorf("mode %s with bits %s", f.Mode, f.Bits)
	case (kind == 0) != git.IsObjectID(f.Blob) || kind != 0 && f.Blob != "":
		return fmt.Errorf("content %s: not the name of an object", plaintext.Quoted(f.Blob))
	case (kind == fs.ModeSymlink) != (len(f.Target) > 0) || bytes.IndexByte(f.Target, 0) >= 0:
		return fmt.Errorf("target %s: not that of a link", plaintext.Quoted(string(f.Target)))
	}
	return nil
}

// isPlainName reports whether a file can have that name in a directory on this
// system, without leaving the directory.
func isPlainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00"+string(filepath.Separator)) &&
		filepath.IsLocal(name) && !changesName(name)
}

// own returns the settings of b that a restore writes. notes names the others,
// one per line: git treats the words of some settings as options, or as a
// program that reaches a remote.
func (b branch) own() (list []setting, notes []string) {
	for _, s := range b.Config {
		name := string(s.Key)[len("branch."+b.Name+"."):]
		switch {
		case strings.Contains(name, "."): // of a branch named b.Name + "." + ..., which an older version stored here too
		case !isVariable(name) || !harmlessSetting(name, string(s.Value)):
			notes = append(notes, "was not brought back: setting "+plaintext.Quoted(string(s.Key))+" = "+plaintext.Quoted(string(s.Value)))
		default:
			list = append(list, s)
		}
	}
	return list, notes
}

// isVariable reports whether git's configuration can have a variable with that
// name.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// harmlessSetting reports whether this setting of a branch makes git run
// nothing. git uses the names in the switch, and ignores other names.
func harmlessSetting(name, value string) bool {
	if strings.ContainsRune(value, 0) {
		return false
	}
	switch strings.ToLower(name) {
	case "description":
		return true // text of any number of lines
	case "remote", "pushremote":
		return !strings.HasPrefix(value, "-") && !strings.Contains(value, "::") && printableLine(value)
	case "merge":
		ref, is := strings.CutPrefix(value, "refs/")
		return is && model.IsBranchName(ref)
	case "rebase":
		return isVariable(value)
	case "mergeoptions":
		for word := range strings.FieldsSeq(value) {
			switch word {
			case "--ff", "--no-ff", "--ff-only", "--log", "--no-log", "--squash", "--no-squash", "--commit", "--no-commit",
				"--stat", "--no-stat", "-n", "--signoff", "--no-signoff", "--edit", "--no-edit", "--autostash", "--no-autostash":
			default:
				return false
			}
		}
		return true
	}
	return printableLine(value)
}

// printableLine reports whether s has no line break and no control character.
func printableLine(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 })
}
