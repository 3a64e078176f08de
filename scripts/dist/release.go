package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// release is what all files of one run have in common.
type release struct {
	described string    // the version as the binary says it: v1.2.3, or what git describe says
	version   string    // the same for packages: 1.2.3
	time      time.Time // of all files
	notes     string    // this version's part of CHANGELOG.md
}

// newRelease finds out which release the checkout is. A described version
// replaces what git says.
func newRelease(ctx context.Context, described string) (*release, error) {
	count := 0
	if described == "" {
		var err error
		if described, err = git(ctx, "describe", "--tags", "--always", "--dirty", "--match", "v[0-9]*"); err != nil {
			return nil, err
		}
		counted, err := git(ctx, "rev-list", "--count", "HEAD")
		if err != nil {
			return nil, err
		}
		if count, err = strconv.Atoi(counted); err != nil {
			return nil, err
		}
	}
	version, final, err := packageVersion(described, count)
	if err != nil {
		return nil, err
	}
	when, err := sourceTime(ctx)
	if err != nil {
		return nil, err
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	section := "Unreleased"
	if final {
		section = version
	}
	notes, err := changesOf(string(changes), section)
	if err != nil {
		return nil, err
	}
	return &release{described: described, version: version, time: when, notes: notes}, nil
}

// sourceTime returns the time that all files get.
func sourceTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the source, %q, is no number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

var (
	tagged   = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-([A-Za-z][0-9A-Za-z.]*))?(?:-(\d+)-g([0-9a-f]+))?$`)
	untagged = regexp.MustCompile(`^([0-9a-f]{7,64})$`)
)

// packageVersion turns a version as git describes it into one that dpkg and rpm
// order as it was meant: 1.2.3~rc.1 before 1.2.3, and 1.2.3+4.gHASH, four
// commits later, behind it. Where no tag is, the number of commits orders. It
// also says whether the version is exactly a release's.
func packageVersion(described string, count int) (version string, final bool, err error) {
	commit, dirty := strings.CutSuffix(described, "-dirty")
	if m := tagged.FindStringSubmatch(commit); m != nil {
		version = m[1]
		if m[2] != "" {
			version += "~" + m[2]
		}
		var later []string
		if m[3] != "" {
			later = append(later, m[3], "g"+m[4])
		}
		if dirty {
			later = append(later, "dirty")
		}
		if len(later) > 0 {
			version += "+" + strings.Join(later, ".")
		}
		return version, m[2] == "" && len(later) == 0, nil
	}
	if m := untagged.FindStringSubmatch(commit); m != nil {
		version = fmt.Sprintf("0.0.0+%d.g%s", count, m[1])
		if dirty {
			version += ".dirty"
		}
		return version, false, nil
	}
	return "", false, fmt.Errorf("%q is no version: tags look like v1.2.3 or v1.2.3-rc.1", described)
}

// changesOf returns the section of a version: what follows "## VERSION" up to the
// next heading of that level.
func changesOf(changelog, version string) (string, error) {
	lines := strings.SplitAfter(changelog, "\n")
	var section strings.Builder
	in := false
	for _, line := range lines {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			if in {
				break
			}
			name, _, _ := strings.Cut(strings.TrimSpace(heading), " ")
			in = name == version
			continue
		}
		if in {
			section.WriteString(line)
		}
	}
	notes := strings.TrimSpace(section.String())
	if notes == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing below \"## %s\"", version)
	}
	return notes + "\n", nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
