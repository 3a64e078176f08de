#!/bin/sh
# Runs inside the namespaces that record makes: hides the machine, fills a
# home directory and runs the command given as the only argument in it.
set -e
hostname box
for dir in /home /root /tmp /srv /opt /mnt /media /var/tmp; do
	if [ -d "$dir" ]; then mount -t tmpfs tmpfs "$dir"; fi
done
mkdir -p /home/u
cd /home/u

i=1
while [ $i -le 200 ]; do
	echo "line $i: the quick brown fox jumps over the lazy dog, then rests in the shade of an old oak tree"
	i=$((i + 1))
done >long.txt

cat >unicode.txt <<'EOF'
English   plain text with a few words
German    Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich
Japanese  いろはにほへと ちりぬるを 我が世誰ぞ常ならむ
Chinese   天地玄黃 宇宙洪荒 日月盈昃 辰宿列張
Korean    키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다
Greek     Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία
Russian   Съешь же ещё этих мягких французских булок
Emoji     😀 🚀 👍🏽 👨‍👩‍👧‍👦 🇩🇪 🇯🇵 ❤️ 1️⃣
Combining é à ñ ö
Boxes     ┌──┬──┐ │██│▒▒│ └──┴──┘
EOF

cat >main.c <<'EOF'
#include <stdio.h>

/* Says hello to everybody who is named. */
static void greet(const char *name, int loud)
{
	if (loud) {
		printf("HELLO, %s!\n", name);
	} else {
		printf("hello, %s\n", name);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		greet(argv[i], i % 2 == 0); // every second one loudly
	}
	return argc > 1 ? 0 : 1;
}
EOF

mkdir -p project/docs project/src
cp main.c project/src/
cp unicode.txt project/docs/
echo "# project" >project/README.md

cat >progress.py <<'EOF'
import sys
import time

names = ["alpha", "beta", "gamma", "delta"]
print("\n" * (len(names) - 1))
for step in range(0, 101, 5):
    sys.stdout.write("\x1b[%dA" % len(names))
    for n, name in enumerate(names):
        done = min(100, step * (n + 2) // 2)
        bar = "█" * (done * 40 // 100)
        color = 2 if done == 100 else 3
        sys.stdout.write("\r\x1b[K%-8s \x1b[3%dm%-40s\x1b[m %3d%%\n" % (name, color, bar, done))
    sys.stdout.flush()
    time.sleep(0.02)
print("✅ all done")
EOF

cat >curses_demo.py <<'EOF'
import curses
import locale

locale.setlocale(locale.LC_ALL, "")


def draw(screen):
    screen.erase()
    rows, cols = screen.getmaxyx()
    screen.box()
    screen.addstr(0, 2, " %d x %d " % (cols, rows), curses.A_REVERSE)
    for n in range(1, min(curses.COLORS, 16)):
        curses.init_pair(n, n, -1)
        screen.addstr(1 + n, 3, "colour %2d" % n, curses.color_pair(n) | (curses.A_BOLD if n % 2 else 0))
    for n, text in enumerate(["漢字かな", "naïve café", "😀 emoji", "underlined"]):
        screen.addstr(3 + n, 30, text, curses.A_UNDERLINE if n == 3 else 0)
    screen.hline(rows - 3, 1, curses.ACS_HLINE, cols - 2)
    screen.addstr(rows - 2, 2, "q quits", curses.A_DIM)
    screen.refresh()


def main(screen):
    curses.use_default_colors()
    curses.curs_set(0)
    while True:
        draw(screen)
        if screen.getch() == ord("q"):
            return


curses.wrapper(main)
EOF

mkdir hello
cat >hello/go.mod <<'EOF'
module example.org/hello

go 1.21
EOF
cat >hello/main.go <<'EOF'
package main

import "os"

func greet(name string) string { return "hello, " + name }

func main() {
	for _, name := range os.Args[1:] {
		os.Stdout.WriteString(greet(name) + "\n")
	}
}
EOF
cat >hello/broken.go <<'EOF'
package main

func broken() int {
	unused := 1
	return undefinedName + "text"
}
EOF
cat >hello/main_test.go <<'EOF'
package main

import "testing"

func TestGreet(t *testing.T) {
	for _, name := range []string{"world", "漢字", "😀"} {
		t.Run(name, func(t *testing.T) {
			if got := greet(name); got != "hello, "+name {
				t.Errorf("greet(%q) = %q", name, got)
			}
		})
	}
}
EOF
cat >hello/fail_test.go <<'EOF'
//go:build fail

package main

import "testing"

func TestFail(t *testing.T) { t.Errorf("greet = %q, want %q", greet("a"), "b") }

func TestPanic(t *testing.T) { panic("on purpose") }
EOF

cat >whiptail.sh <<'EOF'
whiptail --title "Installer" --yesno "Do you want to install the example?\n\nIt takes no space at all." 12 60
whiptail --title "Software selection" --checklist "Choose what to install:" 16 60 5 \
	base "Base system" ON desktop "Desktop" OFF ssh "Remote login" ON print "Printing" OFF
whiptail --title "User" --inputbox "Name of the new user:" 10 50
for i in 0 20 40 60 80 100; do echo $i; sleep 0.1; done | whiptail --title "Copying" --gauge "Copying files..." 8 60 0
EOF
cat >dialog.sh <<'EOF'
dialog --title "Welcome" --msgbox "\nThis is an installer.\n\nWith \Zb\Z1colours\Zn." 10 50
dialog --title "Packages" --checklist "Choose" 15 60 6 one "The first" on two "The second" off three "Das dritte 漢字" off
dialog --title "Menu" --menu "Pick one" 14 50 4 a "Alpha" b "Beta" c "Gamma"
for i in 0 25 50 75 100; do echo $i; sleep 0.1; done | dialog --title "Copying" --gauge "Please wait" 8 60 0
EOF

cat >page.html <<'EOF'
<html><head><title>A page</title></head><body>
<h1>A page with links</h1>
<p>Some <b>bold</b>, <i>italic</i> and <u>underlined</u> text, 漢字 and 😀.</p>
<ul><li><a href="page.html#one">one</a><li><a href="page.html#two">two</a><li><a href="main.c">source</a></ul>
<table border="1"><tr><td>a</td><td>b</td></tr><tr><td>longer cell</td><td>d</td></tr></table>
<p>The quick brown fox jumps over the lazy dog. The quick brown fox jumps over the lazy dog again and again.</p>
</body></html>
EOF

export GIT_CONFIG_NOSYSTEM=1
git config --global user.name "Ada Example"
git config --global user.email ada@example.org
git config --global init.defaultBranch main
git config --global color.ui always

if [ -n "$(printf %s "$1" | grep -e git -e tig -e lazy)" ]; then
	(
		cd project
		git init -q
		n=1
		while [ $n -le 25 ]; do
			export GIT_AUTHOR_DATE="2024-03-0$((n % 9 + 1))T10:0$((n % 10)):00Z"
			export GIT_COMMITTER_DATE="$GIT_AUTHOR_DATE"
			echo "change $n ändert 漢字" >>docs/log.md
			git add .
			git commit -q -m "Change number $n of the project" -m "A body for the change."
			if [ $((n % 7)) = 0 ]; then
				git checkout -q -b "topic-$n"
				echo "topic $n" >"src/topic-$n.c"
				git add .
				git commit -q -m "Topic $n"
				git checkout -q main
				git merge -q --no-ff -m "Merge topic-$n" "topic-$n"
			fi
			n=$((n + 1))
		done
		echo "not yet committed" >>docs/log.md
		echo "new" >src/new.c
	)
fi

exec bash --norc --noprofile -c "$1"
