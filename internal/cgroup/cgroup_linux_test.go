package cgroup

import "testing"

// Where a cgroup is shown depends on what is mounted where.
func TestCgroupDir(t *testing.T) {
	const mounts = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
		"31 25 0:27 / /sys/fs/cgroup/uni\\040fied rw shared:9 - cgroup2 cgroup2 rw\n"
	const inside = "32 25 0:27 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for _, tt := range []struct{ name, mounts, path, want string }{
		{"beside version 1", mounts, "/a/b.scope", "/sys/fs/cgroup/uni fied/a/b.scope"},
		{"below the root of the mount", inside, "/user.slice/b.scope", "/sys/fs/cgroup/b.scope"},
		{"outside the mount", inside, "/system.slice/b.scope", ""},
		{"no mount", "", "/b.scope", ""},
	} {
		if got := cgroupDir(tt.mounts, tt.path); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
