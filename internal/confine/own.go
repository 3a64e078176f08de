package confine

import (
	"os"
	"path/filepath"
	"slices"

	"middleman/internal/agent"
	"middleman/internal/config"
	"middleman/internal/git"
	"middleman/internal/grants"
)

// ownReadings are middleman's: settings and policy, which decide what the next sandbox opens,
// certificates, and what the settings name that runs outside. Directories that are links are
// refused already, see config.Dirs.Touches.
func (b *builder) ownReadings() (all []reading) {
	files := []string{b.Dirs.Config, b.Dirs.TLS()}
	named := b.namedByOwn(b.Notify, b.Profiles)
	if settings, err := config.Load(b.Dirs.File()); err == nil { // the next server does not start with others
		for _, path := range []string{settings.TLS.Cert, settings.TLS.Key} {
			if filepath.IsAbs(path) {
				files = append(files, path)
			}
		}
		named = append(named, b.namedByOwn(settings.Notify.Command, settings.Profiles)...)
	}
	for _, path := range files {
		all = append(all, reading{path: path, reader: "middleman"})
	}
	all = append(all, b.readings("middleman", "your config.toml", named)...)
	if policy, err := grants.Load(b.Dirs.Policy()); err == nil { // without one no secret is asked for
		named = git.NamedByArguments("secrets.command", policy.Secrets.Command, string(filepath.Separator), b.Home)
		all = append(all, b.readings("middleman", "your policy.toml", thatMatter(named))...)
	}
	return all
}

// namedByOwn returns what the command for notices, which runs in the home directory, and the
// programs of the user's profiles are, which have no sandbox in some sessions.
func (b *builder) namedByOwn(notify []string, profiles map[string]agent.Definition) []git.Named {
	named := git.NamedByArguments("notify.command", notify, b.Home, b.Home)
	for name, profile := range profiles {
		for _, argv := range [][]string{profile.Command, profile.Resume} {
			named = append(named, git.NamedByArguments("profiles."+name, argv, "", b.Home)...)
		}
	}
	return thatMatter(named)
}

// thatMatter returns what a program in the sandbox could gain by: what is there, and what
// would be run. An argument that is no file may be anything.
func thatMatter(named []git.Named) []git.Named {
	return slices.DeleteFunc(named, func(n git.Named) bool {
		if n.Runs || !n.Word {
			return false
		}
		_, err := os.Lstat(n.Path)
		return err != nil
	})
}

// readings returns what settings name as what one program reads. of says whose they are.
func (b *builder) readings(reader, of string, named []git.Named) (all []reading) {
	for _, n := range named {
		paths := []string{n.Path}
		if n.Program != "" {
			paths = b.found(n.Program)
		}
		for _, path := range paths {
			all = append(all, reading{path: path, reader: reader, setting: n.Setting, of: of, file: n.Word})
		}
	}
	return all
}
