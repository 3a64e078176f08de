package app

import (
	"slices"
	"testing"
)

func TestEnvironment(t *testing.T) {
	given := []string{
		"PATH=/bin", "GITHUB_TOKEN=secret", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=secret", "SSH_AUTH_SOCK=/s", "MIDDLEMAN_HOME=/h",
		"MIDDLEMAN_TOKEN=secret", "MIDDLEMAN_SESSION=s", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=secret", "LD_PRELOAD=/x", "=C:=x", "odd",
		"NOTIFY_SOCKET=/n", "https_proxy=http://p",
	}
	want := []string{"PATH=/bin", "LC_ALL=C", "SSH_AUTH_SOCK=/s", "MIDDLEMAN_HOME=/h", "MIDDLEMAN_SESSION=s", "NOTIFY_SOCKET=/n", "https_proxy=http://p"}
	if got := Environment(given); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if again := Environment(Environment(given)); !slices.Equal(again, want) {
		t.Errorf("twice: %q", again)
	}
}
