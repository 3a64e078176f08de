package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/testenv"
	"middleman/terminal"
)

// The verbs that change a workspace there in other ways than its creation: names,
// merges, pushes, approvals, bundles.
func TestRuntimeVerbs(t *testing.T) {
	hub := newMachine(t)
	hub.add("https")
	repository, bare := testenv.NewRepo(t), testenv.EmptyRepo(t)
	repository.Write("file", "one\n")
	repository.Commit("one")
	repository.Git("remote", "add", "origin", bare.Dir)
	has := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	hook := `printf %s '{"hook_event_name":"PermissionRequest","session_id":"3f1c9a52-0000-4000-8000-000000000001","cwd":"/","tool_name":"Bash","tool_input":{"command":"make"}}' | ` +
		must(exec.LookPath("middleman")) + ` approve --agent claude; echo answered`
	hub.run("new", "fix", "-d", "-C", "box:"+repository.Dir, "--", "sh", "-c", hook)
	if err := waitFor("a request of the agent", patience, func() bool { return strings.Contains(hub.run("approvals"), "box:fix/sh") }); err != nil {
		t.Fatal(err)
	}
	id := strings.Fields(strings.Split(hub.run("approvals", "box:"), "\n")[1])[0]
	if !strings.HasPrefix(id, "box:") {
		t.Errorf("the id of a request there: %q", id)
	}
	if _, errs, code := hub.try("approve", id); code != 1 || !strings.Contains(errs, "`middleman approve "+id+" --yes`") {
		t.Errorf("approve without a terminal: %d %s", code, errs)
	}
	hub.run("approve", id, "--yes")
	hub.run("wait", "box:fix", "--exit", "--timeout", "60s")
	has(hub.run("logs", "--raw", "box:fix"), `"behavior":"allow"`)
	hub.until("allowed  token hub", "approvals", "--all")

	if out := hub.run("rename", "box:fix/sh", "hook"); out != "box:fix/hook" {
		t.Errorf("rename of a session printed %q", out)
	}
	if out := hub.run("rename", "box:fix", "mend"); out != "box:mend" {
		t.Errorf("rename of a workspace printed %q", out)
	}
	hub.run("run", "box:mend", "-d", "--name", "git", "--", "sh", "-c", "echo two >> file; git -c user.name=x -c user.email=x@example.com commit -qam two")
	hub.run("wait", "box:mend/git", "--exit", "--timeout", "60s")
	has(hub.run("merge", "box:mend", "-n"), "would be merged into")
	has(hub.run("merge", "box:mend", "--keep"), "merged into")
	has(repository.Git("log", "--format=%s"), "two")
	hub.run("push", "box:mend")
	has(bare.Git("branch", "--all"), "middleman/fix")

	hub.run("run", "box:mend", "-d", "--name", "lead", "--", "cat")
	if out := hub.run("spawn", "helper", "-d", "--parent", "box:mend/lead", "--", "sh", "-c", "exit 4"); out != "box:helper" {
		t.Errorf("spawn printed %q", out)
	}
	if out, errs, code := hub.try("wait", "box:mend/lead", "--workers"); code != 1 || !strings.Contains(out, "helper") || !strings.Contains(errs, "not every worker") {
		t.Errorf("wait for workers: %d %s%s", code, out, errs)
	}
	if out, _, code := hub.try("spawn", "--parent", "box:mend/lead", "--isolation", "shared", "second", "--", "sh", "-c", "echo of a worker; exit 5"); code != 5 || !strings.Contains(out, "of a worker") {
		t.Errorf("spawn that waits: %d %s", code, out)
	}
	has(hub.run("ls", "--workers", "box:mend", "--all"), "helper")
	testLeftovers(t, hub, repository)

	file := filepath.Join(hub.home, "team.json")
	do(os.WriteFile(file, []byte(`{"schema":1,"id":"team","revision":1,"created":"2026-11-24T01:02:03Z","profiles":{"plain":{"command":["cat","-u"]}}}`), 0o600))
	hub.run("bundle", "push", file)
	launch := []string{"new", "cat", "-d", "-C", "box:" + repository.Dir, "-p", "team/plain", "--sandbox", "none"}
	if _, errs, code := hub.try(launch...); code != 1 || !strings.Contains(errs, "middleman bundle sync") {
		t.Errorf("a launch without its bundle: %d %s", code, errs)
	}
	has(hub.run("bundle", "sync", "box"), "brought")
	has(hub.run("bundle", "sync", "box", "team"), "was there")
	has(hub.run("bundle", "list", "--on", "box"), "plain")
	has(hub.run("bundle", "check", "--on", "box", "team"), "is here")
	hub.run(launch...)
	has(hub.run("show", "box:cat"), "profile plain of team, revision 1")
	do(os.WriteFile(file, []byte(`{"schema":1,"id":"team","revision":2,"created":"2026-11-24T01:02:03Z","profiles":{"plain":{"command":["cat"]}}}`), 0o600))
	hub.run("bundle", "push", file)
	_, errs, _ := hub.try("run", "box:cat", "-d", "-p", "team/plain", "--sandbox", "none")
	has(errs, "box runs its own content of bundle team, revision 1; this machine has revision 2: `middleman bundle sync box team` brings that there, team/plain@DIGEST names one")
	if _, errs, code := hub.try("bundle", "rm", "--on", "box", "team"); code != 1 || !strings.Contains(errs, "runtime box: sessions or profiles there use the bundle") {
		t.Errorf("rm of a bundle that is used there: %d %s", code, errs)
	}
}

// testLeftovers imports, repairs, prunes and agrees to a configuration there.
func testLeftovers(t *testing.T, hub *machine, repository *testenv.Repo) {
	has := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	repository.Git("worktree", "add", "-q", "-b", "mine", filepath.Join(repository.Dir, "..", "mine"))
	has(hub.run("import", "-C", "box:"+repository.Dir), "box:mine")
	has(hub.run("ls", "box:"), "box:mine")
	hub.run("repair", "box:mine", "-n")
	has(hub.run("prune", "box:", "-n", "--json"), "leftovers")
	hub.run("prune", "-n", "--transcripts", "box:")

	repository.Write(".middleman.toml", "setup = [\"true\"]\n")
	has(hub.run("trust", "-C", "box:"+repository.Dir, "-n"), `setup = ["true"]`)
	hash := jsonField(t, hub.run("trust", "-C", "box:"+repository.Dir, "-n", "--json"), "config", "hash")
	if _, errs, code := hub.try("trust", "-C", "box:"+repository.Dir, "--yes", strings.Repeat("0", 64)); code != 1 {
		t.Errorf("agreed to another content: %d %s", code, errs)
	}
	hub.run("trust", "-C", "box:"+repository.Dir, "--yes", hash)
	has(hub.run("trust", "box:", "--list"), hash)
	if out := hub.run("trust", "--list"); strings.Contains(out, hash) {
		t.Errorf("the hub has agreed: %s", out)
	}
	has(hub.run("trust", "-C", "box:"+repository.Dir, "--revoke"), "1")
}

// Two hubs at one machine: who types is displaced by the other hub's user alone, and not
// by its own hub that comes back. A hub whose token is revoked is refused in one
// sentence, at what it has attached too; nothing there ends, and the other hub goes on.
func TestTwoHubsAndALostLogin(t *testing.T) {
	one, two := newMachine(t), newMachine(t)
	f := one.add("https")
	two.joins(f, "other")
	id := jsonField(t, one.run("new", "w", "-d", "--json", "--mode", "directory", "-C", "box:/tmp", "--", "cat"), "session", "id")
	attach := func(hub *machine, takeover bool) (terminal.Attachment, error) {
		return (&reader{t: t, hub: hub, id: id}).session().Attach(t.Context(), terminal.AttachOptions{Mode: terminal.ModeAttach, Takeover: takeover})
	}
	first, err := attach(one, false)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := attach(two, false); !isBusy(err) {
		t.Fatalf("the second hub, without a takeover: %v", err)
	}
	second, err := attach(two, true)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if m := lastOf(first); m.Kind != terminal.MessageDetached || m.Reason != terminal.DetachTakeover {
		t.Errorf("who is displaced is told %+v", m)
	}
	first.Close()
	if _, err := attach(one, false); !isBusy(err) {
		t.Errorf("the first hub has taken over by itself: %v", err)
	}

	f.run("token", "revoke", "other")
	if m := lastOf(second); m.Kind == terminal.MessageExit {
		t.Errorf("a revoked token looks like an exit: %+v", m)
	}
	for _, args := range [][]string{{"ls", "box:"}, {"send", "box:w", "x"}, {"rm", "box:w", "--stop-sessions"}, {"runtime", "check", "box"}} {
		if _, errs, code := two.try(args...); code == 0 || !strings.Contains(errs, "it does not take the token") {
			t.Errorf("%s, by a hub whose token is revoked: %d %s", args[0], code, errs)
		}
	}
	if out, errs, _ := two.try("ls", "--sessions"); strings.Contains(out+errs, "exited") || strings.Contains(out+errs, "lost") {
		t.Errorf("its list: %s%s", out, errs)
	}
	testenv.Eventually(t, time.Minute, "the writer that was revoked has left, and the other hub attaches", func() bool {
		again, err := attach(one, false)
		if err == nil {
			again.Close()
		}
		return err == nil
	})
	one.until("running", "ls", "box:", "--sessions")
}

func isBusy(err error) bool {
	_, busy := errors.AsType[*terminal.BusyError](err)
	return busy
}

// lastOf returns the last message that an attachment gets; the zero message if it breaks.
func lastOf(a terminal.Attachment) terminal.Message {
	for {
		m, err := a.Receive()
		if err != nil || m.Kind == terminal.MessageDetached || m.Kind == terminal.MessageExit {
			return m
		}
	}
}

// One list has the workspaces of all machines. While one cannot be reached, what it had
// is listed with its age, and no session of it is dead. What happens there comes with
// the events of the hub.
func TestRuntimesTogether(t *testing.T) {
	eachWay(t, func(t *testing.T, hub *machine, f *far) {
		repository := testenv.NewRepo(t)
		repository.Write("file", "one\n")
		repository.Commit("one")
		hub.run("new", "same", "-d", "-C", repository.Dir, "--", "cat")
		hub.run("new", "same", "-d", "-C", "box:"+repository.Dir, "--", "cat")
		events := hub.follow("events", "--json")
		events.await(`"type":"resync"`, "")
		if out := hub.until("\nbox:same ", "ls"); !strings.Contains(out, "\nsame ") {
			t.Errorf("ls:\n%s", out)
		}
		hub.run("run", "box:same", "-d", "--name", "other", "--", "sh", "-c", "read x; exit 3")
		events.await(`"workspace_name":"box:same"`, `"code":3`)
		hub.run("send", "box:same/other", "--enter", "x")
		events.await(`"code":3`, "")

		f.proxy.refuse()
		events.await(`"state":"unreachable"`, `"state":"exited"`)
		out, errs, code := hub.try("ls", "--sessions")
		if code != 0 || !strings.Contains(out, "unreachable") || !strings.Contains(errs, "what is listed of it is as of") || !strings.Contains(out, "\nsame/cat ") {
			t.Errorf("ls while box is away: %d\n%s%s", code, out, errs)
		}
		f.proxy.accept()
		events.await(`"state":"reachable"`, `"state":"exited"`)
		var back string
		if err := waitFor("box is back", patience, func() bool {
			back = hub.run("ls", "--sessions")
			return !strings.Contains(back, "unreachable") && strings.Contains(back, "box:same/cat")
		}); err != nil {
			t.Errorf("%v:\n%s", err, back)
		}
		hub.run("stop", "box:same/cat")
		events.await(`"state":"exited"`, "")
	})
}

// wait --exit lets the runtime wait: no output comes here, and a runtime that is away
// meanwhile tells the exit later.
func TestRuntimeWait(t *testing.T) {
	hub := newMachine(t)
	f := hub.add("https")
	hub.run("new", "w", "-d", "-C", "box:~", "--mode", "in-place", "--", "sh", "-c", "read x; yes | head -c 3000000; exit 4")
	f.proxy.set(func() { f.proxy.bytes = 0 })
	var wait *lines
	for said := ""; !strings.Contains(said, "waiting on"); {
		wait = hub.follow("wait", "box:w")
		hub.run("ls", "box:") // by the end of this it may have found the session
		f.proxy.refuse()
		said = <-wait.got // an error, if it had not
		f.proxy.accept()
		if err := waitFor("box", patience, func() bool { _, _, code := hub.try("runtime", "check", "box"); return code == 0 }); err != nil {
			t.Fatal(err)
		}
	}
	if err := waitFor("box", patience, func() bool { _, _, code := hub.try("send", "box:w", "--enter", "go"); return code == 0 }); err != nil {
		t.Fatal(err)
	}
	if code := wait.end(); code != 4 {
		t.Errorf("exit %d", code)
	}
	f.proxy.set(func() {
		if f.proxy.bytes > 1<<20 {
			t.Errorf("%d bytes came", f.proxy.bytes)
		}
	})
}

// lines are what a command prints while it runs.
type lines struct {
	t   *testing.T
	got chan string
	end func() int // waits for its end and returns the exit code
}

// follow starts a command whose output and errors are read as they come. It ends with
// the test.
func (m *machine) follow(args ...string) *lines {
	m.t.Helper()
	cmd := exec.Command("middleman", args...)
	cmd.Env = m.env
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	l := &lines{t: m.t, got: make(chan string, 1024)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(l.got)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			l.got <- scanner.Text()
		}
	}()
	l.end = sync.OnceValue(func() int {
		<-read
		_ = cmd.Wait() // its code tells
		return cmd.ProcessState.ExitCode()
	})
	m.t.Cleanup(func() {
		cmd.Process.Kill()
		l.end()
	})
	return l
}

// await waits for a line with a text. No line before it may have never, unless that is "".
func (l *lines) await(text, never string) {
	l.t.Helper()
	for late := time.After(2 * patience); ; {
		select {
		case line, more := <-l.got:
			if !more {
				l.t.Fatalf("it has ended, without a line with %q", text)
			}
			if strings.Contains(line, text) {
				return
			}
			if never != "" && strings.Contains(line, never) {
				l.t.Errorf("before %q came %q", text, line)
			}
		case <-late:
			l.t.Fatalf("no line with %q", text)
		}
	}
}

// A machine without middleman in PATH gets this one by ssh, once the user agrees, and the
// server that runs there goes on as it: the same process, where it listened, with its
// sessions. A second one goes beside it.
func TestRuntimeInstall(t *testing.T) {
	hub := newMachine(t)
	f := &far{machine: newMachine(t), kind: "ssh"}
	f.proxy = newProxy(t, "127.0.0.1:"+f.sshd(hub, "/usr/bin:/bin"))
	address := "ssh://" + must(user.Current()).Username + "@" + f.proxy.address
	if _, errs, code := hub.try("runtime", "add", "box", address); code != 1 || !strings.Contains(errs, "middleman runtime install") {
		t.Fatalf("a machine without middleman: %d %s", code, errs)
	}
	if _, errs, code := hub.try("runtime", "install", "box"); code != 1 || !strings.Contains(errs, "SHA-256") || !strings.Contains(errs, "--yes") {
		t.Errorf("without consent: %d %s", code, errs)
	}
	place := filepath.Join(f.home, "user", ".local/share/middleman/bin")
	if _, err := os.Stat(place); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was put there without consent: %v", err)
	}
	f.run("serve", "--background", "--listen", "127.0.0.1:0")
	do(os.Mkdir(filepath.Join(f.home, "user", "src"), 0o700))
	f.run("new", "w", "-d", "-C", filepath.Join(f.home, "user", "src"), "--mode", "in-place", "--", "cat")
	serve := filepath.Join(f.home, "run", "serve.json")
	pid, address := serverPID(f.home), jsonField(t, string(must(os.ReadFile(serve))), "address")
	hub.run("runtime", "install", "box", "--yes")
	program, _, _ := strings.Cut(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)))), "\x00") // its exe nobody may read
	if serverPID(f.home) != pid || !strings.HasPrefix(program, place) {
		t.Errorf("the server there was process %d and is %d, and its program %s", pid, serverPID(f.home), program)
	}
	if now := jsonField(t, string(must(os.ReadFile(serve))), "address"); now != address {
		t.Errorf("it listened on %s, and listens on %s", address, now)
	}
	hub.run("send", "box:w", "--enter", "goes on")
	hub.run("wait", "box:w", "--text", "goes on", "--timeout", "60s")
	other := filepath.Join(hub.home, "other")
	do(os.WriteFile(other, []byte("#!/bin/sh\nexec "+must(exec.LookPath("middleman"))+" \"$@\"\n"), 0o700))
	hub.run("runtime", "install", "box", "--binary", other, "--yes")
	if out := hub.until("running", "ls", "--sessions"); !strings.Contains(out, "box:w/cat") {
		t.Errorf("with another program:\n%s", out)
	}
	if all := must(filepath.Glob(place + "/*/*")); len(all) != 2 {
		t.Errorf("there are %q", all)
	}
	bad := filepath.Join(hub.home, "bad")
	do(os.WriteFile(bad, []byte("#!/bin/sh\nexit 1\n"), 0o700))
	if _, _, code := hub.try("runtime", "install", "box", "--binary", bad, "--yes"); code != 1 {
		t.Errorf("a program that does not run there: exit %d", code)
	}
	if all := must(filepath.Glob(place + "/*/*")); len(all) > 2 {
		t.Errorf("a failed install has left %q", all)
	}
	do(os.WriteFile(bad, []byte("#!/bin/sh\n[ \"$1\" != server ] || { echo 'middleman: no restart today' >&2; exit 1; }\nexec "+must(exec.LookPath("middleman"))+" \"$@\"\n"), 0o700))
	if _, errs, code := hub.try("runtime", "install", "box", "--binary", bad, "--yes"); code != 1 || !strings.Contains(errs, "is not restarted as it") || !strings.Contains(errs, "no restart today") {
		t.Errorf("a restart that fails there: %d %s", code, errs)
	}
	hub.run("ls", "box:")
}
