package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// concealed are paths below the home directory that hold credentials or what others
// did. SECURITY.md has the same table.
var concealed = []struct {
	what  string
	paths []string
}{
	{"keys", []string{".ssh", ".gnupg", ".local/share/gnupg", ".config/age", ".config/sops", ".vault-token"}},
	{"clouds", []string{".aws", ".azure", ".config/gcloud", ".oci", ".config/doctl", ".config/hcloud", ".config/rclone", ".config/scw", ".fly",
		".local/share/com.vercel.cli", ".config/netlify", ".s3cfg", ".boto", ".terraform.d/credentials.tfrc.json", ".terraformrc", ".pulumi/credentials.json",
		".databrickscfg", ".snowflake", ".cloudflared", ".wrangler", ".config/.wrangler", ".config/stripe", ".config/ngrok", ".local/share/heroku"}},
	{"containers", []string{".kube", ".docker", ".config/containers/auth.json", ".config/helm"}},
	{"forges", []string{".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli", ".config/hub", ".config/tea", ".netrc"}},
	{"packages", []string{".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".config/composer/auth.json",
		".composer/auth.json", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet", ".hex/hex.config",
		".cache/huggingface/token", ".huggingface", ".kaggle"}},
	{"passwords", []string{".password-store", ".config/op", ".config/1Password", ".config/Bitwarden", ".config/Bitwarden CLI", ".config/keepassxc", ".local/share/keyrings",
		".local/share/kwalletd", ".pgpass", ".my.cnf", ".mylogin.cnf", ".dbt/profiles.yml", ".msmtprc", ".config/msmtp", "Library/Keychains", "Library/Group Containers"}},
	{"browsers and mail", []string{".mozilla", ".config/mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi",
		".config/opera", ".thunderbird", "snap", ".var/app", "Library/Cookies", "Library/Mail", "Library/Messages", "Library/Safari",
		"Library/Application Support/Google", "Library/Application Support/Firefox", "Library/Application Support/BraveSoftware"}},
	{"servers", []string{".local/share/jupyter/runtime", ".gradle/daemon", ".m2/mvnd", ".cache/bazel", ".buck/buckd", ".emacs.d/server", ".config/emacs/server", ".pm2",
		".screen", ".abduco", ".colima", ".lima", ".rd", ".orbstack", ".1password", ".bitwarden-ssh-agent.sock", ".local/state/watchman", ".mutagen",
		".local/share/pueue", ".config/syncthing", ".local/state/syncthing", ".config/transmission-daemon", ".aria2"}},
	{"displays", []string{".Xauthority", ".ICEauthority"}},
	{"histories", []string{".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".node_repl_history", ".psql_history",
		".mysql_history", ".sqlite_history", ".rediscli_history", ".lesshst", ".viminfo"}},
	{"agents", []string{".claude", ".claude.json", ".codex", ".gemini", ".config/opencode", ".local/share/opencode", ".copilot", ".config/github-copilot", ".cursor",
		".config/amp", ".local/share/amp", ".aider.conf.yml", ".config/goose"}},
}

// systemConcealed are files of the system with credentials. Root can read them, and
// others some of them. SECURITY.md names them too.
var systemConcealed = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/sudoers", "/etc/sudoers.d",
	"/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/krb5.keytab", "/etc/wireguard", "/etc/openvpn", "/etc/ppp",
	"/etc/NetworkManager/system-connections", "/etc/kubernetes", "/etc/rancher", "/etc/docker/key.json", "/etc/credstore", "/etc/credstore.encrypted",
	"/var/backups", "/var/lib/kubelet", "/var/lib/rancher", "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/libvirt", "/var/lib/lxc", "/var/lib/lxd", "/var/lib/sss", "/var/lib/cloud", "/var/lib/systemd/credential.secret", "/var/spool/cron",
	"/var/spool/mail", "/var/mail",
	"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_dsa_key"}

// DefaultHidden lists what a sandbox hides unless the settings say otherwise:
// credentials and the state of other programs below home, which is "" where the user
// has none, and middleman's own directories. Not all of it need exist; see Existing.
func DefaultHidden(home string, own ...string) (paths []string) {
	if home != "" {
		for _, group := range concealed {
			for _, name := range group.paths {
				paths = append(paths, filepath.Join(home, name))
			}
		}
	}
	return append(paths, own...)
}

// SystemHidden lists the credentials of the system that this user can read.
func SystemHidden() []string {
	return slices.DeleteFunc(slices.Clone(systemConcealed), func(path string) bool {
		f, err := os.Open(path)
		if err == nil {
			f.Close()
		}
		return err != nil
	})
}

// Hides returns the hidden path by which the program must not read path, "" if it may.
// path has no link in it.
func (p Policy) Hides(path string) (by string) {
	deepest := -1
	for _, list := range []struct {
		paths []string
		hides bool
	}{{p.Hidden, true}, {p.Show, false}, {p.Writable, false}} {
		for _, at := range list.paths {
			if len(at) >= deepest && Within(path, at) {
				deepest, by = len(at), ""
				if list.hides {
					by = at
				}
			}
		}
	}
	return by
}

// Existing returns what a policy has for paths: each once, without links, sorted.
// Missing ones are left out. A path that leads to the root or to a home directory,
// which would take away everything, is an error.
func Existing(home string, paths ...string) (all []string, err error) {
	if home != "" {
		if home, err = filepath.EvalSymlinks(home); err != nil {
			return nil, fmt.Errorf("look for what a sandbox hides: %w", err)
		}
	}
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", path, err)
		}
		if real == "/" || real == home {
			return nil, fmt.Errorf("%s leads to %s: a sandbox cannot hide that", path, real)
		}
		all = append(all, real)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
