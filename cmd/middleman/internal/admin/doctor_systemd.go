package admin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/service"
	"middleman/internal/client"
	"middleman/internal/systemd"
	"middleman/terminal"
)

// checkSystemd reports whether sessions depend on a systemd unit: if the server
// runs in a service, each session should run in a scope of its own.
func (c commands) checkSystemd(ctx context.Context) []finding {
	if runtime.GOOS != "linux" {
		return nil
	}
	if !systemd.Booted() {
		return []finding{{"systemd", "ok", "does not manage this system, and middleman does not need it"}}
	}
	unit := c.serverUnit(ctx)
	found := []finding{c.checkUnit(unit), checkScopes(unit)}
	found = append(found, c.checkSessionUnits(ctx)...)
	if hint := service.Hint(); hint != "" && unit.User {
		found = append(found, finding{"linger", "note", hint})
	}
	return found
}

// serverUnit returns the unit of the running server, or the zero Unit.
func (c commands) serverUnit(ctx context.Context) systemd.Unit {
	server, err := client.Connect(ctx, c.Dirs)
	if err != nil {
		return systemd.Unit{}
	}
	server.Close()
	serve, err := client.ReadServe(c.Dirs)
	if err != nil {
		return systemd.Unit{}
	}
	unit, err := systemd.UnitOf(serve.PID)
	if err != nil { // the server has ended since
		return systemd.Unit{}
	}
	return unit
}

func (c commands) checkUnit(unit systemd.Unit) finding {
	if !unit.Service() {
		return finding{"systemd", "ok", "running; the server is not in a service (`middleman service install` makes one)"}
	}
	return finding{"systemd", "ok", "running; the server is in " + unit.Name}
}

// checkScopes reports whether systemd can make scopes for sessions, which
// matters if the server runs in a service.
func checkScopes(unit systemd.Unit) finding {
	err := systemd.ScopeUsable(unit)
	switch {
	case err == nil:
		return finding{"systemd scopes", "ok", "available"}
	case unit.Service():
		return finding{"systemd scopes", "note", "not available, so sessions may end with " + unit.Name + ": " + err.Error()}
	}
	return finding{"systemd scopes", "ok", "not available, and not needed: " + err.Error()}
}

// checkSessionUnits reports the sessions that run inside a service.
func (c commands) checkSessionUnits(ctx context.Context) []finding {
	list, err := catalog.Read(ctx, c.CLI)
	if err != nil {
		return nil // findLeftovers reports this error
	}
	var found []finding
	for _, s := range list.Sessions {
		if s.State != terminal.StateRunning || s.PID == 0 {
			continue
		}
		unit, err := systemd.UnitOf(s.PID)
		if err != nil || !unit.Service() {
			continue
		}
		detail := fmt.Sprintf("runs inside %s: it ends when that unit is stopped, unless the unit sets KillMode=process", unit.Name)
		if log := filepath.Join(c.Dirs.Sessions(), s.ID, "owner.log"); hasText(log) {
			detail += "; the reason is in " + log
		}
		found = append(found, finding{"session " + catalog.Label(s), "note", detail})
	}
	return found
}

func hasText(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}
