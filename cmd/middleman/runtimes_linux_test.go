package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/testenv"
)

// machine is a middleman with directories of its own.
type machine struct {
	t    *testing.T
	home string
	env  []string
}

// newMachine returns a machine on which nothing runs. With its end all that it has
// started ends.
func newMachine(t *testing.T) *machine {
	t.Helper()
	home, err := os.MkdirTemp(testenv.ShortParent(), "mm")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, home: home}
	t.Cleanup(func() {
		if log, err := os.ReadFile(filepath.Join(home, "data", "server.log")); err == nil && t.Failed() {
			t.Logf("server.log of %s:\n%.4000s", home, log)
		}
		if err := endSessions(home); err != nil {
			t.Errorf("end the sessions: %v", err)
		}
		_ = waitFor("end of all", patience, func() bool { return len(processesOf(home)) == 0 })
		if left := processesOf(home); len(left) > 0 {
			t.Errorf("left behind: %v", left)
			killAll(left)
		}
		os.RemoveAll(home)
	})
	m.env = append(os.Environ(), "MIDDLEMAN_HOME="+home, "HOME="+filepath.Join(home, "user"), "LC_MIDDLEMAN_TEST="+home, "TMPDIR="+t.TempDir(), "SHELL=/bin/sh", "LC_ALL=C.UTF-8")
	if err := os.Mkdir(filepath.Join(home, "user"), 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

// try runs a command of middleman there.
func (m *machine) try(args ...string) (out, errs string, code int) {
	cmd := exec.Command("middleman", args...)
	cmd.Env = m.env
	var o, e strings.Builder
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run() // its code tells
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// run is try for a command that must succeed. It returns its output.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	out, errs, code := m.try(args...)
	if code != 0 {
		m.t.Fatalf("middleman %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return strings.TrimSpace(out)
}

// until runs a command until it prints a text, and returns its output: a list has only
// what each machine says within two seconds.
func (m *machine) until(want string, args ...string) (out string) {
	m.t.Helper()
	if err := waitFor(want, patience, func() bool { out = m.run(args...); return strings.Contains("\n"+out, want) }); err != nil {
		m.t.Errorf("middleman %s: %v:\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// killServer ends the server with SIGKILL.
func (m *machine) killServer() {
	m.t.Helper()
	pid := serverPID(m.home)
	if pid == 0 {
		m.t.Fatal("no server runs")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
	if err := waitFor("end of the server", patience, func() bool { return !alive(pid) }); err != nil {
		m.t.Fatal(err)
	}
}

// far is a machine that a hub reaches by ssh or https, through a proxy.
type far struct {
	*machine
	kind      string
	proxy     *proxy
	authority string // SHA-256 of that of its certificate, by https
	// restart starts the server again after it was killed. By ssh the hub does.
	restart func()
}

// add adds the runtime box to the hub, and returns its machine.
func (m *machine) add(kind string) *far {
	m.t.Helper()
	f := &far{machine: newMachine(m.t), kind: kind}
	if kind == "ssh" {
		port := f.sshd(m, os.Getenv("PATH"))
		f.proxy = newProxy(m.t, "127.0.0.1:"+port)
		name := must(user.Current()).Username
		m.try("runtime", "add", "box", "ssh://"+name+"@"+f.proxy.address, "--command", must(exec.LookPath("middleman")))
		if err := waitFor("box", time.Minute, func() bool { // on a loaded machine it takes a while to start a server there
			_, _, code := m.try("runtime", "check", "box")
			return code == 0
		}); err != nil {
			m.t.Fatal(err)
		}
		f.restart = func() {}
		return f
	}
	f.run("serve", "--background", "--listen", "127.0.0.1:0", "--tls", "local")
	var serve api.Serve
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(f.home, "run", "serve.json"))), &serve); err != nil {
		m.t.Fatal(err)
	}
	f.restart = func() { f.run("serve", "--background", "--listen", serve.Address, "--tls", "local") }
	f.proxy = newProxy(m.t, serve.Address)
	f.authority = authorityOf(m.t, serve.Address)
	m.joins(f, "hub")
	return f
}

// joins adds the runtime box, by https, with a token of that name.
func (m *machine) joins(f *far, token string) {
	m.t.Helper()
	file := filepath.Join(m.home, "user", "token")
	do(os.WriteFile(file, []byte(f.run("token", "create", token, "--scope", "full")+"\n"), 0o600))
	m.run("runtime", "add", "box", "https://"+f.proxy.address, "--token-file", file, "--pin", f.authority)
}

// must returns v, or panics: the test's own files and programs are there.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// do is must without a value.
func do(err error) { must(0, err) }

// authorityOf returns the SHA-256 of the authority of a server.
func authorityOf(t *testing.T, address string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sum := sha256.Sum256(conn.ConnectionState().PeerCertificates[1].Raw)
	return hex.EncodeToString(sum[:])
}

// sshd starts an sshd for this user whose commands run on f, and gives the hub an
// ssh that has its own key and known hosts. path is the PATH there. It returns the port.
func (f *far) sshd(hub *machine, path string) string {
	t := f.t
	program := testenv.RequireTool(t, "/usr/sbin/sshd")
	dir := filepath.Join(f.home, "user")
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "key"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	config := fmt.Sprintf(`Port %s
ListenAddress 127.0.0.1
HostKey %s
AuthorizedKeysFile %s
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PidFile none
SetEnv HOME=%s MIDDLEMAN_HOME=%s LC_MIDDLEMAN_TEST=%s PATH=%s
`, port, file("host"), file("key.pub"), dir, f.home, f.home, path)
	if err := os.WriteFile(file("sshd_config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		do(os.MkdirAll("/run/sshd", 0o755)) // sshd wants it of root
	}
	cmd := exec.Command(program, "-D", "-e", "-f", file("sshd_config"))
	log := must(os.Create(file("sshd.log")))
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
	})
	if err := waitFor("sshd", patience, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}); err != nil {
		t.Fatal(err, string(must(os.ReadFile(file("sshd.log")))))
	}
	known := "* " + string(must(os.ReadFile(file("host.pub"))))
	bin := filepath.Join(hub.home, "user", "bin")
	ssh := fmt.Sprintf("#!/bin/sh\nexec /usr/bin/ssh -F none -o IdentityFile=%s -o IdentitiesOnly=yes -o UserKnownHostsFile=%s \"$@\"\n", file("key"), file("known"))
	do(os.WriteFile(file("known"), []byte(known), 0o600))
	do(os.Mkdir(bin, 0o700))
	testenv.WriteProgram(t, filepath.Join(bin, "ssh"), ssh)
	hub.env = append(hub.env, "PATH="+bin+":"+os.Getenv("PATH"))
	return port
}

// eachWay runs a test by ssh and by https.
func eachWay(t *testing.T, test func(*testing.T, *machine, *far)) {
	for _, kind := range []string{"https", "ssh"} {
		t.Run(kind, func(t *testing.T) {
			hub := newMachine(t)
			test(t, hub, hub.add(kind))
		})
	}
}

// Every command that takes RUNTIME:TARGET works on a remote runtime, and nothing of
// it is on the hub.
func TestRuntimeCommands(t *testing.T) {
	eachWay(t, func(t *testing.T, hub *machine, f *far) {
		repository := testenv.NewRepo(t)
		repository.Write("file", "one\n")
		repository.Commit("one")
		has := func(out, want string) {
			t.Helper()
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in:\n%s", want, out)
			}
		}
		if out := hub.run("new", "fix", "-d", "-C", "box:"+repository.Dir, "--", "sh", "-c", `echo ready; read x; echo "got $x"; echo two >> file; exit 7`); out != "box:fix" {
			t.Errorf("new printed %q", out)
		}
		has(hub.run("wait", "box:fix", "--text", "ready", "--timeout", "60s", "--json"), `"match": "ready"`)
		has(hub.run("ls", "box:"), "box:fix")
		has(hub.run("ls", "box:", "--sessions"), "box:fix/sh")
		has(hub.run("show", "box:fix"), f.home)
		has(hub.run("status", "box:fix"), "unknown")
		hub.run("send", "box:fix", "--enter", "abc")
		if _, errs, code := hub.try("wait", "box:fix", "--exit"); code != 7 {
			t.Errorf("wait --exit: %d %s", code, errs)
		}
		has(hub.run("capture", "box:fix"), "got abc")
		has(hub.run("capture", "box:fix", "--json", "--at", "5"), `"offset":5`)
		has(hub.run("logs", "box:fix"), "got abc")
		has(hub.run("search", "got abc", "box:fix"), "box:fix/sh")
		has(hub.run("search", "got abc", "box:"), "box:fix/sh")
		if _, errs, code := hub.try("token", "create", "guest", "--session", "box:fix/sh"); code != 1 || !strings.Contains(errs, "make it on the machine of box, with `middleman token create guest --session fix/sh`") {
			t.Errorf("a token for a session there: %d %s", code, errs)
		}
		has(hub.run("diff", "box:fix"), "+two")
		cat := hub.run("run", "box:fix", "-d", "--name", "cat", "--", "cat")
		hub.run("capture", cat) // what was printed is a target here
		has(hub.run("run", "box:fix", "-d", "--json", "--", "true"), `"label": "box:fix"`)
		hub.run("stop", "box:fix/cat")
		hub.run("stop", "box:fix/cat") // one that has ended stays
		has(hub.run("logs", "box:fix/sh"), "ready")
		if _, errs, code := hub.try("rm", "box:fix"); code == 0 || !strings.Contains(errs, "would be lost: ") {
			t.Errorf("rm of changed files: %d %s", code, errs)
		}
		if _, errs, code := hub.try("push", "box:fix"); code != 1 || !strings.Contains(errs, "runtime box says: push workspace fix: the repository has no remote") {
			t.Errorf("push: %d %s", code, errs)
		}
		if err := os.Symlink(repository.Dir, filepath.Join(f.home, "user", "project")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"fix", "again", "again"} { // there is one; it is made; there is one
			if out := hub.run("new", "-A", name, "-d", "-C", "box:project"); out != "box:"+name {
				t.Errorf("new -A %s printed %q", name, out)
			}
		}
		if _, errs, code := hub.try("path", "box:fix"); code != 2 || !strings.Contains(errs, "path does not go to other machines: use it on that of box, as `middleman path fix`") {
			t.Errorf("path: %d %s", code, errs)
		}
		_, errs, _ := hub.try("rm", "box:fix", "--discard-work", "--stop-sessions")
		has(errs, "`middleman restore box:fix` brings all of it back")
		has(errs, "`middleman prune --transcripts box:fix` removes them")
		if out := hub.run("restore", "box:fix"); out != "box:fix" {
			t.Errorf("restore printed %q", out)
		}
		has(hub.run("diff", "box:fix"), "+two")
		if out := hub.until(`"label": "box:fix"`, "ls", "--json"); strings.Contains(out, `"label": "fix"`) {
			t.Errorf("the list of all machines: %s", out)
		}
		if _, errs, code := hub.try("stop", "box:fix", "fix"); code != 2 {
			t.Errorf("targets of two machines: %d %s", code, errs)
		}
		hub.run("rm", "box:again", "--stop-sessions")
		hub.run("prune", "--transcripts", "box:again")
		repository.Write(".middleman.toml", "setup = [\"test -e go\"]\n")
		repository.Commit("setup")
		hub.run("trust", "-C", "box:"+repository.Dir, "--yes", jsonField(t, hub.run("trust", "-n", "--json", "-C", "box:"+repository.Dir), "config", "hash"))
		if _, errs, code := hub.try("new", "late", "-d", "-C", "box:project", "--", "cat"); code == 0 || !strings.Contains(errs, "`middleman retry box:late` tries again, `middleman rm box:late` removes") || !strings.Contains(errs, "box says: ") || !strings.Contains(errs, "test -e go") {
			t.Errorf("a setup that fails: %d %s", code, errs)
		}
		if err := os.WriteFile(filepath.Join(f.home, "data", "workspaces", filepath.Base(repository.Dir), "late", "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if out := hub.run("retry", "box:late"); out != "box:late" {
			t.Errorf("retry printed %q", out)
		}
		hub.run("stop", "box:late")
		hub.run("runtime", "rm", "box")
		if _, errs, code := hub.try("ls", "box:"); code != 1 || !strings.Contains(errs, `there is no runtime "box"`) {
			t.Errorf("after rm: %d %s", code, errs)
		}
	})
}

// jsonField returns a text within a JSON object.
func jsonField(t *testing.T, raw string, path ...string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	text, ok := v.(string)
	if !ok {
		t.Fatalf("no %v in %s", path, raw)
	}
	return text
}

// ls of one runtime that is unreachable says so and fails, and says after two seconds that
// it waits for an answer.
func TestListOfAnUnreachableRuntime(t *testing.T) {
	m := newMachine(t)
	bin := t.TempDir()
	m.env = append(m.env, "PATH="+bin+":"+os.Getenv("PATH"))
	ssh := func(script string) {
		do(os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	ssh("exit 255")
	m.try("runtime", "add", "box", "ssh://nowhere") // it is added, and the command says that it is unreachable
	for _, args := range [][]string{{"ls", "box:"}, {"ls", "box:", "--sessions"}, {"ls", "box:", "--all"}} {
		if out, errs, code := m.try(args...); code != 1 || out != "" || errs != "middleman: runtime box: it cannot be reached; its sessions go on if its machine does\n" {
			t.Errorf("%q: exit %d\n%s%s", args, code, out, errs)
		}
	}
	m.killServer() // the next one asks at once
	ssh("echo $$ >" + bin + "/pid; exec sleep 1000")
	cmd := exec.Command("middleman", "ls", "box:")
	cmd.Env = m.env
	errs := must(cmd.StderrPipe())
	do(cmd.Start())
	lines := bufio.NewScanner(errs)
	if lines.Scan(); lines.Text() != "middleman: note: runtime box has not answered yet" {
		t.Errorf("it says %q", lines.Text())
	}
	pid := must(strconv.Atoi(strings.TrimSpace(string(must(os.ReadFile(filepath.Join(bin, "pid")))))))
	ssh("exit 255")
	do(syscall.Kill(pid, syscall.SIGKILL))
	if lines.Scan(); !strings.Contains(lines.Text(), "runtime box: it cannot be reached") {
		t.Errorf("it says %q", lines.Text())
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit %d", cmd.ProcessState.ExitCode())
	}
}
