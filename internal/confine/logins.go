package confine

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"middleman/internal/agent"
	"middleman/internal/plainfile"
	"middleman/internal/private"
)

// How a login comes out of a sandbox:
//
//  1. The settings name the profile, the profile names the file, and at the start of a
//     session the copy inside has the user's file as it is outside.
//  2. The program replaces the file in its copy. It must be a plain file of JSON with the
//     keys of the user's and other tokens: so no setting comes in with it.
//  3. The user's file must be as it was. It is exchanged with the new one, and what came
//     out of the exchange must be that too; else the exchange is undone.
//
// Everything inside is hostile, and nothing there is followed. What is refused stays in the
// copy, and is told once.

const (
	loginsName = "logins.json" // in the private directory of a workspace
	loginsLock = "logins.lock"
	maxLogin   = 64 << 10 // bytes of a login
	maxLogins  = 1 << 20  // bytes of what is known of all logins of a workspace
	renewTime  = 10 * time.Second
)

// login is a file that a sandboxed program may renew.
type login struct {
	Dir  string `json:"dir"`  // of the user's, without links
	Name string `json:"name"` // of the file in both directories
	Copy string `json:"copy"` // the directory of the copy
	// Outside and Inside are the SHA-256 of the files when both last had the same login.
	Outside string `json:"outside"`
	Inside  string `json:"inside"`
}

// errForm: what the program wrote is no renewal of the login that was there.
var errForm = errors.New("it has another form than the login before")

// consented returns the logins of a directory that may come out.
func (b *builder) consented(d agent.Directory, from, to string) (found []login) {
	from, err := filepath.EvalSymlinks(from)
	if err != nil || !slices.Contains(b.Settings.Logins, b.Profile.Name) || b.Profile.Source == agent.Bundle {
		return nil
	}
	for _, name := range b.Profile.LoginsIn(d.Path) {
		outside, err1 := readLogin(from, name)
		inside, err2 := readLogin(to, name)
		if err1 == nil && err2 == nil && bytes.Equal(outside, inside) {
			found = append(found, login{Dir: from, Name: name, Copy: to, Outside: digest(outside), Inside: digest(inside)})
		}
	}
	return found
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// watchLogins adds logins to those that RenewLogins looks at, in place of what was known of
// the same files.
func (m Maker) watchLogins(ctx context.Context, workspace string, more []login) error {
	if len(more) == 0 {
		return nil
	}
	return m.changeLogins(ctx, workspace, func(known []login) []login {
		known = slices.DeleteFunc(known, func(l login) bool {
			return slices.ContainsFunc(more, func(n login) bool { return n.Copy == l.Copy && n.Name == l.Name })
		})
		return append(known, more...)
	})
}

// changeLogins changes what is known of the logins of a workspace.
func (m Maker) changeLogins(ctx context.Context, workspace string, change func([]login) []login) error {
	dir := m.Dirs.Private(workspace)
	if err := private.MakeDir(dir); err != nil {
		return err
	}
	lock, err := private.AwaitLock(ctx, filepath.Join(dir, loginsLock))
	if err != nil {
		return err
	}
	defer lock.Close()
	file := filepath.Join(dir, loginsName)
	before, err := private.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = []byte("[]"), nil
	}
	var known []login
	if err == nil {
		err = json.Unmarshal(before, &known)
	}
	if err != nil {
		return fmt.Errorf("read which logins a sandbox may renew: %w", err)
	}
	after, err := json.Marshal(change(known))
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	return private.Replace(file, after, private.Durable)
}

// RenewLogins brings logins out that programs in the sandbox of a workspace have renewed,
// if the user agreed to that. It returns their files, and an error for what it refused,
// which it does not refuse again.
func (m Maker) RenewLogins(ctx context.Context, workspace string) (renewed []string, err error) {
	if _, err := os.Lstat(filepath.Join(m.Dirs.Private(workspace), loginsName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var refused []error
	err = m.changeLogins(ctx, workspace, func(known []login) []login {
		for i := range known {
			done, err := known[i].renew()
			if file := filepath.Join(known[i].Dir, known[i].Name); err != nil {
				refused = append(refused, fmt.Errorf("the login that a program in the sandbox wrote does not replace %s: %w", file, err))
			} else if done {
				renewed = append(renewed, file)
			}
		}
		return known
	})
	return renewed, errors.Join(append(refused, err)...)
}

// renew brings one login out. A file that is not plain, or not complete yet, is no login.
func (l *login) renew() (done bool, err error) {
	inside, err := readLogin(l.Copy, l.Name)
	if err != nil || digest(inside) == l.Inside || !json.Valid(inside) {
		return false, nil
	}
	l.Inside = digest(inside)
	outside, err := readLogin(l.Dir, l.Name)
	if err != nil {
		return false, err
	}
	if digest(outside) != l.Outside {
		return false, errors.New("yours has changed since the session began")
	}
	content, err := renewal(outside, inside)
	if err != nil {
		return false, err
	}
	if err := replaceLogin(l.Dir, l.Name, outside, content); err != nil {
		return false, err
	}
	l.Outside = digest(content)
	return true, nil
}

// readLogin reads a plain file that has one name.
func readLogin(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, info, err := plainfile.Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxLogin || !hasOneName(info) {
		return nil, fmt.Errorf("it has several names, or more than %d bytes: %w", maxLogin, plainfile.ErrRefused)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxLogin+1))
	if err == nil && len(content) > maxLogin {
		err = fmt.Errorf("it has more than %d bytes: %w", maxLogin, plainfile.ErrRefused)
	}
	return content, err
}

// renewal returns the login inside, written anew, if it is one like that outside.
func renewal(outside, inside []byte) ([]byte, error) {
	before, err := decodeLogin(outside)
	if err != nil {
		return nil, err
	}
	after, err := decodeLogin(inside)
	if err != nil {
		return nil, err
	}
	if !likeLogin(before, after) {
		return nil, errForm
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(after)
	return b.Bytes(), err
}

// decodeLogin decodes one object of JSON.
func decodeLogin(raw []byte) (v map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || v == nil {
		return nil, errForm
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errForm
	}
	return v, nil
}

// likeLogin reports whether after has the keys of before and, as its values, the same, other
// numbers, or other tokens and times. Lists and switches are the same.
func likeLogin(before, after any) bool {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range b {
			if other, has := a[key]; !has || !likeLogin(value, other) {
				return false
			}
		}
		return true
	case json.Number:
		_, ok := after.(json.Number)
		return ok
	case string:
		a, ok := after.(string)
		return ok && (a == b || isToken(b) && isToken(a))
	}
	return reflect.DeepEqual(before, after)
}

// isToken reports whether s can be a token, an id or a time: no address, no path and no
// command.
func isToken(s string) bool {
	plain := strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"'`$;&|<>(){}\\", c) }) < 0
	return s != "" && plain && !strings.Contains(s, "://") && !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "~") && !strings.HasPrefix(s, ".")
}

// errChanged: somebody else replaced the user's login meanwhile.
var errChanged = errors.New("yours was replaced at the same moment")

// replaceLogin exchanges a file of the user's that has the content before with a new one.
func replaceLogin(dir, name string, before, content []byte) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	temp := tempPattern + rand.Text()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, copiedMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Remove(temp)) }()
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := exchange(root, temp, name); err != nil {
		return err
	}
	if was, err := readLogin(dir, temp); err == nil && bytes.Equal(was, before) {
		return nil
	}
	// Theirs goes back; what came last stays.
	if err := exchange(root, temp, name); err != nil {
		return err
	}
	if ours, err := readLogin(dir, temp); err != nil || !bytes.Equal(ours, content) {
		if err := exchange(root, temp, name); err != nil {
			return err
		}
	}
	return errChanged
}
