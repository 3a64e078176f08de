package systemd

import (
	"strings"
	"testing"
)

func TestParseUnit(t *testing.T) {
	tests := []struct {
		name, in string
		want     Unit
		service  bool
	}{
		{"a user's service", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/middleman.service\n",
			Unit{"middleman.service", true}, true},
		{"a group below it", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/middleman.service/sub\n",
			Unit{"middleman.service", true}, true},
		{"a user's scope", "0::/user.slice/user-1000.slice/user@1000.service/middleman.slice/middleman-s1.scope\n",
			Unit{"middleman-s1.scope", true}, false},
		{"a login", "0::/user.slice/user-1000.slice/session-3.scope\n", Unit{"session-3.scope", false}, false},
		{"a system service", "0::/system.slice/cron.service\n", Unit{"cron.service", false}, true},
		{"a user's manager", "0::/user.slice/user-0.slice/user@0.service/init.scope\n", Unit{"init.scope", true}, false},
		{"the older hierarchy alone", "5:memory:/x\n1:name=systemd:/system.slice/a.service\n", Unit{"a.service", false}, true},
		{"both", "1:name=systemd:/system.slice/a.service\n0::/system.slice/b.service\n", Unit{"b.service", false}, true},
		{"both, the newer unused", "1:name=systemd:/system.slice/a.service\n0::/\n", Unit{"a.service", false}, true},
		{"both, the older unused", "1:name=systemd:/\n0::/system.slice/b.service\n", Unit{"b.service", false}, true},
		{"a container", "0::/\n", Unit{}, false},
		{"a path with a colon", "0::/system.slice/a:b.service\n", Unit{"a:b.service", false}, true},
		{"only a slice", "0::/user.slice\n", Unit{}, false},
		{"nothing", "", Unit{}, false},
		{"noise", "x\n::\n:\n", Unit{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := parseUnit(tt.in)
			if got != tt.want || got.Service() != tt.service {
				t.Errorf("got %+v, service %v, want %+v, %v", got, got.Service(), tt.want, tt.service)
			}
			if session := strings.Contains(tt.in, SessionScope("s1")); got.session() != session {
				t.Errorf("session %v, want %v", got.session(), session)
			}
		})
	}
}
