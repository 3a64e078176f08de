package store

import (
	"fmt"
	"sync"
	"testing"

	"middleman/workspace"
)

func anyPort(int) bool { return true }

func addWorkspaces(t *testing.T, s *Store, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("w%d", i)
		must(t, s.CreateWorkspace(ctx, workspace.Workspace{ID: ids[i], Name: ids[i], Mode: workspace.ModeDirectory, State: workspace.StateReady, CreatedAt: t0}))
	}
	return ids
}

func TestChoosePorts(t *testing.T) {
	busy := func(ports ...int) func(int) bool {
		return func(port int) bool {
			for _, p := range ports {
				if p == port {
					return false
				}
			}
			return true
		}
	}
	for _, tt := range []struct {
		name  string
		r     PortRange
		own   portBlock
		taken []portBlock
		free  func(int) bool
		want  int
	}{
		{"first", PortRange{100, 199, 10}, portBlock{}, nil, anyPort, 100},
		{"behind others", PortRange{100, 199, 10}, portBlock{}, []portBlock{{100, 10}, {110, 5}}, anyPort, 115},
		{"in a gap", PortRange{100, 199, 10}, portBlock{}, []portBlock{{100, 10}, {120, 10}}, anyPort, 110},
		{"the gap is too small", PortRange{100, 199, 10}, portBlock{}, []portBlock{{100, 10}, {119, 10}}, anyPort, 129},
		{"behind a listener", PortRange{100, 199, 10}, portBlock{}, nil, busy(104), 105},
		{"behind a listener and another", PortRange{100, 199, 10}, portBlock{}, []portBlock{{110, 10}}, busy(104), 120},
		{"its own", PortRange{100, 199, 10}, portBlock{150, 10}, nil, anyPort, 150},
		{"its own, outside of the range by now", PortRange{100, 199, 10}, portBlock{500, 10}, nil, anyPort, 500},
		{"its own, by now another's too", PortRange{100, 199, 10}, portBlock{150, 10}, []portBlock{{159, 1}}, anyPort, 100},
		{"its own, and somebody listens", PortRange{100, 199, 10}, portBlock{150, 10}, nil, busy(151), 100},
		{"another number than its own", PortRange{100, 199, 5}, portBlock{150, 10}, nil, anyPort, 100},
		{"exactly the rest", PortRange{100, 119, 10}, portBlock{}, []portBlock{{100, 10}}, anyPort, 110},
		{"one too few", PortRange{100, 118, 10}, portBlock{}, []portBlock{{100, 10}}, anyPort, 0},
		{"a listener at the end", PortRange{100, 109, 10}, portBlock{}, nil, busy(109), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := choosePorts(tt.r, tt.own, tt.taken, tt.free); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// Any number of creations at once get blocks of their own, and what is
// deleted is given out again.
func TestAllocatePorts(t *testing.T) {
	s := open(t)
	r := PortRange{20000, 20159, 10}
	ids := addWorkspaces(t, s, 17)
	first := make([]int, len(ids))
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { first[i], errs[i] = s.AllocatePorts(ctx, id, r, anyPort) })
	}
	wg.Wait()
	seen, without := map[int]bool{}, -1
	for i := range ids {
		if errs[i] != nil {
			wantErr(t, errs[i], ErrNoPorts)
			if without >= 0 {
				t.Errorf("two workspaces got none")
			}
			without = i
			continue
		}
		if seen[first[i]] || first[i]%10 != 0 || first[i] < r.First || first[i]+9 > r.Last {
			t.Errorf("ports from %d on", first[i])
		}
		seen[first[i]] = true
	}
	if without < 0 {
		t.Fatal("17 blocks in a range of 16")
	}
	other := (without + 1) % len(ids)
	row, err := s.Workspace(ctx, ids[other])
	must(t, err)
	must(t, s.KeepDeleted(ctx, Deleted{row, t0}, nil))
	got, err := s.AllocatePorts(ctx, ids[without], r, anyPort)
	if err != nil || got != first[other] {
		t.Errorf("after a delete: %d, %v, want %d", got, err, first[other])
	}
	must(t, s.ReviveDeleted(ctx, ids[other], ids[other]))
	_, err = s.AllocatePorts(ctx, ids[other], r, anyPort)
	wantErr(t, err, ErrNoPorts)
	w, err := s.Workspace(ctx, ids[other])
	if err != nil || w.Ports != 0 || w.Port != 0 {
		t.Errorf("restored without ports, the row says %d, %d, %v", w.Port, w.Ports, err)
	}
	_, err = s.AllocatePorts(ctx, "none", r, anyPort)
	wantErr(t, err, ErrNotFound)
}
