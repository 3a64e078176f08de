//go:build unix

package owner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
	"middleman/internal/private"
)

// imageTime bounds each run of an image that answers a question.
const imageTime = 10 * time.Second

// imageInfo is how an executable describes itself (`pty-owner --describe`).
type imageInfo struct {
	Build    string `json:"build"`
	Handover []int  `json:"handover"` // the formats of handoverState that it reads
}

// image is an executable that may take over.
type image struct {
	path string
	file *os.File
	info imageInfo
}

// openImage opens an executable and asks it for its imageInfo.
func openImage(path string) (*image, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("executable %q is not an absolute path", path)
	}
	file, err := private.OpenExecutable(path)
	if err != nil {
		return nil, fmt.Errorf("check the new executable: %w", err)
	}
	img := &image{path: path, file: file}
	if err := img.describe(); err != nil {
		img.close()
		return nil, err
	}
	return img, nil
}

func (img *image) close() { img.file.Close() }

func (img *image) describe() error {
	out, err := img.run(nil, "--describe")
	if err != nil {
		return fmt.Errorf("ask %s what it is: %w", img.path, err)
	}
	if err := json.Unmarshal(out, &img.info); err != nil {
		return fmt.Errorf("ask %s what it is: it is not middleman: %w", img.path, err)
	}
	return nil
}

// reads returns an error unless the image reads that format of handoverState.
func (img *image) reads(format int) error {
	if slices.Contains(img.info.Handover, format) {
		return nil
	}
	return fmt.Errorf("%s (build %s) cannot take over from build format %d, it reads %v",
		img.path, img.info.Build, format, img.info.Handover)
}

// check runs the image to test whether it could go on from a state.
func (img *image) check(state *os.File) error {
	out, err := img.run(state, "--check-state")
	if err == nil && string(out) != stateUnderstood {
		err = fmt.Errorf("it says %q", out)
	}
	if err != nil {
		return fmt.Errorf("%s (build %s) cannot go on from this session: %w", img.path, img.info.Build, err)
	}
	return nil
}

// run runs the image with one argument, and with file as descriptor 3. It
// returns the image's standard output.
func (img *image) run(file *os.File, arg string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), imageTime)
	defer cancel()
	path, err := execPath(img.file, img.path)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "pty-owner", arg)
	cmd.Dir = "/"
	cmd.Env = os.Environ()
	cmd.WaitDelay = time.Second
	if file != nil {
		cmd.ExtraFiles = []*os.File{file}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if errors.Is(err, unix.ECHILD) {
		err = nil // the owner's Reap was faster; the output decides
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// execPath returns the path to execute for a file that was opened as path: path
// itself if it still names that file, so that the process shows its name.
func execPath(file *os.File, path string) (string, error) {
	opened, err := file.Stat()
	if err != nil {
		return "", err
	}
	if now, err := os.Stat(path); err == nil && os.SameFile(now, opened) {
		return path, nil
	}
	return descriptorPath(file)
}

// stateUnderstood is what an image prints if it can go on from a state.
const stateUnderstood = "ok"

// answerImage answers a question of another image: it prints this image's
// imageInfo, or whether this image could go on from the state in descriptor 3.
// It returns the exit code.
func answerImage(question, build string) int {
	switch question {
	case "--describe":
		json.NewEncoder(os.Stdout).Encode(imageInfo{Build: build, Handover: []int{handoverFormat, hostedFormat}})
		return 0
	case "--check-state":
		if err := checkState(os.NewFile(3, "state")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Print(stateUnderstood)
		return 0
	}
	fmt.Fprintf(os.Stderr, "pty-owner does not know %s\n", question)
	return 2
}

// checkState returns an error unless this image understands the whole state.
func checkState(file *os.File) error {
	s, err := readState(file)
	if err != nil {
		return err
	}
	if err := fault.Error("upgrade/check"); err != nil {
		return err
	}
	o := newOwner(s.Spec, s.Dir, s.Socket, "")
	o.size = s.Size
	o.screen.init(o)
	o.screen.restore(s.Screen, s.Head)
	if !bytes.Equal(o.screen.export(), s.Screen) {
		return errors.New("the screen would not be the same")
	}
	return nil
}
